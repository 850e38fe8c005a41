//! Tracks and events, put in the order of time and written.

use std::collections::HashMap;

use prost::Message as _;

use super::schema::{
    CounterDescriptor, DebugAnnotation, EXPLICIT, Interned, InternedData,
    SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE, TYPE_COUNTER, TYPE_INSTANT,
    TYPE_SLICE_BEGIN, TYPE_SLICE_END, Trace, TracePacket, TrackDescriptor, TrackEvent, UNIT_COUNT,
    UNIT_SIZE_BYTES, UNIT_TIME_NS,
};

/// All packets of the trace are of one sequence; any number but 0 is one.
const SEQUENCE: u32 = 1;

/// A track; its number is one more than its place among the descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Track(u32);

/// What a counter counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bits a second.
    Rate,
    /// Anything else.
    Count,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
enum What {
    /// A slice begins; its arguments are so many of all, from a place on.
    Begin { name: u32, args: u32, count: u8 },
    /// The last slice of the track that began ends.
    End,
    /// A moment.
    Instant { name: u32 },
    /// A counter has a value.
    Value(i64),
}

/// An event.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Nanoseconds since the start of the run.
    at: u64,
    /// The track.
    track: Track,
    /// What.
    what: What,
}

/// Names that are written once and cited by number.
#[derive(Debug, Default)]
struct Names {
    /// Numbers, by name.
    numbers: HashMap<String, u32>,
    /// Names, by number less one.
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.names.push(name.to_owned());
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn interned(&self) -> Vec<Interned> {
        (1..)
            .zip(&self.names)
            .map(|(iid, name)| Interned {
                iid: Some(iid),
                name: Some(name.clone()),
            })
            .collect()
    }
}

/// Collects a trace.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The tracks.
    tracks: Vec<TrackDescriptor>,
    /// The events, in the order in which they came.
    events: Vec<Event>,
    /// Arguments of slices: a name's number and a value.
    args: Vec<(u32, u64)>,
    /// Names of events.
    names: Names,
    /// Names of arguments.
    arg_names: Names,
}

impl Writer {
    /// A track, below `parent` where there is one; siblings stand in the order in which they are made.
    pub(super) fn track(&mut self, name: &str, parent: Option<Track>) -> Track {
        let place = self.tracks.len() as u32;
        self.tracks.push(TrackDescriptor {
            uuid: Some(u64::from(place) + 1),
            name: Some(name.to_owned()),
            parent_uuid: parent.map(|p| u64::from(p.0) + 1),
            counter: None,
            child_ordering: Some(EXPLICIT),
            sibling_order_rank: Some(place as i32),
        });
        Track(place)
    }

    /// A counter below `parent`.
    pub(super) fn counter(&mut self, name: &str, unit: Unit, parent: Track) -> Track {
        let track = self.track(name, Some(parent));
        let (unit, unit_name) = match unit {
            Unit::Time => (Some(UNIT_TIME_NS), None),
            Unit::Bytes => (Some(UNIT_SIZE_BYTES), None),
            Unit::Rate => (None, Some("bit/s".to_owned())),
            Unit::Count => (Some(UNIT_COUNT), None),
        };
        self.tracks[track.0 as usize].counter = Some(CounterDescriptor { unit, unit_name });
        track
    }

    /// A slice from `begin` to `end`, in nanoseconds. Of a track, slices come in the order of their beginnings, and each ends
    /// before the next begins or holds it.
    pub(super) fn slice(
        &mut self,
        begin: u64,
        end: u64,
        track: Track,
        name: &str,
        args: &[(&str, u64)],
    ) {
        self.begin(begin, track, name, args);
        self.end(end, track);
    }

    /// The beginning of a slice that holds others.
    pub(super) fn begin(&mut self, at: u64, track: Track, name: &str, args: &[(&str, u64)]) {
        let first = self.args.len() as u32;
        for (name, value) in args {
            let name = self.arg_names.number(name);
            self.args.push((name, *value));
        }
        let what = What::Begin {
            name: self.names.number(name),
            args: first,
            count: args.len() as u8,
        };
        self.events.push(Event { at, track, what });
    }

    /// The end of the last slice of `track` that began.
    pub(super) fn end(&mut self, at: u64, track: Track) {
        let what = What::End;
        self.events.push(Event { at, track, what });
    }

    /// A moment.
    pub(super) fn instant(&mut self, at: u64, track: Track, name: &str) {
        let name = self.names.number(name);
        let what = What::Instant { name };
        self.events.push(Event { at, track, what });
    }

    /// A counter's value from `at` on.
    pub(super) fn value(&mut self, at: u64, track: Track, value: u64) {
        let what = What::Value(i64::try_from(value).unwrap_or(i64::MAX));
        self.events.push(Event { at, track, what });
    }

    /// The file. Its events are in the order of time; those of one time, in the order in which they came.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.events.sort_by_key(|e| e.at);
        let mut out = Vec::with_capacity(self.events.len() * 40);
        write(
            &mut out,
            TracePacket {
                sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
                interned_data: Some(InternedData {
                    event_names: self.names.interned(),
                    debug_annotation_names: self.arg_names.interned(),
                }),
                ..TracePacket::default()
            },
        );
        for track in self.tracks.drain(..) {
            write(
                &mut out,
                TracePacket {
                    track_descriptor: Some(track),
                    ..TracePacket::default()
                },
            );
        }
        for event in &self.events {
            write(
                &mut out,
                TracePacket {
                    timestamp: Some(event.at),
                    sequence_flags: Some(SEQ_NEEDS_INCREMENTAL_STATE),
                    track_event: Some(self.track_event(event)),
                    ..TracePacket::default()
                },
            );
        }
        out
    }

    fn track_event(&self, event: &Event) -> TrackEvent {
        let mut out = TrackEvent {
            track_uuid: Some(u64::from(event.track.0) + 1),
            ..TrackEvent::default()
        };
        let (kind, name) = match event.what {
            What::Begin { name, args, count } => {
                let args = &self.args[args as usize..][..usize::from(count)];
                let annotation = |(name, value): &(u32, u64)| DebugAnnotation {
                    name_iid: Some(u64::from(*name)),
                    uint_value: Some(*value),
                };
                out.debug_annotations = args.iter().map(annotation).collect();
                (TYPE_SLICE_BEGIN, Some(name))
            }
            What::End => (TYPE_SLICE_END, None),
            What::Instant { name } => (TYPE_INSTANT, Some(name)),
            What::Value(value) => {
                out.counter_value = Some(value);
                (TYPE_COUNTER, None)
            }
        };
        out.r#type = Some(kind);
        out.name_iid = name.map(u64::from);
        out
    }
}

/// Appends a packet of our sequence.
fn write(out: &mut Vec<u8>, mut packet: TracePacket) {
    packet.trusted_packet_sequence_id = Some(SEQUENCE);
    let trace = Trace {
        packet: vec![packet],
    };
    trace.encode(out).expect("a vector grows");
}
