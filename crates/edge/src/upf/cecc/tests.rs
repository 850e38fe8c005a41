//! Behaviour of the whole function, packet by packet.

mod bench;
mod hold;
mod laws;
mod paper;
mod windows;

use slackwater_core::Packet;

use super::ack_manager::Tcp;
use super::*;
use bench::{Bench, UE, WINDOW, backlog, segment, us};

#[test]
fn what_waits_leaves_when_reports_cease() {
    for mode in [Mode::Hold, Mode::Credit, Mode::Paper] {
        let mut bench = Bench::connection(mode, 7, 6);
        bench.rbs = 400_000;
        bench.run(2_000);
        bench.data(600_000, 650_000);
        bench.dark(10_500);
        assert_eq!(bench.cecc.held(), Bytes::ZERO, "{mode:?}");
        assert_eq!(bench.down.len(), 6 * 70 + 36, "{mode:?}");
        assert_eq!(bench.cecc.report_stats().silences, 1);
        // The window is the UE's again, and everything is acknowledged.
        bench.ack(600_000, WINDOW);
        let last = segment(bench.up.last().unwrap());
        assert_eq!((last.ack.0, last.window), (600_000, WINDOW), "{mode:?}");
        // Three fresh reports, and it acts again.
        bench.run(4_000);
        assert!(!bench.cecc.snapshot(us(bench.now)).stale);
    }
}

/// Two queues that hold bytes throughout share what the cell carries. Here that is half of what its slots could.
#[test]
fn what_the_cell_carries_is_measured_over_100_ms_of_two_full_queues() {
    let mut bench = Bench::new(Mode::Credit);
    let nominal = bench.cecc.snapshot(us(bench.now)).share;
    // 3.7 of 5 slots of 145 kB: 107.3 kB each millisecond, a quarter of it from each queue.
    let mut shares = Vec::new();
    for k in 0..1_000 {
        bench.now += 1_000;
        for ue in 0..bench.ues {
            let left = 40_000_000 - k * 26_825;
            let report = backlog(us(bench.now - 200), ue, left);
            bench.cecc.on_report(us(bench.now), &report);
        }
        bench.drain();
        shares.push(bench.cecc.snapshot(us(bench.now)).share);
    }

    // One poll or two say little: a slot's share is anything from nothing to all.
    assert!(shares[..100].iter().all(|share| *share == nominal));
    assert!(shares[105] < nominal, "{nominal}");
    assert!((shares[999] - 0.5).abs() < 0.02, "{}", shares[999]);
}

#[test]
fn a_session_that_ends_leaves_nothing_behind() {
    for mode in [Mode::Hold, Mode::Credit] {
        let mut bench = Bench::connection(mode, 7, 6);
        bench.rbs = 400_000;
        bench.run(2_000);
        bench.data(600_000, 640_000);
        let down = Session::Down {
            ue: UE,
            gbr_flow: None,
        };
        bench.cecc.on_session(us(bench.now), &down);
        bench.drain();
        assert_eq!(bench.cecc.held(), Bytes::ZERO);
        assert_eq!(bench.down.len(), 6 * 70 + 29);
    }
}

/// Clocks that agree show the delay between gNB and UPF. With an empty queue the next flow is granted before its frame comes, so no slot is lost.
#[test]
fn beside_an_empty_queue_a_frame_is_granted_before_it_comes() {
    let mut bench = Bench::connection(Mode::Credit, 7, 8);
    assert_eq!(
        bench.cecc.snapshot(us(bench.now)).wired,
        Duration::from_micros(200)
    );
    let ahead = bench.cecc.stats().ahead;
    assert!(ahead > 0);
    assert!(bench.edge(7) >= 900_000, "{}", bench.edge(7));
}

#[test]
fn an_idle_session_is_small() {
    let flow = size_of::<Flow<Packet>>() + size_of::<Tcp<Packet>>();
    assert!(flow < 1_536, "{flow}");
}
