use super::*;
use crate::phy::fading::Profile;
use crate::phy::pathloss::{Sight, Tr38901};
use slackwater_schema::field::Field as _;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn channel(config: &ChannelConfig) -> Channel {
    Channel::new(config, Draw::new(2).fork(1, 0))
}

#[test]
fn the_default_budget_is_ns3s() {
    // 30 - 17 dBm a block, 38.6 + 60 dB at 100 m, -174 + 52.6 + 9 dBm of noise.
    let mut c = channel(&ChannelConfig::default());
    assert!(
        (c.sinr_db(at(0)) - 26.86).abs() < 0.01,
        "{}",
        c.sinr_db(at(0))
    );
    // 7 dB less power, 4 dB less noise.
    assert!((c.ul_sinr_db(at(0)) - (26.86 - 3.0)).abs() < 0.01);
    assert!((c.ul_sinr_db_over(at(0), 5) - c.ul_sinr_db(at(0)) - 10.0).abs() < 1e-9);
    assert_eq!(
        (c.given_mcs(at(0)), c.given_cqi(at(0)), c.given_bler()),
        (None, None, None)
    );
}

#[test]
fn margins_and_losses_come_off() {
    let worse = ChannelConfig {
        downlink: Budget {
            interference_margin_db: 3.0,
            other_loss_db: 20.0,
            antenna_gain_db: 15.0,
            ..Budget::DOWNLINK
        },
        ..ChannelConfig::default()
    };
    let plain = channel(&ChannelConfig::default()).sinr_db(at(0));
    assert!((channel(&worse).sinr_db(at(0)) - (plain - 8.0)).abs() < 1e-9);
}

#[test]
fn a_given_series_holds_and_repeats() {
    let config = ChannelConfig {
        given: Some(Given::McsSeries(vec![
            (at(10), 4),
            (at(20), 28),
            (at(35), 9),
        ])),
        ..ChannelConfig::default()
    };
    let mut c = channel(&config);
    let seen = [0, 10, 19, 20, 34, 35, 9_000].map(|ms| c.given_mcs(at(ms)));
    assert_eq!(seen, [4, 4, 4, 28, 28, 9, 9].map(Some));
    // Back in time, and many rows ahead.
    assert_eq!(
        [c.given_mcs(at(25)), c.given_mcs(at(0)), c.given_mcs(at(50))],
        [28, 4, 9].map(Some)
    );
    let mut c = channel(&ChannelConfig {
        given_repeat: Some(Duration::from_millis(40)),
        bler: Some(0.1),
        ..config
    });
    let seen = [5, 25, 39, 40, 59, 60, 79, 4_015].map(|ms| c.given_mcs(at(ms)));
    assert_eq!(seen, [4, 28, 9, 4, 4, 28, 9, 4].map(Some));
    assert_eq!(c.given_bler(), Some(0.1));
}

#[test]
fn other_given_kinds() {
    let given = |g| {
        channel(&ChannelConfig {
            given: Some(g),
            ..ChannelConfig::default()
        })
    };
    assert_eq!(given(Given::FixedMcs(17)).given_mcs(at(5)), Some(17));
    let mut cqi = given(Given::CqiSeries(vec![(at(0), 7), (at(9), 3)]));
    assert_eq!(
        (cqi.given_cqi(at(9)), cqi.given_mcs(at(9))),
        (Some(3), None)
    );
    let mut sinr = given(Given::SinrSeries(vec![(at(0), 12.5), (at(9), -1.0)]));
    assert_eq!((sinr.sinr_db(at(8)), sinr.sinr_db(at(9))), (12.5, -1.0));
    // The uplink is modelled all the same.
    assert!((sinr.ul_sinr_db(at(9)) - 23.86).abs() < 0.01);
}

#[test]
#[should_panic(expected = "not in the order of time")]
fn a_series_out_of_order_is_refused() {
    channel(&ChannelConfig {
        given: Some(Given::McsSeries(vec![(at(10), 4), (at(5), 2)])),
        ..ChannelConfig::default()
    });
}

#[test]
fn jumps_are_sharp_and_motion_is_smooth() {
    let mut steps = channel(&ChannelConfig {
        mobility: Mobility::RandomSteps {
            min_m: 60.0,
            max_m: 600.0,
            period: Duration::from_secs(2),
        },
        ..ChannelConfig::default()
    });
    for k in 0..50 {
        let (first, last) = (
            steps.sinr_db(at(2000 * k)),
            steps.sinr_db(at(2000 * k + 1999)),
        );
        assert_eq!(first, last);
        let d = steps.distance(at(2000 * k));
        let expected = 26.86 - 30.0 * libm::log10(d / 100.0);
        assert!((first - expected).abs() < 0.01, "{d}");
    }
    let drive = ChannelConfig {
        mobility: Mobility::Waypoints(vec![
            (at(0), Position::new(50.0, 0.0)),
            (at(20_000), Position::new(350.0, 0.0)),
        ]),
        ..ChannelConfig::default()
    };
    let mut c = channel(&drive);
    let mut last = c.sinr_db(at(0));
    for ms in 1..20_000 {
        let now = c.sinr_db(at(ms));
        let d = 50.0 + 0.015 * ms as f64;
        assert!(
            (now - (26.86 - 30.0 * libm::log10(d / 100.0))).abs() < 0.02,
            "{ms}"
        );
        assert!(now < last && last - now < 0.01, "{ms} {last} {now}");
        last = now;
    }
    assert_eq!(c.speed(at(1)), 15.0);
}

#[test]
fn the_answer_does_not_depend_on_what_was_asked_before() {
    let config = ChannelConfig {
        mobility: Mobility::RandomWalk {
            start: Position::new(120.0, 0.0),
            speed_mps: 14.0,
            interval: Duration::from_secs(3),
            low: Position::new(30.0, -200.0),
            high: Position::new(500.0, 200.0),
        },
        path_loss: PathLoss::Umi(Tr38901 {
            condition: Sight::Drawn,
            ..Tr38901::example()
        }),
        carrier_ghz: 3.5,
        shadowing: ShadowingKind::Deployment,
        fading: Some(FadingConfig {
            profile: Profile::TdlC,
            ..FadingConfig::default()
        }),
        ..ChannelConfig::default()
    };
    let mut often = channel(&config);
    for ms in 0..30_000 {
        often.sinr_db(at(ms));
        if ms % 7 == 0 {
            often.ul_sinr_db(at(ms));
        }
    }
    for ms in [29_999, 12_345, 6_001, 77, 29_950] {
        let mut fresh = channel(&config);
        assert_eq!(often.sinr_db(at(ms)), fresh.sinr_db(at(ms)), "{ms}");
        assert_eq!(often.ul_sinr_db(at(ms)), fresh.ul_sinr_db(at(ms)), "{ms}");
    }
}

#[test]
fn directions_fade_apart_unless_reciprocal() {
    let mut config = ChannelConfig {
        fading: Some(FadingConfig::default()),
        ..ChannelConfig::default()
    };
    let gap = |c: &mut Channel, ms| c.sinr_db(at(ms)) - c.ul_sinr_db(at(ms));
    let mut fdd = channel(&config);
    let spread = (0..200)
        .map(|k| (gap(&mut fdd, 100 * k) - 3.0).abs())
        .fold(0.0, f64::max);
    assert!(spread > 3.0, "{spread}");
    config.reciprocal = true;
    let mut tdd = channel(&config);
    let spread = (0..200)
        .map(|k| (gap(&mut tdd, 100 * k) - 3.0).abs())
        .fold(0.0, f64::max);
    // The two directions average at different means.
    assert!(spread < 1.0, "{spread}");
}

#[test]
fn subbands_average_to_the_mean() {
    let config = ChannelConfig {
        fading: Some(FadingConfig {
            profile: Profile::Eva,
            ..FadingConfig::default()
        }),
        ..ChannelConfig::default()
    };
    let mut out = [0.0; 32];
    let (mut sum, mut n) = (0.0, 0.0);
    for ue in 0..60 {
        let mut c = Channel::new(&config, Draw::new(2).fork(1, ue));
        for k in 0..40 {
            let bands = c.subband_sinr_db(at(k * 777), &mut out);
            assert_eq!(bands, 13);
            for s in &out[..bands] {
                sum += crate::phy::math::from_db(s - 26.86);
                n += 1.0;
            }
        }
    }
    assert!((sum / n - 1.0).abs() < 0.06, "{}", sum / n);
    assert_eq!(
        channel(&ChannelConfig::default()).subband_sinr_db(at(0), &mut out),
        1
    );
}

#[test]
fn a_plan_that_shares_tables_gives_the_same_channel() {
    let here = ChannelConfig {
        fading: Some(FadingConfig::default()),
        ..ChannelConfig::default()
    };
    let there = ChannelConfig {
        mobility: Mobility::Static(Position::new(30.0, 40.0)),
        ..here.clone()
    };
    let plain = ChannelConfig {
        fading: None,
        ..there.clone()
    };
    let plan = ChannelPlan::new(&here);
    let draw = Draw::new(2).fork(1, 0);
    for config in [&there, &plain] {
        let mut shared = plan.alike(config).channel(draw);
        let mut own = channel(config);
        assert_eq!(shared.sinr_db(at(5_432)), own.sinr_db(at(5_432)));
        assert_eq!(shared.distance(at(0)), 50.0);
    }
}

/// What the channel calls steady is the same in both directions at every time before; only still and jumping terminals
/// without fading are steady at all.
#[test]
fn a_steady_channel_keeps_its_word() {
    let steps = Mobility::RandomSteps {
        min_m: 60.0,
        max_m: 600.0,
        period: Duration::from_secs(2),
    };
    let mut jumping = channel(&ChannelConfig {
        mobility: steps,
        ..ChannelConfig::default()
    });
    for start in [0, 700, 1_999, 2_000, 5_100] {
        let (down, up) = (jumping.sinr_db(at(start)), jumping.ul_sinr_db(at(start)));
        let until = jumping.steady_until();
        assert_eq!(until, at((start / 2_000 + 1) * 2_000));
        let last = Instant::from_nanos(until.as_nanos() - 1);
        assert_eq!(
            (jumping.sinr_db(last), jumping.ul_sinr_db(last)),
            (down, up)
        );
        assert_ne!(jumping.sinr_db(until), down);
    }
    let mut walking = channel(&ChannelConfig {
        mobility: Mobility::Waypoints(vec![
            (at(0), Position::at_distance(100.0)),
            (at(9_000), Position::at_distance(200.0)),
        ]),
        ..ChannelConfig::default()
    });
    walking.sinr_db(at(500));
    assert!(walking.steady_until() <= at(500));
}
