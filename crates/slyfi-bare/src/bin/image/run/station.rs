//! SlyFi's client on a wire, with an IP host behind it.

use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::heap;
use crate::host::Host;
use crate::nic::Nic;
use crate::serial::say;
use crate::udp::instant;
use alloc::format;
use alloc::string::String;
use core::net::IpAddr;
use slyfi_bare::ethernet::EthernetRadio;
use slyfi_bare::options::{Options, unhex};
use slyfi_bare::station::{Notice, Station};
use slyfi_base::{Command, Duration, Event, Instant, MacAddress, SecureRandom, UnixTime};
use slyfi_core::invite::Invite;
use slyfi_core::pairing::Pairing;
use zeroize::Zeroizing;

/// How often the counters are printed.
const STATUS: Duration = Duration::from_secs(10);

/// Joins the network and stays; returns only when it cannot go on.
pub fn run(options: &Options<'_>, mut clock: Clock, mut rng: Entropy) -> Result<(), String> {
    let address = options.address.ok_or("`address` is missing: 10.77.0.9/24 or so")?;
    let now = clock.now();
    let pairing = pairing(options, now.wall)?;
    let radio = EthernetRadio::new(Nic::open(options.mtu)?);
    let mut mac = [0; 6];
    rng.fill(&mut mac);
    let mac = MacAddress::local(mac);
    let mut station = Station::new(radio, pairing, mac, rng, now)
        .map_err(|e| format!("the station does not start: {e:?}"))?;
    let mut host = Host::new(mac, address, station.mtu().min(1500), instant(&mut clock));
    say!("station: looking for the network, MTU {}", station.mtu());
    let mut next_status = Instant::ZERO + STATUS;
    loop {
        let now = clock.now();
        let (mut linked, mut pseudonym) = (false, None);
        let mut notice = |notice| match notice {
            Notice::PairedUntilPowerOff => say!("station: paired, until power is off"),
            Notice::Event(Event::Pseudonym(mac)) => pseudonym = Some(mac),
            Notice::Event(event) => {
                linked |= matches!(event, Event::Linked { .. });
                say!("station: {event:?}");
            }
        };
        station.turn(now, &mut notice).map_err(|e| format!("the station ends: {e:?}"))?;
        if let Some(mac) = pseudonym {
            host.set_mac(mac);
        }
        if linked {
            let bind = Command::Bind(IpAddr::V4(address.0));
            station
                .command(now, bind, &mut |_| ())
                .map_err(|e| format!("the station ends: {e:?}"))?;
            say!("station: linked as {}", address.0);
        }
        while let Some(packet) = station.receive() {
            host.port.inbound.push_back(packet);
        }
        host.turn(instant(&mut clock));
        while station.can_send() {
            let Some(packet) = host.port.outbound.pop_front() else { break };
            station.send(packet);
        }
        if now.mono >= next_status {
            next_status = now.mono + STATUS;
            let (counted, linked) = (station.counters(), station.is_linked());
            say!("station: linked {linked}, {counted:?}, echoed {}", host.echoed);
            say!("station: heap {} bytes", heap::used());
        }
    }
}

/// Reads the pairing or the invite of the command line.
fn pairing(options: &Options<'_>, wall: UnixTime) -> Result<Pairing, String> {
    if let Some(url) = &options.invite {
        let invite = Invite::from_url(url.reveal(), wall).map_err(|e| format!("invite: {e}"))?;
        return Ok(invite.pairing());
    }
    let digits = options.pairing.as_ref().map_or("", |digits| digits.reveal());
    let mut bytes = Zeroizing::new([0; 256]);
    let len = unhex(digits, &mut bytes[..]).ok_or("pairing: not hexadecimal digits")?;
    Pairing::decode(&bytes[..len]).map_err(|e| format!("pairing: {e}"))
}
