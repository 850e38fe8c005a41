//! Figure 3: throughput against the 95 % quantile of delay, stationary and moving.

use slackwater_report::{Cell, Column, Row, SummaryTable};
use slackwater_results::stats::{Estimate, Interval};

use super::links::experiment_name;
use super::prelude::*;
use super::{claims, links, stats};

/// One sender over one link.
pub(super) fn experiment(
    place: &Place,
    sender: &Sender,
    quick: bool,
) -> Result<Experiment, StudyError> {
    let around = Around {
        rtt: "40 ms",
        queue: "16000 packets",
        duration: length(quick),
    };
    let mut changes = vec![("flow.controller", sender.controller.as_str())];
    changes.extend(sender.changes);
    let name = experiment_name(place, &sender.id);
    let made = place.experiment(name, around, changes, keep);
    made.map(moved_by_seed)
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let places = links::all(options.quick)?;
    let senders = senders();
    let mut experiments = vec![];
    for place in &places {
        for sender in &senders {
            experiments.push(experiment(place, sender, options.quick)?);
        }
    }
    Ok(Part {
        id: "fig3",
        measures: claims::fig3(&places),
        experiments,
        draw: Box::new(move |o| draw(o, &places, &senders)),
    })
}

/// The values called `value` of `sender`, by place.
pub(super) fn strata(o: &Outcomes, places: &[&Place], sender: &str, value: &str) -> Vec<Vec<f64>> {
    let of = |p: &&Place| o.get(&experiment_name(p, sender)).values(value);
    places.iter().map(of).collect()
}

/// The quantile of delay as an interquartile mean of logarithms, ms.
fn delay(strata: &[Vec<f64>]) -> Option<Estimate> {
    let e = stats::estimate(strata)?;
    Some(Estimate {
        mean: libm::exp(e.mean),
        interval: e.interval.map(|i| Interval {
            low: libm::exp(i.low),
            high: libm::exp(i.high),
        }),
        n: e.n,
    })
}

/// `S` of `sender` less that of `base`, place by place over the seeds.
pub(super) fn ahead(o: &Outcomes, places: &[&Place], sender: &str, base: &str) -> Vec<f64> {
    let mean = |p: &&Place, who: &str| o.get(&experiment_name(p, who)).mean("score");
    places
        .iter()
        .map(|p| mean(p, sender) - mean(p, base))
        .filter(|d| d.is_finite())
        .collect()
}

/// `S` of Tyrus less that of `rule2`, seed by seed on one link.
fn over_rule2(o: &Outcomes, place: &Place) -> Option<Estimate> {
    let of = |who: &str| o.get(&experiment_name(place, who)).values("score");
    let pairs = of("tyrus").into_iter().zip(of("rule2"));
    let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
    Estimate::of(&differences)
}

/// Tyrus against `rule2` on each link: a mean over links hides on how many of them it is ahead.
fn by_link(o: &Outcomes, places: &[Place]) -> Panel {
    let mean = |p: &Place, who: &str, value: &str| o.get(&experiment_name(p, who)).mean(value);
    let rows = places.iter().map(|p| {
        let mut cells = vec![number(over_rule2(o, p))];
        for who in ["tyrus", "rule2"] {
            for (value, by) in [("used", 100.0), ("p95", 1.0)] {
                cells.push(Cell::from(mean(p, who, value) * by));
            }
        }
        Row {
            label: p.name.clone(),
            controller: "tyrus".to_owned(),
            cells,
        }
    });
    let summary = SummaryTable {
        caption: "Tyrus and rule2, link by link".to_owned(),
        row_heading: "link".to_owned(),
        columns: vec![
            Column::new(
                "S of Tyrus over rule2",
                "",
                Some(Better::Higher),
                "95 % interval over seeds",
            ),
            Column::new("Tyrus: used", "%", Some(Better::Higher), ""),
            Column::new("Tyrus: p95", "ms", Some(Better::Lower), ""),
            Column::new("rule2: used", "%", Some(Better::Higher), ""),
            Column::new("rule2: p95", "ms", Some(Better::Lower), ""),
        ],
        rows: rows.collect(),
    };
    Panel::new("by-link", "Link by link", "", Drawing::Table(summary)).wide()
}

/// What one scene shows of all senders.
struct Seen<'a> {
    places: Vec<&'a Place>,
    what: String,
}

fn number(e: Option<Estimate>) -> Cell {
    e.map_or(Cell::Missing, Cell::Number)
}

fn panels(o: &Outcomes, seen: &Seen<'_>, id: &str, senders: &[Sender]) -> Vec<Panel> {
    let used = |s: &Sender| {
        stats::estimate(&strata(o, &seen.places, &s.id, "used")).map(|e| e.scaled(100.0))
    };
    let rate = |s: &Sender| stats::estimate(&strata(o, &seen.places, &s.id, "rate"));
    let p95 = |s: &Sender| delay(&strata(o, &seen.places, &s.id, "ln_p95"));
    let score = |s: &Sender| Estimate::of(&ahead(o, &seen.places, &s.id, "rule2"));
    let points = senders.iter().filter_map(|s| {
        Some(TradeOffPoint {
            label: s.label.clone(),
            controller: s.colour.clone(),
            x: p95(s)?,
            y: used(s)?,
            samples: vec![],
        })
    });
    let rows = senders.iter().map(|s| Row {
        label: s.label.clone(),
        controller: s.colour.clone(),
        cells: vec![
            number(rate(s)),
            number(used(s)),
            number(p95(s)),
            number(score(s)),
        ],
    });
    let columns = vec![
        Column::new("throughput", "Mbit/s", Some(Better::Higher), ""),
        Column::new("used", "%", Some(Better::Higher), ""),
        Column::new("one-way p95", "ms", Some(Better::Lower), ""),
        Column::new(
            "S over rule2",
            "",
            Some(Better::Higher),
            "two standard errors over links",
        ),
    ];
    let summary = SummaryTable {
        caption: seen.what.clone(),
        row_heading: "sender".to_owned(),
        columns,
        rows: rows.collect(),
    };
    vec![
        Panel::new(
            &format!("{id}-scatter"),
            &seen.what,
            "Better is up and to the left.",
            Drawing::Scatter(TradeOff {
                x_label: "one-way p95".to_owned(),
                x_unit: "ms".to_owned(),
                y_label: "used".to_owned(),
                y_unit: "%".to_owned(),
                points: points.collect(),
            }),
        ),
        Panel::new(
            &format!("{id}-table"),
            &seen.what,
            "",
            Drawing::Table(summary),
        )
        .wide(),
    ]
}

/// Targets of one scene: against the rules that Tyrus corrects, and against one that has no report of PHY.
fn checks(o: &Outcomes, seen: &Seen<'_>) -> Vec<Check> {
    [
        ("rule", "rule"),
        ("rule2", "rule2"),
        ("rule2-acks", "rule2 without PHY"),
    ]
    .into_iter()
    .filter_map(|(who, label)| {
        let over = ahead(o, &seen.places, "tyrus", who);
        let ours = Estimate::of(&over)?;
        let what = format!("{}: S over {label}", seen.what);
        Some(Check::of(what, "", 0.0, Some(ours), Tolerance::AtLeast))
    })
    .collect()
}

fn draw(o: &Outcomes, places: &[Place], senders: &[Sender]) -> Figure {
    let mut panels_of = vec![];
    let mut verdicts = vec![];
    let mut words = vec![];
    for scene in Scene::ALL {
        for recorded in [true, false] {
            let chosen: Vec<&Place> = places
                .iter()
                .filter(|p| p.scene == scene && p.recorded == recorded)
                .collect();
            if chosen.is_empty() {
                continue;
            }
            let kind = if recorded { "recorded" } else { "own" };
            let names: Vec<&str> = chosen.iter().map(|p| p.name.as_str()).collect();
            let seen = Seen {
                what: format!("{}, {kind}", scene.name()),
                places: chosen.clone(),
            };
            let used = |who: &str| {
                stats::estimate(&strata(o, &seen.places, who, "used")).map_or(f64::NAN, |e| e.mean)
            };
            let p95 = |who: &str| {
                delay(&strata(o, &seen.places, who, "ln_p95")).map_or(f64::NAN, |e| e.mean)
            };
            words.push(format!(
                "{} ({}): Tyrus uses {:.1} % at {:.0} ms, rule2 {:.1} % at {:.0}, Vegas {:.1} % at {:.0}, BBR {:.1} % at {:.0}, \
                 CUBIC {:.1} % at {:.0}, Sprout {:.1} % at {:.0}.",
                seen.what,
                names.join(", "),
                used("tyrus") * 100.0,
                p95("tyrus"),
                used("rule2") * 100.0,
                p95("rule2"),
                used("vegas") * 100.0,
                p95("vegas"),
                used("bbr") * 100.0,
                p95("bbr"),
                used("cubic") * 100.0,
                p95("cubic"),
                used("sprout") * 100.0,
                p95("sprout"),
            ));
            panels_of.extend(panels(
                o,
                &seen,
                &format!("{}-{kind}", scene.name()),
                senders,
            ));
            verdicts.extend(checks(o, &seen));
        }
    }
    panels_of.push(by_link(o, places));
    for (recorded, kind) in [(true, "recorded"), (false, "own")] {
        let chosen = places.iter().filter(|p| p.recorded == recorded);
        let over: Vec<f64> = chosen
            .filter_map(|p| over_rule2(o, p))
            .map(|e| e.mean)
            .collect();
        if !over.is_empty() {
            let ahead = over.iter().filter(|d| **d > 0.0).count();
            let n = over.len();
            words.push(format!(
                "Of {n} {kind} links Tyrus is ahead of rule2 in S on {ahead}."
            ));
        }
    }
    Figure {
        title: "Figure 3: throughput and delay".to_owned(),
        setup: "One bulk flow, 40 ms of RTT, a queue of 16,000 packets (Mahimahi's default has no bound), on links that no policy \
                has seen. The reports ride on ACKs; the poster's network runs over quinn, with reports in datagrams."
            .to_owned(),
        claim: "Tyrus has competitive throughput compared to BBR, CUBIC and Vegas, is consistently better than Sprout, and its \
                delay is much better than BBR's, CUBIC's and Vegas'."
            .to_owned(),
        seen: words.join(" "),
        panels: panels_of,
        checks: verdicts,
        notes: links::missing().into_iter().collect(),
        ..Figure::default()
    }
}
