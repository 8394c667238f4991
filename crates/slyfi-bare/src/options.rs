//! The words of a kernel command line; the program on Linux takes the same as arguments.
//!
//! | word | what | unless given |
//! |---|---|---|
//! | `role=` | `server`, `client`, `count` (CCM and packet path alone), `station` (SlyFi), `panic` and `fault` (how the image ends on a bug) | needed |
//! | `address=` | own IPv4 address and prefix, `10.9.0.1/24` | needed on bare metal |
//! | `peer=` | the server's IPv4 address | a client needs it |
//! | `port=` | the server's UDP port | 4000 |
//! | `n=` | sizes in bytes, `50,250,500,750,1000` | those of the paper |
//! | `m=` | messages of a burst | 1000 |
//! | `rounds=` | how often all sizes are run | 1 |
//! | `key=` | AES-128 key, 32 hexadecimal digits | needed by the exchange |
//! | `patience=` | seconds that a peer is waited for | 30 |
//! | `invite=` | `SLYFI://JOIN/…` | a station needs it or `pairing=` |
//! | `pairing=` | a stored pairing, hexadecimal | |
//! | `time=` | seconds since 1970, instead of the machine's clock | |
//! | `mtu=` | most bytes of an Ethernet frame after its header, 576 to 1500 | 1500 |
//!
//! Words that are not known here are an error: a mistyped one would change what is measured.

use crate::exchange::{MAX_SIZE, MIN_SIZE};
use core::fmt;
use core::net::Ipv4Addr;
use slyfi_base::{Duration, Redacted};
use zeroize::Zeroizing;

/// The sizes of bare-wireless-2016 §5.4.1.
const SIZES: [usize; 5] = [50, 250, 500, 750, 1000];

/// How many sizes one command line names at most.
pub const MAX_SIZES: usize = 16;

/// What a program is to do.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Which program.
    pub role: Role,
    /// Own address and prefix length.
    pub address: Option<(Ipv4Addr, u8)>,
    /// The server's address.
    pub peer: Option<Ipv4Addr>,
    /// The server's port.
    pub port: u16,
    sizes: [usize; MAX_SIZES],
    sizes_len: usize,
    /// Messages of a burst.
    pub burst: u32,
    /// How often all sizes are run.
    pub rounds: u32,
    /// The key of the exchange.
    pub key: Option<Redacted<Zeroizing<[u8; 16]>>>,
    /// How long a peer is waited for.
    pub patience: Duration,
    /// An invite's URL.
    pub invite: Option<Redacted<&'a str>>,
    /// A stored pairing in hexadecimal digits.
    pub pairing: Option<Redacted<&'a str>>,
    /// Civil time at the start.
    pub time_s: Option<u64>,
    /// Most bytes after an Ethernet header.
    pub mtu: usize,
}

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The exchange's server.
    Server,
    /// The exchange's client.
    Client,
    /// Cost of CCM and of the packet path, without a peer.
    Count,
    /// A station of a SlyFi network.
    Station,
    /// Panics, to show how that ends.
    Panic,
    /// Recurses until the stack is full, to show how that ends.
    Fault,
}

/// A command line that cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusable<'a> {
    /// The word, without its value: that may be a key.
    pub word: &'a str,
    /// What is wrong with it.
    pub why: &'static str,
}

impl fmt::Display for Unusable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.word, self.why)
    }
}

impl core::error::Error for Unusable<'_> {}

impl<'a> Options<'a> {
    /// Reads words.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn parse(words: impl Iterator<Item = &'a str>) -> Result<Self, Unusable<'a>> {
        let mut role = None;
        let mut o = Options {
            role: Role::Count,
            address: None,
            peer: None,
            port: 4000,
            sizes: [0; MAX_SIZES],
            sizes_len: SIZES.len(),
            burst: 1000,
            rounds: 1,
            key: None,
            patience: Duration::from_secs(30),
            invite: None,
            pairing: None,
            time_s: None,
            mtu: 1500,
        };
        o.sizes[..SIZES.len()].copy_from_slice(&SIZES);
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let bad = |why| Unusable { word: name, why };
            let number = |low: u64, high: u64, why| {
                let number = value.parse().ok().filter(|v| (low..=high).contains(v));
                number.ok_or(bad(why))
            };
            match name {
                "role" => {
                    role = Some(match value {
                        "server" => Role::Server,
                        "client" => Role::Client,
                        "count" => Role::Count,
                        "station" => Role::Station,
                        "panic" => Role::Panic,
                        "fault" => Role::Fault,
                        _ => return Err(bad("is server, client, count, station, panic or fault")),
                    });
                }
                "address" => {
                    o.address = Some(prefixed(value).ok_or(bad("is like 10.9.0.1/24"))?);
                }
                "peer" => o.peer = Some(value.parse().map_err(|_| bad("is an IPv4 address"))?),
                "port" => o.port = number(1, 65_535, "is a UDP port")? as u16,
                "n" => o.set_sizes(value).ok_or(bad("is sizes of 8 to 1451 bytes, at most 16"))?,
                "m" => o.burst = number(1, 1_000_000, "is 1 to 1000000")? as u32,
                "rounds" => o.rounds = number(1, 10_000, "is 1 to 10000")? as u32,
                "key" => o.key = Some(key(value).ok_or(bad("is 32 hexadecimal digits"))?),
                "patience" => {
                    o.patience = Duration::from_secs(number(1, 86_400, "is 1 to 86400 seconds")?);
                }
                "invite" => o.invite = Some(Redacted::new(value)),
                "pairing" => o.pairing = Some(Redacted::new(value)),
                "time" => o.time_s = Some(number(1, 1 << 40, "is seconds since 1970")?),
                "mtu" => o.mtu = number(576, 1500, "is 576 to 1500")? as usize,
                _ => return Err(bad("is no word known here")),
            }
        }
        o.role = role.ok_or(Unusable { word: "role", why: "is missing" })?;
        let lacks = |what| Unusable { word: what, why: "is missing" };
        if o.role == Role::Client && o.peer.is_none() {
            return Err(lacks("peer"));
        }
        let exchanges = matches!(o.role, Role::Server | Role::Client | Role::Count);
        if exchanges && o.key.is_none() {
            return Err(lacks("key"));
        }
        if o.role == Role::Station && o.invite.is_some() == o.pairing.is_some() {
            return Err(Unusable { word: "invite", why: "either this or `pairing` is needed" });
        }
        Ok(o)
    }

    /// Returns the sizes of messages, in bytes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes[..self.sizes_len]
    }

    fn set_sizes(&mut self, value: &str) -> Option<()> {
        self.sizes_len = 0;
        for size in value.split(',') {
            let size = size.parse().ok().filter(|n| (MIN_SIZE..=MAX_SIZE).contains(n))?;
            *self.sizes.get_mut(self.sizes_len)? = size;
            self.sizes_len += 1;
        }
        Some(())
    }
}

fn prefixed(value: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, prefix) = value.split_once('/')?;
    Some((address.parse().ok()?, prefix.parse().ok().filter(|p| *p <= 32)?))
}

fn key(digits: &str) -> Option<Redacted<Zeroizing<[u8; 16]>>> {
    let mut key = Zeroizing::new([0; 16]);
    (unhex(digits, &mut key[..])? == 16).then(|| Redacted::new(key))
}

/// Reads hexadecimal digits into `out`; returns how many bytes they were, `None` if they are not
/// whole bytes or too many.
pub fn unhex(digits: &str, out: &mut [u8]) -> Option<usize> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.len() > out.len() {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(pairs) {
        let [high, low] = pair.map(|c| char::from(c).to_digit(16));
        *byte = (high? << 4 | low?) as u8;
    }
    Some(pairs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options<'_>, Unusable<'_>> {
        Options::parse(line.split_whitespace())
    }

    const KEY: &str = "00112233445566778899aabbccddeeff";

    #[test]
    fn a_server_needs_a_role_and_a_key_and_has_the_papers_sizes() {
        let line = std::format!("role=server key={KEY}");
        let o = parse(&line).unwrap();
        assert_eq!((o.sizes(), o.burst, o.rounds), (&SIZES[..], 1000, 1));
        assert_eq!(o.key.unwrap().reveal()[15], 0xff);
        assert_eq!(parse("role=server").unwrap_err().word, "key");
        assert_eq!(parse("").unwrap_err().word, "role");
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        for line in [
            "role=other",
            "n=7",
            "n=50,",
            "n=1452",
            "m=0",
            "key=00",
            "port=0",
            "address=10.0.0.1",
            "address=10.0.0.1/33",
            "peer=1.2.3",
            "mtu=1501",
            "time=soon",
            "strange=1",
        ] {
            let word = line.split('=').next().unwrap();
            assert_eq!(parse(line).unwrap_err().word, word, "{line}");
        }
        let many = std::format!("role=count key={KEY} n={}", ["50"; 17].join(","));
        assert_eq!(parse(&many).unwrap_err().word, "n");
    }

    #[test]
    fn a_station_needs_exactly_one_of_invite_and_pairing() {
        assert!(parse("role=station invite=SLYFI://JOIN/A").is_ok());
        assert!(parse("role=station pairing=00").is_ok());
        assert!(parse("role=station").is_err());
        assert!(parse("role=station pairing=00 invite=SLYFI://JOIN/A").is_err());
    }

    #[test]
    fn keys_do_not_show() {
        let line = std::format!("role=client peer=10.0.0.1 key={KEY} invite=secret");
        let shown = std::format!("{:?}", parse(&line).unwrap());
        assert!(!shown.contains("secret") && !shown.contains("17, 34"), "{shown}");
    }

    #[test]
    fn hexadecimal_digits_are_whole_bytes_that_fit() {
        let mut out = [0; 2];
        assert_eq!((unhex("0aFf", &mut out), out), (Some(2), [0x0a, 0xff]));
        for wrong in ["0", "0g", "000000", "+1"] {
            assert_eq!(unhex(wrong, &mut out), None, "{wrong}");
        }
    }
}
