//! The `LinkCipher` contract: how a protection is put on frames, split by direction.

/// What a cipher adds around a payload, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Bytes before the payload (IV, packet number, address).
    pub headroom: usize,
    /// The most bytes after the payload (padding, ICV, MIC, tag).
    pub tailroom: usize,
}

/// A cipher refused a frame. Opaque: it does not tell which check failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecryptable;

/// The sealing half ran out of numbers (IV, packet number, transmission number); the key is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// Proof that a payload was opened: where it lies. Delivery accepts nothing else.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Opened {
    start: usize,
    len: usize,
}

impl Opened {
    /// Mints the proof. Only an [`OpenHalf::open`] whose checks passed may call this.
    pub const fn mint(start: usize, len: usize) -> Self {
        Opened { start, len }
    }

    /// Returns the opened payload inside the buffer that was given to `open`.
    pub fn payload<'b>(&self, buf: &'b [u8]) -> &'b [u8] {
        buf.get(self.start..).and_then(|b| b.get(..self.len)).unwrap_or(&[])
    }
}

/// A protection that can be put on a link: the two halves share no state.
///
/// Splitting keeps one-way stream state (SBKH's running keystream) from being used in both
/// directions by mistake.
pub trait LinkCipher {
    /// What the cipher adds.
    const OVERHEAD: Overhead;
    /// The sending half.
    type Seal: SealHalf;
    /// The receiving half.
    type Open: OpenHalf;

    /// Splits the cipher into its halves.
    fn split(self) -> (Self::Seal, Self::Open);
}

/// The sending half of a [`LinkCipher`].
pub trait SealHalf {
    /// Seals the payload at `buf[headroom..headroom + len]` under `header` (the 802.11 header, as
    /// associated data); returns the sealed length from the start of `buf`.
    ///
    /// # Errors
    /// [`Exhausted`] when the key has no numbers left.
    fn seal(&mut self, header: &[u8], buf: &mut [u8], len: usize) -> Result<usize, Exhausted>;

    /// Seals every frame of a slice under its link's half, those of one link in their order. Each
    /// gets in `sealed` what [`SealHalf::seal`] would give it alone.
    ///
    /// Ciphers whose modes are serial chains are several times as fast on frames side by side, so this
    /// is what a sender with more than one frame at hand calls.
    fn seal_batch(links: &mut [&mut Self], frames: &mut [SealFrame<'_>]) {
        for frame in frames {
            frame.sealed = match links.get_mut(frame.link) {
                Some(half) => half.seal(frame.header, frame.buf, frame.len),
                None => Err(Exhausted),
            };
        }
    }
}

/// One frame of a batch to seal; see [`SealHalf::seal_batch`].
#[derive(Debug)]
pub struct SealFrame<'a> {
    /// Whose frame: a place in the slice of halves. Frames of a link that is not there are refused.
    pub link: usize,
    /// The 802.11 header.
    pub header: &'a [u8],
    /// Room, and the payload in its place.
    pub buf: &'a mut [u8],
    /// The payload's length in bytes.
    pub len: usize,
    /// Out: the sealed length. What it held before does not matter.
    pub sealed: Result<usize, Exhausted>,
}

/// The receiving half of a [`LinkCipher`].
pub trait OpenHalf {
    /// Opens `buf` in place under `header`. Replay state moves only after the checks passed.
    ///
    /// # Errors
    /// [`Undecryptable`], whatever the reason.
    fn open(&mut self, header: &[u8], buf: &mut [u8]) -> Result<Opened, Undecryptable>;

    /// Opens every frame of a slice under its link's half, those of one link in their order. Each gets
    /// in `opened` what [`OpenHalf::open`] would give it alone: a replay within the slice is refused.
    fn open_batch(links: &mut [&mut Self], frames: &mut [OpenFrame<'_>]) {
        for frame in frames {
            frame.opened = match links.get_mut(frame.link) {
                Some(half) => half.open(frame.header, frame.buf),
                None => Err(Undecryptable),
            };
        }
    }
}

/// One frame of a batch to open; see [`OpenHalf::open_batch`].
#[derive(Debug)]
pub struct OpenFrame<'a> {
    /// Whose frame: a place in the slice of halves. Frames of a link that is not there are refused.
    pub link: usize,
    /// The 802.11 header.
    pub header: &'a [u8],
    /// The sealed frame body, opened in place.
    pub buf: &'a mut [u8],
    /// Out: where the payload lies. What it held before does not matter.
    pub opened: Result<Opened, Undecryptable>,
}
