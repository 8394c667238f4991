//! An experiment that is a function and what is said about it.

use crate::{Claim, Context, Experiment, LabError, Outcome};

/// One table of the paper, or what belongs beside it.
#[derive(Debug)]
pub struct Study {
    /// Its name.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// How it is measured.
    pub method: &'static str,
    /// What the paper says.
    pub claims: &'static [Claim],
    /// Measures and judges.
    pub run: fn(&mut Context<'_>) -> Result<Outcome, LabError>,
}

impl Experiment for Study {
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
        self.method
    }

    fn claims(&self) -> Vec<Claim> {
        self.claims.to_vec()
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Outcome, LabError> {
        (self.run)(context)
    }
}
