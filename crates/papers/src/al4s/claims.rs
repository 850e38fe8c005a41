//! What is measured for the paper's claims: sums over the cells of its tables, seed by seed.

use super::cells::{Which, cell, mixed};
use super::prelude::*;

/// A weighted value of an experiment.
pub(super) struct Term {
    weight: f64,
    experiment: String,
    value: String,
}

/// `value` of each of `experiments`, averaged, times `weight`.
pub(super) fn mean(
    weight: f64,
    experiments: impl IntoIterator<Item = String>,
    value: &str,
) -> Vec<Term> {
    each(
        weight,
        experiments.into_iter().map(|e| (e, value.to_owned())),
    )
}

/// The mean of `cells`, names of an experiment and of a value, times `weight`.
fn each(weight: f64, cells: impl IntoIterator<Item = (String, String)>) -> Vec<Term> {
    let cells: Vec<_> = cells.into_iter().collect();
    let weight = weight / cells.len() as f64;
    let term = |(experiment, value)| Term {
        weight,
        experiment,
        value,
    };
    cells.into_iter().map(term).collect()
}

/// Each seed's values of `terms`, in the order of the seeds.
fn by_seed(o: &Outcomes, terms: &[Term]) -> Vec<Vec<f64>> {
    let values: Vec<Vec<f64>> = terms
        .iter()
        .map(|t| o.get(&t.experiment).values(&t.value))
        .collect();
    let seeds = values.iter().map(Vec::len).min().unwrap_or(0);
    (0..seeds)
        .map(|k| values.iter().map(|v| v[k]).collect())
        .collect()
}

/// The sum of `terms`, seed by seed.
pub(super) fn estimate(o: &Outcomes, terms: &[Term]) -> Option<Estimate> {
    let sums: Vec<f64> = by_seed(o, terms)
        .iter()
        .map(|seed| seed.iter().zip(terms).map(|(v, t)| v * t.weight).sum())
        .collect();
    Estimate::of(&sums)
}

/// The sum of `terms` for the claim `id`.
pub(super) fn sum(id: impl Into<String>, profile: Profile, terms: Vec<Term>) -> Measure {
    Measure::new(id, profile, move |o| estimate(o, &terms))
}

/// The least of `terms`, seed by seed.
pub(super) fn least(id: impl Into<String>, profile: Profile, terms: Vec<Term>) -> Measure {
    Measure::new(id, profile, move |o| {
        let least: Vec<f64> = by_seed(o, &terms)
            .iter()
            .map(|seed| seed.iter().copied().fold(f64::INFINITY, f64::min))
            .collect();
        Estimate::of(&least)
    })
}

/// The two aL4S-CC forms of a profile: cL4S, sL4S.
pub(super) const FORMS: [(Profile, [Kind; 2]); 2] = [
    (Profile::Paper, [CL4S, SL4S]),
    (Profile::Product, [CL4S_DEFAULT, SL4S_DEFAULT]),
];

/// cL4S and sL4S in names of claims.
pub(super) const IDS: [&str; 2] = ["cl4s", "sl4s"];

/// Cells that the paper's means hold: all but case 3 of multimodal XR (V).
pub(super) fn counted() -> impl Iterator<Item = (usize, u64)> {
    let cells = (0..CASES.len()).flat_map(|case| SERVICES.map(|(_, te)| (case, te)));
    cells.filter(|(case, te)| *case != 2 || *te != 25)
}

/// The value that says how long the queue was over a service's target queue delay, which is 5 ms less than TE (V).
pub(super) fn over(te: u64) -> String {
    format!("tdq{}", te - 5)
}

/// The mean of `value` over the counted cells of a table, for `kind`.
pub(super) fn table_mean(weight: f64, which: &Which, kind: &Kind, value: &str) -> Vec<Term> {
    // GCC, SCReAMv2: one experiment a case, as the paper's means of the text have them.
    if !kind.served {
        let cases = (0..CASES.len()).map(|case| cell(which, case, kind, 60));
        return mean(weight, cases, value);
    }
    let cells = counted().map(|(case, te)| cell(which, case, kind, te));
    mean(weight, cells, value)
}

/// The mean time over the services' target queue delays, in a table's counted cells.
pub(super) fn table_over(weight: f64, which: &Which, kind: &Kind) -> Vec<Term> {
    let cells = counted().map(|(case, te)| (cell(which, case, kind, te), over(te)));
    each(weight, cells)
}

/// The mean of the value `name(te)` of the `flow`th of three kinds over the counted cells.
pub(super) fn mixed_mean(
    weight: f64,
    kind: &Kind,
    flow: u8,
    name: impl Fn(u64) -> String,
) -> Vec<Term> {
    let cells = counted().map(|(case, te)| {
        let experiment = mixed("ietf", CASES[case].0, te, kind);
        (experiment, format!("{}_{flow}", name(te)))
    });
    each(weight, cells)
}

/// The same value of every service.
pub(super) fn same(name: &str) -> impl Fn(u64) -> String {
    let name = name.to_owned();
    move |_| name.clone()
}

/// All of `parts` together.
pub(super) fn all<const N: usize>(parts: [Vec<Term>; N]) -> Vec<Term> {
    parts.into_iter().flatten().collect()
}
