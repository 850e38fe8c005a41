//! What each rule is worth: the same cells without it, and along its dials.

use super::prelude::*;

/// Cells in which rules are left out.
pub(super) const WHERE: [&str; 7] = [
    "lte-steps",
    "lte-fading",
    "nr-fading",
    "handover",
    "wired-hop",
    "rival",
    "web",
];

/// Name, what it is called.
const VARIANTS: [(&str, &str); 9] = [
    ("ebb", "all rules"),
    ("ebb:gone=0", "ACKs count in place of the base station"),
    ("ebb:mix=0", "mean of 50 ms in place of the mixture"),
    ("ebb:z=0", "no margin for the error"),
    ("ebb:q=0", "no queue is wanted"),
    ("ebb:pace=0", "the window alone, pace twice the forecast"),
    ("ebb:elsewhere=0", "no bottleneck but the radio"),
    ("ebb:company=0", "others' queue is not met"),
    ("ebb:trust=0", "the base station's word is law"),
];

/// Lean, prompt, balanced, full.
const DIALS: [(&str, &str); 7] = [
    ("ebb:z=0,q=-20", "lean (z = 0, q = -20 ms)"),
    ("ebb:z=0,q=-10", "z = 0, q = -10 ms"),
    ("ebb:z=0,q=0", "prompt (z = 0, q = 0)"),
    ("ebb:z=0.15,q=1", "z = 0.15, q = 1 ms"),
    ("ebb", "balanced (z = 0.3, q = 2 ms)"),
    ("ebb:z=0.45,q=4", "z = 0.45, q = 4 ms"),
    ("ebb:z=0.6,q=8", "full (z = 0.6, q = 8 ms)"),
];

/// A cell of several users serves others while one's queue is empty, and a user alone has nobody to serve meanwhile.
const DIALLED: [&str; 7] = [
    "lte-steps",
    "lte-fading",
    "nr-fading",
    "handover",
    "lte-ten",
    "nr-fifty",
    "rival-users",
];

/// What is left where the network gives a rate now and then, and what there is without it.
const ADVICE: [(&str, &str); 5] = [
    ("ebb", "counters each 5 ms"),
    ("ebb:advice=100", "CUBIC within the rate of each 100 ms"),
    ("ebb:advice=1000", "CUBIC within the rate of each second"),
    (
        "ebb:advice=10000",
        "CUBIC within the rate of each ten seconds",
    ),
    ("cubic", "CUBIC"),
];

fn name(cell: &str, variant: &str) -> String {
    if variant == "ebb" || variant == "cubic" {
        format!("cells/{cell}-{variant}")
    } else {
        format!("rules/{cell}-{variant}")
    }
}

fn experiments(
    options: &Options,
    cells: &[&str],
    variants: &[(&str, &str)],
) -> Result<Vec<Experiment>, StudyError> {
    let mut experiments = vec![];
    for place in cells {
        for (variant, _) in variants {
            let e = cell(place).experiment(options, name(place, variant), variant, &[]);
            experiments.push(e?);
        }
    }
    Ok(experiments)
}

/// Three tables: S, use and delay, a row a variant, a column a cell.
fn tables(o: &Outcomes, id: &str, cells: &[&str], variants: &[(&str, &str)]) -> Vec<Panel> {
    let rows: Vec<(String, &str)> = variants
        .iter()
        .map(|(_, label)| ((*label).to_owned(), "ebb"))
        .collect();
    let of = |r: usize, c: usize| o.get(&name(cells[c], variants[r].0));
    let columns = |value: &'static str| -> Vec<(String, &'static str)> {
        cells.iter().map(|c| ((*c).to_owned(), value)).collect()
    };
    let made = |short: &str, heading: &str, value| {
        grid(
            &format!("{id}-{short}"),
            heading,
            "variant",
            &columns(value),
            &rows,
            of,
        )
    };
    vec![
        made("score", "S", SCORE),
        made("use", "Utilisation, %", "use"),
        lower(made("delay", "p95 queue delay, ms", "delay")),
    ]
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    Ok(Part {
        id: "rules",
        measures: vec![],
        experiments: experiments(options, &WHERE, &VARIANTS)?,
        draw: Box::new(|o| {
            let mut lines = vec![];
            for (variant, label) in &VARIANTS[1..] {
                let parts: Vec<String> = WHERE
                    .iter()
                    .filter_map(|c| {
                        let e =
                            difference(o.get(&name(c, variant)), o.get(&name(c, "ebb")), SCORE)?;
                        let half = e.half_width().unwrap_or(0.0);
                        (e.mean.abs() > half.max(0.005))
                            .then(|| format!("{c} {:+.3} ± {half:.3}", e.mean))
                    })
                    .collect();
                let what = if parts.is_empty() {
                    "no difference that its interval leaves".to_owned()
                } else {
                    parts.join(", ")
                };
                lines.push(format!("{label}: {what}."));
            }
            Figure {
                title: "Each rule left out".to_owned(),
                setup: "One change a row; pairs of the same seed.".to_owned(),
                claim: "A rule is worth keeping where leaving it out lowers S.".to_owned(),
                seen: format!("Change of S: {}", lines.join(" ")),
                panels: tables(o, "rules", &WHERE, &VARIANTS),
                ..Figure::default()
            }
        }),
    })
}

/// The offered rate alone, as SCONE carries it.
pub(super) fn advice(options: &Options) -> Result<Part, StudyError> {
    Ok(Part {
        id: "advice",
        measures: vec![],
        experiments: experiments(options, &WHERE, &ADVICE)?,
        draw: Box::new(|o| {
            let lines = ADVICE[1..4].iter().map(|(variant, label)| {
                let parts = WHERE.iter().filter_map(|c| {
                    let ours = o.get(&name(c, variant));
                    let e = difference(ours, o.get(&name(c, "cubic")), SCORE)?;
                    let half = e.half_width().unwrap_or(0.0);
                    Some(format!("{c} {:+.3} ± {half:.3}", e.mean))
                });
                format!("{label}: {}.", parts.collect::<Vec<_>>().join(", "))
            });
            let lines: Vec<String> = lines.collect();
            Figure {
                title: "The rate alone, as SCONE carries it".to_owned(),
                setup: "The base station's offered rate, as the mean of a period and in steps of 12 % (draft-ietf-scone-protocol, Rate Signals).                         CUBIC paces at no more, and has no more in flight than a round trip of it."
                    .to_owned(),
                claim: String::new(),
                seen: format!("Change of S from CUBIC alone: {}", lines.join(" ")),
                panels: tables(o, "advice", &WHERE, &ADVICE),
                ..Figure::default()
            }
        }),
    })
}

/// What less in flight changes where several users share the cell, and where a user is alone or beside CUBIC's.
fn seen(o: &Outcomes) -> String {
    let parts: Vec<String> = ["lte-ten", "nr-fifty", "rival-users", "lte-fading"]
        .iter()
        .filter_map(|c| {
            let lean = o.get(&name(c, "ebb:z=0,q=-20"));
            let e = difference(lean, o.get(&name(c, "ebb")), SCORE)?;
            let half = e.half_width().unwrap_or(0.0);
            Some(format!("{c} {:+.3} ± {half:.3}", e.mean))
        })
        .collect();
    format!("Change of S from balanced to lean: {}.", parts.join(", "))
}

pub(super) fn dials(options: &Options) -> Result<Part, StudyError> {
    Ok(Part {
        id: "dials",
        measures: vec![],
        experiments: experiments(options, &DIALLED, &DIALS)?,
        draw: Box::new(|o| {
            Figure {
            title: "Dials: lean, prompt, balanced, full".to_owned(),
            setup: "The margin for the forecast's error and the queue that is wanted move it along the front. Below zero, less is in flight \
                    than a round takes."
                .to_owned(),
            claim: String::new(),
            seen: seen(o),
            panels: tables(o, "dials", &DIALLED, &DIALS),
            ..Figure::default()
        }
        }),
    })
}
