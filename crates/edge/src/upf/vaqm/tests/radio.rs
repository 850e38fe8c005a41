//! Queues: what may stand in the radio, and what waits here.

use super::*;

#[test]
fn the_articles_rate_lets_the_radios_queue_drain() {
    let config = with_law(Mode::Literal, LawConfig::None);
    let mut download = Download::new(config, 20, 20, 40_000);
    // The window grows by a tenth of what the link carries: so much more than the link's rate comes in meanwhile.
    for _ in 0..1_000 {
        download.window += 250;
        download.run(1);
    }

    // All of it in the radio would be a round trip of 116 ms. Its target is 40.
    let mut longest = Duration::ZERO;
    for _ in 0..1_000 {
        download.run(1);
        longest = longest.max(download.shown().average);
    }
    let shown = download.shown();
    assert_eq!(shown.target.as_millis(), 40, "{shown:?}");
    assert!(longest < Duration::from_millis(60), "{longest:?}");
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
