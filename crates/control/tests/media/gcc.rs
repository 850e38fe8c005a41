use super::link::{Setup, run};

#[test]
fn delay_holds_the_rate_below_the_link_and_a_drop_is_answered() {
    for (name, p95) in [("gcc", 25.0), ("gcc-remb", 80.0)] {
        let o = run(&Setup::one(name));
        assert!((0.55..0.95).contains(&o.util), "{name}: {}", o.util);
        assert!(o.p95 < p95, "{name}: {}", o.p95);
        for (from, to, link) in [(20.0, 40.0, 10.0), (70.0, 80.0, 6.0)] {
            let mean = o.mean(0, from, to);
            assert!((0.7 * link..=1.01 * link).contains(&mean), "{name}: {mean}");
        }
    }
}

/// Two probes find a link of four first rates in less than a second; growth of 8 % would take 18 s.
#[test]
fn probes_find_the_link() {
    let setup = Setup::steady("gcc", 8.0, 10);
    let o = run(&setup);
    assert!(o.mean(0, 1.0, 3.0) > 5.5, "{}", o.mean(0, 1.0, 3.0));
    let o = run(&Setup::steady("gcc-remb", 8.0, 10));
    assert!(o.mean(0, 1.0, 3.0) < 3.0, "{}", o.mean(0, 1.0, 3.0));
}

#[test]
fn two_flows_share() {
    let mut setup = Setup::steady("", 8.0, 120);
    setup.flows = vec![("gcc".into(), 0.0, 1.0), ("gcc".into(), 0.0, 6.0)];
    let o = run(&setup);
    assert!(o.jain(90.0, 120.0) > 0.85, "{}", o.jain(90.0, 120.0));
}

#[test]
fn a_short_buffer_costs_few_packets() {
    for name in ["gcc", "gcc-remb"] {
        let mut setup = Setup::steady(name, 8.0, 60);
        setup.limit_ms = 40.0;
        let o = run(&setup);
        assert!(
            o.loss < 0.06 && o.util > 0.5,
            "{name}: {} {}",
            o.loss,
            o.util
        );
    }
}

#[test]
#[ignore = "prints what this toy gives"]
#[expect(clippy::print_stdout, reason = "it is for reading")]
fn table() {
    for name in ["gcc", "gcc-remb"] {
        for feedback_ms in [0, 50, 100] {
            let mut setup = Setup::one(name);
            setup.feedback_ms = feedback_ms;
            let o = run(&setup);
            println!(
                "{name} feedback {feedback_ms}: {:.1} % p95 {:.1} p99 {:.1} loss {:.4}; at 10 {:.1}, at 25 {:.1}, at 6 {:.1}",
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
