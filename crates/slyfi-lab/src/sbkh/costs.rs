//! The measured costs, and questions about them.

use super::workloads::{Cipher, Level, Operation, PRGA_BYTES, batch, rc4_parts};
use crate::experiment::Context;
use crate::measure::{Workload, timing};
use crate::{Cell, Table};
use serde::Serialize;

/// Packets in a batch, when timed and when counted.
const TIMED_BATCH: usize = 64;
const COUNTED_BATCH: usize = 8;
/// SBKH's base key changes after this many packets (§IV).
const REKEY_PACKETS: f64 = 1e6;

/// What one operation costs for one packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The cipher.
    pub cipher: Cipher,
    /// How much of it.
    pub level: Level,
    /// Sealing or opening.
    pub operation: Operation,
    /// Bytes of payload.
    pub payload: usize,
    /// Nanoseconds, the median.
    pub nanos: f64,
    /// Nanoseconds, the least.
    pub least_nanos: f64,
    /// Instructions, if they were counted.
    pub instructions: Option<f64>,
}

/// RC4's parts, in nanoseconds and, if they were counted, instructions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RekeyCost {
    /// KSA.
    pub ksa: (f64, Option<f64>),
    /// One byte of PRGA.
    pub prga_byte: (f64, Option<f64>),
    /// KSA and the I-Offset of 5000 bytes: a change of SBKH's base key.
    pub rekey: (f64, Option<f64>),
}

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// One for each cipher, level, operation and payload.
    pub points: Vec<Point>,
    /// RC4's parts.
    pub rc4: RekeyCost,
    /// Why instructions were not counted.
    pub uncounted: Option<String>,
}

/// What is measured, in the order in which it is timed and counted.
fn plan(sizes: &[usize]) -> Vec<(Cipher, Level, Operation, usize)> {
    let mut all = Vec::new();
    for payload in sizes {
        for level in [Level::Core, Level::Whole] {
            for operation in [Operation::Seal, Operation::Open] {
                for cipher in Cipher::available() {
                    // 2004's AES was written to be measured; there is no whole link of it.
                    if (cipher, level) != (Cipher::Wpa2Tables, Level::Whole) {
                        all.push((cipher, level, operation, *payload));
                    }
                }
            }
        }
    }
    all
}

/// The workloads of a plan, and behind them RC4's parts.
pub fn workloads(sizes: &[usize], packets: usize) -> Vec<Box<dyn Workload>> {
    let planned = plan(sizes).into_iter();
    planned.filter_map(|(c, l, o, n)| batch(c, l, o, n, packets)).chain(rc4_parts()).collect()
}

/// The workloads that are counted, in the order of [`Costs::measure`].
pub fn counted(sizes: &[usize]) -> Vec<Box<dyn Workload>> {
    workloads(sizes, COUNTED_BATCH)
}

impl Costs {
    /// Times everything, and counts instructions if something can.
    ///
    /// What cannot be counted is said in [`Costs::uncounted`].
    pub fn measure(experiment: &str, sizes: &[usize], context: &mut Context<'_>) -> Self {
        let rounds = if context.quick { 9 } else { 201 };
        let planned = plan(sizes);
        let mut work = workloads(sizes, TIMED_BATCH);
        let times = timing::contest(&mut work, rounds, &mut |round| {
            (context.progress)(&format!("{experiment}: timing, round {round} of {rounds}"));
        });
        (context.progress)(&format!("{experiment}: counting instructions"));
        let operations: Vec<u32> =
            workloads(sizes, COUNTED_BATCH).iter().map(|w| w.operations()).collect();
        let counted = context.counter.count(experiment, context.quick, operations.len());
        let uncounted = counted.as_ref().err().map(ToString::to_string);
        let counts: Vec<Option<f64>> = match counted {
            Ok(counts) => counts
                .iter()
                .zip(&operations)
                .map(|(n, o)| Some(*n as f64 / f64::from(*o)))
                .collect(),
            Err(_) => vec![None; operations.len()],
        };
        let points = planned
            .iter()
            .zip(times.iter().zip(&counts))
            .map(|(&(cipher, level, operation, payload), (time, &instructions))| Point {
                cipher,
                level,
                operation,
                payload,
                nanos: time.median,
                least_nanos: time.least,
                instructions,
            })
            .collect();
        let part = |i: usize, share: f64| {
            let at = planned.len() + i;
            let time = times.get(at).map_or(f64::NAN, |t| t.median);
            (time / share, counts.get(at).copied().flatten().map(|n| n / share))
        };
        let rc4 = RekeyCost {
            ksa: part(0, 1.0),
            prga_byte: part(1, PRGA_BYTES as f64),
            rekey: part(2, 1.0),
        };
        Costs { points, rc4, uncounted }
    }

    /// Returns what sealing and opening a packet costs together, in nanoseconds, as the paper counts:
    /// for SBKH with its share of a change of base key after a million packets.
    pub fn nanos(&self, cipher: Cipher, payload: usize) -> Option<f64> {
        self.sum(cipher, Level::Core, payload, |p| Some(p.nanos), Some(self.rc4.rekey.0))
    }

    /// Returns the same in instructions.
    pub fn instructions(&self, cipher: Cipher, payload: usize) -> Option<f64> {
        self.sum(cipher, Level::Core, payload, |p| p.instructions, self.rc4.rekey.1)
    }

    /// Returns the same in nanoseconds for the whole link cipher.
    pub fn whole_nanos(&self, cipher: Cipher, payload: usize) -> Option<f64> {
        self.sum(cipher, Level::Whole, payload, |p| Some(p.nanos), Some(self.rc4.rekey.0))
    }

    fn sum(
        &self,
        cipher: Cipher,
        level: Level,
        payload: usize,
        cost: impl Fn(&Point) -> Option<f64>,
        rekey: Option<f64>,
    ) -> Option<f64> {
        let of = |operation| {
            let here = |p: &&Point| {
                (p.cipher, p.level, p.operation, p.payload) == (cipher, level, operation, payload)
            };
            self.points.iter().find(here).and_then(&cost)
        };
        let both = of(Operation::Seal)? + of(Operation::Open)?;
        // Both ends change their base key.
        let share = if cipher == Cipher::Sbkh { 2.0 * rekey? / REKEY_PACKETS } else { 0.0 };
        Some(both + share)
    }

    /// Returns the payloads that were measured, in order.
    pub fn payloads(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.points.iter().map(|p| p.payload).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns SBKH's share of a change of base key in its cost at a payload, from 0 to 1.
    pub fn rekey_share(&self, payload: usize) -> Option<f64> {
        Some(2.0 * self.rc4.rekey.0 / REKEY_PACKETS / self.nanos(Cipher::Sbkh, payload)?)
    }

    /// Returns all points as a table.
    pub fn table(&self) -> Table {
        let mut t = Table::new(
            "data",
            &[
                ("cipher", ""),
                ("level", ""),
                ("payload_bytes", "bytes"),
                ("overhead_bytes", "bytes"),
                ("seal_median_ns", "ns a packet"),
                ("open_median_ns", "ns a packet"),
                ("seal_least_ns", "ns a packet"),
                ("open_least_ns", "ns a packet"),
                ("seal_instructions", "instructions a packet"),
                ("open_instructions", "instructions a packet"),
            ],
        );
        for seal in self.points.iter().filter(|p| p.operation == Operation::Seal) {
            let other = |p: &&Point| {
                (p.cipher, p.level, p.payload) == (seal.cipher, seal.level, seal.payload)
                    && p.operation == Operation::Open
            };
            let open = self.points.iter().find(other);
            t.push(vec![
                seal.cipher.name().into(),
                seal.level.name().into(),
                Cell::Count(seal.payload as u64),
                Cell::Count(seal.cipher.overhead() as u64),
                Cell::Number(seal.nanos),
                open.map(|p| p.nanos).into(),
                Cell::Number(seal.least_nanos),
                open.map(|p| p.least_nanos).into(),
                seal.instructions.into(),
                open.and_then(|p| p.instructions).into(),
            ]);
        }
        t
    }

    /// Returns RC4's parts as a table.
    pub fn rc4_table(&self) -> Table {
        let columns = [("part", ""), ("median_ns", "ns"), ("instructions", "instructions")];
        let mut t = Table::new("rc4", &columns);
        for (name, (nanos, instructions)) in [
            ("KSA, 16-byte key", self.rc4.ksa),
            ("PRGA, one byte", self.rc4.prga_byte),
            ("SBKH base key change: KSA and 5000 bytes discarded", self.rc4.rekey),
        ] {
            t.push(vec![name.into(), Cell::Number(nanos), instructions.into()]);
        }
        t
    }
}
