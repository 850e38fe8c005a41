//! Packets that come in: whose they are, how they are treated, whether they pass.

use slackwater_core::{Direction, Duration, Instant, PacketView, TcpFlags, UeId};

use super::Cecc;
use super::ack_manager::{Down, Tcp};
use super::config::{Mode, Schedule};
use super::fifo::Fifo;
use super::flow::{Flow, Style};
use super::frames::Frames;
use crate::Verdict;

/// `credit` needs a server near enough that a grant is used in the slot that it was made for, or in the next one: a handshake may have waited
/// for a slot's worth of jitter.
const CREDIT_RTT: Duration = Duration::from_micros(600);
const CREDIT_WIRED: Duration = Duration::from_micros(500);
/// A flow may be forgotten after this long without a packet.
const FORGET: Duration = Duration::from_secs(60);

impl<P: PacketView + Clone> Cecc<P> {
    /// How flow `k` is treated now.
    pub(super) fn style(&self, k: u32, stale: bool) -> Style {
        let flow = &self.flows[k];
        let frames = &flow.frames;
        if stale
            || !self.radio.knows(flow.ue)
            || frames.bulk()
            || self.radio.bulk(self.now, flow.ue)
            || ((self.crowded || self.radio.grid.polled()) && self.schedule() == Schedule::Edf)
            || self
                .radio
                .period()
                .is_some_and(|p| p > self.config.longest_period)
        {
            return Style::Pass;
        }
        let hold = if flow.starts(self.now) {
            Style::Pass
        } else {
            Style::Hold
        };
        let Some(tcp) = &flow.tcp else {
            return hold;
        };
        if !tcp.ready() || tcp.bulk() {
            return Style::Pass;
        }
        if self.config.mode == Mode::Paper {
            return Style::Paper;
        }
        let near = CREDIT_RTT + self.radio.grid.slot();
        let far = tcp.rtt_n6() > near || self.radio.wired() > CREDIT_WIRED;
        if far && self.schedule() == Schedule::Edf {
            hold
        } else if frames.known() {
            Style::Credit
        } else {
            Style::Pass
        }
    }

    /// The flow of a packet; a new one where the packet can begin one.
    pub(super) fn flow_of(
        &mut self,
        direction: Direction,
        ue: UeId,
        packet: &P,
        syn: bool,
    ) -> Option<u32> {
        let (own, other) = (packet.flow_key(), packet.reverse_key());
        let key = u64::from(ue.0) << 32 | u64::from(own.min(other));
        if let Some(k) = self.flows.find(key) {
            return Some(k);
        }
        if direction == Direction::Up && !syn {
            return None;
        }
        let governs = matches!(self.config.mode, Mode::Paper | Mode::Credit);
        let tcp =
            (governs && packet.tcp().is_some()).then(|| Box::new(Tcp::new(self.config.mode, syn)));
        let flow = Flow {
            ue,
            key: if direction == Direction::Down {
                own
            } else {
                other
            },
            seen: self.now,
            frames: Frames::new(),
            fifo: Fifo::new(),
            waits_since: None,
            born: self.now,
            tcp,
            base: self.frames,
            place: None,
            began: Instant::ZERO,
            judged: Instant::ZERO,
            late: 0,
            acks: false,
            listed: None,
            kicked: None,
            chosen: false,
            admitted: Instant::ZERO,
            timer: None,
            reserved: 0,
            idle: None,
        };
        let now = self.now;
        self.flows.insert(key, flow, |f| {
            now.since(f.seen) > FORGET
                && f.place.is_none()
                && f.timer.is_none()
                && f.fifo.head().is_none()
        })
    }

    pub(super) fn on_down(&mut self, now: Instant, ue: UeId, packet: P, stale: bool) -> Verdict<P> {
        let header = packet.tcp();
        let syn = header.is_some_and(|h| h.flags.contains(TcpFlags::SYN));
        let Some(k) = self.flow_of(Direction::Down, ue, &packet, syn) else {
            return self.pass(now, Direction::Down, ue, packet, true);
        };
        let len = packet.len();
        let flow = &mut self.flows[k];
        flow.seen = now;
        let mut kind = Down::Fresh;
        let mut relist = false;
        if let (Some(tcp), Some(h)) = (&mut flow.tcp, &header) {
            let known = tcp.rtt_n6();
            kind = tcp.on_down(now, h, packet.syn_options());
            if syn || tcp.rtt_n6() != known {
                self.rtt_n6 = tcp.rtt_n6();
            }
            if kind == Down::Again && tcp.recovering() && core::mem::take(&mut flow.acks) {
                // `paper`: a repair must not wait for acknowledgments that are kept back here.
                tcp.open(&mut self.out);
                relist = true;
            }
        } else if let Some(h) = &header {
            // Without state of its own a pure ACK or a SYN is no part of a frame.
            if h.payload == 0 {
                kind = Down::Empty;
            }
        }
        if kind == Down::Fresh && flow.frames.on_bytes(now, len) {
            self.frames += 1;
            self.stats.frames += 1;
            flow.base = self.frames;
            flow.late -= flow.late / 64;
            self.ahead.retain(|a| a.0 != k);
            relist = true;
        }
        if relist {
            self.list(k);
        }
        let flow = &mut self.flows[k];
        if flow.stands(now) {
            flow.frames.doubt();
        }
        let style = self.style(k, stale);
        if style == Style::Hold || self.flows[k].fifo.head().is_some() {
            return self.hold(now, k, packet, style);
        }
        let bulk = self.flows[k].frames.bulk();
        if style == Style::Credit {
            self.settle(k);
            self.arm(k);
            let flow = &self.flows[k];
            if flow.tcp.as_ref().is_some_and(|t| t.demands()) && flow.place.is_none() {
                self.wait(k, flow.frames.started());
                self.due = true;
            }
        }
        self.pass(now, Direction::Down, ue, packet, bulk)
    }

    pub(super) fn on_up(&mut self, now: Instant, ue: UeId, packet: P, stale: bool) -> Verdict<P> {
        if matches!(self.config.mode, Mode::Off | Mode::Hold) {
            return Verdict::Forward(packet);
        }
        let Some(h) = packet.tcp() else {
            return Verdict::Forward(packet);
        };
        let syn = h.flags.contains(TcpFlags::SYN);
        let Some(k) = self.flow_of(Direction::Up, ue, &packet, syn) else {
            return Verdict::Forward(packet);
        };
        let style = self.style(k, stale);
        let governed = matches!(style, Style::Credit | Style::Paper);
        let flow = &mut self.flows[k];
        flow.seen = now;
        let Some(tcp) = &mut flow.tcp else {
            return Verdict::Forward(packet);
        };
        let verdict = tcp.on_up(now, packet, &h, governed, &mut self.out);
        if tcp.recovering() || !tcp.ready() {
            self.leave(k);
        }
        match style {
            Style::Hold | Style::Pass => {
                self.governed.remove(&k);
                self.forget_acks(k);
            }
            Style::Credit => {
                self.governed.insert(k);
                self.settle(k);
                self.arm(k);
            }
            Style::Paper => {
                self.governed.insert(k);
                if self.flows[k].tcp.as_ref().is_some_and(|t| t.has_acks()) {
                    self.flows[k].acks = true;
                    self.list(k);
                    // "immediately on an ACK of a blocked flow" would run a cycle for each ACK: the next tick does.
                    self.need_tick(now);
                }
            }
        }
        match verdict {
            // What was kept back goes first.
            Verdict::Forward(packet) if !self.out.is_empty() => {
                self.out.push_back((Direction::Up, packet));
                Verdict::Hold
            }
            verdict => verdict,
        }
    }

    /// Lets a packet go at once.
    pub(super) fn pass(
        &mut self,
        now: Instant,
        dir: Direction,
        ue: UeId,
        packet: P,
        bulk: bool,
    ) -> Verdict<P> {
        self.radio.sent(now, ue, u64::from(packet.len()), bulk);
        if self.out.is_empty() {
            return Verdict::Forward(packet);
        }
        self.out.push_back((dir, packet));
        Verdict::Hold
    }
}
