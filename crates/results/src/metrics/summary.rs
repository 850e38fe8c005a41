//! The numbers of one run, from what was recorded.

use serde::{Deserialize, Serialize};
use slackwater_core::{Duration, FlowId, Instant};
use slackwater_sim::{CELL_DOWN, CELL_UP};

use super::{Histogram, jain, quantile};
use crate::record::{
    DROP_NAMES, FlowInfo, FlowRecord, LeftOut, LinkRecord, RecorderConfig, RunRecorder,
};

/// Raised when a field of `summary.json` changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// A distribution in a few numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// 5 % of values lie at or below.
    pub p5: f64,
    /// 10 %.
    pub p10: f64,
    /// Half.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
    /// How many values.
    pub count: u64,
}

impl Quantiles {
    /// Of values in any order; `None` without values.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let q = |p| quantile(&values, p);
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            min: *values.first()?,
            p5: q(0.05)?,
            p10: q(0.10)?,
            p50: q(0.50)?,
            p90: q(0.90)?,
            p95: q(0.95)?,
            p99: q(0.99)?,
            max: *values.last()?,
            count: values.len() as u64,
        })
    }

    /// Of a histogram, in milliseconds.
    pub fn of_histogram(h: &Histogram) -> Option<Self> {
        let q = |p| h.quantile(p).map(Duration::as_millis_f64);
        Some(Self {
            mean: h.mean()?.as_millis_f64(),
            min: h.min()?.as_millis_f64(),
            p5: q(0.05)?,
            p10: q(0.10)?,
            p50: q(0.50)?,
            p90: q(0.90)?,
            p95: q(0.95)?,
            p99: q(0.99)?,
            max: h.max()?.as_millis_f64(),
            count: h.count(),
        })
    }
}

/// The numbers of one flow. Rates are in Mbit/s, times in milliseconds, shares from 0 to 1; `None` where there is no
/// such number (a datagram stream has no RTT). `docs/metrics.md` defines each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Name.
    pub label: String,
    /// Controller; empty for datagrams.
    pub controller: String,
    /// The UE, where there is a cell.
    pub ue: Option<u32>,
    /// The data goes from the UE.
    pub up: bool,
    /// Measured from, in seconds.
    pub from_s: f64,
    /// Measured until, in seconds.
    pub to_s: f64,
    /// Payload delivered over time.
    pub goodput_mbps: f64,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets dropped, by reason.
    pub drops: std::collections::BTreeMap<String, u64>,
    /// Dropped packets over sent packets.
    pub loss: f64,
    /// Packets marked CE.
    pub marks: u64,
    /// Marked packets over sent packets.
    pub mark_share: f64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The end of its connection, where the transport closed it before the flow's own end.
    #[serde(default)]
    pub closed: Option<Closed>,
    /// Time of each packet in the bottleneck's queue.
    pub queue_delay_ms: Option<Quantiles>,
    /// Time of each packet in the wired bottleneck's queue.
    pub wired_delay_ms: Option<Quantiles>,
    /// From emission to arrival, each packet.
    pub one_way_ms: Option<Quantiles>,
    /// Share of delivered packets whose one-way delay exceeded `record.late`.
    pub late_share: Option<f64>,
    /// Smoothed RTT at each sample.
    pub srtt_ms: Option<Quantiles>,
    /// Latest RTT sample at each sample.
    #[serde(default)]
    pub rtt_ms: Option<Quantiles>,
    /// Congestion window at each sample, in segments.
    pub cwnd_packets: Option<Quantiles>,
    /// Age of the oldest packet in the flow's queue at each sample.
    pub hol_ms: Option<Quantiles>,
    /// Share of samples at which that age exceeded `record.budget`.
    pub over_budget: Option<f64>,
    /// Completion time of each finite transfer.
    pub fct_ms: Option<Quantiles>,
    /// Frames, where the flow is media.
    #[serde(default)]
    pub media: Option<MediaSummary>,
}

/// A connection that its transport closed: from then on the flow sends nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// When a sample first saw it, in seconds since the start of the run.
    pub at_s: f64,
    /// Why, in words.
    pub reason: String,
}

/// The numbers of a media flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediaSummary {
    /// Payload rate that the encoder aimed at, at each sample.
    pub target_mbps: Option<Quantiles>,
    /// IP bytes of media that arrived over time.
    pub received_mbps: f64,
    /// From capture until a frame was complete.
    pub frame_delay_ms: Option<Quantiles>,
    /// Frames that were shown.
    pub shown: u64,
    /// Frames never shown over all frames.
    pub lost_share: f64,
    /// Frames complete after their deadline or never, over all frames.
    pub late_share: f64,
    /// How often the picture stood still.
    pub freezes: u64,
    /// Share of time during which it did.
    pub frozen_share: f64,
    /// Seconds during which the queue delay was above 20, 55 and 145 ms.
    pub over_s: [f64; 3],
}

fn media(record: &FlowRecord, target: &[f64], seconds: f64) -> MediaSummary {
    let m = &record.media;
    let share = |n: u64| n as f64 / (m.shown + m.lost).max(1) as f64;
    let per_second = |v: f64| if seconds > 0.0 { v / seconds } else { 0.0 };
    let finite = target.iter().filter(|v| v.is_finite());
    MediaSummary {
        target_mbps: Quantiles::of(finite.map(|v| v * 1e-6).collect()),
        received_mbps: per_second(m.wire as f64 * 8e-6),
        frame_delay_ms: Quantiles::of_histogram(&m.frame_delay),
        shown: m.shown,
        lost_share: share(m.lost),
        late_share: share(m.late),
        freezes: m.freezes,
        frozen_share: per_second(m.frozen.as_secs_f64()),
        over_s: m.over.map(Duration::as_secs_f64),
    }
}

/// The numbers of one queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// The node's number.
    pub node: u32,
    /// Which queue of the node, in words: `link`, `ue 3 down`, or `cell down` for all UEs together.
    pub name: String,
    /// The queue's number in the series; for a cell, 2u is the downlink of UE u and 2u+1 its uplink.
    pub index: u32,
    /// What it could have carried over time, where that is known (for a cell: as a whole).
    pub capacity_mbps: Option<f64>,
    /// What it did carry over time.
    pub carried_mbps: f64,
    /// The latter over the former.
    pub utilisation: Option<f64>,
    /// Bytes waiting at each sample, in kB.
    pub backlog_kb: Option<Quantiles>,
    /// Age of the oldest waiting packet at each sample.
    pub hol_ms: Option<Quantiles>,
}

/// Jain's index over the flows of a run, in its three readings. They differ: name the one that you quote.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jain {
    /// Of the bytes delivered over the whole common window (when every flow was on).
    pub long_term: f64,
    /// Mean over the common window's whole seconds of the index of each; none where the bins of a long run are wider.
    pub mean_1s: Option<f64>,
    /// The same for tenths of a second.
    pub mean_100ms: Option<f64>,
    /// The common window, in seconds.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// The numbers of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the scenario.
    pub name: String,
    /// What distinguishes this run in a comparison, key and value.
    pub labels: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
    /// FNV-1a hash of the resolved scenario but for its seed, as 16 hexadecimal digits.
    pub scenario_hash: String,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// Time at the start that is left out, in seconds.
    pub warmup_s: f64,
    /// Sampling period in use, in milliseconds.
    pub interval_ms: f64,
    /// Goodput of all flows together.
    pub goodput_mbps: f64,
    /// Carried over capacity, of the bottleneck in the data's direction; of a cell as a whole.
    pub utilisation: Option<f64>,
    /// Fairness, where several flows share a window.
    pub jain: Option<Jain>,
    /// Queue delay of every flow's packets together.
    pub queue_delay_ms: Option<Quantiles>,
    /// One-way delay of every flow's packets together.
    pub one_way_ms: Option<Quantiles>,
    /// By flow.
    pub flows: Vec<FlowSummary>,
    /// By queue.
    pub links: Vec<LinkSummary>,
    /// What did not fit into the limits of the records.
    pub left_out: LeftOut,
}

impl RunSummary {
    /// A sentence for each flow whose connection was closed by its transport. Its rate counts the time after that, too.
    pub fn closings(&self) -> Vec<String> {
        let closed = |f: &FlowSummary| {
            let closed = f.closed.as_ref()?;
            Some(format!(
                "{}: its connection was closed at {:.3} s ({}); it sent nothing from then on",
                f.label, closed.at_s, closed.reason
            ))
        };
        self.flows.iter().filter_map(closed).collect()
    }
}

/// The numbers of a finished run.
pub fn summarize(run: &RunRecorder) -> RunSummary {
    let config = run.config();
    let flows: Vec<FlowSummary> = (0..config.flows.len()).map(|i| flow(run, i)).collect();
    let links: Vec<LinkSummary> = run.links.iter().map(|l| link(l, config)).collect();
    let mut queue = Histogram::default();
    let mut one_way = Histogram::default();
    for f in &run.flows {
        queue.merge(&f.queue_delay);
        one_way.merge(&f.one_way);
    }
    RunSummary {
        schema: SCHEMA_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        duration_s: config.to.as_secs_f64(),
        warmup_s: config.from.as_secs_f64(),
        interval_ms: run.interval().as_millis_f64(),
        goodput_mbps: flows.iter().map(|f| f.goodput_mbps).sum(),
        utilisation: utilisation(run),
        jain: fairness(run),
        queue_delay_ms: Quantiles::of_histogram(&queue),
        one_way_ms: Quantiles::of_histogram(&one_way),
        flows,
        links,
        left_out: run.left_out,
        ..RunSummary::default()
    }
}

fn flow(run: &RunRecorder, index: usize) -> FlowSummary {
    let config = run.config();
    let info = &config.flows[index];
    let record: &FlowRecord = &run.flows[index];
    let (from, to) = (info.start.max(config.from), info.stop.min(config.to));
    let series = &record.series;
    let range = series.within(from, to);
    // A counter's growth until the last sample of the window: from its first, or from the flow's start where that lies in the window. All
    // counters begin with zero there, and what came before the first sample is of the flow too.
    let begins_within = info.start >= config.from;
    let growth = |column: &[u64]| -> Option<(u64, f64)> {
        // A flow that is on for less than a sampling period may have no sample.
        let (a, b) = (
            range.start,
            range.end.checked_sub(1).filter(|b| *b >= range.start)?,
        );
        let (since, before) = if begins_within && b > a {
            (info.start.as_nanos(), 0)
        } else {
            (series.time[a], column[a])
        };
        let seconds = (series.time[b] - since) as f64 * 1e-9;
        Some((column[b].saturating_sub(before), seconds))
    };
    // Packets tell what was delivered after the last sample. A flow that is measured from its start and of which no sample shows anything
    // has nothing else.
    let sampled = |bytes: u64| bytes > 0 || !begins_within;
    let app = growth(&series.delivered)
        .filter(|(bytes, s)| *s > 0.0 && sampled(*bytes) && !info.controller.is_empty());
    let goodput_mbps = match app {
        Some((bytes, seconds)) => bytes as f64 * 8e-6 / seconds,
        None if to > from => record.delivered_payload as f64 * 8e-6 / to.since(from).as_secs_f64(),
        None => 0.0,
    };
    let tcp = !info.controller.is_empty();
    let ms = |column: &[u64]| -> Vec<f64> {
        column[range.clone()]
            .iter()
            .filter(|v| **v > 0)
            .map(|v| *v as f64 * 1e-6)
            .collect()
    };
    let dropped: u64 = record.drops.iter().sum();
    let over_sent = |n: u64| {
        if record.sent == 0 {
            0.0
        } else {
            n as f64 / record.sent as f64
        }
    };
    let hol: Option<Vec<u64>> = run.link_of(FlowId(index as u32)).map(|l| {
        let range = l.series.within(from, to);
        l.series.hol[range].to_vec()
    });
    let over_budget = hol.as_ref().filter(|h| !h.is_empty()).map(|h| {
        let over = h.iter().filter(|v| **v > config.budget.as_nanos()).count();
        over as f64 / h.len() as f64
    });
    FlowSummary {
        label: info.label.clone(),
        controller: info.controller.clone(),
        ue: info.ue,
        up: info.up,
        from_s: from.as_secs_f64(),
        to_s: to.as_secs_f64(),
        goodput_mbps,
        sent: record.sent,
        delivered: record.delivered,
        drops: DROP_NAMES
            .iter()
            .zip(record.drops)
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| ((*name).to_owned(), n))
            .collect(),
        loss: over_sent(dropped),
        marks: record.marks,
        mark_share: over_sent(record.marks),
        retransmits: growth(&series.retransmits).map_or(record.resent, |g| g.0),
        timeouts: growth(&series.timeouts).map_or(0, |g| g.0),
        closed: record.closed.map(|(at, reason)| Closed {
            at_s: at.as_secs_f64(),
            reason: reason.to_owned(),
        }),
        queue_delay_ms: Quantiles::of_histogram(&record.queue_delay),
        wired_delay_ms: Quantiles::of_histogram(&record.wired_delay),
        one_way_ms: Quantiles::of_histogram(&record.one_way),
        late_share: (record.delivered > 0).then(|| record.late as f64 / record.delivered as f64),
        srtt_ms: Quantiles::of(ms(&series.srtt)).filter(|_| tcp),
        rtt_ms: Quantiles::of(ms(&series.rtt)).filter(|_| tcp),
        cwnd_packets: Quantiles::of(
            series.cwnd[range.clone()]
                .iter()
                .map(|v| *v as f64 / f64::from(info.mss.max(1)))
                .collect(),
        )
        .filter(|_| tcp),
        hol_ms: hol.and_then(|h| Quantiles::of(h.into_iter().map(|v| v as f64 * 1e-6).collect())),
        over_budget,
        fct_ms: Quantiles::of(
            record
                .transfers
                .iter()
                .map(|t| t.end.since(t.start).as_millis_f64())
                .collect(),
        ),
        media: info.media.then(|| {
            let seconds = to.since(from).as_secs_f64();
            media(record, &series.target[range.clone()], seconds)
        }),
    }
}

/// Bytes (capacity, carried) and seconds between the first and the last sample of the measured part.
fn volumes(link: &LinkRecord, config: &RecorderConfig) -> Option<(u64, u64, f64)> {
    let s = &link.series;
    let range = s.within(config.from, config.to);
    let (a, b) = (
        range.start,
        range.end.checked_sub(1).filter(|b| *b >= range.start)?,
    );
    let seconds = (s.time.get(b)? - s.time.get(a)?) as f64 * 1e-9;
    let grown = |c: &[u64]| c[b].saturating_sub(c[a]);
    (seconds > 0.0).then(|| (grown(&s.capacity), grown(&s.carried), seconds))
}

fn link_name(link: &LinkRecord, config: &RecorderConfig) -> String {
    if Some(link.node) == config.wired {
        return "wired".to_owned();
    }
    if !config.cell || link.node != config.bottleneck {
        return "link".to_owned();
    }
    match link.index {
        CELL_DOWN => "cell down".to_owned(),
        CELL_UP => "cell up".to_owned(),
        i => format!("ue {} {}", i / 2, if i % 2 == 0 { "down" } else { "up" }),
    }
}

fn link(link: &LinkRecord, config: &RecorderConfig) -> LinkSummary {
    let (capacity, carried, seconds) = volumes(link, config).unwrap_or((0, 0, 1.0));
    let range = link.series.within(config.from, config.to);
    LinkSummary {
        node: link.node.0,
        name: link_name(link, config),
        index: link.index,
        capacity_mbps: (capacity > 0).then(|| capacity as f64 * 8e-6 / seconds),
        carried_mbps: carried as f64 * 8e-6 / seconds,
        utilisation: (capacity > 0).then(|| carried as f64 / capacity as f64),
        backlog_kb: Quantiles::of(
            link.series.backlog[range.clone()]
                .iter()
                .map(|b| *b as f64 * 1e-3)
                .collect(),
        ),
        hol_ms: Quantiles::of(
            link.series.hol[range]
                .iter()
                .map(|h| *h as f64 * 1e-6)
                .collect(),
        ),
    }
}

/// Of the bottleneck in the direction of the first flow's data. A cell is measured as a whole.
fn utilisation(run: &RunRecorder) -> Option<f64> {
    let config = run.config();
    let link = if config.cell {
        let index = if config.flows.first()?.up {
            CELL_UP
        } else {
            CELL_DOWN
        };
        run.links
            .iter()
            .find(|l| l.node == config.bottleneck && l.index == index)
    } else {
        run.link_of(FlowId(0))
    }?;
    let (capacity, carried, _) = volumes(link, config).filter(|v| v.0 > 0)?;
    Some(carried as f64 / capacity as f64)
}

/// Jain's index of the flows with a controller, over the window in which every one of them was on. A datagram stream
/// takes what it needs and no share.
fn fairness(run: &RunRecorder) -> Option<Jain> {
    let config = run.config();
    let competing: Vec<(&FlowInfo, &FlowRecord)> = config
        .flows
        .iter()
        .zip(&run.flows)
        .filter(|(info, _)| !info.controller.is_empty())
        .collect();
    if competing.len() < 2 {
        return None;
    }
    let starts = competing.iter().map(|(f, _)| f.start);
    let stops = competing.iter().map(|(f, _)| f.stop);
    let (from, to) = (starts.max()?.max(config.from), stops.min()?.min(config.to));
    let bin = run.bin();
    let first = from.as_nanos().div_ceil(bin.as_nanos()) as usize;
    let last = (to.as_nanos() / bin.as_nanos()) as usize;
    if last <= first {
        return None;
    }
    let shares = |range: core::ops::Range<usize>| -> Vec<f64> {
        competing
            .iter()
            .map(|(_, f)| {
                let end = range.end.min(f.bins.len());
                let start = range.start.min(end);
                f.bins[start..end].iter().map(|b| b.delivered as f64).sum()
            })
            .collect()
    };
    // None where the bins of a long run are wider than that.
    let mean = |span: Duration| {
        let width = (span / bin) as usize;
        if width == 0 {
            return None;
        }
        let values: Vec<f64> = (first..)
            .step_by(width)
            .take_while(|at| at + width <= last)
            .filter_map(|at| jain(&shares(at..at + width)))
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Some(Jain {
        long_term: jain(&shares(first..last))?,
        mean_1s: mean(Duration::from_secs(1)),
        mean_100ms: mean(Duration::from_millis(100)),
        from_s: (Instant::ZERO + bin * first as u64).as_secs_f64(),
        to_s: (Instant::ZERO + bin * last as u64).as_secs_f64(),
    })
}

/// FNV-1a, 64 bits: names a text, guards against nothing.
pub fn fnv1a(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
