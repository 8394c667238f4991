//! What a card does for its machine: addresses, sequence numbers, durations, duplicate filter.

use super::frames::{Management, append, encapsulate};
use super::outbox::{Outbox, Unsent};
use super::protection::Protection;
use alloc::vec::Vec;
use slyfi_base::{DropReason, Exhausted, MacAddress, Now, Rate, RxMeta, SecureRandom, TxMeta};
use slyfi_wire::ieee80211::{
    FrameControl, HeaderRepr, MacHeader, SequenceControl, Type, data as subtype,
};

/// One card: its address and the one counter from which all its frames are numbered.
#[derive(Debug)]
pub(super) struct Card {
    mac: MacAddress,
    sequence: u16,
    data_rate: Rate,
}

/// Which way a data frame crosses the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ds {
    /// From a station to the access point.
    To,
    /// From the access point to a station.
    From,
}

/// Between whom a data frame goes. `far` is address 3: the destination on the way to, the source on
/// the way from the access point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) ds: Ds,
    pub(super) receiver: MacAddress,
    pub(super) far: MacAddress,
}

/// What seals one frame.
pub(super) struct Sealer<'a> {
    pub(super) protection: &'a mut dyn Protection,
    pub(super) now: Now,
    pub(super) to: MacAddress,
}

impl Sealer<'_> {
    /// Appends a sealed packet to a frame that is its header so far. An empty packet stays empty.
    fn seal(self, frame: &mut Vec<u8>, packet: (u16, &[u8])) -> Result<(), Exhausted> {
        let room = self.protection.overhead();
        let header_len = frame.len();
        frame.resize(header_len + room.headroom, 0);
        let from = frame.len();
        if packet != (0, &[]) {
            encapsulate(frame, packet.0, packet.1);
        }
        let len = frame.len() - from;
        frame.resize(from + len + room.tailroom, 0);
        let (header, body) = frame.split_at_mut(header_len);
        let sealed = self.protection.seal(self.now, self.to, header, body, len)?;
        frame.truncate(header_len + sealed);
        Ok(())
    }
}

impl Card {
    pub(super) fn new(mac: MacAddress, data_rate: Rate, rng: &mut impl SecureRandom) -> Self {
        // Below 2^12.
        Card { mac, sequence: rng.below(4096) as u16, data_rate }
    }

    pub(super) const fn mac(&self) -> MacAddress {
        self.mac
    }

    /// Sends a management frame at base rate.
    pub(super) fn manage(
        &mut self,
        out: &mut Outbox,
        to: MacAddress,
        bssid: MacAddress,
        body: Management<'_>,
    ) -> bool {
        let mut header = HeaderRepr::management(body.subtype(), to, self.mac, bssid);
        let rate = self.number(&mut header, Rate::BASE);
        out.transmit(TxMeta { rate }, |frame| {
            write(frame, &header);
            body.write(frame);
        })
    }

    /// Sends a data frame, sealed by `seal` if there is one.
    pub(super) fn data(
        &mut self,
        out: &mut Outbox,
        route: Route,
        packet: (u16, &[u8]),
        seal: Option<Sealer<'_>>,
    ) -> Result<(), Unsent> {
        let mut header = self.data_header(subtype::DATA, route.ds, route.receiver, route.far);
        header.frame_control = header.frame_control.with_protected(seal.is_some());
        // Group frames have to go at a rate that every member receives.
        let rate = if route.receiver.is_group() { Rate::BASE } else { self.data_rate };
        let rate = self.number(&mut header, rate);
        out.transmit_sealed(TxMeta { rate }, |frame| {
            write(frame, &header);
            match seal {
                None => encapsulate(frame, packet.0, packet.1),
                Some(sealer) => sealer.seal(frame, packet)?,
            }
            Ok(())
        })
    }

    /// Sends a Null frame to the access point: "I am still here".
    pub(super) fn null(&mut self, out: &mut Outbox, bssid: MacAddress) -> bool {
        let mut header = self.data_header(subtype::NULL, Ds::To, bssid, bssid);
        let rate = self.number(&mut header, Rate::BASE);
        out.transmit(TxMeta { rate }, |frame| write(frame, &header))
    }

    fn data_header(&self, kind: u8, ds: Ds, addr1: MacAddress, addr3: MacAddress) -> HeaderRepr {
        let frame_control = FrameControl::new(Type::Data, kind)
            .with_to_ds(ds == Ds::To)
            .with_from_ds(ds == Ds::From);
        HeaderRepr { frame_control, addr1, addr2: self.mac, addr3, ..HeaderRepr::default() }
    }

    /// Gives the frame the next sequence number and the duration of its acknowledgement.
    fn number(&mut self, header: &mut HeaderRepr, rate: Rate) -> Rate {
        header.sequence = SequenceControl::new(self.sequence, 0);
        header.duration = if header.addr1.is_group() { 0 } else { acknowledgement_us(rate) };
        self.sequence = (self.sequence + 1) % 4096;
        rate
    }

    /// Looks at a received frame: intact, of a kind this protocol understands, and for this card or
    /// a group. Only data may be protected, and only where there is a protection.
    ///
    /// # Errors
    /// Why it is to be dropped.
    pub(super) fn receive<'a>(
        &self,
        meta: RxMeta,
        frame: &'a [u8],
        private: bool,
    ) -> Result<MacHeader<'a>, DropReason> {
        if meta.bad_fcs {
            return Err(DropReason::BadFcs);
        }
        let header = MacHeader::new_checked(frame).map_err(|_| DropReason::Malformed)?;
        let fc = header.frame_control();
        let addr1 = header.addr1();
        if !matches!(fc.kind(), Type::Management | Type::Data)
            || (addr1 != self.mac && !addr1.is_group())
            || header.addr2().is_none_or(|a| a == self.mac || !a.is_unicast())
        {
            return Err(DropReason::Foreign);
        }
        let fragment = header.sequence().is_none_or(|s| s.fragment() != 0);
        let amsdu = header.qos_control().is_some_and(|q| q.is_amsdu());
        let sealed = fc.is_protected() && !(private && fc.kind() == Type::Data);
        if sealed || fc.has_more_fragments() || fragment || amsdu {
            return Err(DropReason::Unexpected);
        }
        Ok(header)
    }
}

fn write(frame: &mut Vec<u8>, header: &HeaderRepr) {
    let mut bytes = [0; HeaderRepr::MAX_LEN];
    // The buffer is as long as the longest header.
    if let Ok(len) = header.emit(&mut bytes) {
        append(frame, len, |w| w.put(bytes.get(..len).unwrap_or(&bytes)));
    }
}

/// The duration field of a unicast frame in µs: SIFS and an acknowledgement at the highest mandatory
/// rate that is not above the frame's own (IEEE 802.11-2020 §9.2.5, §10.6.6.5.2, §17.4.3).
fn acknowledgement_us(rate: Rate) -> u16 {
    const SIFS: u16 = 16;
    const PREAMBLE_AND_SIGNAL: u16 = 20;
    // 16 service bits, 14 bytes, 6 tail bits, in symbols of 4 µs at 6, 12 or 24 Mb/s.
    let bits_per_symbol: u16 = match rate.0 {
        0..24 => 24,
        24..48 => 48,
        48.. => 96,
    };
    SIFS + PREAMBLE_AND_SIGNAL + 4 * (16u16 + 14 * 8 + 6).div_ceil(bits_per_symbol)
}

/// The duplicate filter of one sender (IEEE 802.11-2020 §10.3.2.14): a retransmission of the frame
/// that was received last. Radios set the retry bit; the frame's number stays the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DuplicateFilter(Option<SequenceControl>);

impl DuplicateFilter {
    /// Takes note of a unicast frame; returns whether it is a duplicate.
    pub(super) fn is_duplicate(&mut self, header: &MacHeader<'_>) -> bool {
        let number = header.sequence();
        let duplicate = header.frame_control().is_retry() && number == self.0;
        self.0 = number;
        duplicate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_the_standard() {
        // SIFS 16 µs and an acknowledgement of 44, 32 and 28 µs.
        assert_eq!(acknowledgement_us(Rate::BASE), 60);
        assert_eq!(acknowledgement_us(Rate(18)), 60);
        assert_eq!(acknowledgement_us(Rate(24)), 48);
        assert_eq!(acknowledgement_us(Rate::PEAK), 44);
    }

    #[test]
    fn only_a_marked_retransmission_of_the_last_frame_is_a_duplicate() {
        let mut filter = DuplicateFilter::default();
        let mut is_duplicate = |sequence, retry| {
            let header = HeaderRepr {
                frame_control: FrameControl::new(Type::Data, subtype::DATA).with_retry(retry),
                sequence: SequenceControl::new(sequence, 0),
                ..HeaderRepr::default()
            };
            let mut bytes = [0; 24];
            header.emit(&mut bytes).unwrap();
            filter.is_duplicate(&MacHeader::new_checked(&bytes).unwrap())
        };
        assert!(!is_duplicate(7, true), "the first try was lost");
        assert!(is_duplicate(7, true));
        assert!(!is_duplicate(7, false), "another frame, a whole round later");
        assert!(!is_duplicate(8, true));
        assert!(!is_duplicate(7, true));
    }
}
