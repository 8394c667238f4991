//! What an experiment is.

use crate::measure::Workload;
use crate::measure::count::Counter;
use crate::plot::Figure;
use crate::{Claim, Finding, LabError, Table};
use std::path::PathBuf;

/// One figure or table of a paper, repeated.
pub trait Experiment: Sync {
    /// Its name, `paper/figure`.
    fn id(&self) -> &'static str;

    /// What it shows, in one line.
    fn title(&self) -> &'static str;

    /// Where it comes from: paper and figure.
    fn source(&self) -> &'static str;

    /// How it is measured here, and where that differs from the paper.
    fn method(&self) -> &'static str;

    /// What the paper says about it.
    fn claims(&self) -> Vec<Claim>;

    /// Returns what the worker runs under a counter of instructions, in the order in which
    /// [`Experiment::run`] expects the counts; nothing by default.
    fn counted(&self, quick: bool) -> Vec<Box<dyn Workload>> {
        let _ = quick;
        Vec::new()
    }

    /// Measures, or reads measurements, and judges.
    ///
    /// # Errors
    /// [`LabError`]; a claim that does not hold is no error but a [`Finding`].
    fn run(&self, context: &mut Context<'_>) -> Result<Outcome, LabError>;
}

/// What a run is given.
pub struct Context<'a> {
    /// Fewer rounds and sizes: to see that everything works, not to quote.
    pub quick: bool,
    /// Measurements that were taken before.
    pub data: Option<PathBuf>,
    /// Where files go.
    pub out: PathBuf,
    /// What counts instructions, if anything does.
    pub counter: Counter,
    /// Is told what is being done.
    pub progress: &'a mut dyn FnMut(&str),
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The numbers.
    pub tables: Vec<Table>,
    /// The plots, by file name without ending.
    pub figures: Vec<(String, Figure)>,
    /// One for each claim.
    pub findings: Vec<Finding>,
    /// What a reader of the numbers must know.
    pub notes: Vec<String>,
}
