//! The file that `cargo xtask bare --measure FILE` writes (`results/bare.json`): documentation only,
//! the program that writes it is `tests/system/bare/measure.py`.
//!
//! # Layout
//! One JSON object. Times are integers in nanoseconds, lengths in bytes, counts in instructions.
//!
//! | key | value |
//! |---|---|
//! | `schema` | 1 |
//! | `commit`, `machine`, `qemu`, `kernel`, `taken` | where it comes from: text; `taken` is UTC, RFC 3339 |
//! | `m` | packets of each burst (the paper's 1000) |
//! | `accelerator` | `tcg`: what ran the guests of `pairings` and `icount` |
//! | `pairings` | list of *pairing* objects: four pairings × five sizes, in that order |
//! | `icount` | list of *icount* objects: both systems as server × five sizes |
//! | `ccm` | list of *ccm* objects |
//! | `verdict` | object: see below |
//!
//! A *pairing* object (wall time, QEMU's emulator, both guests with the same settings):
//!
//! | key | value |
//! |---|---|
//! | `server`, `client` | `"bare"` or `"linux"` |
//! | `n` | payload size in bytes |
//! | `rounds` | list of objects with `d0` … `d5`, `w2`, `w3`, `e4`, `e5`, one for each repetition |
//! | `median` | the same keys, each the median over the rounds |
//!
//! | key | of | what (bare-wireless-2016 §5.4.2–5.4.4, Figure 12) |
//! |---|---|---|
//! | `d0` | client | CT1 − CT0: first clear packet taken from the socket … last one processed |
//! | `d1` | client | CT3 − CT2: the same for sealed packets, each verified and decrypted |
//! | `d2` | server | ST1 − ST0: before the first clear packet is made … last one handed to the network |
//! | `d3` | server | ST3 − ST2: the same for sealed packets, each encrypted |
//! | `w2`, `w3` | server | how much of `d2`, `d3` was waiting for the card to take more; 0 on Linux, whose queue takes a burst |
//! | `d4` | capture | WT1 − WT0: the clear request on the wire … last clear packet |
//! | `d5` | capture | WT3 − WT2: the sealed request on the wire … last sealed packet ("response time") |
//! | `e4`, `e5` | capture | first … last clear, sealed packet on the wire (`e5`: the paper's approximate "encryption time") |
//!
//! Encryption overhead is `d3 − d2`, decryption overhead `d1 − d0` (§5.4.5). Figure 13 is `d2`, `d3`
//! of `server = bare`; 14 of `server = linux`; 15 is `d0`, `d1` of `client = bare`; 16 of
//! `client = linux`; 17–20 are `d5` and `e5` of (bare, bare), (linux, linux), (bare, linux) and
//! (linux, bare), written (server, client).
//!
//! An *icount* object: the same program under `-icount shift=0`, where the guest's clock counts
//! instructions, its peer a program on the host:
//!
//! | key | value |
//! |---|---|
//! | `system` | `"bare"` or `"linux"` |
//! | `n` | payload size in bytes |
//! | `d2`, `d3`, `w2`, `w3` | median instructions of the guest as server |
//! | `overhead` | `(d3 − d2) / m`, the paper's encryption overhead, of one packet: a float, the median over the rounds |
//! | `work` | `((d3 − w3) − (d2 − w2)) / m`: the same without waiting for the card, a float |
//! | `rounds` | how many rounds the medians are of |
//!
//! A *ccm* object: CCM alone (one call, no network), median of many calls:
//!
//! | key | value |
//! |---|---|
//! | `system` | `"bare"` or `"linux"` |
//! | `accelerator` | `tcg-icount` (instructions) or `kvm` (time-stamp counter ticks) |
//! | `aes` | `AES-NI`, `VAES-512` or `portable` |
//! | `n` | bytes |
//! | `seal`, `open` | instructions or ticks for one message |
//!
//! `verdict`: `{"bar": "bare's encryption overhead <= Linux's at every n", "by": "time", "holds": bool,
//! "n": [{"n", "client", "bare", "linux"}]}`: the median of `d3 − d2` in nanoseconds of both systems
//! as servers of the same client. Beside it `ccm`, `instructions` and `work` are objects with `holds`
//! and `n` of the same kind: the instructions of sealing one message without a network, which are the
//! same run after run, and the `overhead` and the `work` of the icount objects.
//!
//! # What the overhead contains
//! Both systems wait, or queue, when the card takes packets more slowly than they are made, which is
//! the case for clear ones. Encryption then runs while they would wait anyway, and D3 − D2 is less
//! than what sealing costs. On the image that time is known (`w2`, `w3`); on Linux it is the queueing
//! discipline's work and cannot be told apart, so `work` compares the image without it to Linux with
//! it. How long the image waits depends on how fast the host serves the card, also where instructions
//! are counted: `overhead` is noisier than `work`.
