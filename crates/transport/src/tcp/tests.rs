//! What joins the parts, one mechanism a test, at two whole ends 20 ms apart. Longer scenarios are in `tests/scenarios.rs`.

#[path = "../../tests/common/mod.rs"]
mod common;

use slackwater_control::Recovery;
use slackwater_core::{Duration, Instant, Packet};

use self::common::{Fate, Pair, Script};
use super::{Config, Endpoint};

const OWD: Duration = Duration::from_millis(20);
const MSS: u64 = 1448;

fn pair(cfg: &Config) -> Pair {
    Pair::new(cfg, "reno", OWD)
}

/// Drops the packets of one end whose emission numbers are listed: the client's data begins with 2.
fn lose(numbers: &'static [u64]) -> Script {
    Box::new(move |n, _| {
        if numbers.contains(&n) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    })
}

/// Writes `bytes` and runs until they are acknowledged.
fn transfer(pair: &mut Pair, bytes: u64) {
    let goal = pair.ends[0].acked() + bytes;
    let limit = pair.now + Duration::from_secs(300);
    assert_eq!(pair.on(0, |e, now, out| e.write(now, bytes, out)), bytes);
    while pair.ends[0].acked() < goal {
        assert!(pair.step(limit), "a stall");
    }
}

fn without_sack() -> Config {
    Config {
        sack: false,
        ..Config::default()
    }
}

/// RFC 5681, 2: a duplicate ACK acknowledges nothing new and carries no data.
#[test]
fn without_sack_neither_progress_nor_data_is_taken_for_a_duplicate_ack() {
    let mut p = pair(&without_sack()).connected();
    p.on(1, |e, now, out| e.write(now, 60 * MSS, out));
    transfer(&mut p, 60 * MSS);
    p.run_ms(1000);
    for end in &p.ends {
        let stats = end.stats();
        assert_eq!((stats.recoveries, stats.retransmits), (0, 0));
        assert_eq!(end.delivered(), 60 * MSS);
    }
}

/// RFC 5681, 3.2: three duplicate ACKs mean a loss, and two do not.
#[test]
fn without_sack_the_third_duplicate_ack_means_a_loss() {
    for (behind, recoveries) in [(2, 0), (3, 1)] {
        let mut p = pair(&without_sack());
        p.scripts[0] = lose(&[3]);
        let mut p = p.connected();
        // The first ACK brings a window that is scaled, and a window update is no duplicate.
        transfer(&mut p, MSS);
        p.on(0, |e, now, out| e.write(now, (1 + behind) * MSS, out));
        // The ACKs come back after 40 ms, long before a timeout of at least 200 ms.
        p.run_ms(100);
        let stats = p.ends[0].stats();
        assert_eq!(
            (stats.recoveries, stats.retransmits, stats.timeouts),
            (recoveries, recoveries, 0)
        );
        p.run_ms(2000);
        assert_eq!(p.ends[1].delivered(), (2 + behind) * MSS);
    }
}

/// All that left is not all that arrived.
#[test]
fn a_connection_is_idle_once_its_data_is_acknowledged() {
    let mut p = pair(&Config::default()).connected();
    p.on(0, |e, now, out| e.write(now, MSS, out));
    assert_eq!((p.ends[0].unsent(), p.ends[0].is_idle()), (0, false));
    p.run_ms(39);
    assert!(!p.ends[0].is_idle());
    p.run_ms(1);
    assert!(p.ends[0].is_idle());
}

/// RFC 7323, 3.2: segments carry time stamps where both SYNs did. The room goes to no payload that the peer did not offer.
#[test]
fn a_peer_without_time_stamps_gets_segments_without_their_twelve_bytes() {
    let server = Config {
        timestamps: false,
        ..Config::default()
    };
    for (server, header) in [(Config::default(), 52), (server, 40)] {
        let client = Config::default();
        let cc = common::controller("reno", client.mss);
        let mut p = Pair::with(&client, &server, cc, OWD).connected();
        p.trace = Some(Vec::new());
        transfer(&mut p, 10 * MSS);
        for (_, packet) in p.sent_by(0) {
            assert_eq!(packet.len - packet.payload(), header);
        }
    }
}

/// RFC 9293, 3.10.4: the FIN waits for no acknowledgment of the data before it.
#[test]
fn a_close_with_data_in_flight_sends_the_fin_behind_it() {
    let mut p = pair(&Config::default()).connected();
    p.on(0, |e, now, out| e.write(now, 5 * MSS, out));
    p.on(0, Endpoint::close);
    p.run_ms(20);
    assert!(p.ends[1].take_events().peer_closed);
    assert_eq!(p.ends[1].delivered(), 5 * MSS);
    p.run_ms(20);
    assert!(p.ends[0].is_idle());
}

/// RFC 6298, 5 and Linux `tcp_process_loss`: loss recovery ends with the acknowledgment of all that had left by the timeout.
#[test]
fn loss_recovery_ends_when_all_before_the_timeout_is_acknowledged() {
    let cfg = Config {
        tlp: false,
        ..Config::default()
    };
    let mut p = pair(&cfg);
    p.scripts[0] = lose(&[2, 3, 4, 5, 6]);
    let mut p = p.connected();
    p.on(0, |e, now, out| e.write(now, 5 * MSS, out));
    while p.ends[0].stats().timeouts == 0 {
        assert!(p.step(Instant::from_millis(1000)), "nothing arrives");
    }
    assert_eq!(p.ends[0].recovery(), Recovery::Timeout);
    p.run_ms(1000);
    let stats = p.ends[0].stats();
    assert_eq!((stats.timeouts, stats.undos), (1, 0));
    assert_eq!(p.ends[1].delivered(), 5 * MSS);
    assert_eq!(p.ends[0].recovery(), Recovery::Open);
}

/// RFC 5682, 2.1, steps 2b and 3b: without time stamps new data is tried after a timeout, and the arrival of what left
/// before it proves the timeout spurious.
#[test]
fn a_delay_that_looks_like_a_loss_repeats_one_segment() {
    let cfg = Config {
        timestamps: false,
        tlp: false,
        ..Config::default()
    };
    let mut p = pair(&cfg).connected();
    // What leaves in the next 400 ms arrives 400 ms after now, in order; the timeout comes after 240 ms.
    let until = p.now + Duration::from_millis(400);
    p.scripts[0] = Box::new(move |_, p: &mut Packet| Fate::Late(until.since(p.created)));
    transfer(&mut p, 40 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!((stats.timeouts, stats.undos, stats.retransmits), (1, 1, 1));
    assert_eq!(p.ends[0].recovery(), Recovery::Open);
}

#[test]
fn an_application_hears_of_data_when_it_is_in_order() {
    let mut p = pair(&Config::default());
    p.scripts[0] = lose(&[2]);
    let mut p = p.connected();
    p.on(0, |e, now, out| e.write(now, 3 * MSS, out));
    p.run_ms(20);
    assert!(!p.ends[1].take_events().readable, "a segment is missing");
    p.run_ms(500);
    assert!(p.ends[1].take_events().readable);
    assert_eq!(p.ends[1].delivered(), 3 * MSS);
    p.run_ms(500);
    assert!(!p.ends[1].take_events().readable, "nothing came since");
}

/// RFC 9293, 3.10.7.4: a SYN/ACK that comes again is acknowledged again, or a server whose client is silent waits for ever.
#[test]
fn a_repeated_syn_ack_is_acknowledged_again() {
    let mut p = pair(&Config::default());
    p.scripts[0] = lose(&[1]);
    let p = p.connected();
    // The SYN/ACK left at 20 ms, and again a second later; its ACK takes 20 ms more each way.
    assert_eq!(p.now, Instant::from_millis(1060));
}
