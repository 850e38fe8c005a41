//! Which interval is right how often: the experiment by which `Estimate::within` was chosen (docs/design/0082).

use slackwater_core::Draw;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{Bounds, Estimate, seeds_for, t95};
use crate::metrics::{jain, quantile};

/// A population of which seeds are drawn.
struct Population {
    name: &'static str,
    bounds: Bounds,
    draw: fn(&Draw, u64) -> f64,
}

const POPULATIONS: [Population; 7] = [
    Population {
        name: "normal, deviation 0.1 of the mean",
        bounds: Bounds::Positive,
        draw: |d, i| 1.0 + 0.1 * d.normal(i),
    },
    Population {
        name: "log-normal, sigma 0.5",
        bounds: Bounds::Positive,
        draw: |d, i| libm::exp(0.5 * d.normal(i)),
    },
    Population {
        name: "log-normal, sigma 1",
        bounds: Bounds::Positive,
        draw: |d, i| libm::exp(d.normal(i)),
    },
    Population {
        name: "exponential",
        bounds: Bounds::Positive,
        draw: |d, i| -libm::log(1.0 - d.uniform(i)),
    },
    Population {
        name: "half zero, half exponential",
        bounds: Bounds::Positive,
        draw: |d, i| match d.uniform(2 * i) {
            u if u < 0.5 => 0.0,
            _ => -libm::log(1.0 - d.uniform(2 * i + 1)),
        },
    },
    Population {
        name: "share, logit normal(-4, 1)",
        bounds: Bounds::UpTo(1.0),
        draw: |d, i| 1.0 / (1.0 + libm::exp(4.0 - d.normal(i))),
    },
    Population {
        name: "Jain of two, one's share uniform in 0.2 to 0.8",
        bounds: Bounds::UpTo(1.0),
        draw: |d, i| {
            let share = 0.2 + 0.6 * d.uniform(i);
            jain(&[share, 1.0 - share]).expect("two shares")
        },
    },
];

/// The mean of a population, from so many values that its own error is far below an interval's.
fn truth(of: &Population) -> f64 {
    let draw = Draw::new(0x7707);
    let n = 400_000;
    (0..n).map(|i| (of.draw)(&draw, i)).sum::<f64>() / n as f64
}

/// A way to make an interval: its name, and from where to where.
type Method = (&'static str, fn(&[f64], Bounds, Draw) -> (f64, f64));

const METHODS: [Method; 5] = [
    ("t", |v, _, _| Estimate::of(v).expect("values").bounds()),
    ("t, cut", |v, bounds, _| {
        let (low, high) = Estimate::of(v).expect("values").bounds();
        match bounds {
            Bounds::UpTo(most) => (low.max(0.0), high.min(most)),
            _ => (low.max(0.0), high),
        }
    }),
    ("transformed", |v, bounds, _| {
        Estimate::within(v, bounds).expect("values").bounds()
    }),
    ("percentile", |v, _, draw| {
        let means = resampled(v, draw);
        let q = |p| quantile(&means, p).expect("means");
        (q(0.025), q(0.975))
    }),
    ("BCa", |v, _, draw| bca(v, draw)),
];

/// Means of draws of `values` from themselves, sorted.
fn resampled(values: &[f64], draw: Draw) -> Vec<f64> {
    let n = values.len() as u64;
    let mut means: Vec<f64> = (0..400)
        .map(|sample| {
            let picked = (0..n).map(|k| {
                let at = draw.uniform(sample * n + k) * n as f64;
                values[at as usize]
            });
            picked.sum::<f64>() / n as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    means
}

/// Bias-corrected and accelerated.
// Efron 1987, eq. 2.3 and 6.6, with the mean as the statistic.
fn bca(values: &[f64], draw: Draw) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let means = resampled(values, draw);
    let below = means.iter().filter(|m| **m < mean).count();
    let share = (below as f64 + 0.5) / (means.len() + 1) as f64;
    let normal = Normal::standard();
    let shift = normal.inverse_cdf(share);
    let cubes: f64 = values.iter().map(|v| (v - mean).powi(3)).sum();
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    if squares == 0.0 {
        return (mean, mean);
    }
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    let at = |p: f64| {
        let z = shift + normal.inverse_cdf(p);
        let q = normal.cdf(shift + z / (1.0 - acceleration * z));
        quantile(&means, q).expect("means")
    };
    (at(0.025), at(0.975))
}

/// The share of `trials` in which the interval of `n` seeds holds the mean, and how often it leaves the bounds.
fn coverage(of: &Population, n: u64, method: &Method, mean: f64, trials: u64) -> (f64, f64) {
    let (seeds, again) = (Draw::new(7), Draw::new(8));
    let (mut held, mut out) = (0, 0);
    for trial in 0..trials {
        let values: Vec<f64> = (0..n).map(|i| (of.draw)(&seeds, trial * n + i)).collect();
        let (low, high) = (method.1)(&values, of.bounds, again.fork(1, trial));
        held += u64::from(low <= mean && mean <= high);
        let above = matches!(of.bounds, Bounds::UpTo(most) if high > most);
        out += u64::from(low < 0.0 || above);
    }
    (held as f64 / trials as f64, out as f64 / trials as f64)
}

const TRANSFORMED: usize = 2;

#[test]
fn intervals_hold_the_mean_about_as_often_as_they_say() {
    let trials = 2000;
    // Four standard errors of a share of 0.95.
    let error = 4.0 * libm::sqrt(0.95 * 0.05 / trials as f64);
    for of in &POPULATIONS {
        let mean = truth(of);
        let (held, out) = coverage(of, 5, &METHODS[TRANSFORMED], mean, trials);
        assert_eq!(out, 0.0, "{}", of.name);
        // What five seeds of a skewed population miss is a large value that none of them had; no interval sees it. Of those tried,
        // this one misses least. The normal one is to be right.
        let least = if of.name.starts_with("normal") {
            0.95
        } else {
            0.85
        };
        assert!(held > least - error, "{}: {held}", of.name);
        let plain = coverage(of, 5, &METHODS[0], mean, trials).0;
        assert!(held > plain - error, "{}: {held}, t {plain}", of.name);
    }
}

/// Seeds are added until the interval is there: does it still hold the mean?
fn sequential(deviation: f64, within: f64, trials: u64) -> (f64, f64) {
    let draw = Draw::new(9);
    let (mut held, mut seeds) = (0, 0);
    for trial in 0..trials {
        let source = draw.fork(1, trial);
        let mut values: Vec<f64> = (0..5).map(|i| 1.0 + deviation * source.normal(i)).collect();
        let e = loop {
            let e = Estimate::within(&values, Bounds::Positive).expect("values");
            let half = e.half_width().expect("five values");
            let wanted = within * e.mean;
            if half <= wanted || values.len() >= 400 {
                break e;
            }
            let more = seeds_for(half, values.len(), wanted).unwrap_or(400);
            let most = (2 * values.len()).min(400);
            for i in values.len()..more.clamp(values.len() + 1, most) {
                values.push(1.0 + deviation * source.normal(i as u64));
            }
        };
        let (low, high) = e.bounds();
        held += u64::from(low <= 1.0 && 1.0 <= high);
        seeds += values.len();
    }
    (held as f64 / trials as f64, seeds as f64 / trials as f64)
}

#[test]
fn stopping_at_an_interval_costs_little_of_it() {
    let (held, seeds) = sequential(0.1, 0.04, 1000);
    assert!(held > 0.90, "{held}");
    // t(m - 1) 0.1 / sqrt(m) reaches 0.04 at 27.
    assert!((20.0..35.0).contains(&seeds), "{seeds}");
}

#[test]
#[ignore = "prints the table of docs/design/0082"]
#[expect(clippy::print_stdout, reason = "its purpose")]
fn print_the_coverage() {
    let trials = 4000;
    println!(
        "| population | seeds | {} |",
        METHODS.map(|m| m.0).join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(METHODS.len()));
    for of in &POPULATIONS {
        let mean = truth(of);
        for n in [2, 3, 5, 10, 30] {
            let cells = METHODS.map(|m| {
                let (held, out) = coverage(of, n, &m, mean, trials);
                if out > 0.0 {
                    format!("{:.1} ({:.0})", held * 100.0, out * 100.0)
                } else {
                    format!("{:.1}", held * 100.0)
                }
            });
            println!("| {} | {n} | {} |", of.name, cells.join(" | "));
        }
    }
    println!("\n| deviation | until | held | seeds |\n|---|---|---|---|");
    for (deviation, within) in [(0.05, 0.02), (0.1, 0.02), (0.1, 0.05), (0.3, 0.1)] {
        let (held, seeds) = sequential(deviation, within, trials);
        println!(
            "| {deviation} | {within} | {:.1} | {seeds:.0} |",
            held * 100.0
        );
    }
    assert!(t95(4) > 2.7);
}
