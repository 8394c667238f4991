use super::secret::DirectionKeys;
use super::{DEFAULT_WINDOW, DirectionSecret, MAX_LATE, MAX_WINDOW, block, nonce};
use crate::sizes::{TAG_LEN, unpad_2008, unpad_aead};
use crate::suite::Suite;
use crate::table::{ADDRESS_LEN, AddressTable, Entry, nearest};
use crate::tryst::Unverified;
use core::fmt;
use core::ops::{Range, RangeInclusive};
use slyfi_aes::Block;

/// The receiving end of one direction: which transmissions can come, and the keys to open them.
///
/// The addresses it waits for are in the table from [`ShroudReceiver::install`] to
/// [`ShroudReceiver::remove_all`]. A frame is looked up, opened, and only then accepted:
/// [`ShroudReceiver::open`] changes nothing, so a forged frame cannot move the window.
pub struct ShroudReceiver {
    pub(super) suite: Suite,
    pub(super) keys: DirectionKeys,
    window: Window,
    /// The highest number accepted, or one below the first that can come.
    highest: u64,
    /// Bit j: number `highest − j` was used, or can never come.
    used: u64,
    slot: Option<Slot>,
}

/// What a receiver waits for around the highest number accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// w: how many numbers above it (slyfi-2008 §3.4), 1 to [`MAX_WINDOW`].
    pub ahead: u16,
    /// How many numbers below it, for air that reorders; 0 is the paper's rule, at most [`MAX_LATE`].
    pub late: u8,
}

impl Default for Window {
    fn default() -> Self {
        Window { ahead: DEFAULT_WINDOW, late: 0 }
    }
}

/// What the table's entries of a receiver say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The link in this slot.
    Link(u32),
    /// The group's epoch.
    Group(u32),
}

/// A Shroud frame that verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Opened {
    /// The transmission number: what [`ShroudReceiver::accept`] wants.
    pub number: u64,
    /// Where the message lies in the body.
    pub message: Range<usize>,
}

impl Slot {
    const fn entry(self, number: u64) -> Entry {
        let number = number as u32 & ((1 << crate::table::LOW_BITS) - 1);
        match self {
            Slot::Link(link) => Entry::Shroud { link, number },
            Slot::Group(epoch) => Entry::Group { epoch, number },
        }
    }
}

/// The highest number that a resynchronisation may name. No sender gets there, and windows beyond
/// it stay clear of the end of the numbers.
const FARTHEST: u64 = u64::MAX / 2;

impl ShroudReceiver {
    /// Makes the receiving end, waiting for number 1. A window out of range is brought into it.
    pub fn new(secret: &DirectionSecret, window: Window) -> Self {
        let window =
            Window { ahead: window.ahead.clamp(1, MAX_WINDOW), late: window.late.min(MAX_LATE) };
        let keys = secret.expand();
        ShroudReceiver {
            suite: secret.suite(),
            keys,
            window,
            highest: 0,
            used: u64::MAX,
            slot: None,
        }
    }

    /// Puts the addresses waited for in the table.
    pub fn install(&mut self, table: &mut AddressTable, slot: Slot) {
        self.remove_all(table);
        self.slot = Some(slot);
        let all = self.floor() + 1..=self.ceiling();
        self.each_address(all, |n| self.is_pending(n), |a, n| table.insert(a, slot.entry(n)));
    }

    /// Takes all of them out again.
    pub fn remove_all(&mut self, table: &mut AddressTable) {
        let Some(slot) = self.slot.take() else { return };
        let all = self.floor() + 1..=self.ceiling();
        self.each_address(
            all,
            |n| self.is_pending(n),
            |a, n| {
                table.remove(a, slot.entry(n));
            },
        );
    }

    /// Returns the highest number accepted (0 before the first).
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns whether `number` can come: inside the window and not used.
    pub const fn is_pending(&self, number: u64) -> bool {
        if number > self.highest {
            number <= self.ceiling()
        } else {
            let below = self.highest - number;
            below < self.window.late as u64 && self.used >> below & 1 == 0
        }
    }

    /// Returns the whole transmission number behind the low bits in a table entry.
    pub const fn resolve(&self, low: u32) -> u64 {
        nearest(low, self.highest)
    }

    /// Opens, in place, the body that a table entry with these low bits of a number was found for.
    ///
    /// # Errors
    /// [`Unverified`]; the body is not to be used then.
    pub fn open(&self, low: u32, body: &mut [u8]) -> Result<Opened, Unverified> {
        let number = self.resolve(low);
        let (address, text, tag) = self.split(number, body)?;
        let opened = match &self.keys {
            DirectionKeys::S2008(key) => key.open_in_place(address, Some(address), text, tag),
            DirectionKeys::Aead { gcm, .. } => {
                gcm.open_in_place(&nonce(number), address, text, tag)
            }
        };
        opened.map_err(|_| Unverified)?;
        self.finish(number, text)
    }

    /// Splits a body that is long enough and can come.
    pub(super) fn split<'b>(
        &self,
        number: u64,
        body: &'b mut [u8],
    ) -> Result<(&'b Block, &'b mut [u8], &'b Block), Unverified> {
        if !self.is_pending(number) {
            return Err(Unverified);
        }
        let (address, rest) = body.split_first_chunk_mut::<ADDRESS_LEN>().ok_or(Unverified)?;
        let (text, tag) = rest.split_last_chunk_mut::<TAG_LEN>().ok_or(Unverified)?;
        Ok((address, text, tag))
    }

    /// Finds the message in a decrypted text.
    pub(super) fn finish(&self, number: u64, text: &[u8]) -> Result<Opened, Unverified> {
        let message = match self.suite {
            Suite::S2008 => unpad_2008(text),
            Suite::Aead { .. } => unpad_aead(text),
        };
        let message = message.ok_or(Unverified)?;
        let message = ADDRESS_LEN + message.start..ADDRESS_LEN + message.end;
        Ok(Opened { number, message })
    }

    /// Moves the window after a frame verified: addresses of numbers up to `number − late` go, that
    /// of `number` goes, and those up to `number + w` come. Returns false, and does nothing, if the
    /// number cannot come: a copy of it was accepted before.
    #[must_use]
    pub fn accept(&mut self, number: u64, table: &mut AddressTable) -> bool {
        if !self.is_pending(number) {
            return false;
        }
        if number <= self.highest {
            self.take_out(number..=number, table);
            self.used |= 1 << (self.highest - number);
            return true;
        }
        let (old_floor, old_ceiling) = (self.floor(), self.ceiling());
        let new_floor = number - u64::from(self.window.late).min(number);
        self.take_out(old_floor + 1..=new_floor.min(old_ceiling), table);
        if number > new_floor {
            self.take_out(number..=number, table);
        }
        let ahead = number - self.highest;
        self.used =
            u32::try_from(ahead).ok().and_then(|n| self.used.checked_shl(n)).unwrap_or(0) | 1;
        self.highest = number;
        if let Some(slot) = self.slot {
            let new = old_ceiling + 1..=self.ceiling();
            self.each_address(new, |_| true, |a, n| table.insert(a, slot.entry(n)));
        }
        true
    }

    /// Jumps ahead so that `next` is the lowest number waited for; does nothing if it is not ahead,
    /// or absurdly far.
    /// For groups, whose members miss transmissions while they sleep or roam.
    ///
    /// # Security
    /// `next` must come from an authenticated message.
    pub fn resync_forward(&mut self, next: u64, table: &mut AddressTable) {
        if next <= self.highest + 1 || next > FARTHEST {
            return;
        }
        let slot = self.slot;
        self.remove_all(table);
        self.highest = next - 1;
        self.used = u64::MAX;
        if let Some(slot) = slot {
            self.install(table, slot);
        }
    }

    /// The highest number that can never come again.
    const fn floor(&self) -> u64 {
        self.highest.saturating_sub(self.window.late as u64)
    }

    /// The highest number waited for.
    const fn ceiling(&self) -> u64 {
        self.highest.saturating_add(self.window.ahead as u64)
    }

    fn take_out(&self, numbers: RangeInclusive<u64>, table: &mut AddressTable) {
        let Some(slot) = self.slot else { return };
        self.each_address(
            numbers,
            |n| self.is_pending(n),
            |a, n| {
                table.remove(a, slot.entry(n));
            },
        );
    }

    /// Computes the addresses of the wanted numbers, several at a time.
    fn each_address(
        &self,
        numbers: RangeInclusive<u64>,
        wanted: impl Fn(u64) -> bool,
        mut f: impl FnMut(&Block, u64),
    ) {
        const BATCH: usize = 16;
        let mut numbers = numbers.filter(|n| wanted(*n));
        loop {
            let batch: arrayvec::ArrayVec<u64, BATCH> = numbers.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return;
            }
            let mut blocks: arrayvec::ArrayVec<Block, BATCH> =
                batch.iter().map(|n| block(*n)).collect();
            self.keys.addresses(&mut blocks);
            blocks.iter().zip(&batch).for_each(|(address, number)| f(address, *number));
        }
    }
}

impl fmt::Debug for ShroudReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShroudReceiver")
            .field("suite", &self.suite)
            .field("window", &self.window)
            .field("highest", &self.highest)
            .finish_non_exhaustive()
    }
}
