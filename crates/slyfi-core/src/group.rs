//! The network's broadcasts: one key and sequence, managed by the access point (slyfi-2008 §3.5).
//!
//! ```text
//!   access point   GroupSender    epoch e ──(a member leaves)──> queue held ──(all have e+1)──> e+1
//!   member         GroupReceiver  { e } ──Rekey(e+1)──> { e, e+1 } ──(grace)──> { e+1 }
//! ```
//!
//! The paper leaves revocation to "a scheme similar to that of 802.11i". Here a member that leaves
//! takes a key with it that seals nothing any more: broadcasts wait until every remaining member has
//! acknowledged the new key, or [`REKEY_PATIENCE`] has passed.

use crate::keys::Key256;
use crate::pool::{Packet, PacketPool};
use crate::shroud::{DirectionSecret, ShroudReceiver, ShroudSender, Slot, Window};
use crate::sizes::Sizes;
use crate::suite::Suite;
use crate::table::AddressTable;
use alloc::collections::VecDeque;
use slyfi_base::{Duration, Instant, MacAddress, SecureRandom};
use slyfi_wire::message::GroupKey;
use zeroize::Zeroizing;

/// How long broadcasts wait at most for members to acknowledge a new key.
pub(crate) const REKEY_PATIENCE: Duration = Duration::from_millis(200);

/// How long a member still accepts the key before the last: frames on their way at the change.
const OLD_KEY_GRACE: Duration = Duration::from_millis(500);

/// The most broadcasts that wait.
const MAX_QUEUE: usize = 64;

/// The broadcast key as it is conveyed: one byte of suite, and the secret.
pub(crate) const SECRET_LEN: usize = 1 + DirectionSecret::LEN;

/// A broadcast that waits.
#[derive(Debug)]
pub(crate) struct Broadcast {
    pub(crate) destination: MacAddress,
    pub(crate) source: MacAddress,
    pub(crate) ether_type: u16,
    pub(crate) payload: Packet,
}

/// The access point's end.
pub(crate) struct GroupSender {
    secret: DirectionSecret,
    sizes: Sizes,
    pub(crate) sender: ShroudSender,
    epoch: u32,
    queue: VecDeque<Broadcast>,
    held_until: Option<Instant>,
}

impl GroupSender {
    pub(crate) fn new<R: SecureRandom>(suite: Suite, sizes: Sizes, rng: &mut R) -> Self {
        let secret = DirectionSecret::random(suite, rng);
        GroupSender {
            sender: ShroudSender::new(&secret, sizes),
            secret,
            sizes,
            epoch: 1,
            queue: VecDeque::new(),
            held_until: None,
        }
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Makes a new key; broadcasts wait from now on until [`GroupSender::release_hold`].
    pub(crate) fn rekey<R: SecureRandom>(&mut self, now: Instant, rng: &mut R) {
        self.secret = DirectionSecret::random(self.secret.suite(), rng);
        self.sender = ShroudSender::new(&self.secret, self.sizes);
        self.epoch = self.epoch.wrapping_add(1);
        // Members that come and go without end must not hold broadcasts up without end.
        let held = self.held_until.filter(|t| now < *t);
        self.held_until = Some(held.unwrap_or(now + REKEY_PATIENCE));
    }

    /// Lets broadcasts go: every member has the key.
    pub(crate) fn release_hold(&mut self) {
        self.held_until = None;
    }

    pub(crate) fn is_held(&self, now: Instant) -> bool {
        self.held_until.is_some_and(|t| now < t)
    }

    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    pub(crate) fn secret_bytes(&self) -> Zeroizing<[u8; SECRET_LEN]> {
        let mut out = Zeroizing::new([0; SECRET_LEN]);
        out[0] = self.secret.suite().to_byte();
        out[1..].copy_from_slice(self.secret.as_bytes());
        out
    }

    /// Queues a broadcast, or gives its packet back when too many wait.
    pub(crate) fn push(&mut self, broadcast: Broadcast, pool: &mut PacketPool) -> bool {
        if self.queue.len() >= MAX_QUEUE {
            pool.give(broadcast.payload);
            return false;
        }
        self.queue.push_back(broadcast);
        true
    }

    pub(crate) fn pop(&mut self, now: Instant) -> Option<Broadcast> {
        if self.is_held(now) {
            return None;
        }
        self.queue.pop_front()
    }

    pub(crate) fn has_work(&self, now: Instant) -> bool {
        !self.queue.is_empty() && !self.is_held(now)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() >= MAX_QUEUE
    }
}

/// One key of a member's end.
struct Epoch {
    epoch: u32,
    receiver: ShroudReceiver,
}

/// A member's end.
#[derive(Default)]
pub(crate) struct GroupReceiver {
    current: Option<Epoch>,
    previous: Option<(Epoch, Instant)>,
}

/// What a conveyed key stands for, if it makes sense.
fn secret_of(key: &GroupKey<'_>) -> Option<DirectionSecret> {
    let (suite, secret) = key.secret.split_first()?;
    Some(DirectionSecret::new(Suite::from_byte(*suite)?, Key256::from_slice(secret)?))
}

impl GroupReceiver {
    /// Whether the key makes sense.
    pub(crate) fn is_usable(key: &GroupKey<'_>) -> bool {
        secret_of(key).is_some()
    }

    /// Takes a key from the access point: a new one, or where the present one stands.
    ///
    /// Returns whether the key made sense.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        key: &GroupKey<'_>,
        window: Window,
        table: &mut AddressTable,
    ) -> bool {
        if let Some(current) = &mut self.current
            && current.epoch == key.epoch
        {
            // Forward only: an address that was passed is never accepted again.
            current.receiver.resync_forward(key.next, table);
            return true;
        }
        let Some(secret) = secret_of(key) else { return false };
        let mut receiver = ShroudReceiver::new(&secret, window);
        receiver.install(table, Slot::Group(key.epoch));
        receiver.resync_forward(key.next, table);
        self.drop_previous(table);
        let fresh = Epoch { epoch: key.epoch, receiver };
        if let Some(old) = self.current.replace(fresh) {
            self.previous = Some((old, now + OLD_KEY_GRACE));
        }
        true
    }

    /// Returns the receiving end of an epoch.
    pub(crate) fn receiver(&mut self, epoch: u32) -> Option<&mut ShroudReceiver> {
        let current = self.current.as_mut().filter(|e| e.epoch == epoch);
        let previous = self.previous.as_mut().map(|(e, _)| e).filter(|e| e.epoch == epoch);
        current.or(previous).map(|e| &mut e.receiver)
    }

    /// When the previous key is to be dropped.
    pub(crate) fn timeout_at(&self) -> Option<Instant> {
        self.previous.as_ref().map(|(_, t)| *t)
    }

    pub(crate) fn on_timeout(&mut self, now: Instant, table: &mut AddressTable) {
        if self.timeout_at().is_some_and(|t| t <= now) {
            self.drop_previous(table);
        }
    }

    fn drop_previous(&mut self, table: &mut AddressTable) {
        if let Some((mut old, _)) = self.previous.take() {
            old.receiver.remove_all(table);
        }
    }

    /// Forgets all keys.
    pub(crate) fn clear(&mut self, table: &mut AddressTable) {
        self.drop_previous(table);
        if let Some(mut current) = self.current.take() {
            current.receiver.remove_all(table);
        }
    }
}
