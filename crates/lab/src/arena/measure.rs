//! What is kept of a run: a number for each measure that the run has.

use std::collections::BTreeMap;

use slackwater_core::Duration;
use slackwater_results::metrics::{Better, Histogram, Metric, Quantiles, jain};
use slackwater_results::record::Transfer;
use slackwater_results::stats::Bounds;
use slackwater_scenario::App;
use slackwater_scenario::flow::Protocol;

use super::set::Place;
use crate::run::RunResult;

/// Numbers by the key of their measure.
pub type Values = BTreeMap<String, f64>;

/// A measure of the arena.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name for code and JSON.
    pub key: &'static str,
    /// Name for tables: that of `docs/metrics.md` where it is one of those.
    pub label: &'static str,
    /// Unit; empty for a number without one.
    pub unit: &'static str,
    /// Digits after the point.
    pub decimals: usize,
    /// Which direction is good.
    pub better: Better,
    /// The definition.
    pub help: &'static str,
}

macro_rules! measure {
    ($key:literal, $label:literal, $unit:literal, $decimals:literal, $better:ident, $help:literal) => {
        Measure {
            key: $key,
            label: $label,
            unit: $unit,
            decimals: $decimals,
            better: Better::$better,
            help: $help,
        }
    };
}

/// Every measure, in the order of tables.
pub const MEASURES: &[Measure] = &[
    measure!(
        "goodput",
        "goodput",
        "Mbit/s",
        2,
        Higher,
        "Payload that the flows of the system under test delivered, all together."
    ),
    measure!(
        "delay_p95",
        "p95 queue delay",
        "ms",
        1,
        Lower,
        "95 % quantile over their packets of the one-way delay beyond the wired path: every queue on the way (UPF, wired hop, \
         radio), with the radio's own slots and repetitions."
    ),
    measure!(
        "delay_p99",
        "p99 queue delay",
        "ms",
        1,
        Lower,
        "99 % quantile of the same."
    ),
    measure!(
        "utilisation",
        "utilisation",
        "%",
        1,
        Higher,
        "Bytes that the bottleneck carried over bytes that it could have carried; of a cell as a whole."
    ),
    measure!(
        "jain",
        "Jain (long-term)",
        "",
        3,
        Higher,
        "Jain's index of the goodputs of the flows that compete: (sum x)^2 / (n sum x^2)."
    ),
    measure!(
        "harm",
        "harm to CUBIC",
        "%",
        1,
        Lower,
        "Share of its solo goodput that a competing CUBIC loses: (solo - with) / solo (Ware et al., HotNets 2019), the same seed \
         with and without the system. CUBIC's own harm to CUBIC is what a newcomer may do."
    ),
    measure!(
        "harm_delay",
        "delay harm to CUBIC",
        "%",
        1,
        Lower,
        "The same for the competitor's p95 queue delay, where less is better: (with - solo) / with."
    ),
    measure!(
        "fct_p50",
        "p50 FCT",
        "ms",
        0,
        Lower,
        "Median completion time of the transfers."
    ),
    measure!(
        "fct_p95",
        "p95 FCT",
        "ms",
        0,
        Lower,
        "95 % quantile of the same."
    ),
    measure!(
        "late",
        "late VR bytes",
        "%",
        2,
        Lower,
        "Bytes of VR frames that arrived later than 10 ms after their frame was written. Of UDP, packets that took longer or were lost."
    ),
    measure!(
        "satisfied",
        "satisfied",
        "flows",
        1,
        Higher,
        "VR flows of which at most one byte in ten thousand was late (CECC's requirement: 99.99 % within 10 ms)."
    ),
    measure!(
        "received",
        "received",
        "Mbit/s",
        2,
        Higher,
        "IP bytes with media that arrived, all media flows together."
    ),
    measure!(
        "frame_p95",
        "p95 frame",
        "ms",
        1,
        Lower,
        "95 % quantile of the time from the capture of a frame until it was complete, mean over the media flows."
    ),
    measure!(
        "late_frames",
        "late frames",
        "%",
        2,
        Lower,
        "Frames that were complete after their deadline, or never, over all frames."
    ),
    measure!(
        "freezes",
        "freezes",
        "1/min",
        2,
        Lower,
        "Gaps between two shown frames of more than three mean gaps and more than 150 ms above the mean gap (W3C, freezeCount), \
         a minute and media flow."
    ),
    measure!(
        "loss",
        "loss",
        "%",
        2,
        Lower,
        "Data packets dropped anywhere over data packets sent."
    ),
];

impl Measure {
    /// What values it can have. Harm may be a gain, which has no bound.
    pub fn bounds(&self) -> Bounds {
        match self.unit {
            _ if self.key.starts_with("harm") => Bounds::Real,
            "%" => Bounds::UpTo(100.0),
            _ => Bounds::Positive,
        }
    }

    /// The measure called `key`.
    pub fn find(key: &str) -> Option<&'static Self> {
        MEASURES.iter().find(|m| m.key == key)
    }
}

/// What [`super::Table`] makes `harm` of; not shown.
pub(super) const RIVAL: [&str; 2] = ["rival_goodput", "rival_delay_p95"];

struct Flows<'a> {
    run: &'a RunResult,
    /// Index of each flow and the wired round-trip time it has.
    flows: Vec<(usize, Duration)>,
}

impl Flows<'_> {
    fn sum(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.flows.iter().map(|(i, _)| of(*i)).sum()
    }

    fn goodput(&self) -> f64 {
        self.sum(|i| self.run.summary.flows[i].goodput_mbps)
    }

    /// A quantile of the one-way delay beyond the wired path, ms. The flows of a system share one path.
    fn delay(&self, q: f64) -> Option<f64> {
        let mut all = Histogram::default();
        for (i, _) in &self.flows {
            all.merge(&self.run.records.flows[*i].one_way);
        }
        let wired = self.flows.first()?.1.as_millis_f64() / 2.0;
        Some((all.quantile(q)?.as_millis_f64() - wired).max(0.0))
    }
}

/// The numbers of `run`, which is one of `place`.
pub(super) fn values(place: &Place, run: &RunResult) -> Values {
    let instances = run.scenario.expanded_flows();
    let all = || instances.iter().enumerate();
    let of = |wanted: &dyn Fn(usize) -> bool| Flows {
        run,
        flows: all()
            .filter(|(_, f)| wanted(f.entry))
            .map(|(i, f)| (i, f.rtt))
            .collect(),
    };
    let players = of(&|entry| place.players.contains(&entry));
    let mut out = Values::new();
    let mut keep = |key: &str, value: Option<f64>| {
        if let Some(v) = value.filter(|v| v.is_finite()) {
            out.insert(key.to_owned(), v);
        }
    };
    if let Some(rival) = place.rival {
        let rival = of(&|entry| entry == rival);
        keep(RIVAL[0], Some(rival.goodput()));
        keep(RIVAL[1], rival.delay(0.95));
    }
    keep("goodput", Some(players.goodput()));
    keep("delay_p95", players.delay(0.95));
    keep("delay_p99", players.delay(0.99));
    keep("utilisation", run.summary.utilisation.map(|u| u * 100.0));
    let way = |entry: usize| run.scenario.flows[entry].direction;
    let shares: Vec<f64> = all()
        .filter(|(_, f)| place.players.contains(&f.entry) || place.rival == Some(f.entry))
        // An upload and a download do not share what there is.
        .filter(|(_, f)| way(f.entry) == way(place.players[0]))
        // Transfers and frames take what they need, not what they can get.
        .filter(|(_, f)| matches!(f.spec.app, App::Bulk(_) | App::Media(_)))
        .map(|(i, _)| run.summary.flows[i].goodput_mbps)
        .collect();
    keep("jain", jain(&shares));
    let sent = players.sum(|i| run.records.flows[i].sent as f64);
    let dropped = players.sum(|i| run.records.flows[i].drops.iter().sum::<u64>() as f64);
    keep("loss", (sent > 0.0).then(|| dropped / sent * 100.0));
    let by_time = place.front.iter().any(|key| key.starts_with("fct"));
    // Frames of VR count by the bytes that are late, but where a drawn cell compares their times.
    let flows = players.flows.iter().map(|f| f.0);
    let times: Vec<f64> = flows
        .filter(|i| by_time || matches!(instances[*i].spec.app, App::Transfers(_)))
        .flat_map(|i| &run.records.flows[i].transfers)
        .map(|t| t.end.since(t.start).as_millis_f64())
        .collect();
    let length = run.scenario.duration.as_millis_f64();
    if let Some(q) = Quantiles::of(times) {
        keep("fct_p50", Some(q.p50));
        keep("fct_p95", Some(q.p95));
    } else if by_time {
        // Where none ended, one takes as long as the run, at least.
        keep("fct_p50", Some(length));
        keep("fct_p95", Some(length));
    }
    let late = late_shares(&players);
    if !late.is_empty() {
        let satisfied = late.iter().filter(|s| **s <= ALLOWED).count();
        keep("satisfied", Some(satisfied as f64));
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        keep("late", Some(mean * 100.0));
    }
    let media: Vec<_> = players
        .flows
        .iter()
        .filter_map(|(i, _)| run.summary.flows[*i].media.as_ref().map(|m| (*i, m)))
        .collect();
    if !media.is_empty() {
        let n = media.len() as f64;
        let minutes = run.scenario.duration.saturating_sub(run.scenario.warmup);
        let minutes = minutes.as_secs_f64() / 60.0;
        let metric = |key: &str| {
            let metric = Metric::find(key)?;
            let values = media.iter();
            let values: Vec<f64> = values
                .filter_map(|(i, _)| metric.of_flow(&run.summary.flows[*i]))
                .collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        keep("received", metric("received").map(|mean| mean * n));
        keep("frame_p95", metric("frame_p95"));
        keep("late_frames", metric("late_frames"));
        keep("freezes", metric("freezes").map(|f| f / minutes));
    }
    out
}

/// The share of bytes that may come late.
// CECC, II: 99.99 % within 10 ms.
const ALLOWED: f64 = 1e-4;

/// The share of late bytes of each VR flow, since the frame was written; 1 where none arrived. Datagrams that are lost never come, so theirs is
/// the share of late and lost packets. So is that of a flow none of whose frames has ended.
fn late_shares(players: &Flows<'_>) -> Vec<f64> {
    let instances = players.run.scenario.expanded_flows();
    let flows = players.flows.iter().map(|f| f.0);
    let vr = flows.filter(|i| matches!(instances[*i].spec.app, App::Vr(_)));
    vr.map(|i| {
        let record = &players.run.records.flows[i];
        let datagrams = instances[i].spec.protocol() == Protocol::Udp;
        let (late, all) = if datagrams || record.transfers.is_empty() {
            let lost = record.drops.iter().sum::<u64>();
            (record.late + lost, record.delivered + lost)
        } else {
            let sum = |of: fn(&Transfer) -> u64| record.transfers.iter().map(of).sum::<u64>();
            (sum(|t| t.late.get()), sum(|t| t.bytes.get()))
        };
        if all == 0 {
            return 1.0;
        }
        late as f64 / all as f64
    })
    .collect()
}
