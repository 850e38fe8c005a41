//! Qlogs of the senders: their metrics at each sample, their CE marks and, where packets are recorded, every packet.

mod sent;
#[cfg(test)]
mod tests;

use slackwater_core::{Body, Bytes, Duration, Instant, Rate};
use slackwater_scenario::Scenario;
use slackwater_scenario::flow::Protocol as Transport;
use slackwater_wire::qlog::{Metrics, Protocol, QlogWriter, Vantage};

use crate::record::{Captured, FlowInfo, FlowRecord, FlowSeries, RunRecorder};
use sent::Transmissions;

/// A qlog of each sender with a controller, by file name.
pub fn qlogs(scenario: &Scenario, run: &RunRecorder) -> Vec<(String, String)> {
    let title = scenario.title.as_deref().unwrap_or(&scenario.name);
    let flows = run.config().flows.iter().zip(&run.flows);
    flows
        .zip(packets_by_flow(run))
        .enumerate()
        .filter(|(_, ((info, record), _))| {
            !info.controller.is_empty() && !record.series.time.is_empty()
        })
        .map(|(i, ((info, record), packets))| {
            let group = format!("flow{i}");
            let log = qlog(title, &group, info, record, &packets);
            (format!("{group}.sqlog"), log)
        })
        .collect()
}

/// The captured packets of each flow, in the order of time.
fn packets_by_flow(run: &RunRecorder) -> Vec<Vec<&Captured>> {
    let mut of = vec![Vec::new(); run.flows.len()];
    for captured in &run.captured {
        if let Some(flow) = of.get_mut(captured.packet.flow.index()) {
            flow.push(captured);
        }
    }
    of
}

/// One sender's log. Its events are in the order of time, as qvis expects.
fn qlog(
    title: &str,
    group: &str,
    info: &FlowInfo,
    record: &FlowRecord,
    packets: &[&Captured],
) -> String {
    // The sender of uplink data is the UE: in qlog's words, the client.
    let vantage = if info.up {
        Vantage::Client
    } else {
        Vantage::Server
    };
    let mut log = QlogWriter::new(title, vantage, protocol(info, packets), &info.label, group);
    let mut transmissions = Transmissions::new(packets);
    let mut packets = packets.iter().peekable();
    let mut marks = record.mark_times.iter().peekable();
    let mut marked = 0;

    let mut until = |log: &mut QlogWriter, end: Instant| {
        loop {
            let mark = marks.peek().map(|t| **t).filter(|t| *t <= end);
            let packet = packets.peek().map(|c| c.at).filter(|t| *t <= end);
            match (mark, packet) {
                (None, None) => return,
                (Some(mark), packet) if packet.is_none_or(|p| mark <= p) => {
                    marks.next();
                    marked += 1;
                    log.marks(mark, marked);
                }
                _ => {
                    if let Some(captured) = packets.next() {
                        transmissions.take(captured, log);
                    }
                }
            }
        }
    };
    for row in 0..record.series.time.len() {
        let now = Instant::from_nanos(record.series.time[row]);
        until(&mut log, now);
        log.metrics(now, &metrics(&record.series, row));
    }
    until(&mut log, Instant::from_nanos(u64::MAX));
    log.take()
}

/// The protocol of the log: that of the packets, where they are there, because real flows may use another than the
/// scenario names.
fn protocol(info: &FlowInfo, packets: &[&Captured]) -> Protocol {
    match packets.first().map(|c| &c.packet.body) {
        Some(Body::Tcp(_)) => Protocol::Tcp,
        Some(Body::QuicLong(_) | Body::QuicData(_) | Body::QuicAck(_)) => Protocol::Quic,
        Some(Body::Media(_) | Body::Rtcp(_)) => Protocol::Rtp,
        Some(Body::Datagram(_) | Body::Report(_) | Body::Counters(_)) | None => {
            match info.protocol {
                Transport::Tcp => Protocol::Tcp,
                Transport::Quic | Transport::Quinn => Protocol::Quic,
                Transport::Udp | Transport::Rtp => Protocol::Rtp,
            }
        }
    }
}

fn metrics(s: &FlowSeries, row: usize) -> Metrics {
    let measured = |ns: u64| (ns > 0).then(|| Duration::from_nanos(ns));
    let number = |v: f64| (!v.is_nan()).then_some(v as u64);
    Metrics {
        // A sender that goes by a rate alone has none.
        congestion_window: (s.cwnd[row] > 0).then(|| Bytes(s.cwnd[row])),
        bytes_in_flight: Some(Bytes(s.in_flight[row])),
        ssthresh: number(s.ssthresh[row]).map(Bytes),
        smoothed_rtt: measured(s.srtt[row]),
        latest_rtt: measured(s.rtt[row]),
        min_rtt: measured(s.min_rtt[row]),
        pacing_rate: number(s.pacing[row]).map(Rate::from_bps),
    }
}
