use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::patience::Patience;

/// Where connections come from: an IPv4 address, or the 64 bits of an IPv6 address that one subscriber
/// line has. Forgotten with the connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(Ipv6Addr);

impl Source {
    /// Of an address.
    pub fn of(address: IpAddr) -> Self {
        let v6 = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        if v6.to_ipv4_mapped().is_some() {
            return Source(v6);
        }
        let [a, b, c, d, ..] = v6.segments();
        Source(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
    }
}

/// The connections that there may be.
///
/// One source may have all of them: behind one address there can be a whole hotspot. But when they are
/// taken, a source that has fewer gets one from the source that has most.
pub struct Places {
    most: usize,
    open: Mutex<Open>,
}

struct Open {
    next: u64,
    /// Oldest first.
    taken: BTreeMap<u64, (Source, Arc<Patience>)>,
}

impl Open {
    fn count(&self, source: Source) -> usize {
        self.taken.values().filter(|(whose, _)| *whose == source).count()
    }

    /// Ends a connection of the source that has most, if `source` has fewer even with another one:
    /// the oldest that does not wait for an answer.
    fn make_room(&mut self, source: Source) -> bool {
        let fewer = |whose: &Source| self.count(*whose) > self.count(source) + 1;
        let idle = self.taken.iter().filter(|(_, (_, patience))| !patience.is_suspended());
        let largest = idle
            .map(|(id, (whose, _))| (*id, *whose))
            // Of equals the last comes out, so they are turned round.
            .rev()
            .max_by_key(|(_, whose)| self.count(*whose));
        let Some((id, _)) = largest.filter(|(_, whose)| fewer(whose)) else { return false };
        if let Some((_, patience)) = self.taken.remove(&id) {
            patience.end();
        }
        true
    }
}

impl Places {
    /// For `most` connections.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Places { most, open: Mutex::new(Open { next: 0, taken: BTreeMap::new() }) })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a connection that `patience` belongs to.
    pub fn take(self: &Arc<Self>, source: Source, patience: Arc<Patience>) -> Option<Place> {
        let mut open = self.open();
        if open.taken.len() >= self.most && !open.make_room(source) {
            return None;
        }
        let id = open.next;
        open.next += 1;
        open.taken.insert(id, (source, patience));
        Some(Place { places: Arc::clone(self), id })
    }
}

/// A connection's place, given back when it is dropped.
pub struct Place {
    places: Arc<Places>,
    id: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.open().taken.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn source(text: &str) -> Source {
        Source::of(text.parse().unwrap())
    }

    fn patience() -> Arc<Patience> {
        Arc::new(Patience::new(Duration::from_secs(60)))
    }

    #[test]
    fn a_source_is_an_address_or_a_line() {
        assert!(source("192.0.2.1") == source("::ffff:192.0.2.1"));
        assert!(source("192.0.2.1") != source("192.0.2.2"));
        assert!(source("::ffff:192.0.2.1") != source("::ffff:192.0.2.2"));
        assert!(source("2001:db8:1:2::3") == source("2001:db8:1:2:ffff::"));
        assert!(source("2001:db8:1:2::3") != source("2001:db8:1:3::3"));
    }

    #[test]
    fn who_has_most_makes_room_for_who_has_fewer() {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(
            async {
                let (a, b) = (source("192.0.2.1"), source("192.0.2.2"));
                let places = Places::new(4);
                let mut held: Vec<_> = (0..4).map(|_| places.take(a, patience())).collect();
                assert!(held.iter().all(Option::is_some));
                assert!(places.take(a, patience()).is_none());
                held.push(places.take(b, patience()));
                held.push(places.take(b, patience()));
                assert!(held.iter().all(Option::is_some));
                // Two each: neither may take from the other.
                assert!(places.take(b, patience()).is_none());
                assert!(places.take(a, patience()).is_none());
                drop(held);
                assert!(places.open().taken.is_empty());
            },
        );
    }

    #[test]
    fn who_waits_for_an_answer_is_not_sent_away() {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(
            async {
                let (a, b) = (source("192.0.2.1"), source("192.0.2.2"));
                let places = Places::new(3);
                let all: Vec<_> = (0..3).map(|_| patience()).collect();
                let held: Vec<_> = all.iter().map(|p| places.take(a, Arc::clone(p))).collect();
                let waiting = (all[0].suspend(), all[2].suspend());
                assert!(places.take(b, patience()).is_some());
                let ended = |p: Arc<Patience>| async move {
                    tokio::time::timeout(Duration::from_millis(10), p.over()).await.is_ok()
                };
                assert!(!ended(Arc::clone(&all[0])).await && !ended(Arc::clone(&all[2])).await);
                assert!(ended(Arc::clone(&all[1])).await);
                drop((waiting, held));
            },
        );
    }
}
