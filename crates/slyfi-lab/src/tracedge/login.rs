//! A whole login over a shaped link, in real time.

use super::clock::{median, timed};
use super::https::{Configurations, Https};
use super::link::LinkShape;
use super::world::{NOW, World};
use crate::LabError;
use slyfi_base::SecureRandom;
use slyfi_pir::Client;
use slyfi_tracedge::answer::{Database, Retrieval, SignedAnswer};
use slyfi_tracedge::epoch::EpochSecret;
use slyfi_tracedge::head::SignedHead;
use slyfi_tracedge::log::TreeHead;
use slyfi_tracedge::operator::Serving;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::Service;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::{self, Seen, Transport, Which};

/// What it took, seconds; medians of several logins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// TCP and TLS.
    pub connect_s: f64,
    /// The epoch's head, and the proof that the log has it.
    pub head_s: f64,
    /// From the query's first byte to K: what the paper calls latency. The query is made beforehand,
    /// as there.
    pub retrieval_s: f64,
    /// The mutual proof of K.
    pub prove_s: f64,
    /// All of it.
    pub whole_s: f64,
    /// A login with a K that was fetched before: connecting and proving.
    pub fetched_before_s: f64,
    /// Fetching the scheme's hint, once for each epoch, if it has one.
    pub hint_s: Option<f64>,
    /// What the link alone takes for the retrieval: one round trip, and the bytes at its rate.
    pub link_s: f64,
    /// Bytes from the subscriber, TLS and HTTP included, without the hint.
    pub up: u64,
    /// Bytes to the subscriber.
    pub down: u64,
}

fn failed(e: &dyn std::fmt::Display) -> LabError {
    LabError::Measurement(format!("the login: {e}"))
}

/// Logs on `logins` times. `client` is a client of the served table.
///
/// # Errors
/// [`LabError`] if a login fails.
pub fn latency(
    world: &World,
    serving: Serving,
    client: &dyn Client,
    logins: usize,
) -> Result<Latency, LabError> {
    let shape = LinkShape::HOTSPOT;
    let hinted = serving.hint(Database::Table).is_some();
    let configurations = Configurations::generate().map_err(|e| failed(&e))?;
    let (_scratch, service) = world.service(serving)?;
    let link = Link { shape, configurations: &configurations, service: &service };
    let mut all = Vec::new();
    for round in 0..logins as u64 {
        all.push(link.log_on(world, client, round)?);
    }
    let hint_s = if hinted { Some(link.fetch_hint(world)?) } else { None };
    let of = |pick: fn(&Once) -> f64| median(&all.iter().map(pick).collect::<Vec<_>>());
    let none = || failed(&"there was none");
    let (up, down) = all.first().map(|once| once.bytes).ok_or_else(none)?;
    let sizes = client.setup().sizes().map_err(|e| failed(&e))?;
    // The signature is in front of the answer.
    let carried = shape.transfer(sizes.query as u64) + shape.transfer(64 + sizes.answer as u64);
    Ok(Latency {
        connect_s: of(|o| o.connect_s).ok_or_else(none)?,
        head_s: of(|o| o.head_s).ok_or_else(none)?,
        retrieval_s: of(|o| o.retrieval_s).ok_or_else(none)?,
        prove_s: of(|o| o.prove_s).ok_or_else(none)?,
        whole_s: of(|o| o.connect_s + o.head_s + o.retrieval_s + o.prove_s).ok_or_else(none)?,
        fetched_before_s: of(|o| o.connect_s + o.prove_s).ok_or_else(none)?,
        hint_s,
        link_s: (shape.round_trip() + carried).as_secs_f64(),
        up,
        down,
    })
}

/// One login.
struct Once {
    connect_s: f64,
    head_s: f64,
    retrieval_s: f64,
    prove_s: f64,
    bytes: (u64, u64),
}

struct Link<'a> {
    shape: LinkShape,
    configurations: &'a Configurations,
    service: &'a Service,
}

impl Link<'_> {
    fn log_on(&self, world: &World, client: &dyn Client, round: u64) -> Result<Once, LabError> {
        let mut seed = [0x10; 32];
        seed[..8].copy_from_slice(&round.to_le_bytes());
        let rng = &mut SeededRandom::new(seed);
        let mine = world.subscriber(rng.below(world.rows()))?;
        std::thread::scope(|scope| {
            let (way, connect_s) =
                timed(|| Https::connect(scope, self.shape, self.configurations, self.service, NOW));
            let mut way = way.map_err(|e| failed(&e))?;
            let operator = world.keys().id();
            let (head, head_s) = timed(|| {
                if client.setup().scheme.is_secure() {
                    let seen = &mut Seen::default();
                    subscriber::head(&mut way, &operator, seen, Which::Current, NOW)
                        .map_err(|e| failed(&e))
                } else {
                    insecure_head(&mut way)
                }
            });
            let head = head?;
            let index = mine.receipt.index;
            let retrieval = Retrieval::begin(&head, Database::Table, client, index, rng)
                .map_err(|e| failed(&e))?;
            let (opened, retrieval_s) = timed(|| retrieve(&mut way, world, &mine, retrieval));
            let opened = opened?;
            let (proved, prove_s) =
                timed(|| subscriber::prove(&mut way, opened.epoch().number, opened.key(), rng));
            proved.map_err(|e| failed(&e))?;
            Ok(Once { connect_s, head_s, retrieval_s, prove_s, bytes: way.bytes() })
        })
    }

    fn fetch_hint(&self, world: &World) -> Result<f64, LabError> {
        let epoch = world.secret().epoch().number;
        std::thread::scope(|scope| {
            let way = Https::connect(scope, self.shape, self.configurations, self.service, NOW);
            let mut way = way.map_err(|e| failed(&e))?;
            let hint = Route::Hint { epoch, database: Database::Table };
            let (fetched, seconds) = timed(|| way.call(hint, &[]));
            match fetched.map_err(|e| failed(&e))? {
                (200, _) => Ok(seconds),
                (status, _) => Err(failed(&format!("the hint: status {status}"))),
            }
        })
    }
}

/// The head of an epoch whose retrieval hides nothing. A subscriber refuses it; to measure a login
/// nevertheless, the requests are made and the head is taken for what it says.
fn insecure_head(way: &mut Https) -> Result<SignedHead, LabError> {
    let mut call = |route| match way.call(route, &[]).map_err(|e| failed(&e))? {
        (200, body) => Ok(body),
        (status, _) => Err(failed(&format!("{}: status {status}", route.path()))),
    };
    let tree_head = TreeHead::decode(&call(Route::LogHead)?).map_err(|e| failed(&e))?;
    call(Route::LogLeaves)?;
    call(Route::LogRecent { size: tree_head.size })?;
    let served = call(Route::Epochs)?;
    // The entry of the log is in front of it.
    let head = served.get(8..8 + SignedHead::LEN).ok_or_else(|| failed(&"there is no epoch"))?;
    SignedHead::decode(head).map_err(|e| failed(&e))
}

/// Sends a query, checks the answer's signature, opens it and then the row.
fn retrieve(
    way: &mut Https,
    world: &World,
    mine: &slyfi_tracedge::audit::Subscription,
    retrieval: Retrieval,
) -> Result<EpochSecret, LabError> {
    let epoch = *world.secret().epoch();
    let route = Route::Retrieve { epoch: epoch.number, database: Database::Table };
    let (status, body) = way.call(route, retrieval.query()).map_err(|e| failed(&e))?;
    if status != 200 {
        return Err(failed(&format!("the query: status {status}")));
    }
    let signed = SignedAnswer::decode(&body).map_err(|e| failed(&e))?;
    let reply = retrieval.finish(signed).map_err(|e| failed(&e))?;
    let content = reply.content.ok_or_else(|| failed(&"the answer is none"))?;
    let row = content.row().try_into().map_err(|_| failed(&"a row of another length"))?;
    let opened = EpochSecret::open(&epoch, world.secret().commitment(), row, &mine.secret);
    opened.map_err(|e| failed(&e))
}
