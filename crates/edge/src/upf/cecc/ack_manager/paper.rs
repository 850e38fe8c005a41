//! `paper`: section III-D, "ACK Manager", as printed.
//!
//! ACKs are kept back. Where Algorithm 1 admits a flow, "UPF returns two ACKs each time": room for a frame, then next to
//! none. The numbers lie "between the currently recorded returned sequence number and the maximum sequence number".

use std::collections::VecDeque;

use slackwater_core::{Direction, Duration, Instant, PacketView, SeqNum};

use super::bytes32;
use super::connection::{Connection, Progress};
use super::told::{Phase, Told};
use crate::Verdict;

/// Segments kept as ACK numbers for the next frames; 24 to 60 gave equal results.
const RESERVE: u32 = 40;
/// Answers to a pair of ACKs, one after the other and no larger than what the pair acknowledged, after which the server
/// is taken to be limited by its congestion window: then each number kept back costs rate.
const CLOCKED: u8 = 4;
/// Silence of a server that was told everything, beside the round trip to it, after which it has nothing to send.
const REST: Duration = Duration::from_micros(300);
/// Age at which the reserve is given up, unless two frames take longer.
const RESERVE_AGE: Duration = Duration::from_millis(40);

/// What the paper's ACK manager remembers of one connection beyond its numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paper {
    /// Answers of the server in a row that were no larger than what was acknowledged.
    clocked: u8,
    /// Bytes that the last pair of ACKs acknowledged.
    acknowledged: u32,
    /// Bytes that the server sent since.
    answered: u32,
    /// It was found limited by its congestion window, and has shown no pause since.
    bulk: bool,
}

impl Paper {
    /// The server sent `bytes` of new payload; `rested` where all that it had sent before was acknowledged to it, and it
    /// could have sent sooner.
    pub(super) fn on_data(&mut self, bytes: u32, rested: bool) {
        self.answered = self.answered.saturating_add(bytes);
        if rested {
            (self.bulk, self.clocked) = (false, 0);
        }
    }

    /// A server that answers every pair with no more than it acknowledges always has data to send: a bulk transfer, whose
    /// bursts look like frames because pairs let it go in bursts. It is one until it pauses with everything acknowledged.
    pub(super) const fn is_bulk(&self) -> bool {
        self.bulk
    }

    /// Silence that shows a server without data to send, `rtt_n6` away.
    pub(super) fn rest(rtt_n6: Duration) -> Duration {
        rtt_n6 + REST
    }

    /// "The ACK manager of UPF stores the ACK with the largest sequence number received by each flow."
    pub(super) fn on_ack<P: PacketView + Clone>(
        told: &mut Told<P>,
        mut packet: P,
        progress: Progress,
    ) -> Verdict<P> {
        if progress.advances || progress.moves {
            told.template = Some(packet);
            return Verdict::Hold;
        }
        // A duplicate stays one.
        packet.set_tcp_ack(told.number);
        packet.set_tcp_window(told.field);
        Verdict::Forward(packet)
    }

    /// The flow is admitted. `frame` is `FrameSize` and `interval` the time between frames.
    pub(super) fn two_acks<P: PacketView + Clone>(
        &mut self,
        now: Instant,
        c: &Connection,
        told: &mut Told<P>,
        frame: u64,
        interval: Duration,
        out: &mut VecDeque<(Direction, P)>,
    ) {
        let spare = c.a_max - told.number;
        self.judge(c.mss);
        self.acknowledged = spare;

        if self.is_clocked() {
            // The window does not hold this server back. Whatever it is told less than all that the UE allows may begin to,
            // and then its bursts, and `FrameSize` after them, are what it is told: two segments at a time, for ever
            // (seen with a Linux server whose frames had piled up).
            told.emit(c, c.a_max, c.ue_edge, false, out);
            told.phase = Phase::Open;
            return;
        }

        // "The receiver window (rwnd) of the first ACK is greater than the frame size": in flight and what the next frame
        // needs. Without the former, bytes not yet acknowledged would use it up.
        let edge = c.snd_max + bytes32(frame + frame / 4);
        let old = now.since(c.advanced_at) > (interval * 2).max(RESERVE_AGE);
        if spare < 3 * c.mss || old {
            // Closing would spend the last number, and a closed flow that sends nothing earns no new one.
            told.emit(c, c.a_max, edge, false, out);
            told.phase = Phase::Open;
            return;
        }

        // "The rwnd of the second ACK is very small to ensure that the server cannot send data by itself before UPF makes
        // the next decision." It advances by a segment: a sender takes a smaller window only so.
        let keep = (RESERVE * c.mss).min(spare - 2 * c.mss);
        self.acknowledged = spare - keep;
        let second = SeqNum(c.a_max.0.wrapping_sub(keep));
        let first = SeqNum(second.0.wrapping_sub(c.mss));
        told.emit(c, first, edge, false, out);
        told.emit(c, second, second + c.mss, true, out);
        told.phase = Phase::Closed;
    }

    /// Counts how the server answered the last pair.
    fn judge(&mut self, mss: u32) {
        let answered = core::mem::take(&mut self.answered);
        if answered > self.acknowledged + mss {
            self.clocked = 0;
        } else if answered > 0 {
            self.clocked = (self.clocked + 1).min(CLOCKED);
        }
        self.bulk |= self.is_clocked();
    }

    /// The server's congestion window rather than its frames says how much it sends.
    pub(super) const fn is_clocked(&self) -> bool {
        self.clocked >= CLOCKED
    }
}
