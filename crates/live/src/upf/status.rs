//! What the function says of itself: metrics (`OpenMetrics`), status and sessions (JSON), and the lines at its end.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use slackwater_core::Duration;
use slackwater_upf::n4;
use slackwater_upf::rules::UeAddress;
use slackwater_upf::sessions::Session;
use slackwater_upf::user::{Counters, Traffic};

use super::drive::Server;

/// The name before each metric's.
const PREFIX: &str = "slackwater_upf";

/// One look at the function.
#[derive(Debug)]
struct Look {
    counters: Counters,
    sessions: usize,
    held: u64,
    refused: [(&'static str, &'static str, u64); 4],
    /// On N4: messages by type, answers by cause.
    n4: [(&'static str, &'static str, &'static str, BTreeMap<u8, u64>); 2],
}

impl Look {
    fn of(server: &Server) -> Self {
        let upf = server.upf();
        let (refused, n3) = server.refused();
        Self {
            counters: *upf.user().counters(),
            n4: [
                (
                    "n4_received",
                    "PFCP messages that came, by type (TS 29.244, 7.3)",
                    "type",
                    upf.node().counters().received.clone(),
                ),
                (
                    "n4_answered",
                    "PFCP answers that left, by cause (TS 29.244, 8.2.1)",
                    "cause",
                    upf.node().counters().answered.clone(),
                ),
            ],
            sessions: upf.all_sessions().len(),
            held: upf.user().held().0,
            refused: [
                (
                    "kernel_refused_n3",
                    "Datagrams on N3 that the kernel did not take.",
                    n3,
                ),
                (
                    "kernel_refused_n4",
                    "PFCP messages that the kernel did not take.",
                    refused.n4,
                ),
                (
                    "kernel_refused_n6",
                    "Packets on N6 that the kernel did not take.",
                    refused.n6,
                ),
                (
                    "malformed_n6",
                    "Frames on N6 that hold no packet.",
                    refused.malformed,
                ),
            ],
        }
    }
}

impl Collector for Look {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, about, value) in self.counters.each().chain(self.refused) {
            let counter = ConstCounter::new(value);
            // The encoder ends the sentence.
            let about = about.trim().trim_end_matches('.');
            let kind = prometheus_client::metrics::MetricType::Counter;
            counter.encode(encoder.encode_descriptor(name, about, None, kind)?)?;
        }
        for (name, about, label, values) in &self.n4 {
            let kind = prometheus_client::metrics::MetricType::Counter;
            let mut family = encoder.encode_descriptor(name, about, None, kind)?;
            for (key, value) in values {
                let labels = [(*label, u32::from(*key))];
                ConstCounter::new(*value).encode(family.encode_family(&labels)?)?;
            }
        }
        let gauges = [
            ("sessions", "Sessions that are set up", self.sessions as i64),
            ("held_bytes", "IP bytes that wait here", self.held as i64),
        ];
        for (name, about, value) in gauges {
            let kind = prometheus_client::metrics::MetricType::Gauge;
            ConstGauge::new(value).encode(encoder.encode_descriptor(name, about, None, kind)?)?;
        }
        Ok(())
    }
}

/// All metrics as text.
pub fn metrics(server: &Server) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Look::of(server)));
    let mut out = String::new();
    match text::encode(&mut out, &registry) {
        Ok(()) => out,
        Err(fmt::Error) => String::new(),
    }
}

/// The function as a whole, as JSON.
pub fn overview(server: &Server) -> String {
    let look = Look::of(server);
    let counters = |each: &mut dyn Iterator<Item = (&'static str, &'static str, u64)>| {
        each.map(|(name, _, value)| (name.to_owned(), Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
    };
    json!({
        "uptime_s": server.uptime().as_secs_f64(),
        "interface": server.interface(),
        "sessions": look.sessions,
        "held_bytes": look.held,
        "counters": counters(&mut look.counters.each()),
        "n4": n4(server.upf().node().counters()),
        "kernel": counters(&mut look.refused.into_iter()),
    })
    .to_string()
}

/// What came and went on N4: messages by type, answers by cause (TS 29.244, 7.3 and 8.2.1).
fn n4(counters: &n4::Counters) -> Value {
    json!({
        "received_by_type": counters.received,
        "answered_by_cause": counters.answered,
        "repeated": counters.repeated,
        "forbidden": counters.forbidden,
        "malformed": counters.malformed,
        "resent": counters.resent,
        "unanswered": counters.unanswered,
        "left_out": counters.left_out,
    })
}

/// Every session, as JSON.
pub fn sessions(server: &Server) -> String {
    let all = server.upf().all_sessions().iter();
    Value::Array(all.map(|s| session(server, s)).collect()).to_string()
}

fn session(server: &Server, session: &Session) -> Value {
    let user = server.upf().user();
    let status = user.status(session.seid).unwrap_or_default();
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let aqm = user.functions().snapshot(session.seid.ue(), None).map(|s| {
        json!({
            "state": s.state.name(),
            "rtt_ms": ms(s.average),
            "path_ms": ms(s.path),
            "target_ms": ms(s.target),
            "delivered_mbps": s.delivered.as_bps() as f64 / 1e6,
            "backlog_bytes": s.backlog.0,
            "flows": s.flows,
        })
    });
    let rules = &session.rules;
    json!({
        "seid": format!("{:#x}", session.seid.0),
        "peer_seid": format!("{:#x}", session.peer_seid),
        "ue": rules.pdrs.iter().find_map(|p| p.ue).map(address),
        "pdrs": rules.pdrs.len(),
        "up": traffic(&status.up),
        "down": traffic(&status.down),
        "vaqm": aqm,
    })
}

fn address(ue: UeAddress) -> Value {
    json!({
        "v4": ue.v4.map(|a| a.to_string()),
        "v6": ue.v6.map(|(a, bits)| format!("{a}/{bits}")),
    })
}

fn traffic(t: &Traffic) -> Value {
    json!({ "packets": t.packets, "bytes": t.bytes.0, "refused": t.refused })
}

/// The lines at the end: what passed, and everything that went wrong.
pub fn closing(server: &Server) -> String {
    let look = Look::of(server);
    let all = look.counters.each().chain(look.refused);
    let lines = all
        .filter(|(_, _, value)| *value > 0)
        .map(|(name, _, value)| format!("  {:<28} {value}", name.replace('_', " ")));
    lines.collect::<Vec<_>>().join("\n")
}
