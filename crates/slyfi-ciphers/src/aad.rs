//! What CCMP and GCMP authenticate of the 802.11 header (IEEE 802.11-2020 §12.5.3.3.3).
//!
//! # Layout
//! `FC 2 | A1 6 | A2 6 | A3 6 | SC 2 [| A4 6] [| QC 2]`, with these bits masked to zero because they
//! change between transmissions or belong to the receiver: subtype bits 4 to 6 of data frames, Retry,
//! Power Management, More Data; +HTC where there is a QoS control field; the sequence number; of QoS
//! control all but the TID. Protected Frame counts as set. HT control and duration are not covered.

use slyfi_wire::ieee80211::{FrameControl, MacHeader, Type};

/// The associated data of one frame: 22 to 30 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Aad {
    bytes: [u8; 30],
    len: usize,
}

impl Aad {
    /// Builds it from a data or management header; `None` for headers without three addresses.
    pub fn new(header: &MacHeader<'_>) -> Option<Self> {
        let (a2, a3, sequence) = (header.addr2()?, header.addr3()?, header.sequence()?);
        let mut aad = Aad { bytes: [0; 30], len: 0 };
        aad.put(&masked(header.frame_control()).0.to_le_bytes());
        aad.put(&header.addr1().0);
        aad.put(&a2.0);
        aad.put(&a3.0);
        aad.put(&u16::from(sequence.fragment()).to_le_bytes());
        if let Some(a4) = header.addr4() {
            aad.put(&a4.0);
        }
        if let Some(qos) = header.qos_control() {
            aad.put(&u16::from(qos.tid()).to_le_bytes());
        }
        Some(aad)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    /// The longest sum of parts is 30, so they always fit.
    fn put(&mut self, part: &[u8]) {
        let end = self.len + part.len();
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(part);
            self.len = end;
        }
    }
}

fn masked(fc: FrameControl) -> FrameControl {
    let fc = fc
        .with_retry(false)
        .with_power_management(false)
        .with_more_data(false)
        .with_protected(true);
    if fc.kind() != Type::Data {
        return fc;
    }
    let fc = FrameControl(fc.0 & !0x0070);
    if fc.has_qos_control() { fc.with_order(false) } else { fc }
}

/// The priority that enters nonces and the Michael header: the TID of QoS data, zero otherwise.
pub(crate) fn priority(header: &MacHeader<'_>) -> u8 {
    header.qos_control().map_or(0, |q| q.tid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::MacAddress;
    use slyfi_wire::ieee80211::{HeaderRepr, QosControl, SequenceControl};

    fn aad(repr: &HeaderRepr) -> Aad {
        let mut bytes = [0; HeaderRepr::MAX_LEN];
        let len = repr.emit(&mut bytes).unwrap();
        Aad::new(&MacHeader::new_checked(&bytes[..len]).unwrap()).unwrap()
    }

    fn all_of_it() -> HeaderRepr {
        HeaderRepr {
            frame_control: FrameControl(0xff88),
            duration: 0x1234,
            addr1: MacAddress([1; 6]),
            addr2: MacAddress([2; 6]),
            addr3: MacAddress([3; 6]),
            sequence: SequenceControl::new(0xabc, 5),
            addr4: MacAddress([4; 6]),
            qos_control: QosControl(0xffe6),
            ht_control: 0xdead_beef,
        }
    }

    #[test]
    fn what_may_change_on_the_air_is_masked_and_the_rest_is_covered() {
        let a = aad(&all_of_it());
        let mut expected = [0; 30];
        // To DS, From DS, More Fragments and Protected stay; Order goes because of QoS control.
        (expected[0], expected[1]) = (0x88, 0x47);
        for (i, b) in [1, 2, 3].into_iter().enumerate() {
            expected[2 + 6 * i..8 + 6 * i].fill(b);
        }
        expected[20] = 5;
        expected[22..28].fill(4);
        expected[28] = 6;
        assert_eq!(a.as_bytes(), expected);
    }

    #[test]
    fn each_covered_field_changes_it_and_each_masked_one_does_not() {
        let base = all_of_it();
        let same = |change: fn(&mut HeaderRepr)| {
            let mut r = base;
            change(&mut r);
            aad(&r).as_bytes() == aad(&base).as_bytes()
        };
        assert!(same(|r| r.duration = 0));
        assert!(same(|r| r.sequence = SequenceControl::new(1, 5)));
        assert!(same(|r| r.frame_control = r.frame_control.with_retry(false)));
        assert!(same(|r| r.frame_control.0 &= !0x0070));
        assert!(same(|r| r.qos_control = QosControl(6)));
        assert!(same(|r| r.ht_control = 0));
        assert!(!same(|r| r.sequence = SequenceControl::new(0xabc, 4)));
        assert!(!same(|r| r.qos_control = QosControl(0xffe7)));
        assert!(!same(|r| r.addr4 = MacAddress([5; 6])));
        assert!(!same(|r| r.frame_control = r.frame_control.with_more_fragments(false)));
    }

    #[test]
    fn order_stays_in_frames_without_qos_control() {
        let mut r = all_of_it();
        r.frame_control = FrameControl(0x8008);
        assert_eq!(aad(&r).as_bytes()[..2], [0x08, 0xc0]);
    }
}
