//! Setting an air up quickly: access points, clients, a sniffer.

use crate::{Air, AnyLink, Host, LinkQuality, NodeConfig, NodeId, RunError, SimRng, Sniffer};
use slyfi_base::event::Phase;
use slyfi_base::{Command, Duration, Event, Now};

/// An air with access points and clients on it.
pub struct Scenario {
    /// The air.
    pub air: Air,
    /// The access points, in the order they were added.
    pub access_points: Vec<NodeId>,
    /// The clients, in the order they were added.
    pub clients: Vec<NodeId>,
}

impl Scenario {
    /// Makes an empty scenario on a perfect medium.
    pub fn new(seed: u64) -> Self {
        Scenario { air: Air::new(seed), access_points: Vec::new(), clients: Vec::new() }
    }

    /// Sets the quality of all links between machines.
    pub fn with_quality(mut self, quality: LinkQuality) -> Self {
        self.air.medium().set_default(quality);
        self
    }

    /// Adds an access point; `make` gets its entropy and clocks.
    pub fn access_point<L: AnyLink>(
        &mut self,
        config: NodeConfig,
        make: impl FnOnce(SimRng, Now) -> L,
        host: impl Host,
    ) -> NodeId {
        let id = self.add(config, make, host);
        self.access_points.push(id);
        id
    }

    /// Adds a client; `make` gets its entropy and clocks.
    pub fn client<L: AnyLink>(
        &mut self,
        config: NodeConfig,
        make: impl FnOnce(SimRng, Now) -> L,
        host: impl Host,
    ) -> NodeId {
        let id = self.add(config, make, host);
        self.clients.push(id);
        id
    }

    /// Adds a sniffer that hears everything.
    pub fn sniffer(&mut self, sniffer: Sniffer) -> NodeId {
        self.air.add_sniffer(NodeConfig::new("sniffer"), sniffer)
    }

    /// Tells every client to connect. Machines without set-up refuse, and need not.
    pub fn connect(&mut self) {
        for client in self.clients.clone() {
            let _ = self.air.command(client, Command::Connect);
        }
    }

    /// Tells every client to connect and lets time pass until all are linked, for `within` at most;
    /// returns whether they are.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn link_all(&mut self, within: Duration) -> Result<bool, RunError> {
        self.connect();
        let clients = self.clients.clone();
        self.air.run_to(within, |air| clients.iter().all(|c| is_linked(air, *c)))
    }

    fn add<L: AnyLink>(
        &mut self,
        config: NodeConfig,
        make: impl FnOnce(SimRng, Now) -> L,
        host: impl Host,
    ) -> NodeId {
        let index = (self.access_points.len() + self.clients.len()) as u64;
        let clock = crate::NodeClock::new(self.air.wall(), config.clock_offset, config.clock_ppm);
        let link = make(self.air.rng("machine", index), clock.now(self.air.now()));
        self.air.add_node(config, Box::new(link), Box::new(host))
    }
}

/// Returns whether a client's latest word is that its link stands.
pub fn is_linked(air: &Air, client: NodeId) -> bool {
    let last = air.events_of(client).rev().find_map(|r| match r.what {
        crate::Happened::Event(Event::Linked { .. } | Event::Phase(Phase::Linked)) => Some(true),
        crate::Happened::Event(Event::Unlinked { .. } | Event::Phase(_))
        | crate::Happened::Crashed
        | crate::Happened::Restarted => Some(false),
        _ => None,
    });
    last == Some(true)
}
