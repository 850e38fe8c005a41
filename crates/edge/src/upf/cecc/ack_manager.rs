//! The ACK manager: what a TCP server is told of its window, and when.
//!
//! Two ways: `credit` moves only the right edge of the window, with one segment's acknowledgment kept back as the
//! token that lets the edge move left again; `paper` keeps acknowledgments back and hands them out two at a time.
//! Either works because a sender accepts a smaller window only with an ACK that advances (RFC 9293, 3.10.7.4; Linux,
//! `tcp_may_update_window`).

use std::collections::VecDeque;

use slackwater_core::{
    Direction, Duration, Instant, PacketView, SeqNum, SynOptions, TcpFlags, TcpHeader,
};

use crate::Verdict;

/// The urgent flag (RFC 9293, 3.1).
const URG: TcpFlags = TcpFlags(0x020);
/// Silence after which a frame has ended, beside the round trip to the server.
const FRAME_END: Duration = Duration::from_micros(300);
/// How long the token may be kept: below the tail loss probe's least timeout (RFC 8985, 7.2).
const TOKEN_AGE: Duration = Duration::from_millis(20);
/// Segments that `paper` keeps as ACK numbers for the next frames; a study found 24 to 60 equal.
const RESERVE: u32 = 40;
/// Answers to a pair of ACKs, one after the other and no larger than what the pair acknowledged, after which the server
/// is taken to be limited by its congestion window: then each number kept back costs rate.
const CLOCKED: u8 = 4;
/// Age at which that reserve is given up, unless two frames take longer.
const RESERVE_AGE: Duration = Duration::from_millis(40);
/// Grant or reservation that the server did not use.
const UNUSED: Duration = Duration::from_millis(2);
/// Silence within a frame after which what is left of its reservation is not expected any more.
const QUIET: Duration = Duration::from_micros(100);
/// RFC 9293, 3.7.1: where no option says otherwise.
const DEFAULT_MSS: u16 = 536;
/// The time stamp option with its padding (RFC 7323, appendix A).
const STAMPS: u32 = 12;

/// What the server may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// All that the UE allows.
    Open,
    /// A frame was granted.
    Granted,
    /// One segment, by which it knocks.
    Closed,
}

/// How windows are governed at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Govern {
    /// Not at all.
    No,
    Credit,
    Paper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    Ready,
    Bypass,
}

/// One TCP connection whose sender is in the network.
#[derive(Clone, Debug)]
pub(super) struct Tcp<P> {
    stage: Stage,
    phase: Phase,
    scale: u8,
    dup: u8,
    /// Answers of the server that were no larger than what was acknowledged, in a row (`paper`).
    clocked: u8,
    /// The server sent something since the grant.
    seen: bool,
    template_valid: bool,
    mss: u32,
    field: u16,
    up_syn: Option<SynOptions>,
    down_syn: Option<SynOptions>,
    snd_max: SeqNum,
    a_max: SeqNum,
    a_rel: SeqNum,
    ue_edge: SeqNum,
    edge: SeqNum,
    recover: Option<SeqNum>,
    template: Option<P>,
    syn_at: Instant,
    last_data: Instant,
    granted_at: Instant,
    token_since: Instant,
    advanced_at: Instant,
    rtt_n6: Option<Duration>,
    reserved: u64,
    /// ACKs that were made here: copies with another number or window.
    made: u64,
    /// Bytes that the last pair of ACKs acknowledged, and bytes that the server sent since (`paper`).
    pair: (u32, u32),
}

/// What a downlink segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Down {
    /// New payload.
    Fresh,
    /// Payload that was sent before.
    Again,
    /// No payload.
    Empty,
}

impl<P: PacketView + Clone> Tcp<P> {
    /// A connection of which the first packet seen is a SYN or not.
    pub(super) fn new(syn: bool) -> Self {
        Self {
            stage: if syn { Stage::Opening } else { Stage::Bypass },
            phase: Phase::Open,
            scale: 0,
            dup: 0,
            clocked: 0,
            seen: false,
            template_valid: false,
            mss: u32::from(DEFAULT_MSS),
            field: 0,
            up_syn: None,
            down_syn: None,
            snd_max: SeqNum(0),
            a_max: SeqNum(0),
            a_rel: SeqNum(0),
            ue_edge: SeqNum(0),
            edge: SeqNum(0),
            recover: None,
            template: None,
            syn_at: Instant::ZERO,
            last_data: Instant::ZERO,
            granted_at: Instant::ZERO,
            token_since: Instant::ZERO,
            advanced_at: Instant::ZERO,
            rtt_n6: None,
            reserved: 0,
            made: 0,
            pair: (0, 0),
        }
    }

    /// A segment of the server.
    pub(super) fn on_down(&mut self, now: Instant, h: &TcpHeader, syn: Option<SynOptions>) -> Down {
        if h.flags.contains(TcpFlags::SYN) {
            self.down_syn = syn;
            self.snd_max = h.seq + 1;
            if self.up_syn.is_some() {
                self.rtt_n6 = Some(now.since(self.syn_at));
            } else {
                self.syn_at = now;
            }
            return Down::Empty;
        }
        if h.flags.contains(TcpFlags::RST) {
            self.stage = Stage::Bypass;
        }
        let fin = u32::from(h.flags.contains(TcpFlags::FIN));
        let end = h.seq + h.payload + fin;
        if h.payload + fin == 0 {
            return Down::Empty;
        }
        if self.stage == Stage::Bypass {
            let fresh = end.gt(self.snd_max) || self.snd_max == SeqNum(0);
            self.snd_max = if fresh { end } else { self.snd_max };
            return if fresh { Down::Fresh } else { Down::Again };
        }
        if end.le(self.snd_max) {
            // Also a probe of an idle connection, which repeats a byte that is acknowledged.
            if self.a_max.lt(self.snd_max) && self.recover.is_none() {
                self.recover = Some(self.snd_max);
            }
            return Down::Again;
        }
        let fresh = end - self.snd_max;
        self.snd_max = end;
        self.mss = self.mss.max(h.payload.min(u32::from(u16::MAX)));
        self.reserved = self.reserved.saturating_sub(u64::from(fresh));
        self.pair.1 = self.pair.1.saturating_add(fresh);
        self.last_data = now;
        self.seen = true;
        Down::Fresh
    }

    /// A segment of the UE. What must go before it is put into `out`.
    pub(super) fn on_up(
        &mut self,
        now: Instant,
        mut packet: P,
        h: &TcpHeader,
        govern: Govern,
        out: &mut VecDeque<(Direction, P)>,
    ) -> Verdict<P> {
        if h.flags.contains(TcpFlags::SYN) {
            self.up_syn = packet.syn_options();
            if self.down_syn.is_none() {
                self.syn_at = now;
            }
            return Verdict::Forward(packet);
        }
        if h.flags.0 & (TcpFlags::FIN.0 | TcpFlags::RST.0 | URG.0) != 0 {
            self.stage = Stage::Bypass;
            self.phase = Phase::Open;
            self.reserved = 0;
        }
        if self.stage == Stage::Opening && h.flags.contains(TcpFlags::ACK) {
            self.establish(h);
        }
        if self.stage != Stage::Ready || !h.flags.contains(TcpFlags::ACK) || h.ack.lt(self.a_rel) {
            return Verdict::Forward(packet);
        }
        let pure = h.payload == 0;
        let advances = h.ack.gt(self.a_max);
        let edge = h.ack + (u32::from(h.window) << self.scale);
        let moves = edge != self.ue_edge;
        if advances {
            if self.a_rel == self.a_max {
                self.token_since = now;
            }
            (self.a_max, self.advanced_at, self.dup) = (h.ack, now, 0);
            self.snd_max = self.snd_max.max(h.ack);
        } else if pure && !moves && h.ack == self.a_max && self.snd_max.gt(self.a_max) {
            self.dup = self.dup.saturating_add(1);
        }
        if h.ack == self.a_max {
            self.ue_edge = edge;
        }
        let sack = packet.sack();
        let hole = sack.iter().any(|b| b.end.gt(self.a_max));
        if self.recover.is_none() && (hole || self.dup >= 2) {
            self.recover = Some(self.snd_max);
            // What was kept back goes first, so that the duplicate is one.
            self.open(out);
        }
        if govern == Govern::No || h.window == 0 || !pure || h.ack.lt(self.a_max) {
            // A segment with payload carries a sequence number that later window updates would have to follow and
            // cannot (their number is that of the ACK they copy): it opens the window instead.
            self.recover = self.recover.filter(|&r| self.a_max.lt(r));
            self.template_valid =
                pure && govern != Govern::No && h.window != 0 && h.ack == self.a_max;
            if self.template_valid {
                self.template = Some(packet.clone());
            }
            self.a_rel = h.ack;
            (self.field, self.edge, self.phase) = (h.window, edge, Phase::Open);
            self.reserved = 0;
            return Verdict::Forward(packet);
        }
        if let Some(target) = self.recover {
            // The window stays as it was told last: a changed one would turn a duplicate into an update.
            if self.phase != Phase::Open {
                self.open(out);
            }
            let field = self.field.min(h.window).max(1);
            (self.field, self.a_rel) = (field, self.a_max);
            self.edge = self.a_max + (u32::from(field) << self.scale);
            if self.a_max.ge(target) {
                self.recover = None;
            }
            if sack.is_empty() {
                (self.template, self.template_valid) = (Some(packet.clone()), true);
            }
            packet.set_tcp_window(field);
            return Verdict::Forward(packet);
        }
        if govern == Govern::Paper {
            if !advances && !moves {
                // A duplicate stays one.
                packet.set_tcp_ack(self.a_rel);
                packet.set_tcp_window(self.field);
                return Verdict::Forward(packet);
            }
            (self.template, self.template_valid) = (Some(packet), true);
            return Verdict::Hold;
        }
        if sack.is_empty() {
            (self.template, self.template_valid) = (Some(packet.clone()), true);
        }
        // Keep one segment's acknowledgment back.
        let before = (self.a_rel, self.field);
        if self.a_max - self.a_rel > self.mss {
            self.a_rel = SeqNum(self.a_max.0.wrapping_sub(self.mss));
        }
        if self.phase == Phase::Open {
            self.edge = self.ue_edge;
        }
        let field = self.field_for(self.a_rel, self.edge, true);
        if before == (self.a_rel, field) && (advances || moves) {
            // It would look like a duplicate and says nothing that a later one will not say.
            return Verdict::Hold;
        }
        self.field = field;
        packet.set_tcp_ack(self.a_rel);
        packet.set_tcp_window(field);
        Verdict::Forward(packet)
    }

    /// The first ACK of the UE after both SYNs.
    fn establish(&mut self, h: &TcpHeader) {
        let (Some(up), Some(down)) = (self.up_syn, self.down_syn) else {
            self.stage = Stage::Bypass;
            return;
        };
        // Scaling holds only where both offered it (RFC 7323, 2.2).
        self.scale = match (up.window_scale, down.window_scale) {
            (Some(scale), Some(_)) => scale,
            _ => 0,
        };
        // Time stamps take their room from each segment (RFC 6691, 2): numbers are split where segments end.
        let stamps = if h.timestamps.is_some() { STAMPS } else { 0 };
        self.mss = u32::from(up.mss.unwrap_or(DEFAULT_MSS))
            .saturating_sub(stamps)
            .max(1);
        // The window that means "one segment" is rounded up to the scale's unit; a unit larger than a segment would let a
        // server send several. Linux 6.18 offers 10 (its tcp_rmem reaches 32 MiB): 1 KiB, less than a usual segment.
        if 1 << self.scale > self.mss {
            self.stage = Stage::Bypass;
            return;
        }
        (self.a_max, self.a_rel) = (h.ack, h.ack);
        self.snd_max = self.snd_max.max(h.ack);
        self.ue_edge = h.ack + (u32::from(h.window) << self.scale);
        (self.edge, self.field) = (self.ue_edge, h.window);
        self.stage = Stage::Ready;
    }

    /// The window field that puts the right edge at `edge`, never beyond the UE's own; rounded up where a segment must
    /// fit, which costs less than one unit.
    fn field_for(&self, ack: SeqNum, edge: SeqNum, up: bool) -> u16 {
        let wanted = if edge.gt(ack) { edge - ack } else { 0 };
        let own = if self.ue_edge.gt(ack) {
            (self.ue_edge - ack) >> self.scale
        } else {
            0
        };
        let unit = 1 << self.scale;
        let units = if up {
            wanted.div_ceil(unit)
        } else {
            wanted >> self.scale
        };
        // Zero would arm the persist timer (RFC 9293, 3.8.6.1); the UE did not say zero.
        units.min(own).clamp(1, u32::from(u16::MAX)) as u16
    }

    /// Sends a copy of the newest ACK with another number and edge; false where that is impossible or says nothing.
    fn emit(
        &mut self,
        ack: SeqNum,
        edge: SeqNum,
        up: bool,
        out: &mut VecDeque<(Direction, P)>,
    ) -> bool {
        if !self.template_valid {
            return false;
        }
        let field = self.field_for(ack, edge, up);
        if ack == self.a_rel && field == self.field {
            self.edge = edge;
            // The same ACK twice is a duplicate, the sign of a loss.
            return true;
        }
        let Some(mut packet) = self.template.clone() else {
            return false;
        };
        packet.set_tcp_ack(ack);
        packet.set_tcp_window(field);
        (self.a_rel, self.field, self.edge) = (ack, field, edge);
        self.made += 1;
        out.push_back((Direction::Up, packet));
        true
    }

    /// ACKs made here so far.
    pub(super) const fn made(&self) -> u64 {
        self.made
    }

    /// Gives the server all that the UE allows.
    pub(super) fn open(&mut self, out: &mut VecDeque<(Direction, P)>) {
        if self.stage == Stage::Ready && (self.phase != Phase::Open || self.a_rel != self.a_max) {
            self.emit(self.a_max, self.ue_edge, false, out);
        }
        self.phase = Phase::Open;
        self.reserved = 0;
    }

    /// True where the server may send less than a segment: it knocked.
    pub(super) fn demands(&self) -> bool {
        self.stage == Stage::Ready
            && self.phase != Phase::Open
            && self.recover.is_none()
            && self.room() < self.mss
    }

    fn room(&self) -> u32 {
        if self.edge.gt(self.snd_max) {
            self.edge - self.snd_max
        } else {
            0
        }
    }

    /// `credit`: admits a frame of `frame` bytes; `early` where none is known to be there, so that nothing is reserved
    /// for it. False where no ACK can be copied now.
    pub(super) fn grant(
        &mut self,
        now: Instant,
        frame: u64,
        early: bool,
        out: &mut VecDeque<(Direction, P)>,
    ) -> bool {
        // A quarter more than predicted, so that the sender's own window still grows (it must be limited by it).
        let edge = self.snd_max + bytes32(frame + frame / 4);
        if !self.emit(self.a_rel, edge, false, out) {
            return false;
        }
        (self.phase, self.seen, self.granted_at) = (Phase::Granted, false, now);
        self.reserved = if early {
            0
        } else {
            frame.min(u64::from(self.room()))
        };
        true
    }

    /// `credit`: does what is due.
    pub(super) fn on_timer(&mut self, now: Instant, out: &mut VecDeque<(Direction, P)>) {
        if self.stage != Stage::Ready || self.recover.is_some() {
            return;
        }
        if self.frame_end().is_some_and(|t| t <= now) {
            self.seen = false;
            self.reserved = 0;
            if self.phase == Phase::Granted && self.room() <= self.mss {
                self.phase = Phase::Closed;
            } else if self.a_rel != self.a_max && self.template_valid {
                let edge = self.snd_max + self.mss;
                if self.emit(self.a_max, edge, true, out) {
                    self.phase = Phase::Closed;
                }
            }
            // Without a token the edge cannot move left: what is left of the grant stays the server's to use, and is
            // not reserved, for it may be used never.
        }
        if self.unused().is_some_and(|t| t <= now) {
            self.reserved = 0;
        }
        if self.token_end().is_some_and(|t| t <= now) {
            self.token_since = now;
            let edge = self.edge;
            self.emit(self.a_max, edge, true, out);
        }
    }

    fn frame_end(&self) -> Option<Instant> {
        (self.seen && self.phase != Phase::Closed)
            .then(|| self.last_data + self.rtt_n6() + FRAME_END)
    }

    /// When the rest of a reservation is given up: a frame smaller than predicted must not keep the next one waiting.
    fn unused(&self) -> Option<Instant> {
        (self.reserved > 0).then(|| {
            if self.seen {
                self.last_data + QUIET
            } else {
                self.granted_at + self.rtt_n6() + UNUSED
            }
        })
    }

    fn token_end(&self) -> Option<Instant> {
        (self.a_rel != self.a_max).then(|| self.token_since + TOKEN_AGE)
    }

    /// `credit`: when [`Tcp::on_timer`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.stage != Stage::Ready || self.recover.is_some() {
            return None;
        }
        [self.frame_end(), self.unused(), self.token_end()]
            .into_iter()
            .flatten()
            .min()
    }

    /// `paper`: true where ACK numbers wait, so that the flow belongs to the set N.
    pub(super) fn has_acks(&self) -> bool {
        self.stage == Stage::Ready
            && self.recover.is_none()
            && self.template_valid
            && self.a_max.gt(self.a_rel)
    }

    /// `paper`: the flow is admitted: one ACK with room for a frame, one that closes the window again.
    pub(super) fn two_acks(
        &mut self,
        now: Instant,
        frame: u64,
        interval: Duration,
        out: &mut VecDeque<(Direction, P)>,
    ) {
        let spare = self.a_max - self.a_rel;
        let (told, sent) = core::mem::take(&mut self.pair);
        if sent > told + self.mss {
            self.clocked = 0;
        } else if sent > 0 {
            self.clocked = (self.clocked + 1).min(CLOCKED);
        }
        self.pair.0 = spare;
        if self.clocked >= CLOCKED {
            // The window does not hold this server back. Whatever it is told less than all that the UE allows may begin to,
            // and then its bursts, and `FrameSize` after them, are what it is told: two segments at a time, for ever
            // (seen with a Linux server whose frames had piled up).
            let (last, all) = (self.a_max, self.ue_edge);
            self.emit(last, all, false, out);
            self.phase = Phase::Open;
            return;
        }
        let old = now.since(self.advanced_at) > (interval * 2).max(RESERVE_AGE);
        // In flight and what the next frame needs: without the former, bytes not yet acknowledged would use it up.
        let room = bytes32(frame + frame / 4);
        let edge = self.snd_max + room;
        if spare < 3 * self.mss || old {
            // Closing would spend the last number, and a closed flow that sends nothing earns no new one.
            let last = self.a_max;
            self.emit(last, edge, false, out);
            self.phase = Phase::Open;
            return;
        }
        let keep = (RESERVE * self.mss).min(spare - 2 * self.mss);
        self.pair.0 = spare - keep;
        let second = SeqNum(self.a_max.0.wrapping_sub(keep));
        let first = SeqNum(second.0.wrapping_sub(self.mss));
        self.emit(first, edge, false, out);
        self.emit(second, second + self.mss, true, out);
        self.phase = Phase::Closed;
    }

    /// `paper`: the server's congestion window rather than its frames says how much it sends.
    pub(super) const fn clocked(&self) -> bool {
        self.clocked >= CLOCKED
    }

    /// True once both SYNs were seen and until something comes that cannot be handled.
    pub(super) fn ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// True while losses are repaired.
    pub(super) const fn recovering(&self) -> bool {
        self.recover.is_some()
    }

    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    /// Bytes granted and not seen.
    pub(super) const fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Round trip to the server, from the handshake.
    pub(super) fn rtt_n6(&self) -> Duration {
        self.rtt_n6.unwrap_or(Duration::from_micros(200))
    }
}

/// A window never exceeds 2^30 bytes (RFC 7323, 2.3).
fn bytes32(bytes: u64) -> u32 {
    bytes.min(1 << 30) as u32
}
