//! Looking at an air: machines, hosts, counters, events.

use super::{Air, Role};
use crate::adversary::Adversary;
use crate::host::Host;
use crate::node::{AnyLink, NodeConfig, NodeId, NodeStats, Recorded};
use crate::sniffer::Sniffer;
use std::any::Any;

impl Air {
    /// Returns the lines of a node's key log; empty unless its machine was configured to make one.
    pub fn key_log(&self, node: NodeId) -> &[Vec<u8>] {
        &self.nodes[node.index()].key_log
    }

    /// Returns what was counted about a node.
    pub fn stats(&self, node: NodeId) -> NodeStats {
        self.nodes[node.index()].stats
    }

    /// Returns the configuration of a node.
    pub fn config(&self, node: NodeId) -> &NodeConfig {
        &self.nodes[node.index()].config
    }

    /// Returns a node's machine by its type, if it has one that has not crashed.
    pub fn link<L: AnyLink>(&self, node: NodeId) -> Option<&L> {
        match &self.nodes[node.index()].role {
            Role::Party { link: Some(link), .. } => (link.as_ref() as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// Returns a node's machine as any [`slyfi_base::Link`].
    pub fn any_link(&self, node: NodeId) -> Option<&dyn AnyLink> {
        match &self.nodes[node.index()].role {
            Role::Party { link: Some(link), .. } => Some(link.as_ref()),
            _ => None,
        }
    }

    /// Returns a node's host by its type.
    pub fn host<H: Host>(&self, node: NodeId) -> Option<&H> {
        match &self.nodes[node.index()].role {
            Role::Party { host, .. } => (host.as_ref() as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// Changes a node's host, then lets it act.
    pub fn with_host<H: Host, R>(
        &mut self,
        node: NodeId,
        change: impl FnOnce(&mut H) -> R,
    ) -> Option<R> {
        let Role::Party { host, .. } = &mut self.nodes[node.index()].role else { return None };
        let result = (host.as_mut() as &mut dyn Any).downcast_mut().map(change);
        self.settle(node);
        result
    }

    /// Returns an attacker by its type.
    pub fn adversary<A: Adversary>(&self, node: NodeId) -> Option<&A> {
        match &self.nodes[node.index()].role {
            Role::Adversary(a) => (a.as_ref() as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// Returns a sniffer.
    pub fn sniffer(&self, node: NodeId) -> Option<&Sniffer> {
        match &self.nodes[node.index()].role {
            Role::Sniffer(s) => Some(s),
            _ => None,
        }
    }

    /// Returns everything that happened, in order.
    pub fn events(&self) -> &[Recorded] {
        &self.record
    }

    /// Returns the events of one node.
    pub fn events_of(&self, node: NodeId) -> impl DoubleEndedIterator<Item = &Recorded> {
        self.record.iter().filter(move |r| r.node == node)
    }

    /// Returns how many frames were put on the air.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns a digest of every frame with its time and sender: equal runs, equal digests.
    pub fn digest(&self) -> u64 {
        self.digest
    }
}
