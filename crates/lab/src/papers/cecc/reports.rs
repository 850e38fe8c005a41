//! Beyond the paper: reports that come less often, late, or not at all.

use super::prelude::*;
use super::satisfied::{PLACES, Way, experiment};

const HOLD: (&str, &str) = ("upf.cecc", "hold");
const CREDIT: (&str, &str) = ("upf.cecc", "credit");

const WAYS: [Way; 11] = [
    ("off", "CUBIC alone", "cubic", &[]),
    ("1ms", "each 1 ms", "cecc", &[HOLD]),
    (
        "2ms",
        "each 2 ms",
        "cecc",
        &[HOLD, ("upf.report_period", "2 ms")],
    ),
    (
        "5ms",
        "each 5 ms",
        "cecc",
        &[HOLD, ("upf.report_period", "5 ms")],
    ),
    (
        "10ms",
        "each 10 ms (passes)",
        "cecc",
        &[HOLD, ("upf.report_period", "10 ms")],
    ),
    (
        "late",
        "2 ms late",
        "cecc",
        &[HOLD, ("upf.report_delay", "2 ms")],
    ),
    (
        "jitter",
        "0 to 2 ms late",
        "cecc",
        &[HOLD, ("upf.report_jitter", "2 ms")],
    ),
    (
        "loss10",
        "10 % lost",
        "cecc",
        &[HOLD, ("upf.report_loss", "10 %")],
    ),
    (
        "loss50",
        "50 % lost",
        "cecc",
        &[HOLD, ("upf.report_loss", "50 %")],
    ),
    (
        "cut",
        "cut off at 1 s",
        "cecc",
        &[HOLD, ("upf.report_stop", "1 s")],
    ),
    (
        "cut-credit",
        "credit, cut off at 1 s",
        "xrc",
        &[CREDIT, ("upf.report_stop", "1 s")],
    ),
];

fn name(way: &str) -> String {
    format!("reports/{way}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let experiments = WAYS
        .iter()
        .map(|way| experiment(options, &PLACES[1], way, "6", name(way.0), keep))
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "reports",
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |way: &str| o.get(&name(way));
    let columns: [Entry; 5] = [
        (
            "satisfied, network",
            "of 6",
            "net_steady",
            1.0,
            Some(Better::Higher),
        ),
        (
            "satisfied, frames",
            "of 6",
            "frame_steady",
            1.0,
            Some(Better::Higher),
        ),
        (
            "late, network",
            "%",
            "late_net_steady",
            1.0,
            Some(Better::Lower),
        ),
        (
            "late, frames",
            "%",
            "late_frame_steady",
            1.0,
            Some(Better::Lower),
        ),
        ("rate", "Mbit/s", "rate", 1.0, Some(Better::Higher)),
    ];
    let rows: Vec<(String, &str, &Runs)> = WAYS
        .iter()
        .map(|w| (w.1.to_owned(), w.2, runs(w.0)))
        .collect();
    let off = runs("off");
    let cut = |way: &str, what: &str| {
        Check::of(
            format!("rate with {what}, over CUBIC's alone"),
            "",
            0.99,
            runs(way).ratio("rate", off, "rate"),
            Tolerance::AtLeast,
        )
        .source("beyond the paper")
    };
    let frames = |way: &str| runs(way).mean("frame_steady");
    Figure {
        title: "Beyond: reports that are rare, late, lost or gone".to_owned(),
        setup:
            "Scenario D with six flows, hold where nothing else is said; everything from 2 s on."
                .to_owned(),
        claim: "The base station reports each 1 ms. (Not varied.)".to_owned(),
        seen: format!(
            "Satisfied by frame delay: {:.1} of 6 without CECC, {:.1} with reports each 1 ms, {:.1} each 5 ms, {:.1} with a tenth \
             lost, {:.1} with half of them lost, {:.1} where they end.",
            frames("off"),
            frames("1ms"),
            frames("5ms"),
            frames("loss10"),
            frames("loss50"),
            frames("cut"),
        ),
        panels: vec![table("table", "Six flows, scenario D", "reports", &columns, &rows).wide()],
        checks: vec![
            cut("cut", "reports cut off (hold)"),
            cut("cut-credit", "reports cut off (credit)"),
            Check::of(
                "late bytes by frame delay with reports cut off, over CUBIC's alone",
                "%",
                off.mean("late_frame_steady") + 1.0,
                runs("cut").estimate("late_frame_steady"),
                Tolerance::AtMost,
            )
            .source("beyond the paper"),
        ],
        ..Figure::default()
    }
}
