//! wifi-open: the machines against each other, and against an adversary.

mod adversary;
mod machines;
mod net;
