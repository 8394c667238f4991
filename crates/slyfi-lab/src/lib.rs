//! Experiments on real components: tables, plots, verdicts.
