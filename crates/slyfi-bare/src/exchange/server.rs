use super::message::{Direction, Opener, Packet, Run, Sealer, Template};
use super::{Clock, Datagrams, Failure, SEALED_OVERHEAD, Settings};
use slyfi_base::SecureRandom;

/// What the server measured, in nanoseconds of its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTimes {
    /// D2 = ST1 − ST0: to process and send the clear messages.
    pub clear_ns: u64,
    /// D3 = ST3 − ST2: to encrypt, process and send the sealed ones.
    pub sealed_ns: u64,
    /// How much of D2 was waiting for the network to take more, where that can be told.
    pub clear_wait_ns: u64,
    /// How much of D3 was.
    pub sealed_wait_ns: u64,
    /// Messages that were not taken: other runs', forged, damaged.
    pub refused: u32,
}

/// Serves one run.
///
/// # Errors
/// [`Failure`]; whatever comes from the network ends the run at worst.
pub fn serve<N, C, R>(
    net: &mut N,
    clock: &mut C,
    rng: &mut R,
    settings: &Settings,
) -> Result<ServerTimes, Failure<N::Error>>
where
    N: Datagrams,
    C: Clock,
    R: SecureRandom,
{
    let template = Template::new(settings);
    let (n, m) = (template.size(), settings.burst);
    let mut buf = [0; super::MAX_SIZE + SEALED_OVERHEAD + 1];
    let mut refused = 0;

    loop {
        let Some(len) = receive(net, &mut buf, settings)? else { return Err(Failure::NoPeer) };
        if template.read(&buf[..len]) == Ok(Packet::Request) && len == n {
            break;
        }
        refused += 1;
    }
    net.answer_sender();
    let wt0 = net.waited_nanos();
    let st0 = clock.nanos();
    for number in 0..m {
        net.send(n, |out| template.write(Packet::Numbered(number), out))
            .map_err(Failure::Network)?;
    }
    let st1 = clock.nanos();
    let wt1 = net.waited_nanos();

    let asked = Run::new(settings);
    let mut opener = Opener::new(Direction::Up);
    let mut forged = 0;
    let salt = loop {
        let Some(len) = receive(net, &mut buf, settings)? else {
            return Err(match forged {
                0 => Failure::NoPeer,
                refused => Failure::NotVerified { refused },
            });
        };
        let opened = opener.open(&asked, &template, &mut buf[..len]);
        match (opened, opener.salt()) {
            (Ok(Packet::Request), Some(salt)) => break salt,
            _ if len == n + SEALED_OVERHEAD => forged += 1,
            _ => refused += 1,
        }
    };
    net.answer_sender();
    let run = Run::answering(settings, salt);
    let mut sealer = Sealer::new(Direction::Down, rng);
    let wt2 = net.waited_nanos();
    let st2 = clock.nanos();
    for number in 0..m {
        net.send(n + SEALED_OVERHEAD, |out| {
            sealer.seal(&run, &template, Packet::Numbered(number), out);
        })
        .map_err(Failure::Network)?;
    }
    let st3 = clock.nanos();
    let wt3 = net.waited_nanos();
    net.flush().map_err(Failure::Network)?;
    Ok(ServerTimes {
        clear_ns: st1 - st0,
        sealed_ns: st3 - st2,
        clear_wait_ns: wt1 - wt0,
        sealed_wait_ns: wt3 - wt2,
        refused: refused + forged,
    })
}

fn receive<N: Datagrams>(
    net: &mut N,
    buf: &mut [u8],
    settings: &Settings,
) -> Result<Option<usize>, Failure<N::Error>> {
    net.receive(buf, settings.patience).map_err(Failure::Network)
}
