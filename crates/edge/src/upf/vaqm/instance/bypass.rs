//! Packets that pass by another way, such as one in the kernel, while there is nothing to decide about them.

use slackwater_core::{Instant, PacketView};
use slackwater_queue::Law as _;

use super::super::config::{Mode, VaqmConfig};
use super::super::flow::ACTIVE;
use super::super::l4s;
use super::super::modes::Limit;
use super::{Instance, Shared};

impl<P: PacketView> Instance<P> {
    /// True where a packet of any flow would leave at once, and without a mark.
    pub(in crate::upf::vaqm) fn rests(&self, now: Instant, config: &VaqmConfig) -> bool {
        let within = self.session.ready() <= now;
        let free = within && self.fair.is_empty() && self.unresponsive == 0;
        if config.mode == Mode::Measure {
            return free;
        }
        free && self.limit == Limit::None
            && !self.direct.is_dropping()
            && !self.marks_without_queue(now, config)
    }

    /// Flows that go by marks are there, and the radio's queue calls for some.
    fn marks_without_queue(&self, now: Instant, config: &VaqmConfig) -> bool {
        let marks = config.l4s.enabled && self.last_l4s.is_some_and(|at| now.since(at) <= ACTIVE);
        marks && l4s::ramp(&config.l4s, self.radio_excess(now, config)) > 0.0
    }

    /// A downlink packet passed by another way: all that is learned of one that leaves from here is learned of it.
    pub(in crate::upf::vaqm) fn on_bypassed<Q: PacketView>(
        &mut self,
        now: Instant,
        packet: &Q,
        cx: &mut Shared<'_, P>,
    ) {
        let (slot, tcp) = self.arrive(now, packet, cx.config);
        self.evaluate_if_due(now, cx.config);
        let direct = self.mode(cx.config) == Mode::Direct;
        let flow = self.flows.get_mut(slot);
        if let Some(law) = &mut flow.law {
            // The law would have found its queue empty.
            law.on_empty(now);
        }
        if !direct {
            flow.stuck_since = None;
        }
        self.leave(now, slot, tcp.as_ref(), packet);
        cx.stats.passed += 1;
    }
}
