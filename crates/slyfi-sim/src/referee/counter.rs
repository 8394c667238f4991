//! Fields that count, as 802.11's sequence control does.

use crate::NodeId;
use std::collections::BTreeMap;

/// Positions looked at.
const DEPTH: usize = 64;
/// Steps in a row that make a counter; by chance a random field makes one in 8192.
const ENOUGH: u8 = 8;
/// Steps of a counter: by 1 to 4, or the same in the upper 12 bits (sequence control, 9.2.4.4).
const STEPS: [u16; 8] = [1, 2, 3, 4, 16, 32, 48, 64];

/// Two bytes at every position of a sender's last frame, and how long they have been counting.
#[derive(Debug, Default)]
pub(super) struct Counters(BTreeMap<NodeId, Vec<Field>>);

#[derive(Clone, Copy, Debug, Default)]
struct Field {
    last: [u8; 2],
    little: u8,
    big: u8,
}

impl Counters {
    pub(super) fn new() -> Self {
        Counters::default()
    }

    /// Takes a frame; returns the first position at which a counter shows.
    pub(super) fn take(&mut self, sender: NodeId, body: &[u8]) -> Option<usize> {
        let fields = self.0.entry(sender).or_default();
        let mut found = None;
        for (position, pair) in body.windows(2).take(DEPTH).enumerate() {
            let now = [pair[0], pair[1]];
            let Some(field) = fields.get_mut(position) else {
                fields.push(Field { last: now, little: 0, big: 0 });
                continue;
            };
            // A retry repeats the number; it neither counts nor ends the counting.
            if now == field.last {
                continue;
            }
            let step = |from: u16, to: u16| STEPS.contains(&to.wrapping_sub(from));
            let little = step(u16::from_le_bytes(field.last), u16::from_le_bytes(now));
            let big = step(u16::from_be_bytes(field.last), u16::from_be_bytes(now));
            field.little = if little { field.little.saturating_add(1) } else { 0 };
            field.big = if big { field.big.saturating_add(1) } else { 0 };
            field.last = now;
            if found.is_none() && field.little.max(field.big) >= ENOUGH {
                found = Some(position);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimRng;

    #[test]
    fn counters_of_both_byte_orders_show_and_random_fields_do_not() {
        let run = |write: fn(&mut [u8], u16)| {
            let (mut c, mut rng) = (Counters::new(), SimRng::new(1));
            (0..2000u16).find_map(|i| {
                let mut body = [0; 60];
                rng.fill_bytes(&mut body);
                write(&mut body, i);
                c.take(NodeId(0), &body)
            })
        };
        assert_eq!(run(|_, _| ()), None);
        assert_eq!(run(|b, i| b[20..22].copy_from_slice(&i.to_be_bytes())), Some(20));
        assert_eq!(run(|b, i| b[22..24].copy_from_slice(&(i << 4).to_le_bytes())), Some(22));
    }
}
