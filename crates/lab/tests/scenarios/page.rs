//! Pages in scenarios: what their times consist of.

use std::path::Path;

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

/// A page of 1 MB on an empty link of 100 Mbit/s with an RTT of 40 ms.
fn run(changes: &[(&str, &str)]) -> RunResult {
    let text = r#"
        name = "page"
        duration = "20 s"
        [path]
        rtt = "40 ms"
        jitter = "0 ms"
        [link]
        kind = "rate"
        rate = "100 Mbit/s"
        [[flow]]
        label = "page"
        app = { kind = "page", size = "1 MB", objects = 40, gap = "1 s" }
    "#;
    let mut scenario = Scenario::parse("t", text, Path::new(".")).expect("a good scenario");
    for (key, value) in changes {
        scenario = scenario.with(key, value).expect("a good change");
    }
    run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("it runs")
}

fn times(run: &RunResult) -> Vec<f64> {
    crate::transfer_times(run, 0)
}

#[test]
fn a_page_takes_its_round_trips() {
    let run = run(&[]);
    assert_eq!(run.layout.labels.len(), 6);
    assert_eq!(run.layout.labels[1], "page 2");
    let all = times(&run);
    assert!(all.len() > 8, "{} pages", all.len());
    // The document: two round trips to its first byte and one more for what the initial window does not hold. Then two
    // on new connections, and each of about seven objects on a connection asks for one. The link alone takes 80 ms.
    assert!(all.iter().all(|t| (450.0..800.0).contains(t)), "{all:?}");
    // Only the first connection's flow tells of pages, and every byte came.
    assert!(
        run.records.flows[1..]
            .iter()
            .all(|f| f.transfers.is_empty())
    );
    let payload: u64 = run.records.flows.iter().map(|f| f.delivered_payload).sum();
    let pages = payload as f64 / 1e6;
    assert!(
        (all.len() as f64..all.len() as f64 + 1.0).contains(&(pages + 0.01)),
        "{} pages of {pages}",
        all.len()
    );
}

#[test]
fn requests_and_round_trips_decide() {
    let median = |changes: &[(&str, &str)]| {
        let mut all = times(&run(changes));
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let base = median(&[]);
    let far = median(&[("path.rtt", "120 ms")]);
    assert!((2.2..3.2).contains(&(far / base)), "{base} and {far} ms");
    let lonely = median(&[("flow.app.connections", "1")]);
    assert!(lonely > 2.0 * base, "{base} and {lonely} ms");
    let at_once = median(&[
        ("flow.app.connections", "1"),
        ("flow.app.multiplexed", "true"),
    ]);
    assert!(at_once < base, "{base} and {at_once} ms");
}

#[test]
fn a_page_over_quic_takes_its_round_trips_too() {
    let quic = ("flow.transport", "quic");
    for (what, changes) in [
        ("six connections", vec![quic]),
        (
            "one connection",
            vec![
                quic,
                ("flow.app.connections", "1"),
                ("flow.app.multiplexed", "true"),
            ],
        ),
        ("loss", vec![quic, ("path.loss", "1 %")]),
    ] {
        let run = run(&changes);
        let all = times(&run);
        assert!(all.len() > 8, "{what}: {} pages", all.len());
        // As over TCP: one round trip for the handshake, one to the document's first byte, and so on.
        let most = if what == "loss" { 2_500.0 } else { 800.0 };
        assert!(
            all.iter().all(|t| (260.0..most).contains(t)),
            "{what}: {all:?}"
        );
        let payload: u64 = run.records.flows.iter().map(|f| f.delivered_payload).sum();
        let pages = payload as f64 / 1e6;
        assert!(
            (all.len() as f64..all.len() as f64 + 1.0).contains(&(pages + 0.01)),
            "{what}: {} pages of {pages}",
            all.len()
        );
    }
}

#[test]
fn a_page_goes_down() {
    let scenario = run(&[]).scenario;
    let error = scenario
        .with("flow.direction", "up")
        .expect_err("a page up");
    assert!(error.to_string().contains("\"down\""), "{error}");
}
