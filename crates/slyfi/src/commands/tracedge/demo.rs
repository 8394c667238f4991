//! Two operators with 100,000 subscribers each, one of them honest.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use serde::Serialize;
use slyfi_base::SecureRandom;
use slyfi_link::Result;
use slyfi_linux::{Clock, OsRandom};
use slyfi_tracedge::answer::Database;
use slyfi_tracedge::audit::{Audit, Conclusion, Databases, OwnRow, Round, Subscription};
use slyfi_tracedge::enrol::Receipt;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::evidence::{Aids, Evidence};
use slyfi_tracedge::keys::{OperatorKeys, SecretKey};
use slyfi_tracedge::login::{ClientLogin, ServerLogin};
use slyfi_tracedge::operator::{Schemes, Serving, build_table};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::{SchemeId, registry};

use super::{DemoArgs, bytes, failed};
use crate::commands::{print, print_json};
use crate::output::Paint;
use slyfi_link::Error;

/// What an operator can write down about somebody who retrieves and logs on.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct View {
    queries: Vec<(&'static str, usize, usize)>,
    login: [usize; 2],
}

#[derive(Serialize)]
struct Report {
    subscribers: u64,
    honest: Honest,
    cheat: Cheat,
}

#[derive(Serialize)]
struct Honest {
    table_s: f64,
    retrieval_s: f64,
    query_bytes: usize,
    answer_bytes: usize,
    login_s: f64,
    /// What the operator saw of two subscribers, which is the same.
    view: View,
    rows_audited: u64,
}

#[derive(Serialize)]
struct Cheat {
    operator: String,
    /// Of the subscribers who asked, how many noticed.
    asked: u32,
    noticed: u32,
    formula: f64,
    finding: String,
    evidence: String,
}

/// An operator's whole world, in memory.
struct Operator {
    keys: OperatorKeys,
    owners: Vec<[u8; 32]>,
    directory: Vec<u8>,
}

impl Operator {
    fn new(subscribers: u64, workers: NonZeroUsize) -> Self {
        // Making keys is the subscribers' work, done here for all of them.
        let per_thread = subscribers.div_ceil(workers.get() as u64);
        let threads: Vec<_> = std::thread::scope(|scope| {
            let make = |first: u64| {
                let count = per_thread.min(subscribers.saturating_sub(first));
                let one = |_| SecretKey::generate(&mut OsRandom);
                move || (0..count).map(one).map(|k| (*k.encode(), *k.public().as_bytes())).collect()
            };
            let threads: Vec<_> =
                (0..workers.get() as u64).map(|i| scope.spawn(make(i * per_thread))).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
                .collect::<Vec<Vec<([u8; 32], [u8; 32])>>>()
        });
        let (owners, keys): (Vec<_>, Vec<_>) = threads.into_iter().flatten().unzip();
        let directory = keys.concat();
        Operator { keys: OperatorKeys::generate(&mut OsRandom), owners, directory }
    }

    fn secret(&self) -> EpochSecret {
        let now = Clock::new().now().wall.as_micros() / 1_000_000;
        let epoch =
            Epoch { operator: self.keys.id(), number: 1, not_before: now, not_after: now + 3_600 };
        EpochSecret::derive(&epoch, EpochKey::generate(&mut OsRandom))
    }

    fn rows(&self, secret: &EpochSecret, work: &Work<'_>) -> Result<Vec<u8>> {
        let sink = Mutex::new(vec![0; self.directory.len()]);
        build_table(&self.keys, secret, &self.directory, &sink, work)
            .map_err(|e| failed("the table", &e))?;
        sink.into_inner().map_err(|e| failed("the table", &e))
    }

    fn serve(&self, secret: &EpochSecret, rows: &[u8], work: &Work<'_>) -> Result<Serving> {
        let (tree, schemes) =
            (slyfi_tracedge::table::tree(rows), Schemes::both(SchemeId::Hintless));
        Serving::prepare(&self.keys, secret, &self.directory, rows, &tree, schemes, work)
            .map_err(|e| failed("retrieval", &e))
    }

    fn subscriber(&self, row: u64) -> Result<Subscription> {
        let secret = SecretKey::decode(&self.owners[row as usize])
            .map_err(|e| failed("a subscriber's key", &e))?;
        let receipt = Receipt::sign(&self.keys, row, secret.public(), 0, u64::MAX);
        Ok(Subscription { receipt, secret })
    }
}

/// `slyfi tracedge demo`
pub fn run(args: &DemoArgs, paint: Paint) -> Result<()> {
    std::fs::create_dir_all(&args.out).map_err(|e| Error::system(args.out.display(), &e))?;
    let workers = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let work = Work { workers, ..Work::quiet() };
    let say = |text: &str| if args.json { Ok(()) } else { print(text) };
    say(&format!("1/2  an honest operator, {} subscribers …\n", args.subscribers))?;
    let honest = honest(args, &work)?;
    say(&format!(
        "     table in {:.1} s, retrieval ready in {:.1} s\n     \
         two subscribers logged on, {} random rows audited: {}\n     \
         what the operator saw of either: {} queries of {}, answers of {}, a login of {} + {} bytes; {}\n     \
         a login, retrieval and audit included: {:.2} s\n\n",
        honest.table_s,
        honest.retrieval_s,
        args.audits,
        paint.good("nothing wrong"),
        honest.view.queries.len(),
        bytes(honest.query_bytes as f64),
        bytes(honest.answer_bytes as f64),
        honest.view.login[0],
        honest.view.login[1],
        paint.good("the same of both"),
        honest.login_s,
    ))?;
    say("2/2  an operator that gives half of its subscribers another key …\n")?;
    let cheat = cheat(args, &work)?;
    say(&format!(
        "     {} of {} who asked noticed (expected: at least {:.0} %), each with signed proof:\n     \
         {}: {}\n     saved: {}\n\n     check it, offline:\n     \
         slyfi tracedge verify-evidence {} --operator {} --table {}\n",
        cheat.noticed,
        cheat.asked,
        cheat.formula * 100.0,
        paint.bad("caught"),
        cheat.finding,
        cheat.evidence,
        cheat.evidence,
        cheat.operator,
        args.out.join("cheat.table").display(),
    ))?;
    if args.json {
        print_json(&Report { subscribers: args.subscribers, honest, cheat })?;
    }
    Ok(())
}

fn now_s() -> f64 {
    Clock::new().now().mono.as_micros() as f64 / 1e6
}

fn databases(serving: &Serving) -> Result<Databases> {
    let head = serving.head().head();
    let client = |database: Database| {
        registry::client(database.setup(head), serving.hint(database))
            .map_err(|e| failed("the operator's setup", &e))
    };
    Ok(Databases { table: client(Database::Table)?, directory: client(Database::Directory)? })
}

/// A subscriber's round with an operator, which writes down what it sees.
fn round(
    operator: &Operator,
    serving: &Serving,
    databases: &Databases,
    mine: &Subscription,
    audits: u32,
) -> Result<(Conclusion, View)> {
    let audit = Audit { rows: audits, top: serving.top().clone() };
    let (mut round, retrievals) =
        Round::begin(serving.head(), Some(audit), databases, mine, &mut OsRandom)
            .map_err(|e| failed("the receipt", &e))?;
    let mut view = View { queries: Vec::new(), login: [0; 2] };
    for retrieval in retrievals {
        let database = retrieval.database();
        let signed = serving
            .answer(&operator.keys, database, retrieval.query())
            .map_err(|e| failed("a query", &e))?;
        let name = if database == Database::Table { "table" } else { "directory" };
        view.queries.push((name, retrieval.query().len(), signed.answer.len()));
        round.take(database, retrieval.finish(signed).map_err(|e| failed("an answer", &e))?);
    }
    // In which order they came is chance; which and how many there are is not.
    view.queries.sort_unstable();
    Ok((round.conclude(mine), view))
}

fn honest(args: &DemoArgs, work: &Work<'_>) -> Result<Honest> {
    let operator = Operator::new(args.subscribers, work.workers);
    let began = now_s();
    let secret = operator.secret();
    let rows = operator.rows(&secret, work)?;
    let built = now_s();
    let serving = operator.serve(&secret, &rows, work)?;
    let (table_s, retrieval_s) = (built - began, now_s() - built);
    let databases = databases(&serving)?;
    let mut views = Vec::new();
    let (mut login_s, mut rows_audited) = (0.0, 0);
    for _ in 0..2 {
        let row = OsRandom.below(args.subscribers);
        let mine = operator.subscriber(row)?;
        let began = now_s();
        let (conclusion, mut view) = round(&operator, &serving, &databases, &mine, args.audits)?;
        let OwnRow::Opened(opened) = &conclusion.own else {
            return Err(failed("the subscriber's row", &"it did not open"));
        };
        if let Some(evidence) = conclusion.evidence.first() {
            return Err(failed("an honest operator was accused", &evidence.kind()));
        }
        rows_audited = conclusion.checked;
        view.login = login(&secret, opened)?;
        login_s = now_s() - began;
        views.push(view);
    }
    let (one, other) = (views.swap_remove(0), views.swap_remove(0));
    if one != other {
        return Err(failed("two subscribers can be told apart", &format!("{one:?} {other:?}")));
    }
    let (_, query_bytes, answer_bytes) =
        *one.queries.iter().find(|q| q.0 == "table").ok_or(failed("the round", &"no query"))?;
    Ok(Honest { table_s, retrieval_s, query_bytes, answer_bytes, login_s, view: one, rows_audited })
}

/// The mutual proof of K, both ends; what the operator saw of it.
fn login(theirs: &EpochSecret, ours: &EpochSecret) -> Result<[usize; 2]> {
    let refused = |e: slyfi_tracedge::login::Refused| failed("login", &e);
    let server = ServerLogin::begin(&mut OsRandom);
    let number = ours.epoch().number;
    let client =
        ClientLogin::begin(server.share(), number, ours.key(), &mut OsRandom).map_err(refused)?;
    let message = client.message().encode();
    let key = |epoch| (epoch == theirs.epoch().number).then(|| theirs.key().clone());
    let (proof, server_keys) = server.finish(&message, key, b"").map_err(refused)?;
    let client_keys = client.finish(&proof, b"").map_err(refused)?;
    if server_keys == client_keys {
        Ok([message.len(), 32 + proof.len()])
    } else {
        Err(failed("login", &"the ends have different keys"))
    }
}

fn cheat(args: &DemoArgs, work: &Work<'_>) -> Result<Cheat> {
    let operator = Operator::new(args.subscribers, work.workers);
    let secrets = [operator.secret(), operator.secret()];
    let mut rows = operator.rows(&secrets[0], work)?;
    let other = operator.rows(&secrets[1], work)?;
    let half = (args.subscribers / 2) as usize * 32;
    rows[half..].copy_from_slice(&other[half..]);
    // Whoever is shown the first half's head and gets on is of the first half.
    let serving = operator.serve(&secrets[0], &rows, work)?;
    let databases = databases(&serving)?;
    let (asked, mut noticed, mut kept) = (8, 0, None);
    for _ in 0..asked {
        // Subscribers of the half whose key it is: the others find out by themselves.
        let row = OsRandom.below((args.subscribers / 2).max(1));
        let mine = operator.subscriber(row)?;
        let (conclusion, _) = round(&operator, &serving, &databases, &mine, args.audits)?;
        if let Some(evidence) = conclusion.evidence.into_iter().next() {
            noticed += 1;
            kept = Some(evidence);
        }
    }
    // With few audits all may have been lucky; two heads that somebody compared are proof too.
    let evidence = match kept {
        Some(evidence) => evidence,
        None => {
            let second = operator.serve(&secrets[1], &rows, work)?;
            let one = Box::new(serving.head().clone());
            let other = Box::new(second.head().clone());
            Evidence::TwoHeads { one, other }
        }
    };
    let verdict = evidence
        .verify(&operator.keys.id(), &Aids::default())
        .map_err(|e| failed("the evidence", &e))?;
    let path = args.out.join("evidence.te");
    std::fs::write(&path, evidence.encode()).map_err(|e| Error::system(path.display(), &e))?;
    // What `slyfi tracedge audit-table` takes.
    let k: String = secrets[0].key().as_bytes().iter().map(|b| format!("{b:02x}")).collect();
    let head = serving.head().encode();
    let files: [(&str, &[u8]); 4] = [
        ("cheat.table", &rows),
        ("cheat.keys", &operator.directory),
        ("cheat.head", &head),
        ("cheat.k", k.as_bytes()),
    ];
    for (name, content) in files {
        let path = args.out.join(name);
        std::fs::write(&path, content).map_err(|e| Error::system(path.display(), &e))?;
    }
    Ok(Cheat {
        operator: operator.keys.id().to_string(),
        asked,
        noticed,
        formula: 1.0 - slyfi_tracedge::audit::unseen(0.5, args.audits),
        finding: verdict.finding,
        evidence: path.display().to_string(),
    })
}
