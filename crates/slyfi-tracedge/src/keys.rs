//! Who signs, who owns a row, and the proof that an owner knows his secret.

use core::fmt;

use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::{RistrettoPoint, Scalar};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha512};
use slyfi_base::SecureRandom;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::wire::Malformed;

/// An operator's name: its Ed25519 verification key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperatorId(pub [u8; 32]);

impl OperatorId {
    /// Whether `signature` is this operator's over `message`.
    ///
    /// Strict (RFC 8032 with canonical encodings, no small-order keys): what one reader takes for
    /// evidence, all take.
    pub fn has_signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        VerifyingKey::from_bytes(&self.0)
            .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
    }
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorId({self})")
    }
}

impl core::str::FromStr for OperatorId {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let wrong = Malformed("an operator id: 64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong);
        }
        let mut id = [0; 32];
        for (byte, digits) in id.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
            let digits = core::str::from_utf8(digits).map_err(|_| wrong)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong)?;
        }
        Ok(OperatorId(id))
    }
}

/// The operator's secrets: what it signs with, and what vacant rows are encrypted for.
pub struct OperatorKeys {
    signing: SigningKey,
    vacant: SecretKey,
}

impl OperatorKeys {
    /// The length of an encoding, bytes.
    pub const LEN: usize = 64;

    /// Makes new ones.
    pub fn generate(rng: &mut dyn SecureRandom) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill(&mut *seed);
        OperatorKeys { signing: SigningKey::from_bytes(&seed), vacant: SecretKey::generate(rng) }
    }

    /// The operator's name.
    pub fn id(&self) -> OperatorId {
        OperatorId(self.signing.verifying_key().to_bytes())
    }

    /// The key of rows that nobody has.
    pub fn vacant(&self) -> &SecretKey {
        &self.vacant
    }

    /// Signs.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.signing.sign(message).to_bytes()
    }

    /// Encodes, for the operator's store.
    pub fn encode(&self) -> Zeroizing<[u8; Self::LEN]> {
        let mut out = Zeroizing::new([0; Self::LEN]);
        out[..32].copy_from_slice(self.signing.as_bytes());
        out[32..].copy_from_slice(&*self.vacant.encode());
        out
    }

    /// Decodes.
    ///
    /// # Errors
    /// [`Malformed`] for anything that [`OperatorKeys::encode`] does not give.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let wrong = Malformed("a pair of operator's keys");
        let (seed, vacant) = bytes.split_first_chunk::<32>().ok_or(wrong)?;
        let vacant = SecretKey::decode(vacant).map_err(|_| wrong)?;
        Ok(OperatorKeys { signing: SigningKey::from_bytes(seed), vacant })
    }
}

impl fmt::Debug for OperatorKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorKeys {{ id: {}, secrets: <hidden> }}", self.id())
    }
}

/// The key of a row, checked: a canonical encoding of an element that is not zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    bytes: [u8; 32],
    point: RistrettoPoint,
}

impl PublicKey {
    /// Decodes.
    ///
    /// # Errors
    /// [`Malformed`] for what encodes no element (RFC 9496 §4.3.1), and for zero, under which K
    /// would lie open.
    pub fn decode(bytes: &[u8; 32]) -> Result<Self, Malformed> {
        let wrong = Malformed("a subscriber's public key");
        let point = CompressedRistretto(*bytes).decompress().ok_or(wrong)?;
        if bytes == &[0; 32] {
            return Err(wrong);
        }
        Ok(PublicKey { bytes: *bytes, point })
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// The element.
    pub(crate) fn point(&self) -> &RistrettoPoint {
        &self.point
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(")?;
        self.bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        f.write_str(")")
    }
}

/// The secret of a row: a subscriber's, or the operator's for vacant rows.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SecretKey {
    secret: Scalar,
    #[zeroize(skip)]
    public: PublicKey,
}

impl SecretKey {
    /// The length of an encoding, bytes.
    pub const LEN: usize = 32;

    /// Makes a new one.
    pub fn generate(rng: &mut dyn SecureRandom) -> Self {
        loop {
            // Zero comes up with probability 2^-252; then another is drawn.
            if let Some(key) = Self::of(random_scalar(rng)) {
                return key;
            }
        }
    }

    fn of(secret: Scalar) -> Option<Self> {
        let point = RistrettoPoint::mul_base(&secret);
        let bytes = point.compress().to_bytes();
        (secret != Scalar::ZERO).then_some(SecretKey { secret, public: PublicKey { bytes, point } })
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The secret half.
    pub(crate) fn scalar(&self) -> &Scalar {
        &self.secret
    }

    /// Encodes, for its owner's store.
    pub fn encode(&self) -> Zeroizing<[u8; Self::LEN]> {
        Zeroizing::new(self.secret.to_bytes())
    }

    /// Decodes.
    ///
    /// # Errors
    /// [`Malformed`] for anything that [`SecretKey::encode`] does not give.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let wrong = Malformed("a secret key");
        let bytes = Zeroizing::new(<[u8; 32]>::try_from(bytes).map_err(|_| wrong)?);
        let secret = Option::from(Scalar::from_canonical_bytes(*bytes)).ok_or(wrong)?;
        Self::of(secret).ok_or(wrong)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey {{ public: {:?}, secret: <hidden> }}", self.public)
    }
}

/// Draws a uniform scalar.
pub(crate) fn random_scalar(rng: &mut dyn SecureRandom) -> Scalar {
    let mut wide = Zeroizing::new([0; 64]);
    rng.fill(&mut *wide);
    Scalar::from_bytes_mod_order_wide(&wide)
}

/// Hashes to a scalar: SHA-512 reduced modulo ℓ.
pub(crate) fn hash_to_scalar(parts: &[&[u8]]) -> Scalar {
    let mut hash = Sha512::new();
    parts.iter().for_each(|part| hash.update(part));
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

/// The label of [`Possession`]'s challenge.
const POSSESSION: &[u8] = b"slyfi-tracedge/1 possession";

/// A proof that somebody knows the secret of a key (docs/tracedge.md §3): a Schnorr signature over
/// the operator and the invitation.
///
/// Without it somebody could enrol the negative of another's key, and the sum of the two rows
/// would be 2M: K for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Possession([u8; 64]);

impl Possession {
    /// The length of an encoding, bytes.
    pub const LEN: usize = 64;

    /// Proves.
    pub fn prove(
        key: &SecretKey,
        operator: &OperatorId,
        invitation: &[u8; 16],
        rng: &mut dyn SecureRandom,
    ) -> Self {
        let a = Zeroizing::new(random_scalar(rng));
        let share = RistrettoPoint::mul_base(&a).compress().to_bytes();
        let c = challenge(operator, invitation, key.public(), &share);
        let z = *a + c * key.secret;
        let mut out = [0; 64];
        out[..32].copy_from_slice(&share);
        out[32..].copy_from_slice(&z.to_bytes());
        Possession(out)
    }

    /// Checks that whoever made this knows the secret of `key` and meant this invitation.
    pub fn verify(&self, key: &PublicKey, operator: &OperatorId, invitation: &[u8; 16]) -> bool {
        let (share, z) = self.halves();
        let Some(z) = Option::<Scalar>::from(Scalar::from_canonical_bytes(z)) else { return false };
        let c = challenge(operator, invitation, key, &share);
        // z·B − c·P is encoded and compared: an encoding is unique.
        let expected = RistrettoPoint::vartime_double_scalar_mul_basepoint(&-c, key.point(), &z);
        expected.compress().to_bytes() == share
    }

    fn halves(&self) -> ([u8; 32], [u8; 32]) {
        let (mut share, mut z) = ([0; 32], [0; 32]);
        share.copy_from_slice(&self.0[..32]);
        z.copy_from_slice(&self.0[32..]);
        (share, z)
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// Reads an encoding; whether it proves anything is [`Possession::verify`]'s to say.
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Possession(bytes)
    }
}

fn challenge(
    operator: &OperatorId,
    invitation: &[u8; 16],
    key: &PublicKey,
    share: &[u8; 32],
) -> Scalar {
    hash_to_scalar(&[POSSESSION, &operator.0, invitation, key.as_bytes(), share])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;

    #[test]
    fn a_proof_holds_for_its_key_operator_and_invitation_only() {
        let rng = &mut SeededRandom::new([1; 32]);
        let (operator, other) =
            (OperatorKeys::generate(rng).id(), OperatorKeys::generate(rng).id());
        let (key, stranger) = (SecretKey::generate(rng), SecretKey::generate(rng));
        let proof = Possession::prove(&key, &operator, &[7; 16], rng);
        assert!(proof.verify(key.public(), &operator, &[7; 16]));
        assert!(!proof.verify(stranger.public(), &operator, &[7; 16]));
        assert!(!proof.verify(key.public(), &other, &[7; 16]));
        assert!(!proof.verify(key.public(), &operator, &[8; 16]));
        for bit in [0, 255, 256, 511] {
            let mut bytes = *proof.as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!Possession::from_bytes(bytes).verify(key.public(), &operator, &[7; 16]));
        }
    }

    #[test]
    fn the_negative_of_anothers_key_cannot_be_proved() {
        let rng = &mut SeededRandom::new([2; 32]);
        let operator = OperatorKeys::generate(rng).id();
        let (victim, attacker) = (SecretKey::generate(rng), SecretKey::generate(rng));
        let negative = (-victim.public().point()).compress().to_bytes();
        let rogue = PublicKey::decode(&negative).unwrap();
        // The best he can do without the secret is to prove another key.
        let proof = Possession::prove(&attacker, &operator, &[0; 16], rng);
        assert!(proof.verify(attacker.public(), &operator, &[0; 16]));
        assert!(!proof.verify(&rogue, &operator, &[0; 16]));
        let replayed = Possession::prove(&victim, &operator, &[0; 16], rng);
        assert!(!replayed.verify(&rogue, &operator, &[0; 16]));
    }

    #[test]
    fn refuses_keys_that_are_zero_or_no_elements() {
        assert!(PublicKey::decode(&[0; 32]).is_err());
        // Negative, and not below the prime (RFC 9496 §A.2).
        let mut bytes = [0; 32];
        bytes[0] = 1;
        assert!(PublicKey::decode(&bytes).is_err());
        assert!(PublicKey::decode(&[0xff; 32]).is_err());
        let key = SecretKey::generate(&mut SeededRandom::new([3; 32]));
        assert_eq!(PublicKey::decode(key.public().as_bytes()), Ok(*key.public()));
    }

    #[test]
    fn keys_survive_their_encoding_and_do_not_print_themselves() {
        let rng = &mut SeededRandom::new([4; 32]);
        let keys = OperatorKeys::generate(rng);
        let again = OperatorKeys::decode(&*keys.encode()).unwrap();
        assert_eq!((again.id(), again.vacant().public()), (keys.id(), keys.vacant().public()));
        assert!(again.id().has_signed(b"x", &keys.sign(b"x")));
        assert!(!again.id().has_signed(b"y", &keys.sign(b"x")));
        assert!(OperatorKeys::decode(&keys.encode()[1..]).is_err());
        let secret: String = keys.vacant().encode().iter().map(|b| format!("{b:02x}")).collect();
        assert!(!format!("{keys:?} {:?}", keys.vacant()).contains(&secret));
        assert!(SecretKey::decode(&[0; 32]).is_err(), "zero is no key");
        assert!(SecretKey::decode(&[0xff; 32]).is_err(), "encodings are canonical");
    }

    #[test]
    fn operator_ids_are_read_back() {
        let id = OperatorId([0xab; 32]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("ab".parse::<OperatorId>().is_err());
        assert!("+b".repeat(32).parse::<OperatorId>().is_err());
    }
}
