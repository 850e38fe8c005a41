use slackwater_core::Duration;
use slackwater_signal::MarkingScheme;

use super::link::{Setup, run};

fn case(n: usize) -> MarkingScheme {
    let (low, high) = [(2, 10), (5, 20), (20, 50)][n - 1];
    MarkingScheme {
        low: Duration::from_millis(low),
        high: Duration::from_millis(high),
    }
}

fn name(kind: &str, profile: &str, n: usize, te: u32) -> String {
    let scheme = case(n);
    let (low, high) = (scheme.low.as_millis(), scheme.high.as_millis());
    format!("{kind}:{profile},te={te},low={low},high={high}")
}

/// The relations of table 2 that a toy can show, for the service of 60 ms.
#[test]
fn one_flow_keeps_the_queue_near_the_low_threshold() {
    for (n, least) in [(1, 0.82), (2, 0.82)] {
        let [conscious, standard, before] = ["al4s-c", "al4s-s", "l4s-cc"].map(|kind| {
            let mut setup = Setup::one(&name(kind, "paper", n, 60));
            setup.scheme = Some(case(n));
            run(&setup)
        });
        assert!(conscious.util >= standard.util, "case {n}");
        assert!(standard.util > before.util, "case {n}");
        for o in [&conscious, &standard] {
            assert!((least..0.90).contains(&o.util), "case {n}: {}", o.util);
            assert!(o.p95 < case(n).low.as_millis_f64() + 4.0, "{}", o.p95);
            assert!(o.p99 < case(n).high.as_millis_f64(), "{}", o.p99);
            let drop = |&(at, _): &(f64, f64)| (60.0..62.0).contains(&at);
            assert!(o.spikes.iter().all(drop), "{:?}", o.spikes.first());
        }
    }
}

#[test]
fn thresholds_above_the_service_cost_the_conscious_form_its_rate() {
    let [conscious, standard] = ["al4s-c", "al4s-s"].map(|kind| {
        let mut setup = Setup::one(&name(kind, "paper", 3, 25));
        setup.scheme = Some(case(3));
        run(&setup)
    });
    assert!(conscious.util < standard.util - 0.1);
}

/// Both branches of the published equations are multiplicative, so unequal rates stay unequal; a fair rate mends it.
#[test]
fn flows_of_unequal_start_converge_by_the_fair_share_alone() {
    let two = |profile: &str| {
        let mut setup = Setup::steady("", 10.0, 60);
        let kind = name("al4s-s", profile, 2, 60);
        setup.flows = vec![(kind.clone(), 0.0, 1.0), (kind, 0.0, 8.0)];
        run(&setup)
    };
    let (paper, ours) = (two("paper"), two("default"));
    assert!(paper.jain(50.0, 60.0) < 0.8, "{}", paper.jain(50.0, 60.0));
    assert!(ours.jain(15.0, 16.0) > 0.95, "{}", ours.jain(15.0, 16.0));
    assert!(ours.util > paper.util - 0.01);
    assert!(ours.p95 < paper.p95 + 3.0, "{} {}", ours.p95, paper.p95);
}

#[test]
fn a_late_joiner_gets_its_share() {
    let kind = name("al4s-c", "default", 2, 60);
    let mut setup = Setup::steady("", 10.0, 40);
    setup.flows = vec![(kind.clone(), 0.0, 2.0), (kind, 20.0, 0.5)];
    let o = run(&setup);
    assert!(o.mean(0, 15.0, 20.0) > 8.0);
    assert!(o.jain(30.0, 40.0) > 0.95);
}

/// A tail-drop queue of 50 ms without ECN: the published equations see nothing and lose every other packet.
#[test]
fn without_marks_the_guard_holds() {
    let blind = |profile: &str| {
        let mut setup = Setup::steady(&name("al4s-s", profile, 2, 60), 10.0, 60);
        setup.scheme = None;
        setup.limit_ms = 50.0;
        run(&setup)
    };
    let (paper, ours) = (blind("paper"), blind("default"));
    assert!(paper.loss > 0.3, "{}", paper.loss);
    assert!(ours.loss < 0.01, "{}", ours.loss);
    assert!(
        ours.util > 0.75 && ours.p95 < 45.0,
        "{} {}",
        ours.util,
        ours.p95
    );
}

#[test]
fn rare_feedback_costs_little() {
    let with = |feedback_ms| {
        let mut setup = Setup::steady(&name("al4s-c", "default", 2, 60), 10.0, 60);
        setup.feedback_ms = feedback_ms;
        run(&setup)
    };
    let (each, rare) = (with(0), with(100));
    assert!(rare.util > each.util - 0.08);
    assert!(rare.p95 < each.p95 + 6.0, "{} {}", rare.p95, each.p95);
}

#[test]
#[ignore = "prints table 2 as this toy gives it"]
#[expect(clippy::print_stdout, reason = "it is for reading")]
fn table_2() {
    for profile in ["paper", "default"] {
        for n in 1..=3 {
            for te in [25, 60, 150] {
                for kind in ["al4s-c", "al4s-s", "l4s-cc"] {
                    let mut setup = Setup::one(&name(kind, profile, n, te));
                    setup.scheme = Some(case(n));
                    let o = run(&setup);
                    println!(
                        "{profile:8} case {n} TE {te:3} {kind}: {:.1} % p95 {:.1} p99 {:.1} spikes at {:?}",
                        o.util * 100.0,
                        o.p95,
                        o.p99,
                        o.spikes.first().map(|s| s.0)
                    );
                }
            }
        }
    }
}
