//! Experiments that show why claims miss: one thing changed at a time. `claims/cecc.toml` cites them.

mod changes;

use super::oracle;
use super::prelude::*;

/// A key of the scenario and its value.
type Change = (&'static str, &'static str);

/// BBR asks for the least round trip for the first time ten seconds after it began (Linux
/// `bbr_min_rtt_win_sec`).
const BEFORE: (&str, &str) = ("duration", "10 s");
const SENDERS: [(&str, &str); 2] = [("cubic", "CUBIC"), ("bbr", "BBR")];
/// How often a UE may ask for a grant, and how long the run is.
const ASKED: [(&str, &str, Changes); 3] = [
    ("", "whole run", &[]),
    ("-before", "up to the first PROBE_RTT, 10 s", &[BEFORE]),
    (
        "-requests",
        "a scheduling request each 10 ms",
        &[("cell.uplink.sr_period", "10 ms")],
    ),
];

/// What the start of one flow meets.
const START: [(&str, &str, Changes); 8] = [
    ("as-is", "as tested", &[]),
    (
        "grid",
        "frames on their grid",
        &[("flow.app.interval_sigma", "0 ms")],
    ),
    (
        "nohystart",
        "without HyStart",
        &[("flow.controller", "cubic-nohystart")],
    ),
    (
        "grants",
        "grants of 20 kB",
        &[
            ("cell.uplink.first_grant", "20000"),
            ("cell.uplink.min_grant", "20000"),
        ],
    ),
    ("window", "first window of 160 segments", &[WINDOW]),
    (
        "sizes",
        "frames of one size",
        &[("flow.app.size_cv", "0 %")],
    ),
    ("hundred", "frames of 100 kB, all of one size", &HUNDRED),
    (
        "known",
        "a base station that knows what waits in UEs",
        &KNOWN,
    ),
];
/// Frames as the paper counts them for the queue of its start (IV-C, "the average frame size of 100KB"): 60 a second are 48 Mbit/s.
const HUNDRED: [(&str, &str); 2] = [("flow.app.rate", "48 Mbit/s"), ("flow.app.size_cv", "0 %")];
/// A base station that knows at once what waits in a UE, as ns-3's, with a chance to send in each uplink slot.
const KNOWN: [(&str, &str); 2] = [
    ("cell.uplink.buffer_status", "out-of-band"),
    ("cell.uplink.sr_period", "1 ms"),
];
/// A first window that holds two frames of 104 kB.
const WINDOW: (&str, &str) = ("flow.tcp.initial_window", "160");

/// Five and six flows of cell A, whole runs.
const MORE: [&str; 2] = ["5", "6"];
const MORE_WAYS: [(&str, &str, Changes); 4] = [
    ("off", "CUBIC", &[]),
    ("hold", "hold", HOLD.changes),
    (
        "hold-window",
        "hold, first window of 160 segments",
        &[HOLD.changes[0], WINDOW],
    ),
    (
        "paper-window",
        "paper, first window of 160 segments",
        &[PAPER.changes[0], WINDOW],
    ),
];

/// What may bound `hold` in cell D, at six and seven flows: resource blocks in place of 1,136, and others.
const IN_D: [(&str, &str, Changes); 12] = [
    ("as-is", "hold", &[]),
    ("udp", "over UDP", &[("flow.app.transport", "udp")]),
    (
        "sizes",
        "frames of one size",
        &[("flow.app.size_cv", "0 %")],
    ),
    (
        "often",
        "reports each 0.125 ms",
        &[("upf.reports.period", "125 us")],
    ),
    ("alg1", "Algorithm 1", &[("upf.cecc.schedule", "alg1")]),
    ("two", "2 % more resource blocks", &[("cell.n_rb", "1159")]),
    ("four", "4 % more", &[("cell.n_rb", "1181")]),
    ("eight", "8 % more", &[("cell.n_rb", "1227")]),
    (
        "margin",
        "margin of 0 in place of 0.2 ms",
        &[("upf.cecc.margin", "0 ms")],
    ),
    (
        "beside",
        "UPF at the cell, its packets and reports at once",
        &[("upf.n3", "0 ms")],
    ),
    (
        "quarter",
        "10.25 ms allowed",
        &[("record.late", "10250 us")],
    ),
    ("half", "10.5 ms allowed", &[("record.late", "10500 us")]),
];
/// Rates of the ideal cell beside it, as shares of D's.
const SHARES: [(&str, f64); 4] = [("100", 1.0), ("98", 0.98), ("96", 0.96), ("94", 0.94)];
/// By how much later than [`oracle`] has it the bytes of an ideal cell arrive, in microseconds.
const LATER: [(&str, f64); 3] = [("250", 250.0), ("500", 500.0), ("750", 750.0)];
const FULL: [&str; 2] = ["6", "7"];

fn bbr(sender: &str, asked: &str) -> String {
    format!("causes/one-{sender}{asked}")
}

fn start(key: &str) -> String {
    format!("causes/start-{key}")
}

fn more(way: &str, n: &str) -> String {
    format!("causes/a{n}-{way}")
}

fn in_d(key: &str, n: &str) -> String {
    format!("causes/d{n}-{key}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    let mut add = |name: String, changes: Vec<Change>, reduce: fn(&RunResult, &mut Outcome)| {
        let mut all = base(options).to_vec();
        all.extend(changes);
        experiments.push(Experiment::new(name, SCENARIO, all, reduce)?);
        Ok::<(), StudyError>(())
    };
    for (sender, _) in SENDERS {
        for (asked, _, changes) in ASKED {
            let one = [("ue.count", "1"), ("flow.controller", sender)];
            add(bbr(sender, asked), [&one, changes].concat(), of_bbr)?;
        }
    }
    for (key, _, changes) in START {
        let one = [
            ("duration", "5 s"),
            ("ue.count", "1"),
            ("record.interval", "1 ms"),
        ];
        add(start(key), [&one, changes].concat(), of_start)?;
    }
    for n in MORE {
        for (way, _, changes) in MORE_WAYS {
            add(more(way, n), [&[("ue.count", n)], changes].concat(), keep)?;
        }
    }
    for n in FULL {
        let d = [&[("ue.count", n)], PLACES[3].changes].concat();
        add(in_d("off", n), d.clone(), keep)?;
        for (key, _, changes) in IN_D {
            let hold = [&d, HOLD.changes, changes].concat();
            add(in_d(key, n), hold, keep)?;
        }
        add(in_d("ideal", n), [&d, UDP.changes].concat(), of_ideal)?;
    }
    experiments.extend(changes::experiments(options)?);
    Ok(Part {
        id: "causes",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

/// Quantiles of one flow, and the bandwidth that BBR believes in before and after its first `PROBE_RTT`.
fn of_bbr(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let delays = &run.records.flows[0].one_way;
    out.value("net_p50", m::ms(delays.quantile(0.5)));
    out.value("net_p99", m::ms(delays.quantile(0.99)));
    for (name, span) in [
        ("bw_before", (SETTLED, 10.0)),
        ("bw_after", (12.0, m::end(run))),
    ] {
        let mean = m::mean(&m::internal(run, 0, "btlbw", span));
        out.value(name, mean.map(|v| v * 1e-6));
    }
}

/// The start of one flow: as in the figure `start`, what frames under way had not yet sent, and when the cell held most.
fn of_start(run: &RunResult, out: &mut Outcome) {
    super::start::reduce(run, out);
    let flow = &run.records.flows[0];
    let series = &flow.series;
    let early = flow
        .transfers
        .iter()
        .take_while(|t| t.start.as_secs_f64() < 1.0);
    let early: Vec<_> = early.collect();
    let unsent = early.iter().map(|now| {
        let under_way = early
            .iter()
            .filter(|t| t.start <= now.start && t.end > now.start);
        let all = under_way.map(|t| t.bytes.get()).sum::<u64>();
        let at = series.time.partition_point(|t| *t <= now.start.as_nanos());
        let window = series.cwnd.get(at.saturating_sub(1)).copied().unwrap_or(0);
        all.saturating_sub(window)
    });
    out.value("unsent", unsent.max().map(|bytes| bytes as f64 * 1e-3));
    let frames = flow.transfers.iter();
    let written = |now: u64| {
        let until = frames.clone().take_while(|t| t.start.as_nanos() <= now);
        until.map(|t| t.bytes.get()).sum::<u64>()
    };
    let samples = series.time.iter().zip(&series.acked).zip(&series.in_flight);
    let first = samples.take_while(|((t, _), _)| **t < 1_000_000_000);
    let server = first.map(|((t, acked), flight)| written(*t).saturating_sub(acked + flight));
    out.value("server", server.max().map(|bytes| bytes as f64 * 1e-3));

    let limit = run.scenario.record.late;
    let waits = early.iter().filter(|t| t.end.since(t.start) > limit);
    out.value("waits", Some(waits.count() as f64));
}

/// What earliest frame first satisfies in ideal cells of several rates.
fn of_ideal(run: &RunResult, out: &mut Outcome) {
    let flows = oracle::written(run);
    let mut keep = |key: &str, cell: oracle::Ideal| {
        let (edf, most) = oracle::satisfied(&flows, cell);
        out.value(format!("edf_{key}"), Some(edf));
        out.value(format!("most_{key}"), Some(most));
    };
    for (key, share) in SHARES {
        keep(key, oracle::Ideal::of(oracle::RATE_D * share));
    }
    let cell = oracle::Ideal::of(oracle::RATE_D);
    for (key, later) in LATER {
        keep(key, cell.later(later * 1e-6));
    }
    keep("timed", cell.timed());
    keep("alike", cell.timed().in_slots_of_d());
}

fn draw(o: &Outcomes) -> Figure {
    let named = |rows: Vec<(String, &'static str, String)>| {
        rows.into_iter()
            .map(|(label, colour, name)| (label, colour, o.get(&name)))
            .collect::<Vec<(String, &str, &Runs)>>()
    };
    let one = named(
        SENDERS
            .iter()
            .flat_map(|(sender, says)| ASKED.iter().map(move |asked| (*sender, *says, asked)))
            .map(|(sender, says, (asked, what, _))| {
                (format!("{says}, {what}"), "", bbr(sender, asked))
            })
            .collect(),
    );
    let starts = named(
        START
            .iter()
            .map(|(key, says, _)| ((*says).to_owned(), "cubic", start(key)))
            .collect(),
    );
    let whole = named(
        MORE.iter()
            .flat_map(|n| {
                MORE_WAYS
                    .iter()
                    .map(move |(way, says, _)| (format!("{n} flows, {says}"), "cecc", more(way, n)))
            })
            .collect(),
    );
    let many = named(
        FULL.iter()
            .flat_map(|n| {
                let off = (format!("{n} flows, CUBIC"), "cubic", in_d("off", n));
                let hold = IN_D.iter().map(move |(key, says, _)| {
                    (format!("{n} flows, {says}"), "cecc", in_d(key, n))
                });
                core::iter::once(off).chain(hold)
            })
            .collect(),
    );
    let ideal = named(
        FULL.iter()
            .map(|n| (format!("{n} flows"), "", in_d("ideal", n)))
            .collect(),
    );
    let of_one: [Entry; 5] = [
        Entry::plain("network, p50", "ms", "net_p50"),
        Entry::plain("network, p99", "ms", "net_p99"),
        Entry::plain("frame, p50", "ms", "frame_p50"),
        Entry::plain(
            "bandwidth that it believes in, 2 to 10 s",
            "Mbit/s",
            "bw_before",
        ),
        Entry::plain("from 12 s on", "Mbit/s", "bw_after"),
    ];
    let of_start: [Entry; 8] = [
        Entry::plain("RTT, 5 % quantile", "ms", "rtt_p5"),
        Entry::plain("RTT, 95 % quantile", "ms", "rtt_p95"),
        Entry::plain("RTTs until the window holds a frame", "", "rtts"),
        Entry::plain("frames under way, at most", "kB", "pile"),
        Entry::plain("of them beyond the window", "kB", "unsent"),
        Entry::plain("written and not yet sent, at most", "kB", "server"),
        Entry::plain("largest one-way delay", "ms", "net_max"),
        Entry::plain("late frames, first second", "", "waits"),
    ];
    let of_whole: [Entry; 5] = [
        Entry::less("network, worst flow, whole run", "%", "worst_net_all"),
        Entry::less("network, worst flow, from 2 s on", "%", "worst_net_steady"),
        Entry::less("frames, worst flow, whole run", "%", "worst_frame_all"),
        Entry::less("frames, worst flow, from 2 s on", "%", "worst_frame_steady"),
        Entry::more("satisfied, network, whole run", "flows", "net_all"),
    ];
    let of_many: [Entry; 3] = [
        Entry::more("satisfied, frames, from 2 s on", "flows", "frame_steady"),
        Entry::less("late, frames, from 2 s on", "%", "late_frame_steady"),
        Entry::more("rate", "Mbit/s", "rate"),
    ];
    let of_ideal: [Entry; 13] = [
        Entry::plain("earliest first", "flows", "edf_100"),
        Entry::plain("any order", "flows", "most_100"),
        Entry::plain("earliest first at 98 % of the rate", "flows", "edf_98"),
        Entry::plain("any order", "flows", "most_98"),
        Entry::plain("earliest first at 96 %", "flows", "edf_96"),
        Entry::plain("any order", "flows", "most_96"),
        Entry::plain("earliest first at 94 %", "flows", "edf_94"),
        Entry::plain("any order", "flows", "most_94"),
        Entry::plain("earliest first, bytes 0.25 ms later", "flows", "edf_250"),
        Entry::plain("0.5 ms later", "flows", "edf_500"),
        Entry::plain("0.75 ms later", "flows", "edf_750"),
        Entry::plain("earliest first, times of D's cell", "flows", "edf_timed"),
        Entry::plain("and its slots and headers", "flows", "edf_alike"),
    ];
    let p99 = |sender: &str, asked: &str| o.get(&bbr(sender, asked)).mean("net_p99");
    let over = |asked: &str| p99("bbr", asked) / p99("cubic", asked);
    let believes = |value: &str| o.get(&bbr("bbr", "")).mean(value);
    let began = |key: &str, value: &str| o.get(&start(key)).mean(value);
    let full = |key: &str, n: &str| o.get(&in_d(key, n)).mean("frame_steady");
    // Seed by seed, since what a seed's phases make late differs more between seeds than between changes.
    let than = |a: &str, name: &str, b: &str, of: &str, n: &str| {
        let pairs = less(o.get(&in_d(a, n)), name, 1.0, o.get(&in_d(b, n)), of);
        pairs.map_or_else(String::new, |e| match e.interval {
            Some(i) => format!(
                "{:.1} more seed by seed (95 %: {:.1} to {:.1})",
                e.mean, i.low, i.high
            ),
            None => format!("{:.1} more", e.mean),
        })
    };
    let satisfied = "frame_steady";
    let more = than("half", satisfied, "as-is", satisfied, "7");
    let [times, cell, window, order] = [
        ("ideal", "edf_100", "ideal", "edf_timed"),
        ("ideal", "edf_timed", "ideal", "edf_alike"),
        ("udp", satisfied, "as-is", satisfied),
        ("ideal", "edf_alike", "udp", satisfied),
    ]
    .map(|(a, name, b, of)| than(a, name, b, of, "7"));
    let at = |n: &str, share: &str| o.get(&in_d("ideal", n)).mean(share);
    let mut panels = vec![
        table(
            "bbr",
            "One flow of Figure 3",
            "sender and run",
            &of_one,
            &one,
        )
        .wide(),
        table(
            "start",
            "The start of one flow",
            "change",
            &of_start,
            &starts,
        )
        .wide(),
        table(
            "whole",
            "Slow start included, cell A",
            "flows and UPF",
            &of_whole,
            &whole,
        )
        .wide(),
        table("d", "hold in cell D", "flows and change", &of_many, &many).wide(),
        table(
            "ideal",
            "The ideal cell in D's place",
            "flows",
            &of_ideal,
            &ideal,
        )
        .wide(),
    ];
    panels.extend(changes::panels(o));
    Figure {
        title: "Causes: why claims miss".to_owned(),
        setup: "Figures 3 and 7, the start and cell D with one thing changed.".to_owned(),
        claim: String::new(),
        seen: format!(
            "BBR's network delay at 99 % is {:.2} of CUBIC's; {:.2} up to its first PROBE_RTT and {:.2} with a scheduling request each 10 ms. \
             It believes in {:.0} Mbit/s before that and in {:.0} after. With frames on their grid the RTT lies between {:.1} and {:.1} ms. Of the \
             {:.0} kB of frames under way {:.0} are beyond the window; the server holds {:.0} that it has not sent, {:.0} with a base station that knows what waits \
             in UEs, and {:.0} with frames of 100 kB. `hold` in D satisfies {:.1} of six and {:.1} of seven, with 2 % more resource blocks \
             {:.1} and {:.1}, with 10.5 ms allowed {:.1} and {:.1}, of seven {}. Earliest first in an ideal cell satisfies {:.1} and {:.1}, in one with 2 % less \
             rate {:.1} and {:.1}, in one whose bytes arrive 0.5 ms later {:.1} and {:.1}, in one with the times and slots of D's cell {:.1} and {:.1}. \
             What `hold` is short of it, of seven: the ideal cell without these times satisfies {times}, without these slots {cell}; \
             `hold` over UDP, which no window bounds, satisfies {window}; the order itself, against `hold` over UDP, {order}. {}",
            over(""),
            over("-before"),
            over("-requests"),
            believes("bw_before"),
            believes("bw_after"),
            began("grid", "rtt_p5"),
            began("grid", "rtt_p95"),
            began("as-is", "pile"),
            began("as-is", "unsent"),
            began("as-is", "server"),
            began("known", "server"),
            began("hundred", "server"),
            full("as-is", "6"),
            full("as-is", "7"),
            full("two", "6"),
            full("two", "7"),
            full("half", "6"),
            full("half", "7"),
            more,
            at("6", "edf_100"),
            at("7", "edf_100"),
            at("6", "edf_98"),
            at("7", "edf_98"),
            at("6", "edf_500"),
            at("7", "edf_500"),
            at("6", "edf_alike"),
            at("7", "edf_alike"),
            changes::seen(o),
        ),
        panels,
        ..Figure::default()
    }
}
