//! Where SDUs wait for their first transmission.

use slackwater_queue::{AnyQueue, Law};

/// Where SDUs wait for their first transmission.
pub enum Waiting<P> {
    /// First in first out in the ring in which they fly later, so that none is moved when its turn comes; with a law or
    /// none.
    InPlace(Option<Box<dyn Law>>),
    /// In one of `queue`'s containers, from which they move to the ring. Limits count IP bytes.
    Queue(Box<AnyQueue<P>>),
}
