//! What the radio knows, as values that travel.
//!
//! [`observe`] holds the read-only views that a cell offers each slot; [`report`] holds what agents make of them and
//! send to whoever acts: a [`PathReport`] to a sender, a [`RanReport`] to an edge function; [`marking`] names the
//! schemes by which queue delay becomes CE marks.

pub mod body;
pub mod counters;
pub mod marking;
pub mod observe;
pub mod report;

pub use body::ReportBody;
pub use counters::Counters;
pub use marking::MarkingScheme;
pub use observe::{
    GoneView, Grant, HarqFeedback, NoObserver, Observer, PdcpView, ResentView, RlcView, SlotView,
};
pub use report::{PathReport, RanReport};
