//! Seeds until an interval is there: `compare --until "2 %"`.

use std::str::FromStr;

use slackwater_results::metrics::table::Metric;
use slackwater_results::stats::{Estimate, seeds_for};

/// Seeds before the first look: fewer have no scatter to go by, and stopping there would be luck.
pub const LEAST: u64 = 5;

/// Half of the interval of a metric is at most a share of its mean.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// Which metric.
    pub metric: &'static Metric,
    /// The share.
    pub within: f64,
}

impl FromStr for Until {
    type Err = String;

    /// `2 %`, of the total goodput, or `queue_p95=5 %`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (key, share) = text.split_once('=').unwrap_or(("goodput_total", text));
        let metric = Metric::find(key.trim()).ok_or_else(|| {
            format!(
                "found metric {:?}, expected a key of docs/metrics.md",
                key.trim()
            )
        })?;
        let number = share.trim().strip_suffix('%').map(str::trim);
        let percent = number.and_then(|n| n.parse::<f64>().ok());
        let percent = percent.filter(|p| *p > 0.0 && *p < 100.0);
        let percent = percent.ok_or_else(|| {
            format!(
                "found {:?}, expected a share such as \"2 %\" or \"queue_p95=5 %\"",
                share.trim()
            )
        })?;
        Ok(Self {
            metric,
            within: percent / 100.0,
        })
    }
}

impl Until {
    /// Half of the interval over the mean; `None` where there is no interval or nothing to scale it by.
    pub fn reached(e: &Estimate) -> Option<f64> {
        let half = e.half_width()?;
        if half == 0.0 {
            Some(0.0)
        } else {
            (e.mean != 0.0).then(|| half / e.mean.abs())
        }
    }

    /// How many seeds the estimate needs: as many as it has where it is narrow enough, `None` where no number can be told.
    pub fn needed(&self, e: &Estimate) -> Option<usize> {
        if Self::reached(e)? <= self.within {
            return Some(e.n);
        }
        seeds_for(e.half_width()?, e.n, self.within * e.mean.abs())
    }
}

/// How many seeds a comparison has after the next round: what the worst estimate needs, but at least one more and at most twice as many,
/// as the guess from few seeds is rough; `None` where all estimates are narrow enough or `most` is reached.
pub fn next(wanted: &[(Until, Estimate)], now: u64, most: u64) -> Option<u64> {
    let open = |(until, e): &&(Until, Estimate)| {
        Until::reached(e).is_some_and(|share| share > until.within)
    };
    let worst = wanted.iter().filter(open).map(|(until, e)| {
        // Not to be told: as many as may be.
        until.needed(e).map_or(most, |n| n as u64)
    });
    let target = worst.max()?.clamp(now + 1, 2 * now.max(1)).min(most);
    (target > now).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_metric_is_read() {
        let until: Until = "2 %".parse().expect("a share");
        assert_eq!((until.metric.key, until.within), ("goodput_total", 0.02));
        let until: Until = "queue_p95 = 5%".parse().expect("a metric and a share");
        assert_eq!((until.metric.key, until.within), ("queue_p95", 0.05));
        for wrong in ["2", "0 %", "nosuch=2 %", "-1 %", "100 %", ""] {
            assert!(wrong.parse::<Until>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn rounds_end_when_the_interval_is_there() {
        let until: Until = "2 %".parse().expect("a share");
        let e = |half, n| (until, Estimate::symmetric(100.0, half, n));
        assert_eq!(next(&[e(1.9, 5)], 5, 100), None);
        assert_eq!(next(&[e(1.9, 5), e(2.1, 5)], 5, 100), Some(6));
        // Far off: twice as many at most, and no more than allowed.
        assert_eq!(next(&[e(40.0, 5)], 5, 100), Some(10));
        assert_eq!(next(&[e(40.0, 5)], 5, 7), Some(7));
        assert_eq!(next(&[e(40.0, 5)], 7, 7), None);
        // A metric that is always zero has an interval of no width.
        assert_eq!(
            next(&[(until, Estimate::symmetric(0.0, 0.0, 5))], 5, 100),
            None
        );
    }
}
