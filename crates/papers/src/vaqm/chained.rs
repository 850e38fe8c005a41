//! Beyond the article: vAQM and CECC in one UPF.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/vaqm/chained.toml");

const HOLD: (&str, &str) = ("upf.cecc.mode", "hold");

const CHAINS: [Variant; 5] = [
    Variant::new("none", "neither", "no-aqm", &[]),
    Variant::new("vaqm", "vAQM", "vaqm", &[VAQM]),
    Variant::new(
        "literal",
        "the article's shaper",
        "vaqm-literal",
        &[LITERAL],
    ),
    Variant::new("cecc", "CECC", "cecc", &[HOLD]),
    Variant::new("both", "vAQM, then CECC", "vaqm-cecc", &[VAQM, HOLD]),
];

const COLUMNS: [Entry; 6] = [
    Entry::less("frame delay p50", "ms", "vr_time").times(1e3),
    Entry::less("frame delay p95", "ms", "vr_time_p95").times(1e3),
    Entry::less("frames over 50 ms", "%", "vr_late"),
    Entry::less("RTT p50 of bulk", "ms", "bulk_p50"),
    Entry::more("bulk", "Mbit/s", "bulk_rate"),
    Entry::more("VR", "Mbit/s", "vr_rate"),
];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let experiments = CHAINS
        .iter()
        .map(|variant| {
            let mut changes = vec![("duration", if options.quick { "10 s" } else { "30 s" })];
            changes.extend(variant.changes);
            Experiment::new(format!("chained/{}", variant.key), SCENARIO, changes, keep)
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "chained",
        measures: vec![
            Measure::paper("latency-critical", |o| frames(o, "literal")),
            Measure::product("latency-critical", |o| frames(o, "vaqm")),
        ],
        experiments,
        draw: Box::new(draw),
    })
}

/// The frames' delay (95 %), treated so, over that without AQM.
fn frames(o: &Outcomes, variant: &str) -> Option<Estimate> {
    let none = o.get("chained/none");
    o.get(&format!("chained/{variant}"))
        .ratio("vr_time_p95", none, "vr_time_p95")
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |variant: &str| o.get(&format!("chained/{variant}"));
    let rows: Vec<(String, &str, &Runs)> = CHAINS
        .iter()
        .map(|w| (w.title.to_owned(), w.colour, runs(w.key)))
        .collect();
    let p95 = |variant: &str| runs(variant).mean("vr_time_p95") * 1e3;
    Figure {
        title: "Beyond: vAQM and CECC chained".to_owned(),
        setup: "Four users of an NR cell, each with VR frames of 10 Mbit/s over UDP and a CUBIC download; packets pass vAQM first."
            .to_owned(),
        claim: "(Neither paper knows the other.)".to_owned(),
        seen: format!(
            "95 % of the frames take at most {:.0} ms with neither, {:.0} ms with vAQM, {:.0} ms with CECC, {:.0} ms with both; the \
             downloads get {:.1}, {:.1}, {:.1} and {:.1} Mbit/s.",
            p95("none"),
            p95("vaqm"),
            p95("cecc"),
            p95("both"),
            runs("none").mean("bulk_rate"),
            runs("vaqm").mean("bulk_rate"),
            runs("cecc").mean("bulk_rate"),
            runs("both").mean("bulk_rate"),
        ),
        panels: vec![table("table", "Chained", "functions", &COLUMNS, &rows).wide()],
        checks: vec![
            Check::of(
                "frame delay p95 with both over that with vAQM alone",
                "",
                1.1,
                runs("both").ratio("vr_time_p95", runs("vaqm"), "vr_time_p95"),
                Tolerance::AtMost,
            ),
            Check::of(
                "rate of the downloads with both over that with vAQM alone",
                "",
                0.95,
                runs("both").ratio("bulk_rate", runs("vaqm"), "bulk_rate"),
                Tolerance::AtLeast,
            ),
        ],
        ..Figure::default()
    }
}
