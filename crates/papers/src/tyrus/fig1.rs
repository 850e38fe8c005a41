//! Figure 1: a download of 100 MB over a driving trace.

use super::links;
use super::prelude::*;

/// The poster's four, and what it proposes.
const WHO: [&str; 5] = ["bbr", "cubic", "claw", "sprout", "tyrus"];

/// What is downloaded, and how long a run may take; a look takes a fifth of the file.
const fn file(quick: bool) -> (&'static str, &'static str) {
    if quick {
        ("20 MB", "100 s")
    } else {
        ("100 MB", "400 s")
    }
}

/// The download with `changes`.
pub(super) fn experiment<'a>(
    place: &Place,
    name: String,
    changes: impl IntoIterator<Item = (&'a str, &'a str)>,
    quick: bool,
) -> Result<Experiment, StudyError> {
    let (bytes, duration) = file(quick);
    let around = Around {
        rtt: "40 ms",
        queue: "16000 packets",
        duration,
    };
    let app = [
        ("flow.app.kind", "transfers"),
        ("flow.app.min", bytes),
        ("flow.app.max", bytes),
        ("flow.app.count", "1"),
    ];
    let made = place.experiment(name, around, app.into_iter().chain(changes), reduce);
    made.map(moved_by_seed)
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let place = links::drive()?;
    let experiments = WHO
        .iter()
        .map(|c| {
            let change = [("flow.controller", *c)];
            experiment(&place, format!("fig1/{c}"), change, options.quick)
        })
        .collect::<Result<_, _>>()?;
    let (bytes, _) = file(options.quick);
    Ok(Part {
        id: "fig1",
        measures: measures(),
        experiments,
        draw: Box::new(move |o| draw(o, &place, bytes)),
    })
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    let from = m::on(run, 0);
    let took = m::transfer_times(run, 0).first().map(|ms| ms * 1e-3);
    out.value("took", took);
    let span = (from, from + took.unwrap_or(m::off(run, 0) - from));
    out.value("rate", Some(m::rate(run, 0, span)));
    out.value("capacity", m::capacity(run, span));
    out.value("used", m::utilisation(run, span));
    let delays = &run.records.flows[0].one_way;
    for (name, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        let delay = delays.quantile(q);
        out.value(name, delay.map(slackwater_core::Duration::as_millis_f64));
    }
    if out.is_drawn() {
        let label = title(&run.layout.controllers[0]);
        out.line("capacity", m::capacity_line(run, PACKET / 1500.0));
        out.line("rate", m::rate_line(run, 0, 5, label));
        out.line("hol", m::hol_line(run, 0, label));
    }
}

/// The poster draws no Tyrus here: what it says is of the others.
fn measures() -> Vec<Measure> {
    let ratio = |claim, who: &'static str, of: &'static str, value: &'static str| {
        Measure::product(claim, move |o| {
            let other = o.get(&format!("fig1/{of}"));
            o.get(&format!("fig1/{who}")).ratio(value, other, value)
        })
    };
    let used = |claim, who: &'static str| {
        Measure::product(claim, move |o| {
            o.get(&format!("fig1/{who}")).estimate("used")
        })
    };
    vec![
        used("fig1-bbr-leaves", "bbr"),
        used("fig1-cubic-leaves", "cubic"),
        used("fig1-claw-gap", "claw"),
        ratio("fig1-sprout-delay-bbr", "sprout", "bbr", "p95"),
        ratio("fig1-sprout-delay-cubic", "sprout", "cubic", "p95"),
        ratio("fig1-sprout-rate-bbr", "sprout", "bbr", "rate"),
        ratio("fig1-sprout-rate-cubic", "sprout", "cubic", "rate"),
    ]
}

fn draw(o: &Outcomes, place: &Place, bytes: &str) -> Figure {
    let runs = |c: &str| o.get(&format!("fig1/{c}"));
    let drawn =
        |plot: &str| -> Vec<Line> { WHO.iter().flat_map(|c| runs(c).lines(plot)).collect() };
    let time = |axis, lines| Drawing::Time {
        axis,
        lines,
        tracks: vec![],
        guides: vec![],
    };
    let mut rates = runs("cubic").lines("capacity");
    rates.extend(drawn("rate"));
    let columns: [Entry; 5] = [
        Entry::more("throughput", "Mbit/s", "rate"),
        Entry::more("used", "%", "used").times(100.0),
        Entry::less("one-way p50", "ms", "p50"),
        Entry::less("one-way p95", "ms", "p95"),
        Entry::less("download", "s", "took"),
    ];
    let rows: Vec<(String, &str, &Runs)> = WHO
        .iter()
        .map(|c| (title(c).to_owned(), *c, runs(c)))
        .collect();
    let (bbr, cubic, claw, sprout) = (runs("bbr"), runs("cubic"), runs("claw"), runs("sprout"));
    Figure {
        title: "Figure 1: a download over a driving trace".to_owned(),
        setup: format!(
            "{bytes} over {} ({}), 40 ms of RTT, a queue of 16,000 packets. The poster replays a Verizon LTE driving trace that \
             is in no public copy that we found; this is another drive.",
            place.name,
            if place.recorded { "a recording" } else { "a link of our own" },
        ),
        claim: "BBR and CUBIC fill the queue; Sprout's delay is low and consistent and its throughput is sacrificed; CLAW's \
                throughput has a clear gap with the capacity."
            .to_owned(),
        seen: format!(
            "One-way p95: CUBIC {:.0} ms, BBR {:.0}, CLAW {:.0}, Sprout {:.0}, Tyrus {:.0}. Used: {:.1} %, {:.1}, {:.1}, {:.1}, \
             {:.1}.",
            cubic.mean("p95"),
            bbr.mean("p95"),
            claw.mean("p95"),
            sprout.mean("p95"),
            runs("tyrus").mean("p95"),
            cubic.mean("used") * 100.0,
            bbr.mean("used") * 100.0,
            claw.mean("used") * 100.0,
            sprout.mean("used") * 100.0,
            runs("tyrus").mean("used") * 100.0,
        ),
        panels: vec![
            Panel::new(
                "a",
                "(a) Throughput",
                "Over 500 ms; the grey area is what the link could have carried.",
                time(Axis::new("Rate", "Mbit/s"), rates),
            )
            .wide(),
            Panel::new(
                "b",
                "(b) Queue delay",
                "",
                time(Axis::new("Delay", "ms").top(2000.0), drawn("hol")),
            )
            .wide(),
            table("table", "The download", "sender", &columns, &rows).wide(),
        ],
        notes: links::missing().into_iter().collect(),
        ..Figure::default()
    }
}
