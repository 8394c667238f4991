//! The whole run over files.

use crate::engine::{Engine, Outcome};
use crate::link_layer::{Contents, contents};
use crate::report::{FileReport, Report};
use crate::{CaptureError, CaptureReader, Key, Packet, Sink};
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
    let mut engine = Engine::new(keys);
    let mut known = 0;
    for _ in 0..if options.single_pass { 0 } else { MAX_LEARNING } {
        for (index, path) in files.iter().enumerate() {
            each_frame(path, &mut FileReport::default(), |packet, frame, bad_fcs| {
                engine.observe(index, packet.number, packet.timestamp, frame, bad_fcs);
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
    for (index, path) in files.iter().enumerate() {
        let mut file = FileReport { path: path.display().to_string(), ..FileReport::default() };
        let mut malformed = 0;
        each_frame(path, &mut file, |packet, frame, bad_fcs| {
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

fn each_frame(
    path: &std::path::Path,
    report: &mut FileReport,
    mut visit: impl FnMut(&Packet, &[u8], bool) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    let mut reader = CaptureReader::open(path)?;
    let mut packet = Packet::default();
    while reader.read(&mut packet)? {
        report.packets += 1;
        match contents(packet.link_type, &packet.data) {
            Contents::Frame { frame, bad_fcs } => {
                report.frames += 1;
                visit(&packet, &frame, bad_fcs)?;
            }
            Contents::NotWireless => report.not_wireless += 1,
            Contents::Unreadable => report.unreadable += 1,
        }
    }
    report.is_cut = reader.is_cut();
    Ok(())
}
