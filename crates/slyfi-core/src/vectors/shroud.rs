//! What Shroud vectors of both suites have in common.

use super::Failed;
use super::case::{Case, Script};
use crate::keys::Key256;
use crate::shroud::{DirectionSecret, ShroudReceiver, ShroudSender, Slot, Window};
use crate::sizes::Sizes;
use crate::table::{AddressTable, Entry};
use std::vec;
use std::vec::Vec;

/// A receiver with its addresses in a table.
pub(super) struct Ear {
    pub(super) receiver: ShroudReceiver,
    pub(super) table: AddressTable,
}

impl Ear {
    pub(super) fn new(secret: &DirectionSecret, window: Window, next: u64) -> Self {
        let mut table = AddressTable::new(&mut Script::new(&[]));
        let mut receiver = ShroudReceiver::new(secret, window);
        receiver.resync_forward(next, &mut table);
        receiver.install(&mut table, Slot::Link(7));
        Ear { receiver, table }
    }

    fn hear(&self, body: &mut [u8]) -> Option<(u64, Vec<u8>)> {
        let (0, Entry::Shroud { link: 7, number }) = self.table.lookup_frame(body)? else {
            return None;
        };
        let opened = self.receiver.open(number, body).ok()?;
        Some((opened.number, body[opened.message].to_vec()))
    }
}

/// Checks one frame and its twins.
pub(super) fn frame(
    case: &Case<'_>,
    secret: &DirectionSecret,
    sizes: Sizes,
) -> Result<usize, Failed> {
    let (number, payload) = (case.number("i")?, case.bytes("payload")?);
    let packet = case.bytes("packet")?;

    let mut sender = ShroudSender::new(secret, sizes);
    sender.skip_to(number);
    let mut body = vec![0xee; sizes.max_body()];
    let start = secret.suite().message_offset();
    body[start..start + payload.len()].copy_from_slice(&payload);
    let len = sender.seal(&mut body, payload.len());
    let len = len.map_err(|_| case.failed("the payload is not sealed"))?;
    case.equal("address", &body[..16], &case.bytes("address")?)?;
    case.equal("packet", &body[..len], &packet)?;
    if !sizes.allows(secret.suite(), packet.len()) {
        return Err(case.failed("its length is not one of the policy's"));
    }

    let window = Window { ahead: 4, late: 0 };
    let ear = Ear::new(secret, window, number);
    let heard = ear.hear(&mut packet.clone());
    case.equal("the opened message", &heard, &Some((number, payload)))?;

    let mut twins = case.refuses_damage(&packet, |p| ear.hear(p).is_some())?;
    let mut wrong = *secret.as_bytes();
    for byte in 0..wrong.len() {
        wrong[byte] ^= 1;
        let wrong_secret = DirectionSecret::new(secret.suite(), Key256::new(wrong));
        wrong[byte] ^= 1;
        // The other direction of the session is a wrong secret, too; and of suite 2008, whose
        // address key is half of the secret, the frame is found but does not verify.
        let stranger = Ear::new(&wrong_secret, window, number);
        twins += case.refused("a wrong key", stranger.hear(&mut packet.clone()).is_some())?;
    }
    let past = Ear::new(secret, window, number + 1);
    twins += case.refused("a window that is past it", past.hear(&mut packet.clone()).is_some())?;
    let early = number.saturating_sub(u64::from(window.ahead)).max(1);
    if early + u64::from(window.ahead) <= number {
        let early = Ear::new(secret, window, early);
        twins += case.refused("a window before it", early.hear(&mut packet.clone()).is_some())?;
    }
    if secret.suite().is_aead() {
        // In suite 2008 only the table binds the number to the frame.
        let as_other = ear.receiver.open((number + 1) as u32, &mut packet.clone());
        twins += case.refused("another number", as_other.is_ok())?;
    }
    Ok(twins)
}
