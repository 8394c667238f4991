//! What a server publishes of itself, before any query.

use sha2::{Digest, Sha256};

use crate::error::{SetupError, Unsupported};
use crate::scheme::Sizes;
use crate::shape::Shape;

/// Everything a client needs to know of a prepared table, besides the hint: 90 bytes.
///
/// Whoever publishes it signs it, and the hint is bound to it by its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The scheme that serves the table.
    pub scheme: SchemeId,
    /// The scheme's own choice of layout ([`Scheme::default_layout`](crate::Scheme::default_layout)).
    pub layout: u32,
    /// The table's shape.
    pub shape: Shape,
    /// What the scheme's public matrix or polynomials are expanded from.
    pub seed: [u8; 32],
    /// The public hint, if the scheme has one.
    pub hint: Option<HintDigest>,
}

impl Setup {
    /// The encoding's version.
    pub const VERSION: u8 = 1;
    /// The length of an encoding, bytes.
    pub const LEN: usize = 1 + 1 + 4 + 4 + 8 + 32 + 8 + 32;

    /// Encodes: version (1) ‖ scheme (1) ‖ layout (4) ‖ row bytes (4) ‖ rows (8) ‖ seed (32) ‖
    /// hint length (8) ‖ SHA-256 of the hint (32), integers little-endian; without a hint its
    /// length and digest are zero.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0] = Self::VERSION;
        out[1] = self.scheme.code();
        out[2..6].copy_from_slice(&self.layout.to_le_bytes());
        out[6..10].copy_from_slice(&(self.shape.row_bytes() as u32).to_le_bytes());
        out[10..18].copy_from_slice(&self.shape.rows().to_le_bytes());
        out[18..50].copy_from_slice(&self.seed);
        if let Some(hint) = &self.hint {
            out[50..58].copy_from_slice(&hint.bytes.to_le_bytes());
            out[58..90].copy_from_slice(&hint.sha256);
        }
        out
    }

    /// Decodes, and checks that scheme, shape, layout and hint length fit each other.
    ///
    /// # Errors
    /// [`SetupError`] for everything that [`Setup::encode`] of a served table does not give.
    pub fn decode(bytes: &[u8]) -> Result<Self, SetupError> {
        let bytes: &[u8; Self::LEN] =
            bytes.try_into().map_err(|_| SetupError::Length(bytes.len()))?;
        if bytes[0] != Self::VERSION {
            return Err(SetupError::Version(bytes[0]));
        }
        let scheme = SchemeId::from_code(bytes[1]).ok_or(SetupError::Scheme(bytes[1]))?;
        let shape = Shape::new(take_u64(&bytes[10..18]), take_u32(&bytes[6..10]))?;
        let mut seed = [0; 32];
        seed.copy_from_slice(&bytes[18..50]);
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(&bytes[58..90]);
        let hint_bytes = take_u64(&bytes[50..58]);
        let none = hint_bytes == 0 && sha256 == [0; 32];
        let hint = (!none).then_some(HintDigest { bytes: hint_bytes, sha256 });
        let setup = Setup { scheme, layout: take_u32(&bytes[2..6]), shape, seed, hint };
        let expected = setup.sizes()?.hint as u64;
        if expected != hint_bytes || (expected == 0) != none {
            return Err(SetupError::HintLength { expected, got: hint_bytes });
        }
        Ok(setup)
    }

    /// The lengths that everything about this table has.
    ///
    /// # Errors
    /// [`Unsupported`] if the scheme cannot have this shape and layout; never for a setup that was
    /// decoded or came from a [`Server`](crate::Server).
    pub fn sizes(&self) -> Result<Sizes, Unsupported> {
        crate::registry::sizes(self.scheme, self.shape, self.layout)
    }

    /// Checks a hint that was fetched against what the setup says of it.
    ///
    /// # Errors
    /// [`SetupError`] if a hint is missing, unwanted, of another length, or not the one named.
    pub fn check_hint(&self, hint: Option<&[u8]>) -> Result<(), SetupError> {
        match (&self.hint, hint) {
            (None, None) => Ok(()),
            (Some(_), None) => Err(SetupError::HintMissing),
            (None, Some(_)) => Err(SetupError::HintUnwanted),
            (Some(digest), Some(hint)) if digest.bytes != hint.len() as u64 => {
                Err(SetupError::HintLength { expected: digest.bytes, got: hint.len() as u64 })
            }
            (Some(digest), Some(hint)) if *digest != HintDigest::of(hint) => {
                Err(SetupError::HintDigest)
            }
            (Some(_), Some(_)) => Ok(()),
        }
    }
}

fn take_u32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u32::from(*b))
}

fn take_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// The length and the SHA-256 of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintDigest {
    /// The hint's length, bytes.
    pub bytes: u64,
    /// Its digest.
    pub sha256: [u8; 32],
}

impl HintDigest {
    /// The digest of `hint`.
    pub fn of(hint: &[u8]) -> Self {
        HintDigest { bytes: hint.len() as u64, sha256: Sha256::digest(hint).into() }
    }
}

/// The schemes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemeId {
    /// NTRU as tracedge-2015 has it: **not secure**, for its tables only.
    Ntru2015,
    /// LWE with a public hint.
    Lwe,
    /// Without a hint, packed into rings.
    Hintless,
}

impl SchemeId {
    /// All of them.
    pub const ALL: [SchemeId; 3] = [SchemeId::Hintless, SchemeId::Lwe, SchemeId::Ntru2015];

    /// Its number on the wire.
    pub const fn code(self) -> u8 {
        match self {
            SchemeId::Ntru2015 => 1,
            SchemeId::Lwe => 2,
            SchemeId::Hintless => 3,
        }
    }

    /// The scheme of a number on the wire.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(SchemeId::Ntru2015),
            2 => Some(SchemeId::Lwe),
            3 => Some(SchemeId::Hintless),
            _ => None,
        }
    }

    /// Its name in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            SchemeId::Ntru2015 => "ntru-2015",
            SchemeId::Lwe => "lwe",
            SchemeId::Hintless => "hintless",
        }
    }

    /// The scheme of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }

    /// Whether the scheme hides anything from somebody who tries. See [`crate::danger`].
    pub const fn is_secure(self) -> bool {
        !matches!(self, SchemeId::Ntru2015)
    }
}
