//! TracEdge as operator and subscribers meet it: processes, sockets, certificates.
#![cfg(feature = "tracedge")]

mod caught;
mod cheat;
mod life;
mod transport;
mod turnover;
mod words;
mod world;
