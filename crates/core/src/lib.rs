//! The words that every crate of Slackwater uses: time, units, packets, randomness, records.
//!
//! Nothing here reads a clock, opens a file or holds a global. Time is an [`Instant`] handed in by whoever drives
//! the code, and a random number is a function of a seed and a key ([`rng`]).

pub mod ids;
pub mod packet;
pub mod record;
pub mod rng;
pub mod seq;
pub mod time;
pub mod units;

pub use ids::{BearerId, Direction, FlowId, NodeId, Qfi, Rnti, SlotIdx, Teid, UeId};
pub use packet::{
    Body, Datagram, Ecn, Media, Packet, PacketView, QuicAck, QuicBits, QuicData, QuicLong,
    ReportBytes, Rtcp, SackBlock, SackList, Segment, SegmentBits, SynOptions, TcpFlags, TcpHeader,
};
pub use record::{NoRecorder, Recorder};
pub use rng::{Draw, Stream};
pub use seq::SeqNum;
pub use time::{Duration, Instant};
pub use units::{Bytes, Prbs, Rate};
