//! Logs of a sender in qlog (draft-ietf-quic-qlog-main-schema), which qvis shows.
//!
//! The file is a JSON text sequence (RFC 7464, `.sqlog`) of version 0.3, the latest that qvis reads; event and field
//! names are those of draft-ietf-quic-qlog-quic-events. A TCP segment is written as a QUIC packet: its number counts
//! transmissions, so that a retransmission has one of its own, and its place in the stream is a STREAM frame.

use std::fmt::Write as _;

use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Duration, Instant, Rate};

/// Where the log is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// The end that sends the data.
    Server,
    /// The end that receives it.
    Client,
    /// A box on the way.
    Network,
}

/// The state of a sender's recovery and congestion control; what is `None` has not changed or does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion window.
    pub congestion_window: Option<Bytes>,
    /// Bytes in flight.
    pub bytes_in_flight: Option<Bytes>,
    /// Slow-start threshold.
    pub ssthresh: Option<Bytes>,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Duration>,
    /// Latest RTT sample.
    pub latest_rtt: Option<Duration>,
    /// Least RTT.
    pub min_rtt: Option<Duration>,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
}

impl From<&FlowSample> for Metrics {
    fn from(s: &FlowSample) -> Self {
        // A zero RTT is one that was never measured.
        let measured = |d: Duration| (!d.is_zero()).then_some(d);
        Self {
            congestion_window: Some(s.cwnd),
            bytes_in_flight: Some(s.in_flight),
            ssthresh: s.ssthresh,
            smoothed_rtt: measured(s.srtt),
            latest_rtt: measured(s.rtt),
            min_rtt: measured(s.min_rtt),
            pacing_rate: s.pacing,
        }
    }
}

/// The protocol whose packets a log has (main schema, `ProtocolType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// QUIC.
    Quic,
    /// RTP over UDP.
    Rtp,
}

/// What a packet that was sent carries, as the frame that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// No payload, as in a segment that acknowledges alone.
    Nothing,
    /// Bytes of a stream at a known place.
    Stream {
        /// Number of the connection within its flow.
        stream: u64,
        /// Offset of the payload in the stream.
        offset: u64,
        /// Payload bytes.
        payload: u32,
    },
    /// A datagram, or stream bytes whose place the packet does not show.
    Datagram {
        /// Payload bytes.
        payload: u32,
    },
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Counts transmissions of the sender from 0.
    pub number: u64,
    /// What it carries.
    pub carried: Carried,
    /// IP packet length.
    pub length: u32,
}

/// An acknowledgment that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Counts arrivals at the sender from 0.
    pub number: u64,
    /// IP packet length.
    pub length: u32,
    /// Numbers of transmissions that it acknowledges, as first and last, lowest first.
    pub acked: &'a [(u64, u64)],
    /// How long the receiver held the acknowledgment, where it reports that.
    pub delay: Option<Duration>,
    /// Packets that arrived with CE so far, where the receiver reports them.
    pub ce: Option<u64>,
}

/// Why a packet counts as lost (quic-events, `PacketLostTrigger`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossTrigger {
    /// Later packets were acknowledged.
    ReorderingThreshold,
    /// Later packets were acknowledged long enough ago (RACK).
    TimeThreshold,
    /// The retransmission timer ran out.
    PtoExpired,
}

/// Writes a log into memory.
#[derive(Debug)]
pub struct QlogWriter {
    out: String,
    last: Metrics,
}

/// RFC 7464, 2.2: each text of a sequence starts with a record separator and ends with a line feed.
const SEPARATOR: char = '\u{1e}';

impl QlogWriter {
    /// A log with its header. `title` names the run, `name` the point where the log is taken (the flow), `group` the
    /// connection.
    pub fn new(title: &str, vantage: Vantage, protocol: Protocol, name: &str, group: &str) -> Self {
        let protocol = match protocol {
            Protocol::Tcp => "TCP",
            Protocol::Quic => "QUIC",
            Protocol::Rtp => "RTP",
        };
        let vantage = match vantage {
            Vantage::Server => "server",
            Vantage::Client => "client",
            Vantage::Network => "network",
        };
        let mut out = String::new();
        out.push(SEPARATOR);
        out.push_str(r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"#);
        push_json(&mut out, title);
        out.push_str(r#","trace":{"title":"#);
        push_json(&mut out, name);
        out.push_str(r#","vantage_point":{"name":"#);
        push_json(&mut out, name);
        out.push_str(r#","type":""#);
        out.push_str(vantage);
        out.push_str(r#""},"common_fields":{"ODCID":"#);
        push_json(&mut out, group);
        out.push_str(r#","group_id":"#);
        push_json(&mut out, group);
        let _ = writeln!(
            out,
            r#","protocol_type":["{protocol}"],"reference_time":0,"time_format":"relative"}}}}}}"#
        );
        Self {
            out,
            last: Metrics::default(),
        }
    }

    /// `recovery:metrics_updated` with what changed since the last call; nothing where nothing did.
    pub fn metrics(&mut self, now: Instant, metrics: &Metrics) {
        let mut data = String::new();
        let mut put = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                let comma = if data.is_empty() { "" } else { "," };
                let _ = write!(data, "{comma}\"{key}\":{value}");
            }
        };
        let last = self.last;
        let bytes = |b: Bytes| b.get().to_string();
        let m = metrics;
        put("min_rtt", changed(m.min_rtt, last.min_rtt, millis));
        put(
            "smoothed_rtt",
            changed(m.smoothed_rtt, last.smoothed_rtt, millis),
        );
        put("latest_rtt", changed(m.latest_rtt, last.latest_rtt, millis));
        put(
            "congestion_window",
            changed(m.congestion_window, last.congestion_window, bytes),
        );
        put(
            "bytes_in_flight",
            changed(m.bytes_in_flight, last.bytes_in_flight, bytes),
        );
        put("ssthresh", changed(m.ssthresh, last.ssthresh, bytes));
        put(
            "pacing_rate",
            changed(m.pacing_rate, last.pacing_rate, |r: Rate| {
                r.as_bps().to_string()
            }),
        );
        if data.is_empty() {
            return;
        }
        self.last = Metrics {
            congestion_window: m.congestion_window.or(last.congestion_window),
            bytes_in_flight: m.bytes_in_flight.or(last.bytes_in_flight),
            ssthresh: m.ssthresh.or(last.ssthresh),
            smoothed_rtt: m.smoothed_rtt.or(last.smoothed_rtt),
            latest_rtt: m.latest_rtt.or(last.latest_rtt),
            min_rtt: m.min_rtt.or(last.min_rtt),
            pacing_rate: m.pacing_rate.or(last.pacing_rate),
        };
        self.event(now, "recovery:metrics_updated", &data);
    }

    /// `transport:packet_sent`.
    pub fn packet_sent(&mut self, now: Instant, sent: &Sent) {
        let frame = match sent.carried {
            Carried::Nothing => String::new(),
            Carried::Stream {
                stream,
                offset,
                payload,
            } => format!(
                r#"{{"frame_type":"stream","stream_id":{stream},"offset":{offset},"length":{payload}}}"#
            ),
            Carried::Datagram { payload } => {
                format!(r#"{{"frame_type":"datagram","length":{payload}}}"#)
            }
        };
        let payload = match sent.carried {
            Carried::Nothing => 0,
            Carried::Stream { payload, .. } | Carried::Datagram { payload } => payload,
        };

        let (number, length) = (sent.number, sent.length);
        let data = format!(
            r#""header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":{length},"payload_length":{payload}}},"frames":[{frame}]"#
        );
        self.event(now, "transport:packet_sent", &data);
    }

    /// `transport:packet_received`, for an acknowledgment.
    pub fn packet_received(&mut self, now: Instant, received: &Received<'_>) {
        let mut data = format!(
            r#""header":{{"packet_type":"1RTT","packet_number":{}}},"raw":{{"length":{}}},"frames":["#,
            received.number, received.length
        );
        if !received.acked.is_empty() {
            data.push_str(r#"{"frame_type":"ack","#);
            if let Some(delay) = received.delay {
                let _ = write!(data, r#""ack_delay":{},"#, millis(delay));
            }
            data.push_str(r#""acked_ranges":["#);
            for (i, (first, last)) in received.acked.iter().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                let _ = write!(data, "{comma}[{first},{last}]");
            }
            data.push(']');
            if let Some(ce) = received.ce {
                let _ = write!(data, r#","ce":{ce}"#);
            }
            data.push('}');
        }
        data.push(']');
        self.event(now, "transport:packet_received", &data);
    }

    /// `recovery:packet_lost`, for the transmission `number`; `trigger` is left out where it is not known.
    pub fn packet_lost(&mut self, now: Instant, number: u64, trigger: Option<LossTrigger>) {
        let trigger = match trigger {
            None => "",
            Some(LossTrigger::ReorderingThreshold) => r#","trigger":"reordering_threshold""#,
            Some(LossTrigger::TimeThreshold) => r#","trigger":"time_threshold""#,
            Some(LossTrigger::PtoExpired) => r#","trigger":"pto_expired""#,
        };
        let data =
            format!(r#""header":{{"packet_type":"1RTT","packet_number":{number}}}{trigger}"#);
        self.event(now, "recovery:packet_lost", &data);
    }

    /// `recovery:congestion_state_updated`: the controller's state by name ("`slow_start`", "recovery", ...).
    pub fn congestion_state(&mut self, now: Instant, state: &str) {
        let mut data = String::from(r#""new":"#);
        push_json(&mut data, state);
        self.event(now, "recovery:congestion_state_updated", &data);
    }

    /// CE marks that the sender has been told of so far. The schema has no event for it: this one is ours, and a
    /// viewer that does not know it skips it.
    pub fn marks(&mut self, now: Instant, ce: u64) {
        self.event(now, "slackwater:ecn_marks", &format!(r#""ce":{ce}"#));
    }

    /// Bytes that wait to be taken.
    pub fn pending(&self) -> usize {
        self.out.len()
    }

    /// What was written since the last call; the pieces in order are the file.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    fn event(&mut self, now: Instant, name: &str, data: &str) {
        let time = millis(now.since(Instant::ZERO));
        let out = &mut self.out;
        let _ = writeln!(
            out,
            r#"{SEPARATOR}{{"time":{time},"name":"{name}","data":{{{data}}}}}"#
        );
    }
}

/// The text of a value that differs from the one told before.
fn changed<T: Copy + PartialEq>(
    new: Option<T>,
    old: Option<T>,
    text: impl Fn(T) -> String,
) -> Option<String> {
    if new == old { None } else { new.map(text) }
}

/// A span in milliseconds with all its nanoseconds, exact.
fn millis(d: Duration) -> String {
    let ns = d.as_nanos();
    match ns % 1_000_000 {
        0 => (ns / 1_000_000).to_string(),
        rest => {
            let text = format!("{}.{rest:06}", ns / 1_000_000);
            text.trim_end_matches('0').to_owned()
        }
    }
}

/// `text` as a JSON string (RFC 8259, 7).
fn push_json(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The records of a JSON text sequence.
    fn records(text: &str) -> Vec<Value> {
        text.split(SEPARATOR)
            .skip(1)
            .map(|record| {
                assert!(record.ends_with('\n'));
                serde_json::from_str(record).expect("each record is JSON")
            })
            .collect()
    }

    fn events(act: impl Fn(&mut QlogWriter)) -> Vec<Value> {
        let mut w = QlogWriter::new("run", Vantage::Server, Protocol::Tcp, "flow 1", "1");
        w.take();
        act(&mut w);
        records(&w.take())
    }

    #[test]
    fn the_header_has_what_qvis_asks_for() {
        let mut w = QlogWriter::new(
            "a \"title\"\n",
            Vantage::Server,
            Protocol::Quic,
            "flow 1",
            "1",
        );
        let header = &records(&w.take())[0];
        assert_eq!(header["qlog_version"], "0.3");
        assert_eq!(header["qlog_format"], "JSON-SEQ");
        assert_eq!(header["title"], "a \"title\"\n");
        assert_eq!(header["trace"]["vantage_point"]["type"], "server");
        let common = &header["trace"]["common_fields"];
        assert_eq!(common["time_format"], "relative");
        assert_eq!(common["reference_time"], 0);
        assert_eq!(common["protocol_type"], json!(["QUIC"]));
    }

    #[test]
    fn metrics_tell_what_changed() {
        let got = events(|w| {
            let mut m = Metrics {
                congestion_window: Some(Bytes(14_480)),
                smoothed_rtt: Some(Duration::from_micros(40_250)),
                pacing_rate: Some(Rate::from_mbps(12.0)),
                ..Metrics::default()
            };
            w.metrics(Instant::from_nanos(1_500_001), &m);
            w.metrics(Instant::from_millis(2), &m);
            m.congestion_window = Some(Bytes(15_928));
            m.pacing_rate = None;
            w.metrics(Instant::from_millis(3), &m);
        });
        assert_eq!(
            got,
            [
                json!({"time": 1.500_001, "name": "recovery:metrics_updated", "data":
                    {"congestion_window": 14480, "smoothed_rtt": 40.25, "pacing_rate": 12_000_000}}),
                json!({"time": 3, "name": "recovery:metrics_updated", "data": {"congestion_window": 15928}}),
            ]
        );
    }

    #[test]
    fn packets_have_numbers_and_frames() {
        let got = events(|w| {
            let now = Instant::from_millis(1);
            w.packet_sent(
                now,
                &Sent {
                    number: 5,
                    carried: Carried::Stream {
                        stream: 0,
                        offset: 1448,
                        payload: 1448,
                    },
                    length: 1500,
                },
            );
            w.packet_received(
                now,
                &Received {
                    number: 2,
                    length: 52,
                    acked: &[(1, 3), (5, 5)],
                    delay: Some(Duration::from_micros(1600)),
                    ce: Some(4),
                },
            );
            w.packet_received(
                now,
                &Received {
                    number: 3,
                    length: 52,
                    acked: &[],
                    delay: None,
                    ce: None,
                },
            );
            w.packet_lost(now, 4, Some(LossTrigger::TimeThreshold));
            w.congestion_state(now, "recovery");
            w.marks(now, 4);
        });
        assert_eq!(got[0]["data"]["header"]["packet_number"], 5);
        assert_eq!(
            got[0]["data"]["frames"][0],
            json!({"frame_type": "stream", "stream_id": 0, "offset": 1448, "length": 1448})
        );
        assert_eq!(
            got[1]["data"]["frames"][0]["acked_ranges"],
            json!([[1, 3], [5, 5]])
        );
        assert_eq!(got[1]["data"]["frames"][0]["ce"], 4);
        assert_eq!(got[1]["data"]["frames"][0]["ack_delay"], 1.6);
        assert_eq!(got[2]["data"]["frames"], json!([]));
        assert_eq!(got[3]["name"], "recovery:packet_lost");
        assert_eq!(got[3]["data"]["trigger"], "time_threshold");
        assert_eq!(got[4]["data"]["new"], "recovery");
        assert_eq!(got[5]["data"]["ce"], 4);
    }

    proptest! {
        #[test]
        fn any_title_is_valid_json(title in any::<String>()) {
            // A separator inside a string is escaped, so the sequence still splits.
            let mut w = QlogWriter::new(&title, Vantage::Client, Protocol::Tcp, &title, &title);
            let records = records(&w.take());
            prop_assert_eq!(records.len(), 1);
            prop_assert_eq!(records[0]["title"].as_str(), Some(title.as_str()));
        }
    }
}
