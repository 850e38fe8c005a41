//! Named scenarios as text: the window in packets at the end of each round, one line a controller.
//!
//! A change in any controller shows here as a changed line. `INSTA_UPDATE=always cargo test` accepts it.

use std::fmt::Write as _;

use slackwater_control::{Config, build, names};
use slackwater_core::{Draw, Duration, Instant};

use crate::bottleneck::{Bottleneck, MSS, Path};

/// Every controller over `path` for `rounds` rounds, each `every` rounds printed.
fn table(path: Path, rounds: u64, every: usize) -> String {
    let mut out = String::new();
    for (name, _) in names() {
        let cfg = Config::new(MSS as u32, Draw::new(1));
        let mut b = Bottleneck::new(build(name, &cfg).expect("a listed name builds"), path);
        write!(out, "{name:16}").expect("a String takes everything");
        for row in b.run_rounds(rounds).iter().skip(every - 1).step_by(every) {
            let mark = match row.recovery {
                slackwater_control::Recovery::Open => ' ',
                slackwater_control::Recovery::Timeout => '!',
                _ => '*',
            };
            write!(out, "{:4}{mark}", row.cwnd).expect("a String takes everything");
        }
        writeln!(
            out,
            "| {} ms, {} drops, {} timeouts",
            row_ms(&b),
            b.drops,
            b.timeouts
        )
        .expect("a String takes everything");
    }
    out
}

fn row_ms<C: slackwater_control::Controller>(b: &Bottleneck<C>) -> u64 {
    b.row().at.since(Instant::ZERO).as_millis()
}

#[test]
fn slow_start_to_a_loss_at_100_packets() {
    // 40 packets fit the path and 60 the buffer.
    let path = Path {
        buffer: 60,
        ..Path::KERNEL
    };
    insta::assert_snapshot!(table(path, 48, 3));
}

#[test]
fn an_application_that_needs_ten_packets() {
    let path = Path {
        app: Some(Duration::from_millis(4)),
        ..Path::KERNEL
    };
    insta::assert_snapshot!(table(path, 60, 4));
}

#[test]
fn the_round_trip_time_doubles() {
    let path = Path {
        step: Some((Instant::from_millis(2000), Duration::from_millis(80))),
        ..Path::KERNEL
    };
    insta::assert_snapshot!(table(path, 60, 4));
}
