//! Experiments of one change each, in groups: a table for each group, a row for each change.

use super::super::prelude::*;
use super::figures;

const FOUR: &str = include_str!("../../../scenarios/xrc/fig4.toml");
const TWO: &str = include_str!("../../../scenarios/xrc/fig5.toml");
const INTERNET: &str = include_str!("../../../scenarios/xrc/internet.toml");
const HARQ: &str = include_str!("../../../scenarios/xrc/harq.toml");

/// All four flows of Figure 4 are on, and have settled.
const ON: m::Span = (35.0, 70.0);

/// Keys of a scenario and their values.
pub(super) type Keys = &'static [(&'static str, &'static str)];

/// First controller, second or nothing, what is changed.
pub(super) type Changed = (&'static str, &'static str, Keys);

/// Rows of one table: the controllers (the first flow's, and the second's where there are two) and what else is changed.
pub(super) struct Group {
    /// Begins the names of its experiments.
    pub(super) id: &'static str,
    /// Heading of its table.
    pub(super) caption: &'static str,
    /// The scenario.
    pub(super) text: &'static str,
    /// Whose controller is the first: [`EVERY_FLOW`] or [`FIRST_FLOW`].
    pub(super) first: &'static str,
    /// What all its rows change.
    pub(super) all: Keys,
    /// What is kept of a run.
    pub(super) keep: fn(&RunResult, &mut Outcome),
    /// What the table shows.
    pub(super) columns: &'static [Entry],
    /// Its rows.
    pub(super) rows: &'static [Changed],
}

pub(super) const EVERY_FLOW: &str = "flow.controller";
pub(super) const FIRST_FLOW: &str = "flow[0].controller";

const JAIN: &[Entry] = &[
    Entry::more("Jain (common)", "", "jain"),
    Entry::more("Jain (1 s)", "", "jain_1s"),
    Entry::more("Jain (life)", "", "jain_life"),
];
const COMPANY: &[Entry] = &[
    Entry::plain("first's share", "%", "share").times(100.0),
    Entry::more("Jain (common)", "", "jain"),
];
const ALONE: &[Entry] = &[
    Entry::more("rate", "Mbit/s", "rate_0"),
    Entry::less("HoL p90", "ms", "hol_p90"),
];

const SSTHRESH: Keys = &[("flow.tcp.initial_ssthresh", "1")];
/// The buffers of ns-3's sockets.
const SOCKETS: Keys = &[("flow.tcp.recv_buffer", "131072 B")];
const EACH: Keys = &[("flow[1].tcp.ack_every", "1")];
/// RTTs whose neighbours differ by 30 ms.
const SPREAD: Keys = &[
    ("flow[1].rtt", "60 ms"),
    ("flow[2].rtt", "90 ms"),
    ("flow[3].rtt", "120 ms"),
];
const NO_SACK: Keys = &[("flow.tcp.sack", "false")];
const SHORT: Keys = &[("cell.rlc.buffer", "32 packets")];
const LONG: Keys = &[("cell.rlc.buffer", "256 packets")];
/// ns-3's default segment (`TcpSocket::SegmentSize`), with as many bytes of buffer as 128 MTU-sized packets.
const SEGMENTS: Keys = &[("flow.tcp.mss", "536"), ("cell.rlc.buffer", "192 kB")];
/// ns-3's least timeout (`TcpSocketBase::MinRto`), which is that of RFC 6298.
const MIN_RTO: Keys = &[("flow.tcp.min_rto", "1 s")];
/// ns-3's longest wait of an ACK (`TcpSocket::DelAckTimeout`).
const DELAYED: Keys = &[("flow.tcp.delayed_ack", "200 ms")];
const ONE_SEGMENT: Keys = &[("flow.tcp.initial_window", "1")];
const EVERY: Keys = &[("flow.tcp.ack_every", "1")];
const UNSTAMPED: Keys = &[("flow.tcp.timestamps", "false")];
const NO_SACK_MIN_RTO: Keys = &[("flow.tcp.sack", "false"), ("flow.tcp.min_rto", "1 s")];
const FIVE_MINUTES: Keys = &[("duration", "300 s")];

static GROUPS: [Group; 4] = [
    Group {
        id: "four",
        caption: "Four flows of Figure 4",
        text: FOUR,
        first: EVERY_FLOW,
        all: &[],
        keep: keep_four,
        columns: JAIN,
        rows: &[
            ("cubic", "", &[]),
            ("cubic", "", SHORT),
            ("cubic", "", LONG),
            ("cubic", "", SSTHRESH),
            ("cubic", "", SOCKETS),
            ("cubic", "", SPREAD),
            ("cubic", "", NO_SACK),
            ("cubic", "", SEGMENTS),
            ("cubic", "", MIN_RTO),
            ("cubic", "", DELAYED),
            ("cubic", "", ONE_SEGMENT),
            ("cubic", "", EVERY),
            ("cubic", "", UNSTAMPED),
            ("cubic-ns3", "", &[]),
            ("cubic:reno=0", "", &[]),
            ("cubic:reno=0", "", NO_SACK),
            ("cubic:reno=0", "", NO_SACK_MIN_RTO),
            ("reno", "", &[]),
            ("reno", "", SHORT),
            ("reno", "", LONG),
            ("reno", "", SSTHRESH),
            ("reno", "", SOCKETS),
            ("reno", "", SPREAD),
            ("reno", "", NO_SACK),
            ("reno", "", SEGMENTS),
            ("reno", "", MIN_RTO),
            ("reno", "", DELAYED),
            ("reno", "", ONE_SEGMENT),
            ("reno", "", EVERY),
            ("reno", "", UNSTAMPED),
            ("reno-ns3", "", &[]),
            ("reno-ns3", "", NO_SACK),
            ("reno-ns3", "", NO_SACK_MIN_RTO),
            ("xrc", "", &[]),
        ],
    },
    Group {
        id: "veno",
        caption: "CUBIC beside others (Figure 5)",
        text: TWO,
        first: FIRST_FLOW,
        all: &[],
        keep: |run, out| keep_all(run, out, m::life(run, 1)),
        columns: COMPANY,
        rows: &[
            ("cubic", "veno", &[]),
            ("cubic", "veno:slow=0", &[]),
            ("cubic", "veno-ns3", &[]),
            ("cubic", "veno-ns3", EACH),
            ("cubic", "reno", &[]),
            ("cubic", "reno-ns3", &[]),
            ("cubic", "illinois", &[]),
            ("cubic", "illinois-ns3", &[]),
        ],
    },
    Group {
        id: "wired",
        caption: "Beside CUBIC on a wired hop of 10 Mbit/s, 500 ms of buffer",
        text: INTERNET,
        first: FIRST_FLOW,
        all: &[],
        // As in the figure `internet`.
        keep: |run, out| keep_all(run, out, (10.0, m::end(run))),
        columns: COMPANY,
        rows: &[
            ("xrc", "cubic", &[]),
            ("xrc", "cubic", FIVE_MINUTES),
            ("xrc", "cubic", &[("wired.queue.limit", "437500 B")]),
            ("xrc", "cubic", &[("wired.queue.limit", "1 MB")]),
            ("xrc", "cubic", &[("flow[1].tcp.initial_ssthresh", "60")]),
            ("xrc", "cubic-ns3", &[]),
            ("xrc:owd=off", "cubic", &[]),
            ("xrc:lambda=20", "cubic", &[]),
            ("xrc:theta=0", "cubic", &[]),
            ("cubic", "cubic", &[]),
            ("cubic", "cubic", FIVE_MINUTES),
            ("reno", "cubic", &[]),
            ("reno", "cubic", FIVE_MINUTES),
        ],
    },
    Group {
        id: "harq",
        caption: "Alone, 10 % of first transmissions fail",
        text: HARQ,
        first: FIRST_FLOW,
        all: &[("flow[1].start", "29999 ms"), ("cell.olla.target", "10 %")],
        // As in the figure `harq`.
        keep: |run, out| keep_all(run, out, (2.0, 29.0)),
        columns: ALONE,
        rows: &[
            ("xrc", "", &[]),
            ("xrc:pace=off", "", &[]),
            ("xrc:lambda=20", "", &[]),
            ("xrc:pace=off,lambda=20", "", &[]),
            ("xrc", "", &[("cell.olla.target", "0.1 %")]),
            ("cubic", "", &[]),
        ],
    },
];

/// Those of this file, and those of the paper's figures.
fn groups() -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().chain(&figures::GROUPS)
}

/// The name of a row's experiment.
pub(super) fn name(group: &str, (first, second, keys): (&str, &str, Keys)) -> String {
    let keys: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
    format!("causes/{group}-{first}-{second}-{}", keys.join(","))
}

fn label((first, second, keys): (&str, &str, Keys)) -> String {
    let mut label = title(first).to_owned();
    if !second.is_empty() {
        label = format!("{label} / {}", title(second));
    }
    for (key, value) in keys {
        label = format!("{label}, {key} = {value}");
    }
    label
}

/// What Figure 4's four flows share by, in three readings.
fn keep_four(run: &RunResult, out: &mut Outcome) {
    let all = [0, 1, 2, 3];
    out.value("jain", m::jain_common(run, &all, ON));
    out.value("jain_1s", m::jain_1s(run, &all, ON));
    out.value("jain_life", m::jain_life(run, &all));
}

pub(super) fn experiments(options: &Options) -> Result<Vec<Experiment>, StudyError> {
    let mut experiments = vec![];
    for g in groups() {
        for row in g.rows {
            let (first, second, keys) = *row;
            let mut changes = vec![(g.first, first)];
            if !second.is_empty() {
                changes.push(("flow[1].controller", second));
            }
            changes.push(agent(first));
            changes.extend(g.all);
            changes.extend(keys);
            if options.quick && keys == FIVE_MINUTES {
                changes.push(("duration", "60 s"));
            }

            let name = name(g.id, *row);
            experiments.push(Experiment::new(name, g.text, changes, g.keep)?);
        }
    }
    Ok(experiments)
}

pub(super) fn panels(o: &Outcomes) -> Vec<Panel> {
    groups()
        .map(|g| {
            let rows: Vec<_> = g
                .rows
                .iter()
                .map(|row| (label(*row), row.0, o.get(&name(g.id, *row))))
                .collect();
            table(g.caption, "controllers, what is changed", g.columns, &rows)
        })
        .collect()
}

pub(super) fn seen(o: &Outcomes) -> String {
    let mean =
        |group: &str, row: (&str, &str, Keys), value: &str| o.get(&name(group, row)).mean(value);
    let four = |c: &'static str, value| mean("four", (c, "", &[]), value);
    let veno = |other, keys| mean("veno", ("cubic", other, keys), "jain");
    let wired = |first, second, keys| mean("wired", (first, second, keys), "share") * 100.0;
    let harq = |first| {
        mean("harq", (first, "", &[]), "rate_0") / mean("harq", ("cubic", "", &[]), "rate_0")
    };
    format!(
        "Four flows of CUBIC have an index of {:.3}, and {:.3} as the mean of each second's; without the region where CUBIC keeps up \
         with Reno, which ns-3 had not before 3.41, {:.3} and {:.3}, and {:.3} without SACK as well. NewReno has {:.3} and {:.3}, without SACK {:.3}, in ns-3's form \
         {:.3} and {:.3}. \
         CUBIC's index beside Veno is {:.3}, and {:.3} where Veno never slows its growth; beside ns-3's Veno {:.3}, and {:.3} where \
         its receiver acknowledges each segment. On the wired hop XRC has {:.1} % beside CUBIC, {:.1} % over five minutes, and \
         {:.1} % where CUBIC leaves slow start as ns-3's does; NewReno {:.1} and {:.1} % over five minutes. Over HARQ XRC has {:.3} of CUBIC's \
         rate, {:.3} unpaced, {:.3} with a budget of 20 ms.",
        four("cubic", "jain"),
        four("cubic", "jain_1s"),
        four("cubic:reno=0", "jain"),
        four("cubic:reno=0", "jain_1s"),
        mean("four", ("cubic:reno=0", "", NO_SACK), "jain"),
        four("reno", "jain"),
        four("reno", "jain_1s"),
        mean("four", ("reno", "", NO_SACK), "jain"),
        four("reno-ns3", "jain"),
        four("reno-ns3", "jain_1s"),
        veno("veno", &[]),
        veno("veno:slow=0", &[]),
        veno("veno-ns3", &[]),
        veno("veno-ns3", EACH),
        wired("xrc", "cubic", &[]),
        wired("xrc", "cubic", FIVE_MINUTES),
        wired("xrc", "cubic-ns3", &[]),
        wired("reno", "cubic", &[]),
        wired("reno", "cubic", FIVE_MINUTES),
        harq("xrc"),
        harq("xrc:pace=off"),
        harq("xrc:lambda=20"),
    )
}
