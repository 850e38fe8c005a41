//! Cells of the paper's tables and of its Figure 4, and what their experiments are called.

use super::prelude::*;
use super::published::{Case, TABLE1, TABLE2};

/// One of the paper's tables.
#[derive(Clone, Copy)]
pub(super) struct Which {
    /// In names of experiments.
    pub(super) id: &'static str,
    /// In names of claims.
    pub(super) short: &'static str,
    /// How many flows share the link.
    pub(super) flows: &'static str,
    /// What the paper's table holds.
    pub(super) paper: &'static [Case; 3],
}

/// Table 2: one flow.
pub(super) const ONE: Which = Which {
    id: "table2",
    short: "t2",
    flows: "1",
    paper: &TABLE2,
};
/// Table 1: two flows.
pub(super) const TWO: Which = Which {
    id: "table1",
    short: "t1",
    flows: "2",
    paper: &TABLE1,
};

/// The name of a cell's experiment; the service counts for kinds that know one.
pub(super) fn cell(which: &Which, case: usize, kind: &Kind, service: u64) -> String {
    let case = CASES[case].0;
    if kind.served {
        format!("{}/case{case}-{service}-{}", which.id, kind.id)
    } else {
        format!("{}/case{case}-{}", which.id, kind.id)
    }
}

/// The name of an experiment with three kinds on one link (Figure 4).
pub(super) fn mixed(pattern: &str, case: &str, service: u64, kind: &Kind) -> String {
    format!("fig4/{pattern}-case{case}-{service}-{}", kind.id)
}
