use super::{Bytes, SessionSecrets, Unusable};
use crate::kdf;
use crate::keys::Key256;
use crate::shroud::DirectionSecret;
use crate::suite::{Kem, Suite};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ml_kem::kem::Decapsulate;
use ml_kem::{DecapsulationKey768, EncapsulationKey768, KeyExport};
use sha2::{Digest, Sha256};
use slyfi_base::SecureRandom;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of the random and of the X25519 public key at the front of both halves.
const HEAD: usize = 64;
/// FIPS 203 table 3.
const ENCAPSULATION_KEY: usize = 1184;
/// FIPS 203 table 3.
const CIPHERTEXT: usize = 1088;

/// The client's secrets while it waits.
pub(super) struct AeadOffer {
    suite: Suite,
    x25519: StaticSecret,
    ml_kem: Option<Box<DecapsulationKey768>>,
}

impl AeadOffer {
    pub(super) fn new<R: SecureRandom + ?Sized>(suite: Suite, rng: &mut R) -> (Self, Bytes) {
        let mut request = Bytes::with_capacity(HEAD + ENCAPSULATION_KEY);
        let x25519 = head(&mut request, rng);
        let ml_kem = has_ml_kem(suite).then(|| {
            let mut seed = ml_kem::Seed::default();
            rng.fill(&mut seed);
            let key = Box::new(DecapsulationKey768::from_seed(seed));
            seed.zeroize();
            request.push(&key.encapsulation_key().to_bytes());
            key
        });
        (AeadOffer { suite, x25519, ml_kem }, request)
    }

    pub(super) fn finish(
        self,
        request: &[u8],
        response: &[u8],
    ) -> Result<SessionSecrets, Unusable> {
        let theirs = Half::parse(response, self.ml_kem.as_ref().map_or(0, |_| CIPHERTEXT))?;
        let mut secret = Material::new(request, response, &self.x25519, &theirs)?;
        if let Some(key) = &self.ml_kem {
            let mut shared = key.decapsulate_slice(theirs.rest).map_err(|_| Unusable)?;
            secret.push(&shared);
            shared.zeroize();
        }
        Ok(secret.derive(self.suite, request, response))
    }
}

pub(super) fn answer<R: SecureRandom + ?Sized>(
    suite: Suite,
    request: &[u8],
    rng: &mut R,
) -> Result<(SessionSecrets, Bytes), Unusable> {
    let with_ml_kem = has_ml_kem(suite);
    let theirs = Half::parse(request, if with_ml_kem { ENCAPSULATION_KEY } else { 0 })?;
    let mut response = Bytes::with_capacity(HEAD + CIPHERTEXT);
    let x25519 = head(&mut response, rng);
    let mut shared = None;
    if with_ml_kem {
        let key = theirs.rest.try_into().map_err(|_| Unusable)?;
        let key = EncapsulationKey768::new(&key).map_err(|_| Unusable)?;
        let mut m = ml_kem::B32::default();
        rng.fill(&mut m);
        let (ciphertext, k) = key.encapsulate_deterministic(&m);
        m.zeroize();
        response.push(&ciphertext);
        shared = Some(k);
    }
    let mut secret = Material::new(request, &response, &x25519, &theirs)?;
    if let Some(mut k) = shared {
        secret.push(&k);
        k.zeroize();
    }
    Ok((secret.derive(suite, request, &response), response))
}

const fn has_ml_kem(suite: Suite) -> bool {
    matches!(suite, Suite::Aead { kem: Kem::X25519MlKem768, .. })
}

/// Writes the random and the public key of a fresh X25519 secret.
fn head<R: SecureRandom + ?Sized>(half: &mut Bytes, rng: &mut R) -> StaticSecret {
    let mut random = Zeroizing::new([[0; 32]; 2]);
    rng.fill(random.as_flattened_mut());
    let [public_random, secret] = &*random;
    let secret = StaticSecret::from(*secret);
    half.push(public_random);
    half.push(PublicKey::from(&secret).as_bytes());
    secret
}

/// One side's message, taken apart.
struct Half<'a> {
    public: PublicKey,
    rest: &'a [u8],
}

impl<'a> Half<'a> {
    fn parse(bytes: &'a [u8], rest_len: usize) -> Result<Self, Unusable> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(Unusable)?;
        if rest.len() != rest_len {
            return Err(Unusable);
        }
        let public: [u8; 32] = head[32..].try_into().map_err(|_| Unusable)?;
        Ok(Half { public: PublicKey::from(public), rest })
    }
}

/// The input key material.
struct Material(Zeroizing<Vec<u8>>);

impl Material {
    fn new(
        request: &[u8],
        response: &[u8],
        ours: &StaticSecret,
        theirs: &Half<'_>,
    ) -> Result<Self, Unusable> {
        let shared = ours.diffie_hellman(&theirs.public);
        // RFC 7748 §6.1: points of small order give a result that anyone can know.
        if !shared.was_contributory() {
            return Err(Unusable);
        }
        let mut material = Material(Zeroizing::new(Vec::with_capacity(128)));
        for half in [request, response] {
            material.push(half.get(..32).ok_or(Unusable)?);
        }
        material.push(shared.as_bytes());
        Ok(material)
    }

    /// Four pieces of 32 bytes at most, which the capacity covers: growing would leave a copy.
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn derive(self, suite: Suite, request: &[u8], response: &[u8]) -> SessionSecrets {
        let mut transcript = Sha256::new_with_prefix(b"slyfi aead agreement");
        transcript.update([suite.to_byte()]);
        transcript.update(request);
        transcript.update(response);
        let salt = transcript.finalize();
        let derived = |label: &[u8]| {
            let mut key = Key256::new([0; 32]);
            kdf::derive(&salt, &self.0, label, key.as_mut());
            key
        };
        SessionSecrets {
            up: DirectionSecret::new(suite, derived(b"up")),
            down: DirectionSecret::new(suite, derived(b"down")),
            roam: derived(b"roam"),
            export: derived(b"export"),
        }
    }
}
