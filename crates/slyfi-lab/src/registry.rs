//! All experiments, by name.

use crate::measure::count::count_all;
use crate::{Experiment, LabError, bare, sbkh};

/// Every experiment, in the order in which they are listed and run.
pub fn all() -> Vec<&'static dyn Experiment> {
    let mut all: Vec<&'static dyn Experiment> = vec![&sbkh::FIG3, &sbkh::FIG4];
    all.extend(bare::FIGURES.iter().map(|f| f as &dyn Experiment));
    #[cfg(feature = "tracedge")]
    all.extend(crate::tracedge::all());
    all
}

/// Finds experiments: a name (`sbkh/fig3`), all of a paper (`sbkh`), or `all`.
///
/// # Errors
/// [`LabError::Unknown`], or [`LabError::NotBuilt`] for what a feature of this crate has.
pub fn find(name: &str) -> Result<Vec<&'static dyn Experiment>, LabError> {
    let of_paper = format!("{}/", name.trim_end_matches(['/', '*']));
    let fits = |e: &&'static dyn Experiment| {
        name == "all" || e.id() == name || e.id().starts_with(&of_paper)
    };
    let found: Vec<_> = all().into_iter().filter(fits).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let name = name.to_owned();
    if !cfg!(feature = "tracedge") && (name == "tracedge" || name.starts_with("tracedge/")) {
        return Err(LabError::NotBuilt { experiment: name, feature: "tracedge" });
    }
    Err(LabError::Unknown(name))
}

/// Runs an experiment's workloads where callgrind counts them: the worker that
/// [`crate::measure::count::Counter`] starts.
///
/// # Errors
/// [`LabError::Unknown`].
pub fn count(name: &str, quick: bool) -> Result<(), LabError> {
    for experiment in find(name)? {
        count_all(&mut experiment.counted(quick));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_papers_are_found_and_others_are_not() {
        assert_eq!(find("sbkh/fig3").unwrap().len(), 1);
        assert_eq!(find("sbkh").unwrap().len(), 2);
        assert_eq!(find("sbkh/*").unwrap().len(), 2);
        assert_eq!(find("bare").unwrap().len(), 8);
        assert_eq!(find("all").unwrap().len(), all().len());
        for wrong in ["sbk", "sbkh/fig5", "", "bare/fig"] {
            assert!(matches!(find(wrong), Err(LabError::Unknown(_))), "{wrong}");
        }
    }

    #[test]
    fn every_experiment_says_what_it_is_and_has_its_own_name() {
        let mut names: Vec<_> = all().iter().map(|e| e.id()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
        for e in all() {
            assert!(!e.title().is_empty() && !e.source().is_empty() && !e.method().is_empty());
            assert!(!e.claims().is_empty(), "{}", e.id());
        }
    }
}
