//! Logs are read back by the published schema: every field is one that the drafts define, with its type, and what an
//! event refers to was sent before.
//!
//! The types below are those of draft-ietf-quic-qlog-main-schema-02 and draft-ietf-quic-qlog-quic-events-01, which are
//! version 0.3.

use std::collections::BTreeMap;

use serde::Deserialize;
use slackwater_core::record::{FlowSample, PacketEvent};
use slackwater_core::{
    Direction, Ecn, FlowId, NodeId, Packet, QuicAck, QuicBits, QuicData, Recorder, SackBlock,
    Segment, SegmentBits, SeqNum, TcpFlags,
};

use super::*;
use crate::record::RecorderConfig;

/// Main schema, 3: `QlogFileSeq`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    qlog_version: String,
    qlog_format: String,
    title: String,
    trace: Trace,
}

/// Main schema, 3.3: `TraceSeq`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    #[serde(rename = "title")]
    _title: String,
    vantage_point: VantagePoint,
    common_fields: CommonFields,
}

/// Main schema, 3.3.2.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VantagePoint {
    name: String,
    r#type: VantageType,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum VantageType {
    Client,
    Server,
    Network,
}

/// Main schema, 3.4.6.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommonFields {
    #[serde(rename = "ODCID")]
    _odcid: String,
    #[serde(rename = "group_id")]
    _group_id: String,
    protocol_type: Vec<String>,
    reference_time: f64,
    time_format: String,
}

/// Main schema, 3.4, with the events of quic-events, 4 and 5, that qvis draws, and ours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    time: f64,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize, Debug)]
#[serde(tag = "name", content = "data")]
enum What {
    #[serde(rename = "transport:packet_sent")]
    Sent(PacketSent),
    #[serde(rename = "transport:packet_received")]
    Received(PacketReceived),
    #[serde(rename = "recovery:packet_lost")]
    Lost(PacketLost),
    #[serde(rename = "recovery:metrics_updated")]
    Metrics(MetricsUpdated),
    #[serde(rename = "slackwater:ecn_marks")]
    Marks(Marks),
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct PacketSent {
    header: PacketHeader,
    raw: RawInfo,
    frames: Vec<Frame>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct PacketReceived {
    header: PacketHeader,
    raw: RawInfo,
    frames: Vec<Frame>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct PacketLost {
    header: PacketHeader,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct PacketHeader {
    packet_type: String,
    packet_number: u64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct RawInfo {
    length: u64,
    payload_length: Option<u64>,
}

/// quic-events, appendix A.7.
#[derive(Deserialize, Debug, PartialEq)]
#[serde(tag = "frame_type", rename_all = "lowercase", deny_unknown_fields)]
enum Frame {
    Stream {
        stream_id: u64,
        offset: u64,
        length: u64,
    },
    Ack {
        ack_delay: Option<f64>,
        acked_ranges: Vec<(u64, u64)>,
        ce: Option<u64>,
    },
    Datagram {
        length: u64,
    },
}

/// quic-events, 5.2.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct MetricsUpdated {
    congestion_window: Option<u64>,
    #[serde(rename = "bytes_in_flight")]
    _bytes_in_flight: Option<u64>,
    #[serde(rename = "ssthresh")]
    _ssthresh: Option<u64>,
    #[serde(rename = "smoothed_rtt")]
    _smoothed_rtt: Option<f64>,
    #[serde(rename = "latest_rtt")]
    _latest_rtt: Option<f64>,
    #[serde(rename = "min_rtt")]
    _min_rtt: Option<f64>,
    #[serde(rename = "pacing_rate")]
    _pacing_rate: Option<u64>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Marks {
    ce: u64,
}

/// A log, read back.
struct Log {
    header: Header,
    events: Vec<Event>,
}

impl Log {
    /// Reads `text` (RFC 7464), and checks what holds for every log.
    fn read(text: &str) -> Self {
        let mut records = text.split('\u{1e}').skip(1);
        let parse = "a record of the schema";
        let header = serde_json::from_str(records.next().expect("a header")).expect(parse);
        let events: Vec<Event> = records
            .map(|r| serde_json::from_str(r).unwrap_or_else(|e| panic!("{e}: {r}")))
            .collect();
        let log = Self { header, events };
        log.check();
        log
    }

    fn check(&self) {
        let common = &self.header.trace.common_fields;
        assert_eq!(
            self.header.qlog_version, "0.3",
            "the latest that qvis reads"
        );
        assert_eq!(self.header.qlog_format, "JSON-SEQ");
        assert_eq!(common.time_format, "relative");
        assert_eq!(common.reference_time, 0.0);
        // qvis sorts a log that is out of order, and shows an alert.
        assert!(self.events.is_sorted_by_key(|e| e.time));
        let mut sent = 0;
        let mut received = 0;
        for event in &self.events {
            match &event.what {
                What::Sent(p) => {
                    assert_eq!(p.header.packet_number, sent);
                    assert_eq!(p.header.packet_type, "1RTT");
                    assert!(p.raw.length > 0, "qvis leaves out packets without a length");
                    assert!(p.raw.payload_length.is_some_and(|n| n < p.raw.length));
                    sent += 1;
                }
                What::Received(p) => {
                    assert_eq!(p.header.packet_number, received);
                    assert!(p.raw.length > 0, "nor those that arrived");
                    for frame in &p.frames {
                        let Frame::Ack { acked_ranges, .. } = frame else {
                            panic!("{frame:?}");
                        };
                        let ranges = acked_ranges.iter().flat_map(|(a, b)| [*a, *b]);
                        assert!(ranges.is_sorted());
                        assert!(acked_ranges.iter().all(|(_, last)| *last < sent));
                    }
                    received += 1;
                }
                What::Lost(p) => assert!(p.header.packet_number < sent),
                What::Metrics(_) | What::Marks(_) => {}
            }
        }
    }

    /// The times of transmissions, and of their first acknowledgments and losses, by number: what qvis draws as
    /// rectangles.
    fn drawn(&self) -> Drawn {
        let mut drawn = Drawn::default();
        for Event { time, what } in &self.events {
            match what {
                What::Sent(p) => drop(drawn.sent.insert(p.header.packet_number, *time)),
                What::Lost(p) => drop(drawn.lost.insert(p.header.packet_number, *time)),
                What::Received(p) => {
                    for frame in &p.frames {
                        if let Frame::Ack { acked_ranges, .. } = frame {
                            for number in acked_ranges.iter().flat_map(|(a, b)| *a..=*b) {
                                drawn.acked.entry(number).or_insert(*time);
                            }
                        }
                    }
                }
                What::Metrics(_) | What::Marks(_) => {}
            }
        }
        drawn
    }
}

#[derive(Debug, Default)]
struct Drawn {
    sent: BTreeMap<u64, f64>,
    acked: BTreeMap<u64, f64>,
    lost: BTreeMap<u64, f64>,
}

fn scenario(flow: &str, record: &str) -> Scenario {
    let text = format!(
        "name = \"logs\"\nduration = \"2 s\"\n[link]\nkind = \"rate\"\nrate = \"10 Mbit/s\"\n\
         [[flow]]\ncontroller = \"cubic\"\nlabel = \"one\"\n{flow}\n[record]\n{record}\n"
    );
    Scenario::from_toml(&text, ".").unwrap_or_else(|e| panic!("{e}"))
}

/// A run in which `events` are all packets, at the sender, with a sample each 100 ms.
fn logged(scenario: &Scenario, events: &[(u64, bool, Body)]) -> Log {
    let mut r = RunRecorder::new(RecorderConfig::of(scenario, NodeId(0), None));
    let mut sample = FlowSample::default();
    for k in 0..4 {
        sample.cwnd = Bytes(14_480 * (k + 1));
        r.flow(Instant::from_millis(100 * k), FlowId(0), &sample);
    }
    for (at, sent, body) in events {
        let (dir, event) = if *sent {
            (Direction::Down, PacketEvent::Sent)
        } else {
            (Direction::Up, PacketEvent::Delivered)
        };
        let packet = Packet {
            len: 52 + body.payload(),
            ecn: Ecn::Ect0,
            dir,
            body: *body,
            ..Packet::default()
        };
        r.packet(Instant::from_millis(*at), NodeId(0), &packet, event);
    }
    let marked = Packet {
        dir: Direction::Down,
        ..Packet::default()
    };
    r.packet(
        Instant::from_millis(950),
        NodeId(0),
        &marked,
        PacketEvent::Marked,
    );
    let logs = qlogs(scenario, &r);
    assert_eq!(logs[0].0, "flow0.sqlog");
    Log::read(&logs[0].1)
}

fn data(seq: u32, payload: u16) -> Body {
    Body::Tcp(Segment {
        seq: SeqNum(seq),
        payload,
        flags: TcpFlags::ACK,
        ..Segment::default()
    })
}

fn again(seq: u32, payload: u16) -> Body {
    match data(seq, payload) {
        Body::Tcp(s) => Body::Tcp(Segment {
            bits: SegmentBits::RETRANSMISSION,
            ..s
        }),
        other => other,
    }
}

fn ack(number: u32, blocks: &[(u32, u32)]) -> Body {
    let mut s = Segment {
        ack: SeqNum(number),
        flags: TcpFlags::ACK,
        ..Segment::default()
    };
    let blocks: Vec<SackBlock> = blocks
        .iter()
        .map(|(start, end)| SackBlock {
            start: SeqNum(*start),
            end: SeqNum(*end),
        })
        .collect();
    s.set_sack_blocks(&blocks);
    Body::Tcp(s)
}

#[test]
fn a_tcp_sender_has_transmissions_acknowledgments_and_losses() {
    // The stream begins just below the wrap of sequence numbers.
    let isn = u32::MAX - 500;
    let at = |offset: u32| isn.wrapping_add(1).wrapping_add(offset);
    let syn = Body::Tcp(Segment {
        seq: SeqNum(isn),
        flags: TcpFlags::SYN.with(TcpFlags::ACK),
        ..Segment::default()
    });
    let log = logged(
        &scenario("", "pcap = true"),
        &[
            (10, true, syn),
            (50, false, ack(at(0), &[])),
            (51, true, data(at(0), 1000)),
            (52, true, data(at(1000), 1000)),
            (53, true, data(at(2000), 1000)),
            (91, false, ack(at(1000), &[])),
            (93, false, ack(at(1000), &[(at(2000), at(3000))])),
            (120, true, again(at(1000), 1000)),
            (160, false, ack(at(3000), &[])),
        ],
    );

    assert_eq!(log.header.title, "logs");
    assert_eq!(log.header.trace.vantage_point.name, "one");
    assert_eq!(log.header.trace.vantage_point.r#type, VantageType::Server);
    assert_eq!(log.header.trace.common_fields.protocol_type, ["TCP"]);
    let drawn = log.drawn();
    let times = |map: &BTreeMap<u64, f64>| map.iter().map(|(n, t)| (*n, *t)).collect::<Vec<_>>();
    assert_eq!(
        times(&drawn.sent),
        [(0, 10.0), (1, 51.0), (2, 52.0), (3, 53.0), (4, 120.0)]
    );
    assert_eq!(
        times(&drawn.acked),
        [(0, 50.0), (1, 91.0), (3, 93.0), (4, 160.0)]
    );
    assert_eq!(times(&drawn.lost), [(2, 120.0)]);
    let frames: Vec<_> = log
        .events
        .iter()
        .filter_map(|e| match &e.what {
            What::Sent(p) => p.frames.first(),
            _ => None,
        })
        .map(|f| match f {
            Frame::Stream {
                stream_id: 0,
                offset,
                length,
            } => (*offset, *length),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        frames,
        [(0, 1000), (1000, 1000), (2000, 1000), (1000, 1000)]
    );
    let windows = log
        .events
        .iter()
        .filter(|e| matches!(&e.what, What::Metrics(m) if m.congestion_window.is_some()));
    assert_eq!(windows.count(), 4);
    let marks = log.events.last().map(|e| (e.time, &e.what));
    assert!(
        matches!(marks, Some((950.0, What::Marks(Marks { ce: 1 })))),
        "a mark after the last sample: {marks:?}"
    );
}

#[test]
fn a_part_that_is_sent_again_leaves_the_rest_in_flight() {
    let log = logged(
        &scenario("", "pcap = true"),
        &[
            (1, true, data(0, 3000)),
            (2, true, again(1000, 1000)),
            (3, false, ack(3000, &[])),
        ],
    );
    let drawn = log.drawn();
    assert_eq!(drawn.lost.into_keys().collect::<Vec<_>>(), [0]);
    // Its first and last thousand bytes arrived by the first transmission.
    assert_eq!(drawn.acked.into_keys().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn quic_acknowledges_packets() {
    let stream = |pn: u32, offset: u32, bits: QuicBits| {
        Body::QuicData(QuicData {
            pn: SeqNum(pn),
            offset: SeqNum(offset),
            payload: 1200,
            bits: bits.with(QuicBits::STREAM),
            ..QuicData::default()
        })
    };
    let acks = |first: u32, end: u32, ce: u16| {
        let mut a = QuicAck {
            bits: QuicBits::ACK,
            delay: 125,
            ce,
            ..QuicAck::default()
        };
        a.room.blocks_mut()[0] = SackBlock {
            start: SeqNum(first),
            end: SeqNum(end),
        };
        Body::QuicAck(a)
    };
    let log = logged(
        &scenario("transport = \"quic\"", "packets = true"),
        &[
            (1, true, stream(7, 0, QuicBits::NONE)),
            (2, true, stream(8, 1200, QuicBits::NONE)),
            (41, false, acks(8, 9, 1)),
            (42, true, stream(9, 0, QuicBits::RETRANSMISSION)),
            (81, false, acks(7, 10, u16::MAX)),
            (82, false, acks(7, 10, 3)),
        ],
    );
    assert_eq!(log.header.trace.common_fields.protocol_type, ["QUIC"]);
    let drawn = log.drawn();
    assert_eq!(drawn.lost.into_iter().collect::<Vec<_>>(), [(0, 42.0)]);
    // The first packet was late and not lost: QUIC can tell, and its own number is acknowledged.
    assert_eq!(
        drawn.acked.into_iter().collect::<Vec<_>>(),
        [(0, 81.0), (1, 41.0), (2, 81.0)]
    );
    let counts: Vec<_> = log
        .events
        .iter()
        .filter_map(|e| match &e.what {
            What::Received(p) => p.frames.first(),
            _ => None,
        })
        .map(|f| match f {
            Frame::Ack { ack_delay, ce, .. } => (*ack_delay, *ce),
            other => panic!("{other:?}"),
        })
        .collect();
    // The third acknowledges nothing new, so it has no frame.
    assert_eq!(counts, [(Some(1.0), Some(1)), (Some(1.0), Some(65_535))]);
}

#[test]
fn a_log_without_recorded_packets_has_metrics_and_marks() {
    let log = logged(&scenario("", ""), &[(1, true, data(0, 1000))]);
    let drawn = log.drawn();
    assert!(drawn.sent.is_empty() && drawn.acked.is_empty());
    assert_eq!(log.events.len(), 5);
}
