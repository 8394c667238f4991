//! A received data frame on its way through its protection.

use super::frames::{EAPOL, decapsulate};
use super::protection::Protection;
use slyfi_base::{DropReason, MacAddress, Now};
use slyfi_wire::ieee80211::MacHeader;

/// A data frame past its protection, if it had one.
pub(super) struct Incoming<'a> {
    pub(super) header: MacHeader<'a>,
    pub(super) body: &'a [u8],
    pub(super) sealed: bool,
}

/// What a data frame says.
pub(super) enum Content<'a> {
    /// Nothing: a Null frame, or what a protection asks of its peer.
    Nothing,
    /// An EAPOL packet for a protection that has handshakes.
    Handshake(&'a [u8]),
    /// A packet: EtherType and payload.
    Packet(u16, &'a [u8]),
}

impl<'a> Incoming<'a> {
    /// Tells what the frame says. Of a private protection only its handshakes may come in the clear.
    pub(super) fn content(&self, is_private: bool) -> Result<Content<'a>, DropReason> {
        if !self.header.frame_control().carries_data() || (self.sealed && self.body.is_empty()) {
            return Ok(Content::Nothing);
        }
        match decapsulate(self.body).ok_or(DropReason::Malformed)? {
            (EAPOL, packet) if is_private => Ok(Content::Handshake(packet)),
            _ if is_private && !self.sealed => Err(DropReason::Unprotected),
            (ethertype, payload) => Ok(Content::Packet(ethertype, payload)),
        }
    }
}

/// Opens a data frame in place if it is protected. Whether it had to be is for the caller to say.
pub(super) fn unseal<'a>(
    protection: &mut dyn Protection,
    now: Now,
    from: MacAddress,
    frame: &'a mut [u8],
    header_len: usize,
) -> Result<Incoming<'a>, DropReason> {
    let (head, body) = frame.split_at_mut_checked(header_len).ok_or(DropReason::Malformed)?;
    let header = MacHeader::new_checked(head).map_err(|_| DropReason::Malformed)?;
    let sealed = header.frame_control().is_protected();
    if !sealed {
        return Ok(Incoming { header, body, sealed });
    }
    let opened = protection.open(now, from, header.bytes(), body)?;
    Ok(Incoming { header, body: opened.payload(body), sealed })
}
