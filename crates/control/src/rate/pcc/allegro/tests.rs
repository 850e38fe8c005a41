use super::*;

fn allegro() -> Allegro {
    let mut a = Allegro::new(false, 1448, Draw::new(3));
    a.view(&path());
    a
}

fn path() -> PathView {
    PathView {
        srtt: Duration::from_millis(40),
        mss: 1448,
        wire_mss: 1500,
        ..PathView::default()
    }
}

/// Ends the current interval; all of its packets arrive but for a part `lost` of them. The next is open then.
fn pass(a: &mut Allegro, ms: &mut u64, lost: f64) -> f64 {
    let at = |ms| Instant::from_millis(ms);
    let sent = Sent {
        bytes: Bytes(1448),
        ..Sent::default()
    };
    for _ in 0..100 {
        a.on_sent(at(*ms), &path(), &sent);
    }
    let rate = a.intent().pacing.expect("paced").as_bps() as f64;
    let id = a.monitor.current().expect("open").id;
    // Packets evenly over the interval.
    *ms += 1000;
    a.on_sent(at(*ms), &path(), &sent);
    let books = a.monitor.get_mut(id).expect("open");
    books.ended =
        books.began.expect("sent") + Duration::from_secs_f64(books.sent as f64 * 8.0 / rate);
    books.lost = (books.sent as f64 * lost) as u64;
    books.acked = books.sent - books.lost;
    // What left meanwhile arrives too, but in the interval that is open.
    let open = a.monitor.current().map(|i| i.id);
    for other in a
        .monitor
        .iter_mut()
        .filter(|i| i.id != id && Some(i.id) != open)
    {
        other.acked = other.sent;
    }
    a.conclude(at(*ms));
    if let Some(open) = open.and_then(|open| a.monitor.get_mut(open)) {
        open.acked = open.sent;
    }
    rate
}

#[test]
fn it_starts_with_two_packets_an_rtt_and_doubles_each_interval() {
    let mut a = allegro();
    let sent = Sent {
        bytes: Bytes(1448),
        ..Sent::default()
    };
    a.on_sent(Instant::from_millis(1), &path(), &sent);
    assert_eq!(a.intent().pacing.expect("paced").as_bps(), 600_000);
    let mut ms = 1;
    let first = pass(&mut a, &mut ms, 0.0);
    let second = pass(&mut a, &mut ms, 0.0);
    assert!((second / first - 2.0).abs() < 1e-6);
    // Losses of 30 % end it at the rate before.
    let third = pass(&mut a, &mut ms, 0.3);
    assert!((third / second - 2.0).abs() < 1e-6);
    assert!(matches!(a.state, State::Deciding { .. }));
    assert!((a.rate - second).abs() < 1.0, "{} {second}", a.rate);
}

#[test]
fn trials_that_agree_move_the_rate_in_growing_steps_until_the_utility_falls() {
    let mut a = allegro();
    a.rate = 10e6;
    a.decide();
    let mut ms = 1;
    // Without loss the higher rate wins both pairs.
    let tried: Vec<f64> = (0..4).map(|_| pass(&mut a, &mut ms, 0.0)).collect();
    for pair in tried.chunks_exact(2) {
        assert!((pair[0] + pair[1] - 20e6).abs() < 4.0, "{tried:?}");
        assert!(((pair[0] - pair[1]).abs() - 0.2e6).abs() < 4.0, "{tried:?}");
    }
    assert!((a.rate - 10.1e6).abs() < 1.0, "{}", a.rate);
    pass(&mut a, &mut ms, 0.0);
    assert!((a.rate - 10.1e6 * 1.01).abs() < 1.0, "{}", a.rate);
    pass(&mut a, &mut ms, 0.0);
    let good = 10.1e6 * 1.01 * 1.02;
    assert!((a.rate - good).abs() < 1.0, "{}", a.rate);
    pass(&mut a, &mut ms, 0.2);
    assert!(matches!(a.state, State::Deciding { .. }));
    assert!((a.rate - 10.1e6 * 1.01).abs() < 1.0, "{}", a.rate);
}

#[test]
fn trials_that_disagree_are_repeated_with_a_wider_step() {
    let mut a = allegro();
    a.rate = 10e6;
    a.decide();
    let mut ms = 1;
    for round in 1..8_u32 {
        for i in 0..4 {
            // The second pair loses at the higher rate.
            a.on_sent(
                Instant::from_millis(ms),
                &path(),
                &Sent {
                    bytes: Bytes(1448),
                    ..Sent::default()
                },
            );
            let up = a.intent().pacing.expect("paced").as_bps() > 10_000_000;
            pass(&mut a, &mut ms, if i >= 2 && up { 0.2 } else { 0.0 });
        }
        let step = (STEP * f64::from(round + 1)).min(MOST_STEP);
        assert!((a.step - step).abs() < 1e-12, "{round}: {}", a.step);
        assert!((a.rate - 10e6).abs() < 1.0);
    }
}

#[test]
fn a_timeout_halves_the_rate_and_asks_anew() {
    let mut a = allegro();
    a.rate = 10e6;
    a.open(Instant::from_millis(1));
    let event = CongestionEvent::new(Cause::Timeout, Bytes(0), Bytes(0), 0);
    a.on_congestion(Instant::from_millis(2), &path(), &event);
    assert!((a.rate - 5e6).abs() < 1.0 && matches!(a.state, State::Deciding { .. }));
}

#[test]
fn the_latency_variant_divides_by_the_rtt() {
    let mut a = Allegro::new(true, 1448, Draw::new(3));
    a.view(&path());
    a.rate = 10e6;
    a.open(Instant::from_millis(1));
    let mut books = a.monitor.pop().expect("open");
    books.sent = 100_000;
    books.began = Some(Instant::from_millis(1));
    books.ended = Instant::from_millis(81);
    books.samples = vec![Sample {
        number: 0,
        rtt: 50_000.0,
        reliable: true,
    }];
    a.judge(Instant::from_millis(200), &books);
    let State::Starting {
        best: Some((_, worth)),
    } = a.state
    else {
        panic!("the start goes on");
    };
    let plain = utility::allegro(100_000, 0, books.seconds(1500));
    assert!((worth - plain / 0.05).abs() < 1e-9);
}
