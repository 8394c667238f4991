use super::message::{Direction, Opener, Packet, Run, Sealer, Template};
use super::{ASK_AGAIN, Clock, Datagrams, Failure, MAX_SIZE, SEALED_OVERHEAD, Settings};
use slyfi_base::{Duration, SecureRandom};

/// What the client measured, in nanoseconds of its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientTimes {
    /// D0 = CT1 − CT0: from the first clear message in hand to the last one processed.
    pub clear_ns: u64,
    /// D1 = CT3 − CT2: the same of the sealed ones, each verified and decrypted.
    pub sealed_ns: u64,
    /// Messages that were not taken: other runs', forged, damaged, twice.
    pub refused: u32,
}

/// What one burst came to.
struct Burst {
    first: u64,
    last: u64,
    received: u32,
    refused: u32,
}

impl Burst {
    fn failure<E>(&self) -> Failure<E> {
        Failure::Lost { received: self.received, refused: self.refused }
    }
}

/// Asks for both bursts of one run.
///
/// # Errors
/// [`Failure`]; whatever comes from the network ends the run at worst.
pub fn request<N, C, R>(
    net: &mut N,
    clock: &mut C,
    rng: &mut R,
    settings: &Settings,
) -> Result<ClientTimes, Failure<N::Error>>
where
    N: Datagrams,
    C: Clock,
    R: SecureRandom,
{
    let template = Template::new(settings);
    let (n, m) = (template.size(), settings.burst);

    let ask = |net: &mut N| net.send(n, |out| template.write(Packet::Request, out));
    let clear = burst(net, clock, settings, ask, |message, next| {
        message.len() == n && template.read(message) == Ok(Packet::Numbered(next))
    })?;
    if clear.received < m {
        return Err(clear.failure());
    }

    let mut sealer = Sealer::new(Direction::Up, rng);
    let mut opener = Opener::new(Direction::Down);
    let (asking, answered) = (Run::new(settings), Run::answering(settings, sealer.salt()));
    let ask = |net: &mut N| {
        net.send(n + SEALED_OVERHEAD, |out| {
            sealer.seal(&asking, &template, Packet::Request, out);
        })
    };
    let sealed = burst(net, clock, settings, ask, |message, next| {
        opener.open(&answered, &template, message) == Ok(Packet::Numbered(next))
    })?;
    let refused = clear.refused + sealed.refused;
    match sealed.received {
        0 if sealed.refused > 0 => Err(Failure::NotVerified { refused: sealed.refused }),
        received if received < m => Err(sealed.failure()),
        _ => Ok(ClientTimes {
            clear_ns: clear.last - clear.first,
            sealed_ns: sealed.last - sealed.first,
            refused,
        }),
    }
}

/// Asks for a burst and takes what comes until it is whole or nothing comes any more.
///
/// `take` processes a message, and says whether it is the one with the number that is due.
fn burst<N, C>(
    net: &mut N,
    clock: &mut C,
    settings: &Settings,
    mut ask: impl FnMut(&mut N) -> Result<(), N::Error>,
    mut take: impl FnMut(&mut [u8], u32) -> bool,
) -> Result<Burst, Failure<N::Error>>
where
    N: Datagrams,
    C: Clock,
{
    let mut buf = [0; MAX_SIZE + SEALED_OVERHEAD + 1];
    let mut burst = Burst { first: 0, last: 0, received: 0, refused: 0 };
    let mut waited = Duration::ZERO;
    ask(net).map_err(Failure::Network)?;
    while burst.received < settings.burst {
        // An answer that has begun is only waited for; asking again would begin it anew.
        let patience = if burst.received == 0 { ASK_AGAIN } else { settings.patience };
        let Some(len) = net.receive(&mut buf, patience).map_err(Failure::Network)? else {
            waited = waited + patience;
            if waited >= settings.patience {
                break;
            }
            ask(net).map_err(Failure::Network)?;
            continue;
        };
        let came = clock.nanos();
        if take(&mut buf[..len], burst.received) {
            if burst.received == 0 {
                burst.first = came;
            }
            burst.received += 1;
        } else {
            burst.refused += 1;
        }
    }
    burst.last = clock.nanos();
    if burst.received == 0 && burst.refused == 0 { Err(Failure::NoPeer) } else { Ok(burst) }
}
