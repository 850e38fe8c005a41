//! What the uplink and the radio network tell.

use slackwater_core::{Duration, Instant, PacketView};

use super::super::config::{Mode, VaqmConfig};
use super::super::flow::Observer;
use super::super::path::Seen;
use super::{EGRESS_SPAN, Instance, LEAST_SPAN, Shared};
use crate::upf::passive::{RttSample, SampleKind};

impl<P: PacketView> Instance<P> {
    pub(in crate::upf::vaqm) fn knows(&mut self, key: u32) -> bool {
        self.flows.find(key).is_some()
    }

    pub(in crate::upf::vaqm) fn on_up<Q: PacketView>(
        &mut self,
        now: Instant,
        packet: &Q,
        cx: &mut Shared<'_, P>,
    ) {
        self.wake(now);
        let tcp = packet.tcp();
        let spin = packet.spin_bit();
        if tcp.is_none() && spin.is_none() {
            return;
        }
        let slot = self.flows.find_or_insert(now, packet.reverse_key());
        let (path, average) = (self.model.path(), self.model.average());
        let known = self.model.known();
        let flight = self.flight;
        let flow = self.flows.get_mut(slot);
        flow.observe_as(tcp.as_ref(), packet);
        flow.last_seen = now;
        if cx.config.split_uplink {
            let stamp = tcp.as_ref().and_then(|tcp| tcp.timestamps);
            let waited = stamp.and_then(|(tsval, _)| flow.clock.on_uplink(now, tsval));
            self.uplink.on_packet(now, packet.len(), waited);
        }
        let mut sample = None;
        let mut spins = false;
        match (&mut flow.observer, &tcp, spin) {
            (Observer::Tcp(observer, server), Some(tcp), _) => {
                server.on_uplink(now, tcp);
                let before = observer.flight();
                let info = observer.on_uplink(now, tcp, &packet.sack());
                self.flight = self.flight + observer.flight() - before;
                sample = info.sample;
                if info.advanced || info.delivered > 0 {
                    self.last_ack = now;
                }
                if info.delivered > 0 {
                    self.on_delivered(now, info.delivered);
                }
            }
            (Observer::Quic(observer), _, Some(bit)) => {
                let known = |d: Duration| known.then_some(d);
                sample = observer.on_uplink(now, bit, known(path), known(average));
                spins = true;
            }
            _ => {}
        }
        if let Some(sample) = sample {
            cx.round_trips.add(sample.rtt);
        }
        match sample {
            Some(sample) if spins => {
                let flight = self.flight_behind(now, sample.rtt);
                self.on_rtt(now, sample, flight, cx.config);
            }
            Some(sample) => {
                let flight = flight + self.uncounted_behind(now, sample.rtt);
                self.on_rtt(now, sample, flight, cx.config);
            }
            None => self.evaluate_if_due(now, cx.config),
        }
        self.service(now, cx);
    }

    pub(super) fn on_delivered(&mut self, now: Instant, bytes: u64) {
        let span = self.span();
        self.delivered.add(now, bytes, span);
        let least = if self.model.known() {
            self.model.path()
        } else {
            span
        };
        self.delivered_rate = self.delivered.rate(now, span, least);
        self.delivered_max.update(now, self.delivered_rate.as_bps());
    }

    pub(super) fn on_rtt(
        &mut self,
        now: Instant,
        mut sample: RttSample,
        flight: u64,
        config: &VaqmConfig,
    ) {
        if self.after_idle {
            self.after_idle = false;
            self.model.after_idle();
            sample.kind = SampleKind::MinOnly;
        }
        let capped = self.valve.can_dip();
        let full = sample.kind == SampleKind::Full;
        let uplink = if config.split_uplink {
            self.uplink.split(now, &mut sample, config.jitter_margin)
        } else {
            Duration::ZERO
        };
        let seen = Seen {
            sample,
            uplink,
            flight,
            rate: self.delivered_rate,
        };
        self.model.on_sample(now, seen, capped, config);
        if full && sample.kind == SampleKind::IfLower {
            self.valve.open();
        }
        self.evaluate(now, config);
        if self.mode(config) == Mode::Direct && !self.model.above_target() {
            self.flows.for_each(|f| f.stuck_since = None);
        }
    }

    /// A round trip that the radio network measured.
    pub(in crate::upf::vaqm) fn on_path_delay(
        &mut self,
        now: Instant,
        rtt: Duration,
        cx: &mut Shared<'_, P>,
    ) {
        let sample = RttSample {
            rtt,
            kind: SampleKind::Full,
        };
        let flight = self.flight_behind(now, rtt);
        cx.round_trips.add(rtt);
        self.on_rtt(now, sample, flight, cx.config);
        self.service(now, cx);
    }

    /// What was in flight during a round trip of flows whose flight is not counted, by Little's law. TCP's own flight may
    /// be small where datagrams of the same user fill the radio's queue.
    fn uncounted_behind(&mut self, now: Instant, rtt: Duration) -> u64 {
        match self.last_uncounted {
            Some(at) if now.since(at) <= EGRESS_SPAN => {
                let left = self.uncounted.rate(now, EGRESS_SPAN, LEAST_SPAN);
                left.bytes_in(rtt).get()
            }
            _ => 0,
        }
    }

    /// What was in flight during a round trip. With acknowledgments hidden nothing tells but Little's law.
    fn flight_behind(&mut self, now: Instant, rtt: Duration) -> u64 {
        let left = self.egress.rate(now, EGRESS_SPAN, LEAST_SPAN);
        self.flight.max(left.bytes_in(rtt).get())
    }
}
