use super::*;
use crate::testing::Feed;

fn bbr() -> Feed<Bbr> {
    Feed::new(Bbr::new(1000, 10, Draw::new(1)))
}

/// Rounds on a link of 100 packets per 100 ms: a packet each millisecond, the RTT is what the flight takes.
fn run(feed: &mut Feed<Bbr>, ms: u64) {
    run_at(feed, ms, 100);
}

/// The same with a least RTT of `floor` milliseconds.
fn run_at(feed: &mut Feed<Bbr>, ms: u64, floor: u64) {
    for _ in 0..ms {
        feed.now += Duration::from_millis(1);
        feed.send();
        let flight = (feed.next - feed.una) / 1000;
        feed.ack(1, flight.max(floor));
    }
}

/// A flow that has filled the link, and cycles its gain.
fn steady() -> Feed<Bbr> {
    let mut f = bbr();
    for _ in 0..3 {
        f.round_at(100);
    }
    run(&mut f, 3000);
    f
}

#[test]
fn startup_doubles_and_ends_after_three_flat_rounds() {
    let mut f = bbr();
    f.round_at(100);
    assert_eq!(f.c.mode(), Mode::Startup);
    assert_eq!(f.cwnd(), 20);
    assert_eq!(f.c.pacing_gain, HIGH_GAIN);
    let mut pipe = FullPipe::default();
    pipe.round(100.0);
    pipe.round(125.0);
    pipe.round(150.0);
    pipe.round(150.0);
    assert!(!pipe.reached());
    pipe.round(156.0);
    assert!(pipe.reached(), "three rounds below 1.25 times 125");
}

#[test]
fn steady_state_paces_at_the_link_and_bounds_the_flight() {
    let f = steady();
    assert_eq!(f.c.mode(), Mode::ProbeBw);
    let bw = packets_per_second(f.c.bw());
    assert!((900.0..1200.0).contains(&bw), "{bw} packets per second");
    // Two bandwidth-delay products of 100 packets and the room for bursts.
    assert!((190..260).contains(&f.cwnd()), "{}", f.cwnd());
}

#[test]
fn pacing_starts_from_the_handshake_rtt() {
    // 2.885 * 10 packets per 100 ms, less 1 %.
    let mut f = bbr();
    f.path.srtt = Duration::from_millis(100);
    f.send();
    let bytes = f.c.pacing;
    assert!(
        (bytes / (100_000.0 * HIGH_GAIN * 0.99) - 1.0).abs() < 1e-9,
        "{bytes}"
    );
    // Wire bytes carry the headers.
    let wire = f.c.intent().pacing.expect("BBR paces").as_bps() as f64;
    assert!((wire / (bytes * 8.0 * 1.052) - 1.0).abs() < 1e-6);
}

#[test]
fn the_queue_is_emptied_every_ten_seconds() {
    let mut f = steady();
    let before = f.cwnd();
    let mut probed = 0;
    for _ in 0..12_000 {
        // No sample comes down to the least RTT again.
        run_at(&mut f, 1, 110);
        if f.c.mode() == Mode::ProbeRtt {
            probed += 1;
            assert!(f.cwnd() <= MIN_WINDOW);
        }
    }
    assert!(probed >= 200, "{probed} ms");
    assert_eq!(f.c.mode(), Mode::ProbeBw);
    assert!(f.cwnd() >= before / 2);
}

#[test]
fn recovery_conserves_packets_and_restores_the_window() {
    let mut f = steady();
    let before = f.cwnd();
    f.lose();
    // Ten packets are acknowledged in one go: what left may be replaced, no more.
    f.ack(10, 100);
    assert!(f.c.packet_conservation);
    assert!(f.cwnd() <= before);
    f.recover();
    f.ack(0, 100);
    f.send();
    f.ack(1, 100);
    assert!(!f.c.packet_conservation);
    assert!(f.cwnd() + 30 >= before, "{} of {before}", f.cwnd());
}

#[test]
fn a_timeout_leaves_one_packet() {
    let mut f = bbr();
    f.round_at(100);
    f.time_out();
    assert_eq!(f.cwnd(), 1);
}

#[test]
fn two_lossy_intervals_of_one_rate_show_a_policer() {
    // Linux bbr_lt_bw_sampling: 4 rounds, a fifth lost, rates within an eighth; given up after 48 rounds.
    let mut p = Policer::default();
    let mut now = Instant::from_millis(1);
    let (mut delivered, mut lost) = (0, 0);
    let mut restarted = 0;
    let mut found_after = None;
    for round in 0..80 {
        now += Duration::from_millis(100);
        delivered += 100_000;
        lost += 30_000;
        let v = policer::View {
            delivered,
            lost,
            losses: true,
            app_limited: false,
            round_start: true,
            probing_bw: true,
        };
        restarted += u32::from(p.update(now, &v));
        if p.rate().is_some() && found_after.is_none() {
            found_after = Some(round);
            let bw = p.rate().expect("just seen");
            assert!((bw / 1_000_000.0 - 1.0).abs() < 0.35, "{bw}");
            // It is the bandwidth then, in Linux's unit.
            let mut c = Bbr::new(1000, 10, Draw::new(1));
            c.policer = Some(p);
            let packets = packets_per_second(c.bw());
            assert!((packets * 1000.0 / bw - 1.0).abs() < 1e-3, "{packets}");
            assert_eq!(c.bw(), libm::floor(c.bw()));
        }
    }
    assert!(found_after.is_some_and(|r| r <= 10), "{found_after:?}");
    assert_eq!(restarted, 1);
    // Without heavy loss there is none.
    let mut p = Policer::default();
    for round in 0..40u64 {
        now += Duration::from_millis(100);
        let v = policer::View {
            delivered: round * 100_000,
            lost: round * 1000,
            losses: true,
            app_limited: false,
            round_start: true,
            probing_bw: true,
        };
        p.update(now, &v);
        assert!(p.rate().is_none());
    }
}

#[test]
fn bunched_acks_widen_the_window() {
    // 100 packets a second; 20 at once every 200 ms: up to 19 more than expected.
    let mut a = Aggregation::default();
    let mut now = Instant::from_millis(1);
    for _ in 0..10 {
        now += Duration::from_millis(200);
        for _ in 0..20 {
            a.update(now, 1, 100, 100.0, false);
        }
    }
    assert!((15..=21).contains(&a.max()), "{}", a.max());
    // At most 100 ms worth.
    assert_eq!(a.extra(100.0), 10);
    // After a silence and two slots of five rounds it is forgotten.
    now += Duration::from_secs(1);
    for _ in 0..11 {
        now += Duration::from_millis(10);
        a.update(now, 1, 100, 100.0, true);
    }
    assert!(a.max() <= 2, "{}", a.max());
}

/// The path may carry smaller segments than was believed, and a view without a size says nothing of it.
#[test]
fn the_window_counts_segments_of_the_path() {
    let mut f = Feed::new(Bbr::new(1448, 10, Draw::new(1)));
    assert_eq!(f.c.intent().window, Some(Bytes(14_480)));
    f.send();
    assert_eq!(f.c.intent().window, Some(Bytes(10_000)));
    f.path.mss = 0;
    f.c.on_sent(f.now, &f.path, &Sent::default());
    assert_eq!(f.c.intent().window, Some(Bytes(10_000)));
}

/// 24 packets in 108 ms at a least RTT of 108 ms are 24 packets: the truncated bandwidth never rounds up to 25
/// (`bbr_bdp` over the `do_div` of `bbr_update_bw`).
#[test]
fn a_whole_product_is_not_rounded_up() {
    let mut c = Bbr::new(1448, 10, Draw::new(1));
    for (packets, ms) in [(24u64, 108u64), (30, 135), (40, 40), (22, 99), (7, 49)] {
        let interval = Duration::from_millis(ms);
        c.min_rtt = MinRtt::default();
        c.min_rtt.init(Instant::ZERO, interval);
        let bw = model::bandwidth(Bytes(packets * 1448), 1448, interval);
        assert_eq!(bw, libm::floor(bw));
        assert_eq!(c.bdp(bw, 1.0), packets as f64, "{packets} in {ms} ms");
    }
}

/// Linux `bbr_packets_in_net_at_edt` goes by the time stamp of the pacer, which spares a connection's first ten segments
/// and gives a late burst credit.
#[test]
fn the_flight_is_that_of_when_the_host_sends_next() {
    let mut f = steady();
    f.c.pacing_gain = 1.0;
    let at = f.c.pacer.next();
    let bw = packets_per_second(f.c.bw());
    let before = at - Duration::from_secs_f64(3.5 / bw);
    assert_eq!(f.c.flight_at_departure(before, 100), 97.0);
    assert_eq!(
        f.c.flight_at_departure(at + Duration::from_millis(5), 100),
        100.0
    );
    f.c.pacing_gain = 1.25;
    assert_eq!(
        f.c.flight_at_departure(at, 100),
        102.0,
        "with the burst that leaves then"
    );

    let mut new = bbr();
    new.send();
    assert_eq!(
        new.c.pacer.next(),
        Instant::ZERO,
        "a first window is not paced"
    );
}

/// ns-3.44 `TcpBbr`: a quantum of one segment, targets in bytes, no look ahead, and ACKs that bunch count up to 4 kB.
#[test]
fn in_ns3_segments_leave_one_by_one() {
    let mut c = Bbr::new(1448, 10, Draw::new(1)).as_ns3();
    c.min_rtt.init(Instant::ZERO, Duration::from_millis(100));
    let bw = model::bandwidth(Bytes(2050 * 1448), 1448, Duration::from_secs(10)); // 205 packets a second
    assert!(
        (c.target_flight(bw, 1.0) - 23.5).abs() < 1e-2,
        "20.5 and three"
    );
    assert_eq!(c.intent().burst, Bytes(1500));
    assert_eq!(c.flight_at_departure(Instant::ZERO, 7), 7.0);

    let mut linux = Aggregation::default();
    let mut ns3 = Aggregation::coarse(1448);
    let mut now = Instant::from_millis(1);
    for _ in 0..10 {
        now += Duration::from_millis(200);
        for _ in 0..10 {
            linux.update(now, 2, 100, 100.0, false);
            ns3.update(now, 2, 100, 100.0, false);
        }
    }
    assert!(linux.max() >= 15, "{}", linux.max());
    assert_eq!(ns3.max(), 2);
}
