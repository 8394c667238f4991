//! The two frame layouts past the carrier: Tryst (slyfi-2008 Figure 2) and Shroud (Figure 3).
//!
//! ```text
//!   Tryst   n x { address 16 | AES(kp) 16 | mac 16 } | etxt | emac 16        n = 1..=8 (section 4.1)
//!   Shroud  address 16                               | etxt | emac 16
//! ```
//!
//! Both begin with their address, so nothing tells them apart before the table lookup (§3.4), and
//! nothing on the air tells `n`: the receiver tries the counts that fit. Offsets here count from the
//! start of the body, that is, past [`crate::carrier::HEADER`].

use crate::Malformed;
use crate::carrier::ADDRESS_LEN;

/// Bytes of an authentication tag: `mac`, `emac`, and suite `aead`'s tag.
pub const TAG_LEN: usize = 16;

/// Bytes of the wrapped message key `AES_kEnc(kp)`.
pub const WRAPPED_KEY_LEN: usize = 16;

/// Bytes of one Tryst header (Figure 2: 32 + 16).
pub const TRYST_HEADER_LEN: usize = ADDRESS_LEN + WRAPPED_KEY_LEN + TAG_LEN;

/// The most headers side by side in a scoped broadcast.
pub const MAX_RECIPIENTS: usize = 8;

/// What Shroud adds around `etxt`.
pub const SHROUD_OVERHEAD: usize = ADDRESS_LEN + TAG_LEN;

/// Bytes of a Tryst body for `recipients` headers around an `etxt` of the given length.
pub const fn tryst_len(recipients: usize, etxt_len: usize) -> usize {
    recipients * TRYST_HEADER_LEN + etxt_len + TAG_LEN
}

/// Bytes of a Shroud body around an `etxt` of the given length.
pub const fn shroud_len(etxt_len: usize) -> usize {
    SHROUD_OVERHEAD + etxt_len
}

/// The length of `n` bytes after PKCS5 padding to AES blocks (RFC 8018 §6.1.1): 1 to 16 more.
pub const fn padded_len(n: usize) -> usize {
    n / 16 * 16 + 16
}

/// One Tryst header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrystHeader<'a> {
    /// `addr`, the address of this recipient for the interval.
    pub address: &'a [u8; ADDRESS_LEN],
    /// `AES_kEnc(kp)`.
    pub wrapped_key: &'a [u8; WRAPPED_KEY_LEN],
    /// What `mac` is computed over: the two fields before it.
    pub authenticated: &'a [u8; ADDRESS_LEN + WRAPPED_KEY_LEN],
    /// `mac`.
    pub mac: &'a [u8; TAG_LEN],
}

impl<'a> TrystHeader<'a> {
    fn split(bytes: &'a [u8]) -> Option<Self> {
        let (authenticated, rest) = bytes.split_first_chunk()?;
        let (address, wrapped) = authenticated.split_first_chunk()?;
        Some(TrystHeader {
            address,
            wrapped_key: wrapped.first_chunk()?,
            authenticated,
            mac: rest.first_chunk()?,
        })
    }
}

/// A Tryst body whose number of headers is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrystFrame<'a>(&'a [u8]);

impl<'a> TrystFrame<'a> {
    /// Looks at a body.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when not even one header, one byte of `etxt` and `emac` fit.
    pub fn new_checked(body: &'a [u8]) -> Result<Self, Malformed> {
        let needed = tryst_len(1, 1);
        if body.len() < needed {
            return Err(Malformed::Truncated { needed, actual: body.len() });
        }
        Ok(TrystFrame(body))
    }

    /// Returns the header in place `index`, if the body is long enough to hold one there.
    pub fn header(&self, index: usize) -> Option<TrystHeader<'a>> {
        if index >= self.max_recipients() {
            return None;
        }
        let at = index.checked_mul(TRYST_HEADER_LEN)?;
        TrystHeader::split(self.0.get(at..)?)
    }

    /// Returns the most headers that this body can have: at least 1, at most [`MAX_RECIPIENTS`].
    pub fn max_recipients(&self) -> usize {
        ((self.0.len().saturating_sub(TAG_LEN + 1)) / TRYST_HEADER_LEN).clamp(1, MAX_RECIPIENTS)
    }

    /// Splits the body as if it had `recipients` headers.
    ///
    /// `None` when that many do not leave room for `etxt` and `emac`. Whether the guess is right,
    /// only the verification of `emac` tells.
    pub fn ctext(&self, recipients: usize) -> Option<Ctext<'a>> {
        if recipients == 0 || recipients > self.max_recipients() {
            return None;
        }
        let rest = self.0.get(recipients.checked_mul(TRYST_HEADER_LEN)?..)?;
        Ctext::split(rest).filter(|c| !c.etxt.is_empty())
    }
}

/// A Shroud body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShroudFrame<'a> {
    address: &'a [u8; ADDRESS_LEN],
    authenticated: &'a [u8],
    ctext: Ctext<'a>,
}

impl<'a> ShroudFrame<'a> {
    /// Looks at a body.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when address and tag do not fit.
    pub fn new_checked(body: &'a [u8]) -> Result<Self, Malformed> {
        let short = Malformed::Truncated { needed: SHROUD_OVERHEAD, actual: body.len() };
        let (address, rest) = body.split_first_chunk().ok_or(short)?;
        let ctext = Ctext::split(rest).ok_or(short)?;
        let authenticated = body.get(..ADDRESS_LEN + ctext.etxt.len()).ok_or(short)?;
        Ok(ShroudFrame { address, authenticated, ctext })
    }

    /// Returns `addr`, the address of this one transmission.
    pub fn address(&self) -> &'a [u8; ADDRESS_LEN] {
        self.address
    }

    /// Returns what suite `2008`'s `emac` is computed over: `addr ‖ etxt`.
    pub fn authenticated(&self) -> &'a [u8] {
        self.authenticated
    }

    /// Returns `etxt` and `emac`.
    pub fn ctext(&self) -> Ctext<'a> {
        self.ctext
    }
}

/// The encrypted payload and its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctext<'a> {
    /// The encrypted payload.
    pub etxt: &'a [u8],
    /// The tag over it.
    pub emac: &'a [u8; TAG_LEN],
}

impl<'a> Ctext<'a> {
    fn split(bytes: &'a [u8]) -> Option<Self> {
        let (etxt, emac) = bytes.split_last_chunk()?;
        Some(Ctext { etxt, emac })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body whose bytes tell their own offset.
    fn body<const N: usize>() -> [u8; N] {
        core::array::from_fn(|i| i as u8)
    }

    #[test]
    fn tryst_fields_lie_where_figure_2_has_them() {
        let b = body::<{ tryst_len(1, 32) }>();
        let f = TrystFrame::new_checked(&b).unwrap();
        let h = f.header(0).unwrap();
        assert_eq!(h.address[..], b[..16]);
        assert_eq!(h.wrapped_key[..], b[16..32]);
        assert_eq!(h.authenticated[..], b[..32]);
        assert_eq!(h.mac[..], b[32..48]);
        let c = f.ctext(1).unwrap();
        assert_eq!(c.etxt, &b[48..80]);
        assert_eq!(c.emac[..], b[80..96]);
    }

    #[test]
    fn the_number_of_headers_is_bounded_by_the_length_and_by_the_maximum() {
        for recipients in 1..=MAX_RECIPIENTS {
            let b = [7u8; tryst_len(MAX_RECIPIENTS + 1, 16)];
            let b = &b[..tryst_len(recipients, 16)];
            let f = TrystFrame::new_checked(b).unwrap();
            assert_eq!(f.max_recipients(), recipients);
            assert_eq!(f.ctext(recipients).unwrap().etxt.len(), 16);
            assert!(f.header(recipients - 1).is_some());
            assert_eq!(f.header(recipients), None);
            assert_eq!(f.ctext(recipients + 1), None);
            assert_eq!(f.ctext(0), None);
        }
        let long = [7u8; tryst_len(MAX_RECIPIENTS + 1, 16)];
        let f = TrystFrame::new_checked(&long).unwrap();
        assert_eq!(f.max_recipients(), MAX_RECIPIENTS);
        assert_eq!(f.ctext(MAX_RECIPIENTS + 1), None);
        assert_eq!(f.header(usize::MAX), None);
    }

    #[test]
    fn shroud_fields_lie_where_figure_3_has_them() {
        let b = body::<{ shroud_len(48) }>();
        let f = ShroudFrame::new_checked(&b).unwrap();
        assert_eq!(f.address()[..], b[..16]);
        assert_eq!(f.ctext().etxt, &b[16..64]);
        assert_eq!(f.ctext().emac[..], b[64..80]);
        assert_eq!(f.authenticated(), &b[..64]);
    }

    #[test]
    fn bodies_too_short_for_their_layout_are_refused() {
        let b = body::<80>();
        for len in 0..b.len() {
            assert_eq!(TrystFrame::new_checked(&b[..len]).is_ok(), len >= 65);
            assert_eq!(ShroudFrame::new_checked(&b[..len]).is_ok(), len >= 32);
        }
    }

    #[test]
    fn padding_always_adds_between_one_and_sixteen_bytes() {
        for n in 0..64 {
            let p = padded_len(n);
            assert!(p.is_multiple_of(16) && (1..=16).contains(&(p - n)));
        }
    }
}
