//! Tables 5 to 8, the rate, the sizes and the audit: what was measured, with the paper's numbers beside.

use super::claims;
use super::clock::{Millis, peak_memory};
use super::costs::{BATCH, Costs};
use super::measured::{self, Measured};
use super::paper;
use super::study::Study;
use crate::{Cell, Context, Outcome, Table};
use slyfi_pir::SchemeId;

/// What is said of how an experiment is measured, with what all of them share behind it.
macro_rules! method {
    ($own:literal) => {
        concat!(
            $own,
            " ",
            "\
Tables of 10^6 and 10^7 rows of 32 bytes (10^4 and 4*10^4 with --quick) under 4,096 different keys in turn, three schemes, each with its default \
layout, in the order in which they are listed. Times are medians of 15 rounds by the wall clock; `cpu` is the thread's time \
on a processor, which neighbours disturb less. Every row that was retrieved was compared with the table's. ntru-2015 at \
10^6 rows and more takes seconds for an answer: there one answer is measured, and queries and extractions 15 times. Its answers are \
measured at every size, none is extrapolated."
        )
    };
}

/// Table 5.
pub static TABLE5: Study = Study {
    id: "tracedge/table5",
    title: "Making the table of an epoch",
    source: "tracedge-2015, Table 5",
    method: "\
All rows for public keys that are read from their encodings (4,096 different ones in turn, none vacant), with the hash tree \
over them, into memory, on all threads. The paper has the mean of 100 tables on sect163k1 and sect131r1; here it is one table on \
ristretto255.",
    claims: &[claims::CREATED, claims::TABLE_SIZE],
    run: |context| {
        let measured = measured::creations(context)?;
        let findings = claims::creation(&measured);
        Ok(outcome(context, vec![created(&measured)], findings))
    },
};

/// What auditing costs.
pub static AUDIT: Study = Study {
    id: "tracedge/audit",
    title: "Auditing rows, and the whole table",
    source: "tracedge-2015, §6.3",
    method: method!(
        "\
A row elsewhere costs the server an answer from the table and one from the directory of public keys, and the auditor one \
multiplication. The whole table is one random linear combination: `key_sum` once for a list of keys, `check` for each epoch \
(docs/tracedge.md §7.3)."
    ),
    claims: &[claims::AUDIT_COST],
    run: |context| {
        let measured = measured::all(context)?;
        let findings = claims::audit(&measured);
        Ok(outcome(context, vec![audited(&measured), directories(&measured)], findings))
    },
};

/// Table 6.
pub static TABLE6: Study = Study {
    id: "tracedge/table6",
    title: "Making a query",
    source: "tracedge-2015, Table 6",
    method: method!(
        "Client::query for a random row, one thread. Phones in the paper, a server's processor here."
    ),
    claims: &[claims::QUERY_TIME, claims::ENCRYPTION, claims::QUERY_SIZE],
    run: |context| {
        let measured = measured::all(context)?;
        let findings = claims::query(&measured);
        Ok(outcome(context, vec![queries(&measured)], findings))
    },
};

/// Table 7.
pub static TABLE7: Study = Study {
    id: "tracedge/table7",
    title: "Opening an answer, and a login over 10 Mb/s with 20 ms of delay to either side",
    source: "tracedge-2015, Table 7",
    method: method!(
        "\
Real logins in real time: the service of slyfi-tracedge behind TLS 1.3 (rustls) and HTTP/1.1 heads, over a link within this \
process that carries 10 Mb/s each way with 20 ms of delay each way, a round trip of 40 ms. The link is a model: segments of 1448 bytes with 52 bytes \
of headers, TCP's slow start from ten segments, nothing lost, queues without end (the kernel's netem is not needed and not \
used). `connect` is TCP's handshake and TLS's with certificate; `head` the requests, one after another, for the log's \
head, leaves and end and the epoch's head; `retrieval` lasts from the query's first byte until K is out of the row, with the answer's \
signature checked, and is what the paper calls latency; `prove` the mutual proof of K in two requests. A hint is fetched \
once an epoch, apart. `retrieval_link` is computed: a round trip and the bytes, without slow start. One login at a \
time on an idle server."
    ),
    claims: &[claims::EXTRACTED, claims::DECRYPTION, claims::LATENCY],
    run: |context| {
        let measured = measured::all(context)?;
        let findings = claims::extraction(&measured);
        let tables = vec![extractions(&measured), latencies(&measured)];
        Ok(outcome(context, tables, findings))
    },
};

/// Table 8.
pub static TABLE8: Study = Study {
    id: "tracedge/table8",
    title: "Computing an answer: one core, several threads, batches",
    source: "tracedge-2015, Table 8 (not in the excerpt; its text in §6.2, §6.3 and §7)",
    method: method!(
        "\
An answer is the retrieval's, hashed and signed as it is served. A query is answered on one thread; several threads answer a \
query each, and `answer_ms` is then the time between two answers. A batch is eight queries in one pass over the table."
    ),
    claims: &[claims::ANSWER, claims::PARALLEL, claims::ON_GPU],
    run: |context| {
        let measured = measured::all(context)?;
        let findings = claims::retrieval(&measured);
        Ok(outcome(context, vec![answers(&measured)], findings))
    },
};

/// Authentications a second.
pub static RATE: Study = Study {
    id: "tracedge/rate",
    title: "Authentications a second under saturation",
    source: "tracedge-2015, §6.3",
    method: method!(
        "\
All threads answer queries in batches of eight (ntru-2015: one), without a pause for three seconds and one answer each at least; \
each answer is hashed and signed, and followed by the proof of K. The client's half of the proof runs on the same cores \
and counts against us. The network is left out, as in the paper."
    ),
    claims: &[claims::ONE_GPU, claims::EIGHT_GPUS, claims::DOLLARS],
    run: |context| {
        let measured = measured::all(context)?;
        let findings = claims::rate(&measured);
        Ok(outcome(context, vec![rates(&measured)], findings))
    },
};

/// Bytes.
pub static SIZES: Study = Study {
    id: "tracedge/sizes",
    title: "What travels, and what is kept in memory",
    source: "tracedge-2015, §6.1, §6.2",
    method: method!(
        "\
Lengths of query, answer and hint are fixed by scheme, shape and layout. `login` counts all bytes of a login over the shaped \
link, with TLS and HTTP, TCP's and IP's headers not counted, the hint neither. Memory is that of the prepared table and \
directory; with ntru-2015, whose rows are too short for it, the directory is hintless."
    ),
    claims: &[claims::RESPONSE, claims::LINK],
    run: |context| {
        let measured = measured::all(context)?;
        let findings = claims::sizes(&measured);
        Ok(outcome(context, vec![lengths(&measured)], findings))
    },
};

fn outcome(context: &Context<'_>, tables: Vec<Table>, findings: Vec<crate::Finding>) -> Outcome {
    let mut notes = Vec::new();
    if context.quick {
        notes.push("SMALL TABLES: the paper's have 10^7 rows".to_owned());
    }
    if let Some(bytes) = peak_memory() {
        notes.push(format!("the most memory that this process had so far: {:.2} GiB", gib(bytes)));
    }
    Outcome { tables, figures: Vec::new(), findings, notes }
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

fn count(n: usize) -> Cell {
    Cell::Count(n as u64)
}

/// A number of the paper's.
fn theirs(n: f64) -> Cell {
    Cell::Number(n)
}

/// What a row begins with: scheme, whether it hides anything, rows.
fn first(costs: &Costs) -> Vec<Cell> {
    let secure = if costs.scheme.is_secure() { "yes" } else { "NO" };
    vec![costs.scheme.name().into(), secure.into(), Cell::Count(costs.rows)]
}

/// What a row of the paper's begins with.
fn papers(what: String) -> Vec<Cell> {
    vec![Cell::Text(format!("paper: {what}")), "NO".into(), Cell::Count(paper::ROWS)]
}

const FIRST: [(&str, &str); 3] = [("scheme", ""), ("secure", ""), ("rows", "")];

fn table(name: &str, columns: &[(&'static str, &'static str)]) -> Table {
    Table::new(name, &[&FIRST, columns].concat())
}

fn push(table: &mut Table, first: Vec<Cell>, rest: Vec<Cell>) {
    table.push([first, rest].concat());
}

fn created(measured: &Measured) -> Table {
    let mut table = Table::new(
        "data",
        &[
            ("machine", ""),
            ("curve", ""),
            ("rows", ""),
            ("threads", ""),
            ("wall_s", "s"),
            ("core_s", "s of all cores"),
            ("row_us", "us of a core"),
        ],
    );
    for made in &measured.creations {
        table.push(vec![
            "this one".into(),
            "ristretto255".into(),
            Cell::Count(made.rows),
            count(made.workers),
            Cell::Number(made.build_s),
            Cell::Number(made.build_core_s),
            Cell::Number(made.build_core_s * 1e6 / made.rows as f64),
        ]);
    }
    for (machine, sect163k1, sect131r1) in paper::TABLE5 {
        for (curve, seconds) in [("sect163k1", sect163k1), ("sect131r1", sect131r1)] {
            table.push(vec![
                Cell::Text(format!("paper: {machine}")),
                curve.into(),
                Cell::Count(paper::ROWS),
                Cell::Missing,
                theirs(seconds),
                Cell::Missing,
                Cell::Missing,
            ]);
        }
    }
    table
}

fn audited(measured: &Measured) -> Table {
    let mut table = Table::new(
        "whole",
        &[
            ("rows", ""),
            ("threads", ""),
            ("key_sum_core_s", "s of all cores, once for a directory"),
            ("check_core_s", "s of all cores, for each epoch"),
            ("check_wall_s", "s"),
            ("one_row_us", "us, recomputing a row by itself"),
        ],
    );
    for made in &measured.creations {
        table.push(vec![
            Cell::Count(made.rows),
            count(made.workers),
            Cell::Number(made.key_sum_core_s),
            Cell::Number(made.audit_core_s),
            Cell::Number(made.audit_s),
            Cell::Number(made.row_us),
        ]);
    }
    table
}

fn directories(measured: &Measured) -> Table {
    let mut table = table(
        "rows",
        &[
            ("answer_ms", "ms, table"),
            ("directory_answer_ms", "ms"),
            ("free_rows", "rows with each answer"),
        ],
    );
    for costs in measured.costs.iter().filter(|c| c.scheme != SchemeId::Ntru2015) {
        let cells = vec![
            Cell::Number(costs.answer.wall),
            Cell::Number(costs.directory_answer.wall),
            count(costs.sizes.rows_per_answer),
        ];
        push(&mut table, first(costs), cells);
    }
    table
}

fn queries(measured: &Measured) -> Table {
    let mut table = table(
        "data",
        &[
            ("query_ms", "ms"),
            ("query_cpu_ms", "ms"),
            ("ciphertexts", ""),
            ("encryption_us", "us for a ciphertext"),
            ("query_bytes", "bytes"),
        ],
    );
    for costs in &measured.costs {
        let ciphertexts = costs.ciphertexts().map(|(query, _)| query);
        let cells = vec![
            Cell::Number(costs.query.wall),
            Cell::Number(costs.query.cpu),
            ciphertexts.map_or(Cell::Missing, count),
            ciphertexts.map(|n| costs.query.wall * 1e3 / n as f64).into(),
            count(costs.sizes.query),
        ];
        push(&mut table, first(costs), cells);
    }
    for (phone, encryption, seconds) in paper::TABLE6 {
        let cells = vec![
            theirs(seconds * 1e3),
            Cell::Missing,
            Cell::Missing,
            theirs(encryption),
            theirs(paper::QUERY_BYTES),
        ];
        push(&mut table, papers(phone.to_owned()), cells);
    }
    table
}

fn extractions(measured: &Measured) -> Table {
    let mut table = table(
        "data",
        &[
            ("extract_ms", "ms"),
            ("extract_cpu_ms", "ms"),
            ("decryption_us", "us for a ciphertext"),
            ("latency_s", "s from query to key"),
        ],
    );
    for costs in &measured.costs {
        let each = costs.ciphertexts().map(|(_, n)| costs.extract.wall * 1e3 / n as f64);
        let cells = vec![
            Cell::Number(costs.extract.wall),
            Cell::Number(costs.extract.cpu),
            each.into(),
            Cell::Number(costs.latency.retrieval_s),
        ];
        push(&mut table, first(costs), cells);
    }
    for (phone, decryption, extraction, latency) in paper::TABLE7 {
        let cells = vec![theirs(extraction), Cell::Missing, theirs(decryption), theirs(latency)];
        push(&mut table, papers(phone.to_owned()), cells);
    }
    table
}

fn latencies(measured: &Measured) -> Table {
    let mut table = table(
        "login",
        &[
            ("connect_s", "s"),
            ("head_s", "s"),
            ("retrieval_s", "s"),
            ("prove_s", "s"),
            ("whole_s", "s"),
            ("fetched_before_s", "s with K at hand"),
            ("hint_s", "s once an epoch"),
            ("retrieval_link_s", "s of it for the link, computed"),
        ],
    );
    for costs in &measured.costs {
        let l = &costs.latency;
        let cells = vec![
            Cell::Number(l.connect_s),
            Cell::Number(l.head_s),
            Cell::Number(l.retrieval_s),
            Cell::Number(l.prove_s),
            Cell::Number(l.whole_s),
            Cell::Number(l.fetched_before_s),
            l.hint_s.into(),
            Cell::Number(l.link_s),
        ];
        push(&mut table, first(costs), cells);
    }
    table
}

fn answers(measured: &Measured) -> Table {
    let mut table = table(
        "data",
        &[
            ("on", ""),
            ("answer_ms", "ms between two answers"),
            ("cpu_ms", "ms of a thread for an answer"),
            ("answers_per_s", "answers a second"),
        ],
    );
    let one = |on: &str, each: Millis| {
        let (wall, cpu) = (Cell::Number(each.wall), Cell::Number(each.cpu));
        vec![on.into(), wall, cpu, Cell::Number(1e3 / each.wall)]
    };
    for costs in &measured.costs {
        push(&mut table, first(costs), one("one thread", costs.answer));
        if let Some(batched) = costs.batched {
            push(&mut table, first(costs), one(&format!("one thread, batch of {BATCH}"), batched));
        }
        for (threads, rate) in costs.threads.iter().filter(|(threads, _)| *threads > 1) {
            let on = format!("{threads} threads");
            let cells =
                vec![Cell::Text(on), Cell::Number(1e3 / rate), Cell::Missing, Cell::Number(*rate)];
            push(&mut table, first(costs), cells);
        }
    }
    for costs in &measured.costs {
        match &costs.gpu {
            Ok(gpu) => {
                let batch = format!("{}, batch of {BATCH}", gpu.device);
                push(&mut table, first(costs), one(&gpu.device, gpu.answer));
                push(&mut table, first(costs), one(&batch, gpu.batched));
            }
            Err(why) => {
                let on = Cell::Text(format!("GPU: {why}"));
                let none = vec![on, Cell::Missing, Cell::Missing, Cell::Missing];
                push(&mut table, first(costs), none);
            }
        }
    }
    for (on, ms) in [("one GPU", paper::ONE_GPU_MS), ("eight GTX780", paper::EIGHT_GPUS_MS)] {
        let cells = vec![on.into(), theirs(ms), Cell::Missing, Cell::Missing];
        push(&mut table, papers("ntru".to_owned()), cells);
    }
    table
}

fn rates(measured: &Measured) -> Table {
    let mut table = table("data", &[("on", ""), ("logins_per_s", "logins a second")]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for costs in &measured.costs {
        let on = Cell::Text(format!("{threads} threads"));
        push(&mut table, first(costs), vec![on, Cell::Number(costs.logins_per_s)]);
    }
    for (on, rate) in paper::RATES {
        push(&mut table, papers("ntru".to_owned()), vec![on.into(), theirs(rate)]);
    }
    table
}

fn lengths(measured: &Measured) -> Table {
    let mut table = table(
        "data",
        &[
            ("query_bytes", "bytes"),
            ("answer_bytes", "bytes"),
            ("hint_bytes", "bytes once an epoch"),
            ("rows_per_answer", "rows"),
            ("login_up_bytes", "bytes"),
            ("login_down_bytes", "bytes"),
            ("server_memory_bytes", "bytes, table and directory"),
            ("prepare_s", "s, table and directory"),
        ],
    );
    for costs in &measured.costs {
        let cells = vec![
            count(costs.sizes.query),
            count(costs.sizes.answer),
            count(costs.sizes.hint),
            count(costs.sizes.rows_per_answer),
            Cell::Count(costs.latency.up),
            Cell::Count(costs.latency.down),
            Cell::Count(costs.memory),
            Cell::Number(costs.prepare_s),
        ];
        push(&mut table, first(costs), cells);
    }
    let mut cells = vec![Cell::Missing; 8];
    cells[0] = theirs(paper::QUERY_BYTES);
    cells[1] = theirs(paper::RESPONSE_BYTES);
    push(&mut table, papers("ntru".to_owned()), cells);
    table
}
