//! Forged acknowledgements.

use super::{Adversary, Attack};
use crate::dcf;
use slyfi_base::{Duration, Now, RxMeta, TxMeta};
use slyfi_wire::carrier;
use std::collections::VecDeque;

/// Answers every unicast 802.11 frame with a hardware ACK, whether it was received or not, and every
/// SlyFi frame with one that repeats its address.
///
/// The first makes an ordinary sender believe that a lost frame arrived. SlyFi's acknowledgements
/// are Shroud packets, so the second must do nothing.
#[derive(Debug, Default)]
pub struct AckSpoofer {
    queue: VecDeque<Attack>,
    sent: u64,
}

impl AckSpoofer {
    /// Makes the attacker.
    pub fn new() -> Self {
        AckSpoofer::default()
    }

    /// Returns how many forged acknowledgements were handed to the radio.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

impl Adversary for AckSpoofer {
    fn hear(&mut self, _now: Now, meta: RxMeta, frame: &[u8]) {
        let rate = meta.rate.unwrap_or(slyfi_base::Rate::BASE);
        let attack = if let Some(address) = carrier::address(frame) {
            // An address in the clear with a made-up tag: the "acknowledge the address" of §4.2.
            let mut forged = vec![0xa5; carrier::MIN_FRAME];
            forged[..carrier::HEADER_LEN].copy_from_slice(&carrier::HEADER);
            forged[carrier::HEADER_LEN..][..carrier::ADDRESS_LEN].copy_from_slice(address);
            Attack::Send { frame: forged, meta: TxMeta { rate } }
        } else if frame.len() >= 16 && frame[4] & 1 == 0 {
            let mut ack = vec![0; dcf::ACK_LEN];
            ack[0] = 0xd4;
            ack[4..].copy_from_slice(&frame[10..16]);
            let meta = TxMeta { rate: dcf::ack_rate(rate) };
            Attack::Force { frame: ack, meta, after: Duration::from_micros(dcf::SIFS) }
        } else {
            return;
        };
        // A spoofer that lags behind is no use to anyone.
        if self.queue.len() < 64 {
            self.queue.push_back(attack);
        }
    }

    fn poll_attack(&mut self, _now: Now, _room: usize) -> Attack {
        match self.queue.pop_front() {
            Some(attack) => {
                self.sent += 1;
                attack
            }
            None => Attack::Wait(None),
        }
    }
}
