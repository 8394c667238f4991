//! The command line.

/// What to do and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The command.
    pub task: Task,
    /// How much `test` runs.
    pub tier: Tier,
    /// Only these steps, if any.
    pub only: Vec<String>,
    /// List the steps instead of running them.
    pub list: bool,
    /// Go on after a step that failed.
    pub keep_going: bool,
    /// Never install anything.
    pub no_install: bool,
}

/// The command.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// Say how to use the tool.
    #[default]
    Help,
    /// Run the steps of the chosen tier.
    Test,
    /// Run the steps of CI; a skipped one counts as failed.
    Ci,
    /// Compare the references, the vectors and the program with each other.
    Vectors,
    /// Run system tests in network namespaces and show what they print.
    System(Vec<String>),
    /// Run system tests in the guest, or open a shell in it.
    Guest {
        /// A prompt instead of the tests.
        shell: bool,
        /// Only these scenarios, if any.
        names: Vec<String>,
    },
    /// Build, test or measure the image without an operating system.
    Bare(BareTask),
    /// Run the benchmarks.
    Bench {
        /// Where the JSON goes instead of `results/bench.json`.
        json: Option<String>,
        /// Shorter measurements.
        quick: bool,
    },
}

/// What `bare` is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum BareTask {
    /// Build the image and its twin, and name their files.
    Build,
    /// Hold the image to its claims, or to those with one of these names.
    Claims(Vec<String>),
    /// Measure the exchange in all pairings.
    Measure {
        /// Where the JSON goes.
        file: String,
        /// Repetitions, if not the usual ones.
        rounds: Option<String>,
    },
    /// Make today's instruction counts the ones that CI holds the image to.
    Baseline,
}

/// How much `test` runs. Later tiers include the earlier ones' steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Seconds: format, lints of what changed, unit tests.
    Quick,
    /// What a newcomer runs.
    #[default]
    Default,
    /// What CI runs.
    Ci,
    /// Everything, longer.
    Full,
}

/// What `--help` says.
pub const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--quick|--full]   run the checks and tests; the last line is the total
       --only STEP,...    only these steps         --list        name the steps
       --keep-going       do not stop at the first step that fails
       --no-install       as root, missing Debian packages are installed unless this is given
  ci                      what CI runs: like test, more of it, and nothing may be skipped
  vectors                 references, vectors and program against each other
  system [SCENARIO ...]   system tests in network namespaces (root)
  guest [--shell] [SCENARIO ...]
                          system tests on simulated 802.11 radios in a QEMU guest, or a prompt there
  bare [--build | --measure FILE [--rounds N] | --baseline | CLAIM ...]
                          the image without an operating system: its claims, or its measurements
  bench [--json FILE] [--quick]
                          benchmarks beside their peers; writes results/bench.json";

impl Options {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// One line saying which argument is wrong.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = args.peekable();
        let mut o = Options::default();
        let command = args.next().unwrap_or_default();
        let (mut names, mut shell, mut json, mut quick) = (Vec::new(), false, None, false);
        let (mut build, mut baseline, mut measure, mut rounds) = (false, false, None, None);
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--quick" => quick = true,
                "--full" => o.tier = Tier::Full,
                "--only" => o.only.extend(value()?.split(',').map(str::to_owned)),
                "--list" => o.list = true,
                "--keep-going" => o.keep_going = true,
                "--no-install" => o.no_install = true,
                "--shell" => shell = true,
                "--json" => json = Some(value()?),
                "--build" => build = true,
                "--baseline" => baseline = true,
                "--measure" => measure = Some(value()?),
                "--rounds" => rounds = Some(value()?),
                "--help" | "-h" => return Ok(Options::default()),
                flag if flag.starts_with('-') => return Err(format!("unknown option {flag}")),
                name => names.push(name.to_owned()),
            }
        }
        let takes_names = matches!(command.as_str(), "system" | "guest" | "bare");
        if let (false, Some(name)) = (takes_names, names.first()) {
            return Err(format!("`{command}` takes no argument {name}"));
        }
        o.task = match command.as_str() {
            "" | "help" | "--help" | "-h" => Task::Help,
            "test" => {
                if quick {
                    o.tier = Tier::Quick;
                }
                Task::Test
            }
            "ci" => {
                o.tier = Tier::Ci;
                o.keep_going = true;
                Task::Ci
            }
            "vectors" => Task::Vectors,
            "system" => Task::System(names),
            "guest" => Task::Guest { shell, names },
            "bare" => Task::Bare(match (build, measure, baseline) {
                (false, None, false) => BareTask::Claims(names),
                (true, None, false) => BareTask::Build,
                (false, Some(file), false) => BareTask::Measure { file, rounds },
                (false, None, true) => BareTask::Baseline,
                _ => return Err("one of --build, --measure and --baseline".into()),
            }),
            "bench" => Task::Bench { json, quick },
            other => return Err(format!("unknown command {other}")),
        };
        Ok(o)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn test_takes_a_tier_and_steps() {
        let o = parse("test --quick --only fmt,deps --keep-going").unwrap();
        assert_eq!((o.task, o.tier, o.keep_going), (Task::Test, Tier::Quick, true));
        assert_eq!(o.only, ["fmt", "deps"]);
    }

    #[test]
    fn ci_never_stops_early() {
        let o = parse("ci").unwrap();
        assert_eq!((o.task, o.tier, o.keep_going), (Task::Ci, Tier::Ci, true));
    }

    #[test]
    fn unknown_words_are_refused() {
        assert!(parse("tset").is_err());
        assert!(parse("test --fast").is_err());
        assert!(parse("test fmt").is_err());
        assert!(parse("bench --json").is_err());
        assert!(parse("bare --build --baseline").is_err());
    }

    #[test]
    fn the_image_is_measured_into_a_file() {
        let file = "a.json".to_owned();
        let task = Task::Bare(BareTask::Measure { file, rounds: Some("3".into()) });
        assert_eq!(parse("bare --measure a.json --rounds 3").unwrap().task, task);
        assert_eq!(parse("bare").unwrap().task, Task::Bare(BareTask::Claims(vec![])));
    }

    #[test]
    fn scenarios_are_passed_on() {
        assert_eq!(parse("system a b").unwrap().task, Task::System(vec!["a".into(), "b".into()]));
    }
}
