//! The channel itself: what is on the air now, and what overlaps at whom.

use crate::NodeId;
use slyfi_base::{Dbm, Instant, Rate};
use std::rc::Rc;

/// The transmissions that are on the air now.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Decibels by which a frame has to be stronger to survive an overlap; `None`: none does.
    pub(crate) capture: Option<u8>,
    ongoing: Vec<Ongoing>,
    next: u64,
}

/// Names a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TxId(u64);

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A frame out of a node's queue.
    Queued,
    /// A frame sent without asking the channel: an ACK, an attacker's.
    Forced,
    /// Energy without a frame.
    Noise,
}

/// One transmission.
#[derive(Debug)]
pub(crate) struct Ongoing {
    pub(crate) id: TxId,
    pub(crate) from: NodeId,
    pub(crate) end: Instant,
    pub(crate) rate: Rate,
    pub(crate) kind: Kind,
    pub(crate) frame: Rc<[u8]>,
    /// By node: how strong it is there, and whether something spoiled it there.
    pub(crate) at: Vec<Heard>,
}

/// A transmission at one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// `None`: out of range. The sender hears itself.
    pub(crate) signal: Option<Dbm>,
    pub(crate) spoiled: bool,
    /// The node was sending meanwhile: it heard nothing, not even a damaged frame.
    pub(crate) deaf: bool,
}

impl Channel {
    pub(crate) fn new() -> Self {
        Channel { capture: None, ongoing: Vec::new(), next: 0 }
    }

    /// Puts a transmission on the air and marks what it overlaps with.
    pub(crate) fn begin(
        &mut self,
        from: NodeId,
        end: Instant,
        rate: Rate,
        kind: Kind,
        frame: Rc<[u8]>,
        mut at: Vec<Heard>,
    ) -> TxId {
        for old in &mut self.ongoing {
            for (node, (o, n)) in old.at.iter_mut().zip(&mut at).enumerate() {
                let (Some(os), Some(ns)) = (o.signal, n.signal) else { continue };
                o.deaf |= node == from.index();
                n.deaf |= node == old.from.index();
                let own = node == old.from.index() || node == from.index();
                // A radio that sends hears nothing else, however strong.
                let margin = self.capture.filter(|_| !own).map(i16::from);
                let (os, ns) = (i16::from(os.0), i16::from(ns.0));
                if margin.is_none_or(|m| os < ns + m) {
                    o.spoiled = true;
                }
                if margin.is_none_or(|m| ns < os + m) {
                    n.spoiled = true;
                }
            }
        }
        let id = TxId(self.next);
        self.next += 1;
        self.ongoing.push(Ongoing { id, from, end, rate, kind, frame, at });
        id
    }

    /// Takes a transmission off the air.
    pub(crate) fn end(&mut self, id: TxId) -> Option<Ongoing> {
        let i = self.ongoing.iter().position(|o| o.id == id)?;
        Some(self.ongoing.remove(i))
    }

    /// Returns when the last of the transmissions that `node` senses now ends.
    pub(crate) fn busy_until(&self, node: NodeId) -> Option<Instant> {
        let heard = self
            .ongoing
            .iter()
            .filter(|o| o.at.get(node.index()).is_some_and(|h| h.signal.is_some()));
        heard.map(|o| o.end).max()
    }

    /// Returns whether `node` is sending now.
    pub(crate) fn is_sending(&self, node: NodeId) -> bool {
        self.ongoing.iter().any(|o| o.from == node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(signals: &[Option<i8>]) -> Vec<Heard> {
        signals.iter().map(|s| Heard { signal: s.map(Dbm), spoiled: false, deaf: false }).collect()
    }

    fn begin(c: &mut Channel, from: u16, signals: &[Option<i8>]) -> TxId {
        let end = Instant::from_micros(9);
        c.begin(NodeId(from), end, Rate::BASE, Kind::Queued, Rc::from([]), heard(signals))
    }

    fn spoiled(c: &mut Channel, id: TxId) -> Vec<bool> {
        c.end(id).unwrap().at.iter().map(|h| h.spoiled).collect()
    }

    #[test]
    fn an_overlap_spoils_both_where_both_are_heard() {
        let mut c = Channel::new();
        // 0 and 2 do not hear each other; 1 hears both (the hidden terminal).
        let a = begin(&mut c, 0, &[Some(0), Some(-50), None]);
        let b = begin(&mut c, 2, &[None, Some(-50), Some(0)]);
        assert_eq!(spoiled(&mut c, a), [false, true, false]);
        assert_eq!(spoiled(&mut c, b), [false, true, false]);
        assert!(c.busy_until(NodeId(1)).is_none());
    }

    #[test]
    fn frames_one_after_the_other_are_whole() {
        let mut c = Channel::new();
        let a = begin(&mut c, 0, &[Some(0), Some(-50)]);
        assert_eq!(spoiled(&mut c, a), [false, false]);
        let b = begin(&mut c, 1, &[Some(-50), Some(0)]);
        assert_eq!(spoiled(&mut c, b), [false, false]);
    }

    #[test]
    fn capture_saves_the_stronger_but_never_at_a_sender() {
        let mut c = Channel::new();
        c.capture = Some(10);
        let a = begin(&mut c, 0, &[Some(0), Some(-40), Some(-60)]);
        let b = begin(&mut c, 2, &[Some(-60), Some(-50), Some(0)]);
        assert_eq!(spoiled(&mut c, a), [true, false, true]);
        assert_eq!(spoiled(&mut c, b), [true, true, true]);
    }
}
