use slackwater_core::{Draw, Duration, Rate};
use slackwater_signal::Counters;

use super::*;
use crate::phy::testing::{Link, WIRE, steady, varying};

fn ebb() -> Ebb {
    Ebb::new(Params::DEFAULT, &Config::new(1448, Draw::new(1)))
}

/// A sender over a radio that reports its counters each 5 ms.
fn over(slots: fn(u64) -> u64) -> Link<Ebb> {
    let mut link = Link::new(ebb(), 20, slots);
    link.counted = Some(5);
    link
}

/// Utilisation and the 95th percentile of the queueing delay between 2 s and `until` ms.
fn settle(link: &mut Link<Ebb>, until: u64) -> (f64, u64) {
    link.run(2000 - link.now.min(2000));
    link.forget();
    link.run(until - link.now);
    (link.utilisation(), link.delay(0.95))
}

/// 24 Mbit/s for a second, 6 for the next.
fn steps(ms: u64) -> u64 {
    if (ms / 1000).is_multiple_of(2) {
        2
    } else {
        u64::from(ms.is_multiple_of(2))
    }
}

#[test]
fn a_steady_radio_is_full_with_a_queue_of_a_few_packets() {
    let mut link = over(steady);
    let (utilisation, queue) = settle(&mut link, 10_000);
    assert!(utilisation > 0.995, "{utilisation}");
    // What leaves between two reports, and the queue that is wanted.
    assert!(queue <= 12, "{queue}");
    assert_eq!(link.c.clock.code(), 0);
}

#[test]
fn the_least_loop_of_a_steady_radio_does_not_take_in_the_queue_of_the_flow() {
    let mut link = over(steady);
    link.run(2500);
    let first = link.c.clock.base();
    for second in 3..60 {
        link.run(1000);
        let base = link.c.clock.base();
        assert!(
            base <= first + Duration::from_millis(1),
            "{base:?} after {second} s, {first:?} at first"
        );
    }
}

#[test]
fn reports_that_come_rarely_do_not_make_the_queue_swing() {
    for every in [5, 10, 20, 40] {
        let mut link = over(steady);
        link.counted = Some(every);
        let (utilisation, queue) = settle(&mut link, 30_000);
        assert!(utilisation > 0.99, "{utilisation} with {every} ms");
        // Two packets leave in each millisecond of an interval.
        assert!(queue <= 8 + every, "{queue} with {every} ms");
    }
}

#[test]
fn it_follows_steps_within_a_few_rounds() {
    let mut link = over(steps);
    let (utilisation, queue) = settle(&mut link, 22_000);
    assert!(utilisation > 0.95, "{utilisation}");
    assert!(queue < 120, "{queue}");
}

#[test]
fn lost_late_and_doubled_reports_cost_little() {
    let whole = settle(&mut over(varying), 22_000).0;
    // Every third is lost, others overtake each other by up to 12 ms.
    let mut link = over(varying);
    link.late = |n| (n % 3 != 0).then_some(n * 7 % 13);
    let (utilisation, queue) = settle(&mut link, 22_000);
    assert!(utilisation > whole - 0.06, "{utilisation} of {whole}");
    assert!(queue < 200, "{queue}");
}

#[test]
fn reports_that_are_late_from_the_first_one_do_not_shorten_the_loop() {
    // The first one comes when more is acknowledged than it counts.
    let mut link = over(steady);
    link.late = |_| Some(50);
    let (utilisation, queue) = settle(&mut link, 10_000);
    assert!(utilisation > 0.99, "{utilisation}");
    assert!(queue <= 12, "{queue}");
    assert!(
        link.c.clock.base() >= Duration::from_millis(70),
        "{:?}",
        link.c.clock.base()
    );
}

#[test]
fn acks_ahead_of_late_reports_are_no_losses_before_the_radio() {
    // Each rise of the rate has more acknowledged than the reports of 50 ms ago explain.
    let mut link = over(|ms| if ms % 1000 < 500 { 1 } else { 6 });
    link.late = |_| Some(50);
    for second in 1..20 {
        link.run(1000);
        let base = link.c.clock.base();
        assert!(base >= Duration::from_millis(68), "{base:?} at {second} s");
    }
}

#[test]
fn a_feed_that_ends_hands_over_to_cubic_within_two_rounds_and_back_without_a_burst() {
    let mut link = over(steady);
    link.run(5000);
    let before = link.window();
    link.feed = None;
    link.run(150);
    assert_eq!(link.c.clock.code(), 3, "silent for more than two rounds");
    assert!(
        link.window() <= 2 * before + 2,
        "{} then {before}",
        link.window()
    );
    link.run(2000);
    link.feed = Some(1000);
    link.counted = Some(5);
    link.run(40);
    assert_eq!(link.c.clock.code(), 0);
    let (utilisation, queue) = {
        link.run(500);
        link.forget();
        link.run(3000);
        (link.utilisation(), link.delay(0.95))
    };
    assert!(utilisation > 0.99 && queue <= 14, "{utilisation} {queue}");
}

#[test]
fn a_wired_hop_below_the_radio_is_found_and_its_queue_kept_short() {
    let mut link = over(|_| 3);
    link.wired = Some(1);
    link.run(6000);
    link.forget();
    link.run(10_000);
    // Of three packets a millisecond the hop lets one pass.
    assert!(link.served > 9_000, "{}", link.served);
    let base = link.c.clock.base();
    assert!(
        link.c.clock.round < base + Duration::from_millis(60),
        "{:?} of {base:?}",
        link.c.clock.round
    );
}

#[test]
fn a_radio_that_promises_half_or_twice_is_used_all_the_same() {
    for permille in [500, 2000] {
        let mut link = over(steady);
        link.feed = Some(permille);
        link.run(3000);
        link.forget();
        link.run(5000);
        assert!(
            link.utilisation() > 0.45,
            "{permille}: {}",
            link.utilisation()
        );
        // At most what twice the rate puts on its way in a round, and a little.
        assert!(link.delay(0.95) < 100, "{permille}: {}", link.delay(0.95));
    }
}

#[test]
fn a_radio_that_promises_ten_times_what_it_has_is_not_believed() {
    let delay = |trust: bool| {
        let mut link = over(steady);
        link.c.clock.params.rules.trust = trust;
        link.feed = Some(10_000);
        link.run(3000);
        link.forget();
        link.run(5000);
        (link.utilisation(), link.delay(0.95))
    };
    let (believed, corrected) = (delay(false), delay(true));
    assert!(corrected.0 > 0.9, "{corrected:?}");
    assert!(
        corrected.1 * 2 < believed.1,
        "{corrected:?} of {believed:?}"
    );
}

#[test]
fn a_small_buffer_costs_packets_and_no_rate() {
    let mut link = over(steps);
    link.buffer = 20;
    let (utilisation, _) = settle(&mut link, 22_000);
    assert!(utilisation > 0.95, "{utilisation}");
}

#[test]
fn counters_that_begin_anew_are_taken_up() {
    let mut link = over(steady);
    link.run(3000);
    let at = Instant::from_millis;
    // Another base station, whose clock is behind.
    let mut counters = Counters::default();
    for ms in (3000..6000).step_by(5) {
        counters.stamp = Counters::stamp_of(at(ms - 2900));
        counters.gone += 5 * WIRE as u32;
        counters.offered += 5 * WIRE as u32;
        link.c.clock.on_counters(at(ms), &counters);
    }
    assert!(link.c.clock.heard.unwrap().counters.stamp == counters.stamp);
    assert!((link.c.clock.forecast.rate() / (WIRE as f64 * 1e3) - 1.0).abs() < 0.01);
}

#[test]
fn another_base_station_is_taken_up_at_once_and_late_words_of_the_old_one_are_not() {
    let mut link = over(steady);
    link.run(3000);
    let at = Instant::from_millis;
    let old = link.c.clock.heard.expect("it reports").counters;
    let mut new = Counters {
        instance: 1,
        ..Counters::default()
    };
    for ms in (3000..3200).step_by(5) {
        new.stamp = Counters::stamp_of(at(ms - 2900));
        new.gone += 5 * WIRE as u32;
        new.offered += 5 * WIRE as u32;
        link.c.clock.on_counters(at(ms), &new);
        link.c.clock.on_counters(at(ms), &old);
        assert_eq!(link.c.clock.heard.expect("it reports").counters, new);
    }
    assert!((link.c.clock.forecast.rate() / (WIRE as f64 * 1e3) - 1.0).abs() < 0.01);
}

#[test]
fn packets_that_leave_in_one_call_have_a_header_each() {
    let mut c = ebb();
    let mut path = PathView::default();
    (path.mss, path.wire_mss) = (1448, 1500);
    let of = |bytes| Sent {
        bytes: Bytes(bytes),
        ..Sent::default()
    };
    // Ten full packets, and a short one with them.
    c.on_sent(Instant::from_millis(1), &path, &of(10 * 1448 + 100));
    assert_eq!(c.clock.log.sent(), 10 * 1500 + 152);
    c.on_sent(Instant::from_millis(2), &path, &of(0));
    assert_eq!(c.clock.log.sent(), 10 * 1500 + 152 + 52);
}

#[test]
fn a_packet_with_less_than_seven_eighths_of_a_full_one_is_short() {
    let path = PathView {
        mss: 1448,
        wire_mss: 1500,
        ..PathView::default()
    };
    for (bytes, short) in [
        (1448, false),
        (1267, false),
        (1266, true),
        (1, true),
        (0, false),
        (10 * 1448, false),
        (10 * 1448 + 1267, false),
        (10 * 1448 + 100, true),
    ] {
        let sent = Sent {
            bytes: Bytes(bytes),
            ..Sent::default()
        };
        let mut c = ebb();
        c.on_sent(Instant::from_millis(1), &path, &sent);
        assert_eq!(c.clock.log.has_short(0, u64::MAX), short, "{bytes}");
    }
}

#[test]
fn a_report_that_takes_longer_than_the_others_is_late_by_that() {
    let mut link = over(steady);
    link.late = |n| Some(if n < 400 { 0 } else { 30 });
    link.run(1900);
    assert_eq!(link.c.clock.late, Duration::ZERO);
    link.run(300);
    assert_eq!(link.c.clock.late, Duration::from_millis(30));
}

/// A host that looks at the sender at each report and timer alone, and applies what it ordered then at each packet and ACK.
#[derive(Debug)]
struct Host {
    ebb: Ebb,
    order: Order,
    /// When it was made, and the time of the last event.
    made: Instant,
    now: Instant,
    /// Payload bytes that left in all.
    sent: u64,
    mss: u32,
    in_flight: u64,
}

impl Host {
    fn new() -> Self {
        let ebb = ebb();
        Self {
            order: ebb.order(0),
            ebb,
            made: Instant::ZERO,
            now: Instant::ZERO,
            sent: 0,
            mss: 1448,
            in_flight: 0,
        }
    }

    fn see(&mut self, now: Instant, path: &PathView) {
        self.now = now;
        self.in_flight = path.in_flight.0;
    }

    fn look(&mut self) {
        self.order = self.ebb.order(self.sent);
        self.made = self.now;
    }
}

impl Controller for Host {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.sent += sent.bytes.0;
        self.see(now, path);
        self.ebb.on_sent(now, path, sent);
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.see(now, path);
        self.ebb.on_ack(now, path, ack);
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.see(now, path);
        self.ebb.on_congestion(now, path, event);
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        self.see(now, path);
        self.ebb.on_report(now, path, report);
        self.look();
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.see(now, path);
        self.ebb.on_timer(now, path);
        self.look();
    }

    fn next_timer(&self) -> Option<Instant> {
        self.ebb.next_timer()
    }

    fn intent(&self) -> Intent {
        if !self.order.steers {
            return self.ebb.intent();
        }
        let in_flight = (self.in_flight / u64::from(self.mss)) as u32;
        let age = self.now.since(self.made);
        let segments = self.order.segments(age, self.sent, in_flight, self.mss);
        Intent {
            window: Some(Bytes(u64::from(segments) * u64::from(self.mss))),
            pacing: self.ebb.intent().pacing,
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn name(&self) -> &'static str {
        "ebb"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        unreachable!("nobody clones it here")
    }
}

#[test]
fn a_host_that_looks_at_reports_alone_sends_as_one_that_always_looks() {
    // The bound that grows gives a little more than a window that reports alone open: of a radio that varies, and of its queue.
    for slots in [steady, varying, steps] {
        let near = settle(&mut over(slots), 12_000);
        let mut link = Link::new(Host::new(), 20, slots);
        link.counted = Some(5);
        link.run(2000);
        link.forget();
        link.run(10_000);
        let (utilisation, queue) = (link.utilisation(), link.delay(0.95));
        assert!(
            (-0.01..0.03).contains(&(utilisation - near.0)),
            "{utilisation} of {near:?}"
        );
        assert!(queue <= near.1 + 3, "{queue} of {near:?}");
    }
}

#[test]
fn an_order_is_a_bound_on_all_that_was_sent() {
    let order = Order {
        steers: true,
        limit: 100_000,
        pace: Rate::ZERO,
        grows: Duration::from_millis(10),
        window: Bytes(0),
    };
    let none = Duration::ZERO;
    assert_eq!(order.segments(none, 90_000, 3, 1448), 3 + 6);
    assert_eq!(order.segments(none, 99_000, 3, 1448), 3);
    // What was sent beyond it takes nothing back that is in flight; one segment may always leave.
    assert_eq!(order.segments(none, 200_000, 3, 1448), 3);
    assert_eq!(order.segments(none, 200_000, 0, 1448), 1);
    assert_eq!(order.segments(none, 0, u32::MAX, 0), 1 << 20);
    // It grows by its pace, 1,448 bytes a millisecond, for ten of them.
    let paced = Order {
        pace: Rate::from_bps(8 * 1_448_000),
        ..order
    };
    for (ms, segments) in [(4, 4), (10, 10), (90, 10)] {
        let age = Duration::from_millis(ms);
        assert_eq!(paced.segments(age, 100_000, 3, 1448), 3 + segments);
    }
}

#[test]
fn counters_show_what_a_host_does_not_know_of_yet() {
    const MSS: u64 = 1448;
    let at = Instant::from_millis;
    let path = PathView {
        mss: 1448,
        wire_mss: 1500,
        ..PathView::default()
    };
    let counters = |stamp, gone, backlog| Counters {
        stamp,
        gone,
        backlog,
        active: 1,
        upload: true,
        ..Counters::default()
    };
    let send = |ebb: &mut Ebb, ms, packets| {
        let sent = Sent {
            bytes: Bytes(MSS),
            ..Sent::default()
        };
        for _ in 0..packets {
            ebb.on_sent(at(ms), &path, &sent);
        }
    };
    let mut ebb = ebb();
    // The first ones: two packets have left the radio, one waits there, and 1,499 bytes are no packet.
    let first = counters(40, 3_000, 2_999);
    assert_eq!(ebb.unseen(at(10), &first), 3 * MSS);
    send(&mut ebb, 5, 2);
    assert_eq!(ebb.unseen(at(10), &first), MSS);
    // Of a flow that is a second old they may hold what left before.
    assert_eq!(ebb.unseen(at(1_004), &first), MSS);
    assert_eq!(ebb.unseen(at(1_005), &first), 0);
    send(&mut ebb, 5, 1);
    ebb.on_report(
        at(10),
        &path,
        &PathReport::Counters(counters(40, 3_000, 1_500)),
    );

    // What they grow by counts from then on, and what is not newer, or of another base station, does not.
    let next = counters(80, 6_000, 1_500);
    assert_eq!(ebb.unseen(at(15), &next), 2 * MSS);
    assert_eq!(ebb.unseen(at(1_500), &next), 2 * MSS);
    assert_eq!(ebb.unseen(at(15), &counters(40, 6_000, 1_500)), 0);
    let other = Counters {
        instance: 1,
        ..next
    };
    assert_eq!(ebb.unseen(at(15), &other), 0);

    // They were sent by others: two packets at most of what waits may be such, and all that left.
    send(&mut ebb, 12, 2);
    ebb.on_report(at(15), &path, &PathReport::Counters(next));
    assert_eq!(ebb.clock.outstanding(), 1_500);
    ebb.take_back(at(16), 2 * MSS);
    assert_eq!(ebb.clock.outstanding(), 1_500 - (3_000 - 2 * 1_448));
    send(&mut ebb, 17, 4);
    assert_eq!(ebb.clock.outstanding(), 4 * 1_500 + 1_396);
}

#[test]
fn a_first_flight_is_of_forty_packets_beyond_what_left_whatever_is_offered() {
    let mut link = over(|_| 1000);
    while !link.c.clock.steers {
        link.run(1);
        assert!(link.now < 1000, "it never steered");
    }
    let RadioClock { aim, peak, .. } = &link.c.clock;
    let shown = 4.0 * peak * 0.1;
    assert!(aim.most <= 40.0 * WIRE as f64 + shown, "{aim:?} {peak}");
}

#[test]
fn cubic_comes_as_far_as_a_new_flow_at_once_where_less_was_on_its_way() {
    let mut sender = ebb();
    let mut take = |bytes: u64| {
        sender.clock.left_with = Some(bytes);
        sender.hand_over();
        let intent = sender.intent();
        [intent.window, intent.ssthresh].map(|bytes| bytes.expect("CUBIC has one").0 / 1448)
    };
    assert_eq!(take(3000), [2, 10]);
    assert_eq!(take(100 * 1448), [100, 100]);
}

/// A sender whose reports ceased with `in_flight` bytes on their way. The radio has 12 Mbit/s for it, 60 kB of them in a round.
fn silent(in_flight: u64, path: &mut PathView) -> Ebb {
    let mut sender = ebb();
    sender.clock.steers = true;
    sender.clock.heard = Some(clock::Heard {
        counters: Counters::default(),
        at: Instant::ZERO,
    });
    sender.clock.aim = aim::Aim {
        target: 60_000.0,
        most: 67_500.0,
        rate: 1.5e6,
        ..sender.clock.aim
    };
    path.in_flight = Bytes(in_flight);
    sender.on_timer(Instant::from_millis(1_000), path);
    assert!(!sender.clock.steers());
    sender
}

#[test]
fn after_a_pause_a_first_flight_leaves_at_the_rate_of_before_until_reports_are_due() {
    let at = Instant::from_millis;
    let mut path = PathView {
        mss: 1448,
        wire_mss: 1500,
        srtt: Duration::from_millis(40),
        min_rtt: Duration::from_millis(40),
        ..PathView::default()
    };
    let pace = |sender: &Ebb| sender.intent().pacing.map(Rate::as_bps);
    let mut sender = silent(0, &mut path);
    assert_eq!(sender.intent().window, Some(Bytes(67_500 / 1448 * 1448)));
    assert_eq!(pace(&sender), Some(12_000_000));

    let sent = Sent {
        bytes: Bytes(1448),
        ..Sent::default()
    };
    sender.on_sent(at(9_000), &path, &sent);
    sender.on_sent(at(9_020), &path, &sent);
    let ack = Ack {
        newly_acked: Bytes(1448),
        ..Ack::default()
    };
    sender.on_ack(at(9_099), &path, &ack);
    assert_eq!(pace(&sender), Some(12_000_000));
    sender.on_ack(at(9_100), &path, &ack);
    assert_ne!(pace(&sender), Some(12_000_000));

    // A radio that had nothing does not hold back what a new flow sends in a round.
    let mut sender = silent(0, &mut path);
    sender.clock.aim.rate = 0.0;
    sender.clock.left_with = Some(60_000);
    sender.hand_over();
    assert_eq!(pace(&sender), Some(10 * 1500 * 8 * 25));
    // What is on its way when reports cease was not ended by a pause.
    let sender = silent(20_000, &mut path);
    assert_eq!(sender.intent().window, Some(Bytes(60_000 / 1448 * 1448)));
    assert_eq!(pace(&sender), None);
}

/// From 24 Mbit/s to 120. What is missing on the way then is four times what was there: sent at once it would wait at the radio.
#[test]
fn what_a_rise_of_the_rate_leaves_missing_is_sent_at_that_rate() {
    let mut link = over(|ms| if ms < 4_000 { 2 } else { 10 });
    link.run(4_000);
    let mut rises = 0;
    for _ in 0..400 {
        link.run(1);
        let RadioClock { aim, looked, .. } = &link.c.clock;
        let pace = aim.pace.as_bps() as f64 / 8.0;
        let missing = aim.target - looked.1;
        let most = if missing > 0.010 * aim.rate { 1.0 } else { 2.0 };
        assert!(pace <= most * aim.rate, "{aim:?}, {missing} missing");
        rises += u32::from(most == 1.0);
    }
    assert!(rises > 0);
}

/// The handshake took 40 ms in the queue of others, and the path takes 10. Then a packet leaves each 10 ms.
#[test]
fn a_first_flight_on_a_short_path_does_not_pass_for_a_handshake() {
    let at = Instant::from_millis;
    let path = PathView {
        mss: 1448,
        wire_mss: 1500,
        min_rtt: Duration::from_millis(40),
        srtt: Duration::from_millis(40),
        ..PathView::default()
    };
    let sent = Sent {
        bytes: Bytes(1448),
        ..Sent::default()
    };
    let mut ebb = ebb();
    let mut left: Vec<u64> = vec![];
    let mut acked = 0;
    let report = |ebb: &mut Ebb, ms: u64, left: &[u64]| {
        // They reach the radio after 4 ms and have left it after 10; a report takes 4.
        let by = |late: u64| left.iter().filter(|&&t| t + late + 4 <= ms).count() as u32;
        let counters = Counters {
            stamp: ms as u32 * 8,
            gone: 1500 * by(10),
            offered: 7_500 * (ms as u32 / 5),
            backlog: 1500 * (by(4) - by(10)),
            active: 1,
            ..Counters::default()
        };
        ebb.on_report(at(ms), &path, &PathReport::Counters(counters));
    };
    for ms in 0..400 {
        if ms == 2 {
            left.extend([ms; 20]);
        } else if ms > 20 && ms % 10 == 0 {
            left.push(ms);
        }
        while ebb.clock.log.sent() < 1500 * left.len() as u64 {
            ebb.on_sent(at(ms), &path, &sent);
        }
        let arrived = left.iter().filter(|&&t| t + 18 <= ms).count();
        let ack = Ack {
            newly_acked: Bytes(1448 * (arrived - acked) as u64),
            ..Ack::default()
        };
        if arrived > acked {
            ebb.on_ack(at(ms), &path, &ack);
            acked = arrived;
        }
        if ms % 5 == 0 {
            report(&mut ebb, ms, &left);
        }
        if ms == 15 {
            // All but two packets at most are the flow's own.
            assert!(ebb.clock.offset <= 2 * 1448, "{}", ebb.clock.offset);
        }
    }
    // What was acknowledged a loop ago shows that none of them was another's, but for what left since.
    assert!(ebb.clock.offset <= 1500, "{}", ebb.clock.offset);
    assert!(!ebb.clock.is_banned(at(400)));
}

#[test]
fn what_arrived_twice_is_no_loss_before_the_radio() {
    let mut sender = ebb();
    let ack = Ack {
        newly_acked: Bytes(1448),
        duplicated: Bytes(2896),
        ..Ack::default()
    };
    sender.on_ack(Instant::from_millis(1), &PathView::default(), &ack);
    assert_eq!(sender.clock.acked, sender.clock.wire(3 * 1448));
}
