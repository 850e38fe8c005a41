//! The messages of a Perfetto trace that ours has (perfetto.dev, "Trace packet" and "Track events"; fields and numbers of
//! `protos/perfetto/trace/trace_packet.proto` and `track_event/*.proto`). Fields that we leave out have no line.

/// `Trace`. Two of them one after the other are one as well.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub(super) packet: Vec<TracePacket>,
}

/// `TracePacket`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TracePacket {
    /// Nanoseconds of the trace's clock.
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    /// The sequence, within which interned names hold.
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    /// Names that later packets cite.
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    /// Bits of `SequenceFlags`.
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

/// `SequenceFlags`: names of the sequence begin here.
pub(super) const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `SequenceFlags`: the packet cites names.
pub(super) const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;

/// `InternedData`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct InternedData {
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<Interned>,
    /// Names of arguments.
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<Interned>,
}

/// `EventName` and `DebugAnnotationName`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Interned {
    /// The number by which it is cited.
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}

/// `TrackDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    /// Its name. Siblings of one name are shown as one track.
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    /// The track that it is a part of.
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    /// It is a counter.
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    /// `ChildTracksOrdering`.
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    /// Its place among the siblings, where the parent orders them so.
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
}

/// `ChildTracksOrdering.EXPLICIT`.
pub(super) const EXPLICIT: i32 = 3;

/// `CounterDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CounterDescriptor {
    /// `Unit`.
    #[prost(int32, optional, tag = "3")]
    pub(super) unit: Option<i32>,
    /// The unit in words, where `unit` has none.
    #[prost(string, optional, tag = "6")]
    pub(super) unit_name: Option<String>,
}

/// `CounterDescriptor.Unit`.
pub(super) const UNIT_TIME_NS: i32 = 1;
/// `CounterDescriptor.Unit`.
pub(super) const UNIT_COUNT: i32 = 2;
/// `CounterDescriptor.Unit`.
pub(super) const UNIT_SIZE_BYTES: i32 = 3;

/// `TrackEvent`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrackEvent {
    /// Arguments.
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    /// `Type`.
    #[prost(int32, optional, tag = "9")]
    pub(super) r#type: Option<i32>,
    /// The name's number.
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    /// The value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
}

/// `TrackEvent.Type`.
pub(super) const TYPE_SLICE_BEGIN: i32 = 1;
/// `TrackEvent.Type`.
pub(super) const TYPE_SLICE_END: i32 = 2;
/// `TrackEvent.Type`.
pub(super) const TYPE_INSTANT: i32 = 3;
/// `TrackEvent.Type`.
pub(super) const TYPE_COUNTER: i32 = 4;

/// `DebugAnnotation`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DebugAnnotation {
    /// The name's number.
    #[prost(uint64, optional, tag = "1")]
    pub(super) name_iid: Option<u64>,
    /// The value.
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
}
