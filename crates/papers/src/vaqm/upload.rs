//! Beyond the article: a user who uploads while a download runs.
//!
//! A round trip at the UPF holds what its ACK waited on the way up, behind the user's own data.

use super::prelude::*;

const UPLOAD: &str = include_str!("../../scenarios/vaqm/upload.toml");

/// Short name, title, changes.
type Changed = (&'static str, &'static str, Changes);

const CELLS: [Changed; 2] = [
    ("lte", "LTE, 10 MHz", &[]),
    (
        "nr",
        "NR TDD, 40 MHz",
        &[
            ("cell.rat", "nr"),
            ("cell.bandwidth", "40 MHz"),
            ("cell.scs", "30 kHz"),
            ("cell.rlc.buffer", "1 MB"),
        ],
    ),
];

const TRANSPORTS: [Changed; 3] = [
    ("tcp", "TCP", &[]),
    (
        "unstamped",
        "TCP without time stamps",
        &[("flow.tcp.timestamps", "false")],
    ),
    ("quic", "QUIC", &[("flow.transport", "quic")]),
];

const COLUMNS: [Entry; 4] = [
    Entry::more("download", "Mbit/s", "bulk_rate"),
    Entry::more("upload", "Mbit/s", "upload_rate"),
    Entry::less("downlink's queue, median", "ms", "queue"),
    Entry::less("95 %", "ms", "queue_p95"),
];

fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let queue = run.summary.flows[0].queue_delay_ms.as_ref();
    out.value("queue", queue.map(|q| q.p50));
    out.value("queue_p95", queue.map(|q| q.p95));
}

fn name(cell: &str, transport: &str, variant: &str) -> String {
    format!("upload/{cell}-{transport}-{variant}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (cell, _, radio) in CELLS {
        for (transport, _, carries) in TRANSPORTS {
            for variant in &VARIANTS[..2] {
                let mut changes = vec![("duration", length(options.quick))];
                for some in [radio, carries, variant.changes] {
                    changes.extend(some);
                }
                let name = name(cell, transport, variant.key);
                experiments.push(Experiment::new(name, UPLOAD, changes, reduce)?);
            }
        }
    }
    Ok(Part {
        id: "upload",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |cell: &str, transport: &str, variant: &str| o.get(&name(cell, transport, variant));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    let mut checks = vec![];
    for (cell, title, _) in CELLS {
        for (transport, carried, _) in TRANSPORTS {
            for variant in &VARIANTS[..2] {
                let row = format!("{title}, {carried}, {}", variant.title);
                rows.push((row, variant.colour, runs(cell, transport, variant.key)));
            }
            let (vaqm, none) = (runs(cell, transport, "vaqm"), runs(cell, transport, "none"));
            checks.push(Check::of(
                format!("{title}, {carried}: download with vAQM over that without"),
                "",
                0.9,
                vaqm.ratio("bulk_rate", none, "bulk_rate"),
                Tolerance::AtLeast,
            ));
        }
    }
    let mean = |cell: &str, variant: &str, value: &str| runs(cell, "tcp", variant).mean(value);
    Figure {
        title: "Beyond: an upload of the same user".to_owned(),
        setup: "One user, one CUBIC download and one CUBIC upload. Where TCP has time stamps, vAQM takes what an ACK waited in the \
                uplink out of its round trip; where it has none, and over QUIC, a round trip beside an upload lowers the average and \
                does not raise it."
            .to_owned(),
        claim: "Nothing is said of uploads.".to_owned(),
        seen: format!(
            "Over TCP, downloads without vAQM and with it: {:.1} and {:.1} Mbit/s in LTE, {:.1} and {:.1} in NR; median queue of the \
             downlink {:.0} and {:.0} ms, {:.1} and {:.1} ms.",
            mean("lte", "none", "bulk_rate"),
            mean("lte", "vaqm", "bulk_rate"),
            mean("nr", "none", "bulk_rate"),
            mean("nr", "vaqm", "bulk_rate"),
            mean("lte", "none", "queue"),
            mean("lte", "vaqm", "queue"),
            mean("nr", "none", "queue"),
            mean("nr", "vaqm", "queue"),
        ),
        panels: vec![
            table(
                "table",
                "A download beside an upload",
                "cell, transport, queue",
                &COLUMNS,
                &rows,
            )
            .wide(),
        ],
        checks,
        ..Figure::default()
    }
}
