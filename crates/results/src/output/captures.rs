//! Packet captures and qlogs of the senders.

use slackwater_core::{Bytes, Duration, Instant, Rate};
use slackwater_scenario::Scenario;
use slackwater_wire::pcapng::{Capture, Passage, PcapngWriter};
use slackwater_wire::qlog::{Metrics, QlogWriter, Vantage};
use slackwater_wire::{IpVersion, packet};

use crate::record::{FlowSeries, RunRecorder};

/// Bytes kept of each packet: headers and options; simulated payload is zeros.
const SNAPLEN: usize = 96;

/// The captured packets as one pcapng file with an interface for each sender.
pub fn pcapng(run: &RunRecorder) -> Vec<u8> {
    let mut writer = PcapngWriter::new(concat!("slackwater ", env!("CARGO_PKG_VERSION")));
    let interfaces: Vec<_> = run
        .config()
        .flows
        .iter()
        .map(|f| writer.interface(&f.label, SNAPLEN as u32))
        .collect();
    let mut bytes = Vec::new();
    for c in &run.captured {
        let Some(interface) = interfaces.get(c.packet.flow.index()) else {
            continue;
        };
        bytes.clear();
        let original_len = packet::encode(&c.packet, IpVersion::V4, SNAPLEN, &mut bytes);
        writer.packet(
            c.at,
            *interface,
            &Capture {
                bytes: &bytes,
                original_len,
                passage: Some(if c.sent {
                    Passage::Outbound
                } else {
                    Passage::Inbound
                }),
                comment: None,
            },
        );
    }
    writer.take()
}

/// A qlog of each sender with a controller, by file name: its metrics at each sample, and its CE marks.
pub fn qlogs(scenario: &Scenario, run: &RunRecorder) -> Vec<(String, String)> {
    let title = scenario.title.as_deref().unwrap_or(&scenario.name);
    run.config()
        .flows
        .iter()
        .zip(&run.flows)
        .enumerate()
        .filter(|(_, (info, record))| !info.controller.is_empty() && !record.series.time.is_empty())
        .map(|(i, (info, record))| {
            // The sender of uplink data is the UE: in qlog's words, the client.
            let vantage = if info.up {
                Vantage::Client
            } else {
                Vantage::Server
            };
            let mut log = QlogWriter::new(title, vantage, &info.label, &format!("flow{i}"));
            let mut marks = record.mark_times.iter().peekable();
            let mut marked = 0;
            for row in 0..record.series.time.len() {
                let now = Instant::from_nanos(record.series.time[row]);
                while let Some(t) = marks.next_if(|t| **t <= now) {
                    marked += 1;
                    log.marks(*t, marked);
                }
                log.metrics(now, &metrics(&record.series, row));
            }
            (format!("flow{i}.sqlog"), log.take())
        })
        .collect()
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
