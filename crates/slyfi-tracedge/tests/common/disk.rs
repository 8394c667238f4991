//! A disk that loses its power or runs full at any operation.

#![allow(dead_code, reason = "each test uses its part")]

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use slyfi_base::SecureRandom;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::disk::{Disk, OpenDisk};

/// What becomes of what was written and not synced when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    Lost,
    Kept,
    /// Each sector of each write by itself, in no order.
    Some(u8),
}

const SECTOR: usize = 512;

#[derive(Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Length(len) => bytes.resize(*len, 0),
            Change::Write(at, data) => {
                if bytes.len() < at + data.len() {
                    bytes.resize(at + data.len(), 0);
                }
                bytes[*at..at + data.len()].copy_from_slice(data);
            }
        }
    }
}

#[derive(Debug, Default)]
struct State {
    synced: Vec<u8>,
    bytes: Vec<u8>,
    pending: Vec<Change>,
    /// Writes, lengths and syncs so far.
    operations: u64,
    /// From this operation on they fail.
    fails_from: Option<(u64, io::ErrorKind)>,
    /// Only the first of them.
    once: bool,
    /// It says that it has synced and has not.
    lies: bool,
}

/// The disk. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

impl SimDisk {
    pub fn holding(bytes: &[u8]) -> Self {
        let state = State { synced: bytes.to_vec(), bytes: bytes.to_vec(), ..State::default() };
        SimDisk(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn opener(&self) -> OpenDisk {
        let disk = self.clone();
        Box::new(move || Ok(Box::new(disk.clone())))
    }

    pub fn lying(self) -> Self {
        self.state().lies = true;
        self
    }

    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// After `more` further operations all fail like this.
    pub fn fail_after(&self, more: u64, how: io::ErrorKind) {
        let mut state = self.state();
        state.fails_from = Some((state.operations + more, how));
    }

    /// After `more` further operations one fails like this.
    pub fn fail_once_after(&self, more: u64, how: io::ErrorKind) {
        self.fail_after(more, how);
        self.state().once = true;
    }

    pub fn mend(&self) {
        self.state().fails_from = None;
    }

    /// The bytes as a process sees them.
    pub fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// What is on the disk after the power went.
    pub fn after_power_cut(&self, unsynced: Unsynced) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.synced.clone();
        let mut rng = SeededRandom::new([9; 32]);
        for change in &state.pending {
            match (unsynced, change) {
                (Unsynced::Lost, _) => (),
                (Unsynced::Some(seed), Change::Write(at, data)) => {
                    for (n, sector) in data.chunks(SECTOR).enumerate() {
                        if (rng.below(256) as u8 ^ seed) & 1 == 0 {
                            Change::Write(at + n * SECTOR, sector.to_vec()).apply(&mut bytes);
                        }
                    }
                }
                // A file never shows less than its length.
                _ => change.apply(&mut bytes),
            }
        }
        bytes
    }
}

impl State {
    fn step(&mut self) -> io::Result<()> {
        self.operations += 1;
        match self.fails_from {
            Some((from, how)) if self.operations > from => {
                if self.once {
                    (self.fails_from, self.once) = (None, false);
                }
                Err(how.into())
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.bytes);
        self.pending.push(change);
    }
}

impl Disk for SimDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        let from = state.bytes.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        state.change(Change::Length(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        if !state.lies {
            state.synced = state.bytes.clone();
            state.pending.clear();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        state.change(Change::Write(offset as usize, data.to_vec()));
        Ok(())
    }
}
