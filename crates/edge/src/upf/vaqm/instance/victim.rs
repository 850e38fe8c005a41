//! The direct variant: whose packet is dropped or marked.

use slackwater_core::{Duration, Instant, PacketView, TcpFlags, TcpHeader};
use slackwater_queue::Verdict as LawVerdict;

use super::super::config::VaqmConfig;
use super::super::flow::Observer;
use super::Instance;

/// Smaller packets are spared, and names (DNS).
const SPARED: u32 = 100;
const DNS: u16 = 53;

impl<P: PacketView> Instance<P> {
    /// Signals did not bring the RTT down: the flow with most in flight did not answer to them.
    pub(super) fn note_deaf(&mut self, now: Instant) {
        let average = self.model.loop_time();
        let most = self
            .flows
            .iter()
            .map(|(slot, flow)| (flow.flight_estimate(average), slot))
            .max();
        if let Some((_, slot)) = most {
            self.flows.get_mut(slot).deaf = Some(now);
        }
    }

    pub(super) fn choose_victim(&mut self, now: Instant, config: &VaqmConfig) {
        let (target, average) = (self.model.target(), self.model.loop_time());
        let Some(rtt) = self.model.recent(now) else {
            return;
        };
        // An interval of about the worst round trip (RFC 8289, 4.3); with the path RTT's double alone a sender is signalled to
        // for a queue that it has answered already.
        let interval = if rtt > target {
            let servers = self.flows.iter().filter_map(|(_, f)| f.server_rtt());
            self.interval(servers.max(), config)
        } else {
            Duration::ZERO
        };
        let late = self.direct.overdue(now, average);
        if !self.direct.update(now, rtt, target, interval) {
            return;
        }
        let mut victim: Option<(u64, u32)> = None;
        for (_, flow) in self.flows.iter() {
            let server = flow.server_rtt().unwrap_or(config.server_rtt);
            let held_off = flow
                .signalled
                .is_some_and(|at| now.since(at) < average + server);
            if now.since(flow.last_down) > average || held_off || late == Some(flow.key) {
                continue;
            }
            let flight = flow.flight_estimate(average);
            if victim.is_none_or(|(most, _)| flight > most) {
                victim = Some((flight, flow.key));
            }
        }
        if let Some((_, key)) = victim {
            self.direct.arm(now, key);
        }
    }

    pub(super) fn direct_signal(
        &mut self,
        now: Instant,
        slot: u32,
        tcp: Option<&TcpHeader>,
        packet: &P,
    ) -> LawVerdict {
        let above = self.model.above_target();
        let flow = self.flows.get_mut(slot);
        if above && self.direct.is_dropping() {
            // Without queues a flow that does not answer shows by its rate alone; see `unanswered`.
            flow.stuck_since.get_or_insert(now);
        }
        if !self.direct.awaits(flow.key) {
            return LawVerdict::Pass;
        }
        if let Some(tcp) = tcp {
            let control = tcp.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0) != 0;
            let repeat = matches!(&flow.observer, Observer::Tcp(o, _) if o.is_repeat(tcp));
            if control || tcp.payload == 0 || repeat {
                return LawVerdict::Pass;
            }
        }
        let dns = packet
            .ports()
            .is_some_and(|(from, to)| from == DNS || to == DNS);
        if packet.len() < SPARED || dns {
            return LawVerdict::Pass;
        }
        flow.signalled = Some(now);
        self.direct.signalled();
        LawVerdict::Mark
    }
}
