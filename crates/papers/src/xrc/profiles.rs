//! The `paper` profile against the `default` one on everything that is run with both.

use slackwater_results::stats::{Paired, paired_of};

use super::prelude::*;

const COLUMNS: [Entry; 5] = [
    Entry::more("utilisation", "%", "utilisation").times(100.0),
    Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
    Entry::less("HoL p90", "ms", "hol_p90"),
    Entry::more("Jain (common)", "", "jain"),
    Entry::less("drops", "", "drops"),
];

/// The name of the same experiment in the default profile.
fn default_of(name: &str) -> Option<String> {
    let at = name.find("xrc-paper")?;
    Some(format!(
        "{}xrc{}",
        &name[..at],
        &name[at + "xrc-paper".len()..]
    ))
}

/// Collects from the other figures what they run in both profiles.
pub(super) fn part(others: &[Part]) -> Part {
    let all: Vec<&Experiment> = others.iter().flat_map(|p| &p.experiments).collect();
    let mut experiments: Vec<Experiment> = vec![];
    let mut pairs: Vec<(String, String)> = vec![];
    for e in &all {
        let counterpart = default_of(&e.name).and_then(|n| all.iter().find(|o| o.name == n));
        if let Some(default) = counterpart
            && !pairs.iter().any(|(_, paper)| *paper == e.name)
        {
            pairs.push((default.name.clone(), e.name.clone()));
            experiments.extend([(*default).clone(), (*e).clone()]);
        }
    }
    Part {
        id: "profiles",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &pairs)),
    }
}

fn draw(o: &Outcomes, pairs: &[(String, String)]) -> Figure {
    let cell = |name: &str, c: &Entry| {
        let scaled: Vec<f64> = o
            .get(name)
            .optional(c.value)
            .iter()
            .map(|v| v * c.scale)
            .collect();
        Estimate::of(&scaled).map_or(Cell::Missing, |e| Cell::from(e.mean))
    };
    let columns = COLUMNS
        .iter()
        .flat_map(|c| {
            ["product", "paper"]
                .map(|p| Column::new(&format!("{}, {p}", c.heading), c.unit, None, ""))
        })
        .collect();
    let rows = pairs
        .iter()
        .map(|(default, paper)| Row {
            label: default.replacen('/', ": ", 1),
            controller: "xrc".to_owned(),
            cells: COLUMNS
                .iter()
                .flat_map(|c| [cell(default, c), cell(paper, c)])
                .collect(),
        })
        .collect();
    let table = SummaryTable {
        caption: "Everything that was run in both profiles (means over the seeds)".to_owned(),
        row_heading: "experiment".to_owned(),
        columns,
        rows,
    };
    // In how many experiments one profile is better, seed by seed.
    let better = |c: &Entry| -> (usize, usize) {
        let of = |name: &str| o.get(name).by_seed(c.value);
        let (mut product, mut published) = (0, 0);
        for (default, paper) in pairs {
            let found = paired_of(&of(default), &of(paper));
            let Some(d) = found.filter(Paired::stands) else {
                continue;
            };
            if (d.difference.mean < 0.0) == (c.better == Some(Better::Lower)) {
                product += 1;
            } else {
                published += 1;
            }
        }
        (product, published)
    };
    let seen: Vec<String> = COLUMNS
        .iter()
        .map(|c| {
            let (d, p) = better(c);
            format!("{} {d} to {p}", c.heading)
        })
        .collect();
    Figure {
        title: "Beyond (h): both profiles on everything".to_owned(),
        setup: "Every experiment of this page that is run with the default and with the paper's profile.".to_owned(),
        claim: String::new(),
        seen: format!(
            "In how many of {} experiments the default profile is better than the paper's to how many it is worse, seed by \
             seed (paired test, 5 %): {}.",
            pairs.len(),
            seen.join("; ")
        ),
        panels: vec![Panel::new("table", "Both profiles", "", Drawing::Table(table))],
        ..Figure::default()
    }
}
