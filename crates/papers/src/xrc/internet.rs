//! The Internet bottleneck, which the paper describes and never measures.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/internet.toml");
const MOVING: &str = include_str!("../../scenarios/xrc/internet-moving.toml");

const ALL: [&str; 5] = ["xrc", "xrc-paper", "cubic", "reno", "bbr"];
const SHARED: [&str; 4] = ["xrc", "xrc-paper", "cubic", "reno"];
/// Buffers of the wired hop beside CUBIC: 50, 200 and 500 ms of 10 Mbit/s.
const BUFFERS: [(&str, &str); 3] = [
    ("50 ms", "62500 B"),
    ("200 ms", "250 kB"),
    ("500 ms", "625 kB"),
];
/// The second flow stays away for the run.
const AWAY: (&str, &str) = ("flow[1].start", "39999 ms");
/// What beside XRC fills the wired hop, and the part of it that XRC is to have: a target of ours.
const BESIDE: [&str; 2] = ["cubic", "reno"];
const SHARE: f64 = 0.4;
/// What the wired hop of 10 Mbit/s carries of payload.
const WIRED: f64 = 10.0 * 1448.0 / 1500.0;

/// What is measured for the abstract's first sentence on its results.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    for (ours, who) in OURS {
        for (label, _) in BUFFERS {
            let ms = label.replace(' ', "");
            all.push(Measure::new(format!("wired-fair-{ms}"), who, move |o| {
                let get = |c: &str| o.get(&format!("internet/shared-{c}-{ms}"));
                get(ours).ratio("jain", get("cubic"), "jain")
            }));
        }
    }
    all
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for c in ALL {
        for (key, limit) in [("deep", "625 kB"), ("shallow", "25 kB")] {
            let changes = [
                ("flow[0].controller", c),
                AWAY,
                ("wired.queue.limit", limit),
                agent(c),
            ];
            experiments.push(Experiment::new(
                format!("internet/{key}-{c}"),
                SCENARIO,
                changes,
                reduce,
            )?);
        }
        let name = format!("internet/moving-{c}");
        experiments.push(Experiment::new(
            name,
            MOVING,
            [("flow.controller", c), agent(c)],
            reduce,
        )?);
    }
    for c in SHARED {
        for (label, bytes) in BUFFERS {
            let name = format!("internet/shared-{c}-{}", label.replace(' ', ""));
            let changes = [
                ("flow[0].controller", c),
                ("wired.queue.limit", bytes),
                agent(c),
            ];
            experiments.push(Experiment::new(name, SCENARIO, changes, reduce)?);
        }
    }
    for (label, bytes) in BUFFERS {
        let name = format!("internet/shared-xrc-reno-{}", label.replace(' ', ""));
        let changes = [
            ("flow[0].controller", "xrc"),
            ("flow[1].controller", "reno"),
            ("wired.queue.limit", bytes),
        ];
        experiments.push(Experiment::new(name, SCENARIO, changes, reduce)?);
    }
    let two = [("flow[0].controller", "xrc"), ("flow[1].controller", "xrc")];
    experiments.push(Experiment::new("internet/two-xrc", SCENARIO, two, reduce)?);
    Ok(Part {
        id: "internet",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

/// The first five seconds are left out.
pub(super) fn reduce(run: &RunResult, out: &mut Outcome) {
    let end = m::end(run);
    let shared = run.layout.labels.len() > 1 && m::on(run, 1) < end - 1.0;
    let span = if shared { (10.0, end) } else { (5.0, end) };
    let rate = m::rate(run, 0, span);
    out.value("rate", Some(rate));
    out.value("used", Some(rate / WIRED));
    if shared {
        out.value("jain", m::jain_common(run, &[0, 1], span));
        out.value("share", Some(rate / (rate + m::rate(run, 1, span))));
    }
    out.value("drops", Some(m::dropped(run, 0) as f64));
    let wired = &run.records.flows[0].wired_delay;
    for (name, q) in [
        ("wired_p50", 0.5),
        ("wired_p80", 0.8),
        ("wired_p90", 0.9),
        ("wired_p99", 0.99),
    ] {
        out.value(
            name,
            wired
                .quantile(q)
                .map(slackwater_core::Duration::as_millis_f64),
        );
    }
    keep_hol(run, out, span);
    if out.is_drawn() {
        let label = title(&run.layout.controllers[0]);
        out.line("window", m::window_line(run, 0, label));
        out.line(
            "window",
            m::internal_line(run, 0, "twnd", 1.0, "target window"),
        );
        out.line("rate", m::capacity_line(run, PAYLOAD));
        out.line("rate", m::rate_line(run, 0, 2, label));
        for plot in ["window", "rate"] {
            out.track(plot, m::track(run, 0, label));
        }
    }
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 7] = [
        Entry::more("rate", "Mbit/s", "rate"),
        Entry::less("wired queue p50", "ms", "wired_p50"),
        Entry::less("wired queue p90", "ms", "wired_p90"),
        Entry::less("wired queue p99", "ms", "wired_p99"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::less("drops", "", "drops"),
        Entry::plain("share", "%", "share").times(100.0),
    ];
    let mut rows = vec![];
    for (key, what) in [
        ("deep", "deep buffer"),
        ("shallow", "20 ms buffer"),
        ("moving", "moving"),
    ] {
        for c in ALL {
            let runs = o.get(&format!("internet/{key}-{c}"));
            rows.push((format!("{}, {what}", title(c)), c, runs));
        }
    }
    for c in SHARED {
        for (label, _) in BUFFERS {
            let runs = o.get(&format!("internet/shared-{c}-{}", label.replace(' ', "")));
            rows.push((
                format!("{} beside CUBIC, {label} of buffer", title(c)),
                c,
                runs,
            ));
        }
    }
    rows.push((
        "two XRC, deep buffer".to_owned(),
        "xrc",
        o.get("internet/two-xrc"),
    ));
    let window = |id: &str, heading: &str, name: &str, plot: &str, axis: Axis| {
        let runs = o.get(name);
        Panel::new(
            id,
            heading,
            "",
            Drawing::Time {
                axis,
                lines: runs.lines(plot),
                tracks: runs.tracks(plot),
                guides: vec![],
            },
        )
    };
    let packets = || Axis::new("Window", "packets");
    let mbit = || Axis::new("Rate", "Mbit/s");
    let panels = vec![
        window(
            "deep",
            "Wired 10 Mbit/s, deep buffer: XRC",
            "internet/deep-xrc",
            "window",
            packets(),
        ),
        window(
            "deep-paper",
            "The same in the paper profile",
            "internet/deep-xrc-paper",
            "window",
            packets(),
        ),
        window(
            "moving",
            "The bottleneck moves every 5 s: XRC",
            "internet/moving-xrc",
            "rate",
            mbit(),
        ),
        window(
            "moving-cubic",
            "The same with CUBIC",
            "internet/moving-cubic",
            "rate",
            mbit(),
        ),
        table("Wired bottleneck", "controller", &columns, &rows),
    ];
    let (xrc, paper) = (o.get("internet/deep-xrc"), o.get("internet/deep-xrc-paper"));
    let check = |what: &str, unit, bound, runs: &Runs, value: &str, tolerance| {
        Check::of(what, unit, bound, runs.estimate(value), tolerance).profile("product")
    };
    let moving = o.get("internet/moving-xrc");
    let cubic = o.get("internet/moving-cubic");
    let shares = BESIDE.iter().flat_map(|other| {
        BUFFERS.iter().map(move |(label, _)| {
            let ms = label.replace(' ', "");
            let name = match *other {
                "cubic" => format!("internet/shared-xrc-{ms}"),
                other => format!("internet/shared-xrc-{other}-{ms}"),
            };
            let what = format!("share beside {}, {label} of buffer", title(other));
            let share = o.get(&name).estimate("share");
            Check::of(what, "", SHARE, share, Tolerance::AtLeast).profile("product")
        })
    });
    let mut checks = vec![
        check(
            "rate over the wired capacity, deep buffer",
            "",
            FULL,
            xrc,
            "used",
            Tolerance::AtLeast,
        )
        .source(GOAL_USE),
        check(
            "wired queue at 99 %",
            "ms",
            BUDGET_MS,
            xrc,
            "wired_p99",
            Tolerance::AtMost,
        )
        .source("XRC, IV-A: within the budget for 99 % of the time"),
        Check::of(
            "moving bottleneck: rate over CUBIC's",
            "",
            FULL,
            moving.ratio("rate", cubic, "rate"),
            Tolerance::AtLeast,
        )
        .profile("product")
        .source(GOAL_USE),
        check(
            "moving bottleneck: wired queue at 80 %",
            "ms",
            BUDGET_MS,
            moving,
            "wired_p80",
            Tolerance::AtMost,
        )
        .source("XRC, II: within the budget for 80 % of the time on a channel that changes"),
    ];
    checks.extend(shares);
    Figure {
        title: "Beyond (a): the bottleneck in the Internet".to_owned(),
        setup: "A wired hop of 10 Mbit/s in front of a radio of 34 Mbit/s, with a deep buffer (500 ms), a shallow one (20 ms), \
                beside CUBIC, and, at 20 Mbit/s, in turn with a radio that alternates between 34 and 9 Mbit/s every 5 s."
            .to_owned(),
        claim: "Where the HoL delay is low and the end-to-end delay is not, the bottleneck is in the Internet: XRC then acts as \
                standard TCP up to its target and keeps a steady rate. (Described, never measured.)"
            .to_owned(),
        seen: format!(
            "With the deep buffer XRC takes {:.2} Mbit/s and leaves {:.1} ms of wired queue at the median ({:.1} ms at 99 %); the \
             paper's words alone leave {:.0} ms. Where the bottleneck moves it gets {:.1} Mbit/s, CUBIC {:.1}, with {:.0} and \
             {:.0} ms of wired queue at 90 %. Beside CUBIC on the wired hop it gets {:.0}, {:.0} and {:.0} % at buffers \
             of 50, 200 and 500 ms, beside NewReno {:.0}, {:.0} and {:.0} %.",
            xrc.mean("rate"),
            xrc.mean("wired_p50"),
            xrc.mean("wired_p99"),
            paper.mean("wired_p50"),
            moving.mean("rate"),
            cubic.mean("rate"),
            moving.mean("wired_p90"),
            cubic.mean("wired_p90"),
            o.get("internet/shared-xrc-50ms").mean("share") * 100.0,
            o.get("internet/shared-xrc-200ms").mean("share") * 100.0,
            o.get("internet/shared-xrc-500ms").mean("share") * 100.0,
            o.get("internet/shared-xrc-reno-50ms").mean("share") * 100.0,
            o.get("internet/shared-xrc-reno-200ms").mean("share") * 100.0,
            o.get("internet/shared-xrc-reno-500ms").mean("share") * 100.0,
        ),
        panels,
        checks,
        ..Figure::default()
    }
}
