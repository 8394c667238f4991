//! One query and its extraction, for counting instructions: the count has to be the same whatever the
//! index.
//!
//! ```text
//! cargo build --release -p slyfi-pir --example constant_time
//! for i in 0 1 2500 4998 4999; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     --toggle-collect='*_counted*' target/release/examples/constant_time lwe $i
//! done
//! ```
//!
//! Everything random comes from one fixed seed, so that nothing but the index differs. The table is
//! small and its rows are zero; what is counted is the client.

use std::process::ExitCode;

use slyfi_base::SecureRandom;
use slyfi_pir::{Client, Preparation, QueryState, SchemeId, Shape, registry};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let id = args.next().and_then(|name| SchemeId::from_name(&name));
    let index = args.next().and_then(|index| index.parse().ok());
    let (Some(id), Some(index)) = (id, index) else {
        eprintln!("usage: constant_time lwe|hintless|ntru-2015 INDEX   (of 5000 rows)");
        return ExitCode::FAILURE;
    };
    match once(id, index) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn once(id: SchemeId, index: u64) -> Result<(), Box<dyn std::error::Error>> {
    let shape = Shape::new(5000, 8)?;
    let table = vec![0; shape.table_bytes()];
    let layout = registry::default_layout(id, shape)?;
    let how = Preparation::quiet([1; 32]);
    let server = registry::prepare(id, shape, layout, &table, &how)?;
    let client = registry::client(server.setup(), server.hint())?;
    let (query, state) = retrieve_counted(&*client, index)?;
    let answer = server.answer(&query)?;
    let row = extract_counted(state, &answer)?;
    if row == [0; 8] { Ok(()) } else { Err("the row came out wrong".into()) }
}

type Made = (Vec<u8>, Box<dyn QueryState>);

/// The part that is counted, before the answer.
#[inline(never)]
fn retrieve_counted(client: &dyn Client, index: u64) -> Result<Made, Box<dyn std::error::Error>> {
    let query = client.query(index, &mut Fixed)?;
    Ok((query.bytes, query.state))
}

/// The part that is counted, after it.
#[inline(never)]
fn extract_counted(
    state: Box<dyn QueryState>,
    answer: &[u8],
) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    Ok(state.extract(answer)?.row().to_vec())
}

/// The same bytes each time: only to count with.
struct Fixed;

impl SecureRandom for Fixed {
    fn fill(&mut self, out: &mut [u8]) {
        out.fill(42);
    }
}
