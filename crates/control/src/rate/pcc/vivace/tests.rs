use super::*;

fn vivace() -> Vivace {
    Vivace::new(Coefficients::VIVACE, 1448, Draw::new(7))
}

fn worth(rate: f64, utility: f64) -> Worth {
    Worth { rate, utility }
}

/// Pairs about 10 Mbit/s; `up[i]`: pair `i` speaks for the higher rate by `by`.
fn pairs(up: [bool; 3], by: f64) -> Vec<Worth> {
    let pair = |up: bool| {
        let better = if up { by } else { -by };
        [worth(10.5e6, 8.0 + better), worth(9.5e6, 8.0)]
    };
    up.into_iter().flat_map(pair).collect()
}

#[test]
fn the_start_doubles_while_the_utility_rises_and_halves_when_it_falls() {
    let mut v = vivace();
    assert!((v.rate - 1.12e6).abs() < 1.0);
    v.on_utilities(&[worth(1.12e6, 1.1)]);
    assert!((v.rate - 2.24e6).abs() < 1.0 && v.mode == Mode::Starting);
    v.on_utilities(&[worth(2.24e6, 0.9)]);
    assert!((v.rate - 1.12e6).abs() < 1.0 && v.mode == Mode::Probing);
}

#[test]
fn two_of_three_pairs_raise_the_rate_and_all_three_lower_it() {
    let at = |up| {
        let mut v = vivace();
        v.mode = Mode::Probing;
        v.rate = 10e6;
        v.on_utilities(&pairs(up, 0.3));
        (v.mode, v.up, v.rate)
    };
    let (mode, up, rate) = at([true, false, true]);
    assert!(mode == Mode::DecisionMade && up);
    // 5 % for the trial. The slope, (0.3 + 0.3) / 3 per Mbit/s of 2^20, gives 0.21 Mbit/s: raised to the least change.
    assert!((rate - 11e6).abs() < 1.0, "{rate}");
    assert_eq!(at([false, true, false]).0, Mode::Probing);
    let (mode, up, rate) = at([false; 3]);
    assert!(mode == Mode::DecisionMade && !up);
    assert!((rate - 9e6).abs() < 1.0, "{rate}");
}

#[test]
fn changes_grow_with_the_rounds_within_their_bound() {
    let mut v = vivace();
    v.mode = Mode::DecisionMade;
    v.up = true;
    v.rate = 100e6;
    v.latest = worth(95e6, 60.0);
    // A slope of 1 per Mbit/s: a change of 1 Mbit/s, twice the power of 1.2 in the third round.
    let change = |v: &mut Vivace, rounds, utility| {
        v.rounds = rounds;
        v.change(&[worth(100e6, utility)])
    };
    let unit = MEGABIT * MEGABIT / 5e6 * 5e6 / MEGABIT;
    let one = change(&mut v, 1, 60.0 + 5e6 / MEGABIT);
    assert!((one - unit).abs() < 1.0, "{one}");
    let three = change(&mut v, 3, 60.0 + 5e6 / MEGABIT);
    assert!((three / one - libm::pow(2.0, 1.2)).abs() < 1e-9);
    // The bound: 5 % of the rate, and 5 % more each time.
    assert!((change(&mut v, 1, 1000.0) - 5e6).abs() < 1e-3);
    assert!((change(&mut v, 1, 1000.0) - 10e6).abs() < 1e-3);
    assert!((change(&mut v, 1, 60.0) - LEAST_CHANGE).abs() < 1e-9);
    assert_eq!(v.allowance, 1.0);
}

#[test]
fn a_step_that_costs_utility_is_taken_back() {
    let mut v = vivace();
    v.mode = Mode::DecisionMade;
    v.up = true;
    v.rate = 11e6;
    v.latest = worth(10.5e6, 8.0);
    v.on_utilities(&[worth(11e6, 7.9)]);
    assert!(
        v.mode == Mode::Probing && (v.rate - 10.5e6).abs() < 1e-3,
        "{}",
        v.rate
    );
    // Higher and better: on, with the next round.
    v.mode = Mode::DecisionMade;
    v.rounds = 1;
    v.rate = 11e6;
    v.on_utilities(&[worth(11e6, 8.1)]);
    assert!(v.mode == Mode::DecisionMade && v.rounds == 2 && v.rate > 11.4e6);
}

#[test]
fn trials_lie_five_percent_about_the_rate_in_random_order() {
    let mut orders = Vec::new();
    for seed in 0..8 {
        let mut v = Vivace::new(Coefficients::VIVACE, 1448, Draw::new(seed));
        v.mode = Mode::Probing;
        v.rate = 10e6;
        v.smoothed = Duration::from_millis(40);
        v.rtt = v.smoothed;
        for _ in 0..=2 * PAIRS {
            v.open();
        }
        let rates: Vec<f64> = v.monitor.iter().map(|i| i.rate).collect();
        for pair in rates[..2 * PAIRS].chunks_exact(2) {
            assert!((pair[0] + pair[1] - 20e6).abs() < 1.0 && (pair[0] - 10e6).abs() > 0.49e6);
        }
        let last = v.monitor.current().expect("open");
        assert!(!last.useful && (last.rate - 10e6).abs() < 1.0);
        orders.push(rates[0] > rates[1]);
    }
    assert!(orders.contains(&true) && orders.contains(&false));
}
