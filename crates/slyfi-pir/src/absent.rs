//! A scheme that is not written yet.

use slyfi_base::SecureRandom;

use crate::error::{IndexOutOfRange, WireError};
use crate::scheme::{Client, Query, Server};
use crate::setup::Setup;

/// Nothing of this type can be made.
pub enum Absent {}

impl Server for Absent {
    fn setup(&self) -> &Setup {
        match *self {}
    }
    fn hint(&self) -> Option<&[u8]> {
        match *self {}
    }
    fn answer(&self, _: &[u8]) -> Result<Vec<u8>, WireError> {
        match *self {}
    }
    fn memory_bytes(&self) -> usize {
        match *self {}
    }
}

impl Client for Absent {
    fn setup(&self) -> &Setup {
        match *self {}
    }
    fn query(&self, _: u64, _: &mut dyn SecureRandom) -> Result<Query, IndexOutOfRange> {
        match *self {}
    }
}
