//! Captures: read, written, and opened with the keys of whoever may know them.
//!
//! ```text
//!   pcap, pcapng --CaptureReader--> Packet --link_layer--> 802.11 frame
//!        --Engine: handshakes -> keys, keys -> opened frames--> Sink (pcapng), Report (text, JSON)
//! ```
//!
//! [`decrypt()`] is the whole of it: it reads the files until nothing more is to be learned from them,
//! and then once to open what the keys open, so that a handshake late in a file (or in another file)
//! still serves the frames before it.

pub mod decrypt;
pub mod engine;
pub mod error;
pub mod input;
pub mod key;
pub mod link_layer;
pub mod reader;
pub mod report;
mod unpack;
pub mod writer;

pub use decrypt::{Options, Progress, decrypt, decrypt_inputs};
pub use engine::{Engine, Opened, Outcome, Refusal};
pub use error::{CaptureError, KeyError};
pub use input::Input;
pub use key::{Key, parse_key_file, read_key_file};
pub use reader::{CaptureReader, Packet};
pub use report::Report;
pub use writer::{PcapWriter, PcapngSink, Sink};
