//! Which signal a packet that leaves carries: L4S marks, coupled signals, its queue's law.

use slackwater_core::{Duration, Ecn, Instant, PacketView, Rate, TcpHeader};
use slackwater_queue::{Law, PacketMeta, Verdict as LawVerdict};

use super::super::config::{Mode, VaqmConfig};
use super::super::fair::{self, Timing};
use super::super::flow::ACTIVE;
use super::super::l4s::{self, CeWatch};
use super::super::modes::{Limit, packet_floor};
use super::{Instance, Shared};

impl<P: PacketView> Instance<P> {
    /// The share of a flow's packets that the radio network wants marked, while its report holds.
    fn reported(&self, now: Instant, slot: u32, cx: &Shared<'_, P>) -> Option<u16> {
        let flow = self.flows.get(slot).named?;
        let (at, per_10k) = cx.congestion.get(&flow)?;
        (now.since(*at) <= cx.config.l4s.report_age).then_some(*per_10k)
    }

    /// The chance of an L4S mark that the radio's side asks for: what is reported, or a ramp over what stands there too
    /// much.
    pub(super) fn radio_chance(&self, now: Instant, slot: u32, cx: &Shared<'_, P>) -> f64 {
        let l4s = &cx.config.l4s;
        if let Some(per_10k) = self.reported(now, slot, cx) {
            return f64::from(per_10k) / 1e4;
        }
        l4s::ramp(l4s, self.radio_excess(now, cx.config))
    }

    /// What stands in the radio beyond jitter, or beyond the target where classic flows keep a queue there on purpose.
    ///
    /// Nothing where classic flows are there and packets wait here: a queue for each flow and turns by deficit round robin
    /// decide the shares then, each flow is signalled by its own queue, and there is nothing to couple (RFC 9330, 4.2).
    /// Coupling (RFC 9332, 2.1) is for flows that share a queue or a scheduler without turns. Both a mark and a coupled
    /// signal for each swing of the average about the target gave the one or the other nearly all (4.7 or 0.07 times).
    pub(super) fn radio_excess(&self, now: Instant, config: &VaqmConfig) -> Duration {
        if !self.model.known() {
            return Duration::ZERO;
        }
        // Grants and repetitions put the RTT of an empty queue as far above its least as the target's margin says; marks for
        // them left a lone Prague flow with two segments. At little rate a packet of its own is that far above too.
        let bottleneck = Rate::from_bps(self.delivered_max.peek().unwrap_or(0));
        let noise = (self.model.jitter() + config.jitter_margin).max(packet_floor(bottleneck) * 2);
        let mut base = self.model.path() + noise;
        if self.beside_classic(now) {
            if self.limit != Limit::None {
                return Duration::ZERO;
            }
            base = base.max(self.model.target());
        }
        self.model.average().saturating_sub(base)
    }

    fn beside_classic(&self, now: Instant) -> bool {
        self.last_classic.is_some_and(|at| now.since(at) <= ACTIVE)
    }

    /// The interval of CoDel and of the direct variant. The control loop is end to end; the article takes the interval from the
    /// path RTT. A sender answers no sooner than its ACKs come up (RFC 8289, 4.3: an interval of about the worst RTT).
    pub(super) fn interval(&self, server: Option<Duration>, config: &VaqmConfig) -> Duration {
        self.network_interval(server, config) + self.model.uplink()
    }

    /// Without what ACKs wait in the uplink.
    fn network_interval(&self, server: Option<Duration>, config: &VaqmConfig) -> Duration {
        ((self.model.path() + server.unwrap_or(config.server_rtt)) * 2)
            .max(Duration::from_millis(20))
            .min(Duration::from_millis(300))
    }

    /// CoDel's timing by the measured path.
    fn timing(&self, slot: u32, config: &VaqmConfig) -> Timing {
        let interval = self.network_interval(self.flows.get(slot).server_rtt(), config);
        let bottleneck = Rate::from_bps(self.delivered_max.peek().unwrap_or(0));
        Timing {
            target: (interval / 20)
                .max(Duration::from_millis(5))
                .max(packet_floor(bottleneck)),
            interval: interval + self.model.uplink(),
        }
    }

    /// Marks for an ECT(1) packet that waited `sojourn`; `None` where the flow is served as classic.
    pub(super) fn l4s_signal(
        &mut self,
        now: Instant,
        slot: u32,
        sojourn: Duration,
        ecn: Ecn,
        cx: &Shared<'_, P>,
    ) -> Option<LawVerdict> {
        if ecn != Ecn::Ect1 || !cx.config.l4s.enabled {
            return None;
        }
        let reported = self.reported(now, slot, cx).is_some();
        // Beside classic flows it may wait as long as they do: turns that an empty queue does not take go to the others,
        // and what the radio lets out comes in bursts longer than the ramp.
        let own = if self.beside_classic(now) && self.limit != Limit::None {
            sojourn.saturating_sub(self.timing(slot, cx.config).target)
        } else {
            sojourn
        };
        let chance = if reported {
            self.radio_chance(now, slot, cx)
                .max(l4s::ramp(&cx.config.l4s, own))
        } else {
            l4s::ramp(&cx.config.l4s, own + self.radio_excess(now, cx.config))
        };
        let rtt = self.model.average() + cx.config.server_rtt;
        let flow = self.flows.get_mut(slot);
        if flow.ce.as_ref().is_some_and(|ce| ce.demoted) {
            return None;
        }
        let mark = flow.owed.fires(chance);
        let rate = flow.arrivals.get();
        flow.ce
            .get_or_insert_with(|| Box::new(CeWatch::new(now)))
            .on_packet(now, mark, rtt, rate);
        Some(if mark {
            LawVerdict::Mark
        } else {
            LawVerdict::Pass
        })
    }

    /// A classic packet's share of the signals that L4S flows beside it get.
    pub(super) fn coupled_signal(&mut self, now: Instant, slot: u32, cx: &Shared<'_, P>) -> bool {
        if !cx.config.l4s.enabled || self.last_l4s.is_none_or(|at| now.since(at) > ACTIVE) {
            return false;
        }
        let chance = l4s::coupled(self.radio_chance(now, slot, cx));
        self.flows.get_mut(slot).owed.fires(chance)
    }

    pub(super) fn signal_without_queue(
        &mut self,
        now: Instant,
        slot: u32,
        tcp: Option<&TcpHeader>,
        packet: &P,
        cx: &Shared<'_, P>,
    ) -> LawVerdict {
        if cx.config.mode == Mode::Measure {
            return LawVerdict::Pass;
        }
        if let Some(verdict) = self.l4s_signal(now, slot, Duration::ZERO, packet.ecn(), cx) {
            return verdict;
        }
        if self.mode(cx.config) == Mode::Direct {
            return self.direct_signal(now, slot, tcp, packet);
        }
        if self.coupled_signal(now, slot, cx) {
            return LawVerdict::Mark;
        }
        LawVerdict::Pass
    }

    pub(super) fn law_signal(
        &mut self,
        now: Instant,
        slot: u32,
        since: Instant,
        meta: PacketMeta,
        cx: &Shared<'_, P>,
    ) -> LawVerdict {
        let config = cx.config;
        let timing = self.timing(slot, config);
        let interval = timing.interval;
        let mut verdict = fair::leaves(
            now,
            &mut self.flows,
            slot,
            since,
            meta,
            &config.module,
            config.adaptive_codel.then_some(timing),
        );
        let flow = self.flows.get_mut(slot);
        if verdict == LawVerdict::Mark && flow.ce.as_ref().is_some_and(|ce| ce.demoted) {
            verdict = LawVerdict::Drop;
        }
        // A flow that answers leaves the dropping state now and then; one that does not stays in it with a long queue.
        let stuck =
            flow.law.as_deref().is_some_and(Law::is_dropping) && now.since(since) > interval * 4;
        if !stuck {
            flow.stuck_since = None;
        } else if now.since(*flow.stuck_since.get_or_insert(now)) >= interval * 20
            && config.police
            && flow.police.is_none()
        {
            self.restrain(now, slot, config);
        }
        verdict
    }
}
