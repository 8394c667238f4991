//! The mutual proof of K and the session keys (docs/tracedge.md §9, tracedge-2015 Figure 2).

use core::fmt;

use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::Scalar;
use hkdf::Hkdf;
use sha2::Sha256;
use slyfi_base::SecureRandom;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::epoch::EpochKey;
use crate::keys::{PublicKey, random_scalar};
use crate::merkle::sha256;
use crate::wire::{Malformed, Reader};

/// How long a login may take from x1 to the client's proof, seconds.
pub const LOGIN_DEADLINE: u64 = 10;

/// A fresh share: x1 or x2.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Share {
    secret: Scalar,
    #[zeroize(skip)]
    public: [u8; 32],
}

impl Share {
    fn generate(rng: &mut dyn SecureRandom) -> Self {
        let secret = random_scalar(rng);
        Share { secret, public: RistrettoPoint::mul_base(&secret).compress().to_bytes() }
    }

    /// Z; `None` if the other share is no element, zero, or this one.
    fn agree(&self, other: &[u8; 32]) -> Option<Zeroizing<[u8; 32]>> {
        let other = PublicKey::decode(other).ok().filter(|o| o.as_bytes() != &self.public)?;
        Some(Zeroizing::new((other.point() * self.secret).compress().to_bytes()))
    }
}

/// H(first ‖ second ‖ K).
fn proof(first: &[u8; 32], second: &[u8; 32], key: &EpochKey) -> [u8; 32] {
    sha256(&[first, second, key.as_bytes()])
}

/// The keys of a session. Erased when dropped.
#[derive(Zeroize, ZeroizeOnDrop, PartialEq, Eq)]
pub struct SessionKeys {
    /// K_sc.
    pub server_to_client: [u8; 32],
    /// K_cs.
    pub client_to_server: [u8; 32],
    /// What EAP hands to the access point (RFC 3748 §7.10).
    pub msk: [u8; 64],
}

impl SessionKeys {
    fn derive(x1: &[u8; 32], x2: &[u8; 32], key: &EpochKey, z: &[u8; 32], binding: &[u8]) -> Self {
        let input = Zeroizing::new([&key.as_bytes()[..], z, binding].concat());
        let extracted = Hkdf::<Sha256>::new(Some(&sha256(&[x1, x2])), &input);
        let mut keys =
            SessionKeys { server_to_client: [0; 32], client_to_server: [0; 32], msk: [0; 64] };
        let labelled: [(&[u8], &mut [u8]); 3] = [
            (b"slyfi-tracedge/1 server to client", &mut keys.server_to_client),
            (b"slyfi-tracedge/1 client to server", &mut keys.client_to_server),
            (b"slyfi-tracedge/1 msk", &mut keys.msk),
        ];
        for (label, out) in labelled {
            // 64 bytes are far below HKDF's limit of 255 blocks.
            extracted.expand(label, out).expect("the length is fixed and short");
        }
        keys
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKeys(<hidden>)")
    }
}

/// A login was refused. It says no more, to nobody: a wrong proof, an unknown epoch and nonsense
/// are not to be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the login was refused")
    }
}

impl std::error::Error for Refused {}

/// What the client sends: which epoch's K it has, its share, its proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientProof {
    /// The epoch.
    pub epoch: u64,
    /// x2.
    pub share: [u8; 32],
    /// H(x2 ‖ x1 ‖ K).
    pub proof: [u8; 32],
}

impl ClientProof {
    /// The length of an encoding, bytes.
    pub const LEN: usize = 72;

    /// Encodes: epoch ‖ x2 ‖ proof.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&self.epoch.to_le_bytes());
        out[8..40].copy_from_slice(&self.share);
        out[40..].copy_from_slice(&self.proof);
        out
    }

    /// Decodes.
    ///
    /// # Errors
    /// [`Malformed`] if it has another length.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "the proof of a login");
        let message =
            ClientProof { epoch: reader.u64()?, share: reader.array()?, proof: reader.array()? };
        reader.finish()?;
        Ok(message)
    }
}

/// The server's side of one login: keeps a share and nothing about whoever logs in.
pub struct ServerLogin(Share);

impl ServerLogin {
    /// Begins; send [`ServerLogin::share`].
    pub fn begin(rng: &mut dyn SecureRandom) -> Self {
        ServerLogin(Share::generate(rng))
    }

    /// x1.
    pub fn share(&self) -> &[u8; 32] {
        &self.0.public
    }

    /// Takes the client's message; `key` finds the K of an epoch that may be logged on with now.
    /// Returns H(x1 ‖ x2 ‖ K) to send, and the session's keys.
    ///
    /// # Errors
    /// [`Refused`]. Either way x1 is spent.
    pub fn finish(
        self,
        message: &[u8],
        key: impl FnOnce(u64) -> Option<EpochKey>,
        binding: &[u8],
    ) -> Result<([u8; 32], SessionKeys), Refused> {
        let message = ClientProof::decode(message).map_err(|_| Refused)?;
        let key = key(message.epoch).ok_or(Refused)?;
        let (x1, x2) = (self.share(), &message.share);
        let z = self.0.agree(x2).ok_or(Refused)?;
        if !bool::from(proof(x2, x1, &key).ct_eq(&message.proof)) {
            return Err(Refused);
        }
        Ok((proof(x1, x2, &key), SessionKeys::derive(x1, x2, &key, &z, binding)))
    }
}

impl fmt::Debug for ServerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerLogin { secret: <hidden> }")
    }
}

/// The client's side of one login, once x1 is there.
pub struct ClientLogin {
    share: Share,
    x1: [u8; 32],
    z: Zeroizing<[u8; 32]>,
    key: EpochKey,
    message: ClientProof,
}

impl ClientLogin {
    /// Answers x1 with K of `epoch`; send [`ClientLogin::message`].
    ///
    /// # Errors
    /// [`Refused`] if x1 is no share.
    pub fn begin(
        x1: &[u8; 32],
        epoch: u64,
        key: &EpochKey,
        rng: &mut dyn SecureRandom,
    ) -> Result<Self, Refused> {
        let share = Share::generate(rng);
        let z = share.agree(x1).ok_or(Refused)?;
        let proof = proof(&share.public, x1, key);
        let message = ClientProof { epoch, share: share.public, proof };
        Ok(ClientLogin { share, x1: *x1, z, key: key.clone(), message })
    }

    /// What to send.
    pub fn message(&self) -> &ClientProof {
        &self.message
    }

    /// Takes the server's proof.
    ///
    /// # Errors
    /// [`Refused`] if it does not know K.
    pub fn finish(self, server_proof: &[u8], binding: &[u8]) -> Result<SessionKeys, Refused> {
        let x2 = &self.share.public;
        let expected = proof(&self.x1, x2, &self.key);
        // Slices of different lengths compare as different.
        if !bool::from(expected.ct_eq(server_proof)) {
            return Err(Refused);
        }
        Ok(SessionKeys::derive(&self.x1, x2, &self.key, &self.z, binding))
    }
}

impl fmt::Debug for ClientLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientLogin { secrets: <hidden> }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;

    const K: EpochKey = EpochKey::from_bytes([0x11; 16]);

    fn key_of_seven(epoch: u64) -> Option<EpochKey> {
        (epoch == 7).then(|| K.clone())
    }

    #[test]
    fn both_ends_get_the_same_keys_and_every_login_others() {
        let rng = &mut SeededRandom::new([1; 32]);
        let mut login = || {
            let server = ServerLogin::begin(rng);
            let client = ClientLogin::begin(server.share(), 7, &K, rng).unwrap();
            let message = client.message().encode();
            let (proof, keys) = server.finish(&message, key_of_seven, b"channel").unwrap();
            assert_eq!(client.finish(&proof, b"channel").unwrap(), keys);
            keys
        };
        let (a, b) = (login(), login());
        assert_ne!(a.msk, b.msk);
        assert_ne!(a.server_to_client, a.client_to_server);
    }

    #[test]
    fn refuses_whoever_does_not_know_k() {
        let rng = &mut SeededRandom::new([2; 32]);
        let wrong = EpochKey::from_bytes([0x12; 16]);
        let server = ServerLogin::begin(rng);
        let client = ClientLogin::begin(server.share(), 7, &wrong, rng).unwrap();
        let refused = server.finish(&client.message().encode(), key_of_seven, b"");
        assert_eq!(refused.unwrap_err(), Refused);
        // A server without K: the client notices.
        let server = ServerLogin::begin(rng);
        let client = ClientLogin::begin(server.share(), 7, &K, rng).unwrap();
        assert_eq!(client.finish(&[0; 32], b"").unwrap_err(), Refused);
    }

    #[test]
    fn refuses_other_epochs_nonsense_and_degenerate_shares() {
        let rng = &mut SeededRandom::new([3; 32]);
        let mut attempt = |change: &dyn Fn(&mut ClientProof, &[u8; 32])| {
            let server = ServerLogin::begin(rng);
            let client = ClientLogin::begin(server.share(), 7, &K, rng).unwrap();
            let mut message = *client.message();
            change(&mut message, server.share());
            server.finish(&message.encode(), key_of_seven, b"").is_ok()
        };
        assert!(attempt(&|_, _| ()));
        assert!(!attempt(&|m, _| m.epoch = 8));
        assert!(!attempt(&|m, _| m.proof[31] ^= 0x80));
        assert!(!attempt(&|m, _| m.share = [0; 32]));
        // x2 = x1 with its right proof, which is the server's own proof too.
        assert!(!attempt(&|m, x1| (m.share, m.proof) = (*x1, proof(x1, x1, &K))));
        assert!(!attempt(&|m, x1| (m.share, m.proof) = ([0; 32], proof(&[0; 32], x1, &K))));
        let server = ServerLogin::begin(&mut SeededRandom::new([4; 32]));
        assert!(server.finish(&[0; 71], key_of_seven, b"").is_err());
        assert!(ClientLogin::begin(&[0; 32], 7, &K, &mut SeededRandom::new([5; 32])).is_err());
    }

    #[test]
    fn the_servers_proof_cannot_be_the_clients_reflected() {
        let rng = &mut SeededRandom::new([6; 32]);
        let server = ServerLogin::begin(rng);
        let client = ClientLogin::begin(server.share(), 7, &K, rng).unwrap();
        let reflected = client.message().proof;
        assert_eq!(client.finish(&reflected, b"").unwrap_err(), Refused);
    }

    #[test]
    fn a_proof_serves_the_login_it_was_made_for_and_no_other_beside_it() {
        let rng = &mut SeededRandom::new([9; 32]);
        let (one, other) = (ServerLogin::begin(rng), ServerLogin::begin(rng));
        let client = ClientLogin::begin(one.share(), 7, &K, rng).unwrap();
        let message = client.message().encode();
        // Whoever listens carries it to a login of his own.
        assert_eq!(other.finish(&message, key_of_seven, b"").unwrap_err(), Refused);
        // Nor does a server's proof of one login do for another, whoever's.
        let (server_proof, _) = one.finish(&message, key_of_seven, b"").unwrap();
        let later = ServerLogin::begin(rng);
        let second = ClientLogin::begin(later.share(), 7, &K, rng).unwrap();
        assert_eq!(second.finish(&server_proof, b"").unwrap_err(), Refused);
        for cut in [&server_proof[..31], &server_proof[..0], &[&server_proof[..], &[0]].concat()] {
            let client = ClientLogin::begin(later.share(), 7, &K, rng).unwrap();
            assert_eq!(client.finish(cut, b"").unwrap_err(), Refused);
        }
    }

    #[test]
    fn another_subscriber_who_listened_gets_other_keys() {
        // He knows K, x1 and x2; Z he does not.
        let rng = &mut SeededRandom::new([7; 32]);
        let server = ServerLogin::begin(rng);
        let client = ClientLogin::begin(server.share(), 7, &K, rng).unwrap();
        let (x1, x2) = (*server.share(), client.message().share);
        let (_, keys) = server.finish(&client.message().encode(), key_of_seven, b"").unwrap();
        for guess in [[0; 32], x1, x2] {
            assert_ne!(SessionKeys::derive(&x1, &x2, &K, &guess, b"").msk, keys.msk);
        }
    }

    #[test]
    fn a_login_relayed_to_another_channel_ends_in_other_keys() {
        let rng = &mut SeededRandom::new([8; 32]);
        let server = ServerLogin::begin(rng);
        let client = ClientLogin::begin(server.share(), 7, &K, rng).unwrap();
        let message = client.message().encode();
        let (proof, keys) = server.finish(&message, key_of_seven, b"to the server").unwrap();
        assert_ne!(client.finish(&proof, b"from the client").unwrap().msk, keys.msk);
    }
}
