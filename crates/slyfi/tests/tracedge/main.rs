//! TracEdge as operator and subscribers meet it: processes, sockets, certificates.
#![cfg(feature = "tracedge")]

mod life;
mod transport;
mod world;
