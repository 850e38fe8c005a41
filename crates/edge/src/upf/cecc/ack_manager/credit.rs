//! `credit`: the right edge of the window moves, with one segment's acknowledgment kept back as the token that lets the
//! edge move left again. This project's way; the paper's is [`paper`](super::paper).

use std::collections::VecDeque;

use slackwater_core::{Direction, Duration, Instant, PacketView, SeqNum};

use super::bytes32;
use super::connection::{Connection, Progress};
use super::told::{Phase, Told};
use crate::Verdict;

/// Silence after which a frame has ended, beside the round trip to the server.
const FRAME_END: Duration = Duration::from_micros(300);
/// How long the token may be kept: below the tail loss probe's least timeout (RFC 8985, 7.2).
const TOKEN_AGE: Duration = Duration::from_millis(20);
/// Grant or reservation that the server did not use.
const UNUSED: Duration = Duration::from_millis(2);
/// Silence within a frame after which what is left of its reservation is not expected any more.
const QUIET: Duration = Duration::from_micros(100);

/// The grant of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    /// The server sent something since the grant.
    seen: bool,
    /// When the last frame was granted.
    granted_at: Instant,
    /// Bytes granted and not seen.
    pub(super) reserved: u64,
    /// Since when an acknowledgment is kept back.
    pub(super) token_since: Instant,
}

impl Credit {
    /// Nothing was granted.
    pub(super) const fn new() -> Self {
        Self {
            seen: false,
            granted_at: Instant::ZERO,
            reserved: 0,
            token_since: Instant::ZERO,
        }
    }

    /// The server sent `bytes` of new payload.
    pub(super) fn on_data(&mut self, bytes: u32) {
        self.reserved = self.reserved.saturating_sub(u64::from(bytes));
        self.seen = true;
    }

    /// Keeps one segment's acknowledgment back. `sacked`: the ACK has SACK blocks, which a copy must not repeat.
    pub(super) fn on_ack<P: PacketView + Clone>(
        c: &Connection,
        told: &mut Told<P>,
        mut packet: P,
        progress: Progress,
        sacked: bool,
    ) -> Verdict<P> {
        if !sacked {
            told.template = Some(packet.clone());
        }
        let before = (told.number, told.field);
        if c.a_max - told.number > c.mss {
            told.number = SeqNum(c.a_max.0.wrapping_sub(c.mss));
        }
        if told.phase == Phase::Open {
            told.edge = c.ue_edge;
        }

        let field = Told::<P>::field_for(c, told.number, told.edge, true);
        if before == (told.number, field) && (progress.advances || progress.moves) {
            // It would look like a duplicate and says nothing that a later one will not say.
            return Verdict::Hold;
        }
        told.field = field;
        packet.set_tcp_ack(told.number);
        packet.set_tcp_window(field);
        Verdict::Forward(packet)
    }

    /// Admits a frame of `frame` bytes; `early` where none is known to be there, so that nothing is reserved for it. False
    /// where no ACK can be copied now.
    pub(super) fn grant<P: PacketView + Clone>(
        &mut self,
        now: Instant,
        c: &Connection,
        told: &mut Told<P>,
        frame: u64,
        early: bool,
        out: &mut VecDeque<(Direction, P)>,
    ) -> bool {
        // A quarter more than predicted, so that the sender's own window still grows (it must be limited by it).
        let edge = c.snd_max + bytes32(frame + frame / 4);
        if !told.emit(c, told.number, edge, false, out) {
            return false;
        }
        told.phase = Phase::Granted;
        (self.seen, self.granted_at) = (false, now);
        self.reserved = if early {
            0
        } else {
            frame.min(u64::from(c.room(told.edge)))
        };
        true
    }

    /// Does what is due.
    pub(super) fn on_timer<P: PacketView + Clone>(
        &mut self,
        now: Instant,
        c: &Connection,
        told: &mut Told<P>,
        out: &mut VecDeque<(Direction, P)>,
    ) {
        if self.frame_end(c, told).is_some_and(|t| t <= now) {
            self.seen = false;
            self.reserved = 0;
            let spent = told.phase == Phase::Granted && c.room(told.edge) <= c.mss;
            if spent || (told.keeps(c) && told.emit(c, c.a_max, c.snd_max + c.mss, true, out)) {
                told.phase = Phase::Closed;
            }
            // Without a token the edge cannot move left: what is left of the grant stays the server's to use, and is
            // not reserved, for it may be used never.
        }

        if self.unused(c).is_some_and(|t| t <= now) {
            self.reserved = 0;
        }

        if self.token_end(c, told).is_some_and(|t| t <= now) {
            self.token_since = now;
            told.emit(c, c.a_max, told.edge, true, out);
        }
    }

    /// When [`Credit::on_timer`] is due.
    pub(super) fn deadline<P: PacketView + Clone>(
        &self,
        c: &Connection,
        told: &Told<P>,
    ) -> Option<Instant> {
        let due = [
            self.frame_end(c, told),
            self.unused(c),
            self.token_end(c, told),
        ];
        due.into_iter().flatten().min()
    }

    fn frame_end<P: PacketView + Clone>(&self, c: &Connection, told: &Told<P>) -> Option<Instant> {
        (self.seen && told.phase != Phase::Closed).then(|| c.last_data + c.rtt_n6() + FRAME_END)
    }

    /// When the rest of a reservation is given up: a frame smaller than predicted must not keep the next one waiting.
    fn unused(&self, c: &Connection) -> Option<Instant> {
        (self.reserved > 0).then(|| {
            if self.seen {
                c.last_data + QUIET
            } else {
                self.granted_at + c.rtt_n6() + UNUSED
            }
        })
    }

    fn token_end<P: PacketView + Clone>(&self, c: &Connection, told: &Told<P>) -> Option<Instant> {
        told.keeps(c).then(|| self.token_since + TOKEN_AGE)
    }
}
