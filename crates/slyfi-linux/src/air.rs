//! What the airs over sockets have beyond [`Radio`]: something to poll, and a queue to flush.

use crate::batch::Flush;
use crate::error::RadioError;
use slyfi_base::{Radio, RxMeta};
use slyfi_wire::radiotap::{self, Radiotap};
use std::os::fd::BorrowedFd;

/// The longest 802.11 frame that any air here carries, in bytes: the carrier's own limit.
pub(crate) const MAX_FRAME: usize = slyfi_wire::carrier::MAX_FRAME;

/// Room for one received frame with its wrappings, in bytes. The longest radiotap headers seen are
/// some 200 bytes long.
pub(crate) const RX_SLOT: usize = 4096;

/// Room for one frame to be sent with its wrappings, in bytes.
pub(crate) const TX_SLOT: usize = ETHERNET_HEADER_LEN + radiotap::TX_HEADER_LEN + MAX_FRAME;

/// Bytes of an Ethernet header without VLAN tag (IEEE 802.3-2022 §3.1.1).
pub(crate) const ETHERNET_HEADER_LEN: usize = 14;

/// Received frames that one `read` looks at before it gives the caller its turn: junk must not keep
/// it from its timers.
pub(crate) const READ_LIMIT: usize = 256;

/// A [`Radio`] over a socket.
///
/// `write` queues; [`AirSocket::flush`] sends what is queued in one system call (a `write` into a
/// full queue flushes by itself). Call it when the machine's outputs are drained.
pub trait AirSocket: Radio<Error = RadioError> + Send {
    /// Returns what to poll for reading.
    fn receiver(&self) -> BorrowedFd<'_>;

    /// Returns what to poll for writing while a flush is [`Flush::Pending`].
    fn transmitter(&self) -> BorrowedFd<'_>;

    /// Sends what is queued.
    ///
    /// # Errors
    /// When the interface is gone or down.
    fn flush(&mut self) -> Result<Flush, RadioError>;

    /// Returns what was counted since the air was opened.
    fn counters(&mut self) -> AirCounters;
}

/// What an air has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirCounters {
    /// Frames handed to the reader.
    pub received: u64,
    /// Datagrams handed to the system (one a frame and destination).
    pub sent: u64,
    /// Datagrams that the system refused as a network loses them (no route, firewall).
    pub lost: u64,
    /// Own transmissions that came back and were dropped here; most do not leave the kernel.
    pub echoes: u64,
    /// Datagrams of strangers: from no peer, or of another kind.
    pub foreign: u64,
    /// Datagrams whose radiotap header is damaged.
    pub malformed: u64,
    /// Frames longer than the reader's buffer or this air's slots.
    pub too_long: u64,
    /// Frames that the kernel dropped because the reader was slow.
    pub overrun: u64,
}

impl AirCounters {
    /// Counts one frame that was not handed on.
    pub(crate) fn count(&mut self, why: Discard) {
        match why {
            Discard::Echo => self.echoes += 1,
            Discard::Foreign => self.foreign += 1,
            Discard::Malformed => self.malformed += 1,
            Discard::TooLong => self.too_long += 1,
        }
    }
}

/// Why a received datagram is not handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discard {
    Echo,
    Foreign,
    Malformed,
    TooLong,
}

/// A frame that was copied out: what the radio says about it, and its length.
pub(crate) type Unwrapped = Result<(RxMeta, usize), Discard>;

/// Whether a radiotap header with TX flags means that the frame is an own echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TxFlags {
    /// On a monitor interface it does: the driver hands injected frames back.
    MeanEcho,
    /// On the airs over Ethernet and UDP every frame comes with its sender's header.
    AreTheSenders,
}

/// Takes the radiotap header off `packet` and copies the frame to `out`.
pub(crate) fn unwrap_radiotap(packet: &[u8], tx_flags: TxFlags, out: &mut [u8]) -> Unwrapped {
    let parsed = Radiotap::new_checked(packet).map_err(|_| Discard::Malformed)?;
    if tx_flags == TxFlags::MeanEcho && parsed.info().is_own_echo() {
        return Err(Discard::Echo);
    }
    let frame = parsed.frame();
    out.get_mut(..frame.len()).ok_or(Discard::TooLong)?.copy_from_slice(frame);
    Ok((parsed.info().meta(), frame.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::Rate;

    #[test]
    fn a_sent_frame_is_an_echo_on_a_monitor_interface_only() {
        let mut packet = radiotap::tx_header(Rate::BASE).to_vec();
        packet.extend(b"frame");
        let mut out = [0; 5];
        let (meta, len) = unwrap_radiotap(&packet, TxFlags::AreTheSenders, &mut out).unwrap();
        assert_eq!((&out[..len], meta.rate), (&b"frame"[..], Some(Rate::BASE)));
        assert_eq!(unwrap_radiotap(&packet, TxFlags::MeanEcho, &mut out), Err(Discard::Echo));
    }

    #[test]
    fn the_frame_check_sequence_goes_and_its_verdict_stays() {
        let header = radiotap::RxRepr {
            flags: radiotap::FLAG_FCS | radiotap::FLAG_BAD_FCS,
            ..radiotap::RxRepr::default()
        };
        let mut packet = vec![0; header.buffer_len()];
        header.emit(&mut packet).unwrap();
        packet.extend(b"frame-FCS");
        let mut out = [0; 16];
        let (meta, len) = unwrap_radiotap(&packet, TxFlags::MeanEcho, &mut out).unwrap();
        assert_eq!((&out[..len], meta.bad_fcs), (&b"frame"[..], true));
    }

    #[test]
    fn what_does_not_fit_or_does_not_parse_is_dropped() {
        let mut packet = radiotap::tx_header(Rate::BASE).to_vec();
        packet.extend(b"frame");
        let mut out = [0; 4];
        let kind = TxFlags::AreTheSenders;
        assert_eq!(unwrap_radiotap(&packet, kind, &mut out), Err(Discard::TooLong));
        for len in 0..radiotap::TX_HEADER_LEN {
            let cut = unwrap_radiotap(&packet[..len], kind, &mut out);
            assert_eq!(cut, Err(Discard::Malformed), "{len} bytes");
        }
        packet[0] = 1;
        assert_eq!(unwrap_radiotap(&packet, kind, &mut [0; 9]), Err(Discard::Malformed));
    }
}
