use super::super::testing::{Link, MSS, steady, varying};
use super::*;

fn sprout() -> Sprout {
    Sprout::new(MSS as u32, MAX_MBPS)
}

/// 6 Mbit/s, with 1 s of nothing in each 10 s.
fn outages(ms: u64) -> u64 {
    u64::from(ms % 10_000 >= 1000 && ms.is_multiple_of(2))
}

/// 36 Mbit/s.
fn fast(_ms: u64) -> u64 {
    3
}

#[test]
fn the_delay_stays_below_the_target_and_the_link_is_not_full() {
    let mut link = Link::new(sprout(), 20, steady);
    link.run(3000);
    link.forget();
    link.run(20_000);
    assert!(link.delay(0.95) <= 100, "{}", link.delay(0.95));
    assert!(link.utilisation() > 0.6, "{}", link.utilisation());
    let mut link = Link::new(sprout(), 20, varying);
    link.run(20_000);
    assert!(link.delay(0.95) <= 150, "{}", link.delay(0.95));
    assert!(link.utilisation() > 0.3, "{}", link.utilisation());
}

#[test]
fn an_outage_closes_the_window_and_its_end_opens_it() {
    let mut link = Link::new(sprout(), 20, outages);
    link.run(10_000);
    let before = link.window();
    assert!(before >= 10, "{before}");
    link.run(900);
    assert!(link.c.counts[TARGET - 1] == 0, "{:?}", link.c.counts);
    // What is outstanding stays so; nothing is added to it.
    let stuck = link.window();
    link.forget();
    link.run(1000);
    assert!(link.window() >= 5, "{stuck} {}", link.window());
    link.run(8000);
    assert!(link.utilisation() > 0.5, "{}", link.utilisation());
}

#[test]
fn a_scaled_model_uses_a_fast_link() {
    let run = |max: f64| {
        let mut link = Link::new(Sprout::new(MSS as u32, max), 20, fast);
        link.run(3000);
        link.forget();
        link.run(10_000);
        (link.utilisation(), link.delay(0.95))
    };
    // The authors' model ends at 11.2 Mbit/s; at most 140 packets in the next 120 ms are forecast.
    let (own, _) = run(MAX_MBPS);
    let (scaled, delay) = run(60.0);
    assert!(own < 0.6, "{own}");
    assert!(scaled > 0.75 && delay <= 100, "{scaled} {delay}");
}

#[test]
fn a_late_way_back_moves_no_arrival() {
    // Ten packets a tick, whose ACKs come in clumps of 100 ms; their time stamps say when they left.
    let hear = |stamped: bool| {
        let mut c = sprout();
        let mut path = PathView {
            mss: MSS as u32,
            min_rtt: Duration::from_millis(40),
            ..PathView::default()
        };
        let ms = Instant::from_millis;
        let mut outstanding = 50 * MSS;
        path.in_flight = Bytes(outstanding);
        c.on_sent(ms(0), &path, &Sent::default());
        for clump in 1..100 {
            let now = 100 * clump;
            for left in (now - 100..now).step_by(2) {
                let ack = Ack {
                    newly_acked: Bytes(MSS),
                    back: stamped.then(|| Duration::from_millis(now - left)),
                    ..Ack::default()
                };
                outstanding += MSS;
                path.in_flight = Bytes(outstanding);
                let sent = Sent {
                    bytes: Bytes(MSS),
                    ..Sent::default()
                };
                c.on_sent(ms(now), &path, &sent);
                outstanding -= MSS;
                path.in_flight = Bytes(outstanding);
                c.on_ack(ms(now), &path, &ack);
            }
            // Silence is taken for time that passed, until the next clump shows what arrived in it.
            for look in (1..10).filter(|_| clump < 99) {
                c.on_timer(ms(now + 10 * look), &path);
            }
        }
        let receiver = c.receiver.expect("it heard");
        receiver.forecaster.cautious()[TARGET - 1]
    };
    let (stamped, plain) = (hear(true), hear(false));
    assert!((33..=38).contains(&stamped), "{stamped}");
    assert!(!(33..=38).contains(&plain), "{plain}");
}
