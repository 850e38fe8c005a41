//! Signals to L4S flows, and the share of them that classic flows beside them get.

use slackwater_core::{Duration, Instant, Rate};

use super::config::L4sConfig;

/// The chance of a mark at `delay`: a ramp (RFC 9332, appendix A, uses one too).
pub(super) fn ramp(config: &L4sConfig, delay: Duration) -> f64 {
    let span = config
        .high
        .saturating_sub(config.low)
        .max(Duration::from_micros(1));
    let above = delay.saturating_sub(config.low);
    (above.as_nanos() as f64 / span.as_nanos() as f64).min(1.0)
}

/// What classic flows get where L4S flows are marked with chance `p` by the same queue: `(p/2)^2`, the square that
/// makes both take like rates (RFC 9332, 2.1, with coupling factor 2).
pub(super) const fn coupled(p: f64) -> f64 {
    p * p / 4.0
}

/// Finds flows that claim L4S and do not react to CE: more than half of their packets marked over 5 RTTs and a rate
/// that does not fall.
#[derive(Clone, Copy, Debug)]
pub(super) struct CeWatch {
    since: Instant,
    packets: u32,
    marks: u32,
    rate: Rate,
    /// It does not react: it is served as a classic flow, by drops.
    pub(super) demoted: bool,
}

impl CeWatch {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            since: now,
            packets: 0,
            marks: 0,
            rate: Rate::ZERO,
            demoted: false,
        }
    }

    pub(super) fn on_packet(&mut self, now: Instant, marked: bool, rtt: Duration, rate: Rate) {
        self.packets += 1;
        self.marks += u32::from(marked);
        if now.since(self.since) < (rtt * 5).max(Duration::from_millis(400)) {
            return;
        }
        let heavy = self.marks * 2 > self.packets && self.packets >= 20;
        let same = self.rate > Rate::ZERO && rate.as_bps() * 10 >= self.rate.as_bps() * 9;
        self.demoted |= heavy && same;
        self.rate = if heavy { rate } else { Rate::ZERO };
        self.since = now;
        self.packets = 0;
        self.marks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upf::even::Accumulator;

    #[test]
    fn the_ramp_runs_from_one_to_three_milliseconds_and_couples_by_the_square() {
        let config = L4sConfig::default();
        for (us, p) in [(1_000, 0.0), (2_000, 0.5), (3_000, 1.0), (9_000, 1.0)] {
            assert!((ramp(&config, Duration::from_micros(us)) - p).abs() < 1e-9);
        }
        assert!((coupled(0.4) - 0.04).abs() < 1e-12);
        let mut owed = Accumulator::default();
        assert_eq!((0..1000).filter(|_| owed.fires(0.25)).count(), 250);
    }

    #[test]
    fn a_flow_that_ignores_ce_is_served_as_classic_and_one_that_slows_is_not() {
        for (reacts, demoted) in [(false, true), (true, false)] {
            let mut watch = CeWatch::new(Instant::ZERO);
            let mut rate = 10e6;
            for ms in 0..4000 {
                if reacts && ms % 400 == 0 {
                    rate *= 0.7;
                }
                let now = Instant::from_millis(ms);
                watch.on_packet(
                    now,
                    ms % 4 != 0,
                    Duration::from_millis(40),
                    Rate::from_bps(rate as u64),
                );
            }
            assert_eq!(watch.demoted, demoted);
        }
    }
}
