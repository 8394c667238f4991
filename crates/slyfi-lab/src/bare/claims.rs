//! What chapter 5 says about who is faster, and the verdicts. Pure functions of [`Measurements`].
//!
//! Every claim here is an order of two delays at each packet size, perhaps with exceptions: machines
//! and networks of 2016 are not to be had, their orders are to be compared.

use super::data::System::{Bare, Linux};
use super::data::{Delays, Instructions, Measurements, System};
use crate::{Claim, Finding, Verdict};

/// Two delays that are the same within this share are no order either way.
const TIE: f64 = 0.02;

/// A comparison: at every size but `except`, the first of each pair is the smaller.
pub struct Order {
    /// What the paper says.
    pub claim: Claim,
    /// Sizes at which the paper saw the opposite.
    pub except: &'static [u32],
    /// The two delays, for each pairing that the claim covers.
    pub pairs: &'static [Pair],
    /// Whether the two may also be equal, or are said to be.
    pub equality: Equality,
    /// Whether instruction counts speak to it too.
    pub counts: Counts,
}

/// How strict an order is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Equality {
    /// Less.
    Less,
    /// Less or the same.
    LessOrEqual,
    /// The same, within a tenth.
    Same,
}

/// Whether instruction counts of the server's encryption overhead speak to a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// They do.
    Encryption,
    /// They do not.
    None,
}

/// Two delays of two pairings (server, client).
pub struct Pair {
    /// The one that is said to be smaller.
    pub less: (System, System, fn(&Delays) -> f64),
    /// The other.
    pub more: (System, System, fn(&Delays) -> f64),
}

const fn d0(d: &Delays) -> f64 {
    d.d0
}
const fn d1(d: &Delays) -> f64 {
    d.d1
}
const fn d2(d: &Delays) -> f64 {
    d.d2
}
const fn d3(d: &Delays) -> f64 {
    d.d3
}
const fn d5(d: &Delays) -> f64 {
    d.d5
}
const fn e5(d: &Delays) -> f64 {
    d.e5
}
const fn sealing(d: &Delays) -> f64 {
    d.d3 - d.d2
}
const fn opening(d: &Delays) -> f64 {
    d.d1 - d.d0
}

const fn pair(
    less: (System, System, fn(&Delays) -> f64),
    more: (System, System, fn(&Delays) -> f64),
) -> Pair {
    Pair { less, more }
}

const fn claim(id: &'static str, place: &'static str, text: &'static str) -> Claim {
    Claim { id, text, place }
}

const fn order(claim: Claim, except: &'static [u32], pairs: &'static [Pair]) -> Order {
    Order { claim, except, pairs, equality: Equality::Less, counts: Counts::None }
}

/// Figure 13: the bare server.
pub static FIG13: &[Order] = &[
    order(
        claim(
            "bare-client-sealed",
            "§5.4.2",
            "to the bare client, the bare server takes less time than the Linux server for encrypted \
             packets of all sizes except 50 bytes",
        ),
        &[50],
        &[pair((Bare, Bare, d3), (Linux, Bare, d3))],
    ),
    order(
        claim(
            "bare-client-clear",
            "§5.4.2",
            "to the bare client, the bare server takes less time than the Linux server for unencrypted \
             packets of all sizes",
        ),
        &[],
        &[pair((Bare, Bare, d2), (Linux, Bare, d2))],
    ),
    order(
        claim(
            "linux-client-sealed",
            "§5.4.2",
            "to the Linux client, the bare server takes more time than the Linux server for encrypted \
             packets of 500 bytes or less",
        ),
        &[750, 1000],
        &[pair((Linux, Linux, d3), (Bare, Linux, d3))],
    ),
    order(
        claim(
            "linux-client-clear",
            "§5.4.2",
            "to the Linux client, the bare server takes less time than the Linux server for unencrypted \
             packets of all sizes except 50 bytes",
        ),
        &[50],
        &[pair((Bare, Linux, d2), (Linux, Linux, d2))],
    ),
];

/// Figure 14: the Linux server.
pub static FIG14: &[Order] = &[
    Order {
        claim: claim(
            "encryption-overhead",
            "§5.4.5",
            "the encryption overhead (D3 - D2) is larger for all packet sizes with the bare server than \
             with the Linux server, whichever the client",
        ),
        except: &[],
        pairs: &[
            pair((Linux, Bare, sealing), (Bare, Bare, sealing)),
            pair((Linux, Linux, sealing), (Bare, Linux, sealing)),
        ],
        equality: Equality::Less,
        counts: Counts::Encryption,
    },
    Order {
        claim: claim(
            "same-for-both-clients",
            "§5.4.2",
            "the Linux server's times for encrypted packets are the same with both clients (10 to 84 ms)",
        ),
        except: &[],
        pairs: &[pair((Linux, Bare, d3), (Linux, Linux, d3))],
        equality: Equality::Same,
        counts: Counts::None,
    },
];

/// Figure 15: the bare client.
pub static FIG15: &[Order] = &[
    order(
        claim(
            "sealed",
            "§5.4.3",
            "for decrypted packets, the bare client takes more time than the Linux client with both \
             servers for all sizes except 1000 bytes",
        ),
        &[1000],
        &[pair((Bare, Linux, d1), (Bare, Bare, d1)), pair((Linux, Linux, d1), (Linux, Bare, d1))],
    ),
    order(
        claim(
            "clear",
            "§5.4.3",
            "for unencrypted packets, the bare client takes less time than the Linux client with both \
             servers for all sizes except 50 bytes",
        ),
        &[50],
        &[pair((Bare, Bare, d0), (Bare, Linux, d0)), pair((Linux, Bare, d0), (Linux, Linux, d0))],
    ),
];

/// Figure 16: the Linux client.
pub static FIG16: &[Order] = &[Order {
    claim: claim(
        "decryption-overhead",
        "§5.4.5",
        "the decryption overhead (D1 - D0) is larger for the bare client than for the Linux client with \
         both servers for all sizes, with one exception (1000 bytes, bare server)",
    ),
    except: &[],
    pairs: &[
        pair((Bare, Linux, opening), (Bare, Bare, opening)),
        pair((Linux, Linux, opening), (Linux, Bare, opening)),
    ],
    equality: Equality::Less,
    counts: Counts::None,
}];

/// Figure 17: bare server, bare client.
pub static FIG17: &[Order] = &[
    order(
        claim(
            "lowest-response",
            "§5.4.4",
            "the lowest response times for all packet sizes are the bare server's to the bare client",
        ),
        &[],
        &[
            pair((Bare, Bare, d5), (Bare, Linux, d5)),
            pair((Bare, Bare, d5), (Linux, Bare, d5)),
            pair((Bare, Bare, d5), (Linux, Linux, d5)),
        ],
    ),
    order(
        claim(
            "lowest-encryption",
            "§5.4.4",
            "the lowest encryption times for all packet sizes are the bare server's to the bare client",
        ),
        &[],
        &[
            pair((Bare, Bare, e5), (Bare, Linux, e5)),
            pair((Bare, Bare, e5), (Linux, Bare, e5)),
            pair((Bare, Bare, e5), (Linux, Linux, e5)),
        ],
    ),
    Order {
        claim: claim(
            "encryption-below-response",
            "§5.4.4",
            "encryption times are lower than response times for all packet sizes",
        ),
        except: &[],
        pairs: &[pair((Bare, Bare, e5), (Bare, Bare, d5))],
        equality: Equality::LessOrEqual,
        counts: Counts::None,
    },
];

/// Figure 18: Linux server, Linux client.
pub static FIG18: &[Order] = &[Order {
    claim: claim(
        "linux-client-slower",
        "§5.4.4",
        "the Linux server's response times are equal or higher with the Linux client than with the bare \
         client for all packet sizes except 50 bytes",
    ),
    except: &[50],
    pairs: &[pair((Linux, Bare, d5), (Linux, Linux, d5))],
    equality: Equality::LessOrEqual,
    counts: Counts::None,
}];

/// Figure 19: bare server, Linux client.
pub static FIG19: &[Order] = &[
    order(
        claim(
            "response-by-client",
            "§5.4.4",
            "the bare server's response times are higher for all packet sizes when it sends to the Linux \
             client",
        ),
        &[],
        &[pair((Bare, Bare, d5), (Bare, Linux, d5))],
    ),
    order(
        claim(
            "encryption-by-client",
            "§5.4.4",
            "the bare server's encryption times are higher for all packet sizes when it sends to the \
             Linux client",
        ),
        &[],
        &[pair((Bare, Bare, e5), (Bare, Linux, e5))],
    ),
];

/// Figure 20: Linux server, bare client.
pub static FIG20: &[Order] = &[Order {
    claim: claim(
        "encryption-same",
        "§5.4.4",
        "the Linux server's encryption times have identical values for all packet sizes with both clients",
    ),
    except: &[],
    pairs: &[pair((Linux, Bare, e5), (Linux, Linux, e5))],
    equality: Equality::Same,
    counts: Counts::None,
}];

/// Holds a claim against the measurements.
pub fn judge(order: &Order, data: &Measurements) -> Finding {
    let (mut holds, mut fails) = (Vec::new(), Vec::new());
    let mut ratios: Vec<f64> = Vec::new();
    for n in data.sizes().into_iter().filter(|n| !order.except.contains(n)) {
        for pair in order.pairs {
            let of = |(server, client, delay): (System, System, fn(&Delays) -> f64)| {
                data.delays(server, client, n).map(|d| delay(&d))
            };
            let (Some(less), Some(more)) = (of(pair.less), of(pair.more)) else {
                return Finding::new(
                    order.claim,
                    Verdict::NotMeasured,
                    "",
                    format!("a pairing at {n} bytes is not in the measurements"),
                );
            };
            ratios.push(more / less);
            let right = match order.equality {
                Equality::Less => more > less + TIE * less.abs(),
                Equality::LessOrEqual => more >= less - TIE * less.abs(),
                Equality::Same => (more - less).abs() <= 0.1 * less.abs(),
            };
            if right { &mut holds } else { &mut fails }.push(n);
        }
    }
    let total = holds.len() + fails.len();
    let verdict = match (holds.len(), fails.len()) {
        (0, 0) => Verdict::NotMeasured,
        (_, 0) => Verdict::Reproduced,
        (h, f) if h > f => Verdict::Differs,
        _ => Verdict::NotReproduced,
    };
    ratios.sort_by(f64::total_cmp);
    let mut ours = format!("holds in {} of {total} comparisons", holds.len());
    if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
        ours.push_str(&format!("; the second is {least:.2} to {most:.2} times the first"));
    }
    if !fails.is_empty() {
        fails.dedup();
        let sizes: Vec<String> = fails.iter().map(u32::to_string).collect();
        ours.push_str(&format!("; not at {} bytes", sizes.join(", ")));
    }
    if order.counts == Counts::Encryption {
        ours.push_str(&counted(data));
    }
    let reason = match (verdict, order.counts) {
        (Verdict::Reproduced | Verdict::NotMeasured, _) => String::new(),
        (_, Counts::Encryption) => "the paper's bare CCM was the slower code; here both systems run the same CCM, \
                         so what is left is the system around it"
            .to_owned(),
        _ => "other code on both systems, and an emulated machine and network instead of three PCs and a \
              switch"
            .to_owned(),
    };
    Finding::new(order.claim, verdict, ours, reason)
}

/// The overhead of a packet in instructions, which no other load disturbs.
fn counted(data: &Measurements) -> String {
    let each = |of: fn(&Instructions) -> f64| {
        let at = |n| {
            let (bare, linux) = (data.instructions(Bare, n)?, data.instructions(Linux, n)?);
            Some(format!("{:.0}/{:.0} at {n}", of(&bare), of(&linux)))
        };
        data.sizes().into_iter().filter_map(at).collect::<Vec<_>>().join(", ")
    };
    let overhead = each(|i| i.overhead);
    if overhead.is_empty() {
        return "; INSTRUCTIONS ARE NOT IN THE MEASUREMENTS".to_owned();
    }
    format!(
        "; instructions a packet, bare/Linux: {overhead}; without waiting for the card: {}",
        each(|i| i.work)
    )
}
