use slackwater_scenario::Scenario;

use super::*;

fn run(text: &str) -> RunResult {
    let scenario = Scenario::parse("test", text, std::path::Path::new(".")).expect("a scenario");
    slackwater_lab::run::run_scenario(&scenario, 1, &mut |_| {
        slackwater_lab::run::Control::Continue
    })
    .expect("a run")
}

const TWO: &str = r#"
    name = "two"
    duration = "8 s"
    [path]
    rtt = "20 ms"
    [link]
    kind = "rate"
    rate = "12 Mbit/s"
    queue = { kind = "fifo", limit = "50 packets" }
    [[flow]]
    controller = "reno"
    [[flow]]
    controller = "reno"
    start = "2 s"
    stop = "6 s"
    [record]
    interval = "1 ms"
"#;

#[test]
fn measures_agree_with_each_other() {
    let run = run(TWO);
    let span = (2.0, 6.0);
    assert_eq!(life(&run, 1), span);
    let sum = rate(&run, 0, span) + rate(&run, 1, span);
    // 1,448 of 1,504 bytes of each opportunity are payload.
    assert!((sum - 12.0 * 1448.0 / 1504.0).abs() < 0.3, "{sum}");
    let used = utilisation(&run, span).expect("a link has a capacity");
    assert!(used > 0.95 && used <= 1.0, "{used}");
    let c = capacity(&run, span).expect("as above");
    assert!((c - 12.0 * 1504.0 / 1500.0).abs() < 0.1, "{c}");
    let queue = hol(&run, 0, span);
    assert_eq!(queue.len(), 4000);
    let q = quantiles(&queue).expect("samples");
    assert!(q.max <= 51.0 && q.p50 > 1.0);
    let share = share_at_most(&queue, q.p50).expect("samples");
    assert!((0.5..0.6).contains(&share), "{share}");
    let jain = jain_common(&run, &[0, 1], span).expect("two flows");
    assert!((0.5..=1.0).contains(&jain));
    assert!(jain_1s(&run, &[0, 1], span).expect("seconds") <= 1.0);
    assert!(jain_life(&run, &[0, 1]).expect("two flows") <= 1.0);
    assert!(drops(&run, 0).0 > 0);
    assert_eq!(drops_in(&run, 0, all(&run)) as u64, drops(&run, 0).0);
}

#[test]
fn flows_settle_when_their_rates_meet() {
    let mut run = run(TWO);
    // Rates by hand: flow 1 has nothing for half a second after 2 s, then as much as flow 0.
    for (i, f) in run.records.flows.iter_mut().enumerate() {
        for (k, bin) in f.bins.iter_mut().enumerate() {
            bin.delivered = if i == 1 && (20..25).contains(&k) {
                0
            } else {
                10_000
            };
        }
        f.bins
            .resize(80, slackwater_results::record::Bin::default());
    }
    let settled = settling(&run, &[0, 1], 2.0, 6.0, 0.2);
    // A stretch of half a second with one empty tenth is 20 % short, 11 % below the mean of both.
    assert!(
        settled.is_some_and(|s| (s - 0.4).abs() < 0.11),
        "{settled:?}"
    );
    assert_eq!(settling(&run, &[0, 1], 2.0, 2.4, 0.2), None);
}
