//! One bulk flow through a drop-tail link, beside what a Linux kernel did there.

#![expect(clippy::print_stdout, reason = "`--nocapture` shows the comparison")]

mod common;

use common::{Bottleneck, Pair};
use slackwater_core::{Draw, Duration, Instant};
use slackwater_transport::tcp::Config;

struct Result {
    goodput: f64,
    mean_srtt: f64,
    p95_srtt: f64,
    cwnd: (f64, f64),
}

/// What the emulator adds that the kernel was measured behind: a clock in user space releases a packet late, by a
/// millisecond at the median and by up to 11 at the 99th percentile under load. CUBIC and Reno do not care. BBR does:
/// packets that leave in a bunch raise its bandwidth and aggregation estimates, and with them its standing queue (at
/// a perfectly even link its mean RTT is 51 ms).
fn emulator_jitter() -> Box<dyn FnMut(u64) -> Duration> {
    let draw = Draw::new(5);
    Box::new(move |n| {
        let mean_ms = if draw.uniform(2 * n) < 0.003 {
            10.0
        } else {
            1.0
        };
        Duration::from_secs_f64(-mean_ms * 1e-3 * libm::log(1.0 - draw.uniform(2 * n + 1)))
    })
}

/// 12 Mbit/s of 1,504-byte opportunities, 40 ms RTT, 128 packets, 30 s.
fn run(name: &str) -> Result {
    let cfg = Config::default();
    let mut pair = Pair::new(&cfg, name, Duration::from_millis(20));
    pair.bottleneck = Some(Bottleneck {
        gap: Duration::from_millis(1),
        limit: 128,
    });
    pair.jitter = Some(emulator_jitter());
    pair.ends[0].set_bulk(true);
    let mut pair = pair.connected();
    let (mut srtt, mut cwnd) = (Vec::new(), Vec::new());
    for i in 1..=3000u64 {
        pair.run(Instant::from_millis(i * 10));
        let s = pair.ends[0].sample();
        srtt.push(s.srtt.as_millis_f64());
        cwnd.push(s.cwnd.0 as f64 / 1448.0);
    }
    let quantile = |v: &mut Vec<f64>, q: f64| {
        v.sort_by(f64::total_cmp);
        v[((v.len() - 1) as f64 * q) as usize]
    };
    let mean_srtt = srtt.iter().sum::<f64>() / srtt.len() as f64;
    let stats = pair.ends[0].stats();
    let r = Result {
        goodput: pair.ends[1].delivered() as f64 * 8.0 / 30.0 / 1e6,
        mean_srtt,
        p95_srtt: quantile(&mut srtt, 0.95),
        cwnd: (quantile(&mut cwnd, 0.05), quantile(&mut cwnd, 0.95)),
    };
    println!(
        "{name}: goodput {:.3} srtt mean {:.1} p95 {:.1} cwnd {:.0}..{:.0} drops {} {stats:?}",
        r.goodput, r.mean_srtt, r.p95_srtt, r.cwnd.0, r.cwnd.1, pair.drops
    );
    r
}

fn near(what: &str, ours: f64, kernel: f64, tolerance: f64) {
    let off = ours / kernel - 1.0;
    assert!(
        off.abs() <= tolerance,
        "{what}: {ours:.3} against {kernel} of the kernel ({:+.1} %)",
        off * 100.0
    );
}

#[test]
fn cubic_is_near_the_kernel() {
    let r = run("cubic");
    near("goodput", r.goodput, 11.554, 0.015);
    near("mean srtt", r.mean_srtt, 148.0, 0.08);
    near("p95 srtt", r.p95_srtt, 170.0, 0.06);
    near("cwnd p95", r.cwnd.1, 170.0, 0.06);
}

#[test]
fn reno_is_near_the_kernel() {
    let r = run("reno");
    near("goodput", r.goodput, 11.543, 0.015);
    near("mean srtt", r.mean_srtt, 126.0, 0.08);
    near("p95 srtt", r.p95_srtt, 164.0, 0.06);
    near("cwnd p95", r.cwnd.1, 168.0, 0.06);
}

#[test]
fn bbr_is_near_the_kernel() {
    let r = run("bbr");
    near("goodput", r.goodput, 11.279, 0.015);
    near("mean srtt", r.mean_srtt, 98.0, 0.08);
    near("p95 srtt", r.p95_srtt, 121.0, 0.06);
    near("cwnd p95", r.cwnd.1, 140.0, 0.06);
}
