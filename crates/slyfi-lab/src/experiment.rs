//! What an experiment is.

use crate::measure::Workload;
use crate::measure::count::Counter;
use crate::plot::Figure;
use crate::{Claim, Finding, LabError, Table};
use std::any::Any;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// Tables of no more rows than this, for experiments with tables of subscribers.
    pub rows: Option<u64>,
    /// Where files go.
    pub out: PathBuf,
    /// What counts instructions, if anything does.
    pub counter: Counter,
    /// Is told what is being done.
    pub progress: &'a mut dyn FnMut(&str),
    /// What experiments of this run have measured already.
    pub kept: Kept,
}

/// Measurements that several experiments of one run are about, by name.
#[derive(Default)]
pub struct Kept(HashMap<String, Arc<dyn Any + Send + Sync>>);

impl Kept {
    /// Returns what was kept under this name, if it is of this type.
    pub fn get<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        Arc::clone(self.0.get(name)?).downcast().ok()
    }

    /// Keeps something, and returns it.
    pub fn put<T: Any + Send + Sync>(&mut self, name: &str, what: T) -> Arc<T> {
        let what = Arc::new(what);
        self.0.insert(name.to_owned(), Arc::clone(&what) as Arc<dyn Any + Send + Sync>);
        what
    }

    /// Forgets something.
    pub fn drop(&mut self, name: &str) {
        self.0.remove(name);
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
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
