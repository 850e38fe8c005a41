//! What the function keeps of sessions and flows that went.

use slackwater_core::{Packet, Rate};

use super::*;

fn report(vaqm: &mut Vaqm<Packet>, now: Instant, flow: u32) {
    let report = RanReport::Congestion {
        at: now,
        flow: FlowId(flow),
        per_10k: 100,
    };
    vaqm.on_report(now, &report);
}

#[test]
fn flows_that_went_silent_are_forgotten() {
    let mut vaqm = Vaqm::new(VaqmConfig::default());
    let at = |flow: u32| Instant::from_millis(u64::from(flow));
    let all = 3 * FLOWS as u32;
    for flow in 0..all {
        report(&mut vaqm, at(flow), flow);
        assert!(vaqm.congestion.len() <= FLOWS);
    }
    // The last of them hold still.
    assert!(vaqm.congestion.contains_key(&FlowId(all - 100)));
}

#[test]
fn parameters_of_sessions_that_went_are_written_over() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::default());
    let own = |k: u32| VaqmConfig {
        fraction: 0.1 + f64::from(k) / 1e4,
        ..VaqmConfig::default()
    };
    for k in 0..1_000 {
        // Ten at a time, each with parameters that no other has.
        let ue = UeId(k % 10);
        if k >= 10 {
            let down = Session::Down { ue, gbr_flow: None };
            vaqm.on_session(Instant::ZERO, &down);
        }
        vaqm.configure(ue, None, own(k));
        let up = Session::Up {
            ue,
            gbr_flow: None,
            guaranteed: Rate::ZERO,
            maximum: Rate::ZERO,
        };
        vaqm.on_session(Instant::ZERO, &up);
    }
    assert_eq!(
        vaqm.configs.len(),
        11,
        "the function's and ten of their own"
    );
    for k in 990..1_000 {
        assert_eq!(vaqm.config_of(UeId(k % 10), None).fraction, own(k).fraction);
    }
}
