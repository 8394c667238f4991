//! Both runs side by side.

use super::Comparison;
use super::measure::Measured;
use super::scene::{NAME, PINGS, Protocol};
use crate::output::{Paint, columns};
use std::fmt::Write;

/// Whether a number is to be shown as good or bad news.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    Plain,
    /// Zero is good, everything else bad.
    ZeroIsGood,
}

/// Returns the comparison as a table, with what it means.
pub fn render(c: &Comparison, paint: Paint) -> String {
    let (open, sly) = (&c.wifi_open, &c.slyfi);
    let mut out = format!(
        "\nAn access point, three clients and an eavesdropper on a simulated 802.11a channel, 2 % of \
         frames\nlost, seed {}: the same traffic twice.\n\n",
        c.seed
    );
    let mut section = |title: &str, rows: &[(&str, String, String, News)]| {
        let mut table = Vec::new();
        for (name, left, right, _) in rows {
            table.push(vec![
                format!("  {name:<34}"),
                format!("{left:>22}"),
                format!("{right:>20}"),
            ]);
        }
        let head = ["", Protocol::WifiOpen.words(), Protocol::SlyFi.words()];
        let _ =
            writeln!(out, "{}", paint.bold(&format!("{title:<36}{:>24}{:>22}", head[1], head[2])));
        for (line, (_, left, right, news)) in columns(&table).lines().zip(rows) {
            let _ = writeln!(out, "{}", coloured(line, left, right, *news, paint));
        }
        out.push('\n');
    };
    let plain = News::Plain;
    let row = |name, f: &dyn Fn(&Measured) -> String, news| (name, f(open), f(sly), news);
    section(
        "Link set-up, median",
        &[
            row("find the access point", &|m| format!("{:.1} ms", m.setup.probing_ms), plain),
            row("authenticate", &|m| format!("{:.1} ms", m.setup.authenticating_ms), plain),
            row("associate", &|m| format!("{:.1} ms", m.setup.associating_ms), plain),
            row("together", &|m| format!("{:.1} ms", m.setup.total_ms), plain),
        ],
    );
    let pings =
        |p: &super::measure::Pinged| format!("{}/{PINGS}, {:.1} ms", p.answered, p.median_ms);
    section(
        "Traffic",
        &[
            row("file fetched, SHA-256 equal", &|m| format!("{} KiB", m.file.bytes / 1024), plain),
            row("goodput", &|m| format!("{:.1} Mb/s", m.file.goodput_mbps), plain),
            row("pings to the access point", &|m| pings(&m.ping_ap), plain),
            row("pings from client to client", &|m| pings(&m.ping_client), plain),
        ],
    );
    let zero = News::ZeroIsGood;
    // The referee stops looking for more of a kind that it has found this often.
    let cleartext = |n: u64| if n < 16 { n.to_string() } else { format!("{n} or more") };
    section(
        "What the eavesdropper can tell",
        &[
            row("frames heard", &|m| m.heard.frames.to_string(), plain),
            row("different addresses in them", &|m| m.heard.addresses.to_string(), plain),
            row("frames linked by their address", &|m| m.heard.linkable_frames.to_string(), zero),
            row("frames of the busiest address", &|m| m.heard.largest_group.to_string(), plain),
            row("bytes that never change", &|m| m.heard.constant_bytes.to_string(), zero),
            row("frames with readable secrets", &|m| cleartext(m.heard.cleartext_frames), zero),
        ],
    );
    let share =
        |m: &Measured| 100.0 * m.heard.linkable_frames as f64 / m.heard.frames.max(1) as f64;
    let name = String::from_utf8_lossy(NAME);
    let _ = writeln!(
        out,
        "Over 802.11 the eavesdropper reads the name `{name}` and puts {:.0} % of the frames into\n\
         {} heaps, one per device. Over SlyFi {:.1} % share an address\n\
         with another frame: probes that had to be repeated. What it still sees there: that SlyFi is\n\
         spoken, frame sizes by class, times, and the radio itself (docs/limits.md).\n",
        share(open),
        open.heard.addresses,
        share(sly),
    );
    let _ = writeln!(out, "Captures, for Wireshark:");
    for m in [open, sly] {
        let _ = writeln!(out, "  {}", m.heard.capture.display());
    }
    out
}

/// Colours the two numbers of a line; the text stays as it is laid out.
fn coloured(line: &str, left: &str, right: &str, news: News, paint: Paint) -> String {
    if news == News::Plain {
        return line.to_owned();
    }
    let colour = |value: &str| if value == "0" { paint.good(value) } else { paint.bad(value) };
    let Some(head) = line.strip_suffix(right) else { return line.to_owned() };
    let (before, gap) = head.split_at(head.trim_end().len());
    match before.strip_suffix(left) {
        Some(name) => format!("{name}{}{gap}{}", colour(left), colour(right)),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Color;

    #[test]
    fn numbers_are_coloured_by_whether_they_are_good_news() {
        let paint = Paint::new(Color::Always);
        let line = "  linked      12    0";
        let shown = coloured(line, "12", "0", News::ZeroIsGood, paint);
        assert_eq!(shown, "  linked      \x1b[31m12\x1b[0m    \x1b[32m0\x1b[0m");
        assert_eq!(coloured(line, "12", "0", News::Plain, paint), line);
        let plain = Paint::new(Color::Never);
        assert_eq!(coloured(line, "12", "0", News::ZeroIsGood, plain), line);
    }
}
