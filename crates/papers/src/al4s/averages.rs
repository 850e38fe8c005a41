//! The abstract's averages over the three scenarios: one flow, two of one kind, three kinds.

use super::cells::{ONE, TWO};
use super::claims::{
    FORMS, IDS, Term, all, estimate, mixed_mean, over, same, sum, table_mean, table_over,
};
use super::prelude::*;

/// GCC and `SCReAMv2`: name in claims, kind, place among three kinds.
const OTHERS: [(&str, Kind, u8); 2] = [("gcc", GCC, 1), ("scream", SCREAM, 2)];

/// Mean utilisation of aL4S-CC's `kind` over the scenarios.
fn used(weight: f64, kind: &Kind) -> Vec<Term> {
    let w = weight / 3.0;
    all([
        table_mean(w, &ONE, kind, "util"),
        table_mean(w, &TWO, kind, "util"),
        mixed_mean(w, kind, 0, same("util")),
    ])
}

/// The same of a peer, which stands beside cL4S and beside sL4S.
fn used_by_peer(weight: f64, peer: &Kind, flow: u8, forms: &[Kind; 2]) -> Vec<Term> {
    let w = weight / 3.0;
    all([
        table_mean(w, &ONE, peer, "util"),
        table_mean(w, &TWO, peer, "util"),
        mixed_mean(w / 2.0, &forms[0], flow, same("util")),
        mixed_mean(w / 2.0, &forms[1], flow, same("util")),
    ])
}

/// Mean share of the time over the target queue delay, of runs of `seconds`, in % times `weight`.
fn late(weight: f64, seconds: f64, kind: &Kind) -> Vec<Term> {
    let w = weight * 100.0 / seconds / 3.0;
    all([
        table_over(w, &ONE, kind),
        table_over(w, &TWO, kind),
        mixed_mean(w, kind, 0, over),
    ])
}

fn late_peer(weight: f64, seconds: f64, peer: &Kind, flow: u8, forms: &[Kind; 2]) -> Vec<Term> {
    let w = weight * 100.0 / seconds / 3.0;
    all([
        table_over(w, &ONE, peer),
        table_over(w, &TWO, peer),
        mixed_mean(w / 2.0, &forms[0], flow, over),
        mixed_mean(w / 2.0, &forms[1], flow, over),
    ])
}

fn measures(quick: bool) -> Vec<Measure> {
    let seconds = if quick { QUICK_S } else { 160.0 };
    let mut measures = vec![];
    for (profile, forms) in FORMS {
        let gain = all([used(1.0, &forms[0]), used(-1.0, &forms[1])]);
        measures.push(sum("all-util-sl4s", profile, gain));
        for (id, peer, flow) in &OTHERS {
            let gain = all([
                used(1.0, &forms[0]),
                used_by_peer(-1.0, peer, *flow, &forms),
            ]);
            measures.push(sum(format!("all-util-{id}"), profile, gain));
        }
        for (form, id) in forms.iter().zip(IDS) {
            let share = late(1.0, seconds, form);
            measures.push(sum(format!("all-over-{id}"), profile, share));
            for (peer_id, peer, flow) in &OTHERS {
                let less = all([
                    late(1.0, seconds, form),
                    late_peer(-1.0, seconds, peer, *flow, &forms),
                ]);
                measures.push(sum(format!("all-over-{id}-{peer_id}"), profile, less));
            }
        }
    }
    measures
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = super::tables::experiments(&ONE, options)?;
    experiments.extend(super::tables::experiments(&TWO, options)?);
    experiments.extend(super::mixed::pattern(options)?);
    let quick = options.quick;
    Ok(Part {
        id: "averages",
        measures: measures(quick),
        experiments,
        draw: Box::new(move |o| draw(o, quick)),
    })
}

fn draw(o: &Outcomes, quick: bool) -> Figure {
    let seconds = if quick { QUICK_S } else { 160.0 };
    let value = |terms: Vec<Term>| beside(estimate(o, &terms), f64::NAN, 2);
    let row = |title: &str, kind: &Kind, used, late| Row {
        label: title.to_owned(),
        controller: kind.controller.to_owned(),
        cells: vec![value(used), value(late)],
    };
    let mut rows = vec![];
    for (_, forms) in FORMS {
        for kind in &forms {
            rows.push(row(
                kind.title,
                kind,
                used(1.0, kind),
                late(1.0, seconds, kind),
            ));
        }
    }
    let forms = &FORMS[0].1;
    for (_, peer, flow) in &OTHERS {
        let (used, late) = (
            used_by_peer(1.0, peer, *flow, forms),
            late_peer(1.0, seconds, peer, *flow, forms),
        );
        rows.push(row(peer.title, peer, used, late));
    }
    let caption = "Means of the three scenarios".to_owned();
    let table = SummaryTable {
        caption: caption.clone(),
        row_heading: "kind".to_owned(),
        columns: vec![
            Column::new("link utilisation", "%", Some(Better::Higher), ""),
            Column::new("time over the target", "%", Some(Better::Lower), ""),
        ],
        rows,
    };
    Figure {
        title: "Abstract: means of the three scenarios".to_owned(),
        setup: "One flow, two of one kind and three kinds, each scenario's mean over its cells, and the mean of the three. Case 3 of \
                multimodal XR is left out, as in the paper."
            .to_owned(),
        claim: "cL4S uses 1.4, 4 and 17.9 points more of the link than sL4S, GCC and SCReAMv2; 1 % and 0.9 % of the time are over the \
                target queue delay."
            .to_owned(),
        panels: vec![Panel::new("means", &caption, "", Drawing::Table(table)).wide()],
        ..Figure::default()
    }
}
