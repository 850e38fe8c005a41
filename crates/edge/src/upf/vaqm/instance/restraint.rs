//! Flows that do not answer: found out, and limited.

use slackwater_core::{Instant, PacketView};

use super::super::config::VaqmConfig;
use super::super::flow::ACTIVE;
use super::super::police::{Police, Share};
use super::Instance;

impl<P: PacketView> Instance<P> {
    pub(super) fn share(&mut self, now: Instant, config: &VaqmConfig) -> Share {
        let sight = self.sight(now, config, self.is_by_rate() || !self.model.known());
        let rate = self.valve.bottleneck(&sight);
        let active = self
            .flows
            .iter()
            .filter(|(_, f)| now.since(f.last_down) <= ACTIVE)
            .count()
            .max(1) as f64;
        let floor = config.floor.max(self.guaranteed).mul_f64(1.0 / active);
        Share {
            fair: rate.mul_f64(1.0 / active).max(floor),
            floor,
            average: self.model.average(),
            above_target: self.model.above_target(),
        }
    }

    pub(super) fn restrain(&mut self, now: Instant, slot: u32, config: &VaqmConfig) {
        let share = self.share(now, config);
        let flow = self.flows.get_mut(slot);
        flow.police = Some(Box::new(Police::new(now, flow.arrivals.get(), &share)));
        flow.stuck_since = None;
        self.unresponsive += 1;
        self.direct_failed = true;
    }

    pub(super) fn within_police(
        &mut self,
        now: Instant,
        slot: u32,
        len: u32,
        config: &VaqmConfig,
    ) -> bool {
        if self.flows.get(slot).police.is_none() {
            return true;
        }
        let share = self.share(now, config);
        let flow = self.flows.get_mut(slot);
        let arrivals = flow.arrivals.get();
        let Some(police) = &mut flow.police else {
            return true;
        };
        if let Some(passes) = police.admit(now, len, arrivals, &share) {
            return passes;
        }
        flow.police = None;
        self.unresponsive -= 1;
        self.direct_failed = self.unresponsive > 0;
        true
    }

    /// The direct variant's test for flows that do not answer: more than twice the fair share while the RTT stays above
    /// the target for 20 intervals.
    pub(super) fn find_unanswered(&mut self, now: Instant, config: &VaqmConfig) {
        let patience = (self.model.path() + config.server_rtt) * 40;
        let share = self.share(now, config);
        let guilty = self.flows.iter().find_map(|(slot, f)| {
            let long = f.stuck_since.is_some_and(|at| now.since(at) >= patience);
            (long && f.police.is_none() && f.arrivals.get() > share.fair.mul_f64(2.0))
                .then_some(slot)
        });
        if let Some(slot) = guilty {
            self.restrain(now, slot, config);
        }
    }
}
