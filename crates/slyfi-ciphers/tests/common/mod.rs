//! Helpers that several test files share.
#![allow(dead_code, reason = "each test file is a crate of its own and uses some of these")]

use serde::Deserialize;

/// Bytes of a hexadecimal string.
pub fn hex(s: &str) -> Vec<u8> {
    assert!(s.len().is_multiple_of(2));
    (0..s.len()).step_by(2).map(|i| u8::from_str_radix(&s[i..i + 2], 16).unwrap()).collect()
}

/// A header of a QoS data frame to the access point: addresses 1, 2, 3, this TID and sequence number.
pub fn qos_header(tid: u8, sequence: u16) -> Vec<u8> {
    let mut h = hex("884100000200000000010200000000020200000000030000");
    h[22..24].copy_from_slice(&(sequence << 4).to_le_bytes());
    h.extend([tid, 0]);
    h
}

/// A frame made by `tests/vectors/make.py`.
#[derive(Deserialize)]
pub struct Frame {
    pub cipher: String,
    pub key: String,
    pub number: u64,
    pub key_id: u8,
    pub header: String,
    pub payload: String,
    pub sealed: String,
}

/// A CCM vector made by `tests/vectors/make.py`.
#[derive(Deserialize)]
pub struct CcmVector {
    pub m: u8,
    pub l: u8,
    pub key: String,
    pub nonce: String,
    pub aad: String,
    pub data: String,
    pub sealed: String,
}

/// All of them.
#[derive(Deserialize)]
pub struct Made {
    pub frames: Vec<Frame>,
    pub ccm: Vec<CcmVector>,
}

pub fn made() -> Made {
    serde_json::from_str(include_str!("../vectors/made.json")).unwrap()
}
