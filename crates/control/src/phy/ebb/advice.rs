//! The rate alone, now and then, as SCONE carries it: what is left of the reports where a network gives no more.
//!
//! draft-ietf-scone-protocol: a network element writes the greatest rate that it expects to sustain into a packet of the flow.
//! Endpoints obey their congestion controller besides (Independent of Congestion Signals).

use slackwater_core::{Duration, Rate};
use slackwater_signal::Counters;

/// The least rate that can be written, bit/s (Rate Signals: 100 kbit/s at 0, and 20 steps to tenfold).
const LEAST: f64 = 100e3;
const STEPS: f64 = 20.0;
/// The greatest signal that is a rate.
const MOST: f64 = 126.0;
/// A span without a report longer than this says nothing of the rate between.
const PAUSE: Duration = Duration::from_millis(500);

/// What the network advises.
#[derive(Clone, Debug)]
pub(super) struct Advice {
    /// A rate holds for so long.
    period: Duration,
    /// The last report.
    last: Option<Counters>,
    /// Bytes that were offered in the present period, and how long it is.
    offered: f64,
    span: Duration,
    /// The mean rate of the period before, as it can be written.
    rate: Option<Rate>,
}

impl Advice {
    pub(super) const fn new(period: Duration) -> Self {
        Self {
            period,
            last: None,
            offered: 0.0,
            span: Duration::ZERO,
            rate: None,
        }
    }

    /// A report of the base station came: it takes part in the mean of its period.
    pub(super) fn on_counters(&mut self, counters: Counters) {
        let last = self.last.replace(counters);
        let Some(last) = last.filter(|l| l.instance == counters.instance) else {
            return;
        };
        let Some(span) = counters.since(&last).filter(|s| *s <= PAUSE) else {
            return;
        };
        self.offered += f64::from(counters.offered.wrapping_sub(last.offered));
        self.span += span;
        if self.span >= self.period {
            self.rate = written(self.offered * 8.0 / self.span.as_secs_f64());
            (self.offered, self.span) = (0.0, Duration::ZERO);
        }
    }

    /// The greatest rate that is advised.
    pub(super) const fn rate(&self) -> Option<Rate> {
        self.rate
    }
}

/// The greatest rate that can be written and is not above `bps`; nothing where all are.
fn written(bps: f64) -> Option<Rate> {
    if bps < LEAST {
        return None;
    }
    let signal = libm::floor(STEPS * libm::log10(bps / LEAST) + 1e-9).min(MOST);
    Some(Rate::from_bps(
        (LEAST * libm::pow(10.0, signal / STEPS)) as u64,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the draft: 1 Mbit/s is 20, 112 Mbit/s 61, 199.5 Gbit/s 126.
    #[test]
    fn rates_are_those_that_can_be_written() {
        let mbps = |bps: f64| written(bps).map(|r| r.as_bps() as f64 / 1e6);
        assert_eq!(mbps(99e3), None);
        assert_eq!(mbps(1e6), Some(1.0));
        assert_eq!(mbps(1.12e6), Some(1.0));
        let near = |bps: f64, expected: f64| {
            let rate = mbps(bps).expect("it can be written");
            assert!((rate / expected - 1.0).abs() < 0.005, "{rate}");
        };
        near(1.13e6, 1.12);
        near(112.5e6, 112.0);
        near(1e12, 199_500.0);
    }

    #[test]
    fn advice_is_the_mean_of_a_period_and_changes_at_its_end() {
        let mut advice = Advice::new(Duration::from_millis(100));
        let mut counters = Counters::default();
        let mut run = |advice: &mut Advice, reports: u32, bytes: u32| {
            for _ in 0..reports {
                // 5 ms in units of 0.125 ms.
                counters.stamp = counters.stamp.wrapping_add(40);
                counters.offered = counters.offered.wrapping_add(bytes);
                advice.on_counters(counters);
            }
        };
        // 10 Mbit/s: 6,250 bytes in 5 ms.
        run(&mut advice, 20, 6_250);
        assert_eq!(advice.rate(), None, "the first report opens a period");
        run(&mut advice, 1, 6_250);
        assert_eq!(advice.rate(), Some(Rate::from_mbps(10.0)));
        run(&mut advice, 19, 625);
        assert_eq!(advice.rate(), Some(Rate::from_mbps(10.0)));
        run(&mut advice, 1, 625);
        assert_eq!(advice.rate(), Some(Rate::from_mbps(1.0)));
    }
}
