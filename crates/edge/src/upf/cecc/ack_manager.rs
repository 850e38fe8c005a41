//! The ACK manager: what a TCP server is told of its window, and when.
//!
//! Two ways: [`credit`] moves only the right edge of the window, with one segment's acknowledgment kept back as the
//! token that lets the edge move left again; [`paper`] keeps acknowledgments back and hands them out two at a time.
//! Either works because a sender accepts a smaller window only with an ACK that advances (RFC 9293, 3.10.7.4; Linux,
//! `tcp_may_update_window`).

mod connection;
mod credit;
mod paper;
mod told;

use std::collections::VecDeque;

use slackwater_core::{Direction, Duration, Instant, PacketView, SynOptions, TcpFlags, TcpHeader};

use self::connection::{Connection, Progress, Stage};
use self::credit::Credit;
use self::paper::Paper;
pub(super) use self::told::Phase;
use self::told::Told;
use super::config::Mode;
use crate::Verdict;

/// The urgent flag (RFC 9293, 3.1).
const URG: TcpFlags = TcpFlags(0x020);

/// One TCP connection whose sender is in the network.
#[derive(Clone, Debug)]
pub(super) struct Tcp<P> {
    /// What its two ends show.
    connection: Connection,
    /// What the server was told last.
    told: Told<P>,
    /// How its window is governed.
    way: Way,
}

/// How windows are governed: [`Mode::Credit`] or [`Mode::Paper`].
#[derive(Clone, Copy, Debug)]
enum Way {
    Credit(Credit),
    Paper(Paper),
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
    pub(super) fn new(mode: Mode, syn: bool) -> Self {
        Self {
            connection: Connection::new(syn),
            told: Told::new(),
            way: match mode {
                Mode::Paper => Way::Paper(Paper::default()),
                _ => Way::Credit(Credit::new()),
            },
        }
    }

    /// A segment of the server.
    pub(super) fn on_down(&mut self, now: Instant, h: &TcpHeader, syn: Option<SynOptions>) -> Down {
        let c = &self.connection;
        let before = c.snd_max;
        let told_all = self.told.number == before && self.told.phase == Phase::Open;
        let rested = told_all && now.since(c.advanced_at) > Paper::rest(c.rtt_n6());
        let kind = self.connection.on_down(now, h, syn);
        if kind == Down::Fresh && self.connection.stage != Stage::Bypass {
            let bytes = self.connection.snd_max - before;
            match &mut self.way {
                Way::Credit(credit) => credit.on_data(bytes),
                Way::Paper(paper) => paper.on_data(bytes, rested),
            }
        }
        kind
    }

    /// A segment of the UE; `governed` where its ACKs are changed now. What must go before it is put into `out`.
    pub(super) fn on_up(
        &mut self,
        now: Instant,
        packet: P,
        h: &TcpHeader,
        governed: bool,
        out: &mut VecDeque<(Direction, P)>,
    ) -> Verdict<P> {
        let c = &mut self.connection;
        if h.flags.contains(TcpFlags::SYN) {
            c.on_up_syn(now, packet.syn_options());
            return Verdict::Forward(packet);
        }
        if h.flags.0 & (TcpFlags::FIN.0 | TcpFlags::RST.0 | URG.0) != 0 {
            c.stage = Stage::Bypass;
            self.told.phase = Phase::Open;
            self.way.opened();
        }
        let c = &mut self.connection;
        if c.stage == Stage::Opening && h.flags.contains(TcpFlags::ACK) {
            c.establish(h);
            if c.stage == Stage::Ready {
                (self.told.number, self.told.field) = (h.ack, h.window);
                self.told.edge = c.ue_edge;
            }
        }
        if c.stage != Stage::Ready || !h.flags.contains(TcpFlags::ACK) || h.ack.lt(self.told.number)
        {
            return Verdict::Forward(packet);
        }

        let kept = self.told.keeps(c);
        let progress = c.on_ack(now, h);
        if progress.advances && !kept {
            self.way.keeps_from(now);
        }

        let sack = packet.sack();
        let sacked = !sack.is_empty();
        let hole = sack.iter().any(|b| b.end.gt(c.a_max));
        if c.shows_loss(hole) {
            c.recover = Some(c.snd_max);
            // What was kept back goes first, so that the duplicate is one.
            self.open(out);
        }

        let c = &mut self.connection;
        if !governed || h.window == 0 || !progress.pure || h.ack.lt(c.a_max) {
            return self.pass(packet, h, governed, progress);
        }
        if c.recover.is_some() {
            return self.repair(packet, h, sacked, out);
        }
        match self.way {
            Way::Credit(_) => Credit::on_ack(c, &mut self.told, packet, progress, sacked),
            Way::Paper(_) => Paper::on_ack(&mut self.told, packet, progress),
        }
    }

    /// An ACK that is not governed goes as it is, and opens the window. A segment with payload carries a sequence number
    /// that later window updates would have to follow and cannot (their number is that of the ACK they copy).
    fn pass(&mut self, packet: P, h: &TcpHeader, governed: bool, progress: Progress) -> Verdict<P> {
        let c = &mut self.connection;
        c.recover = c.recover.filter(|&r| c.a_max.lt(r));
        let copied = progress.pure && governed && h.window != 0 && h.ack == c.a_max;
        let template = copied.then(|| packet.clone());
        self.told.pass(h, progress.edge, template);
        self.way.opened();
        Verdict::Forward(packet)
    }

    /// While losses are repaired the window stays as it was told last: a changed one would turn a duplicate into an update.
    fn repair(
        &mut self,
        mut packet: P,
        h: &TcpHeader,
        sacked: bool,
        out: &mut VecDeque<(Direction, P)>,
    ) -> Verdict<P> {
        if self.told.phase != Phase::Open {
            self.open(out);
        }
        let (c, told) = (&mut self.connection, &mut self.told);
        let field = told.field.min(h.window).max(1);
        (told.field, told.number) = (field, c.a_max);
        told.edge = c.a_max + (u32::from(field) << c.scale);
        if c.recover.is_some_and(|target| c.a_max.ge(target)) {
            c.recover = None;
        }
        if !sacked {
            told.template = Some(packet.clone());
        }
        packet.set_tcp_window(field);
        Verdict::Forward(packet)
    }

    /// ACKs made here so far.
    pub(super) const fn made(&self) -> u64 {
        self.told.made
    }

    /// Gives the server all that the UE allows.
    pub(super) fn open(&mut self, out: &mut VecDeque<(Direction, P)>) {
        self.told.open(&self.connection, out);
        self.way.opened();
    }

    /// True where the server may send less than a segment: what it sent shows that more waits.
    pub(super) fn demands(&self) -> bool {
        let c = &self.connection;
        self.ready()
            && self.told.phase != Phase::Open
            && c.recover.is_none()
            && c.room(self.told.edge) < c.mss
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
        let Way::Credit(credit) = &mut self.way else {
            return false;
        };
        let (c, told) = (&self.connection, &mut self.told);
        credit.grant(now, c, told, frame, early, out)
    }

    /// `credit`: does what is due.
    pub(super) fn on_timer(&mut self, now: Instant, out: &mut VecDeque<(Direction, P)>) {
        let c = &self.connection;
        if let Way::Credit(credit) = &mut self.way
            && c.stage == Stage::Ready
            && c.recover.is_none()
        {
            credit.on_timer(now, c, &mut self.told, out);
        }
    }

    /// `credit`: when [`Tcp::on_timer`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let c = &self.connection;
        match &self.way {
            Way::Credit(credit) if c.stage == Stage::Ready && c.recover.is_none() => {
                credit.deadline(c, &self.told)
            }
            _ => None,
        }
    }

    /// `paper`: true where ACK numbers wait, so that the flow belongs to the set N.
    pub(super) fn has_acks(&self) -> bool {
        let c = &self.connection;
        self.ready()
            && c.recover.is_none()
            && self.told.template.is_some()
            && c.a_max.gt(self.told.number)
    }

    /// `paper`: the flow is admitted: one ACK with room for a frame, one that closes the window again.
    pub(super) fn two_acks(
        &mut self,
        now: Instant,
        frame: u64,
        interval: Duration,
        out: &mut VecDeque<(Direction, P)>,
    ) {
        if let Way::Paper(paper) = &mut self.way {
            let (c, told) = (&self.connection, &mut self.told);
            paper.two_acks(now, c, told, frame, interval, out);
        }
    }

    /// `paper`: the server's congestion window rather than its frames says how much it sends.
    pub(super) const fn clocked(&self) -> bool {
        match &self.way {
            Way::Paper(paper) => paper.is_clocked(),
            Way::Credit(_) => false,
        }
    }

    /// `paper`: the server always has data to send.
    pub(super) const fn bulk(&self) -> bool {
        match &self.way {
            Way::Paper(paper) => paper.is_bulk(),
            Way::Credit(_) => false,
        }
    }

    /// True once both SYNs were seen and until something comes that cannot be handled.
    pub(super) fn ready(&self) -> bool {
        self.connection.stage == Stage::Ready
    }

    /// True while losses are repaired.
    pub(super) const fn recovering(&self) -> bool {
        self.connection.recover.is_some()
    }

    /// What the server may do.
    pub(super) const fn phase(&self) -> Phase {
        self.told.phase
    }

    /// `credit`: bytes granted and not seen.
    pub(super) const fn reserved(&self) -> u64 {
        match &self.way {
            Way::Credit(credit) => credit.reserved,
            Way::Paper(_) => 0,
        }
    }

    /// Round trip to the server, from the handshake.
    pub(super) fn rtt_n6(&self) -> Duration {
        self.connection.rtt_n6()
    }
}

impl Way {
    /// The server was given all that the UE allows.
    fn opened(&mut self) {
        if let Self::Credit(credit) = self {
            credit.reserved = 0;
        }
    }

    /// An acknowledgment is kept back from now on.
    fn keeps_from(&mut self, now: Instant) {
        if let Self::Credit(credit) = self {
            credit.token_since = now;
        }
    }
}

/// A window never exceeds 2^30 bytes (RFC 7323, 2.3).
fn bytes32(bytes: u64) -> u32 {
    bytes.min(1 << 30) as u32
}
