//! What the radio network reports, and what silence says.

use super::*;

#[test]
fn round_trips_that_the_radio_network_reports_are_those_of_the_session() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::default());
    session(&mut vaqm, 0.0);
    for (at, rtt) in [(0, 17), (1_000, 57)] {
        let report = RanReport::PathDelay {
            at: ms(at),
            ue: UE,
            qfi: None,
            rtt: Duration::from_millis(rtt),
        };
        vaqm.on_report(ms(at), &report);
    }

    let shown = shown(&vaqm);
    assert_eq!(shown.average, Duration::from_millis(57));
    // A second is as good as for ever to the average; the path is the least of its window of ten.
    assert_eq!(shown.path, Duration::from_millis(17));
    assert_eq!(vaqm.round_trips().count(), 2);
}

#[test]
fn a_rate_that_the_radio_network_offers_holds_for_half_a_second() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::with_mode(Mode::Int));
    session(&mut vaqm, 0.0);
    let mut number = 0;
    let mut limit = |vaqm: &mut Vaqm<Packet>, at: u64| {
        number += 1;
        vaqm.on_packet(ms(at), Direction::Down, UE, datagram(1, number));
        shown(vaqm).rate.map(Rate::as_mbps)
    };
    assert_eq!(limit(&mut vaqm, 5), None, "nothing was offered");

    // 12.5 ms of its queue are wanted: what is missing, or too much, goes within 60 ms.
    for (at, queue_ms, want) in [(10, 0.0, 12.083), (20, 12.5, 10.0), (30, 42.5, 5.0)] {
        let report = RanReport::Available {
            at: ms(at),
            ue: UE,
            qfi: None,
            rate: Rate::from_mbps(10.0),
            backlog: Bytes((queue_ms * 1_250.0) as u64),
        };
        vaqm.on_report(ms(at), &report);
        let got = limit(&mut vaqm, at + 2).expect("an offer limits");
        assert!((got - want).abs() < 0.01, "{queue_ms} ms: {got} Mbit/s");
    }

    assert!(limit(&mut vaqm, 529).is_some());
    assert_eq!(limit(&mut vaqm, 532), None, "it is too old");
}

#[test]
fn what_a_silent_flow_had_in_flight_is_forgotten_with_it() {
    let mut download = Download::new(VaqmConfig::default(), 20, 20, 5 * MSS);
    download.silent = true;
    for _ in 0..3 {
        download.send();
    }
    let shown_before = download.shown();
    assert_eq!((shown_before.flows, shown_before.flight), (1, Bytes(4_500)));

    let mut vaqm = download.vaqm;
    while let Some(at) = vaqm.next_timer().filter(|at| *at < ms(100_000)) {
        assert_eq!(vaqm.release(at), None);
    }
    let shown = shown(&vaqm);
    assert_eq!((shown.flows, shown.flight), (0, Bytes::ZERO));
}

#[test]
fn where_no_acknowledgment_comes_a_packet_leaves_after_two_round_trips() {
    let config = with_law(Mode::Window, LawConfig::None);
    // 8 Mbit/s and 150 ms: 225 kB may fly, and the rest waits here.
    let mut download = Download::new(config, 8, 150, 400_000);
    download.run(3_000);
    let before = download.shown();
    assert!(before.packets > 50, "{before:?}");
    let round_trip = before.average.as_millis();
    assert!((200..260).contains(&round_trip), "{before:?}");

    download.silent = true;
    let mut upload = |ms: u64| {
        for _ in 0..ms / 10 {
            download.run(10);
            // What the UE sends meanwhile acknowledges nothing new.
            let again = Segment {
                ack: SeqNum(download.acked),
                payload: 1_000,
                flags: TcpFlags::ACK,
                ..Segment::default()
            };
            let up = segment(Direction::Up, again);
            let _ = download
                .vaqm
                .on_packet(download.time(), Direction::Up, UE, up);
        }
        download.vaqm.stats().pushed
    };
    assert_eq!(upload(2 * round_trip - 20), 0);
    assert_eq!(upload(50), 1);
}
