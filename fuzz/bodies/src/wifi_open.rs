//! wifi-open's station and access point among frames of anybody: everything is in the clear there,
//! so an adversary can end links, but nothing more.

use crate::Choices;
use crate::host::{Host, Said};
use crate::network::{AP_MAC, Seeded, client_mac, ethernet, start};
use slyfi_base::{Command, Duration, LinkId};
use slyfi_rivals::wifi_open::{ApConfig, OpenAp, OpenStation, Ssid, StationConfig};
use slyfi_wire::ieee80211::MacHeader;

const MEMBERS: u16 = 3;

struct Cell {
    ap: Host<OpenAp>,
    station: Host<OpenStation<Seeded>>,
    /// Frames not yet heard: by the access point or by the station.
    flying: Vec<(bool, Vec<u8>)>,
    log: Vec<Vec<u8>>,
}

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let ssid = Ssid::new(b"fuzzed").expect("a short name");
    let config = ApConfig { max_members: MEMBERS, ..ApConfig::new(AP_MAC, ssid.clone()) };
    let station = StationConfig::new(client_mac(1), vec![ssid]);
    let mut cell = Cell {
        ap: Host::new(OpenAp::new(start(), config, &mut Seeded(1)), start(), false),
        station: Host::new(OpenStation::new(station, Seeded(2)), start(), true),
        flying: Vec::new(),
        log: Vec::new(),
    };
    cell.command(false, Command::Connect);
    if c.is() {
        cell.run(Duration::from_secs(1));
        assert!(cell.station.link.is_linked(), "an undisturbed link comes up");
    }
    while !c.is_empty() {
        cell.act(&mut c);
        assert!(cell.ap.link.associated() <= usize::from(MEMBERS), "too many members");
    }
    cell.flying.clear();
    cell.command(false, Command::Connect);
    cell.run(Duration::from_secs(120));
    assert!(cell.station.link.is_linked(), "the link does not come back");
}

impl Cell {
    fn absorb(&mut self, by_ap: bool, said: Said) {
        assert!(said.records.is_empty() && said.backhaul.is_empty(), "there is nothing to store");
        for frame in said.frames {
            assert!(MacHeader::new_checked(&frame).is_ok(), "sends 802.11 frames");
            self.flying.push((!by_ap, frame.clone()));
            self.log.push(frame);
        }
    }

    fn deliver(&mut self, to_ap: bool, frame: &[u8]) {
        let said = if to_ap { self.ap.frame(frame) } else { self.station.frame(frame) };
        assert!(said.frames.len() <= 4, "one frame causes many");
        self.absorb(to_ap, said);
    }

    fn command(&mut self, to_ap: bool, command: Command) {
        let (_, said) =
            if to_ap { self.ap.command(command) } else { self.station.command(command) };
        self.absorb(to_ap, said);
    }

    fn packet(&mut self, to_ap: bool, packet: &[u8]) {
        let (_, said) = if to_ap { self.ap.packet(packet) } else { self.station.packet(packet) };
        self.absorb(to_ap, said);
    }

    fn pass(&mut self, d: Duration) {
        let said = self.ap.pass(d);
        self.absorb(true, said);
        let said = self.station.pass(d);
        self.absorb(false, said);
    }

    fn wait(&self) -> Duration {
        let waits = [self.ap.wait(), self.station.wait()];
        waits.into_iter().flatten().min().unwrap_or(Duration::from_secs(1))
    }

    fn run(&mut self, limit: Duration) {
        let mut spent = Duration::ZERO;
        while spent < limit {
            for round in 0.. {
                assert!(round < 10_000, "the air never comes to rest");
                if self.flying.is_empty() {
                    break;
                }
                let (to_ap, frame) = self.flying.remove(0);
                self.deliver(to_ap, &frame);
            }
            let step = self.wait().max(Duration::from_micros(100)).min(Duration::from_secs(1));
            spent = spent + step;
            self.pass(step);
        }
    }

    fn act(&mut self, c: &mut Choices<'_>) {
        let to_ap = c.is();
        match c.below(12) {
            0 => {
                if !self.flying.is_empty() {
                    let (to_ap, frame) = self.flying.remove(0);
                    self.deliver(to_ap, &frame);
                }
            }
            1 => {
                if !self.flying.is_empty() {
                    self.flying.remove(0);
                }
            }
            2 => self.deliver(to_ap, c.run()),
            3..=5 => {
                if let Some(mut frame) = self.log.get(c.below(self.log.len())).cloned() {
                    for _ in 0..c.below(4) {
                        let at = usize::from(c.byte()) % frame.len();
                        frame[at] = c.byte();
                    }
                    self.deliver(to_ap, &frame);
                }
            }
            6 => self.deliver(to_ap, &management(c)),
            7 => self.pass(self.wait()),
            8 => self.pass(Duration::from_millis(c.short().into())),
            9 => {
                let (to, from) =
                    if to_ap { (client_mac(1), AP_MAC) } else { (AP_MAC, client_mac(1)) };
                self.packet(to_ap, &ethernet(to, from, 0x0800, c.run()));
            }
            10 => self.packet(to_ap, c.run()),
            _ => {
                let commands = [
                    Command::Connect,
                    Command::Leave,
                    Command::Roam,
                    Command::Dismiss(LinkId(u32::from(c.byte() % 4))),
                ];
                self.command(to_ap, commands[c.below(4)]);
            }
        }
    }
}

/// A management frame to or from an address that means something, with any body.
fn management(c: &mut Choices<'_>) -> Vec<u8> {
    let addresses = [AP_MAC, client_mac(1), client_mac(2), client_mac(3), client_mac(4)];
    let subtype = c.byte() & 0xf0;
    let mut frame = vec![subtype, 0, 0, 0];
    for _ in 0..3 {
        frame.extend_from_slice(&addresses[c.below(addresses.len())].0);
    }
    frame.extend_from_slice(&[0, 0]);
    frame.extend_from_slice(c.run());
    frame
}
