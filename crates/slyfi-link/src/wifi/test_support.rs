//! What the tests of this module share.

use slyfi_base::{Instant, MacAddress, Now, SecureRandom, UnixTime};
use slyfi_rivals::wifi::{Effect, Protection};
use slyfi_wire::ieee80211::{FrameControl, HeaderRepr, SequenceControl, Type, data};

/// A generator for tests.
#[derive(Clone, Debug)]
pub(super) struct SomeRng(pub(super) u64);

impl SecureRandom for SomeRng {
    fn fill(&mut self, out: &mut [u8]) {
        for b in out {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *b = (self.0 >> 56) as u8;
        }
    }
}

/// A time, in seconds since some hop of five minutes began.
pub(super) fn at(seconds: u64) -> Now {
    Now {
        mono: Instant::from_micros(seconds * 1_000_000),
        wall: UnixTime::from_secs(1_700_000_100 + seconds),
    }
}

/// The header of a protected data frame from an access point to `to`.
pub(super) fn data_header(to: MacAddress) -> [u8; 24] {
    let header = HeaderRepr {
        frame_control: FrameControl::new(Type::Data, data::DATA)
            .with_from_ds(true)
            .with_protected(true),
        addr1: to,
        addr2: MacAddress([2, 0, 0, 0, 0, 0xaa]),
        addr3: MacAddress([2, 0, 0, 0, 0, 0xaa]),
        sequence: SequenceControl::new(7, 0),
        ..HeaderRepr::default()
    };
    let mut bytes = [0; 24];
    header.emit(&mut bytes).unwrap();
    bytes
}

/// Takes all effects and returns the records among them.
pub(super) fn persisted(guard: &mut dyn Protection) -> Vec<Vec<u8>> {
    let effects = std::iter::from_fn(|| guard.poll());
    let record = |effect| match effect {
        Effect::Persist(record) => Some(record),
        _ => None,
    };
    effects.filter_map(record).collect()
}
