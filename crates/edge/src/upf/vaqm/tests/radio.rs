//! Queues: what may stand in the radio, and what waits here.

use super::*;

/// The least and the largest average of a second in which the server keeps 290 kB on their way.
fn averages(mode: Mode) -> [u64; 2] {
    let config = with_law(mode, LawConfig::None);
    let mut download = Download::new(config, 20, 20, 40_000);
    // The window grows by a tenth of what the link carries: so much more than the link's rate comes in meanwhile.
    for _ in 0..1_000 {
        download.window += 250;
        download.run(1);
    }

    let averages = [(); 1_000].map(|()| {
        download.run(1);
        download.shown().average.as_millis()
    });
    let shown = download.shown();
    assert_eq!(shown.target.as_millis(), 40, "{shown:?}");
    let least = averages.iter().min().expect("there are a thousand");
    let largest = averages.iter().max().expect("there are a thousand");
    [*least, *largest]
}

#[test]
fn the_articles_rates_let_the_radios_queue_drain() {
    // All of it in the radio is a round trip of 116 ms.
    let [least, _] = averages(Mode::Measure);
    assert!(least > 100, "{least}");
    let [_, largest] = averages(Mode::Literal);
    assert!(largest < 60, "{largest}");
    // This one tries for more rate again and again.
    let [least, _] = averages(Mode::Drain);
    assert!(least < 40, "{least}");
}

#[test]
fn a_session_holds_no_more_than_its_memory_and_the_longest_queue_pays() {
    let config = VaqmConfig {
        memory: Bytes(60_000),
        ..with_law(Mode::Window, LawConfig::None)
    };
    let mut vaqm: Vaqm<Packet> = Vaqm::new(config);
    session(&mut vaqm, 1.0);
    for number in 0..100 {
        vaqm.on_packet(ms(1), Direction::Down, UE, datagram(1, number));
        if number % 20 == 0 {
            vaqm.on_packet(ms(1), Direction::Down, UE, datagram(2, number));
        }
        assert!(shown(&vaqm).backlog <= Bytes(60_000));
    }

    assert_eq!(vaqm.held(), shown(&vaqm).backlog);
    let mut dropped = 0;
    while let Some((packet, _)) = vaqm.take_dropped() {
        assert_eq!(packet.flow, FlowId(1));
        dropped += 1;
    }
    assert_eq!(dropped, vaqm.stats().dropped);
    assert!(dropped > 40, "{dropped}");

    // The others leave at the session's rate.
    while let Some(at) = vaqm.next_timer().filter(|_| vaqm.held() > Bytes::ZERO) {
        while vaqm.release(at).is_some() {}
    }
    assert_eq!(vaqm.stats().passed + dropped, 105);
}

#[test]
fn all_sessions_together_hold_no_more_than_the_functions_memory() {
    let config = VaqmConfig {
        memory_total: Bytes(60_000),
        ..with_law(Mode::Window, LawConfig::None)
    };
    let mut vaqm: Vaqm<Packet> = Vaqm::new(config);
    session(&mut vaqm, 1.0);
    for number in 0..100 {
        vaqm.on_packet(ms(1), Direction::Down, UE, datagram(1, number));
        assert!(vaqm.held() <= Bytes(60_000));
    }
    assert!(vaqm.held() > Bytes(50_000));
}

#[test]
fn a_flood_is_restrained_after_twenty_intervals_and_not_before() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::with_mode(Mode::Window));
    session(&mut vaqm, 6.0);
    // Twice what the session may have. Its queue is four intervals of 40 ms long after 320 ms.
    let mut found = None;
    for at in 0..2_000 {
        vaqm.on_packet(ms(at), Direction::Down, UE, datagram(1, at as u32));
        while vaqm.release(ms(at)).is_some() {}
        while vaqm.take_dropped().is_some() {}
        if shown(&vaqm).unresponsive == 1 {
            found = found.or(Some(at));
        }
    }
    let found = found.expect("it never answers");
    assert!((1_120..1_300).contains(&found), "{found}");
}

/// Beside another flow a flood may have half of what the session carries; while there is no queue it may try for more.
#[test]
fn a_restrained_flood_has_the_share_of_one_flow() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::with_mode(Mode::Window));
    session(&mut vaqm, 6.0);
    let (mut since, mut passed) = (None, 0);
    for at in 0..3_000 {
        if at % 20 == 0 {
            let report = RanReport::PathDelay {
                at: ms(at),
                ue: UE,
                qfi: None,
                rtt: Duration::from_millis(20),
            };
            vaqm.on_report(ms(at), &report);
            vaqm.on_packet(ms(at), Direction::Down, UE, datagram(2, at as u32));
        }
        let verdict = vaqm.on_packet(ms(at), Direction::Down, UE, datagram(1, at as u32));
        while vaqm.release(ms(at)).is_some() {}
        while vaqm.take_dropped().is_some() {}
        if shown(&vaqm).unresponsive == 1 {
            let since = *since.get_or_insert(at);
            passed += u32::from(at < since + 100 && !matches!(verdict, Verdict::Drop(_)));
        }
    }
    // 100 ms at 3 Mbit/s are 25 packets; 20 ms may come at once, and each round trip adds a twentieth.
    assert!((24..40).contains(&passed), "{passed} after {since:?}");
}

#[test]
fn each_mark_is_counted_whether_its_packet_waited_or_not() {
    for mode in [Mode::Window, Mode::Direct] {
        let mut download = Download::new(VaqmConfig::with_mode(mode), 20, 20, 300_000);
        download.run(2_000);
        let marked = download.marked.len() as u64;
        assert!(marked > 10, "{mode:?}: {marked}");
        assert_eq!(download.vaqm.stats().marked, marked, "{mode:?}");
    }
}

#[test]
fn states_are_told_apart_by_name() {
    let names = State::ALL.map(State::name);
    assert!(names.iter().all(|name| !name.is_empty()));
    assert!(names[0] != names[1] && names[1] != names[2] && names[2] != names[0]);
}

/// The direct variant signals by the first fit segment once its time has come.
#[test]
fn no_signal_falls_on_a_segment_that_opens_or_ends_a_connection() {
    let first_mark = |flags| {
        let mut download = Download::new(VaqmConfig::with_mode(Mode::Direct), 20, 20, 300_000);
        download.flags = flags;
        while download.marked.is_empty() {
            download.run(1);
            assert!(download.now < 30_000, "the queue is far above the target");
        }
        download.marked[0]
    };
    let due = first_mark(None);
    for flags in [TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST] {
        let flags = flags.with(TcpFlags::ACK);
        assert_eq!(first_mark(Some((due, flags))), due + 1, "{flags:?}");
    }
}
