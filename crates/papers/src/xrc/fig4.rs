//! Figure 4: four flows of unlike RTTs join and leave.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/fig4.toml");

const ALL: [&str; 6] = [
    "xrc",
    "xrc-paper",
    "cubic",
    "reno",
    "illinois",
    "illinois-ns3",
];
/// All four are on; the last five seconds of settling are left out.
const FOUR: m::Span = (35.0, 70.0);

fn name(controller: &str, spread: bool) -> String {
    format!("fig4/{controller}{}", if spread { "" } else { "-same-rtt" })
}

/// What is measured for the claims of section IV-A.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    for (ours, who) in OURS {
        all.push(Measure::new("fig4-jain", who, move |o| {
            o.get(&name(ours, true)).estimate("jain")
        }));
        all.push(Measure::new("fig4-within", who, move |o| {
            o.get(&name(ours, true)).estimate("hol_within")
        }));
        all.push(Measure::new("fig4-same-rtt", who, move |o| {
            let (ours, cubic) = (o.get(&name(ours, false)), o.get(&name("cubic", false)));
            ours.ratio("jain", cubic, "jain")
        }));
    }
    all.push(Measure::paper("fig4-jain-cubic", |o| {
        o.get(&name("cubic", true)).estimate("jain")
    }));
    all.push(Measure::paper("fig4-jain-reno", |o| {
        o.get(&name("reno", true)).estimate("jain")
    }));
    all.push(Measure::paper("fig4-illinois-unfair", |o| {
        let (illinois, cubic) = (o.get(&name("illinois", true)), o.get(&name("cubic", true)));
        illinois.ratio("jain", cubic, "jain")
    }));
    all
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for c in ALL {
        experiments.push(Experiment::new(
            name(c, true),
            SCENARIO,
            [("flow.controller", c), agent(c)],
            reduce,
        )?);
        let changes = [("flow.controller", c), ("flow.rtt", "30 ms"), agent(c)];
        experiments.push(Experiment::new(name(c, false), SCENARIO, changes, reduce)?);
    }
    Ok(Part {
        id: "fig4",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

/// When the set of flows changes, and who is on after it.
const CHANGES: [(f64, &[usize]); 6] = [
    (10.0, &[0, 1]),
    (20.0, &[0, 1, 2]),
    (30.0, &[0, 1, 2, 3]),
    (70.0, &[1, 2, 3]),
    (80.0, &[2, 3]),
    (90.0, &[3]),
];

pub(super) fn reduce(run: &RunResult, out: &mut Outcome) {
    let four = [0, 1, 2, 3];
    out.value("jain", m::jain_common(run, &four, FOUR));
    out.value("jain_1s", m::jain_1s(run, &four, FOUR));
    out.value("jain_life", m::jain_life(run, &four));
    // Two, three and four flows, from the fifth second after each join.
    let parts = [(15.0, 20.0, 2), (25.0, 30.0, 3), (35.0, 70.0, 4)];
    let each: Vec<f64> = parts
        .iter()
        .filter_map(|(a, b, n)| m::jain_1s(run, &four[..*n], (*a, *b)))
        .collect();
    out.value("jain_1s_234", m::mean(&each));
    let mut worst: f64 = 0.0;
    let mut all = vec![];
    for (at, on) in CHANGES {
        // One flow alone shares with nobody.
        if on.len() < 2 {
            continue;
        }
        let settled = m::settling(run, on, at, at + 10.0, 0.20).unwrap_or(10.0);
        worst = worst.max(settled);
        all.push(settled);
    }
    out.value("settling", m::mean(&all));
    out.value("settling_worst", Some(worst));
    out.value("utilisation", m::utilisation(run, (1.0, 100.0)));
    let drops: u64 = four.iter().map(|i| m::dropped(run, *i)).sum();
    out.value("drops", Some(drops as f64));
    keep_hol(run, out, m::all(run));
    if out.is_drawn() {
        out.line("rate", m::capacity_line(run, PAYLOAD));
        for i in four {
            let label = &run.layout.labels[i];
            out.line("rate", m::rate_line(run, i, 5, label));
        }
        for i in four {
            out.track("rate", m::track(run, i, &run.layout.labels[i]));
        }
    }
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str| o.get(&name(c, true));
    let mut panels: Vec<Panel> = [
        ("a", "xrc"),
        ("b", "cubic"),
        ("c", "reno"),
        ("d", "illinois"),
    ]
    .into_iter()
    .map(|(id, c)| rate_panel(id, &format!("({id}) {}", title(c)), runs(c)))
    .collect();
    panels.push(hol_cdf(
        "hol",
        "HoL delay, the whole run",
        "",
        ALL.iter()
            .map(|c| runs(c).cdf("hol", title(c), c))
            .collect(),
    ));
    let bars = |value: &str| -> Vec<Bar> {
        [(true, "RTTs of 38, 48, 58, 68 ms"), (false, "RTT of 38 ms")]
            .into_iter()
            .flat_map(|(spread, group)| {
                ALL.iter().filter_map(move |c| {
                    bar(group, title(c), c, o.get(&name(c, spread)), value, 1.0)
                })
            })
            .collect()
    };
    panels.push(Panel::new(
        "jain",
        "Fairness (common, 35 to 70 s)",
        "",
        Drawing::Bars {
            axis: Axis::new("Jain", "").from(0.6).top(1.0),
            bars: bars("jain"),
            guides: vec![Guide::new(0.995, "paper: 0.995")],
        },
    ));
    panels.push(Panel::new(
        "settling",
        "Time to share alike after a join or leave (mean)",
        "From the change until every flow's rate over half a second stays within 20 % of the mean.",
        Drawing::Bars {
            axis: Axis::new("Time", "s"),
            bars: bars("settling"),
            guides: vec![Guide::new(1.0, "1 s")],
        },
    ));
    let xrc = runs("xrc");
    Figure {
        title: "Figure 4: four flows come and go".to_owned(),
        setup: "Four flows, 38, 48, 58 and 68 ms, join at 0, 10, 20 and 30 s and leave at 70, 80, 90 and 100 s; one user, one \
                queue of 128 packets, 34 Mbit/s."
            .to_owned(),
        claim: "XRC converges quickly to the fair share, with a Jain index of 99.5 % for four flows of unlike RTT, and within \
                10 ms at 99 % of the time. CUBIC (85.71 %) and NewReno (86.74 %) converge slowly; Illinois stays unfair. The \
                same holds with equal RTTs."
            .to_owned(),
        seen: format!(
            "XRC: Jain {:.4} (common), {:.4} (mean of 1 s), {:.4} (life); {:.1} % of the time within 10 ms, 99 % at {:.1} ms; \
             shares are equal {:.2} s after a change, at worst {:.1} s; {:.1} drops a run. CUBIC {:.3} / {:.3} / {:.3}, NewReno \
             {:.3} / {:.3} / {:.3}.",
            xrc.mean("jain"),
            xrc.mean("jain_1s"),
            xrc.mean("jain_life"),
            xrc.mean("hol_within") * 100.0,
            xrc.mean("hol_p99"),
            xrc.mean("settling"),
            xrc.max("settling_worst"),
            xrc.mean("drops"),
            runs("cubic").mean("jain"),
            runs("cubic").mean("jain_1s"),
            runs("cubic").mean("jain_life"),
            runs("reno").mean("jain"),
            runs("reno").mean("jain_1s"),
            runs("reno").mean("jain_life"),
        ),
        panels,
        notes: vec![
            "Over their lives the four cannot be equal: the first and the last have the link to themselves for 10 s. Equal \
             shares at all times give an index of 0.9825 for that reading."
                .to_owned(),
            "The paper does not say over which time its indices are taken. For one and the same ns-3 run of CUBIC the three \
             readings give 0.875, 0.930 and 0.945: an index without its definition says little."
                .to_owned(),
        ],
        ..Figure::default()
    }
}
