//! Opens captures with given keys: `decrypt [--json] [--out FILE] [--key KEY]... [--keys FILE] FILE...`
#![allow(clippy::print_stdout, reason = "an example for the command line")]

use slyfi_capture::{Key, Options, PcapngSink, decrypt, parse_key_file};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut files, mut keys, mut out, mut json) = (Vec::new(), Vec::<Key>::new(), None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--json" => json = true,
            "--out" => out = Some(PathBuf::from(value()?)),
            "--key" => keys.push(value()?.parse()?),
            "--keys" => keys.extend(parse_key_file(&std::fs::read_to_string(value()?)?)?),
            _ => files.push(PathBuf::from(argument)),
        }
    }
    let report = match out {
        Some(path) => {
            let mut sink = PcapngSink::new(BufWriter::new(File::create(path)?));
            let report = decrypt(&files, &keys, Options::default(), &mut sink)?;
            sink.finish()?;
            report
        }
        None => decrypt(&files, &keys, Options::default(), &mut ())?,
    };
    if json {
        println!("{}", report.to_json());
    } else {
        print!("{report}");
    }
    Ok(())
}
