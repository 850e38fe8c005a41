//! Links and queues of a scenario.

use std::sync::Arc;

use slackwater_core::{Draw, Duration, Instant, Packet, Rate};
use slackwater_queue::config::{ContainerConfig, DualQConfig, FqConfig, QueueConfig};
use slackwater_queue::container::{DualQShape, FqShape, Limits, Scheduler};
use slackwater_queue::law::{CodelConfig, LawConfig, Pi2Config};
use slackwater_sim::{LinkConfig, Service};

use crate::law::Law;
use crate::link::{Link, Queue, SeriesLink, Wired};
use crate::plugins::Plugins;
use crate::units::Limit;

pub(super) fn wired(config: &Wired, plugins: &Plugins, draw: Draw) -> LinkConfig {
    let queue = queue(&config.queue, plugins);
    link(Service::constant(config.rate), &queue, draw)
}

/// The link towards the receiver, and the way back where it can delay.
pub(super) fn both(
    config: &Link,
    plugins: &Plugins,
    draw: &mut impl FnMut() -> Draw,
) -> (LinkConfig, Option<LinkConfig>) {
    let (up, up_rate) = match config {
        Link::Trace(t) => {
            let up = t.up_file.as_ref().map(|f| trace(&f.opportunities));
            (up, t.up_rate)
        }
        Link::Rate(r) => (None, r.up_rate),
        Link::Series(s) => {
            let up = (!s.up_points.is_empty()).then(|| up_series(s));
            (up, s.up_rate)
        }
    };
    let up = up.or(up_rate.map(Service::constant));
    let [queue, up_queue] = config.queues().map(|q| queue(q, plugins));
    let down = link(service(config), &queue, draw());
    (down, up.map(|service| link(service, &up_queue, draw())))
}

/// What the link towards the receiver serves by.
pub(super) fn service(config: &Link) -> Service {
    match config {
        Link::Trace(t) => trace(&t.file.opportunities),
        Link::Rate(r) if r.opportunities => opportunities(r.rate),
        Link::Rate(r) => Service::constant(r.rate),
        Link::Series(s) => series(s),
    }
}

fn link(service: Service, queue: &QueueConfig, draw: Draw) -> LinkConfig {
    LinkConfig {
        service,
        queue: Box::new(queue.build::<Packet>(draw)),
    }
}

fn trace(opportunities: &[u64]) -> Service {
    let period = *opportunities.last().expect("a checked trace is not empty");
    Service::Trace {
        opportunities: Arc::from(opportunities),
        period,
    }
}

/// A constant rate as opportunities of 1,504 bytes, one per 1,500 bytes of the rate, spread over whole milliseconds.
fn opportunities(rate: Rate) -> Service {
    const BITS: u64 = 1_500 * 8;
    let g = gcd(rate.as_bps(), BITS * 1_000);
    // `n` opportunities in `ms` milliseconds, the smallest whole numbers that give the rate.
    let (n, ms) = (rate.as_bps() / g, BITS * 1_000 / g);
    // Rates without a short common period are rounded to a period of at most ten minutes.
    let (n, ms) = if ms > 600_000 {
        (
            ((u128::from(rate.as_bps()) * 600) / u128::from(BITS)).max(1) as u64,
            600_000,
        )
    } else {
        (n, ms)
    };
    let list: Vec<u64> = (1..=n).map(|k| (k * ms).div_ceil(n)).collect();
    Service::Trace {
        opportunities: Arc::from(list),
        period: ms,
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn series(config: &SeriesLink) -> Service {
    const STEP: Duration = Duration::from_millis(100);
    let rates = config.rates();
    let round = config.round();
    let mut steps: Vec<(Instant, Rate)> = Vec::with_capacity(rates.len());
    if rates[0].0 > Duration::ZERO {
        steps.push((Instant::ZERO, rates[0].1));
    }
    for (i, &(t, r)) in rates.iter().enumerate() {
        steps.push((Instant::ZERO + t, r));
        let Some(&(end, to)) = rates.get(i + 1).filter(|_| config.smooth) else {
            continue;
        };
        // A ramp becomes steps of 100 ms, each at the rate of its middle.
        let span = (end - t).as_secs_f64();
        let at = |t0: Duration| {
            let middle = ((t0 - t) + STEP / 2).as_secs_f64().min(span);
            Rate::from_mbps(r.as_mbps() + (to.as_mbps() - r.as_mbps()) * middle / span)
        };
        let last = steps.len() - 1;
        steps[last].1 = at(t);
        let mut t0 = t + STEP;
        while t0 < end {
            steps.push((Instant::ZERO + t0, at(t0)));
            t0 += STEP;
        }
    }
    Service::Rate {
        steps: Arc::from(steps),
        period: Some(round),
    }
}

fn up_series(config: &SeriesLink) -> Service {
    let points = config.up_points.iter();
    let mut steps: Vec<(Instant, Rate)> = points
        .map(|[t, v]| {
            let at = Instant::ZERO + Duration::from_secs_f64(*t);
            (at, Rate::from_mbps(*v))
        })
        .collect();
    if steps[0].0 > Instant::ZERO {
        steps.insert(0, (Instant::ZERO, steps[0].1));
    }
    Service::Rate {
        steps: Arc::from(steps),
        period: Some(config.round()),
    }
}

pub(super) fn limits(limit: Limit) -> Limits {
    match limit {
        Limit::Packets(n) => Limits {
            packets: Some(n),
            bytes: None,
        },
        Limit::Bytes(b) => Limits {
            packets: None,
            bytes: Some(b),
        },
        Limit::Unlimited => Limits {
            packets: None,
            bytes: None,
        },
    }
}

/// The law of a scenario that was checked.
pub(super) fn law(config: &Law, plugins: &Plugins) -> LawConfig {
    let law = plugins.law(config);
    law.unwrap_or_else(|e| panic!("{e}, after the scenario was checked"))
}

pub(super) fn queue(config: &Queue, plugins: &Plugins) -> QueueConfig {
    match config {
        Queue::Fifo(f) => QueueConfig::fifo(limits(f.limit), law(&f.law, plugins)),
        Queue::Fq(f) => QueueConfig {
            container: ContainerConfig::Fq(FqConfig {
                shape: FqShape {
                    buckets: f.flows,
                    quantum: f.quantum,
                    limits: Limits {
                        bytes: limits(f.limit).bytes,
                        ..limits(f.limit)
                    },
                    ..FqShape::default()
                },
                law: LawConfig::Codel(CodelConfig {
                    target: f.target,
                    interval: f.interval,
                    ecn: f.ecn,
                    ..CodelConfig::default()
                }),
            }),
            shaper: None,
        },
        Queue::Dual(d) => QueueConfig {
            container: ContainerConfig::DualQ(DualQConfig {
                shape: DualQShape {
                    limits: limits(d.limit),
                    scheduler: d.shift.map_or(
                        Scheduler::Weighted {
                            classic: d.classic_share.fraction(),
                        },
                        |shift| Scheduler::TimeShifted { shift },
                    ),
                    low: d.low,
                    high: d.high,
                    ..DualQShape::default()
                },
                law: Pi2Config {
                    target: d.target,
                    rtt_max: d.rtt_max,
                    coupling: d.coupling,
                },
            }),
            shaper: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_mbit_is_one_opportunity_a_millisecond() {
        let Service::Trace {
            opportunities,
            period,
        } = opportunities(Rate::from_mbps(12.0))
        else {
            panic!("opportunities")
        };
        assert_eq!((&*opportunities, period), (&[1][..], 1));
    }

    #[test]
    fn opportunities_keep_the_mean_rate() {
        for mbps in [0.3, 1.0, 7.0, 20.0, 100.0, 34.567_891] {
            let rate = Rate::from_mbps(mbps);
            let Service::Trace {
                opportunities,
                period,
            } = opportunities(rate)
            else {
                panic!("opportunities")
            };
            let ours = opportunities.len() as f64 * 12_000.0 / (period as f64 * 1e-3);
            assert!(
                (ours / rate.as_bps() as f64 - 1.0).abs() < 1e-4,
                "{mbps}: {ours}"
            );
            assert!(opportunities.is_sorted() && opportunities.last() == Some(&period));
        }
    }

    #[test]
    fn a_smooth_series_keeps_the_area_under_its_lines() {
        let config = SeriesLink {
            points: vec![[0.0, 10.0], [3.0, 40.0], [4.0, 40.0]],
            smooth: true,
            period: Some(Duration::from_secs(5)),
            ..crate::field::Field::example()
        };
        let Service::Rate { steps, .. } = series(&config) else {
            panic!("rates")
        };
        let mut ends: Vec<Instant> = steps.iter().skip(1).map(|s| s.0).collect();
        ends.push(Instant::ZERO + Duration::from_secs(5));
        let area: f64 = steps
            .iter()
            .zip(ends)
            .map(|(s, e)| s.1.as_mbps() * e.since(s.0).as_secs_f64())
            .sum();
        // 75 under the rise, 40 and 40 after it.
        assert!((area - 155.0).abs() < 1e-6, "{area}");
    }
}
