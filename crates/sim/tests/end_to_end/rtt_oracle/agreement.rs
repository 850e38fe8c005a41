//! Connections over quinn that draw their spin bit (RFC 9000, 17.4) are told from those that spin. The test in `SpinFlow` was
//! made with seeds 1 to 24; these were not looked at before.

use std::ops::RangeInclusive;

use super::*;

const HELD_OUT: RangeInclusive<u64> = 25..=72;

/// What is done to the packets: title, share lost, share late, over a cell.
const DISTURBANCES: [(&str, f64, f64, bool); 6] = [
    ("undisturbed", 0.0, 0.0, false),
    ("1 % lost", 0.01, 0.0, false),
    ("1 % late", 0.0, 0.01, false),
    ("3 % lost and 3 % late", 0.03, 0.03, false),
    ("cell", 0.0, 0.0, true),
    ("cell, 1 % lost and late", 0.01, 0.01, true),
];

fn quinn((_, loss, late, cell): (&str, f64, f64, bool)) -> Setup {
    Setup {
        by: By::Quinn(QuicConfig::default()),
        loss,
        late,
        cell,
        ..Setup::bulk()
    }
}

/// Neither end draws: without a disturbance a bit that is drawn changes with every second packet, and one that spins once a round
/// trip, which is some seventy packets here.
fn spins(seed: u64) -> bool {
    let (_, notes) = quinn(DISTURBANCES[0]).observe(seed);
    let notes = notes.lock().unwrap();
    [Direction::Down, Direction::Up].into_iter().all(|way| {
        let of: Vec<bool> = notes
            .bits
            .iter()
            .filter(|b| b.1 == way)
            .map(|b| b.2)
            .collect();
        let changes = of.windows(2).filter(|w| w[0] != w[1]).count();
        assert!(of.len() > 1000, "seed {seed}: {} packets", of.len());
        changes * 8 < of.len()
    })
}

/// Of `seeds`, how many spin, how many of these are taken to, how many draw, and how many of these are found out.
fn tell(what: (&str, f64, f64, bool), seeds: RangeInclusive<u64>) -> [u32; 4] {
    let mut counts = [0; 4];
    for seed in seeds {
        let state = quinn(what).run(seed).1;
        let (kind, right) = if spins(seed) {
            (0, state == SpinState::Live)
        } else {
            (2, state == SpinState::Random)
        };
        counts[kind] += 1;
        counts[kind + 1] += u32::from(right);
    }
    counts
}

#[test]
fn drawn_bits_are_told_from_those_that_spin() {
    for what in [DISTURBANCES[3], DISTURBANCES[5]] {
        let [spin, live, draw, found] = tell(what, 25..=34);
        assert!(spin > 0 && draw > 0, "{spin} spin, {draw} draw");
        assert_eq!((live, found), (spin, draw), "{}", what.0);
    }
}

#[test]
#[ignore = "minutes; the table of docs/vaqm-measured.md"]
#[expect(clippy::print_stdout, reason = "the table of docs/vaqm-measured.md")]
fn drawn_bits_of_all_held_out_seeds() {
    for what in DISTURBANCES {
        let [spin, live, draw, found] = tell(what, HELD_OUT);
        println!("{}: {live} of {spin} spin, {found} of {draw} drawn", what.0);
    }
}
