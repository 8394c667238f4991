//! Counting: what a runner's closing lines say.

use std::ops::AddAssign;

/// How many tests passed, failed and were skipped, and the closing lines that say so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that held.
    pub passed: u64,
    /// Tests that did not.
    pub failed: u64,
    /// Tests that were not run.
    pub skipped: u64,
    /// The runner's own closing lines.
    pub closing: Vec<String>,
}

impl Tally {
    /// One check that passed.
    pub fn one_passed() -> Self {
        Tally { passed: 1, ..Tally::default() }
    }

    /// One check that failed.
    pub fn one_failed() -> Self {
        Tally { failed: 1, ..Tally::default() }
    }

    /// Reads the output of `cargo test`: every `test result:` line, with the target it belongs to,
    /// and the single results of targets that have a harness of their own and no such line.
    pub fn of_libtest(output: &str) -> Self {
        let mut sum = Tally::default();
        let (mut target, mut single) = ("", Tally::default());
        for line in output.lines() {
            let text = line.trim_start();
            if text.starts_with("Running ") || text.starts_with("Doc-tests ") {
                sum.add_target(target, std::mem::take(&mut single), None);
                target = text;
            } else if text.starts_with("test ") && text.ends_with(" ... ok") {
                single.passed += 1;
            } else if text.starts_with("test ") && text.ends_with(" ... FAILED") {
                single.failed += 1;
            } else if let Some(counts) = text.strip_prefix("test result: ") {
                single = Tally::default();
                let counts = counts.split_once(". ").map_or("", |(_, rest)| rest);
                let part = Tally {
                    passed: number_before(counts, " passed"),
                    failed: number_before(counts, " failed"),
                    skipped: number_before(counts, " ignored"),
                    closing: Vec::new(),
                };
                sum.add_target(target, part, Some(text));
            }
        }
        sum.add_target(target, single, None);
        sum
    }

    /// Adds one target's counts, with its closing line if it ran anything.
    fn add_target(&mut self, target: &str, part: Tally, closing: Option<&str>) {
        if part.passed + part.failed + part.skipped > 0 {
            let name = target.split(" (").next().unwrap_or(target);
            let line = closing.map_or_else(|| part.total(), str::to_owned);
            self.closing.push(format!("{name}\n{line}"));
        }
        *self += part;
    }

    /// Reads the last line of the form `N passed, N failed, N skipped`, if there is one; `runner`
    /// names whose it is in the closing line.
    pub fn of_plain(runner: &str, output: &str) -> Option<Self> {
        let line = output.lines().rev().find(|l| is_total(l))?;
        Some(Tally {
            passed: number_before(line, " passed"),
            failed: number_before(line, " failed"),
            skipped: number_before(line, " skipped"),
            closing: vec![format!("{runner}: {line}")],
        })
    }

    /// The total in one line.
    pub fn total(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.closing.extend(other.closing);
    }
}

fn is_total(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit())
        && line.contains(" passed, ")
        && line.contains(" failed")
}

/// The number that stands right before `word`, zero if there is none.
fn number_before(text: &str, word: &str) -> u64 {
    let head = text.split(word).next().filter(|head| head.len() < text.len()).unwrap_or("");
    let digits = head.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARGO: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a-1)
running 3 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
   Doc-tests a
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
     Running tests/b.rs (target/debug/deps/b-2)
test result: FAILED. 10 passed; 4 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.00s
";

    #[test]
    fn sums_every_result_of_cargo_test() {
        let t = Tally::of_libtest(CARGO);
        assert_eq!((t.passed, t.failed, t.skipped), (12, 4, 1));
        assert_eq!(t.closing.len(), 2, "targets without tests are left out");
        assert!(
            t.closing[0].starts_with("Running unittests src/lib.rs\ntest result: ok. 2 passed")
        );
    }

    #[test]
    fn a_target_without_a_result_line_is_counted_by_its_tests() {
        let own = "     Running tests/own.rs (target/own-1)\ntest a ... ok\ntest b ... FAILED\n";
        let t = Tally::of_libtest(&format!("{own}{CARGO}"));
        assert_eq!((t.passed, t.failed), (13, 5));
        assert_eq!(t.closing[0], "Running tests/own.rs\n1 passed, 1 failed, 0 skipped");
        assert_eq!(Tally::of_libtest(own).failed, 1);
    }

    #[test]
    fn output_without_results_counts_nothing() {
        assert_eq!(Tally::of_libtest("error: could not compile `a`"), Tally::default());
        assert_eq!(Tally::of_plain("a", "error"), None);
    }

    #[test]
    fn reads_the_last_plain_total() {
        let text = "1 passed, 0 failed\nx\n20 passed, 3 failed, 11 skipped\n";
        let t = Tally::of_plain("system", text).unwrap();
        assert_eq!((t.passed, t.failed, t.skipped), (20, 3, 11));
        assert_eq!(t.total(), "20 passed, 3 failed, 11 skipped");
        assert_eq!(t.closing, ["system: 20 passed, 3 failed, 11 skipped"]);
        assert_eq!(Tally::of_plain("a", "7 passed, 2 failed").unwrap().skipped, 0);
    }
}
