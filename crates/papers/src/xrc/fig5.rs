//! Figure 5: a bulk flow joined by another after 5 s, XRC or CUBIC first.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/fig5.toml");

/// Who joins. The paper has the first four; Illinois in two forms, for Linux' and ns-3's differ.
const OTHERS: [&str; 8] = [
    "cubic",
    "reno",
    "veno",
    "illinois",
    "illinois-ns3",
    "vegas",
    "westwood",
    "bbr",
];
/// Those that the paper's claim covers.
const CLAIMED: usize = 5;
const FIRST: [&str; 3] = ["xrc", "xrc-paper", "cubic"];

fn name(first: &str, other: &str) -> String {
    format!("fig5/{first}-{other}")
}

/// What is measured for the claims of the abstract and of section IV-B.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    for (ours, who) in OURS {
        let get = move |o: &Outcomes, other: &str| o.get(&name(ours, other)).clone();
        all.push(Measure::new("fig5-jain-cubic", who, move |o| {
            get(o, "cubic").estimate("jain")
        }));
        all.push(Measure::new("fig5-median-cubic", who, move |o| {
            o.get(&name("cubic", "cubic"))
                .ratio("hol_p50", &get(o, "cubic"), "hol_p50")
        }));
        all.push(Measure::new("fig5-bbr", who, move |o| {
            get(o, "bbr").ratio("jain", &get(o, "illinois"), "jain")
        }));
        for other in ["cubic", "veno", "reno", "illinois"] {
            all.push(Measure::new(
                format!("fig5-within-{other}"),
                who,
                move |o| get(o, other).estimate("hol_within"),
            ));
            for q in ["p50", "p90"] {
                let claim = format!("fig5-{q}-{other}");
                all.push(Measure::new(claim, who, move |o| {
                    let value = format!("hol_{q}");
                    get(o, other).ratio(&value, o.get(&name("cubic", other)), &value)
                }));
            }
            let claim = format!("fig5-fairer-{other}");
            all.push(Measure::new(claim, who, move |o| {
                get(o, other).ratio("jain", o.get(&name("cubic", other)), "jain")
            }));
            let claim = format!("fig5-unharmed-{other}");
            all.push(Measure::new(claim, who, move |o| {
                get(o, other).estimate("other_of_half")
            }));
        }
        for other in ["veno", "reno", "illinois"] {
            let claim = format!("fig5-perfect-{other}");
            all.push(Measure::new(claim, who, move |o| {
                get(o, other).estimate("jain")
            }));
        }
    }
    for other in ["veno", "reno"] {
        all.push(Measure::paper(format!("fig5-worst-{other}"), move |o| {
            let cubic = |other: &str| o.get(&name("cubic", other)).clone();
            cubic("illinois").ratio("jain", &cubic(other), "jain")
        }));
    }
    all
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let duration = if options.quick { "20 s" } else { "60 s" };
    let mut experiments = vec![];
    for first in FIRST {
        for other in OTHERS {
            experiments.push(Experiment::new(
                name(first, other),
                SCENARIO,
                [
                    ("duration", duration),
                    ("flow[0].controller", first),
                    ("flow[1].controller", other),
                    agent(first),
                ],
                reduce,
            )?);
        }
    }
    Ok(Part {
        id: "fig5",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

pub(super) fn reduce(run: &RunResult, out: &mut Outcome) {
    let common = m::life(run, 1);
    out.value("jain", m::jain_common(run, &[0, 1], common));
    out.value("jain_1s", m::jain_1s(run, &[0, 1], common));
    let rates = [0, 1].map(|i| m::rate(run, i, common));
    out.value("share", Some(rates[0] / (rates[0] + rates[1])));
    out.value("utilisation", m::utilisation(run, common));
    let half = m::capacity(run, common).map(|c| c * PAYLOAD / 2.0);
    out.value("other_of_half", half.map(|half| rates[1] / half));
    for i in [0, 1] {
        let (lost, sent) = m::drops(run, i);
        out.value(format!("loss_{i}"), Some(lost as f64 / sent.max(1) as f64));
    }
    keep_hol(run, out, common);
    keep_rates(run, out, 5);
    out.track("rate", m::track(run, 0, title(&run.layout.controllers[0])));
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |first: &str, other: &str| o.get(&name(first, other));
    let heading = |first: &str, other: &str| format!("{} joined by {}", title(first), title(other));
    let mut panels: Vec<Panel> = [
        ("a", "xrc", "cubic"),
        ("b", "xrc", "veno"),
        ("c", "cubic", "reno"),
        ("d", "cubic", "illinois"),
        ("e", "xrc", "illinois"),
        ("f", "xrc", "bbr"),
    ]
    .into_iter()
    .map(|(id, a, b)| rate_panel(id, &heading(a, b), runs(a, b)))
    .collect();
    let mut cdfs = vec![];
    for other in &OTHERS[..CLAIMED] {
        let label = |first: &str| format!("{} / {}", title(first), title(other));
        cdfs.push(runs("xrc", other).cdf("hol", &label("xrc"), other));
        let mut base = runs("cubic", other).cdf("hol", &label("cubic"), other);
        base.side = true;
        cdfs.push(base);
    }
    panels.push(hol_cdf(
        "hol",
        "HoL delay while both are on",
        "Full curves: XRC beside each; dotted: CUBIC beside each. The colour is the other flow's.",
        cdfs,
    ).wide());
    let bars = |value: &str, scale: f64| -> Vec<Bar> {
        let all = FIRST
            .iter()
            .flat_map(|first| OTHERS.iter().map(move |other| (*first, *other)));
        all.filter_map(|(first, other)| {
            let group = format!("{} joined by", title(first));
            bar(
                &group,
                title(other),
                other,
                runs(first, other),
                value,
                scale,
            )
        })
        .collect()
    };
    panels.push(Panel::new(
        "jain",
        "Fairness (common)",
        "Jain's index of the bytes that both delivered while both were on.",
        Drawing::Bars {
            axis: Axis::new("Jain", "").from(0.8).top(1.0),
            bars: bars("jain", 1.0),
            guides: vec![Guide::new(0.995, "0.995")],
        },
    ));
    panels.push(Panel::new(
        "within",
        "Time with HoL delay within 10 ms",
        "",
        Drawing::Bars {
            axis: Axis::new("Share of time", "%").top(100.0),
            bars: bars("hol_within", 100.0),
            guides: vec![],
        },
    ));
    Figure {
        title: "Figure 5: two bulk flows".to_owned(),
        setup: "One LTE user at 34 Mbit/s, a queue of 128 packets, 38 ms. A bulk flow starts at 0.5 s, another joins at \
                5.5 s; both run to the end."
            .to_owned(),
        claim: "XRC shares fairly with every TCP variant (99.7 % with CUBIC) and keeps the queue within 10 ms for almost \
                70 % of the time; at the median and at 90 % the HoL delay is less than half of what CUBIC makes of it, \
                the median 3 times lower for CUBIC against CUBIC."
            .to_owned(),
        seen: seen(o),
        panels,
        ..Figure::default()
    }
}

fn seen(o: &Outcomes) -> String {
    let xc = o.get(&name("xrc", "cubic"));
    let cc = o.get(&name("cubic", "cubic"));
    let least = OTHERS[..CLAIMED]
        .iter()
        .map(|other| o.get(&name("xrc", other)).mean("jain"))
        .fold(f64::NAN, f64::min);
    format!(
        "Beside CUBIC: Jain {:.4} (common), {:.0} % of the time within 10 ms, median {:.1} ms against {:.1} ms when CUBIC \
         meets CUBIC. The least fair of the five pairs: {least:.4}.",
        xc.mean("jain"),
        xc.mean("hol_within") * 100.0,
        xc.mean("hol_p50"),
        cc.mean("hol_p50"),
    )
}
