//! Behaviour of the whole function, packet by packet.

mod bench;
mod hold;
mod laws;
mod paper;
mod windows;

use slackwater_core::Packet;

use super::ack_manager::Tcp;
use super::*;
use bench::{Bench, UE, WINDOW, segment, us};

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

#[test]
fn an_idle_session_is_small() {
    let flow = size_of::<Flow<Packet>>() + size_of::<Tcp<Packet>>();
    assert!(flow < 1_536, "{flow}");
}
