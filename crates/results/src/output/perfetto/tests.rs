//! A trace is read back and compared with the record that it was made of.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use prost::Message as _;
use slackwater_core::record::PacketEvent;
use slackwater_core::{Instant, NodeId, Recorder};
use slackwater_scenario::Scenario;
use slackwater_scenario::build::{self, Hosts};
use slackwater_signal::{Observer, PdcpView, ResentView, SlotView};

use super::schema::{
    TYPE_COUNTER, TYPE_INSTANT, TYPE_SLICE_BEGIN, TYPE_SLICE_END, Trace, TrackDescriptor,
};
use super::*;
use crate::record::RecorderConfig;
use crate::record::slots::SlotTap;

/// A slice, read back.
#[derive(Debug)]
struct Slice {
    /// Its track.
    track: u64,
    /// Its name.
    name: String,
    /// When it begins.
    begin: u64,
    /// When it ends.
    end: u64,
    /// How many slices hold it.
    depth: usize,
    /// Its arguments.
    args: HashMap<String, u64>,
}

/// A trace, read back.
struct Read {
    tracks: BTreeMap<u64, TrackDescriptor>,
    slices: Vec<Slice>,
    /// Track, time and name.
    instants: Vec<(u64, u64, String)>,
    /// Track, time and value.
    values: Vec<(u64, u64, i64)>,
}

impl Read {
    /// Reads `bytes`, and checks what holds for every trace: time order, slices that nest, known tracks and names.
    fn new(bytes: &[u8]) -> Self {
        let trace = Trace::decode(bytes).expect("a Trace");
        let names = trace.packet[0].interned_data.clone().expect("names first");
        let table = |list: Vec<super::schema::Interned>| -> HashMap<u64, String> {
            let pairs = list.into_iter().map(|i| (i.iid, i.name));
            pairs
                .map(|(i, n)| (i.expect("a number"), n.expect("a name")))
                .collect()
        };
        let args = table(names.debug_annotation_names);
        let names = table(names.event_names);
        let mut read = Self {
            tracks: BTreeMap::new(),
            slices: Vec::new(),
            instants: Vec::new(),
            values: Vec::new(),
        };
        let mut open: HashMap<u64, Vec<Slice>> = HashMap::new();
        let mut last = 0;

        for packet in &trace.packet[1..] {
            assert_eq!(packet.trusted_packet_sequence_id, Some(1));
            if let Some(track) = &packet.track_descriptor {
                if let Some(parent) = track.parent_uuid {
                    assert!(read.tracks.contains_key(&parent));
                }
                let uuid = track.uuid.expect("a number");
                assert!(read.tracks.insert(uuid, track.clone()).is_none());
                continue;
            }
            assert_eq!(packet.sequence_flags, Some(2), "it cites names");
            let at = packet.timestamp.expect("a time");
            assert!(at >= last, "in the order of time");
            last = at;
            let event = packet.track_event.as_ref().expect("an event");
            let track = event.track_uuid.expect("a track");
            let counter = read.tracks[&track].counter.is_some();
            let name = event.name_iid.map(|n| names[&n].clone());
            let stack = open.entry(track).or_default();
            match event.r#type.expect("a type") {
                TYPE_SLICE_BEGIN => {
                    let pairs = event.debug_annotations.iter();
                    let pairs = pairs.map(|a| (a.name_iid.expect("name"), a.uint_value));
                    stack.push(Slice {
                        track,
                        name: name.expect("a name"),
                        begin: at,
                        end: at,
                        depth: stack.len(),
                        args: pairs
                            .map(|(n, v)| (args[&n].clone(), v.expect("a value")))
                            .collect(),
                    });
                }
                TYPE_SLICE_END => {
                    let mut slice = stack.pop().expect("a slice that began");
                    slice.end = at;
                    read.slices.push(slice);
                }
                TYPE_INSTANT => read.instants.push((track, at, name.expect("a name"))),
                TYPE_COUNTER => {
                    assert!(counter);
                    read.values
                        .push((track, at, event.counter_value.expect("a value")));
                }
                other => panic!("{other}"),
            }
        }
        assert!(open.values().all(Vec::is_empty), "each slice ends");
        read
    }

    /// The tracks of this name below the one of the name `parent`.
    fn named(&self, parent: &str, name: &str) -> Vec<u64> {
        let is = |t: &TrackDescriptor, wanted: &str| t.name.as_deref() == Some(wanted);
        let below = |t: &TrackDescriptor| {
            let parent_of = t.parent_uuid.map(|p| &self.tracks[&p]);
            parent_of.is_some_and(|p| is(p, parent))
        };
        let all = self.tracks.iter();
        all.filter(|(_, t)| is(t, name) && below(t))
            .map(|(n, _)| *n)
            .collect()
    }

    fn slices_of<'a>(&'a self, parent: &str, name: &str) -> Vec<&'a Slice> {
        let tracks = self.named(parent, name);
        let of = |s: &&Slice| tracks.contains(&s.track);
        self.slices.iter().filter(of).collect()
    }
}

/// What the record has, with the packets that pass PDCP.
struct Watch {
    /// Rows of grants.
    tap: SlotTap,
    /// Flow and time of each packet.
    arrivals: Arc<Mutex<BTreeSet<(u32, u64)>>>,
}

impl Observer for Watch {
    fn on_slot(&mut self, now: Instant, slot: &SlotView<'_>) {
        self.tap.on_slot(now, slot);
    }
    fn on_pdcp(&mut self, now: Instant, packet: &PdcpView) {
        let flow = packet.flow.expect("a simulated one").0;
        let mut arrivals = self.arrivals.lock().expect("no holder panics");
        arrivals.insert((flow, now.as_nanos()));
    }
    fn on_resent(&mut self, now: Instant, bytes: &ResentView) {
        self.tap.on_resent(now, bytes);
    }
}

/// Two users of a cell with a wired bottleneck before it, one download and one upload, for a second.
const TEXT: &str = r#"
name = "traced"
duration = "1 s"
[path]
rtt = "20 ms"
[wired]
rate = "100 Mbit/s"
[cell]
rat = "nr"
bandwidth = "20 MHz"
fading = "tdl-a"
[[ue]]
mobility = { kind = "static", distance = "150 m" }
[[ue]]
mobility = { kind = "static", distance = "150 m" }
[[flow]]
controller = "cubic"
label = "down"
[[flow]]
controller = "cubic"
label = "up"
direction = "up"
ue = 1
[record]
perfetto = true
"#;

fn run() -> RunRecorder {
    watched(TEXT).0
}

/// The record of a scenario, and when packets of each flow passed PDCP.
fn watched(text: &str) -> (RunRecorder, BTreeSet<(u32, u64)>) {
    let scenario = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
    let (tap, rows) = SlotTap::new(scenario.record.max_rows);
    let recorder = |layout: &build::Layout| {
        let config = RecorderConfig::of(&scenario, layout.bottleneck, layout.wired);
        RunRecorder::new(config)
    };
    let arrivals = Arc::<Mutex<BTreeSet<_>>>::default();
    let watch = Watch {
        tap,
        arrivals: Arc::clone(&arrivals),
    };
    let guest = Some(Box::new(watch) as _);
    let (mut world, _) = build::build_with(&scenario, 1, Hosts::Simulated, guest, recorder)
        .unwrap_or_else(|e| panic!("{e}"));
    world.run_until(
        Instant::ZERO + scenario.duration,
        &mut slackwater_sim::NoClock,
    );
    let mut run = world.into_recorder();
    run.slots = core::mem::take(&mut rows.lock().expect("no holder panics"));
    let arrivals = core::mem::take(&mut *arrivals.lock().expect("no holder panics"));
    (run, arrivals)
}

/// Rows of data of `flow` with this event: their number, IP bytes and the sum of their delays.
fn counted(run: &RunRecorder, flow: u32, event: u8) -> (usize, u64, u64) {
    let rows = &run.rows;
    let of = |k: &usize| rows.flow[*k] == flow && rows.event[*k] == event && rows.payload[*k] > 0;
    let all: Vec<usize> = (0..rows.len()).filter(of).collect();
    let sum = |f: &dyn Fn(usize) -> u64| all.iter().map(|k| f(*k)).sum();
    (
        all.len(),
        sum(&|k| u64::from(rows.len[k])),
        sum(&|k| rows.delay[k]),
    )
}

#[test]
fn a_trace_has_what_the_record_has() {
    let run = run();
    let read = Read::new(&trace(&run, Bounds::default()));
    for (flow, name) in [(0, "flow 0: down, UE 0"), (1, "flow 1: up, UE 1")] {
        // Packets: as many, as many bytes, and as long on their way, as rows.
        let delivered = counted(&run, flow, 2);
        assert!(delivered.0 > 200, "{delivered:?}");
        let packets = read.slices_of(name, "packets");
        let whole = packets.iter().filter(|s| s.name == "delivered");
        let whole: Vec<_> = whole.collect();
        assert!(whole.iter().all(|s| s.depth == 0));
        let bytes: u64 = whole.iter().map(|s| s.args["IP bytes"]).sum();
        let delay: u64 = whole.iter().map(|s| s.end - s.begin).sum();
        assert_eq!((whole.len(), bytes, delay), delivered, "{name}");
        let queue = packets.iter().filter(|s| s.name == "RLC queue");
        let wait: u64 = queue.map(|s| s.end - s.begin).sum();
        let dropped: usize = (4..10).map(|e| counted(&run, flow, e).0).sum();
        let ended = packets.iter().filter(|s| s.depth == 0).count();
        assert_eq!(ended, whole.len() + dropped);
        assert!(wait > 0 && wait <= counted(&run, flow, 1).2);

        // Counters: the values of the samples, where they change.
        let series = &run.flows[flow as usize].series;
        let track = read.named(name, "congestion window");
        let values = read.values.iter().filter(|v| v.0 == track[0]);
        let values: Vec<_> = values.map(|v| (v.1, v.2 as u64)).collect();
        let mut wanted: Vec<(u64, u64)> = Vec::new();
        for (at, cwnd) in series.time.iter().zip(&series.cwnd) {
            if wanted.last().is_none_or(|w| w.1 != *cwnd) {
                wanted.push((*at, *cwnd));
            }
        }
        assert_eq!(values, wanted);
    }

    // Grants: a slice each, with their bytes; none is longer than a slot, and repeated blocks span their rounds.
    for (ue, up, parent, name) in [(0, 0, "UE 0", "grants down"), (1, 1, "UE 1", "grants up")] {
        let rows = &run.slots;
        let of = |k: &usize| rows.ue[*k] == ue && rows.up[*k] == up;
        let wanted: Vec<usize> = (0..rows.time.len()).filter(of).collect();
        let grants = read.slices_of(parent, name);
        assert!(wanted.len() > 100);
        let bytes: u64 = grants.iter().map(|s| s.args["TBS in bytes"]).sum();
        assert_eq!(
            (grants.len(), bytes),
            (wanted.len(), wanted.iter().map(|k| rows.tbs[*k]).sum())
        );
        let slot = grants[0].end - grants[0].begin;
        assert!([1_000_000, 500_000, 250_000].contains(&slot), "{slot}");
        let again = wanted.iter().filter(|k| rows.round[**k] > 0).count() as u64;
        let blocks = read.slices_of(parent, &name.replace("grants", "HARQ"));
        let rounds: u64 = blocks.iter().map(|s| s.args["transmissions"] - 1).sum();
        assert_eq!(rounds, again);
    }
    assert!(
        !read.named("UE 0", "RLC queue down").is_empty(),
        "{:?}",
        read.tracks.values().map(|t| &t.name).collect::<Vec<_>>()
    );
    assert!(read.instants.iter().all(|i| !i.2.contains("from here on")));
}

/// A packet enters RLC when PDCP of the cell has it, waits until its first transmission, and is on the radio from then on.
#[test]
fn packets_wait_in_rlc_from_their_arrival() {
    // A cell shows what passes PDCP where a controller takes reports.
    let (run, arrivals) = watched(&TEXT.replacen("cubic", "xrc", 1));
    let read = Read::new(&trace(&run, Bounds::default()));
    for (flow, name) in [(0, "flow 0: down, UE 0"), (1, "flow 1: up, UE 1")] {
        let packets = read.slices_of(name, "packets");
        let inside = |part: &str| -> Vec<&&Slice> {
            let inner = packets.iter().filter(|s| s.depth == 1);
            inner.filter(|s| s.name == part).collect()
        };
        let (queue, radio) = (inside("RLC queue"), inside("radio"));
        let counts = (queue.len(), radio.len());
        let whole = packets.iter().filter(|s| s.name == "delivered").count();
        assert!(counts.0 > 100 && counts.1 >= whole, "{name}: {counts:?}");
        assert!(queue.iter().all(|s| arrivals.contains(&(flow, s.begin))));
        let way = inside("to the cell");
        assert!(way.iter().all(|s| arrivals.contains(&(flow, s.end))));
        let begun: BTreeSet<u64> = radio.iter().map(|s| s.begin).collect();
        assert!(queue.iter().all(|s| begun.contains(&s.end)), "{name}");
    }
}

/// HARQ gives a block up after one transmission, so RLC sends what was in it again.
#[test]
fn what_rlc_sends_again_has_slices() {
    let cell = "rlc.mode = \"am\"\nharq.transmissions = 1\n[[ue]]";
    let text = TEXT.replacen("[[ue]]", cell, 1);
    let (run, _) = watched(&text);
    let read = Read::new(&trace(&run, Bounds::default()));
    for (ue, up, parent, name) in [
        (0, 0, "UE 0", "RLC again down"),
        (1, 1, "UE 1", "RLC again up"),
    ] {
        let rows = run.slots.resent.iter().filter(|r| (r.ue, r.up) == (ue, up));
        let wanted: u64 = rows.map(|r| r.bytes).sum();
        let slices = read.slices_of(parent, name);
        let bytes: u64 = slices.iter().map(|s| s.args["bytes"]).sum();
        assert!(wanted > 0, "{name}");
        assert_eq!(bytes, wanted, "{name}");
        assert!(slices.iter().all(|s| s.depth == 0), "{name}");
    }

    let bounds = Bounds {
        grants: 1,
        ..Bounds::default()
    };
    let read = Read::new(&trace(&run, bounds));
    let again = read.slices.iter().filter(|s| s.args.contains_key("ranges"));
    assert_eq!(again.count(), 1);
    let left = read.instants.iter();
    assert_eq!(
        left.filter(|i| i.2.contains("retransmissions of RLC"))
            .count(),
        1
    );
}

#[test]
fn a_bound_is_kept_and_stated() {
    let run = run();
    let bounds = Bounds {
        packets: 50,
        grants: 40,
        values: 100,
    };
    let bytes = trace(&run, bounds);
    let read = Read::new(&bytes);
    let whole = |s: &&Slice| s.depth == 0 && s.args.contains_key("payload bytes");
    assert_eq!(read.slices.iter().filter(whole).count(), 50);
    let grants = |s: &&Slice| s.args.contains_key("HARQ round");
    assert_eq!(read.slices.iter().filter(grants).count(), 40);
    let sampled = |v: &&(u64, u64, i64)| {
        let name = read.tracks[&v.0].name.as_deref();
        name.is_some_and(|n| !n.starts_with("MCS") && !n.starts_with("PRBs"))
    };
    assert!(read.values.iter().filter(sampled).count() <= 100);
    let left: Vec<_> = read.instants.iter().map(|i| i.2.as_str()).collect();
    let more = format!("{} grants from here on", run.slots.time.len() - 40);
    assert!(left.contains(&more.as_str()), "{left:?}");
    assert!(
        left.iter().any(|n| n.ends_with("packets from here on")),
        "{left:?}"
    );
    assert!(bytes.len() < trace(&run, Bounds::default()).len() / 4);
}

/// The octets of one packet, worked out by hand from the numbers of fields and the wire types of protocol buffers: this
/// does not rest on the types that write.
#[test]
fn an_event_has_the_published_octets() {
    let mut writer = Writer::default();
    let track = writer.track("t", None);
    writer.slice(5, 300, track, "s", &[("a", 7)]);
    let bytes = writer.finish();
    // Trace.packet (1, bytes) of 10 octets: timestamp (8) 300, sequence (10) 1, event (11) of 4 octets with type (9) 2
    // and track (11) 1, flags (13) 2.
    let end = [
        0x0a, 13, 0x40, 0xac, 0x02, 0x50, 1, 0x5a, 4, 0x48, 2, 0x58, 1, 0x68, 2,
    ];
    assert!(bytes.ends_with(&end), "{bytes:x?}");
    // The beginning: annotation (4) of 4 octets with its name's number (1) 1 and uint (3) 7, type 1, name (10) 1, track 1.
    let begin = [
        0x0a, 20, 0x40, 5, 0x50, 1, 0x5a, 12, 0x22, 4, 0x08, 1, 0x18, 7, 0x48, 1, 0x50, 1, 0x58, 1,
        0x68, 2,
    ];
    let at = bytes.len() - end.len() - begin.len();
    assert_eq!(bytes[at..bytes.len() - end.len()], begin);
    // Names: flags 1, interned data (12) with an event name (2) and an argument's name (3), each a number and a text.
    let names = [
        0x0a, 20, 0x50, 1, 0x62, 14, 0x12, 5, 0x08, 1, 0x12, 1, b's', 0x1a, 5, 0x08, 1, 0x12, 1,
        b'a', 0x68, 1,
    ];
    assert_eq!(bytes[..names.len()], names, "{bytes:x?}");
}

/// A segment that is sent again while its first copy is on the way has a slice of its own.
#[test]
fn copies_of_a_segment_are_apart() {
    let text = "name = \"copies\"\nduration = \"1 s\"\n[link]\nkind = \"rate\"\nrate = \"1 Mbit/s\"\n\
                [[flow]]\ncontroller = \"cubic\"\n[record]\nperfetto = true\n";
    let scenario = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
    let mut run = RunRecorder::new(RecorderConfig::of(&scenario, NodeId(0), None));
    let segment = slackwater_core::Segment {
        payload: 1448,
        ..slackwater_core::Segment::default()
    };
    let copy = |at: u64| slackwater_core::Packet {
        created: Instant::from_millis(at),
        len: 1500,
        body: segment.into(),
        ..slackwater_core::Packet::default()
    };
    let mut tell = |at: u64, sent: u64, event: PacketEvent| {
        run.packet(Instant::from_millis(at), NodeId(0), &copy(sent), event);
    };
    let sojourn = slackwater_core::Duration::from_millis(3);
    tell(10, 10, PacketEvent::Sent);
    tell(20, 20, PacketEvent::Sent);
    tell(
        30,
        10,
        PacketEvent::Dequeued {
            sojourn,
            radio: None,
        },
    );
    tell(
        40,
        20,
        PacketEvent::Dequeued {
            sojourn,
            radio: None,
        },
    );
    tell(50, 20, PacketEvent::Delivered);
    tell(60, 10, PacketEvent::Delivered);

    let read = Read::new(&trace(&run, Bounds::default()));
    let mut spans: Vec<_> = read
        .slices
        .iter()
        .map(|s| (s.name.as_str(), s.begin / 1_000_000, s.end / 1_000_000))
        .collect();
    spans.sort_unstable();
    assert_eq!(
        spans,
        [
            ("delivered", 10, 60),
            ("delivered", 20, 50),
            ("queue", 27, 30),
            ("queue", 37, 40),
            ("to the host", 30, 60),
            ("to the host", 40, 50),
        ]
    );
}

/// The recorder keeps so many marks of a flow; the trace states from when on and how many are missing.
#[test]
fn marks_that_the_record_left_out_are_stated() {
    let text = "name = \"marks\"\nduration = \"1 s\"\n[link]\nkind = \"rate\"\nrate = \"1 Mbit/s\"\n\
                [[flow]]\ncontroller = \"cubic\"\n";
    let scenario = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
    let mut run = RunRecorder::new(RecorderConfig::of(&scenario, NodeId(0), None));
    let packet = slackwater_core::Packet {
        len: 1500,
        ..slackwater_core::Packet::default()
    };
    let kept = MAX_EVENTS as u64;
    for k in 0..kept + 5 {
        let now = Instant::from_nanos(k * 1_000);
        run.packet(now, NodeId(0), &packet, PacketEvent::Marked);
    }

    let read = Read::new(&trace(&run, Bounds::default()));
    let left = read.instants.iter().find(|i| i.2.ends_with("from here on"));
    let (_, at, text) = left.expect("what is missing is stated");
    assert_eq!(text, "5 drops, marks and retransmissions from here on");
    assert_eq!(*at, (kept - 1) * 1_000);
    assert_eq!(read.instants.len(), MAX_EVENTS + 1);
}
