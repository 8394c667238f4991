//! Authentication and key management suites and what each means for keys (IEEE 802.11-2020 Table 9-151,
//! Table 12-10).

use super::{Kdf, MicAlgorithm};

/// An authentication and key management suite whose EAPOL-Key handshake is known here.
///
/// FILS (types 14 to 17) is not: [`super::fils`] has what goes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AkmSuite {
    /// 802.1X (type 1).
    Ieee8021x,
    /// PSK (2).
    Psk,
    /// FT over 802.1X (3).
    FtIeee8021x,
    /// FT over PSK (4).
    FtPsk,
    /// 802.1X with SHA-256 (5).
    Ieee8021xSha256,
    /// PSK with SHA-256 (6).
    PskSha256,
    /// SAE (8).
    Sae,
    /// FT over SAE (9).
    FtSae,
    /// 802.1X, Suite B (11).
    SuiteB128,
    /// 802.1X, CNSA, 192 bits (12).
    SuiteB192,
    /// FT over 802.1X with SHA-384 (13).
    FtIeee8021xSha384,
    /// OWE (18).
    Owe,
    /// FT over PSK with SHA-384 (19).
    FtPskSha384,
    /// PSK with SHA-384 (20).
    PskSha384,
    /// 802.1X with SHA-384 (23); type 22 is its FT.
    Ieee8021xSha384,
    /// SAE with a hash by its group (24).
    SaeExt,
    /// FT over the former (25).
    FtSaeExt,
    /// DPP (Wi-Fi Alliance, 2).
    Dpp,
}

impl AkmSuite {
    /// Returns the suite of a type under 00-0F-AC.
    pub const fn from_type(kind: u8) -> Option<Self> {
        Some(match kind {
            1 => AkmSuite::Ieee8021x,
            2 => AkmSuite::Psk,
            3 => AkmSuite::FtIeee8021x,
            4 => AkmSuite::FtPsk,
            5 => AkmSuite::Ieee8021xSha256,
            6 => AkmSuite::PskSha256,
            8 => AkmSuite::Sae,
            9 => AkmSuite::FtSae,
            11 => AkmSuite::SuiteB128,
            12 => AkmSuite::SuiteB192,
            13 | 22 => AkmSuite::FtIeee8021xSha384,
            18 => AkmSuite::Owe,
            19 => AkmSuite::FtPskSha384,
            20 => AkmSuite::PskSha384,
            23 => AkmSuite::Ieee8021xSha384,
            24 => AkmSuite::SaeExt,
            25 => AkmSuite::FtSaeExt,
            _ => return None,
        })
    }

    /// Returns a name.
    pub const fn name(self) -> &'static str {
        match self {
            AkmSuite::Ieee8021x => "802.1X",
            AkmSuite::Psk => "PSK",
            AkmSuite::FtIeee8021x => "FT-802.1X",
            AkmSuite::FtPsk => "FT-PSK",
            AkmSuite::Ieee8021xSha256 => "802.1X-SHA256",
            AkmSuite::PskSha256 => "PSK-SHA256",
            AkmSuite::Sae => "SAE",
            AkmSuite::FtSae => "FT-SAE",
            AkmSuite::SuiteB128 => "802.1X-SUITE-B",
            AkmSuite::SuiteB192 => "802.1X-SUITE-B-192",
            AkmSuite::FtIeee8021xSha384 => "FT-802.1X-SHA384",
            AkmSuite::Owe => "OWE",
            AkmSuite::FtPskSha384 => "FT-PSK-SHA384",
            AkmSuite::PskSha384 => "PSK-SHA384",
            AkmSuite::Ieee8021xSha384 => "802.1X-SHA384",
            AkmSuite::SaeExt => "SAE-EXT-KEY",
            AkmSuite::FtSaeExt => "FT-SAE-EXT-KEY",
            AkmSuite::Dpp => "DPP",
        }
    }
}

/// How one negotiated suite derives and proves keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Derives the PTK.
    pub kdf: Kdf,
    /// Proves EAPOL-Key frames; decides how key data is wrapped, too.
    pub mic: MicAlgorithm,
    /// Bytes of the key confirmation key.
    pub kck_len: usize,
    /// Bytes of the key encryption key.
    pub kek_len: usize,
    /// Whether the PTK comes through the FT key hierarchy.
    pub is_ft: bool,
}

impl Suite {
    const fn new(kdf: Kdf, mic: MicAlgorithm, kck_len: usize, kek_len: usize) -> Self {
        Suite { kdf, mic, kck_len, kek_len, is_ft: false }
    }

    /// WPA, and RSN with TKIP: key descriptor version 1.
    pub const VERSION_1: Suite = Suite::new(Kdf::PrfSha1, MicAlgorithm::HmacMd5, 16, 16);
    /// RSN with CCMP and SHA-1: version 2.
    pub const VERSION_2: Suite = Suite::new(Kdf::PrfSha1, MicAlgorithm::HmacSha1, 16, 16);
    /// SHA-256 with AES-CMAC: version 3, and SAE with version 0.
    pub const CMAC: Suite = Suite::new(Kdf::Sha256, MicAlgorithm::AesCmac, 16, 16);
    /// SHA-256 with HMAC: Suite B, OWE with group 19.
    pub const SHA_256: Suite = Suite::new(Kdf::Sha256, MicAlgorithm::HmacSha256, 16, 16);
    /// SHA-384: the 192-bit suites, OWE with group 20.
    pub const SHA_384: Suite = Suite::new(Kdf::Sha384, MicAlgorithm::HmacSha384, 24, 32);
    /// SHA-512: OWE with group 21.
    pub const SHA_512: Suite = Suite::new(Kdf::Sha512, MicAlgorithm::HmacSha512, 32, 32);

    const fn ft(self) -> Self {
        Suite { is_ft: true, ..self }
    }

    /// Every derivation that the key descriptor version of a frame admits, the more common first. The
    /// frame's integrity code tells which is right, so what was negotiated need not be known.
    pub const fn candidates(version: u8) -> &'static [Suite] {
        match version {
            1 => &[Self::VERSION_1],
            2 => &[Self::VERSION_2],
            3 => &[Self::CMAC, const { Self::CMAC.ft() }],
            0 => &[
                Self::CMAC,
                Self::SHA_256,
                Self::SHA_384,
                Self::SHA_512,
                const { Self::CMAC.ft() },
                const { Self::SHA_256.ft() },
                const { Self::SHA_384.ft() },
                const { Self::SHA_512.ft() },
            ],
            _ => &[],
        }
    }

    /// Returns the suite of an AKM; `is_tkip` says whether the pairwise cipher is TKIP, `pmk_len` is
    /// the PMK's length, by which OWE, DPP and SAE-EXT choose their hash.
    pub const fn of(akm: AkmSuite, is_tkip: bool, pmk_len: usize) -> Self {
        let by_pmk = match pmk_len {
            48 => Self::SHA_384,
            64 => Self::SHA_512,
            _ => Self::SHA_256,
        };
        match akm {
            AkmSuite::Ieee8021x | AkmSuite::Psk => {
                if is_tkip {
                    Self::VERSION_1
                } else {
                    Self::VERSION_2
                }
            }
            AkmSuite::FtIeee8021x | AkmSuite::FtPsk | AkmSuite::FtSae => Self::CMAC.ft(),
            AkmSuite::Ieee8021xSha256 | AkmSuite::PskSha256 | AkmSuite::Sae => Self::CMAC,
            AkmSuite::SuiteB128 => Self::SHA_256,
            AkmSuite::SuiteB192 | AkmSuite::PskSha384 | AkmSuite::Ieee8021xSha384 => Self::SHA_384,
            AkmSuite::FtIeee8021xSha384 | AkmSuite::FtPskSha384 => Self::SHA_384.ft(),
            AkmSuite::Owe | AkmSuite::Dpp | AkmSuite::SaeExt => by_pmk,
            AkmSuite::FtSaeExt => by_pmk.ft(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_negotiated_is_among_the_candidates_of_its_descriptor_version() {
        // Table 12-10: the version that each suite's frames carry.
        for (kind, is_tkip, pmk_len, version) in [
            (1, true, 32, 1),
            (2, false, 32, 2),
            (3, false, 32, 3),
            (4, false, 32, 3),
            (5, false, 32, 3),
            (6, false, 32, 3),
            (8, false, 32, 0),
            (9, false, 32, 0),
            (11, false, 32, 0),
            (12, false, 48, 0),
            (13, false, 48, 0),
            (18, false, 32, 0),
            (18, false, 48, 0),
            (18, false, 64, 0),
            (20, false, 48, 0),
            (24, false, 64, 0),
            (25, false, 48, 0),
        ] {
            let akm = AkmSuite::from_type(kind).unwrap();
            let suite = Suite::of(akm, is_tkip, pmk_len);
            assert!(Suite::candidates(version).contains(&suite), "{akm:?} {pmk_len}");
            assert_eq!(suite.is_ft, akm.name().starts_with("FT-"), "{akm:?}");
        }
        assert_eq!(AkmSuite::from_type(14), None, "FILS is not here");
        assert!(Suite::candidates(7).is_empty());
    }
}
