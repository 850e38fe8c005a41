use super::*;

/// A forecaster after `ticks` with so many arrivals each.
fn after(ticks: usize, arrivals: Option<f64>) -> Forecaster {
    let mut f = Forecaster::default();
    repeat(&mut f, ticks, arrivals);
    f
}

fn repeat(f: &mut Forecaster, ticks: usize, arrivals: Option<f64>) {
    for _ in 0..ticks {
        f.tick(arrivals);
    }
}

fn zero(f: &Forecaster) -> f64 {
    f.belief[0]
}

#[test]
fn tables_are_probabilities() {
    let t = Tables::shared();
    // Steps from a bin in the middle add up to one.
    let steps = t.step[0] + 2.0 * t.step[1..].iter().sum::<f64>();
    assert!((steps - 1.0).abs() < 1e-6, "{steps}");
    for (h, table) in t.counts.iter().enumerate() {
        assert_eq!(table.len(), reach(h + 1) * BINS);
        for b in 0..BINS {
            let column = || table.iter().skip(b).step_by(BINS);
            assert!(column().zip(column().skip(1)).all(|(x, y)| x <= y));
            assert!(column().all(|p| (0.0..=1.0 + 1e-6).contains(p)));
        }
        // Counts of 30 and more in a tick are left out: they are rare below half the highest rate.
        assert!((table[(reach(h + 1) - 1) * BINS + BINS / 2] - 1.0).abs() < 1e-4);
    }
}

/// What the authors' own classes answer (keithw/sprout at c838669, `Process` and `ProcessForecastInterval` with the model
/// file of `src/examples`) to the same ticks. Their normal distribution is a table in steps of 0.06 packets a second, so
/// that means differ by as much a tick.
#[test]
fn forecasts_are_those_of_the_authors_program() {
    let check = |f: &Forecaster, counts: [u16; AHEAD], mean: f64, outage: f64| {
        assert_eq!(f.cautious(), counts);
        assert!((f.mean() - mean).abs() < 1.0, "{} {mean}", f.mean());
        assert!((zero(f) - outage).abs() < 1e-3, "{} {outage}", zero(f));
    };
    let mut f = Forecaster::default();
    check(&f, [1, 1, 3, 4, 5, 6, 8, 9], 501.946, 0.00389);
    repeat(&mut f, 100, Some(10.0));
    check(&f, [5, 12, 20, 27, 35, 43, 51, 59], 505.789, 0.0);
    let mut paused = f.clone();
    repeat(&mut paused, 5, None);
    check(&paused, [5, 11, 18, 25, 32, 39, 46, 53], 505.637, 0.0);
    repeat(&mut f, 2, Some(0.0));
    check(&f, [2, 6, 10, 13, 17, 21, 25, 29], 314.697, 0.0);
    repeat(&mut f, 23, Some(0.0));
    check(&f, [0; AHEAD], 0.806, 0.97031);
    repeat(&mut f, 50, None);
    check(&f, [0, 1, 1, 2, 3, 4, 5, 7], 232.507, 0.02311);

    let mut slow = after(100, Some(1.0));
    check(&slow, [0, 0, 0, 1, 1, 2, 3, 4], 68.005, 0.0);
    slow.tick(Some(20.0));
    check(&slow, [1, 4, 8, 11, 14, 18, 21, 24], 243.788, 0.0);
    slow.tick(Some(20.0));
    check(&slow, [3, 8, 13, 18, 23, 28, 33, 39], 348.603, 0.0);
    // More than the model ends at.
    repeat(&mut slow, 100, Some(35.0));
    check(&slow, [13, 29, 46, 64, 81, 99, 117, 134], 989.087, 0.0);

    let mut varied = Forecaster::default();
    let mut x = 1_u32;
    for _ in 0..300 {
        x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        varied.tick(Some(f64::from((x >> 16) % 13)));
    }
    check(&varied, [2, 6, 9, 13, 17, 21, 25, 29], 298.792, 0.0);
}

#[test]
fn a_forecast_grows_with_time_and_stays_below_the_mean() {
    for per_tick in 0..=20 {
        let f = after(100, Some(f64::from(per_tick)));
        let counts = f.cautious();
        assert!(counts.windows(2).all(|w| w[0] <= w[1]), "{counts:?}");
        for (h, &count) in counts.iter().enumerate() {
            let mean = f.mean() * TICK_SECONDS * (h + 1) as f64;
            assert!(f64::from(count) <= mean, "{per_tick} {h}: {count} {mean}");
        }
        // A higher rate never forecasts less.
        let more = after(100, Some(f64::from(per_tick + 1))).cautious();
        assert!(counts.iter().zip(more).all(|(a, b)| *a <= b), "{per_tick}");
    }
}

#[test]
fn silence_forecasts_nothing_and_a_pause_says_nothing() {
    let mut f = after(100, Some(10.0));
    let before = f.mean();
    let mut last = f.cautious();
    for _ in 0..25 {
        f.tick(Some(0.0));
        let now = f.cautious();
        assert!(
            now.iter().zip(last).all(|(a, b)| *a <= b),
            "{now:?} {last:?}"
        );
        last = now;
    }
    assert_eq!(last, [0; AHEAD]);
    // An unjudged tick spreads the belief: the forecast falls, the mean stays.
    let mut idle = after(100, Some(10.0));
    let sure = idle.cautious();
    repeat(&mut idle, 10, None);
    assert!((idle.mean() - before).abs() < 5.0);
    assert!(idle.cautious()[4] < sure[4]);
}

#[test]
fn any_count_leaves_a_belief() {
    let mut f = after(200, Some(0.0));
    for k in [0.0, 1e-9, 0.3, 29.5, 400.0, 1e9, f64::MAX, f64::NAN, -3.0] {
        f.tick(Some(k));
        let total: f64 = f.belief.iter().sum();
        assert!((total - 1.0).abs() < 1e-9, "{k}: {total}");
        assert!(f.mean().is_finite());
    }
}
