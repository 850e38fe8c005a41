//! What the function says of itself: metrics (`OpenMetrics`), status and sessions (JSON), and the lines at its end.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use serde_json::{Value, json};
use slackwater_core::{Direction, Duration};
use slackwater_edge::upf::Delays;
use slackwater_upf::n4;
use slackwater_upf::rules::UeAddress;
use slackwater_upf::sessions::Session;
use slackwater_upf::user::{Counters, Traffic};

use super::drive::{Refused, Server};

/// One look at the function.
#[derive(Debug, Default)]
struct Look {
    families: Vec<Family>,
}

/// Metrics of one name.
#[derive(Debug)]
struct Family {
    name: &'static str,
    about: &'static str,
    /// The name of the label by which its values differ.
    label: Option<&'static str>,
    values: Values,
}

/// What a family holds, with the label's value of each; empty where there is no label.
#[derive(Debug)]
enum Values {
    /// Counts that only grow.
    Counters(Vec<(String, u64)>),
    /// What is so at present.
    Gauge(u64),
    /// Counts by size, in seconds.
    Delays(Vec<(String, Delays)>),
}

/// What a look is made of.
#[derive(Debug, Default)]
struct Seen {
    user: Counters,
    n4: n4::Counters,
    refused: Refused,
    refused_n3: u64,
    sessions: usize,
    held: u64,
    round_trips: Delays,
    /// Down and up.
    waits: [Delays; 2],
}

impl Look {
    fn of(server: &Server) -> Self {
        let upf = server.upf();
        let (refused, refused_n3) = server.refused();
        let user = upf.user();
        Self::at(&Seen {
            user: *user.counters(),
            n4: upf.node().counters().clone(),
            refused,
            refused_n3,
            sessions: upf.all_sessions().len(),
            held: user.held().0,
            round_trips: user.functions().round_trips(),
            waits: [Direction::Down, Direction::Up].map(|way| *user.delays(way)),
        })
    }

    fn at(seen: &Seen) -> Self {
        let mut look = Self::default();
        look.gauge(
            "sessions",
            "Sessions that are set up.",
            seen.sessions as u64,
        );
        look.gauge("held_bytes", "IP bytes that wait here.", seen.held);
        let rtts = vec![(String::new(), seen.round_trips)];
        let about = "Round trips between here and the UE, as vAQM measured them.";
        look.delays("rtt", about, None, rtts);
        let waits = ["down", "up"].map(str::to_owned).into_iter();
        let about = "What packets that left had waited in the edge functions.";
        let waits = waits.zip(seen.waits).collect();
        look.delays("queue_delay", about, Some("direction"), waits);
        let named = |all: &mut dyn Iterator<Item = (&'static str, u64)>| {
            all.map(|(name, n)| (name.to_owned(), n)).collect()
        };
        let about = "Users' packets that ended here. Each cause is also a counter below.";
        look.by("dropped", about, "cause", named(&mut seen.user.dropped()));
        let about = "Packets that were marked CE here, by a queue's law or by a report of the radio network.";
        let marks = named(&mut seen.user.marks().into_iter());
        look.by("marks", about, "cause", marks);
        let numbered = |all: &BTreeMap<u8, u64>| {
            let all = all.iter();
            all.map(|(key, n)| (key.to_string(), *n)).collect()
        };
        let about = "PFCP messages that came, by type (TS 29.244, 7.3).";
        look.by("n4_received", about, "type", numbered(&seen.n4.received));
        let about = "PFCP answers that left, by cause (TS 29.244, 8.2.1).";
        look.by("n4_answered", about, "cause", numbered(&seen.n4.answered));
        for (name, about, value) in n4_counters(&seen.n4) {
            look.counter(name, about, value);
        }
        for (name, about, value) in kernel(&seen.refused, seen.refused_n3) {
            look.counter(name, about, value);
        }
        for (name, about, value) in seen.user.each() {
            look.counter(name, about.trim(), value);
        }
        look
    }

    fn add(&mut self, name: &'static str, about: &'static str, values: Values) {
        self.families.push(Family {
            name,
            about,
            label: None,
            values,
        });
    }

    fn gauge(&mut self, name: &'static str, about: &'static str, value: u64) {
        self.add(name, about, Values::Gauge(value));
    }

    fn counter(&mut self, name: &'static str, about: &'static str, value: u64) {
        let values = vec![(String::new(), value)];
        self.add(name, about, Values::Counters(values));
    }

    fn by(
        &mut self,
        name: &'static str,
        about: &'static str,
        label: &'static str,
        values: Vec<(String, u64)>,
    ) {
        self.families.push(Family {
            name,
            about,
            label: Some(label),
            values: Values::Counters(values),
        });
    }

    fn delays(
        &mut self,
        name: &'static str,
        about: &'static str,
        label: Option<&'static str>,
        values: Vec<(String, Delays)>,
    ) {
        self.families.push(Family {
            name,
            about,
            label,
            values: Values::Delays(values),
        });
    }
}

/// What else was counted on N4.
fn n4_counters(c: &n4::Counters) -> [(&'static str, &'static str, u64); 6] {
    [
        (
            "n4_repeated",
            "PFCP requests that came again and had the answer of before.",
            c.repeated,
        ),
        (
            "n4_forbidden",
            "Datagrams on N4 from addresses that may not send.",
            c.forbidden,
        ),
        (
            "n4_malformed",
            "Datagrams on N4 that are no message.",
            c.malformed,
        ),
        (
            "n4_resent",
            "PFCP requests of ours that were sent again.",
            c.resent,
        ),
        (
            "n4_unanswered",
            "PFCP requests of ours that were never answered.",
            c.unanswered,
        ),
        (
            "n4_left_out",
            "Reports and datagrams on N4 left out, because too many wait.",
            c.left_out,
        ),
    ]
}

/// What the kernel did not take.
const fn kernel(refused: &Refused, n3: u64) -> [(&'static str, &'static str, u64); 5] {
    [
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
        (
            "malformed_n3",
            "Frames of N3's interface that hold no sound datagram.",
            refused.malformed_n3,
        ),
    ]
}

impl Family {
    const fn kind(&self) -> MetricType {
        match self.values {
            Values::Counters(_) => MetricType::Counter,
            Values::Gauge(_) => MetricType::Gauge,
            Values::Delays(_) => MetricType::Histogram,
        }
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        // The encoder ends the sentence.
        let about = self.about.trim_end_matches('.');
        let unit = matches!(self.values, Values::Delays(_)).then_some(&Unit::Seconds);
        let mut all = encoder.encode_descriptor(self.name, about, unit, self.kind())?;
        match &self.values {
            Values::Gauge(value) => ConstGauge::new(*value as i64).encode(all),
            Values::Counters(values) => {
                values
                    .iter()
                    .try_for_each(|(label, value)| match self.label {
                        None => all.encode_counter::<Labels, u64, u64>(value, None),
                        Some(name) => all
                            .encode_family(&[(name, label.as_str())])?
                            .encode_counter::<Labels, u64, u64>(value, None),
                    })
            }
            Values::Delays(values) => values.iter().try_for_each(|(label, delays)| {
                let buckets = delays.each();
                let buckets: Vec<(f64, u64)> = buckets
                    .map(|(bound, n)| (bound.map_or(f64::INFINITY, Duration::as_secs_f64), n))
                    .collect();
                let (sum, count) = (delays.sum_s(), delays.count());
                match self.label {
                    None => all.encode_histogram::<Labels>(sum, count, &buckets, None),
                    Some(name) => all
                        .encode_family(&[(name, label.as_str())])?
                        .encode_histogram::<Labels>(sum, count, &buckets, None),
                }
            }),
        }
    }

    /// The family as JSON: a number, or one by each label.
    fn json(&self) -> Value {
        let one = |values: &mut dyn Iterator<Item = (&String, Value)>| match self.label {
            None => values.next().map_or(Value::Null, |(_, value)| value),
            Some(_) => Value::Object(values.map(|(k, v)| (k.clone(), v)).collect()),
        };
        match &self.values {
            Values::Gauge(value) => json!(value),
            Values::Counters(all) => one(&mut all.iter().map(|(k, n)| (k, json!(n)))),
            Values::Delays(all) => one(&mut all.iter().map(|(k, d)| (k, delays(d)))),
        }
    }
}

/// The labels of exemplars, of which there are none.
type Labels = [(&'static str, &'static str); 0];

/// Delays as JSON, each bucket alone: `null` has no upper end.
fn delays(delays: &Delays) -> Value {
    let buckets = delays.each();
    let buckets: Vec<Value> = buckets
        .map(|(bound, n)| json!({ "le_s": bound.map(Duration::as_secs_f64), "count": n }))
        .collect();
    json!({ "count": delays.count(), "sum_s": delays.sum_s(), "buckets": buckets })
}

/// The name before each metric's.
const PREFIX: &str = "slackwater_upf";

impl Collector for Look {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        self.families
            .iter()
            .try_for_each(|family| family.encode(&mut encoder))
    }
}

/// All metrics as text.
pub fn metrics(server: &Server) -> String {
    Look::of(server).text()
}

impl Look {
    fn text(self) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(self));
        let mut out = String::new();
        match text::encode(&mut out, &registry) {
            Ok(()) => out,
            Err(fmt::Error) => String::new(),
        }
    }

    fn family(&self, name: &str) -> Value {
        let family = self.families.iter().find(|f| f.name == name);
        family.map_or(Value::Null, Family::json)
    }
}

/// A row for each metric: its name, kind, label and meaning.
pub fn reference() -> Vec<[String; 4]> {
    let look = Look::at(&Seen::default());
    let rows = look.families.iter().map(|f| {
        let (kind, end) = match f.values {
            Values::Counters(_) => ("counter", "_total"),
            Values::Gauge(_) => ("gauge", ""),
            Values::Delays(_) => ("histogram", "_seconds"),
        };
        [
            format!("{PREFIX}_{}{end}", f.name),
            kind.to_owned(),
            f.label.map(|l| format!("`{l}`")).unwrap_or_default(),
            f.about.to_owned(),
        ]
    });
    rows.collect()
}

/// The function as a whole, as JSON.
pub fn overview(server: &Server) -> String {
    let look = Look::of(server);
    let counters = |each: &mut dyn Iterator<Item = (&'static str, &'static str, u64)>| {
        each.map(|(name, _, value)| (name.to_owned(), Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
    };
    let (refused, n3) = server.refused();
    json!({
        "uptime_s": server.uptime().as_secs_f64(),
        "interface": server.interface(),
        "sessions": look.family("sessions"),
        "held_bytes": look.family("held_bytes"),
        "rtt": look.family("rtt"),
        "queue_delay": look.family("queue_delay"),
        "dropped": look.family("dropped"),
        "marks": look.family("marks"),
        "counters": counters(&mut server.upf().user().counters().each()),
        "n4": n4(server.upf().node().counters()),
        "kernel": counters(&mut kernel(&refused, n3).into_iter()),
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
    let [down, up] = server.in_kernel(session.seid);
    json!({
        "seid": format!("{:#x}", session.seid.0),
        "peer_seid": format!("{:#x}", session.peer_seid),
        "ue": rules.pdrs.iter().find_map(|p| p.ue).map(address),
        "pdrs": rules.pdrs.len(),
        "up": traffic(&status.up),
        "down": traffic(&status.down),
        "vaqm": aqm,
        "kernel": { "down": down, "up": up },
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

/// What passed and everything that went wrong, in one line.
pub fn closing(server: &Server) -> String {
    let (refused, n3) = server.refused();
    let user = server.upf().user().counters().each();
    let all = user.chain(kernel(&refused, n3));
    let lines = all
        .filter(|(_, _, value)| *value > 0)
        .map(|(name, _, value)| format!("{name}={value}"));
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use core::fmt::Write as _;

    use super::*;

    #[test]
    fn histograms_are_cumulative_and_in_seconds() {
        let mut seen = Seen::default();
        for ms in [3, 30, 30, 60_000] {
            seen.round_trips.add(Duration::from_millis(ms));
        }
        seen.waits[1].add(Duration::ZERO);
        seen.user.spoofed = 5;
        seen.user.marked_report = 2;
        seen.n4.answered.insert(64, 3);
        let look = Look::at(&seen);
        let rtt = look.family("rtt");
        assert_eq!(
            (&rtt["count"], &rtt["buckets"][5]["count"]),
            (&json!(4), &json!(1))
        );
        assert_eq!(rtt["buckets"][16], json!({ "le_s": null, "count": 1 }));
        assert_eq!(look.family("queue_delay")["up"]["count"], 1);
        assert_eq!(look.family("dropped")["spoofed"], 5);
        let text = look.text();
        for line in [
            "# TYPE slackwater_upf_rtt_seconds histogram",
            "# UNIT slackwater_upf_rtt_seconds seconds",
            "slackwater_upf_rtt_seconds_count 4",
            "slackwater_upf_rtt_seconds_sum 60.063",
            "slackwater_upf_rtt_seconds_bucket{le=\"0.002\"} 0",
            "slackwater_upf_rtt_seconds_bucket{le=\"0.005\"} 1",
            "slackwater_upf_rtt_seconds_bucket{le=\"0.05\"} 3",
            "slackwater_upf_rtt_seconds_bucket{le=\"10.0\"} 3",
            "slackwater_upf_rtt_seconds_bucket{le=\"+Inf\"} 4",
            "slackwater_upf_queue_delay_seconds_count{direction=\"up\"} 1",
            "slackwater_upf_dropped_total{cause=\"spoofed\"} 5",
            "slackwater_upf_marks_total{cause=\"report\"} 2",
            "slackwater_upf_n4_answered_total{cause=\"64\"} 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }

    #[test]
    fn every_metric_has_one_name_and_one_sentence() {
        let rows = reference();
        let names: std::collections::BTreeSet<_> = rows.iter().map(|r| &r[0]).collect();
        assert_eq!(names.len(), rows.len());
        assert!(rows.iter().all(|r| r[3].ends_with('.')), "{rows:?}");
    }

    /// The table of docs/upf.md.
    fn table() -> String {
        let mut out = "| metric | kind | label | |\n|---|---|---|---|\n".to_owned();
        for [name, kind, label, about] in reference() {
            let _ = writeln!(out, "| `{name}` | {kind} | {label} | {about} |");
        }
        out
    }

    #[test]
    #[ignore = "prints the table of docs/upf.md"]
    fn print_the_metrics() {
        eprintln!("{}", table());
    }

    #[test]
    fn the_page_has_every_metric() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/upf.md");
        let Ok(page) = std::fs::read_to_string(page) else {
            eprintln!("skipped: no docs beside this crate");
            return;
        };
        assert!(
            page.contains(table().trim()),
            "docs/upf.md: cargo test -p slackwater-live --lib print_the_metrics -- --ignored --nocapture"
        );
    }
}
