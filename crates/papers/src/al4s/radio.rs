//! Beyond the paper (f): on an NR cell with TDD, HARQ and fading.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/al4s/cell.toml");

const KINDS: [Kind; 5] = [CL4S, CL4S_DEFAULT, SL4S_DEFAULT, SCREAM, GCC];
const UES: [u64; 5] = [1, 2, 5, 10, 20];
/// The shipped cL4S with its fair rate from the base station: the cell's 70 Mbit/s over the UEs.
const TOLD: [&str; 5] = [
    "al4s-c:r0=70",
    "al4s-c:r0=35",
    "al4s-c:r0=14",
    "al4s-c:r0=7",
    "al4s-c:r0=3.5",
];
/// The shipped form may use so many points less of the blocks than the published one.
const COST: f64 = 2.0;

const fn told(controller: &'static str) -> Kind {
    Kind {
        id: "cl4s-told",
        title: "cL4S, default, R0 reported",
        controller,
        served: true,
        changes: &[],
    }
}
/// Low and high thresholds in ms.
const RAMPS: [(u64, u64); 5] = [(2, 10), (5, 20), (8, 20), (10, 30), (20, 50)];
/// UEs where the markers are compared.
const SOME: u64 = 4;

fn name(ues: u64, low: u64, high: u64, kind: &Kind) -> String {
    format!("cell/{ues}-{low}-{high}-{}", kind.id)
}

fn run(ues: u64, low: u64, high: u64, kind: &Kind) -> Result<Experiment, StudyError> {
    let mut changes = of_kind(kind, 60);
    changes.push(("ue.count".to_owned(), ues.to_string()));
    let (_, law) = ramp(low, high);
    changes.push(("cell.rlc.law".to_owned(), law));
    experiment(name(ues, low, high, kind), SCENARIO, &changes, keep_cell)
}

/// What is kept of every run, and the share of the cell's blocks that were used.
pub(super) fn keep_cell(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let span = (run.scenario.warmup.as_secs_f64(), m::end(run));
    out.value("used", m::utilisation(run, span));
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for kind in &KINDS {
        for ues in UES {
            experiments.push(run(ues, 10, 30, kind)?);
        }
        for (low, high) in RAMPS {
            experiments.push(run(SOME, low, high, kind)?);
        }
    }
    for (ues, controller) in UES.into_iter().zip(TOLD) {
        experiments.push(run(ues, 10, 30, &told(controller))?);
    }
    Ok(Part {
        id: "cell",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |ues, low, high, kind: &Kind| o.get(&name(ues, low, high, kind));
    let columns: [Entry; 8] = [
        Entry::more("blocks used", "%", "used").times(100.0),
        Entry::more("a flow", "Mbit/s", "rate"),
        Entry::less("p95", "ms", "p95"),
        Entry::less("p99", "ms", "p99"),
        Entry::plain("marked", "%", "marks"),
        Entry::less("frame p95", "ms", "frame95"),
        Entry::less("late frames", "%", "late"),
        Entry::more("Jain (1 s)", "", "jain_1s"),
    ];
    let by_ues: Vec<(String, &str, &Runs)> = UES
        .iter()
        .zip(TOLD)
        .flat_map(|(ues, controller)| {
            let kinds = KINDS.into_iter().chain([told(controller)]);
            kinds.map(move |k| (*ues, k))
        })
        .map(|(ues, k)| {
            (
                format!("{ues}, {}", k.title),
                k.controller,
                runs(ues, 10, 30, &k),
            )
        })
        .collect();
    let by_ramp: Vec<(String, &str, &Runs)> = RAMPS
        .iter()
        .flat_map(|r| KINDS.iter().map(move |k| (*r, k)))
        .map(|((low, high), k)| {
            let label = format!("{low}/{high} ms, {}", k.title);
            (label, k.controller, runs(SOME, low, high, k))
        })
        .collect();
    let mut checks = vec![];
    for (ues, controller) in UES.into_iter().zip(TOLD) {
        let published = runs(ues, 10, 30, &CL4S).values("used");
        for (kind, most, words) in [
            (CL4S_DEFAULT, COST, "R0 of 5 Mbit/s"),
            (told(controller), COST, "R0 reported"),
        ] {
            let ours = runs(ues, 10, 30, &kind).values("used");
            let apart = published.iter().zip(&ours).map(|(p, o)| (p - o) * 100.0);
            checks.push(
                Check::of(
                    format!("{ues} UEs, {words}: blocks that the published cL4S uses more than the shipped one"),
                    "points",
                    most,
                    Estimate::of(&apart.collect::<Vec<f64>>()),
                    Tolerance::AtMost,
                )
                .profile("product")
                .source("neither the fair rate nor the guard should cost a UE its cell"),
            );
        }
    }
    let used = |low, high| runs(SOME, low, high, &CL4S_DEFAULT).mean("used") * 100.0;
    Figure {
        title: "Beyond (f): on an NR cell".to_owned(),
        setup: "20 MHz of NR TDD (DDDSU) with HARQ and fading (TDL-A at 3 km/h), one media flow of 60 ms for each UE, marked at the RLC by \
                the time until a packet's transmission first begins: retransmissions do not count."
            .to_owned(),
        claim: "The paper's marker stands on a link whose rate follows a pattern.".to_owned(),
        seen: format!(
            "Four UEs, shipped cL4S: {:.0} % of the blocks are used at 2/10 ms, {:.0} % at 5/20, {:.0} % at 10/30, {:.0} % at 20/50.",
            used(2, 10),
            used(5, 20),
            used(10, 30),
            used(20, 50),
        ),
        panels: vec![
            table("ues", "Ramp of 10/30 ms", "UEs, kind", &columns, &by_ues).wide(),
            table("ramps", "Four UEs", "marker, kind", &columns, &by_ramp).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
