//! What happens to a packet on its way down.

use slackwater_core::record::DropReason;
use slackwater_core::{Duration, Ecn, Instant, PacketView, Rate, TcpHeader};
use slackwater_queue::{Law as _, Outcome, PacketMeta, Verdict as LawVerdict, admit};

use super::super::config::{Mode, VaqmConfig};
use super::super::fair;
use super::super::flow::Observer;
use super::super::path::MTU;
use super::{Gate, Instance, Shared};
use crate::Verdict;

/// A session silent for so long starts over: the radio may sleep (DRX) or have released the UE.
const IDLE: Duration = Duration::from_secs(1);

impl<P: PacketView> Instance<P> {
    pub(in crate::upf::vaqm) fn on_down(
        &mut self,
        now: Instant,
        mut packet: P,
        cx: &mut Shared<'_, P>,
    ) -> Verdict<P> {
        let len = packet.len();
        let (slot, tcp) = self.arrive(now, &packet, cx.config);
        if self.unresponsive > 0 && !self.within_police(now, slot, len, cx.config) {
            cx.stats.policed += 1;
            return Verdict::Drop(packet);
        }
        self.evaluate_if_due(now, cx.config);
        // An ACK of the UE's upload is not in flight: what is need not be answered before it goes. And the packet that leaves where
        // no ACK comes up must be one that is answered.
        let counts = tcp.as_ref().is_none_or(|tcp| tcp.payload > 0);
        if !counts
            && self.gate(now) == Gate::Flight
            && self.flows.get(slot).queue.view().packets == 0
        {
            self.leave(now, slot, tcp.as_ref(), &packet);
            cx.stats.passed += 1;
            return Verdict::Forward(packet);
        }
        if self.fair.is_empty() && self.gate(now) == Gate::Open {
            let direct = self.mode(cx.config) == Mode::Direct;
            let flow = self.flows.get_mut(slot);
            if let Some(law) = &mut flow.law {
                // The law would have found its queue empty.
                law.on_empty(now);
            }
            if !direct {
                flow.stuck_since = None;
            }
            let signal = self.signal_without_queue(now, slot, tcp.as_ref(), &packet, cx);
            let outcome = admit(signal, &mut packet);
            if outcome == Outcome::Dropped {
                cx.stats.dropped += 1;
                return Verdict::Drop(packet);
            }

            self.leave(now, slot, tcp.as_ref(), &packet);
            cx.stats.passed += 1;
            if outcome == Outcome::Marked {
                cx.stats.marked += 1;
                return Verdict::Mark(packet);
            }
            return Verdict::Forward(packet);
        }
        self.queue(now, slot, packet, cx);
        self.service(now, cx);
        Verdict::Hold
    }

    /// A downlink packet is here: who it belongs to, and what it shows.
    pub(super) fn arrive<Q: PacketView>(
        &mut self,
        now: Instant,
        packet: &Q,
        config: &VaqmConfig,
    ) -> (u32, Option<TcpHeader>) {
        let len = packet.len();
        let tcp = packet.tcp();
        self.wake(now);
        let slot = self.flows.find_or_insert(now, packet.flow_key());
        if matches!(config.mode, Mode::Literal | Mode::Drain) {
            let span = self.ingress_span();
            self.ingress.add(now, u64::from(len), span);
        }

        let flow = self.flows.get_mut(slot);
        flow.observe_as(tcp.as_ref(), packet);
        flow.last_down = now;
        flow.last_seen = now;
        flow.arrivals.add(now, u64::from(len));
        if let (Observer::Tcp(_, server), Some(tcp)) = (&mut flow.observer, &tcp) {
            server.on_downlink(now, tcp);
        }

        if packet.ecn() == Ecn::Ect1 {
            self.last_l4s = Some(now);
        } else {
            self.last_classic = Some(now);
        }
        (slot, tcp)
    }

    pub(super) fn wake(&mut self, now: Instant) {
        if now.since(self.last_active) > IDLE {
            self.after_idle = true;
            self.restart_variant(now);
        }
        self.last_active = now;
    }

    pub(super) fn queue(&mut self, now: Instant, slot: u32, mut packet: P, cx: &mut Shared<'_, P>) {
        let config = cx.config;
        if self.fair.is_empty() {
            self.last_push = now;
        }

        // Laws that decide on arrival (PIE, RFC 8033, 4.1; a ramp of the head's age) do so here.
        let meta = PacketMeta::of(&packet);
        let verdict = fair::arrives(now, &mut self.flows, slot, meta, &config.module);
        if verdict != LawVerdict::Pass {
            let outcome = admit(verdict, &mut packet);
            if outcome == Outcome::Dropped {
                cx.stats.dropped += 1;
                cx.dropped.push_back((packet, DropReason::Law));
                return;
            }
            cx.stats.marked += u64::from(outcome == Outcome::Marked);
        }

        let before = self.fair.total().bytes.get();
        let quantum = i64::from(config.quantum.max(1));
        self.fair.push(now, &mut self.flows, slot, packet, quantum);
        cx.stats.held += 1;
        let sight_rate = self
            .delivered_max
            .peek()
            .unwrap_or(0)
            .max(self.session.rate().as_bps());
        let second = Rate::from_bps(sight_rate)
            .bytes_in(Duration::from_secs(1))
            .get();
        let room = config.memory.get().min(second.max(64 * MTU));
        let over_all =
            *cx.held + self.fair.total().bytes.get() - before > config.memory_total.get();
        if self.fair.total().bytes.get() > room || over_all {
            let waiting = cx.dropped.len();
            fair::drop_fattest(&mut self.fair, &mut self.flows, cx.dropped);
            cx.stats.dropped += (cx.dropped.len() - waiting) as u64;
        }
        *cx.held = *cx.held + self.fair.total().bytes.get() - before;
    }
}
