//! Tables 1 and 2: flows of one kind on the pattern.

use super::cells::{ONE, TWO, Which, cell};
use super::claims::{FORMS, IDS, all, counted, least, mean, over, sum, table_mean};
use super::prelude::*;
use super::published::Column as Published;

const SERVED: [Kind; 5] = [CL4S, SL4S, L4S_CC, CL4S_DEFAULT, SL4S_DEFAULT];
const OTHERS: [Kind; 3] = [GCC, SCREAM, SCREAM_BURSTS];

/// A cell's experiment.
pub(super) fn run(
    which: &Which,
    case: usize,
    kind: &Kind,
    service: u64,
    quick: bool,
) -> Result<Experiment, StudyError> {
    let (_, low, high) = CASES[case];
    let mut changes = of_kind(kind, if kind.served { service } else { 60 });
    changes.push(ramp(low, high));
    changes.extend(words(&[("flow.count", which.flows)]));
    if quick {
        changes.push(("duration".to_owned(), format!("{QUICK_S} s")));
    }
    experiment(cell(which, case, kind, service), IETF, &changes, keep)
}

/// All cells of a table.
pub(super) fn experiments(which: &Which, options: &Options) -> Result<Vec<Experiment>, StudyError> {
    let mut experiments = vec![];
    for case in 0..CASES.len() {
        for (_, service) in SERVICES {
            for kind in &SERVED {
                experiments.push(run(which, case, kind, service, options.quick)?);
            }
        }
        for kind in &OTHERS {
            experiments.push(run(which, case, kind, 60, options.quick)?);
        }
    }
    Ok(experiments)
}

pub(super) fn parts(options: &Options) -> Result<Vec<Part>, StudyError> {
    [TWO, ONE]
        .into_iter()
        .map(|which| {
            let mut measures = cells_measured(&which);
            measures.extend(if which.id == ONE.id {
                said_of_one()
            } else {
                said_of_two()
            });
            Ok(Part {
                id: which.id,
                measures,
                experiments: experiments(&which, options)?,
                draw: Box::new(move |o| {
                    if which.id == ONE.id {
                        draw_one(o)
                    } else {
                        draw_two(o)
                    }
                }),
            })
        })
        .collect()
}

/// The values of a table's column, but for TDQ.
fn values(which: &Which) -> &'static [&'static str] {
    if which.id == TWO.id {
        &["util", "p95", "p99", "jain"]
    } else {
        &["util", "p95", "p99"]
    }
}

/// Every number of a table.
fn cells_measured(which: &Which) -> Vec<Measure> {
    let mut measures = vec![];
    let mut measure = |profile, id: String, experiment: String, value: &str| {
        let id = format!("{}-{id}-{value}", which.short);
        measures.push(sum(id, profile, mean(1.0, [experiment], value)));
    };
    for (case, (number, ..)) in CASES.iter().enumerate() {
        for (_, te) in SERVICES {
            let served = [
                ("cl4s", Profile::Paper, CL4S),
                ("cl4s", Profile::Product, CL4S_DEFAULT),
                ("sl4s", Profile::Paper, SL4S),
                ("sl4s", Profile::Product, SL4S_DEFAULT),
                ("l4s-cc", Profile::Paper, L4S_CC),
            ];
            for (form, profile, kind) in served {
                let tdq = over(te);
                for value in values(which).iter().copied().chain([&*tdq]) {
                    let id = format!("c{number}-{te}-{form}");
                    measure(profile, id, cell(which, case, &kind, te), value);
                }
            }
        }
        for kind in [GCC, SCREAM] {
            let tdq = ["tdq20", "tdq55", "tdq145"];
            for value in values(which).iter().copied().chain(tdq) {
                let id = format!("c{number}-{}", kind.id);
                measure(Profile::Paper, id, cell(which, case, &kind, 60), value);
            }
        }
    }
    measures
}

/// What V-C says of one flow.
fn said_of_one() -> Vec<Measure> {
    let mut measures = vec![sum(
        "t2-gcc-mean",
        Profile::Paper,
        table_mean(1.0, &ONE, &GCC, "util"),
    )];
    let scream = all([
        mean(1.0, [cell(&ONE, 2, &SCREAM, 60)], "util"),
        mean(-1.0, [cell(&ONE, 1, &SCREAM, 60)], "util"),
    ]);
    measures.push(sum("t2-scream-case3", Profile::Paper, scream));
    for (profile, forms) in FORMS {
        for (form, id) in forms.iter().zip(IDS) {
            for value in ["util", "p95", "p99"] {
                let terms = table_mean(1.0, &ONE, form, value);
                measures.push(sum(format!("t2-mean-{id}-{value}"), profile, terms));
            }
        }
        for (_, te) in SERVICES {
            let cases = || counted().filter(move |c| c.1 == te).map(|c| c.0);
            let gcc = cases().map(|case| cell(&ONE, case, &GCC, te));
            let cl4s = cases().map(|case| cell(&ONE, case, &forms[0], te));
            let more = all([mean(1.0, gcc, &over(te)), mean(-1.0, cl4s, &over(te))]);
            measures.push(sum(format!("t2-gcc-spikes-{}", te - 5), profile, more));
        }
    }
    measures
}

/// What V-B and VI say of two flows.
fn said_of_two() -> Vec<Measure> {
    let delay = all([
        table_mean(1.0, &TWO, &SCREAM, "p99"),
        table_mean(-1.0, &TWO, &GCC, "p99"),
    ]);
    let mut measures = vec![sum("t1-scream-delay", Profile::Paper, delay)];
    for (profile, [cl4s, sl4s]) in FORMS {
        let more = |a: &Kind, b: &Kind| {
            all([
                table_mean(1.0, &TWO, a, "util"),
                table_mean(-1.0, &TWO, b, "util"),
            ])
        };
        measures.push(sum("t1-gain-sl4s", profile, more(&cl4s, &sl4s)));
        for other in [L4S_CC, GCC, SCREAM] {
            let gain = format!("t1-gain-{}", other.id);
            measures.push(sum(gain, profile, more(&cl4s, &other)));
            let highest = format!("t1-highest-{}", other.id);
            measures.push(sum(highest, profile, more(&sl4s, &other)));
        }
        for (form, id) in [cl4s, sl4s].iter().zip(IDS) {
            let jain = table_mean(1.0, &TWO, form, "jain");
            measures.push(least(format!("t1-jain-{id}"), profile, jain));
        }
    }
    measures
}

/// The runs of a cell.
fn runs<'a>(o: &'a Outcomes, which: &Which, case: usize, kind: &Kind, service: u64) -> &'a Runs {
    o.get(&cell(which, case, kind, service))
}

/// The paper's column for a kind; the shipped profile stands beside the published one.
fn published(which: &Which, case: usize, kind: &Kind, service: usize) -> Published {
    let (served, gcc, scream) = &which.paper[case];
    match kind.id {
        "cl4s" | "cl4s-default" => served[service][0],
        "sl4s" | "sl4s-default" => served[service][1],
        "l4s-cc" => served[service][2],
        "gcc" => *gcc,
        _ => *scream,
    }
}

fn case_table(o: &Outcomes, which: &Which, case: usize) -> Panel {
    let (number, low, high) = CASES[case];
    let headings = [
        ("link utilisation", "%", Better::Higher),
        ("QD p95", "ms", Better::Lower),
        ("QD p99", "ms", Better::Lower),
        ("TDQ(20)", "s", Better::Lower),
        ("TDQ(55)", "s", Better::Lower),
        ("TDQ(145)", "s", Better::Lower),
        ("Jain (100 ms)", "", Better::Higher),
    ];
    let with_jain = which.id == TWO.id;
    let columns = headings
        .iter()
        .take(if with_jain { 7 } else { 6 })
        .map(|h| {
            Column::new(
                h.0,
                h.1,
                Some(h.2),
                "ours ± interval · the paper's · difference",
            )
        })
        .collect();
    let row = |label: String, kind: &Kind, service: usize, limits: [bool; 3]| {
        let r = runs(o, which, case, kind, SERVICES[service].1);
        let p = published(which, case, kind, service);
        let mut cells = vec![
            beside(r.estimate("util"), p.util, 1),
            beside(r.estimate("p95"), p.p95, 1),
            beside(r.estimate("p99"), p.p99, 1),
        ];
        for (k, limit) in ["tdq20", "tdq55", "tdq145"].into_iter().enumerate() {
            cells.push(if limits[k] {
                beside(r.estimate(limit), p.tdq[k], 2)
            } else {
                Cell::Missing
            });
        }
        if with_jain {
            cells.push(beside(r.estimate("jain"), p.jain, 2));
        }
        Row {
            label,
            controller: kind.controller.to_owned(),
            cells,
        }
    };
    let mut rows = vec![];
    for (s, (service, te)) in SERVICES.iter().enumerate() {
        for kind in &SERVED {
            let label = format!("{service} ({te} ms), {}", kind.title);
            rows.push(row(label, kind, s, [s == 0, s == 1, s == 2]));
        }
    }
    for kind in &OTHERS {
        rows.push(row(kind.title.to_owned(), kind, 1, [true; 3]));
    }
    let caption = format!("Case {number}: {low} and {high} ms");
    let table = SummaryTable {
        caption: caption.clone(),
        row_heading: "service, kind".to_owned(),
        columns,
        rows,
    };
    Panel::new(
        &format!("case{number}"),
        &caption,
        "Each cell: ours with its 95 % interval · the paper's value · the difference.",
        Drawing::Table(table),
    )
    .wide()
}

/// Every served cell: case, service, target delay.
fn cells() -> impl Iterator<Item = (usize, usize, u64)> {
    (0..CASES.len()).flat_map(|c| (0..SERVICES.len()).map(move |s| (c, s, SERVICES[s].1)))
}

fn draw_one(o: &Outcomes) -> Figure {
    let at = |case, kind: &Kind, te| runs(o, &ONE, case, kind, te);
    let range = |kind: &Kind, name: &str| {
        let values: Vec<f64> = cells()
            .map(|(c, _, te)| at(c, kind, te).mean(name))
            .collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (least, most)
    };
    let ((a, b), (c, d)) = (range(&CL4S, "util"), range(&SL4S, "util"));
    Figure {
        title: "Table 2: one flow".to_owned(),
        setup: "One flow on the assumed IETF pattern, for three services and three marking schemes; GCC and SCReAMv2 know no \
                service."
            .to_owned(),
        claim: "cL4S uses 82 % of the link on average and sL4S 81 %, with p95 of 10 and 8 ms; GCC 81 % with latency spikes; \
                SCReAMv2 41 to 53 %."
            .to_owned(),
        seen: format!(
            "cL4S uses {a:.1} to {b:.1} % of the link, sL4S {c:.1} to {d:.1} %. GCC uses {:.1} % with a p95 of {:.1} ms and a p99 of \
             {:.0} ms (case 2), SCReAMv2 {:.1} % where its packets are paced and {:.1} % where frames leave in bursts.",
            at(1, &GCC, 60).mean("util"),
            at(1, &GCC, 60).mean("p95"),
            at(1, &GCC, 60).mean("p99"),
            at(1, &SCREAM, 60).mean("util"),
            at(1, &SCREAM_BURSTS, 60).mean("util"),
        ),
        panels: (0..CASES.len()).map(|case| case_table(o, &ONE, case)).collect(),
        checks: fair_rate(o),
        ..Figure::default()
    }
}

/// What the fair rate costs a single flow.
fn fair_rate(o: &Outcomes) -> Vec<Check> {
    let mut worst = [(f64::INFINITY, f64::NEG_INFINITY); 2];
    for (i, (published, shipped)) in PUBLISHED.iter().enumerate() {
        for (case, _, te) in cells() {
            let (a, b) = (
                runs(o, &ONE, case, shipped, te),
                runs(o, &ONE, case, published, te),
            );
            let by = |name| difference(a, b, name).map_or(f64::NAN, |e| e.mean);
            worst[i].0 = worst[i].0.min(by("util"));
            worst[i].1 = worst[i].1.max(by("p95"));
        }
    }
    let mut checks = vec![];
    for ((published, _), (util, p95)) in PUBLISHED.iter().zip(worst) {
        let of = published.title;
        checks.push(
            Check::new(
                format!("{of}, default less published: utilisation, worst of nine cells"),
                "points",
                -1.0,
                util,
                None,
                Tolerance::AtLeast,
            )
            .profile("product")
            .source("what the fair rate may cost a flow alone"),
        );
        checks.push(
            Check::new(
                format!("{of}, default less published: p95, worst of nine cells"),
                "ms",
                1.0,
                p95,
                None,
                Tolerance::AtMost,
            )
            .profile("product")
            .source("what the fair rate may cost a flow alone"),
        );
    }
    checks
}

fn draw_two(o: &Outcomes) -> Figure {
    let at = |case, kind: &Kind, te| runs(o, &TWO, case, kind, te);
    let jain = |kind: &Kind| mean_of(cells().map(|(c, _, te)| at(c, kind, te)), "jain");
    Figure {
        title: "Table 1: two flows of one kind".to_owned(),
        setup: "Two flows that start together at 2 Mbit/s share the link; utilisation is that of one flow.".to_owned(),
        claim: "Jain's index at 100 ms of 0.97 and more in all cases; cL4S uses the link best.".to_owned(),
        seen: format!(
            "Jain's index over all cells: cL4S {:.3}, sL4S {:.3}, L4S-CC {:.3}, and {:.3} and {:.3} of the shipped forms. Flows that \
             start alike stay alike; the figure on unequal starts says what else the published equations do.",
            jain(&CL4S),
            jain(&SL4S),
            jain(&L4S_CC),
            jain(&CL4S_DEFAULT),
            jain(&SL4S_DEFAULT),
        ),
        panels: (0..CASES.len()).map(|case| case_table(o, &TWO, case)).collect(),
        ..Figure::default()
    }
}
