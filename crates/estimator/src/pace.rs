//! The pacer of all our hosts as a stage of the pipeline.
//!
//! The stack's own pacer has a burst that is fixed when it is built: one packet loses rate with each late timer, and more marks itself.
//! It follows reports alone, and knows no window.

use std::collections::VecDeque;
use std::time::Instant as StdInstant;

use rtc_interceptor::{Interceptor, Packet, StreamInfo, TaggedPacket};
use rtc_shared::error::Error;
use rtc_shared::marshal::MarshalSize as _;
use sansio::Protocol;
use slackwater_control::Pacer;
use slackwater_core::{Bytes, Duration, Instant};

use crate::Estimator;
use crate::state::AROUND;

/// Lateness of a timer up to this costs no rate (docs/design/0067).
const LATE: Duration = Duration::from_millis(10);
/// Packets that may wait; the stack's own pacer has as many (`DEFAULT_QUEUE_LIMIT`).
const QUEUE: usize = 1024;

/// Made by [`Estimator::pace`].
pub struct Pace {
    estimator: Estimator,
    pacer: Pacer,
    waits: VecDeque<TaggedPacket>,
    /// When the first of them may leave.
    due: Option<Instant>,
    up: VecDeque<TaggedPacket>,
    down: VecDeque<TaggedPacket>,
    refused: u64,
}

impl core::fmt::Debug for Pace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pace")
            .field("pacer", &self.pacer)
            .field("waits", &self.waits.len())
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

impl Pace {
    pub(crate) fn new(estimator: Estimator) -> Self {
        Self {
            estimator,
            pacer: Pacer::from_the_first(),
            waits: VecDeque::new(),
            due: None,
            up: VecDeque::new(),
            down: VecDeque::new(),
            refused: 0,
        }
    }

    /// Lets go what may leave at `at`.
    fn release(&mut self, at: StdInstant) {
        let mut state = self.estimator.state();
        let now = state.ours(at);
        state.expire(now);
        let intent = state.intent();
        let rate = intent
            .pacing
            .or_else(|| Pacer::window_rate(&intent, &state.path));
        self.pacer.set_rate(rate, intent.burst);
        let mut due = self
            .due
            .take()
            .map_or(now, |t| t.clamp(now.saturating_sub(LATE), now));
        // What leaves here is in flight once the stage at the wire has seen it.
        let mut leaves = 0;
        while let Some(packet) = self.waits.front() {
            let len = wire(packet);
            let in_flight = state.path.in_flight.0 + leaves;
            if in_flight > 0 && intent.window.is_some_and(|w| in_flight + len.0 > w.0) {
                // A report opens the window, or time: what nobody reports is not in flight for ever.
                self.due = state.expiry();
                return;
            }
            due = self.pacer.earliest_departure(due, len);
            if due > now {
                self.due = Some(due);
                return;
            }
            self.pacer.on_sent(due, len);
            leaves += len.0;
            if let Some(mut packet) = self.waits.pop_front() {
                // The time of departure, which the history reads.
                packet.now = at;
                self.down.push_back(packet);
            }
        }
    }
}

/// IP bytes of a packet.
fn wire(packet: &TaggedPacket) -> Bytes {
    match &packet.message.packet {
        Packet::Rtp(rtp) => Bytes(rtp.marshal_size() as u64 + u64::from(AROUND)),
        _ => Bytes::ZERO,
    }
}

impl Protocol<TaggedPacket, TaggedPacket, ()> for Pace {
    type Rout = TaggedPacket;
    type Wout = TaggedPacket;
    type Eout = ();
    type Error = Error;
    type Time = StdInstant;

    fn handle_read(&mut self, packet: TaggedPacket) -> Result<(), Error> {
        let now = packet.now;
        let reports = matches!(packet.message.packet, Packet::Rtcp(_));
        self.up.push_back(packet);
        if reports && !self.waits.is_empty() {
            // The history has read the report before: it is closer to the wire.
            self.release(now);
        }
        Ok(())
    }

    fn poll_read(&mut self) -> Option<TaggedPacket> {
        self.up.pop_front()
    }

    fn handle_write(&mut self, packet: TaggedPacket) -> Result<(), Error> {
        if !matches!(packet.message.packet, Packet::Rtp(_)) {
            self.down.push_back(packet);
            return Ok(());
        }
        if self.waits.len() >= QUEUE {
            self.refused += 1;
            return Ok(());
        }
        let (now, first) = (packet.now, self.waits.is_empty());
        self.waits.push_back(packet);
        if first {
            self.release(now);
        }
        Ok(())
    }

    fn poll_write(&mut self) -> Option<TaggedPacket> {
        self.down.pop_front()
    }

    fn handle_timeout(&mut self, now: StdInstant) -> Result<(), Error> {
        if !self.waits.is_empty() {
            self.release(now);
        }
        Ok(())
    }

    fn poll_timeout(&mut self) -> Option<StdInstant> {
        let due = self.due.filter(|_| !self.waits.is_empty())?;
        Some(self.estimator.state().std(due))
    }
}

impl Interceptor for Pace {
    fn bind_local_stream(&mut self, _: &StreamInfo) {}
    fn unbind_local_stream(&mut self, _: &StreamInfo) {}
    fn bind_remote_stream(&mut self, _: &StreamInfo) {}
    fn unbind_remote_stream(&mut self, _: &StreamInfo) {}
}
