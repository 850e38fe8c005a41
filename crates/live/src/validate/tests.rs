use slackwater_results::metrics::summary::{FlowSummary, Quantiles};

use super::*;
use crate::validate::cases::{CASES, CONTROLLERS};

/// A run with this goodput, these delays and this many retransmissions.
fn run(mbps: f64, delay_ms: f64, retransmits: u64) -> RunSummary {
    let mut flow = FlowSummary {
        goodput_mbps: mbps,
        retransmits,
        ..FlowSummary::default()
    };
    flow.queue_delay_ms = Quantiles::of(vec![delay_ms; 9]);
    RunSummary {
        flows: vec![flow],
        duration_s: 25.0,
        ..RunSummary::default()
    }
}

fn group(pairs: &[(RunSummary, Option<RunSummary>)]) -> Group {
    let pairs = pairs.iter().enumerate().map(|(i, (s, k))| Pair {
        seed: i as u64 + 1,
        simulated: s.clone(),
        kernel: k.clone(),
        late_ms: k.as_ref().map(|_| [0.03, 0.1]),
        voids: 0,
    });
    Group {
        case: "constant".to_owned(),
        title: String::new(),
        controller: "reno".to_owned(),
        grain_ms: 1.0,
        pairs: pairs.collect(),
    }
}

fn row(rows: &[Row], what: &str) -> Row {
    let found = rows.iter().find(|r| r.what == what);
    found.cloned().unwrap_or_else(|| panic!("no {what}"))
}

#[test]
fn a_difference_holds_within_its_own_interval_and_the_floor() {
    // Delays differ by 9, 10 and 11 ms: the mean by 10, and t(2) = 4.303 times 1 / sqrt(3) is 2.48.
    let pairs = [(50.0, 59.0), (50.0, 60.0), (50.0, 61.0)];
    let pairs = pairs.map(|(s, k)| (run(10.0, s, 40), Some(run(10.04, k, 44))));
    let rows = judge(&group(&pairs));
    let delay = row(&rows, "queue delay p50");
    assert!((delay.difference + 10.0).abs() < 1e-9);
    // A bucket at 60 ms is 0.47 ms wide.
    assert!(
        (delay.tolerance() - 2.484 - 1.11 - 0.469).abs() < 1e-3,
        "{delay:?}"
    );
    assert!(!delay.holds);
    // 0.4 % of goodput and four packets lie within the floors, though no repeat differs from the others.
    let goodput = row(&rows, "goodput");
    assert!(goodput.holds && (goodput.tolerance() - 0.0502).abs() < 1e-9);
    assert!(row(&rows, "retransmissions").holds);
    // What neither has makes no row.
    assert!(
        rows.iter()
            .all(|r| r.what != "marks" && r.what != "HoL p50")
    );
}

#[test]
fn a_void_repeat_counts_for_neither_side() {
    let pairs = [
        (run(10.0, 50.0, 0), Some(run(10.0, 50.0, 0))),
        (run(99.0, 99.0, 0), None),
    ];
    let rows = judge(&group(&pairs));
    let goodput = row(&rows, "goodput");
    assert_eq!((goodput.simulated.n, goodput.kernel.n), (1, 1));
    assert_eq!(goodput.simulated.mean, 10.0);
    assert_eq!(goodput.interval, None);
    assert!(judge(&group(&[(run(1.0, 1.0, 0), None)])).is_empty());
}

#[test]
fn every_case_can_be_had_and_runs_each_seed_with_each_controller() {
    let plan = Plan {
        cases: Vec::new(),
        controllers: Vec::new(),
        repeats: 2,
        length: Some(Duration::from_secs(8)),
        at_once: 3,
    };
    let suite = Suite::new(&plan).expect("cases");
    let cases = CASES.len() - suite.skipped.len();
    // A recorded trace may be missing, and nothing else.
    assert!(suite.skipped.iter().all(|s| s.case == "recorded"));
    assert_eq!(suite.runs(), cases * CONTROLLERS.len() * 2);
    for (group, variants) in &suite.groups {
        assert!(
            group.grain_ms > 0.0 && group.grain_ms < 5.0,
            "{}",
            group.case
        );
        for variant in variants {
            let s = &variant.scenario;
            assert_eq!(s.duration, Duration::from_secs(8));
            assert!(s.flows.iter().all(|f| f.controller == group.controller));
        }
    }
    let total: u64 = suite.runs() as u64 * 8;
    assert_eq!(suite.length(), Duration::from_secs(total) / 3);
}

#[test]
fn names_that_are_none_are_refused() {
    let mut plan = Plan {
        cases: vec!["constant".to_owned(), "cnstant".to_owned()],
        controllers: Vec::new(),
        repeats: 1,
        length: None,
        at_once: 1,
    };
    let error = |plan: &Plan| Suite::new(plan).expect_err("a wrong name").to_string();
    assert!(error(&plan).starts_with("found \"cnstant\", expected one of constant, buffer-1mb"));
    plan.cases.clear();
    plan.controllers.push("vegas".to_owned());
    assert_eq!(
        error(&plan),
        "found \"vegas\", expected one of reno, cubic, bbr"
    );
}

#[test]
fn an_interruption_keeps_the_pairs_that_are_whole() {
    let pair = |mbps| {
        let pairs = group(&[(run(mbps, 1.0, 0), None)]).pairs;
        Ok::<_, LiveError>(pairs[0].clone())
    };
    let groups = || vec![group(&[]), group(&[])];
    let stop = || Err(LiveError::Interrupted { code: 130 });

    let done = gathered(
        groups(),
        vec![(0, pair(1.0)), (1, stop()), (0, stop())].into_iter(),
    );
    let done = done.expect("an interruption is no error");
    assert_eq!(done.interrupted, Some(130));
    assert_eq!(
        [done.groups[0].pairs.len(), done.groups[1].pairs.len()],
        [1, 0]
    );

    let done = gathered(groups(), vec![(0, pair(1.0)), (1, pair(2.0))].into_iter());
    assert_eq!(done.expect("whole").interrupted, None);
    let broken = Err(LiveError::Usage("no device".to_owned()));
    assert!(gathered(groups(), vec![(0, stop()), (1, broken)].into_iter()).is_err());
}
