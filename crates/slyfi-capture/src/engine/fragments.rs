//! Payloads that came in fragments.

use slyfi_wire::ieee80211::MacHeader;
use std::collections::VecDeque;

/// How many payloads may be incomplete at a time. A sender finishes one before it begins the next, so
/// this many senders can take turns.
const MAX_PARTIAL: usize = 64;

/// Payloads whose last fragment has not come yet.
#[derive(Debug, Default)]
pub(crate) struct Fragments(VecDeque<Partial>);

#[derive(Debug)]
struct Partial {
    receiver: [u8; 6],
    transmitter: [u8; 6],
    sequence: u16,
    next: u8,
    bytes: Vec<u8>,
}

impl Fragments {
    /// Takes the body of a frame; returns the payload if the frame is whole or the last fragment.
    /// Fragments are kept if the first one is `wanted`.
    pub fn add(
        &mut self,
        header: &MacHeader<'_>,
        body: &[u8],
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let (sequence, transmitter) = (header.sequence()?, header.addr2()?.0);
        let more = header.frame_control().has_more_fragments();
        let receiver = header.addr1().0;
        if sequence.fragment() == 0 {
            if !more {
                return Some(body.to_vec());
            }
            if wanted(body) {
                self.0.truncate(MAX_PARTIAL - 1);
                self.0.push_front(Partial {
                    receiver,
                    transmitter,
                    sequence: sequence.sequence(),
                    next: 1,
                    bytes: body.to_vec(),
                });
            }
            return None;
        }
        let is_its = |p: &Partial| {
            (p.receiver, p.transmitter, p.sequence, p.next)
                == (receiver, transmitter, sequence.sequence(), sequence.fragment())
        };
        let at = self.0.iter().position(is_its)?;
        let partial = self.0.get_mut(at)?;
        partial.bytes.extend_from_slice(body);
        partial.next += 1;
        if more { None } else { self.0.remove(at).map(|p| p.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(number: u16, fragment: u16, more: bool) -> Vec<u8> {
        let mut h = vec![0x08, 1 | u8::from(more) << 2, 0, 0];
        h.extend([[1; 6], [2; 6], [3; 6]].concat());
        h.extend((number << 4 | fragment).to_le_bytes());
        h
    }

    fn add(
        f: &mut Fragments,
        number: u16,
        fragment: u16,
        more: bool,
        body: &[u8],
    ) -> Option<Vec<u8>> {
        let bytes = frame(number, fragment, more);
        f.add(&MacHeader::new_checked(&bytes).unwrap(), body, |b| b[0] == b'a')
    }

    #[test]
    fn fragments_in_order_become_the_payload_and_others_do_not() {
        let mut f = Fragments::default();
        assert_eq!(add(&mut f, 1, 0, false, b"whole"), Some(b"whole".to_vec()));
        assert_eq!(add(&mut f, 2, 0, true, b"a"), None);
        assert_eq!(add(&mut f, 3, 1, false, b"another's"), None);
        assert_eq!(add(&mut f, 2, 2, false, b"too early"), None);
        assert_eq!(add(&mut f, 2, 1, true, b"b"), None);
        assert_eq!(add(&mut f, 2, 1, true, b"b"), None, "a retransmission");
        assert_eq!(add(&mut f, 2, 2, false, b"c"), Some(b"abc".to_vec()));
        assert_eq!(add(&mut f, 2, 2, false, b"c"), None);
    }

    #[test]
    fn what_nobody_wants_is_not_kept_and_what_is_kept_is_bounded() {
        let mut f = Fragments::default();
        add(&mut f, 1, 0, true, b"unwanted");
        assert!(f.0.is_empty());
        for n in 0..1000 {
            add(&mut f, n, 0, true, b"a");
        }
        assert_eq!(f.0.len(), MAX_PARTIAL);
    }
}
