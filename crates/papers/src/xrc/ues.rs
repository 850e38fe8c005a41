//! Many users share the idle blocks of one cell and wake together.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/ues.toml");
const MIXED: &str = include_str!("../../scenarios/xrc/ues-mixed.toml");

const COUNTS: [&str; 3] = ["2", "10", "50"];
const ALL: [&str; 3] = ["xrc", "xrc-paper", "cubic"];
/// Everyone starts then.
const WAKE: f64 = 1.0;

fn name(controller: &str, ues: &str) -> String {
    format!("ues/{controller}-{ues}")
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for c in ALL {
        for n in COUNTS {
            let changes = [("flow.controller", c), ("ue.count", n), agent(c)];
            experiments.push(Experiment::new(name(c, n), SCENARIO, changes, reduce)?);
        }
    }
    experiments.push(Experiment::new("ues/mixed", MIXED, [], reduce_mixed)?);
    Ok(Part {
        id: "ues",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

/// The sum over the flows of the rate that left the cell for each last, over the cell's capacity, at the samples of `span`.
fn promised(run: &RunResult, span: m::Span) -> Option<(Vec<f64>, Vec<f64>)> {
    // The cell's own capacity in blocks, while everyone is served: users are alike and do not move.
    let capacity = m::capacity(run, (10.0, m::end(run)))? * 1e6;
    let mut sum: Vec<f64> = vec![];
    let mut times: Vec<f64> = vec![];
    for i in 0..run.layout.labels.len() {
        // Mbit/s; before a flow's first report there is none.
        let mut rates = m::internal(run, i, "reported_rate_mbps", span);
        if rates.is_empty() {
            return None;
        }
        for rate in &mut rates {
            if rate.is_nan() {
                *rate = 0.0;
            }
        }
        if sum.is_empty() {
            let step = run.records.interval().as_secs_f64();
            times = (0..rates.len()).map(|k| span.0 + k as f64 * step).collect();
            sum = vec![0.0; rates.len()];
        }
        for (s, r) in sum.iter_mut().zip(rates) {
            *s += r * 1e6 / capacity;
        }
    }
    Some((times, sum))
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    let end = m::end(run);
    keep_all(run, out, (10.0, end));
    if let Some((_, sum)) = promised(run, (10.0, end)) {
        out.value("promised", m::mean(&sum));
    }
    // A sender that has no report yet counts as nothing; the first reports come an RTT after the first packets.
    if let Some((t, sum)) = promised(run, (WAKE, WAKE + 3.0)) {
        out.value("promised_wake", sum.iter().copied().reduce(f64::max));
        out.line(
            "promised",
            Line {
                label: format!("{} users", run.layout.labels.len()),
                controller: run.layout.controllers[0].clone(),
                t,
                y: sum,
                ..Line::default()
            },
        );
    }
    // Any user's queue: the largest delay of all.
    let wake: f64 = (0..run.layout.labels.len())
        .flat_map(|i| m::hol(run, i, (WAKE, WAKE + 3.0)))
        .fold(0.0, f64::max);
    out.value("hol_wake", Some(wake));
}

fn reduce_mixed(run: &RunResult, out: &mut Outcome) {
    let span = (5.0, m::end(run));
    keep_all(run, out, span);
    let rate =
        |flows: core::ops::Range<usize>| -> f64 { flows.map(|i| m::rate(run, i, span)).sum() };
    let (xrc, cubic) = (rate(0..5), rate(5..10));
    out.value("xrc_share", Some(2.0 * xrc / (xrc + cubic)));
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str, n: &str| o.get(&name(c, n));
    let lines = |c: &str| -> Vec<Line> {
        COUNTS
            .iter()
            .flat_map(|n| runs(c, n).lines("promised"))
            .collect()
    };
    let promised = |id: &str, c: &str| {
        Panel::new(
            id,
            &format!("What is promised after a wake-up: {}", title(c)),
            "The sum of the latest rates reported to senders, over the cell's capacity.",
            Drawing::Time {
                axis: Axis::new("Sum of rates over capacity", ""),
                lines: lines(c),
                tracks: vec![],
                guides: vec![Guide::new(1.0, "the cell")],
            },
        )
    };
    let columns: [Entry; 8] = [
        Entry::plain("promised, steady", "", "promised"),
        Entry::less("promised, most after wake-up", "", "promised_wake"),
        Entry::less("HoL, most after wake-up", "ms", "hol_wake"),
        Entry::less("HoL p50 (first user)", "ms", "hol_p50"),
        Entry::less("HoL p90 (first user)", "ms", "hol_p90"),
        Entry::more("Jain (common)", "", "jain"),
        Entry::more("utilisation", "%", "utilisation").times(100.0),
        Entry::less("drops", "", "drops"),
    ];
    let rows: Vec<(String, &str, &Runs)> = ALL
        .iter()
        .flat_map(|c| {
            COUNTS
                .iter()
                .map(move |n| (format!("{}, {n} users", title(c)), *c, o.get(&name(c, n))))
        })
        .collect();
    let mut checks = vec![];
    for n in COUNTS {
        let r = runs("xrc", n);
        let check = |what: String, reference, value: &str, tolerance| {
            Check::of(what, "", reference, r.estimate(value), tolerance)
                .profile("product")
                .source("XRC, eq. 1: the shares add up to the capacity")
        };
        checks.push(check(
            format!("sum of C_i over the cell, {n} users, steady"),
            1.0,
            "promised",
            Tolerance::Absolute(0.05),
        ));
        checks.push(
            Check::new(
                format!("sum of C_i over the cell, {n} users waking together, at most"),
                "",
                1.05,
                r.max("promised_wake"),
                None,
                Tolerance::AtMost,
            )
            .profile("product")
            .source("XRC, III-A: the agent \"avoids over-estimating\""),
        );
    }
    let mixed = o.get("ues/mixed");
    checks.push(
        Check::of(
            "five users with XRC beside five with CUBIC: their rate over an equal share",
            "",
            1.0,
            mixed.estimate("xrc_share"),
            Tolerance::Absolute(0.05),
        )
        .profile("product")
        .source("XRC, III-A: the agent does not change the scheduler's decisions"),
    );
    let x50 = runs("xrc", "50");
    Figure {
        title: "Beyond (b): many users, waking together".to_owned(),
        setup: "2, 10 and 50 users at 60 m, one flow each, all start at 1 s in an idle cell of 34 Mbit/s. Every user's fair \
                share counts idle blocks, so a careless agent promises the cell many times over."
            .to_owned(),
        claim: "The agent adds \"the fair share of the free resource blocks\" to what a user was given. (Measured with one user \
                only.)"
            .to_owned(),
        seen: format!(
            "With 50 users the sum of the promised rates is {:.3} of the cell in steady state and at most {:.2} after the wake-up; \
             the longest HoL delay then is {:.0} ms (CUBIC: {:.0}). Five users with XRC beside five with CUBIC get {:.3} of an \
             equal share.",
            x50.mean("promised"),
            x50.max("promised_wake"),
            x50.mean("hol_wake"),
            runs("cubic", "50").mean("hol_wake"),
            mixed.mean("xrc_share"),
        ),
        panels: vec![
            promised("product", "xrc"),
            promised("paper", "xrc-paper"),
            table("Users that wake together", "users", &columns, &rows),
        ],
        checks,
        ..Figure::default()
    }
}
