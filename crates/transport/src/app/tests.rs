use slackwater_core::{Bytes, Rate};

use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// All messages until `end`, with the time of each.
fn play(app: &mut App, end: Instant) -> Vec<(Instant, Message)> {
    let mut all = vec![];
    while let Some(t) = app.next_timer().filter(|t| *t < end) {
        if let Some(m) = app.on_timer(t) {
            all.push((t, m));
        }
    }
    all
}

#[test]
fn a_transfer_waits_for_the_one_before() {
    let config = TransfersConfig {
        min: Bytes(10_000),
        max: Bytes(2_000_000),
        gap: Duration::from_secs(5),
        count: Some(3),
        reconnect: true,
    };
    let mut app = App::new(
        &AppConfig::Transfers(config),
        at(1_000),
        Instant::MAX,
        Draw::new(1),
    );
    let first = app.on_timer(at(1_000)).expect("due");
    assert!((10_000..=2_000_000).contains(&first.bytes) && first.ends == Some(at(1_000)));
    assert_eq!(app.next_timer(), None);
    app.on_delivered(at(2_000));
    assert_eq!(app.next_timer(), Some(at(6_000)));
    app.on_timer(at(6_000)).expect("due");
    app.on_delivered(at(20_000));
    assert_eq!(app.next_timer(), Some(at(20_000)));
    app.on_timer(at(20_000)).expect("due");
    app.on_delivered(at(21_000));
    assert_eq!(app.next_timer(), None);
}

#[test]
fn transfer_sizes_are_uniform() {
    let config = TransfersConfig {
        min: Bytes(0),
        max: Bytes(999),
        gap: Duration::ZERO,
        count: None,
        reconnect: false,
    };
    let mut app = App::new(
        &AppConfig::Transfers(config),
        at(0),
        Instant::MAX,
        Draw::new(3),
    );
    let mut sum = 0;
    for _ in 0..20_000 {
        let m = app.on_timer(at(0)).expect("due");
        assert!(m.bytes <= 999);
        sum += m.bytes;
        app.on_delivered(at(0));
    }
    assert!((490..510).contains(&(sum / 20_000)), "{sum}");
}

#[test]
fn a_chunk_is_rate_times_on_and_chunks_keep_their_period() {
    for burst in [false, true] {
        let config = VideoConfig {
            rate: Rate::from_mbps(17.0),
            on: Duration::from_secs(2),
            period: Duration::from_secs(10),
            burst,
        };
        let mut app = App::new(
            &AppConfig::Video(config),
            at(500),
            Instant::MAX,
            Draw::new(1),
        );
        let all = play(&mut app, at(30_500));
        let total: u64 = all.iter().map(|m| m.1.bytes).sum();
        assert_eq!(total, 3 * 17_000_000 * 2 / 8);
        let starts: Vec<_> = all.iter().filter_map(|m| m.1.ends).collect();
        assert_eq!(starts, [at(500), at(10_500), at(20_500)]);
        let last = all.iter().filter(|m| m.0 < at(10_000)).map(|m| m.0).max();
        assert!(last < Some(at(2_500)));
    }
}

#[test]
fn frames_have_the_mean_rate_and_spread_they_are_told() {
    let config = FramesConfig {
        fps: 60.0,
        rate: Rate::from_mbps(50.0),
        size_cv: 0.1,
        interval_sigma: Duration::from_millis(1),
        clock: FrameClock::Gaps,
        lead: Duration::ZERO,
        random_phase: true,
    };
    let mut app = App::new(
        &AppConfig::Frames(config),
        at(0),
        Instant::MAX,
        Draw::new(9),
    );
    let all = play(&mut app, at(600_000));
    let n = all.len() as f64;
    let mbps = all.iter().map(|m| m.1.bytes as f64).sum::<f64>() * 8e-6 / 600.0;
    assert!((mbps - 50.0).abs() < 0.2, "{mbps}");
    let gaps: Vec<f64> = all
        .windows(2)
        .map(|w| (w[1].0 - w[0].0).as_millis_f64())
        .collect();
    let mean = gaps.iter().sum::<f64>() / (n - 1.0);
    let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    assert!(
        (mean - 1000.0 / 60.0).abs() < 0.05 && (sd - 1.0).abs() < 0.03,
        "{mean} {sd}"
    );
}

#[test]
fn a_constant_bit_rate_does_not_drift() {
    let config = CbrConfig {
        rate: Rate::from_mbps(1.0),
        piece: Bytes(1_250),
    };
    let mut app = App::new(&AppConfig::Cbr(config), at(0), at(1_000), Draw::new(1));
    let all = play(&mut app, Instant::MAX);
    assert_eq!(all.len(), 100);
    assert_eq!(all[99].0, at(990));
}
