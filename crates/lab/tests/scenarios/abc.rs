//! ABC's sender and router in scenarios (Goyal et al., NSDI 2020).

use std::path::{Path, PathBuf};

use slackwater_lab::arena::recorded;
use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

/// A link whose rate changes by up to eight times each half second, as the paper's cellular traces do, with the round trip
/// and the buffer of the authors' scripts.
const LINK: &str = r#"
    name = "abc"
    duration = "60 s"
    warmup = "5 s"
    [path]
    rtt = "100 ms"
    jitter = "0 ms"
    [link]
    kind = "series"
    points = [[0, 12], [0.5, 20], [1, 6], [1.5, 3], [2, 9], [2.5, 24], [3, 14], [3.5, 5], [4, 8], [4.5, 16]]
    queue = { kind = "fifo", limit = "250 packets" }
    [[flow]]
"#;

fn run(text: &str, changes: &[(&str, &str)]) -> RunResult {
    let mut scenario = Scenario::parse("t", text, Path::new(".")).expect("a good scenario");
    for (key, value) in changes {
        scenario = scenario.with(key, value).expect("a good change");
    }
    run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("it runs")
}

/// Utilisation, and the queue delay of the first flow: its median and its p95 in milliseconds.
fn seen(run: &RunResult) -> (f64, f64, f64) {
    let queue = run.summary.flows[0].queue_delay_ms.as_ref();
    let queue = queue.expect("it sent packets");
    let used = run.summary.utilisation.expect("a bottleneck");
    (used, queue.p50, queue.p95)
}

fn alone(controller: &str, law: &str) -> (f64, f64, f64) {
    let changes = [("flow.controller", controller), ("link.queue.law", law)];
    seen(&run(LINK, &changes))
}

/// The authors' baseline: their `exp.sh` runs CoDel with these two.
const CODEL: &str = r#"{ kind = "codel", target = "50 ms", interval = "100 ms", ecn = false }"#;

#[test]
fn abc_uses_a_varying_link_and_keeps_no_queue() {
    let codel = alone("cubic", CODEL);
    let tail = alone("cubic", "none");
    for name in ["abc", "abc-basic"] {
        let abc = alone(name, "abc");
        // The abstract's claim for cellular paths.
        assert!(abc.0 > 1.5 * codel.0, "{name} {abc:?}, CoDel {codel:?}");
        // Where the rate falls by five times at once, what is under way waits; it must not stand.
        assert!(abc.1 < 20.0, "{name} {abc:?}");
        assert!(abc.2 < 0.5 * tail.2, "{name} {abc:?}, drop-tail {tail:?}");
    }
}

#[test]
fn without_an_abc_router_the_second_window_keeps_the_sender_from_harm() {
    // 4.1: nobody brakes, and CUBIC's window is the smaller one.
    let cubic = alone("cubic", "none");
    let abc = alone("abc", "none");
    assert!((abc.0 / cubic.0 - 1.0).abs() < 0.1, "{abc:?} {cubic:?}");
    assert!(abc.2 < 1.3 * cubic.2, "{abc:?} {cubic:?}");
}

#[test]
fn flows_of_abc_share_a_link() {
    // 3.1.3: additive increase makes them equal, whatever each has at first. Slowly: a packet per round against marks that
    // fall on the flows as they come.
    let text = r#"
        name = "fair"
        duration = "300 s"
        [path]
        rtt = "50 ms"
        [link]
        kind = "rate"
        rate = "24 Mbit/s"
        queue = { kind = "fifo", limit = "500 packets", law = "abc" }
        [[flow]]
        controller = "abc"
        [[flow]]
        controller = "abc"
        start = "10 s"
        [[flow]]
        controller = "abc"
        start = "20 s"
    "#;
    let run = run(text, &[]);
    let rates: Vec<f64> = (0..3)
        .map(|i| crate::rate(&run, i, (60.0, 300.0)))
        .collect();
    let sum: f64 = rates.iter().sum();
    let jain = sum * sum / (3.0 * rates.iter().map(|r| r * r).sum::<f64>());
    assert!(jain > 0.95 && sum > 20.0, "{rates:?}");
}

#[test]
fn the_cells_queue_is_steered_by_what_the_cell_could_carry() {
    let text = r#"
        name = "cell"
        duration = "30 s"
        warmup = "5 s"
        [path]
        rtt = "40 ms"
        [cell]
        bandwidth = "10 MHz"
        rlc = { buffer = "750 kB" }
        [[ue]]
        channel = { kind = "mcs", mcs = 20 }
        [[flow]]
        controller = "abc-basic"
    "#;
    let (used, p50, p95) = seen(&run(text, &[("cell.rlc.law", "abc")]));
    let (_, full, _) = seen(&run(text, &[("flow.controller", "cubic")]));
    // eta is 0.98, a little of which are headers of the radio's.
    assert!(used > 0.9, "{used}");
    assert!(
        p50 < 0.5 * full && p95 < 80.0,
        "{p50}, {p95}, CUBIC {full} ms"
    );
}

/// The authors' experiment on recorded links (`run-exp.sh`): a table for docs/controllers-measured.md. `SLACKWATER_TRACES` names the
/// recordings; without them the test says so and passes.
#[test]
#[expect(
    clippy::print_stdout,
    reason = "says why it skips, and prints the table"
)]
fn abc_on_recorded_links() {
    let names = [
        "Verizon-LTE-short.down",
        "Verizon-LTE-short.up",
        "TMobile-LTE-short.down",
        "TMobile-LTE-short.up",
        "ATT-LTE-driving.down",
        "ATT-LTE-driving.up",
    ];
    let files: Vec<(&str, PathBuf)> = names
        .iter()
        .filter_map(|name| Some((*name, recorded(name).ok()?)))
        .collect();
    if files.is_empty() {
        println!("skipped: SLACKWATER_TRACES names no folder with these recordings");
        return;
    }
    println!("| recording | utilisation, p95 ms: `abc` | `abc-basic` | CUBIC + CoDel |");
    let mut more = 0.0;
    for (name, path) in &files {
        let link = format!(
            "{{ kind = \"trace\", file = {path:?}, queue = {{ kind = \"fifo\", limit = \"250 packets\" }} }}"
        );
        let alone = |controller: &str, law: &str| {
            let changes = [
                ("link", link.as_str()),
                ("duration", "120 s"),
                ("flow.controller", controller),
                ("link.queue.law", law),
            ];
            seen(&run(LINK, &changes))
        };
        let all = [
            alone("abc", "abc"),
            alone("abc-basic", "abc"),
            alone("cubic", CODEL),
        ];
        let cells: Vec<String> = all
            .iter()
            .map(|(used, _, p95)| format!("{used:.3}, {p95:.0}"))
            .collect();
        println!("| {name} | {} |", cells.join(" | "));
        more += all[1].0 / all[2].0 / files.len() as f64;
    }
    println!("`abc-basic` sends {more:.2} times what CUBIC behind CoDel does, in the mean");
    // The paper's abstract says 1.5; a miss of that is told in docs/controllers-measured.md.
    assert!(more > 1.1, "{more}");
}

#[test]
fn parameters_reach_the_router() {
    let law = |more: &str| format!("{{ kind = \"abc\"{more} }}");
    let (used, _, late) = alone("abc-basic", &law(""));
    let (less, ..) = alone("abc-basic", &law(", eta = 0.6"));
    assert!(less < 0.85 * used, "{less} {used}");
    let (_, _, early) = alone("abc-basic", &law(", threshold = \"5 ms\""));
    assert!(early < late, "{early} {late} ms");
}
