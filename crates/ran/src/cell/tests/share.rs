//! How UEs share a slot.

use slackwater_core::Bytes;

use super::*;
use crate::mac::SharePolicy;

/// Bytes that each of three UEs got in the first slot of an LTE cell, of which the first wants `little`.
fn first_slot(share: SharePolicy, little: u16) -> [u64; 3] {
    let mut config = CellConfig::lte(10.0);
    config.share = share;
    let ues = (0..3).map(|_| ue(given(20), RlcConfig::um(Limit::Unlimited)));
    let mut cell = cell(&config, ues.collect());
    let mut out = CellOut::new();
    for k in 0..3 {
        let packets = if k == 0 { 1 } else { 20 };
        for n in 0..packets {
            let len = if k == 0 { little } else { 1500 };
            cell.enqueue(
                Instant::ZERO,
                Direction::Down,
                UeId(k),
                Qfi(0),
                packet(n, len),
                &mut out,
            );
        }
    }
    let before = [0, 1, 2].map(|k| backlog(&cell, k));
    cell.run_slot(Instant::ZERO, &mut out, &mut NoObserver);
    [0, 1, 2].map(|k| (before[k as usize] - backlog(&cell, k)).get())
}

fn backlog(cell: &Cell<Packet>, ue: u32) -> Bytes {
    cell.rlc_view(Instant::ZERO, Direction::Down, UeId(ue), BearerId(0))
        .backlog
}

#[test]
fn what_one_ue_does_not_need_of_its_part_goes_to_the_others() {
    let whole: u64 = first_slot(SharePolicy::WholeSlot, 100).iter().sum();
    let [a, b, c] = first_slot(SharePolicy::Split(8), 100);
    assert!((100..110).contains(&a), "the packet and its headers: {a}");
    // Groups of three blocks and a header a UE are what may be lost.
    assert!(a + b + c > whole * 9 / 10, "{a} {b} {c} of {whole}");
    assert!(b.abs_diff(c) < whole / 8, "{b} and {c}");
    // Where each could fill its part, the parts are equal.
    let [a, b, c] = first_slot(SharePolicy::Split(8), 1500);
    assert!(
        a.abs_diff(b) < whole / 8 && b.abs_diff(c) < whole / 8,
        "{a} {b} {c}"
    );
}

#[test]
fn a_polled_cell_gives_a_slot_to_one_ue_alone() {
    // The first is served or another is, but never two: what one does not need is lost.
    for little in [100, 1500] {
        let parts = first_slot(SharePolicy::Split(1), little);
        let served = parts.iter().filter(|p| **p > 0).count();
        assert_eq!(served, 1, "{parts:?}");
        let parts = first_slot(SharePolicy::Split(2), little);
        let served = parts.iter().filter(|p| **p > 0).count();
        assert_eq!(served, 2, "{parts:?}");
    }
}
