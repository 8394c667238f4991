//! The figures.

use super::claims::{self, Order, judge};
use super::data::System::{Bare, Linux};
use super::data::{Delays, Measurements, System};
use crate::experiment::{Context, Experiment, Outcome};
use crate::plot::{Axis, Figure, Line, Panel, Series, Style};
use crate::{Cell, Claim, LabError, Table};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that measures.
const COMMAND: &str = "cargo xtask bare --measure FILE";

const METHOD: &str = "\
The exchange of §5.4.1 (Figure 12): one clear request, m clear packets, one sealed request, m sealed packets, between the \
freestanding image and the same program on Linux, both as guests of the same QEMU with virtio network cards on one virtual \
wire, which is captured outside. D0 to D3 are the programs' own clocks, D5 and E5 the capture's. Medians over the rounds. \
The paper's machines were two Dell GX 960 and a switch, so orders are compared and not milliseconds; overheads are also \
counted in instructions (QEMU -icount).";

/// One of Figures 13 to 20.
pub struct TimingFigure {
    id: &'static str,
    title: &'static str,
    source: &'static str,
    lines: &'static [Wanted],
    orders: &'static [Order],
    y: &'static str,
}

impl std::fmt::Debug for TimingFigure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimingFigure").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A line of a figure.
struct Wanted {
    name: &'static str,
    look: usize,
    line: Line,
    server: System,
    client: System,
    delay: fn(&Delays) -> f64,
    /// What the paper's text gives, in ms: at 50 and at 1000 bytes.
    paper: Option<(f64, f64)>,
}

const fn wanted(
    name: &'static str,
    (look, line): (usize, Line),
    (server, client): (System, System),
    delay: fn(&Delays) -> f64,
    paper: Option<(f64, f64)>,
) -> Wanted {
    Wanted { name, look, line, server, client, delay, paper }
}

/// Sealed is solid, clear is dashed; the peer's system is the colour.
const SEALED_BARE: (usize, Line) = (1, Line::Solid);
const CLEAR_BARE: (usize, Line) = (5, Line::Dashed);
const SEALED_LINUX: (usize, Line) = (2, Line::Solid);
const CLEAR_LINUX: (usize, Line) = (6, Line::Dashed);
const RESPONSE: (usize, Line) = (2, Line::Solid);
const ENCRYPTION: (usize, Line) = (1, Line::Dashed);

const fn server_clear(d: &Delays) -> f64 {
    d.d2
}
const fn server_sealed(d: &Delays) -> f64 {
    d.d3
}
const fn client_clear(d: &Delays) -> f64 {
    d.d0
}
const fn client_sealed(d: &Delays) -> f64 {
    d.d1
}
const fn response(d: &Delays) -> f64 {
    d.d5
}
const fn encryption(d: &Delays) -> f64 {
    d.e5
}

const fn network(server: System, client: System, paper: [Option<(f64, f64)>; 2]) -> [Wanted; 2] {
    let ends = (server, client);
    [
        wanted("response time (D5)", RESPONSE, ends, response, paper[0]),
        wanted("encryption time (first to last packet)", ENCRYPTION, ends, encryption, paper[1]),
    ]
}

/// All of them; the milliseconds are those of §5.4.2 to §5.4.4.
pub static FIGURES: [TimingFigure; 8] = [
    TimingFigure {
        id: "bare/fig13",
        title: "Bare server encryption: internal timings",
        source: "bare-wireless-2016, Figure 13",
        lines: &[
            wanted(
                "encrypted, bare client",
                SEALED_BARE,
                (Bare, Bare),
                server_sealed,
                Some((11.5, 66.5)),
            ),
            wanted(
                "clear, bare client",
                CLEAR_BARE,
                (Bare, Bare),
                server_clear,
                Some((4.25, 9.25)),
            ),
            wanted(
                "encrypted, Linux client",
                SEALED_LINUX,
                (Bare, Linux),
                server_sealed,
                Some((24.0, 79.75)),
            ),
            wanted(
                "clear, Linux client",
                CLEAR_LINUX,
                (Bare, Linux),
                server_clear,
                Some((16.25, 21.5)),
            ),
        ],
        orders: claims::FIG13,
        y: "server time",
    },
    TimingFigure {
        id: "bare/fig14",
        title: "Linux server encryption: internal timings",
        source: "bare-wireless-2016, Figure 14",
        lines: &[
            wanted(
                "encrypted, bare client",
                SEALED_BARE,
                (Linux, Bare),
                server_sealed,
                Some((10.0, 84.0)),
            ),
            wanted(
                "clear, bare client",
                CLEAR_BARE,
                (Linux, Bare),
                server_clear,
                Some((6.0, 79.0)),
            ),
            wanted(
                "encrypted, Linux client",
                SEALED_LINUX,
                (Linux, Linux),
                server_sealed,
                Some((10.0, 84.0)),
            ),
            wanted(
                "clear, Linux client",
                CLEAR_LINUX,
                (Linux, Linux),
                server_clear,
                Some((6.0, 80.0)),
            ),
        ],
        orders: claims::FIG14,
        y: "server time",
    },
    TimingFigure {
        id: "bare/fig15",
        title: "Bare client decryption: internal timings",
        source: "bare-wireless-2016, Figure 15",
        lines: &[
            wanted(
                "decrypted, bare server",
                SEALED_BARE,
                (Bare, Bare),
                client_sealed,
                Some((31.5, 89.25)),
            ),
            wanted(
                "clear, bare server",
                CLEAR_BARE,
                (Bare, Bare),
                client_clear,
                Some((13.75, 85.5)),
            ),
            wanted(
                "decrypted, Linux server",
                SEALED_LINUX,
                (Linux, Bare),
                client_sealed,
                Some((32.0, 90.25)),
            ),
            wanted(
                "clear, Linux server",
                CLEAR_LINUX,
                (Linux, Bare),
                client_clear,
                Some((13.75, 85.5)),
            ),
        ],
        orders: claims::FIG15,
        y: "client time",
    },
    TimingFigure {
        id: "bare/fig16",
        title: "Linux client decryption: internal timings",
        source: "bare-wireless-2016, Figure 16",
        lines: &[
            wanted(
                "decrypted, bare server",
                SEALED_BARE,
                (Bare, Linux),
                client_sealed,
                Some((24.0, 91.0)),
            ),
            wanted(
                "clear, bare server",
                CLEAR_BARE,
                (Bare, Linux),
                client_clear,
                Some((17.0, 86.0)),
            ),
            wanted(
                "decrypted, Linux server",
                SEALED_LINUX,
                (Linux, Linux),
                client_sealed,
                Some((15.0, 91.0)),
            ),
            wanted(
                "clear, Linux server",
                CLEAR_LINUX,
                (Linux, Linux),
                client_clear,
                Some((10.0, 86.0)),
            ),
        ],
        orders: claims::FIG16,
        y: "client time",
    },
    TimingFigure {
        id: "bare/fig17",
        title: "Bare server, bare client: network delay",
        source: "bare-wireless-2016, Figure 17",
        lines: &network(Bare, Bare, [Some((12.8, 89.0)), Some((12.7, 88.7))]),
        orders: claims::FIG17,
        y: "delay",
    },
    TimingFigure {
        id: "bare/fig18",
        title: "Linux server, Linux client: network delay",
        source: "bare-wireless-2016, Figure 18",
        lines: &network(Linux, Linux, [None, None]),
        orders: claims::FIG18,
        y: "delay",
    },
    TimingFigure {
        id: "bare/fig19",
        title: "Bare server, Linux client: network delay",
        source: "bare-wireless-2016, Figure 19",
        lines: &network(Bare, Linux, [None, None]),
        orders: claims::FIG19,
        y: "delay",
    },
    TimingFigure {
        id: "bare/fig20",
        title: "Linux server, bare client: network delay",
        source: "bare-wireless-2016, Figure 20",
        lines: &network(Linux, Bare, [None, None]),
        orders: claims::FIG20,
        y: "delay",
    },
];

impl Experiment for TimingFigure {
    fn id(&self) -> &'static str {
        self.id
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn source(&self) -> &'static str {
        self.source
    }

    fn method(&self) -> &'static str {
        METHOD
    }

    fn claims(&self) -> Vec<Claim> {
        self.orders.iter().map(|o| o.claim).collect()
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Outcome, LabError> {
        let path = match &context.data {
            Some(path) => path.clone(),
            None => {
                (context.progress)(&format!("{}: measuring ({COMMAND})", self.id));
                let path = measure(self.id, &context.out, context.quick)?;
                // The other figures are of the same measurements.
                context.data = Some(path.clone());
                path
            }
        };
        Ok(self.outcome(&Measurements::read(&path)?))
    }
}

/// Runs the measurement, which builds the image and starts QEMU: only in a checkout.
fn measure(experiment: &'static str, out: &Path, quick: bool) -> Result<PathBuf, LabError> {
    if !Path::new("xtask/Cargo.toml").is_file() {
        return Err(LabError::NoData { experiment, command: COMMAND });
    }
    let path = out.join("bare.json");
    std::fs::create_dir_all(out)
        .map_err(|source| LabError::File { path: out.to_owned(), source })?;
    let mut command = Command::new("cargo");
    command.args(["xtask", "bare", "--measure"]).arg(&path);
    if quick {
        command.args(["--rounds", "1"]);
    }
    // What it says is progress; standard output is for results.
    let run = command.stdout(std::io::stderr()).status();
    match run {
        Ok(status) if status.success() => Ok(path),
        Ok(status) => Err(LabError::Program { name: "cargo xtask bare", what: status.to_string() }),
        Err(e) => Err(LabError::Program { name: "cargo xtask bare", what: e.to_string() }),
    }
}

impl TimingFigure {
    /// Makes figures and verdicts of measurements.
    pub fn outcome(&self, data: &Measurements) -> Outcome {
        let mut table = Table::new(
            "data",
            &[
                ("series", ""),
                ("server", ""),
                ("client", ""),
                ("payload_bytes", "bytes"),
                ("median_ms", "ms for m packets"),
                ("paper_ms", "ms for 1000 packets"),
            ],
        );
        for line in self.lines {
            for n in data.sizes() {
                let paper = line.paper.and_then(|(first, last)| match n {
                    50 => Some(first),
                    1000 => Some(last),
                    _ => None,
                });
                table.push(vec![
                    line.name.into(),
                    line.server.name().into(),
                    line.client.name().into(),
                    Cell::Count(u64::from(n)),
                    line.ms(data, n).into(),
                    paper.into(),
                ]);
            }
        }
        let Measurements { m, commit, machine, qemu, accelerator, .. } = data;
        Outcome {
            tables: vec![table],
            figures: vec![("time".to_owned(), self.figure(data))],
            findings: self.orders.iter().map(|o| judge(o, data)).collect(),
            notes: vec![format!(
                "{m} packets a burst; measured at commit {commit} on {machine}, {qemu}, accelerator \
                 {accelerator}"
            )],
        }
    }

    fn figure(&self, data: &Measurements) -> Figure {
        let panel =
            |title: String, points: &dyn Fn(&Wanted) -> Vec<(f64, f64)>, hollow: bool| Panel {
                title,
                x: Axis::linear("payload", "bytes"),
                y: Axis::linear(self.y, "ms"),
                series: self
                    .lines
                    .iter()
                    .map(|line| Series {
                        name: line.name.to_owned(),
                        style: Style {
                            look: line.look,
                            line: if hollow { Line::None } else { line.line },
                        },
                        points: points(line),
                    })
                    .filter(|s| !s.points.is_empty())
                    .collect(),
            };
        let mut panels = vec![panel(
            format!("Here: {} packets, QEMU ({})", data.m, data.accelerator),
            &|line| {
                data.sizes()
                    .iter()
                    .filter_map(|n| Some((f64::from(*n), line.ms(data, *n)?)))
                    .collect()
            },
            false,
        )];
        if self.lines.iter().any(|l| l.paper.is_some()) {
            let ends = |line: &Wanted| {
                line.paper.map_or(Vec::new(), |(a, b)| vec![(50.0, a), (1000.0, b)])
            };
            panels.push(panel(
                "Paper: 1000 packets, the numbers in its text".to_owned(),
                &ends,
                true,
            ));
        }
        Figure { title: format!("{} ({})", self.title, self.source), panels }
    }
}

impl Wanted {
    fn ms(&self, data: &Measurements, n: u32) -> Option<f64> {
        data.delays(self.server, self.client, n).map(|d| (self.delay)(&d) / 1e6)
    }
}
