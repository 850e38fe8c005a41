//! What is known of one flow.

use slackwater_core::{Duration, Instant, PacketView, UeId};

use super::ack_manager::Tcp;
use super::fifo::Fifo;
use super::frames::Frames;
use super::report::STANDING;

/// A held packet passes after this, or two beats of its flow, if that is longer.
const LONGEST_HOLD: Duration = Duration::from_millis(20);
/// The packets of a flow pass for so long at first: what they waited here would end its slow start early, by `HyStart` (RFC 9406). Ours.
const START: Duration = Duration::from_millis(500);
/// The least time for which Algorithm 1 may kick a flow.
const LEAST_KICK: Duration = Duration::from_millis(2);
/// The beat assumed until one is known: 60 FPS.
pub(super) const BEAT: Duration = Duration::from_micros(16_667);

/// How a flow is treated at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Pass,
    Hold,
    Credit,
    Paper,
}

#[derive(Clone, Debug)]
pub(super) struct Flow<P> {
    pub(super) ue: UeId,
    /// The downlink [`PacketView::flow_key`].
    pub(super) key: u32,
    pub(super) seen: Instant,
    /// When its first packet came.
    pub(super) born: Instant,
    pub(super) frames: Frames,
    pub(super) fifo: Fifo<P>,
    /// Something of it has waited here since.
    pub(super) waits_since: Option<Instant>,
    pub(super) tcp: Option<Box<Tcp<P>>>,
    /// The frame counter when this flow's last frame began: priority is the difference.
    pub(super) base: u64,
    /// Its place among the waiting flows: its rank, and the start of its frame.
    pub(super) place: Option<(u64, Instant)>,
    /// The start of the frame of which something was let go last.
    pub(super) began: Instant,
    /// The start of the last frame that was predicted to be late.
    pub(super) judged: Instant,
    /// Air time of what it had late, in nanoseconds of full slots, less one part in 64 a frame.
    pub(super) late: u64,
    /// ACK numbers wait (`paper`).
    pub(super) acks: bool,
    /// Its entry among the flows that Algorithm 1 chooses from.
    pub(super) listed: Option<u64>,
    /// It was kicked; from this instant on for too long.
    pub(super) kicked: Option<Instant>,
    /// Scratch: it belongs to the set M of this cycle.
    pub(super) chosen: bool,
    /// Algorithm 1 admitted it up to this instant.
    pub(super) admitted: Instant,
    /// Its entry among the timers.
    pub(super) timer: Option<Instant>,
    /// Reserved air time.
    pub(super) reserved: u64,
    /// Its entry among the idle flows.
    pub(super) idle: Option<u64>,
}

impl<P: PacketView + Clone> Flow<P> {
    pub(super) fn overdue(&self, frame: Instant) -> Instant {
        let two = self.frames.interval().unwrap_or(Duration::ZERO) * 2;
        frame + two.max(LONGEST_HOLD)
    }

    /// It begins, and its packets pass.
    pub(super) fn starts(&self, now: Instant) -> bool {
        now.since(self.born) < START
    }

    /// True where something of it has waited here without a break for so long that it is no source of frames, or that no order serves it;
    /// once.
    pub(super) fn stands(&mut self, now: Instant) -> bool {
        if self.fifo.head().is_none() {
            self.waits_since = None;
            return false;
        }
        let since = *self.waits_since.get_or_insert(now);
        let stands = now.since(since) > STANDING;
        if stands {
            self.waits_since = None;
        }
        stands
    }

    pub(super) fn beat(&self) -> Duration {
        self.frames.interval().unwrap_or(BEAT).max(LEAST_KICK)
    }
}
