//! Why an experiment could not be made.

use std::fmt;
use std::path::PathBuf;

/// What went wrong, and whose business it is.
#[derive(Debug)]
#[non_exhaustive]
pub enum LabError {
    /// No experiment has this name.
    Unknown(String),
    /// A file could not be read or written.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of measurements is not what the experiment needs.
    Data {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file of measurements is needed and was not given.
    NoData {
        /// Which experiment.
        experiment: &'static str,
        /// The command that makes one.
        command: &'static str,
    },
    /// The experiment is known, and this program was built without it.
    NotBuilt {
        /// Which.
        experiment: String,
        /// The feature that has it.
        feature: &'static str,
    },
    /// What was measured did not do what it should.
    Measurement(String),
    /// A program that the experiment runs failed.
    Program {
        /// Which.
        name: &'static str,
        /// What it said.
        what: String,
    },
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabError::Unknown(id) => write!(f, "there is no experiment {id}"),
            LabError::File { path, source } => write!(f, "{}: {source}", path.display()),
            LabError::Data { path, what } => write!(f, "{}: {what}", path.display()),
            LabError::NoData { experiment, command } => {
                write!(f, "{experiment} needs measurements, which `{command}` makes")
            }
            LabError::NotBuilt { experiment, feature } => {
                write!(f, "{experiment}: this program was built without the feature `{feature}`")
            }
            LabError::Measurement(what) => f.write_str(what),
            LabError::Program { name, what } => write!(f, "{name}: {what}"),
        }
    }
}

impl std::error::Error for LabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LabError::File { source, .. } => Some(source),
            _ => None,
        }
    }
}
