//! Beyond the paper (c): which service can live with which marker.

use super::prelude::*;

/// Low and high thresholds in ms.
const RAMPS: [(u64, u64); 8] = [
    (1, 3),
    (2, 10),
    (5, 20),
    (8, 25),
    (10, 30),
    (15, 40),
    (20, 50),
    (50, 100),
];
const KINDS: [Kind; 4] = [CL4S, SL4S, CL4S_DEFAULT, SL4S_DEFAULT];
/// A service lives with a marker where so few of its packets come too late, in %, and so much of the link is used.
const LATE: f64 = 1.0;
const USED: f64 = 75.0;

fn name(low: u64, service: u64, kind: &Kind) -> String {
    format!("thresholds/{low}-{service}-{}", kind.id)
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (low, high) in RAMPS {
        for (_, service) in SERVICES {
            for kind in &KINDS {
                let mut changes = of_kind(kind, service);
                changes.push(ramp(low, high));
                experiments.push(experiment(name(low, service, kind), IETF, &changes, keep)?);
            }
        }
    }
    Ok(Part {
        id: "thresholds",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |low, te, kind: &Kind| o.get(&name(low, te, kind));
    let lives = |r: &Runs| r.mean("over") <= LATE && r.mean("util") >= USED;
    let panels = SERVICES
        .iter()
        .map(|(service, te)| {
            let columns = KINDS
                .iter()
                .map(|k| {
                    Column::new(
                        k.title,
                        "",
                        None,
                        "utilisation %, p99 ms, packets over target %",
                    )
                })
                .collect();
            let rows = RAMPS
                .iter()
                .map(|(low, high)| Row {
                    label: format!("{low}/{high} ms"),
                    controller: String::new(),
                    cells: KINDS
                        .iter()
                        .map(|k| {
                            let r = runs(*low, *te, k);
                            let verdict = if lives(r) { "lives" } else { "no" };
                            Cell::Text(format!(
                                "{:.1} %, {:.1} ms, {:.2} %: {verdict}",
                                r.mean("util"),
                                r.mean("p99"),
                                r.mean("over")
                            ))
                        })
                        .collect(),
                })
                .collect();
            let caption = format!("{service}, {te} ms");
            let table = SummaryTable {
                caption: caption.clone(),
                row_heading: "marker".to_owned(),
                columns,
                rows,
            };
            let help = "Utilisation, p99 of the queue delay, packets over the target queue delay.";
            Panel::new(&te.to_string(), &caption, help, Drawing::Table(table)).wide()
        })
        .collect();
    let living = |te: u64| {
        let names: Vec<String> = RAMPS
            .iter()
            .filter(|r| lives(runs(r.0, te, &CL4S_DEFAULT)))
            .map(|r| format!("{}/{}", r.0, r.1))
            .collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    Figure {
        title: "Beyond (c): thresholds from 1 to 50 ms".to_owned(),
        setup: format!(
            "One flow on the pattern of table 2. A service lives with a marker where at most {LATE} % of its packets wait longer than \
             its target queue delay and at least {USED} % of the link is used."
        ),
        claim: "Thresholds should suit the service; case 3 is out of the question for 25 ms."
            .to_owned(),
        seen: format!(
            "The shipped cL4S lives, with 25 ms, with {}; with 60 ms, with {}; with 150 ms, with {} ms.",
            living(25),
            living(60),
            living(150)
        ),
        panels,
        ..Figure::default()
    }
}
