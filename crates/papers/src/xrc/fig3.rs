//! Figure 3: XRC's window alone, beside Illinois, beside CUBIC.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/fig3.toml");

/// First flow, second flow.
const PAIRS: [(&str, &str); 6] = [
    ("xrc", "illinois"),
    ("xrc", "illinois-ns3"),
    ("xrc-paper", "illinois"),
    ("xrc", "cubic"),
    ("xrc-paper", "cubic"),
    ("cubic", "cubic"),
];
const ALONE: [&str; 2] = ["xrc", "xrc-paper"];

fn name(first: &str, other: &str) -> String {
    format!("fig3/{first}-{other}")
}

fn alone(controller: &str) -> String {
    format!("fig3/{controller}-alone")
}

/// What is measured for the four sentences on Figure 3, and for what section III-B says of the rise to the target.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    for (ours, who) in OURS {
        for (claim, value) in [
            ("fig3-rounds", "rounds"),
            ("fig3-slow", "slope"),
            ("fig3-budget", "sigma"),
            ("fig3-reset", "reset"),
        ] {
            all.push(Measure::new(claim, who, move |o| {
                o.get(&alone(ours)).estimate(value)
            }));
        }
        let beside = move |o: &Outcomes, other: &str| o.get(&name(ours, other)).clone();
        all.push(Measure::new("fig3-longer", who, move |o| {
            beside(o, "illinois").ratio("period_early", o.get(&alone(ours)), "period")
        }));
        for (claim, other, value) in [
            ("fig3-full", "illinois", "utilisation_early"),
            ("fig3-coexists", "illinois", "jain_late"),
            ("fig3-periodic", "cubic", "irregular"),
            ("fig3-slows", "cubic", "other_of_share"),
        ] {
            all.push(Measure::new(claim, who, move |o| {
                beside(o, other).estimate(value)
            }));
        }
        all.push(Measure::new("fig3-low", who, move |o| {
            beside(o, "cubic").ratio("hol_mean", o.get(&name("cubic", "cubic")), "hol_mean")
        }));
    }
    all
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for c in ALONE {
        // The second flow stays away for the run.
        let changes = [
            ("flow[0].controller", c),
            ("duration", "10 s"),
            ("flow[1].start", "9999 ms"),
            agent(c),
        ];
        experiments.push(Experiment::new(alone(c), SCENARIO, changes, reduce_alone)?);
    }
    for (first, other) in PAIRS {
        let changes = [
            ("flow[0].controller", first),
            ("flow[1].controller", other),
            agent(first),
        ];
        experiments.push(Experiment::new(
            name(first, other),
            SCENARIO,
            changes,
            reduce,
        )?);
    }
    Ok(Part {
        id: "fig3",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

/// The steady part of the time alone.
const STEADY: m::Span = (2.0, 9.0);

pub(super) fn reduce_alone(run: &RunResult, out: &mut Outcome) {
    let window = m::window(run, 0, STEADY);
    let target = m::mean(&m::internal(run, 0, "twnd", STEADY));
    if let (Some(q), Some(target)) = (m::quantiles(&window), target) {
        out.value("low", Some(q.min / target));
        // λ·C: what the budget holds, in packets of the link's rate.
        let capacity = m::capacity(run, STEADY).unwrap_or(f64::NAN) * PAYLOAD;
        let budget = BUDGET_MS * 1e-3 * capacity * 1e6 / (8.0 * 1448.0);
        out.value("swing", Some((q.max - q.min) / budget));
    }
    let resets = resets(run, STEADY);
    if !resets.is_empty() {
        out.value("period", Some(period(&resets, STEADY)));
    }
    let at_resets = |name: &str| -> Vec<f64> {
        let values = m::internal(run, 0, name, STEADY);
        resets.iter().map(|k| values[*k]).collect()
    };
    let sigma = at_resets("sigma");
    out.value("sigma", m::mean(&sigma).map(|s| s * 1e3));
    if let Some(q) = m::quantiles(&sigma) {
        out.value("sigma_least", Some(q.min * 1e3));
        out.value("sigma_most", Some(q.max * 1e3));
    }
    let above: Vec<f64> = at_resets("cwnd")
        .iter()
        .zip(at_resets("twnd"))
        .map(|(window, target)| window - target)
        .collect();
    out.value("reset", m::mean(&above));
    out.value("slope", slope(run));
    out.value("rounds", reached(run));
    keep_hol(run, out, STEADY);
    keep_window(run, out);
}

/// The samples of `span`, counted from its first, at which the window was taken back to its target.
fn resets(run: &RunResult, span: m::Span) -> Vec<usize> {
    let modes = m::internal(run, 0, "mode", span);
    let Some(reset) = mode(run, 0, "RESET") else {
        return vec![];
    };
    (1..modes.len())
        .filter(|k| modes[k - 1] != reset && modes[*k] == reset)
        .collect()
}

/// Seconds from reset to reset; the whole span where there was none or one, which is no more than the truth.
fn period(resets: &[usize], span: m::Span) -> f64 {
    (span.1 - span.0) / resets.len().max(1) as f64
}

/// Segments that the window grows by in a window of data, while it probes above its target.
fn slope(run: &RunResult) -> Option<f64> {
    let probe = mode(run, 0, "PROBE")?;
    let of = |name: &str| m::internal(run, 0, name, STEADY);
    let (modes, windows, rounds) = (of("mode"), of("cwnd"), of("rounds"));
    let (mut grown, mut took) = (0.0, 0.0);
    for k in 1..modes.len() {
        if modes[k - 1] == probe && modes[k] == probe {
            grown += windows[k] - windows[k - 1];
            took += rounds[k] - rounds[k - 1];
        }
    }
    (took > 0.0).then(|| grown / took)
}

/// RTTs from the first report until the window is at the target: packets are whole, so less than a segment below is at it.
fn reached(run: &RunResult) -> Option<f64> {
    let span = (0.0, 2.0);
    let step = 1e-3 * (run.records.interval().as_millis_f64());
    let rates = m::internal(run, 0, "R_exp", span);
    let targets = m::internal(run, 0, "twnd", span);
    let windows = m::internal(run, 0, "cwnd", span);
    let first = rates.iter().position(|r| *r > 0.0)?;
    let there = (first..targets.len().min(windows.len()))
        .find(|i| targets[*i] > 0.0 && windows[*i] + 1.0 > targets[*i])?;
    let rtt = m::min_rtt(run, 0, span)? * 1e-3;
    Some((there - first) as f64 * step / rtt)
}

pub(super) fn reduce(run: &RunResult, out: &mut Outcome) {
    let (from, to) = m::life(run, 1);
    // "between 5-15 secs" and "between 15-30 secs" (XRC, III-B).
    let (early, late) = ((from, 15.0), (15.0, to));
    out.value("utilisation_early", m::utilisation(run, early));
    let turns = resets(run, early);
    out.value("period_early", Some(period(&turns, early)));
    let step = run.records.interval().as_secs_f64();
    let longest = turns.windows(2).map(|w| w[1] - w[0]).max();
    out.value("longest", longest.map(|n| n as f64 * step));
    let ratio = m::rate(run, 0, late) / m::rate(run, 1, late);
    out.value("xrc_over_other", Some(ratio));
    out.value("even", m::settling(run, &[0, 1], from, to, 0.2));
    out.value("jain_late", m::jain_common(run, &[0, 1], late));
    let rates = [0, 1].map(|i| m::rate(run, i, (from, to)));
    let share = f64::midpoint(rates[0], rates[1]);
    out.value("other_of_share", Some(rates[1] / share));
    let losses = episodes(run, 1);
    out.value("episodes", Some(losses.len() as f64));
    out.value("irregular", irregular(&losses));
    keep_hol(run, out, (from, to));
    keep_window(run, out);
}

/// When flow `i` lost packets, losses less than 200 ms apart counted as one.
fn episodes(run: &RunResult, i: usize) -> Vec<f64> {
    let mut found: Vec<f64> = vec![];
    let mut last = f64::NEG_INFINITY;
    for t in &run.records.flows[i].drop_times {
        let t = t.as_secs_f64();
        if t - last > 0.2 {
            found.push(t);
        }
        last = t;
    }
    found
}

/// Standard deviation over mean of the intervals between `times`: 0 of a clock, 1 of a Poisson process, which has no period. `None`
/// where there are fewer than three intervals.
fn irregular(times: &[f64]) -> Option<f64> {
    let intervals: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let mean = m::mean(&intervals).filter(|_| intervals.len() > 2)?;
    let squares: f64 = intervals.iter().map(|x| (x - mean).powi(2)).sum();
    Some((squares / (intervals.len() - 1) as f64).sqrt() / mean)
}

fn keep_window(run: &RunResult, out: &mut Outcome) {
    if !out.is_drawn() {
        return;
    }
    let controllers = &run.layout.controllers;
    out.line("window", m::window_line(run, 0, title(&controllers[0])));
    out.line(
        "window",
        m::internal_line(run, 0, "twnd", 1.0, "target window"),
    );
    if m::on(run, 1) < 9.0 {
        out.line("window", m::window_line(run, 1, title(&controllers[1])));
    }
    out.track("window", m::track(run, 0, title(&controllers[0])));
    out.line(
        "hol",
        m::hol_line(
            run,
            0,
            &format!("{} / {}", title(&controllers[0]), title(&controllers[1])),
        ),
    );
}

fn draw(o: &Outcomes) -> Figure {
    let window = |id: &str, heading: &str, help: &str, runs: &Runs| {
        Panel::new(
            id,
            heading,
            help,
            Drawing::Time {
                axis: Axis::new("Window", "packets"),
                lines: runs.lines("window"),
                tracks: runs.tracks("window"),
                guides: vec![],
            },
        )
        .wide()
    };
    let states =
        "Behind the curves and in the strip: XRC's state. Dotted: its target window (eq. 2).";
    let panels = vec![
        window("alone", "XRC alone", states, o.get(&alone("xrc"))),
        window(
            "a",
            "(a) XRC, joined by Illinois at 5 s",
            states,
            o.get(&name("xrc", "illinois")),
        ),
        window(
            "b",
            "(b) XRC, joined by CUBIC at 5 s",
            states,
            o.get(&name("xrc", "cubic")),
        ),
        hol_cdf(
            "hol",
            "HoL delay from 5 s on",
            "",
            PAIRS
                .iter()
                .map(|(a, b)| {
                    let label = format!("{} / {}", title(a), title(b));
                    let mut curve =
                        o.get(&name(a, b))
                            .cdf("hol", &label, if *a == "cubic" { a } else { b });
                    curve.side = *a != "xrc";
                    curve
                })
                .collect(),
        ),
        Panel::new(
            "time",
            "HoL delay over time",
            "",
            Drawing::Time {
                axis: Axis::new("HoL delay", "ms"),
                lines: [("cubic", "cubic"), ("xrc", "cubic")]
                    .iter()
                    .flat_map(|(a, b)| o.get(&name(a, b)).lines("hol"))
                    .collect(),
                tracks: vec![],
                guides: vec![Guide::new(BUDGET_MS, "budget")],
            },
        ),
    ];
    let (one, xi, xc) = (
        o.get(&alone("xrc")),
        o.get(&name("xrc", "illinois")),
        o.get(&name("xrc", "cubic")),
    );
    Figure {
        title: "Figure 3: the window, alone and beside others".to_owned(),
        setup: "XRC starts on an idle link of 34 Mbit/s; at 5 s a flow joins whose slow-start threshold is one segment, so \
                that it begins in congestion avoidance. 30 s."
            .to_owned(),
        claim: "(1) Alone: the target window is reached quickly, then probed above until the queue reaches its budget, then \
                reset: a sawtooth. (2) Beside a flow that is slow to take its share (Illinois, 5 to 15 s) XRC keeps the link \
                full. (3) Beside one that respects its share (15 to 30 s): equal rates. (4) Beside CUBIC: periodic losses that \
                make CUBIC slow down, and a low queue."
            .to_owned(),
        seen: format!(
            "Alone the window reaches its target {:.1} RTTs after the first report and swings by {:.2} of λ·C every \
             {:.2} s. The longest swing beside Illinois, from 5 to 15 s, takes {:.2} s. The link is {:.1} % full between 5 and 15 s; then XRC has {:.2} of Illinois' rate. \
             Beside CUBIC the mean HoL delay is {:.1} ms, and CUBIC loses {:.0} times in 25 s.",
            one.mean("rounds"),
            one.mean("swing"),
            one.mean("period"),
            xi.mean("longest"),
            xi.mean("utilisation_early") * 100.0,
            xi.mean("xrc_over_other"),
            xc.mean("hol_mean"),
            xc.mean("episodes"),
        ),
        panels,
        ..Figure::default()
    }
}
