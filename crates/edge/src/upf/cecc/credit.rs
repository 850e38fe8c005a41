//! `credit`: frames that are granted, and grants ahead of them.

use slackwater_core::{Instant, PacketView};

use super::Cecc;
use super::ack_manager::Phase;

impl<P: PacketView + Clone> Cecc<P> {
    /// `credit`: admits the frame of `k`.
    pub(super) fn grant(&mut self, now: Instant, k: u32) {
        let frame = self.frame_size(k);
        self.leave(k);
        self.flows[k].frames.resume(now);
        if let Some(tcp) = &mut self.flows[k].tcp {
            if !tcp.grant(now, frame, false, &mut self.out) {
                // No ACK to copy: nothing can be told, so the flow must not count as waiting.
                return;
            }
            self.stats.grants += 1;
        }
        self.settle(k);
        self.arm(k);
    }

    /// `credit`: where nothing is queued a slot would go empty while the first frame knocks. The flows whose turn it is
    /// get their grant before they ask, as far as the budget goes; nothing is reserved for them.
    pub(super) fn grant_ahead(&mut self, now: Instant) {
        let arrive = now + self.rtt_n6 + self.radio.wired();
        let budget = self.radio.budget();
        while let Some(&(_, k)) = self.idle.first() {
            let promised: u64 = self.ahead.iter().map(|a| a.1).sum();
            if self.radio.backlog(now, arrive) + promised > budget {
                return;
            }
            let frame = self.frame_size(k);
            let ue = self.flows[k].ue;
            let granted = self.flows[k]
                .tcp
                .as_mut()
                .is_some_and(|t| t.grant(now, frame, true, &mut self.out));
            if !granted {
                return;
            }
            self.stats.ahead += 1;
            self.ahead.push((k, self.radio.air(ue, frame).max(1)));
            self.settle(k);
            self.arm(k);
        }
    }

    /// Takes what `k` has reserved into account.
    pub(super) fn settle(&mut self, k: u32) {
        let flow = &mut self.flows[k];
        let bytes = flow.tcp.as_ref().map_or(0, |t| t.reserved());
        let air = self.radio.air(flow.ue, bytes);
        self.radio.reserved = self.radio.reserved - flow.reserved + air;
        flow.reserved = air;
        let closed = flow
            .tcp
            .as_ref()
            .is_some_and(|t| t.phase() == Phase::Closed && t.ready() && !t.demands());
        let idle = (closed && flow.place.is_none()).then_some(flow.base);
        if idle != flow.idle {
            if let Some(base) = flow.idle {
                self.idle.remove(&(base, k));
            }
            if let Some(base) = idle {
                self.idle.insert((base, k));
            }
            flow.idle = idle;
        }
    }

    pub(super) fn arm(&mut self, k: u32) {
        let flow = &mut self.flows[k];
        let due = flow.tcp.as_ref().and_then(|t| t.deadline());
        if flow.timer != due {
            if let Some(old) = flow.timer {
                self.timers.remove(&(old, k));
            }
            if let Some(due) = due {
                self.timers.insert((due, k));
            }
            flow.timer = due;
        }
    }
}
