use super::link::{Setup, run};

#[test]
fn marks_hold_the_queue_and_the_rate_follows_the_link() {
    for name in ["scream", "scream-webrtc"] {
        let o = run(&Setup::one(name));
        assert!(o.util > 0.9, "{name}: {}", o.util);
        assert!(o.p95 < 12.0 && o.p99 < 15.0, "{name}: {} {}", o.p95, o.p99);
        assert_eq!(o.loss, 0.0);
        for (from, to, link) in [(20.0, 40.0, 10.0), (50.0, 60.0, 25.0), (70.0, 80.0, 6.0)] {
            let mean = o.mean(0, from, to);
            assert!((0.9 * link..=1.01 * link).contains(&mean), "{name}: {mean}");
        }
    }
}

/// Without marks the queue delay itself holds the window below the delay target.
#[test]
fn without_marks_the_queue_stays_below_the_target() {
    for (name, target) in [("scream", 60.0), ("scream-webrtc", 100.0)] {
        let mut setup = Setup::steady(name, 10.0, 60);
        setup.scheme = None;
        let o = run(&setup);
        assert!(
            o.util > 0.7 && o.p95 < target,
            "{name}: {} {}",
            o.util,
            o.p95
        );
    }
}

#[test]
fn two_flows_share() {
    let mut setup = Setup::steady("", 10.0, 60);
    setup.flows = vec![("scream".into(), 0.0, 1.0), ("scream".into(), 0.0, 8.0)];
    let o = run(&setup);
    assert!(o.jain(30.0, 60.0) > 0.95, "{}", o.jain(30.0, 60.0));
}

#[test]
#[ignore = "prints what this toy gives"]
#[expect(clippy::print_stdout, reason = "it is for reading")]
fn table() {
    for name in ["scream", "scream-webrtc"] {
        for (low, high) in [(2, 10), (5, 20), (20, 50)] {
            let mut setup = Setup::one(name);
            setup.scheme = Some(slackwater_signal::MarkingScheme {
                low: slackwater_core::Duration::from_millis(low),
                high: slackwater_core::Duration::from_millis(high),
            });
            let o = run(&setup);
            setup.seconds = 50;
            let start = run(&setup);
            println!(
                "{name} {low}/{high}, 50 s: {:.1} % p95 {:.1} p99 {:.1}, at 10 {:.1}",
                start.util * 100.0,
                start.p95,
                start.p99,
                start.mean(0, 20.0, 40.0),
            );
            println!(
                "{name} {low}/{high}: {:.1} % p95 {:.1} p99 {:.1} loss {:.4}; at 10 {:.1}, at 25 {:.1}, at 6 {:.1}",
                o.util * 100.0,
                o.p95,
                o.p99,
                o.loss,
                o.mean(0, 20.0, 40.0),
                o.mean(0, 50.0, 60.0),
                o.mean(0, 70.0, 80.0)
            );
        }
    }
}
