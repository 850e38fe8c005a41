//! Table 1: the paper's radio as far as it is given, with link adaptation in place of a fixed MCS.

use super::prelude::*;

const RADIO: &str = include_str!("../../scenarios/cecc/radio.toml");

/// Distances from the base station: short name, label, change.
const DISTANCES: [(&str, &str, Changes); 3] = [
    ("50", "50 m", &[("ue.mobility.distance", "50 m")]),
    ("100", "100 m", &[("ue.mobility.distance", "100 m")]),
    ("200", "200 m", &[("ue.mobility.distance", "200 m")]),
];
const SHOWN: [Variant; 3] = [OFF, PAPER, HOLD];
const FLOWS: [&str; 2] = ["4", "5"];

fn name(distance: &str, what: &str) -> String {
    format!("radio/{distance}-{what}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (distance, _, changes) in &DISTANCES {
        let mut bulk = vec![("duration", "5 s"), ("ue.count", "1"), ("flow.app", "bulk")];
        bulk.extend(*changes);
        let rate = |run: &RunResult, out: &mut Outcome| {
            out.value("rate", Some(m::rate(run, 0, (SETTLED, m::end(run)))));
        };
        experiments.push(Experiment::new(name(distance, "bulk"), RADIO, bulk, rate)?);
        for variant in &SHOWN {
            for n in FLOWS {
                let mut all = base(options).to_vec();
                all.push(("ue.count", n));
                all.extend(*changes);
                all.extend(variant.changes);
                let name = name(distance, &format!("{}{n}", variant.key));
                experiments.push(Experiment::new(name, RADIO, all, keep)?);
            }
        }
    }
    Ok(Part {
        id: "radio",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    for (distance, label, _) in &DISTANCES {
        for n in FLOWS {
            for variant in &SHOWN {
                let runs = o.get(&name(distance, &format!("{}{n}", variant.key)));
                rows.push((
                    format!("{label}, {n} flows: {}", variant.title),
                    variant.colour,
                    runs,
                ));
            }
        }
    }
    let rate = |distance: &str| o.get(&name(distance, "bulk")).mean("rate");
    Figure {
        title: "Table 1: a radio with path loss".to_owned(),
        setup: "3.5 GHz, 200 MHz at 15 kHz, DDDSU, 30 dBm, UMa with line of sight, link adaptation; frames at once as in A. The paper gives \
                neither distances nor antennas nor the table of MCS: 256QAM, one antenna of 0 dBi."
            .to_owned(),
        claim: "A base station of about 880 Mbit/s.".to_owned(),
        seen: format!(
            "One download has {:.0} Mbit/s at 50 m, {:.0} at 100 m and {:.0} at 200 m; the other figures hold the MCS at 27, about 860.",
            rate("50"),
            rate("100"),
            rate("200"),
        ),
        panels: vec![table("table", "From 2 s on", "distance, flows, sender and UPF", &MEASURES, &rows).wide()],
        ..Figure::default()
    }
}
