//! SlyFi networks on the simulated air, with the referee knowing the ground truth.

use slyfi_base::event::{Phase, Unlinked};
use slyfi_base::{Duration, Event, Instant, MacAddress, Rate, TxMeta, UnixTime};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::pairing::{Direction, Kind, NetworkName, Pairing, Terms};
use slyfi_core::sizes::Sizes;
use slyfi_core::suite::Suite;
use slyfi_core::tryst::{self, Class};
use slyfi_sim::referee::{AddressClass, AddressOracle};
use slyfi_sim::{
    Air, AnyLink, FlowHost, FlowReport, Happened, Host, LinkQuality, NodeConfig, NodeId, Record,
    Scenario, SimRng,
};
use std::collections::BTreeMap;

pub type Ap = ApLink<SimRng>;
pub type Client = ClientLink<SimRng>;

pub const NAME: &[u8] = b"The house at the end";

/// What a network is made with.
#[derive(Clone, Debug)]
pub struct Options {
    pub clients: u8,
    /// The suite of all pairings, and of broadcasts.
    pub suite: Suite,
    /// Instead: each client another suite.
    pub mixed: bool,
    pub quality: LinkQuality,
    pub client: ClientConfig,
    pub ap: ApConfig,
    pub interval: Duration,
    /// By how much the clients' clocks are off, in seconds.
    pub clock_off: i64,
    /// In how many seconds the pairings' next day begins.
    pub day_turns_in: i64,
}

impl Default for Options {
    fn default() -> Self {
        let rate = TxMeta { rate: Rate::PEAK };
        Options {
            clients: 1,
            suite: Suite::AEAD,
            mixed: false,
            quality: LinkQuality::PERFECT,
            client: ClientConfig { rate, ..ClientConfig::default() },
            ap: ApConfig { rate, ..ApConfig::default() },
            interval: Duration::from_secs(300),
            clock_off: 0,
            day_turns_in: 0,
        }
    }
}

impl Options {
    /// Whether sessions get new keys while a test runs.
    pub fn renews(&self) -> bool {
        self.client.rekey_after < 10_000
    }

    /// Both ends are ready for an air that reorders.
    pub fn reordering(mut self) -> Self {
        for (keeps_order, late) in [
            (&mut self.client.keeps_order, &mut self.client.late),
            (&mut self.ap.keeps_order, &mut self.ap.late),
        ] {
            (*keeps_order, *late) = (false, 16);
        }
        self
    }
}

/// One access point and its clients.
pub struct Net {
    pub s: Scenario,
    pub ap: NodeId,
    pub options: Options,
    pub pairings: Vec<Pairing>,
    flows: Vec<(u8, u8, u64)>,
    round: u32,
}

pub fn ap_mac() -> MacAddress {
    MacAddress([0x02, 0x5a, 0x11, 0x22, 0x33, 0x00])
}

pub fn mac(i: u8) -> MacAddress {
    MacAddress([0x02, 0x5a, 0x11, 0x22, 0x44, i])
}

/// Number of the flow between two ends; the access point is 255.
pub const fn flow(from: u8, to: u8) -> u32 {
    0x5100_0000 | (from as u32) << 8 | to as u32
}

pub const AP: u8 = 255;

pub fn ap_link(options: &Options, pairings: &[Pairing], rng: SimRng, now: slyfi_base::Now) -> Ap {
    let mut link = ApLink::new(options.ap.clone(), ap_mac(), rng, now);
    for p in pairings {
        link.add_pairing(now, p.clone()).unwrap();
    }
    link
}

impl Net {
    pub fn new(seed: u64, options: Options) -> Self {
        let clients = options.clients;
        let host = FlowHost::new(ap_mac()).started();
        Net::with_hosts(seed, options, host, (0..clients).map(|i| FlowHost::new(mac(i))))
    }

    pub fn with_hosts<H: Host>(
        seed: u64,
        mut options: Options,
        ap_host: impl Host,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        let mut s = Scenario::new(seed).with_quality(options.quality);
        options.ap.suite = options.suite;
        let pairings = pairings(&s.air, &options);
        let sizes = Sizes::new(options.client.policy, options.client.max_body);
        let mut suites: Vec<Suite> = pairings.iter().map(Pairing::suite).collect();
        suites.push(options.ap.suite);
        s.air.referee().set_sizes(move |len| suites.iter().any(|s| sizes.allows(*s, len)));
        s.air.referee().set_oracle(Truth::new(pairings.clone()));
        let config = NodeConfig::new("ap")
            .with_secret("network name", NAME)
            .with_secret("host address", ap_mac().0);
        let ap = s.access_point(config, |rng, now| ap_link(&options, &pairings, rng, now), ap_host);
        for (i, host) in hosts.into_iter().enumerate() {
            let config = NodeConfig::new(format!("client {i}"))
                .with_clock(options.clock_off * 1_000_000, 0)
                .with_secret("host address", mac(i as u8).0);
            let (pairing, client) = (pairings[i].clone(), options.client);
            s.client(
                config,
                |rng, now| {
                    let mut link = ClientLink::new(client, mac(i as u8), rng, now);
                    link.add_pairing(now, pairing).unwrap();
                    link
                },
                host,
            );
        }
        Net { s, ap, options, pairings, flows: Vec::new(), round: 0 }
    }

    pub fn air(&mut self) -> &mut Air {
        &mut self.s.air
    }

    pub fn client(&self, i: u8) -> NodeId {
        self.s.clients[usize::from(i)]
    }

    pub fn node(&self, end: u8) -> NodeId {
        if end == AP { self.ap } else { self.client(end) }
    }

    /// Links all clients; panics if one does not get there.
    pub fn link(&mut self) {
        let linked = self.s.link_all(Duration::from_secs(30)).unwrap_or_else(|e| panic!("{e}"));
        assert!(linked, "not linked in 30 s: {:?}", self.s.air.events());
    }

    pub fn run(&mut self, span: Duration) {
        self.s.air.run_for(span).unwrap_or_else(|e| panic!("{e}"));
    }

    /// Starts a flow between two ends.
    pub fn start(&mut self, from: u8, to: u8, count: u64, sizes: (usize, usize), pause: Duration) {
        let to_mac = if to == AP { ap_mac() } else { mac(to) };
        let (node, id) = (self.node(from), self.round | flow(from, to));
        self.flows.push((from, to, count));
        self.s
            .air
            .with_host(node, |h: &mut FlowHost| h.add_flow(id, to_mac, count, sizes, pause))
            .unwrap();
    }

    /// Begins anew: flows from now on are others than those before.
    pub fn next_round(&mut self) {
        self.round += 1 << 16;
        self.flows.clear();
    }

    pub fn report(&self, from: u8, to: u8) -> FlowReport {
        let host = self.s.air.host::<FlowHost>(self.node(to)).unwrap();
        host.report(self.round | flow(from, to))
    }

    pub fn sent(&self, from: u8, to: u8) -> u64 {
        let host = self.s.air.host::<FlowHost>(self.node(from)).unwrap();
        host.sent(self.round | flow(from, to))
    }

    /// Runs until all flows were sent, for `span` at most, and on until they have arrived or half a
    /// minute has passed.
    pub fn finish(&mut self, span: Duration) {
        let nodes: Vec<NodeId> = [self.ap].into_iter().chain(self.s.clients.clone()).collect();
        let done = |air: &Air| nodes.iter().all(|n| air.host::<FlowHost>(*n).unwrap().is_done());
        let done = self.s.air.run_to(span, done).unwrap_or_else(|e| panic!("{e}"));
        assert!(done, "flows not sent in {} s of simulation", span.as_secs());
        for _ in 0..30 {
            let missing = |&(from, to, n): &(u8, u8, u64)| self.report(from, to).received < n;
            if !self.flows.iter().any(missing) {
                break;
            }
            self.run(Duration::from_secs(1));
        }
        self.run(Duration::from_secs(1));
    }

    /// Kills the access point and starts it anew from its disk.
    pub fn restart_ap(&mut self, dead_for: Duration) {
        self.s.air.crash(self.ap);
        self.run(dead_for);
        let (options, pairings) = (self.options.clone(), self.pairings.clone());
        let rng = self.s.air.rng("restart", self.s.air.now().as_micros());
        self.s.air.restart(self.ap, |records, now| {
            let mut link = ap_link(&options, &pairings, rng, now);
            restore(&mut link, records, now);
            Box::new(link) as Box<dyn AnyLink>
        });
    }

    pub fn unlinked(&self, node: NodeId) -> Vec<Unlinked> {
        let why = |r: &slyfi_sim::Recorded| match r.what {
            Happened::Event(Event::Unlinked { why, .. }) => Some(why),
            _ => None,
        };
        self.s.air.events_of(node).filter_map(why).collect()
    }

    pub fn count(&self, node: NodeId, event: impl Fn(Event) -> bool) -> usize {
        let is = |r: &&slyfi_sim::Recorded| matches!(r.what, Happened::Event(e) if event(e));
        self.s.air.events_of(node).filter(is).count()
    }

    /// When a client entered a phase, the first time.
    pub fn entered(&self, node: NodeId, phase: Phase) -> Option<Instant> {
        let mut events = self.s.air.events_of(node);
        events.find(|r| r.what == Happened::Event(Event::Phase(phase))).map(|r| r.at)
    }
}

pub fn restore(link: &mut Ap, records: &[Record], now: slyfi_base::Now) {
    for r in records {
        assert!(link.restore(now, r.kind, &r.bytes), "unreadable record {:?}", r.kind);
    }
}

pub fn pairings(air: &Air, options: &Options) -> Vec<Pairing> {
    let mut rng = air.rng("pairing", 0);
    let network = NetworkName::new(NAME).unwrap();
    // Ten days old, or a little less, so that the ratchet has turned.
    let t0 = air.wall().shifted(-(10 * 86_400 - options.day_turns_in) * 1_000_000);
    let mut terms = Terms::new(network, options.suite, t0, Kind::Member);
    terms.interval = options.interval;
    let pairing = |i: u8| {
        if options.mixed {
            terms.suite = Suite::ALL[usize::from(i) % Suite::ALL.len()];
        }
        Pairing::generate(&terms, &mut rng).unwrap()
    };
    (0..options.clients).map(pairing).collect()
}

/// Knows every Tryst address of the given pairings; all others are Shroud's.
pub struct Truth {
    pairings: Vec<Pairing>,
    /// By pairing: the last interval whose addresses are known.
    until: Vec<u64>,
    known: BTreeMap<[u8; 16], (UnixTime, UnixTime)>,
}

impl Truth {
    pub fn new(pairings: Vec<Pairing>) -> Self {
        let until = vec![0; pairings.len()];
        Truth { pairings, until, known: BTreeMap::new() }
    }

    fn learn(&mut self, wall: UnixTime) {
        for (p, until) in self.pairings.iter().zip(&mut self.until) {
            // An hour either way: the clocks that the tests have, and more.
            let now = u64::try_from(p.interval_at(wall)).unwrap_or(0);
            let span = 3600 / p.interval().as_secs() + 4;
            let first = now.saturating_sub(span).max(*until + 1);
            for i in first..=now + span {
                for direction in [Direction::Up, Direction::Down] {
                    let Ok(keys) = p.tryst_keys(direction, i) else { continue };
                    for class in Class::ALL {
                        let address = tryst::address(&keys.addr, class, i);
                        self.known.insert(address, (p.begins(i), p.begins(i + 1)));
                    }
                }
                *until = i;
            }
        }
    }
}

impl AddressOracle for Truth {
    fn class(&mut self, address: &[u8; 16], _: NodeId, composed: UnixTime) -> AddressClass {
        self.learn(composed);
        match self.known.get(address) {
            Some(&(since, until)) => AddressClass::Tryst { since, until },
            None => AddressClass::Shroud,
        }
    }
}
