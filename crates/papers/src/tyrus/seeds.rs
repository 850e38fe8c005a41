//! Every policy that was trained, seed by seed: none is left out because it failed.

use std::collections::BTreeMap;

use slackwater_report::{Cell, Column, Row, SummaryTable};
use slackwater_results::stats::{Bounds, Estimate};

use super::fig3::{ahead, experiment, strata};
use super::prelude::*;
use super::{links, policies, stats};

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let places = links::all(options.quick)?;
    let trained = policies::trained();
    let base: Vec<Sender> = senders().into_iter().filter(|s| s.id == "rule2").collect();
    let mut experiments = vec![];
    for place in &places {
        for sender in base.iter().chain(&trained) {
            experiments.push(experiment(place, sender, options.quick)?);
        }
    }
    Ok(Part {
        id: "seeds",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &places, &trained)),
    })
}

fn cell(values: &[f64], bounds: Bounds) -> Cell {
    Estimate::within(values, bounds).map_or(Cell::Missing, Cell::Number)
}

fn draw(o: &Outcomes, places: &[Place], trained: &[Sender]) -> Figure {
    let all: Vec<&Place> = places.iter().collect();
    let mut rows = vec![];
    let mut groups: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    for sender in trained {
        let over = ahead(o, &all, &sender.id, "rule2");
        let flat = |value: &str| -> Vec<f64> {
            strata(o, &all, &sender.id, value)
                .into_iter()
                .flatten()
                .collect()
        };
        let used: Vec<f64> = flat("used").iter().map(|v| v * 100.0).collect();
        rows.push(Row {
            label: sender.label.clone(),
            controller: sender.colour.clone(),
            cells: vec![
                cell(&over, Bounds::Real),
                cell(&used, Bounds::UpTo(100.0)),
                cell(&flat("p95"), Bounds::Positive),
            ],
        });
        if let Some(group) = &sender.group {
            groups.entry(group).or_default().push(over);
        }
    }
    let mut words = vec![];
    for (group, over) in &groups {
        if let Some(e) = stats::estimate(over) {
            words.push(format!(
                "{group}: {} policies, S over rule2 {:+.4}{} (interquartile mean and interval).",
                over.len(),
                e.mean,
                e.spread(4),
            ));
        }
    }
    if words.is_empty() {
        words.push(
            "No policy was found in models/ or runs/train-tyrus/: `slackwater train tyrus` makes them."
                .to_owned(),
        );
    }
    let summary = SummaryTable {
        caption: "Trained policies over all links".to_owned(),
        row_heading: "policy".to_owned(),
        columns: vec![
            Column::new(
                "S over rule2",
                "",
                Some(Better::Higher),
                "two standard errors over links",
            ),
            Column::new("used", "%", Some(Better::Higher), ""),
            Column::new("one-way p95", "ms", Some(Better::Lower), ""),
        ],
        rows,
    };
    Figure {
        title: "Every policy that was trained".to_owned(),
        setup: "Each policy in models/ and each seed that training left in runs/train-tyrus/, over the links of figure 3.".to_owned(),
        claim: "Beyond the poster, which names no seeds.".to_owned(),
        seen: words.join(" "),
        panels: vec![Panel::new("table", "Policies", "", Drawing::Table(summary)).wide()],
        ..Figure::default()
    }
}
