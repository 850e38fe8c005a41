//! Beyond the article: flows that do not answer, and L4S flows, beside a CUBIC download of the same user.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/vaqm/beside.toml");

const COLUMNS: [Entry; 5] = [
    Entry::more("CUBIC", "Mbit/s", "bulk_rate"),
    Entry::less("RTT p50 of CUBIC", "ms", "bulk_p50"),
    Entry::less("RTT p95 of CUBIC", "ms", "bulk_p95"),
    Entry::plain("the other", "Mbit/s", "other_rate"),
    Entry::more("both", "Mbit/s", "rate"),
];

/// The ways of [`WAYS`], and the ideal.
fn variants() -> impl Iterator<Item = Variant> {
    VARIANTS.into_iter().chain([FAIR])
}

/// Name, title and rate of the other flow.
const FLOODS: [(&str, &str, &str); 2] = [
    ("share", "8 Mbit/s", "8 Mbit/s"),
    ("flood", "30 Mbit/s", "30 Mbit/s"),
];

/// UDP at a constant rate.
pub(super) fn unanswered(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (flood, _, rate) in FLOODS {
        for variant in variants() {
            let mut changes = vec![
                ("duration", length(options.quick)),
                ("flow[1].app.rate", rate),
            ];
            changes.extend(variant.changes);
            let name = format!("udp/{flood}-{}", variant.key);
            experiments.push(Experiment::new(name, SCENARIO, changes, keep)?);
        }
    }
    let changes = [
        ("duration", length(options.quick)),
        ("flow[1].app.rate", "30 Mbit/s"),
        LITERAL,
    ];
    let name = "udp/flood-literal";
    experiments.push(Experiment::new(name, SCENARIO, changes, keep)?);
    Ok(Part {
        id: "udp",
        measures: vec![
            Measure::paper("unresponsive", |o| flood(o, "literal")),
            Measure::product("unresponsive", |o| flood(o, "vaqm")),
        ],
        experiments,
        draw: Box::new(draw_unanswered),
    })
}

/// CUBIC's rate over that of a flood, treated so.
fn flood(o: &Outcomes, variant: &str) -> Option<Estimate> {
    let runs = o.get(&format!("udp/flood-{variant}"));
    runs.ratio("bulk_rate", runs, "other_rate")
}

fn draw_unanswered(o: &Outcomes) -> Figure {
    let runs = |flood: &str, variant: &str| o.get(&format!("udp/{flood}-{variant}"));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    for (flood, title, _) in FLOODS {
        for w in variants() {
            rows.push((
                format!("UDP of {title}, {}", w.title),
                w.colour,
                runs(flood, w.key),
            ));
        }
    }
    let p = |flood: &str, variant: &str, value: &str| runs(flood, variant).mean(value);
    Figure {
        title: "Beyond: a flow that does not answer".to_owned(),
        setup: "One user with about 20 Mbit/s: a CUBIC download and UDP at a constant rate, below and above what the link carries."
            .to_owned(),
        claim: "\"The vAQM can detect such flows and apply flow-specific shaping to a level where the flow does not generate \
                congestion.\""
            .to_owned(),
        seen: format!(
            "Beside 8 Mbit/s of UDP CUBIC gets {:.1} Mbit/s without AQM and {:.1} with vAQM, at a median RTT of {:.0} and {:.0} ms; \
             beside 30 Mbit/s {:.1} without, {:.1} with vAQM, {:.1} with FQ-CoDel in the radio.",
            p("share", "none", "bulk_rate"),
            p("share", "vaqm", "bulk_rate"),
            p("share", "none", "bulk_p50"),
            p("share", "vaqm", "bulk_p50"),
            p("flood", "none", "bulk_rate"),
            p("flood", "vaqm", "bulk_rate"),
            p("flood", "fair", "bulk_rate"),
        ),
        panels: vec![table("table", "CUBIC beside UDP", "UDP, queue", &COLUMNS, &rows).wide()],
        checks: vec![
            Check::of(
                "CUBIC and 8 Mbit/s of UDP: rate with vAQM over that without AQM",
                "",
                0.9,
                runs("share", "vaqm").ratio("rate", runs("share", "none"), "rate"),
                Tolerance::AtLeast,
            ),
            Check::of(
                "UDP of 30 Mbit/s: CUBIC's rate with vAQM over that with FQ-CoDel in the radio",
                "",
                0.7,
                runs("flood", "vaqm").ratio("bulk_rate", runs("flood", "fair"), "bulk_rate"),
                Tolerance::AtLeast,
            ),
        ],
        ..Figure::default()
    }
}

/// Prague in place of UDP.
pub(super) fn scalable(options: &Options) -> Result<Part, StudyError> {
    let experiments = variants()
        .map(|variant| {
            let mut changes = vec![
                ("duration", length(options.quick)),
                ("flow[1].app", "bulk"),
                ("flow[1].controller", "prague"),
            ];
            changes.extend(variant.changes);
            Experiment::new(format!("l4s/{}", variant.key), SCENARIO, changes, keep)
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "l4s",
        measures: vec![],
        experiments,
        draw: Box::new(draw_scalable),
    })
}

fn draw_scalable(o: &Outcomes) -> Figure {
    const OTHER: [Entry; 6] = [
        COLUMNS[0],
        COLUMNS[1],
        Entry::more("Prague", "Mbit/s", "other_rate"),
        Entry::less("RTT p50 of Prague", "ms", "other_p50"),
        Entry::less("RTT p95 of Prague", "ms", "other_p95"),
        COLUMNS[4],
    ];
    let runs = |variant: &str| o.get(&format!("l4s/{variant}"));
    let rows: Vec<(String, &str, &Runs)> = variants()
        .map(|w| (w.title.to_owned(), w.colour, runs(w.key)))
        .collect();
    let p = |variant: &str, value: &str| runs(variant).mean(value);
    Figure {
        title: "Beyond: an L4S flow".to_owned(),
        setup: "The same user: a CUBIC download and one by TCP Prague, whose packets carry ECT(1)."
            .to_owned(),
        claim:
            "vAQM \"is built to support pluggable AQM modules\"; that L4S is one of them is ours."
                .to_owned(),
        seen: format!(
            "CUBIC and Prague get {:.1} and {:.1} Mbit/s without AQM, {:.1} and {:.1} with vAQM, {:.1} and {:.1} with FQ-CoDel in the \
             radio; Prague's median RTT is {:.0}, {:.0} and {:.0} ms.",
            p("none", "bulk_rate"),
            p("none", "other_rate"),
            p("vaqm", "bulk_rate"),
            p("vaqm", "other_rate"),
            p("fair", "bulk_rate"),
            p("fair", "other_rate"),
            p("none", "other_p50"),
            p("vaqm", "other_p50"),
            p("fair", "other_p50"),
        ),
        panels: vec![table("table", "CUBIC beside Prague", "queue", &OTHER, &rows).wide()],
        checks: vec![
            Check::of(
                "Prague's rate over CUBIC's, with vAQM",
                "",
                1.0,
                runs("vaqm").ratio("other_rate", runs("vaqm"), "bulk_rate"),
                Tolerance::Absolute(0.5),
            )
            .where_missed(
                "each is signalled by its own queue here and takes its turn; a flow whose queue runs empty leaves turns to the other",
            ),
            Check::of(
                "both flows' rate with vAQM over FQ-CoDel in the radio",
                "",
                0.95,
                runs("vaqm").ratio("rate", runs("fair"), "rate"),
                Tolerance::AtLeast,
            ),
        ],
        ..Figure::default()
    }
}
