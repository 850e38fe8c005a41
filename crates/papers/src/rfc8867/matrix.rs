//! Every controller through every case, one table for each number.

use slackwater_lab::run::RunResult;
use slackwater_report::paper::Figure;

use super::super::draw::{apart, grid};
use super::super::measure as m;
use super::super::study::{Experiment, Options, Outcome, Part, StudyError};
use super::{CASES, CONTROLLERS, Way, expected};

/// What a run of `case` leaves: for the tables, means over the media flows.
fn keep(case: &str, run: &RunResult, out: &mut Outcome) {
    let flows = &run.summary.flows;
    let media: Vec<usize> = (0..flows.len())
        .filter(|i| flows[*i].media.is_some())
        .collect();
    let mean = |of: &dyn Fn(usize) -> Option<f64>| {
        m::mean(&media.iter().filter_map(|i| of(*i)).collect::<Vec<f64>>())
    };
    let sum = |rates: Vec<f64>| rates.iter().sum::<f64>();
    out.value(
        "utilisation",
        m::utilisation(run, m::all(run)).map(|u| u * 100.0),
    );
    out.value("rate", mean(&|i| Some(flows[i].goodput_mbps)));
    out.value("loss", mean(&|i| Some(flows[i].loss * 100.0)));
    out.value(
        "queue",
        mean(&|i| flows[i].queue_delay_ms.as_ref().map(|q| q.p95)),
    );
    out.value(
        "frame",
        mean(&|i| {
            flows[i]
                .media
                .as_ref()?
                .frame_delay_ms
                .as_ref()
                .map(|q| q.p95)
        }),
    );
    out.value(
        "frozen",
        mean(&|i| Some(flows[i].media.as_ref()?.frozen_share * 100.0)),
    );
    if media.len() > 1 {
        // The last quarter: all flows are on.
        let end = m::end(run);
        out.value("jain", m::jain_common(run, &media, (0.75 * end, end)));
    }
    expected::keep(case, run, &media, out);
    out.line("rates", m::capacity_line(run, 1.0));
    for (k, &i) in media.iter().enumerate() {
        out.line("rates", m::rate_line(run, i, 5, &format!("flow {}", k + 1)));
    }
    let rest = (0..flows.len()).filter(|i| !media.contains(i));
    out.value(
        "others",
        Some(sum(rest.map(|i| flows[i].goodput_mbps).collect())),
    );
}

/// Short name, heading, name of the value.
const TABLES: [(&str, &str, &str); 6] = [
    ("rate", "Mean rate of a media flow, Mbit/s", "rate"),
    ("utilisation", "Use of the bottleneck, %", "utilisation"),
    ("queue", "Queue delay p95, ms", "queue"),
    (
        "frame",
        "Frame delay p95, capture to last packet, ms",
        "frame",
    ),
    ("loss", "Packets lost, %", "loss"),
    ("jain", "Jain's index over the last quarter", "jain"),
];

/// The runs of every controller over `way` through those cases that `wanted` names.
pub(super) fn experiments(
    options: &Options,
    way: &'static Way,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Experiment>, StudyError> {
    let mut experiments = vec![];
    for case in CASES.iter().filter(|case| wanted(case.id)) {
        for controller in CONTROLLERS {
            let name = format!("{}/{}-{}", way.id, case.id, controller.2);
            let changes = case.changes(way, controller.0, options.quick);
            let reduce = |run: &RunResult, out: &mut Outcome| keep(case.id, run, out);
            experiments.push(Experiment::new(name, case.text, changes, reduce)?);
        }
    }
    Ok(experiments)
}

pub(super) fn part(options: &Options, way: &'static Way) -> Result<Part, StudyError> {
    let experiments = experiments(options, way, |_| true)?;
    Ok(Part {
        id: way.id,
        measures: vec![],
        experiments,
        draw: Box::new(|o| {
            let rows: Vec<(String, &str)> = CASES
                .iter()
                .map(|case| (case.title.to_owned(), ""))
                .collect();
            let of = |r: usize, c: usize| {
                o.get(&format!("{}/{}-{}", way.id, CASES[r].id, CONTROLLERS[c].2))
            };
            let panels = TABLES.iter().map(|(id, title, value)| {
                let columns: Vec<(String, &str)> = CONTROLLERS
                    .iter()
                    .map(|c| (c.1.to_owned(), *value))
                    .collect();
                apart(grid(id, title, "test case", &columns, &rows, of))
            });
            let worst = |c: usize, value: &str| {
                (0..CASES.len())
                    .map(|r| of(r, c).mean(value))
                    .fold(0.0, f64::max)
            };
            Figure {
                title: format!("Ten cases over {}", way.title),
                setup: "One row a case, one column a controller; means over the media flows of a run, then over seeds.".to_owned(),
                claim: "The RFCs describe what is expected and name no numbers: a controller should converge to the capacity, keep \
                        the delay and the loss low, share with its like, and beside TCP fall at worst to its least rate. The \
                        bounds of the verdicts are ours."
                    .to_owned(),
                seen: CONTROLLERS
                    .iter()
                    .enumerate()
                    .map(|(c, (_, title, _))| {
                        format!(
                            "{title}: worst queue p95 {:.0} ms, worst loss {:.1} %.",
                            worst(c, "queue"),
                            worst(c, "loss")
                        )
                    })
                    .collect::<Vec<_>>()
                    .join(" "),
                panels: panels.collect(),
                checks: expected::checks(o, way),
                ..Figure::default()
            }
        }),
    })
}
