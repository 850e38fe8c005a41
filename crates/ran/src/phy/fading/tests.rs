use super::*;
use slackwater_core::Duration;

fn config(profile: Profile) -> FadingConfig {
    FadingConfig {
        profile,
        ..FadingConfig::default()
    }
}

fn fleet(config: &FadingConfig, n: u64) -> Vec<Fading> {
    let plan = FadingPlan::new(config);
    (0..n)
        .map(|ue| Fading::new(&plan, Draw::new(11).fork(6, ue)))
        .collect()
}

/// Cells far enough apart to be independent draws of place: 997 is prime to the 64 of a wavelength.
fn cells() -> impl Iterator<Item = u32> {
    (0..400u32).map(|k| k * 997)
}

#[test]
fn mean_power_is_one_in_every_profile() {
    for &profile in Profile::ALL {
        let (mut sum, mut n) = (0.0, 0.0);
        for f in fleet(&config(profile), 150) {
            for cell in cells() {
                let (re, im) = f.response_of::<16>(cell);
                for b in [0, 6, 12] {
                    sum += f64::from(re[b] * re[b] + im[b] * im[b]);
                    n += 1.0;
                }
            }
        }
        assert!(
            (sum / n - 1.0).abs() < 0.02,
            "{}: {}",
            profile.word(),
            sum / n
        );
    }
}

/// TS 36.101, table B.2.1-1; TR 38.901, 7.7.3: the listed delays are in units of the spread; TS 38.101-4, annex B.2.
#[test]
fn the_taps_of_a_profile_spread_as_its_table_says() {
    for (profile, spread) in [
        (Profile::Epa, 45.0),
        (Profile::Eva, 357.0),
        (Profile::Etu, 991.0),
        (Profile::TdlA, 1.0),
        (Profile::TdlB, 1.0),
        (Profile::TdlC, 1.0),
        (Profile::TdlD, 1.0),
        (Profile::TdlE, 1.0),
        (Profile::TdlA30, 30.0),
        (Profile::TdlB100, 100.0),
        (Profile::TdlC300, 300.0),
    ] {
        let (taps, _) = profile.taps();
        // No tap is above the strongest, to which the table's powers relate.
        assert!(taps.iter().all(|tap| tap.power_db <= 0.0), "{taps:?}");

        let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
            taps.iter()
                .map(|tap| from_db(tap.power_db) * of(tap.delay))
                .sum()
        };
        let power = moment(&|_| 1.0);
        let mean = moment(&|delay| delay) / power;
        let got = libm::sqrt(moment(&|delay| (delay - mean) * (delay - mean)) / power);
        // EPA's is 43 ns, which its table rounds up.
        let within = if profile == Profile::Epa { 0.06 } else { 0.01 };
        assert!(
            (got / spread - 1.0).abs() < within,
            "{}: {got}",
            profile.word()
        );
    }
}

#[test]
fn envelopes_without_line_of_sight_are_rayleigh() {
    for profile in [
        Profile::Flat,
        Profile::Epa,
        Profile::Eva,
        Profile::TdlA,
        Profile::TdlC300,
    ] {
        let mut powers: Vec<f32> = Vec::new();
        for f in fleet(&config(profile), 200) {
            for cell in cells() {
                let (re, im) = f.response_of::<16>(cell);
                powers.push(re[4] * re[4] + im[4] * im[4]);
            }
        }
        // The power of a Rayleigh envelope is exponential.
        for level in [0.05_f32, 0.2, 0.7, 1.5, 3.0] {
            let share = powers.iter().filter(|&&p| p < level).count() as f64 / powers.len() as f64;
            let expected = 1.0 - libm::exp(-f64::from(level));
            assert!(
                (share - expected).abs() < 0.02,
                "{} {level}: {share} {expected}",
                profile.word()
            );
        }
    }
}

#[test]
fn a_line_of_sight_steadies_the_envelope() {
    // TDL-D: a steady -0.2 dB over -9.2 dB of other taps is 10 dB down in 0.4 % of places, a Rayleigh one in 9.5 %.
    let mut deep = 0;
    for f in fleet(&config(Profile::TdlD), 50) {
        deep += cells()
            .filter(|&cell| {
                let (re, im) = f.response_of::<16>(cell);
                re[4] * re[4] + im[4] * im[4] < 0.1
            })
            .count();
    }
    assert!(deep < 50 * 400 / 100, "{deep}");
}

#[test]
fn correlation_along_the_path_is_clarkes() {
    for profile in [Profile::Flat, Profile::Epa] {
        let ues = fleet(&config(profile), 1500);
        for lag in [0u32, 6, 12, 24, 39, 64] {
            let (mut sum, mut n) = (0.0, 0.0);
            for f in &ues {
                for start in [0u32, 100_003, 7_000_001] {
                    let (a, b) = (f.response_of::<16>(start), f.response_of::<16>(start + lag));
                    sum += f64::from(a.0[6] * b.0[6] + a.1[6] * b.1[6]);
                    n += 1.0;
                }
            }
            // J0(2 pi d / wavelength).
            let expected = libm::j0(core::f64::consts::TAU * f64::from(lag) / CELLS_PER_WAVE);
            assert!(
                (sum / n - expected).abs() < 0.04,
                "{} {lag}: {} {expected}",
                profile.word(),
                sum / n
            );
        }
    }
}

#[test]
fn correlation_over_frequency_is_the_profiles() {
    let c = config(Profile::Eva);
    let ues = fleet(&c, 3000);
    let taps: Vec<(f64, f64)> = taps::EVA
        .iter()
        .map(|t| (t.delay * 1e-9, from_db(t.power_db)))
        .collect();
    let total: f64 = taps.iter().map(|t| t.1).sum();
    for apart in [1, 3, 8] {
        let (mut x, mut y) = (0.0, 0.0);
        for f in &ues {
            let (re, im) = f.response_of::<16>(12_345);
            // E[H(f) conj H(f + df)].
            x += f64::from(re[2] * re[2 + apart] + im[2] * im[2 + apart]);
            y += f64::from(im[2] * re[2 + apart] - re[2] * im[2 + apart]);
        }
        let df = apart as f64 * c.bandwidth_hz / 13.0;
        let sum = |g: &dyn Fn(f64) -> f64| {
            taps.iter()
                .map(|t| t.1 / total * g(core::f64::consts::TAU * df * t.0))
                .sum::<f64>()
        };
        let (ex, ey) = (sum(&libm::cos), sum(&libm::sin));
        let n = ues.len() as f64;
        assert!(
            (x / n - ex).abs() < 0.06 && (y / n - ey).abs() < 0.06,
            "{apart}: {} {} {ex} {ey}",
            x / n,
            y / n
        );
    }
}

#[test]
fn terminals_fade_apart() {
    let ues = fleet(&config(Profile::Epa), 400);
    let sum: f64 = ues
        .windows(2)
        .map(|w| {
            let (a, b) = (w[0].response_of::<16>(0), w[1].response_of::<16>(0));
            f64::from(a.0[6] * b.0[6] + a.1[6] * b.1[6])
        })
        .sum();
    assert!((sum / 399.0).abs() < 0.12, "{sum}");
}

#[test]
fn fading_depends_on_time_alone() {
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let mut often = fleet(&config(Profile::Eva), 1).remove(0);
    let mut once = often.clone();
    for ms in 0..5000 {
        often.effective_sinr_db(10.0, at(ms));
    }
    assert_eq!(
        often.effective_sinr_db(12.0, at(5000)),
        once.effective_sinr_db(12.0, at(5000))
    );
    assert_eq!(
        often.effective_sinr_db(12.0, at(17)),
        once.effective_sinr_db(12.0, at(17))
    );
}

#[test]
fn decibels_by_table() {
    let plan = FadingPlan::new(&FadingConfig::default());
    for k in 1..2000 {
        let p = k as f32 * 0.003;
        assert!((f64::from(plan.db(p)) - 10.0 * libm::log10(f64::from(p))).abs() < 1e-4);
    }
    assert!((plan.db(0.0) + 150.0).abs() < 0.01);
}

#[test]
fn equal_subbands_keep_their_sinr() {
    for averaging in [Averaging::Information, Averaging::EESM] {
        let c = FadingConfig {
            averaging,
            ..config(Profile::Flat)
        };
        let mut f = fleet(&c, 1).remove(0);
        for mean in [-8.0, 0.0, 7.5, 16.0, 25.0] {
            let gain = f64::from(f.gains_db(3.3)[0]);
            let effective = f.effective_after(mean, 3.3, None);
            assert!(
                (effective - mean - gain).abs() < 0.01,
                "{mean} {gain} {effective}"
            );
        }
    }
}

#[test]
fn the_effective_sinr_is_that_of_the_formula() {
    let beta = 20.0;
    let c = FadingConfig {
        averaging: Averaging::EESM,
        ..config(Profile::Etu)
    };
    let mut f = fleet(&c, 1).remove(0);
    let mut g = fleet(&config(Profile::Etu), 1).remove(0);
    for step in 0..200 {
        let metres = f64::from(step) * 0.31;
        let mean = -5.0 + f64::from(step) * 0.15;
        let mut sinr = [0.0; MAX_SUBBANDS];
        let n = f.subband_sinr_db(mean, metres, &mut sinr);
        let over = |h: &dyn Fn(f64) -> f64| {
            sinr[..n].iter().map(|&s| h(from_db(s))).sum::<f64>() / n as f64
        };
        let eesm = -beta * libm::log(over(&|x| libm::exp(-x / beta)));
        let got = f.effective_after(mean, metres, Some(6));
        assert!((from_db(got) / eesm - 1.0).abs() < 0.005, "{got} {eesm}");
        let information = libm::exp2(over(&|x| libm::log2(1.0 + x))) - 1.0;
        let got = g.effective_after(mean, metres, None);
        assert!(
            (from_db(got) / information - 1.0).abs() < 0.002,
            "{got} {information}"
        );
        // Never above the mean of the sub-bands' powers, never below the worst.
        let worst = sinr[..n].iter().copied().fold(f64::INFINITY, f64::min);
        assert!(got >= worst - 1e-6 && from_db(got) <= over(&|x| x) * 1.001);
    }
}
