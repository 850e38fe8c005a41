//! One table for both halves of `ebb` in the kernel: what [`Order`] says of a window, and what `crates/live/bpf/ebb_core.h` does with the
//! same order.
//!
//! After a meant change: `SLACKWATER_BLESS=1 cargo test -p slackwater-control --test ebb_vectors`.

#![expect(
    clippy::disallowed_methods,
    reason = "the table is a file, the other half a program"
)]

use std::fmt::Write as _;
use std::process::Command;

use slackwater_control::phy::ebb::Order;
use slackwater_core::{Bytes, Draw, Duration, Rate};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../live/bpf/tests");
/// Rows that are drawn, beside those at the edges.
const DRAWN: u64 = 400;

/// Limit, pace in bytes/s, how long it grows and age in us, bytes sent, segments in flight, bytes of a segment : the window.
fn row(out: &mut String, [limit, pace, grows, age, sent, in_flight, mss]: [u64; 7]) {
    let order = Order {
        steers: true,
        limit,
        pace: Rate::from_bps(8 * pace),
        grows: Duration::from_micros(grows),
        window: Bytes(0),
    };
    let old = Duration::from_micros(age);
    let window = order.segments(old, sent, in_flight as u32, mss as u32);
    let _ = writeln!(
        out,
        "{limit} {pace} {grows} {age} {sent} {in_flight} {mss} : {window}"
    );
}

fn made() -> String {
    let mut out = String::new();
    let most = u64::MAX / 8;
    let edges = [
        [0, 0, 0, 0, 0, 0, 1448],
        [1447, 0, 0, 0, 0, 0, 1448],
        [1448, 0, 0, 0, 0, 0, 1448],
        [0, 0, 0, 0, 1, 9, 1448],
        [0, 1_448_000, 10_000, 1_000, 0, 9, 1448],
        [0, 1_448_000, 10_000, 999, 0, 9, 1448],
        [0, 1_448_000, 10_000, 300_000, 0, 9, 1448],
        [0, 1_448_000, 50_000, 300_000, 0, 9, 1448],
        [u64::MAX, 0, 0, 0, 0, 5, 1448],
        [u64::MAX, most, 50_000, 50_000, 0, 5, 1448],
        [0, most, 50_000, 50_000, 0, 5, 1448],
        [u64::MAX, 0, 0, 0, u64::MAX, 5, 1448],
        [100, 0, 0, 0, 0, 5, 0],
        [0, 0, 0, 0, 0, u64::from(u32::MAX), 1448],
        [1 << 40, 0, 0, 0, 1 << 20, 1 << 20, 536],
    ];
    for edge in edges {
        row(&mut out, edge);
    }
    let draw = Draw::new(19);
    for i in 0..DRAWN {
        let below = |what: u64, end: u64| draw.fork(what, i).bits(0) % end;
        let mss = [536, 1448, 8948][below(0, 3) as usize];
        let sent = below(1, 1 << 36);
        // On both sides of the limit.
        let limit = (sent + below(2, 400 * mss)).saturating_sub(100 * mss);
        let (pace, grows, age) = (below(4, 20_000_000), below(5, 50_000), below(6, 60_000));
        row(
            &mut out,
            [limit, pace, grows, age, sent, below(3, 500), mss],
        );
    }
    out
}

#[test]
fn the_table_is_what_an_order_says() {
    let (made, file) = (made(), format!("{FOLDER}/ebb_vectors.txt"));
    if std::env::var_os("SLACKWATER_BLESS").is_some() {
        std::fs::write(&file, &made).expect("the table can be written");
    }
    let kept = std::fs::read_to_string(file).expect("the table is there");
    assert_eq!(kept, made);
}

#[test]
fn the_kernels_half_agrees_with_the_table() {
    let program =
        std::env::temp_dir().join(format!("slackwater-ebb-replay-{}", std::process::id()));
    let built = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(format!("{FOLDER}/ebb_replay.c"))
        .status();
    let Ok(built) = built else {
        eprintln!("skipped: no C compiler (cc) to build crates/live/bpf/tests/ebb_replay.c with");
        return;
    };
    assert!(
        built.success(),
        "crates/live/bpf/tests/ebb_replay.c compiles"
    );
    let table = std::fs::File::open(format!("{FOLDER}/ebb_vectors.txt")).expect("it is there");
    let replayed = Command::new(&program)
        .stdin(table)
        .output()
        .expect("the program runs");
    let _ = std::fs::remove_file(&program);
    let said = String::from_utf8_lossy(&replayed.stdout);
    let wrong = String::from_utf8_lossy(&replayed.stderr);
    assert!(replayed.status.success(), "{said}{wrong}");
    let rows = made().lines().count();
    assert_eq!(said.trim(), format!("{rows} rows agree"), "{wrong}");
}
