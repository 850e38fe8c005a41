//! Which packets wait at the UPF, and when they go.

use slackwater_core::{Direction, Duration, Instant, PacketView};

use super::Cecc;
use super::config::Schedule;
use super::flow::Style;
use crate::Verdict;

impl<P: PacketView + Clone> Cecc<P> {
    pub(super) fn hold(&mut self, now: Instant, k: u32, packet: P, style: Style) -> Verdict<P> {
        let flow = &mut self.flows[k];
        let (ue, idle) = (flow.ue, flow.fifo.head().is_none());
        let len = u64::from(packet.len());
        if idle {
            let free = match self.schedule() {
                Schedule::Edf if self.goes_with_a_tie(k) => true,
                Schedule::Edf => {
                    !self.in_turns(now) && self.waiting.is_empty() && self.fits(now, Duration::ZERO)
                }
                Schedule::Alg1 => now < self.flows[k].admitted,
            };
            if free || self.small(k) || self.held + len > self.config.memory.get() {
                let flow = &mut self.flows[k];
                let began = flow.frames.started();
                flow.began = began;
                self.join(began);
                return self.pass(now, Direction::Down, ue, packet, false);
            }
        }
        let flow = &mut self.flows[k];
        let frame = flow.frames.started();
        flow.fifo.push(packet, frame);
        self.held += len;
        self.stats.held += 1;
        if style != Style::Hold {
            // The flow is not governed any more: what waits goes, in order, with the packet.
            self.empty(now, k);
            return Verdict::Hold;
        }
        if idle {
            self.wait(k, frame);
            self.hasten(now);
            self.due |= self.schedule() == Schedule::Alg1;
        }
        // A flow may fall behind by two frames; holding more would delay what it sends for good.
        let flow = &mut self.flows[k];
        let limit = (2 * flow.frames.size()).max(128 * 1024);
        while self.flows[k].fifo.bytes() > limit || self.held > self.config.memory.get() {
            self.stats.overdue += 1;
            if !self.release_one(now, k) {
                break;
            }
        }
        let first = self.waiting.first().is_some_and(|w| w.2 == k);
        if self.schedule() == Schedule::Edf && first && !self.in_turns(now) {
            self.edf(now);
        }
        self.need_tick(now);
        Verdict::Hold
    }

    /// True for flows too small to matter.
    pub(super) fn small(&mut self, k: u32) -> bool {
        let small = self.config.small_frame.get();
        let frames = &mut self.flows[k].frames;
        u64::from(frames.bytes()) <= small && (!frames.known() || frames.size() <= small)
    }

    /// Hands out the first held packet of `k`; false where there is none.
    pub(super) fn release_one(&mut self, now: Instant, k: u32) -> bool {
        let flow = &mut self.flows[k];
        let ue = flow.ue;
        let Some(held) = flow.fifo.pop() else {
            return false;
        };
        let place = flow.fifo.head();
        flow.began = held.frame;
        let len = u64::from(held.packet.len());
        self.held -= len;
        self.count_late(now, k, held.frame, len);
        self.radio.sent(now, ue, len, false);
        self.out.push_back((Direction::Down, held.packet));
        if self.flows[k].place.map(|p| p.1) != place {
            self.leave(k);
            if let Some(place) = place {
                self.wait(k, place);
            }
        }
        true
    }

    pub(super) fn empty(&mut self, now: Instant, k: u32) {
        while self.release_one(now, k) {}
    }
}
