use super::*;

const RUN: &str = r#"{"seconds": 4, "cpu_s": 1.5, "cpu_all_s": 1.7, "peak_kib": 42544, "events": 138202, "blocks": 2745,
    "status_blocks": 0, "uplink_gap_ms": {"mean": 2, "p10": 1, "p50": 2, "p90": 3, "p99": 4, "max": 46},
    "flows": [{"goodput_mbps": 30, "dropped": 3, "recoveries": 2, "again": 1, "timeouts": 0,
    "hol_ms": {"mean": 60, "p10": 10, "p50": 50, "p90": 80, "p99": 90, "max": 91},
    "rtt_ms": {"mean": 100, "p10": 50, "p50": 90, "p90": 120, "p99": 130, "max": 131},
    "srtt_ms": null, "cwnd": null}]}"#;

const CHANNEL: &str =
    "kind,ue,time_s,value\ndistance,0,0,120\nmcs,0,0.5,27\nmcs,0,0.5,28\nmcs,0,2,14\n";

fn job(ues: u32) -> Job {
    Job {
        case: Case { ues, ..CASES[0] },
        place: 1,
        repeat: 1,
        seconds: 6,
    }
}

fn pair(goodput: f64, repeat: u32) -> Pair {
    let mut ns3: Ns3Run = serde_json::from_str(RUN).expect("what the program prints");
    ns3.flows[0].goodput_mbps = goodput;
    Pair {
        job: Job { repeat, ..job(1) },
        ns3,
        channel: CHANNEL.to_owned(),
    }
}

#[test]
fn the_replayed_channel_is_ns3s() {
    let s = scenario(&job(1), CHANNEL).expect("a channel of one UE");
    let Channel::McsSeries(series) = &s.ues[0].channel else {
        panic!("{:?}", s.ues[0].channel);
    };
    assert_eq!(series.points, [[0.5, 28.0], [2.0, 14.0]]);
    assert_eq!(s.duration, Duration::from_secs(6));

    let error = scenario(&job(2), CHANNEL).expect_err("no second UE");
    assert!(error.to_string().contains("no MCS of UE 1"), "{error}");
}

#[test]
fn every_case_names_a_controller_of_ours() {
    for case in CASES {
        let job = Job { case, ..job(1) };
        let s = scenario(&job, CHANNEL);
        if case.ues == 1 {
            let s = s.expect("a scenario");
            assert!(
                slackwater_control::registry::names()
                    .iter()
                    .any(|n| n.0 == s.flows[0].controller),
                "{case:?}"
            );
        }
        let arguments = job.arguments(Path::new("c.csv"));
        assert!(arguments.contains(&format!("--tcp={}", case.tcp)));
    }
}

#[test]
fn the_tolerance_is_what_one_more_repeat_would_differ_by() {
    // Two channels, two repeats each, deviations of +-1: variance (1 + 1 + 1 + 1) / 2.
    let groups = [vec![9.0, 11.0], vec![19.0, 21.0]];
    let expected = t95(2) * 2.0_f64.sqrt() * 1.25_f64.sqrt();
    let got = prediction(&groups).expect("repeats");
    assert!((got - expected).abs() < 1e-12, "{got} {expected}");
    assert_eq!(prediction(&[vec![9.0], vec![19.0]]), None);
}

#[test]
fn a_goodput_that_ns3_does_not_have_is_a_miss() {
    let go = || Control::Continue;
    let near = compare(&[pair(20.0, 1), pair(20.1, 2)], &go).expect("two runs");
    // Ours carries about 18 Mbit/s on this channel; a reference at 90 cannot be met.
    let far = compare(&[pair(90.0, 1), pair(90.1, 2)], &go).expect("two runs");
    assert_eq!(near[0].name, "reno: goodput");
    assert!(
        near[0].ours > 5.0 && near[0].ours < 35.0,
        "{}",
        near[0].ours
    );
    assert!(far[0].misses(), "{:?}", far[0]);
    assert!(far[0].reference_interval.is_some());
}
