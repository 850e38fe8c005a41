//! Media: an encoder by the counters, and cL4S whose fair rate R0 is theirs, beside the other controllers of media; and reports that lie.

use slackwater_report::{Column, Row, SummaryTable};

use super::prelude::*;

/// The arena's cells of media.
const PLACES: [&str; 8] = [
    "media-link",
    "media-cell",
    "media-lossy",
    "media-rival",
    "media-link-chromium",
    "media-cell-chromium",
    "media-lossy-chromium",
    "media-rival-chromium",
];

/// Name of experiments, controller, whether the queue marks by the ramp of the arena's edge `l4s`.
const SENDERS: [(&str, &str, bool); 8] = [
    ("ebb", "ebb-media", false),
    ("cl4s", "al4s-c", false),
    ("cl4s-r0", "al4s-c:r0=ebb", false),
    ("gcc", "gcc", false),
    ("scream", "scream", false),
    ("cl4s-l4s", "al4s-c", true),
    ("cl4s-r0-l4s", "al4s-c:r0=ebb", true),
    ("scream-l4s", "scream", true),
];

/// Dials and rules of `ebb-media`, in the cells of [`VARIED`].
const VARIANTS: [(&str, &str); 6] = [
    (
        "ebb-media:pace=1.25",
        "the radio's rate 1.25 of the encoder's",
    ),
    ("ebb-media:drain=200", "what is too much made up in 200 ms"),
    ("ebb-media:q=5", "a queue of 5 ms is wanted"),
    ("ebb-media:window=1", "the target as a window"),
    ("ebb-media:company=0", "others' queue is not met"),
    ("ebb-media:trust=0", "no doubt of the base station"),
];
const VARIED: [&str; 3] = ["media-lossy", "media-cell-chromium", "media-rival"];

/// Name, what it is called, the change.
const FAULTS: [(&str, &str, (&str, &str)); 9] = [
    ("every20", "each 20 ms", ("feedback.ebb.every", "20 ms")),
    ("late50", "50 ms later", ("feedback.delay", "50 ms")),
    (
        "lost50",
        "half of them lost",
        ("feedback.faults.loss", "50 %"),
    ),
    (
        "hundredth",
        "a hundredth",
        ("feedback.faults.rate_scale", "0.01"),
    ),
    ("tenth", "a tenth", ("feedback.faults.rate_scale", "0.1")),
    ("tenfold", "tenfold", ("feedback.faults.rate_scale", "10.0")),
    (
        "delays",
        "head-of-line delays a thousandfold",
        ("feedback.faults.hol_scale", "1000.0"),
    ),
    (
        "stop",
        "none from 20 s on",
        ("feedback.faults.stop", "20 s"),
    ),
    ("none", "none: GCC", ("feedback.faults.stop", "0 s")),
];
const DECEIVED: [&str; 3] = ["media-link", "media-cell", "media-lossy"];

/// Cells with targets: those without a competitor, and the large frames of a browser in a cell.
const AIMED: [&str; 4] = [
    "media-link",
    "media-cell",
    "media-lossy",
    "media-cell-chromium",
];

/// Targets in each of them, as differences to another sender: name of its experiments, what is compared, its unit, its value.
const TARGETS: [(&str, &str, &str, &str, Tolerance); 5] = [
    ("cl4s", "rate", "Mbit/s", "rate", Tolerance::AtLeast),
    ("cl4s", "p95 of a frame", "ms", "frame95", Tolerance::AtMost),
    ("cl4s", "p99 of a frame", "ms", "frame99", Tolerance::AtMost),
    ("gcc", "p95 of a frame", "ms", "frame95", Tolerance::AtMost),
    ("scream", "rate", "Mbit/s", "rate", Tolerance::AtLeast),
];

/// What is shown of a sender.
const COLUMNS: [Entry; 6] = [
    Entry::more("utilisation", "%", "use"),
    Entry::more("rate", "Mbit/s", "rate"),
    Entry::less("p95 of a frame", "ms", "frame95"),
    Entry::less("p99 of a frame", "ms", "frame99"),
    Entry::less("p95 queue delay", "ms", "queue95"),
    Entry::less("late frames", "%", "late"),
];

/// An experiment in the arena's cell `place`.
fn experiment(
    options: &Options,
    name: String,
    place: &str,
    sender: &str,
    changes: &[(&str, &str)],
) -> Result<Experiment, StudyError> {
    let text = slackwater_scenario::embedded(&format!("arena/{place}"))
        .unwrap_or_else(|| panic!("the program holds no arena/{place}"));
    let mut all = vec![("flow[0].controller", sender)];
    if options.quick {
        all.push(("duration", "20 s"));
    }
    all.extend(changes);
    Experiment::new(name, &text, all, keep_media)
}

/// Of the media flows, as means over them: rates are sums.
fn keep_media(run: &RunResult, out: &mut Outcome) {
    let flows = &run.summary.flows;
    let media: Vec<_> = flows
        .iter()
        .filter_map(|f| Some((f, f.media.as_ref()?)))
        .collect();
    let of = |value: &dyn Fn(usize) -> Option<f64>| {
        let all: Vec<f64> = (0..media.len()).filter_map(value).collect();
        m::mean(&all)
    };
    out.value("use", run.summary.utilisation.map(|u| u * 100.0));
    out.value(
        "rate",
        Some(media.iter().map(|(f, _)| f.goodput_mbps).sum()),
    );
    out.value("frame95", of(&|i| Some(media[i].1.frame_delay_ms?.p95)));
    out.value("frame99", of(&|i| Some(media[i].1.frame_delay_ms?.p99)));
    out.value("queue95", of(&|i| Some(media[i].0.queue_delay_ms?.p95)));
    out.value("late", of(&|i| Some(media[i].1.late_share * 100.0)));
}

fn name(place: &str, id: &str) -> String {
    format!("media/{place}-{id}")
}

/// What a row is called.
fn label((_, controller, marked): &(&str, &str, bool)) -> String {
    let sender = match *controller {
        "al4s-c:r0=ebb" => "cL4S, R0 by the counters",
        other => title(other),
    };
    let marks = if *marked { ", marks" } else { "" };
    format!("{sender}{marks}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for place in PLACES {
        let law = if place.starts_with("media-cell") || place.starts_with("media-lossy") {
            "cell.rlc.law"
        } else {
            "link.queue.law"
        };
        for (id, sender, marked) in SENDERS {
            let changes: &[(&str, &str)] = if marked { &[(law, "ramp")] } else { &[] };
            experiments.push(experiment(
                options,
                name(place, id),
                place,
                sender,
                changes,
            )?);
        }
    }
    for place in VARIED {
        for (sender, _) in VARIANTS {
            experiments.push(experiment(
                options,
                name(place, sender),
                place,
                sender,
                &[],
            )?);
        }
    }
    for place in DECEIVED {
        for (id, _, change) in FAULTS {
            experiments.push(experiment(
                options,
                name(place, id),
                place,
                "ebb-media",
                &[change],
            )?);
        }
    }
    Ok(Part {
        id: "media",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

/// What `ebb-media` has more than each other sender, seed by seed.
fn apart_from(o: &Outcomes, place: &str) -> Panel {
    let ours = o.get(&name(place, "ebb"));
    let columns = [
        ("rate", "Mbit/s", "rate"),
        ("p95 of a frame", "ms", "frame95"),
        ("p99 of a frame", "ms", "frame99"),
    ];
    let rows = SENDERS[1..].iter().map(|sender| {
        let other = o.get(&name(place, sender.0));
        let cells = columns.iter().map(|(_, _, value)| {
            difference(ours, other, value).map_or(slackwater_report::Cell::Missing, |e| {
                slackwater_report::Cell::Number(e)
            })
        });
        Row {
            label: label(sender),
            controller: sender.1.to_owned(),
            cells: cells.collect(),
        }
    });
    let heading = format!("{place}: ebb for media less another, of pairs with one seed");
    let table = SummaryTable {
        caption: heading.clone(),
        row_heading: "less".to_owned(),
        columns: columns
            .iter()
            .map(|(heading, unit, _)| Column::new(heading, unit, None, ""))
            .collect(),
        rows: rows.collect(),
    };
    let id = format!("media-{place}-less");
    Panel::new(&id, &heading, "", Drawing::Table(table))
}

/// What `ebb-media` has in `place` over senders that take no counters, against the targets.
fn checks(o: &Outcomes, place: &str) -> Vec<Check> {
    let ours = o.get(&name(place, "ebb"));
    let targets = TARGETS.iter().map(|&(id, what, unit, value, tolerance)| {
        let other = SENDERS.iter().find(|s| s.0 == id).expect("it is a sender");
        let by = difference(ours, o.get(&name(place, id)), value);
        let what = format!("{place}: {what} less that of {}", label(other));
        Check::of(what, unit, 0.0, by, tolerance)
    });
    targets.collect()
}

fn draw(o: &Outcomes) -> Figure {
    let checks = AIMED.iter().flat_map(|place| checks(o, place)).collect();
    let mut panels = vec![];
    for place in PLACES {
        let rows: Vec<(String, &str, &Runs)> = SENDERS
            .iter()
            .map(|sender| (label(sender), sender.1, o.get(&name(place, sender.0))))
            .collect();
        panels.push(table(
            &format!("media-{place}"),
            place,
            "sender",
            &COLUMNS,
            &rows,
        ));
        panels.push(apart_from(o, place));
    }
    for place in VARIED {
        let mut rows = vec![(
            "as shipped".to_owned(),
            "ebb-media",
            o.get(&name(place, "ebb")),
        )];
        rows.extend(
            VARIANTS.iter().map(|(sender, what)| {
                ((*what).to_owned(), "ebb-media", o.get(&name(place, sender)))
            }),
        );
        let heading = format!("{place}: dials and rules");
        let id = format!("media-{place}-rules");
        panels.push(apart(table(
            &id,
            &heading,
            "ebb for media",
            &COLUMNS,
            &rows,
        )));
    }
    for place in DECEIVED {
        let mut rows = vec![(
            "each 5 ms".to_owned(),
            "ebb-media",
            o.get(&name(place, "ebb")),
        )];
        rows.extend(
            FAULTS
                .iter()
                .map(|(id, what, _)| ((*what).to_owned(), "ebb-media", o.get(&name(place, id)))),
        );
        let heading = format!("{place}: reports that are rare, late, lost or wrong");
        let id = format!("media-{place}-reports");
        panels.push(apart(table(&id, &heading, "reports", &COLUMNS, &rows)));
    }
    Figure {
        title: "Media".to_owned(),
        setup: "The arena's cells of media. \"Marks\": the queue marks by a ramp from 5 to 20 ms, as the arena's edge l4s. Where a cell has \
                a competitor it stays CUBIC, and utilisation is of both. Frame delays are from capture to the last packet's arrival."
            .to_owned(),
        claim: "Targets, set when a trial with three seeds was known: without marks, at least the rate of cL4S with no longer frame delays at p95 and p99; no longer frame delays at p95 \
                than GCC; at least the rate of SCReAM. Each in four cells."
            .to_owned(),
        panels,
        checks,
        ..Figure::default()
    }
}
