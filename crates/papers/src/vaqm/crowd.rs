//! Beyond the article: many sessions, and channels that fade.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/vaqm/crowd.toml");

const COUNTS: [&str; 4] = ["1", "10", "50", "200"];

const COLUMNS: [Entry; 3] = [
    Entry::less("RTT p50", "ms", "bulk_p50"),
    Entry::less("RTT p95", "ms", "bulk_p95"),
    Entry::more("rate", "Mbit/s", "rate"),
];

/// From one session to two hundred.
pub(super) fn sessions(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for count in COUNTS {
        for variant in &VARIANTS {
            let mut changes = vec![
                ("duration", if options.quick { "20 s" } else { "40 s" }),
                ("ue.count", count),
            ];
            changes.extend(variant.changes);
            let name = format!("sessions/{count}-{}", variant.key);
            experiments.push(Experiment::new(name, SCENARIO, changes, keep)?);
        }
    }
    Ok(Part {
        id: "sessions",
        measures: vec![],
        experiments,
        draw: Box::new(draw_sessions),
    })
}

fn draw_sessions(o: &Outcomes) -> Figure {
    let runs = |count: &str, variant: &str| o.get(&format!("sessions/{count}-{variant}"));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    let mut checks = vec![];
    for count in COUNTS {
        for w in &VARIANTS {
            rows.push((
                format!("{count}, {}", w.title),
                w.colour,
                runs(count, w.key),
            ));
        }
        checks.push(Check::of(
            format!("{count} sessions: rate with vAQM over CoDel in the radio"),
            "",
            0.95,
            runs(count, "vaqm").ratio("rate", runs(count, "codel"), "rate"),
            Tolerance::AtLeast,
        ));
    }
    let p = |count: &str, variant: &str| runs(count, variant).mean("bulk_p50");
    Figure {
        title: "Beyond: from one session to two hundred".to_owned(),
        setup: "A CUBIC download for each user of a cell in strong signal; the warm-up of 10 s is left out.".to_owned(),
        claim: "A vAQM instance is required for each bottleneck; how many share a cell is not varied.".to_owned(),
        seen: format!(
            "Median RTT without AQM and with vAQM: {:.0} and {:.0} ms with one session, {:.0} and {:.0} with ten, {:.0} and {:.0} with \
             fifty, {:.0} and {:.0} with two hundred, where each has 0.18 Mbit/s and two packets take 130 ms.",
            p("1", "none"),
            p("1", "vaqm"),
            p("10", "none"),
            p("10", "vaqm"),
            p("50", "none"),
            p("50", "vaqm"),
            p("200", "none"),
            p("200", "vaqm"),
        ),
        panels: vec![table("table", "Sessions", "sessions, queue", &COLUMNS, &rows).wide()],
        checks,
        ..Figure::default()
    }
}

/// Name, title, fading profile, distance and speed.
const CHANNELS: [(&str, &str, Changes); 2] = [
    (
        "epa",
        "on foot, EPA",
        &[("cell.fading", "epa"), ("ue.speed", "3 km/h")],
    ),
    (
        "eva",
        "by car, EVA",
        &[("cell.fading", "eva"), ("ue.speed", "60 km/h")],
    ),
];

/// By place: path loss and fast fading decide the MCS of each slot.
const FADES: Changes = &[
    ("ue.channel", "place"),
    (
        "ue.mobility",
        "{ kind = \"walk\", min = \"50 m\", max = \"500 m\" }",
    ),
];

pub(super) fn fading(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (channel, _, how) in CHANNELS {
        let literal = Variant::new("literal", "literal", "vaqm-literal", &[LITERAL]);
        for variant in VARIANTS.iter().chain([&literal]) {
            let mut changes = vec![("duration", length(options.quick))];
            changes.extend(FADES);
            changes.extend(how);
            changes.extend(variant.changes);
            let name = format!("fading/{channel}-{}", variant.key);
            experiments.push(Experiment::new(name, SCENARIO, changes, keep)?);
        }
    }
    Ok(Part {
        id: "fading",
        measures: vec![
            Measure::paper("fluctuation", |o| by_car(o, "literal")),
            Measure::product("fluctuation", |o| by_car(o, "vaqm")),
        ],
        experiments,
        draw: Box::new(draw_fading),
    })
}

/// The RTT by car (95 %), treated so, over that without AQM.
fn by_car(o: &Outcomes, variant: &str) -> Option<Estimate> {
    let none = o.get("fading/eva-none");
    o.get(&format!("fading/eva-{variant}"))
        .ratio("bulk_p95", none, "bulk_p95")
}

fn draw_fading(o: &Outcomes) -> Figure {
    let runs = |channel: &str, variant: &str| o.get(&format!("fading/{channel}-{variant}"));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    let mut checks = vec![];
    for (channel, title, _) in CHANNELS {
        for w in &VARIANTS {
            rows.push((
                format!("{title}, {}", w.title),
                w.colour,
                runs(channel, w.key),
            ));
        }
        checks.push(Check::of(
            format!("{title}: rate with vAQM over CoDel in the radio"),
            "",
            0.86,
            runs(channel, "vaqm").ratio("rate", runs(channel, "codel"), "rate"),
            Tolerance::AtLeast,
        ));
    }
    let p = |channel: &str, variant: &str, value: &str| runs(channel, variant).mean(value);
    Figure {
        title: "Beyond: channels that fade".to_owned(),
        setup: "Three users wander 50 to 500 m from the base station; fast fading on foot and by car, a CUBIC download each."
            .to_owned(),
        claim: "\"vAQM is adaptive to link rate fluctuation and considers the current bottleneck link bandwidth to the user.\""
            .to_owned(),
        seen: format!(
            "On foot: RTT p50 and p95 {:.0} and {:.0} ms without AQM, {:.0} and {:.0} with vAQM, {:.0} and {:.0} with CoDel in the \
             radio; by car {:.0} and {:.0}, {:.0} and {:.0}, {:.0} and {:.0}.",
            p("epa", "none", "bulk_p50"),
            p("epa", "none", "bulk_p95"),
            p("epa", "vaqm", "bulk_p50"),
            p("epa", "vaqm", "bulk_p95"),
            p("epa", "codel", "bulk_p50"),
            p("epa", "codel", "bulk_p95"),
            p("eva", "none", "bulk_p50"),
            p("eva", "none", "bulk_p95"),
            p("eva", "vaqm", "bulk_p50"),
            p("eva", "vaqm", "bulk_p95"),
            p("eva", "codel", "bulk_p50"),
            p("eva", "codel", "bulk_p95"),
        ),
        panels: vec![table("table", "Channels that fade", "channel, queue", &COLUMNS, &rows).wide()],
        checks,
        ..Figure::default()
    }
}
