//! The whole run over files.

use crate::engine::{Engine, Outcome};
use crate::link_layer::{Contents, contents};
use crate::report::{FileReport, Report};
use crate::{CaptureError, Input, Key, Packet, Sink};
use std::path::PathBuf;

/// How often the files are read to learn keys, at most. What one pass learns late (a network's name, a
/// pairwise key, a direct link inside it) may open more in the next; this many levels do not occur.
const MAX_LEARNING: usize = 4;

/// What [`decrypt`] does beyond the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Read each file once: keys serve only the frames behind them. Half the time, and what a live
    /// observer would see.
    pub single_pass: bool,
}

/// How far a run is, for whoever shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether keys are being learned; else frames are being opened.
    pub is_learning: bool,
    /// Which file, from 0.
    pub file: usize,
    /// Packets read so far, over all passes.
    pub packets: u64,
}

/// How many packets are read between two reports of progress.
const PROGRESS_EVERY: u64 = 1024;

/// Opens what `keys` open in `files` and hands it to `sink`, in order.
///
/// # Errors
/// [`CaptureError`] when a file cannot be read, is no capture, or the sink fails. Frames that do not
/// open are no errors; the report says why.
pub fn decrypt(
    files: &[PathBuf],
    keys: &[Key],
    options: Options,
    sink: &mut dyn Sink,
) -> Result<Report, CaptureError> {
    let mut inputs = files.iter().map(|f| Input::path(f)).collect::<Result<Vec<_>, _>>()?;
    decrypt_inputs(&mut inputs, keys, options, sink, &mut |_| {})
}

/// Does what [`decrypt`] does with inputs of any kind, and tells how far it is.
///
/// # Errors
/// Those of [`decrypt`].
pub fn decrypt_inputs(
    inputs: &mut [Input],
    keys: &[Key],
    options: Options,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, CaptureError> {
    let mut engine = Engine::new(keys);
    let mut known = 0;
    let mut packets = 0;
    for _ in 0..if options.single_pass { 0 } else { MAX_LEARNING } {
        for (index, input) in inputs.iter_mut().enumerate() {
            each_frame(input, &mut FileReport::default(), |packet, frame| {
                tell(progress, true, index, &mut packets);
                if let Some((frame, bad_fcs)) = frame {
                    engine.observe(index, packet.number, packet.timestamp, frame, bad_fcs);
                }
                Ok(())
            })?;
        }
        engine.start_over();
        if engine.knowledge() == known {
            break;
        }
        known = engine.knowledge();
    }
    let mut reports = Vec::new();
    for (index, input) in inputs.iter_mut().enumerate() {
        let path = input.name().display().to_string();
        let mut file = FileReport { path, ..FileReport::default() };
        let mut malformed = 0;
        each_frame(input, &mut file, |packet, frame| {
            tell(progress, false, index, &mut packets);
            let Some((frame, bad_fcs)) = frame else { return Ok(()) };
            match engine.observe(index, packet.number, packet.timestamp, frame, bad_fcs) {
                Outcome::Opened(opened) => sink.opened(&opened).map_err(CaptureError::Write)?,
                Outcome::Malformed => malformed += 1,
                Outcome::Clear | Outcome::Verified | Outcome::Refused(_) => {}
            }
            Ok(())
        })?;
        file.malformed = malformed;
        reports.push(file);
    }
    Ok(engine.into_report(reports))
}

fn tell(progress: &mut dyn FnMut(Progress), is_learning: bool, file: usize, packets: &mut u64) {
    *packets += 1;
    if packets.is_multiple_of(PROGRESS_EVERY) {
        progress(Progress { is_learning, file, packets: *packets });
    }
}

/// Visits every packet, with the 802.11 frame in it and whether that is damaged, if there is one.
fn each_frame(
    input: &mut Input,
    report: &mut FileReport,
    mut visit: impl FnMut(&Packet, Option<(&[u8], bool)>) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    let mut reader = input.reader()?;
    let mut packet = Packet::default();
    while reader.read(&mut packet)? {
        report.packets += 1;
        match contents(packet.link_type, &packet.data) {
            Contents::Frame { frame, bad_fcs } => {
                report.frames += 1;
                visit(&packet, Some((&frame, bad_fcs)))?;
                continue;
            }
            Contents::NotWireless => report.not_wireless += 1,
            Contents::Unreadable => report.unreadable += 1,
        }
        visit(&packet, None)?;
    }
    report.is_cut = reader.is_cut();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PcapWriter;
    use std::path::Path;

    #[test]
    fn a_long_run_tells_how_far_it_is_and_a_short_one_says_nothing() {
        let run = |packets: u64| {
            let mut w = PcapWriter::new(Vec::new(), 105).unwrap();
            for i in 0..packets {
                w.packet(i, &[0xd4; 10]).unwrap();
            }
            let capture = w.finish().unwrap();
            let mut inputs = [Input::copied(Path::new("made up"), &capture[..]).unwrap()];
            let mut told = Vec::new();
            let mut tell = |p: Progress| told.push(p);
            decrypt_inputs(&mut inputs, &[], Options::default(), &mut (), &mut tell).unwrap();
            told
        };
        assert_eq!(run(PROGRESS_EVERY / 2 - 1), []);
        let told = run(3 * PROGRESS_EVERY);
        // Nothing is to be learned, so there is one pass for keys and one for frames.
        assert_eq!(told.len(), 6);
        assert!(told.is_sorted_by_key(|p| p.packets) && told[0].is_learning);
        assert!(!told[5].is_learning && told[5].packets == 6 * PROGRESS_EVERY);
    }
}
