//! Figure 1: one flow on a channel that jumps every two seconds.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/fig1.toml");

const ALL: [&str; 9] = [
    "xrc",
    "xrc-paper",
    "cubic",
    "reno",
    "veno",
    "illinois",
    "cubic-ns3",
    "reno-ns3",
    "veno-ns3",
];

/// How long a place is kept, in seconds (`mobility.period` of the scenario).
const PERIOD: f64 = 2.0;

fn name(controller: &str) -> String {
    format!("fig1/{controller}")
}

/// What is measured for the claims of section II and Figure 1.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    for (ours, who) in OURS {
        all.push(Measure::new("fig1-within", who, move |o| {
            o.get(&name(ours)).estimate("hol_within")
        }));
        all.push(Measure::new("fig1-utilisation", who, move |o| {
            o.get(&name(ours)).estimate("utilisation")
        }));
        for other in ["cubic", "reno", "veno", "illinois"] {
            all.push(Measure::new(format!("fig1-order-{other}"), who, move |o| {
                let (ours, other) = (o.get(&name(ours)), o.get(&name(other)));
                other.ratio("hol_p90", ours, "hol_p90")
            }));
        }
        for other in ["cubic", "reno", "veno"] {
            let claim = format!("fig1-leaves-{other}");
            all.push(Measure::new(claim, who, move |o| {
                let (ours, other) = (o.get(&name(ours)), o.get(&name(other)));
                ours.ratio("utilisation", other, "utilisation")
            }));
        }
    }
    all.push(Measure::paper("fig1-illinois-adapts", |o| {
        let (illinois, cubic) = (o.get(&name("illinois")), o.get(&name("cubic")));
        illinois.ratio("utilisation", cubic, "utilisation")
    }));
    all
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let duration = if options.quick { "30 s" } else { "60 s" };
    let experiments = ALL
        .iter()
        .map(|c| {
            Experiment::new(
                name(c),
                SCENARIO,
                [("duration", duration), ("flow.controller", *c), agent(c)],
                reduce,
            )
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "fig1",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

pub(super) fn reduce(run: &RunResult, out: &mut Outcome) {
    let all = m::all(run);
    out.value("utilisation", m::utilisation(run, all));
    out.value("rate", Some(m::rate(run, 0, all)));
    out.value("drops", Some(m::dropped(run, 0) as f64));
    let late = late(run);
    out.value("late", m::mean(&late));
    out.value("late_p90", m::quantiles(&late).map(|q| q.p90));
    keep_hol(run, out, all);
    if out.is_drawn() {
        let label = title(&run.layout.controllers[0]);
        out.line("capacity", m::capacity_line(run, PAYLOAD));
        out.line("rate", m::rate_line(run, 0, 2, label));
        out.line("window", m::window_line(run, 0, "cwnd"));
        out.line(
            "window",
            m::internal_line(run, 0, "twnd", 1.0, "target window"),
        );
        out.track("window", m::track(run, 0, label));
        out.line("hol", m::hol_line(run, 0, label));
    }
}

/// After each fall of the capacity to less than 0.8 of what it was: how long until the delay had come back to the
/// budget and stayed there for 40 ms, less what a sender that stops at once would need, since the window of before
/// has to leave through the channel of now. In milliseconds; zero where the delay never left the budget.
fn late(run: &RunResult) -> Vec<f64> {
    let (_, end) = m::all(run);
    let steps = (end / PERIOD) as usize;
    let capacity = |from: f64| m::capacity(run, (from, from + 0.5)).unwrap_or(f64::NAN);
    let mut took = vec![];
    for k in 1..steps {
        let at = k as f64 * PERIOD;
        let after = capacity(at + 0.5);
        // Where a capacity is not known, neither is what it fell to.
        if after.is_nan() || after >= 0.8 * capacity(at - 0.5) {
            continue;
        }
        let hol = m::hol(run, 0, (at, at + PERIOD));
        let Some(first) = hol.iter().take(300).position(|h| *h > BUDGET_MS) else {
            took.push(0.0);
            continue;
        };
        let quiet = |i: usize| {
            let upto = (i + 40).min(hol.len());
            hol[i..upto].iter().all(|h| *h <= BUDGET_MS)
        };
        let back = (first..hol.len()).find(|i| quiet(*i)).unwrap_or(hol.len());
        let window = m::window(run, 0, (at - 0.01, at)).pop().unwrap_or(0.0);
        let drain = window * 1500.0 * 8.0 / (after * 1e3);
        let rtt = m::min_rtt(run, 0, (0.0, at)).unwrap_or(0.0);
        took.push((back as f64 - (drain - rtt).max(0.0)).max(0.0));
    }
    took
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str| o.get(&name(c));
    let drawn = |plot: &str, names: &[&str]| -> Vec<Line> {
        names.iter().flat_map(|c| runs(c).lines(plot)).collect()
    };
    let time = |axis: Axis, lines, tracks| Drawing::Time {
        axis,
        lines,
        tracks,
        guides: vec![],
    };
    let mut rates = runs("xrc").lines("capacity");
    rates.extend(drawn("rate", &["xrc", "cubic", "reno", "veno", "illinois"]));
    let panels = vec![
        Panel::new(
            "a",
            "(a) Achieved rate",
            "The grey area is what the channel could have carried.",
            time(Axis::new("Rate", "Mbit/s"), rates, vec![]),
        )
        .wide(),
        hol_cdf(
            "b",
            "(b) HoL delay",
            "",
            ALL.iter()
                .map(|c| runs(c).cdf("hol", title(c), c))
                .collect(),
        ),
        Panel::new(
            "hol",
            "HoL delay over time",
            "",
            time(
                Axis::new("HoL delay", "ms"),
                drawn("hol", &["cubic", "xrc"]),
                vec![],
            ),
        ),
        Panel::new(
            "window",
            "XRC's window and state",
            "The dotted curve is the target window (eq. 2), the strip the sender's state.",
            time(
                Axis::new("Window", "packets"),
                runs("xrc").lines("window"),
                runs("xrc").tracks("window"),
            ),
        )
        .wide(),
        Panel::new(
            "used",
            "Utilisation",
            "What was carried over what could have been.",
            Drawing::Bars {
                axis: Axis::new("Utilisation", "%").from(80.0).top(100.0),
                bars: ALL
                    .iter()
                    .filter_map(|c| bar("", title(c), c, runs(c), "utilisation", 100.0))
                    .collect(),
                guides: vec![],
            },
        ),
        Panel::new(
            "p90",
            "HoL delay, 90 %",
            "",
            Drawing::Bars {
                axis: Axis::new("HoL delay", "ms"),
                bars: ALL
                    .iter()
                    .filter_map(|c| bar("", title(c), c, runs(c), "hol_p90", 1.0))
                    .collect(),
                guides: vec![Guide::new(BUDGET_MS, "budget")],
            },
        ),
    ];
    let xrc = runs("xrc");
    Figure {
        title: "Figure 1: one flow on a varying channel".to_owned(),
        setup: "One user of a 10 MHz LTE cell jumps to a random distance every 2 s (60 to 600 m: 6.7 to 34 Mbit/s); the \
                queue holds 128 packets, the RTT without queue is 38 ms."
            .to_owned(),
        claim: "XRC constantly achieves close to the maximum rate and keeps the HoL delay within 10 ms at 80 % of the time. \
                CUBIC, NewReno and Veno respond alike, fail to use what becomes available, and suffer 400 ms at 90 %, an \
                order of magnitude more; Illinois adapts slightly better."
            .to_owned(),
        seen: format!(
            "XRC uses {:.1} % of the channel and is within 10 ms for {:.1} % of the time; at 90 % its HoL delay is {:.1} ms, \
             CUBIC's {:.0}, NewReno's {:.0}, Veno's {:.0}, Illinois' {:.0}. CUBIC uses {:.1} %, NewReno {:.1} %.",
            xrc.mean("utilisation") * 100.0,
            xrc.mean("hol_within") * 100.0,
            xrc.mean("hol_p90"),
            runs("cubic").mean("hol_p90"),
            runs("reno").mean("hol_p90"),
            runs("veno").mean("hol_p90"),
            runs("illinois").mean("hol_p90"),
            runs("cubic").mean("utilisation") * 100.0,
            runs("reno").mean("utilisation") * 100.0,
        ),
        panels,
        notes: vec![
            "400 ms at 90 % cannot come from the paper's own parameters: 128 packets of 1,500 bytes take 229 ms at \
             6.7 Mbit/s. It would need a channel below 3.8 Mbit/s, or a backlog outside the counted queue."
                .to_owned(),
            "The others do not starve here: with selective acknowledgments they refill the channel as Linux does. The \
             paper's ns-3 had senders without them."
                .to_owned(),
        ],
        ..Figure::default()
    }
}
