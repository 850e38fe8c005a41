//! Packets that take another way while there is nothing to decide.

use super::*;

/// A download of which packets bypass the instance, where `bypasses`, and which fills the link, leaves it, and fills it again.
fn watched(mode: Mode, bypasses: bool) -> (Download, Vec<Snapshot>) {
    let mut download = Download::new(VaqmConfig::with_mode(mode), 20, 20, 20_000);
    session(&mut download.vaqm, 0.0);
    download.bypasses = bypasses.then_some(0);
    let mut shown = Vec::new();
    // From less than the link carries in a round trip to five times as much, and twice back.
    for step in 0..4_000 {
        download.window = match step % 2_000 {
            0..500 => 20_000,
            500..1_000 => download.window + 500,
            _ => download.window.saturating_sub(250).max(20_000),
        };
        download.run(1);
        shown.push(download.shown());
    }
    (download, shown)
}

/// What was learned is the same at each millisecond, and so is what was marked: while it rests, nothing is decided.
#[test]
fn an_instance_that_rests_learns_the_same_of_packets_that_take_another_way() {
    for mode in [
        Mode::Auto,
        Mode::Window,
        Mode::Direct,
        Mode::Int,
        Mode::Literal,
        Mode::Drain,
        Mode::Measure,
    ] {
        let (through, shown) = watched(mode, false);
        let (past, seen) = watched(mode, true);
        for (ms, (a, b)) in shown.iter().zip(&seen).enumerate() {
            assert_eq!(a, b, "{mode:?} after {ms} ms");
        }
        assert_eq!(through.marked, past.marked, "{mode:?}");
        assert_eq!(through.sent, past.sent, "{mode:?}");

        let (packets, passed) = (through.sent / MSS, past.bypasses.unwrap());
        assert!(passed > packets / 4, "{mode:?}: {passed} of {packets}");
        if mode != Mode::Measure {
            assert!(passed < packets * 2, "{mode:?}: it never acts");
        }
    }
}

#[test]
fn a_session_beyond_its_rate_or_with_a_guaranteed_flow_does_not_rest() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::default());
    assert!(!vaqm.rests(ms(1), UE), "there is none");
    session(&mut vaqm, 0.0);
    assert!(vaqm.rests(ms(1), UE));
    // The third packet overdraws 2 MTU, and is paid for a millisecond later.
    session(&mut vaqm, 12.0);
    let packet = datagram(1, 0);
    for n in 0..3 {
        assert!(vaqm.rests(ms(1), UE), "{n}");
        vaqm.on_bypassed(ms(1), Direction::Down, UE, &packet);
    }
    assert!(!vaqm.rests(ms(1), UE));
    assert!(vaqm.rests(ms(2), UE));

    session(&mut vaqm, 0.0);
    let guaranteed = Session::Up {
        ue: UE,
        gbr_flow: Some(slackwater_core::Qfi(1)),
        guaranteed: Rate::from_mbps(1.0),
        maximum: Rate::ZERO,
    };
    vaqm.on_session(ms(1), &guaranteed);
    assert!(!vaqm.rests(ms(1), UE));
}
