use super::*;

#[test]
fn loops_of_an_empty_radio_show_a_longer_path_though_its_queue_seems_to_explain_one() {
    let ms = |ms: u64| Duration::from_millis(ms);
    let mut elsewhere = Elsewhere::default();
    // A loop of 64 ms where 48 were known. Every tenth report overestimates what waits by blocks that are repeated.
    let found = (0..200u64).find_map(|n| {
        let round = ms(64);
        let queue = if n % 10 == 0 { ms(13) } else { ms(4) };
        let way = Way {
            round,
            wait: round - ms(48) - queue,
            empty: n % 3 == 0,
            base: ms(48),
            served: 0.8 * 3e6,
            forecast: 3e6,
            lost: 0.0,
            left: 12e3,
            packet: 1500.0,
            idle: false,
        };
        elsewhere.look(Instant::from_millis(5 * n), way)
    });
    assert_eq!(found, Some(ms(64)));
}

const BASE: Duration = Duration::from_millis(40);

/// Loops are 30 ms longer than the radio's queue explains, a third of what it offers is served, and a twentieth of the packets is lost.
fn meets(idle: impl Fn(u64) -> bool) -> bool {
    let mut elsewhere = Elsewhere::default();
    (0..2000).any(|n| {
        let longer = Duration::from_millis(30);
        let way = Way {
            round: BASE + longer,
            wait: longer,
            empty: true,
            base: BASE,
            served: 1e6,
            forecast: 3e6,
            lost: 250.0,
            left: 5e3,
            packet: 1500.0,
            idle: idle(n),
        };
        elsewhere.look(Instant::from_millis(5 * n), way);
        elsewhere.is_met()
    })
}

#[test]
fn a_host_that_has_little_to_send_shows_no_bottleneck() {
    assert!(meets(|_| false));
    assert!(!meets(|_| true));
    // A frame of video each 50 ms, and less than a loop between two of them.
    assert!(!meets(|n| n % 10 != 0));
}

/// How often a sender drains its queue in 30 s, with a report each 5 ms. Loops are 6 ms longer than the least one, and as long
/// as that while it drains; 93 % of the forecast are served otherwise.
fn drains(empty: bool) -> u32 {
    let mut elsewhere = Elsewhere::default();
    let mut drains = 0;
    for ms in (0..30_000).step_by(5) {
        let now = Instant::from_millis(ms);
        let longer = Duration::from_millis(6);
        let full = 930.0;
        let rate = elsewhere.rate(now).unwrap_or(full);
        let wait = if rate < full { Duration::ZERO } else { longer };
        let was = elsewhere.is_met();
        let path = elsewhere.look(
            now,
            Way {
                round: BASE + wait,
                wait,
                empty,
                base: BASE,
                served: rate.min(full),
                forecast: 1000.0,
                lost: 0.0,
                left: 5.0,
                packet: 1500.0,
                idle: false,
            },
        );
        assert_eq!(path, None, "the path is as long as before");
        drains += u32::from(elsewhere.is_met() && !was);
    }
    drains
}

#[test]
fn a_drain_that_finds_nothing_is_not_repeated_for_ten_seconds() {
    // Each look takes four loops and a drain of 115 ms, and then there is a pause of 10 s.
    assert_eq!(drains(true), 3);
}

#[test]
fn loops_behind_a_queue_of_the_radio_say_nothing_of_a_bottleneck_elsewhere() {
    assert_eq!(drains(false), 0);
}

/// A flow that sends nothing is served nothing: its loops may be long for any reason.
#[test]
fn where_nothing_is_forecast_nothing_is_held() {
    let mut elsewhere = Elsewhere::default();
    for n in 0..400 {
        let longer = Duration::from_millis(6);
        let way = Way {
            round: BASE + longer,
            wait: longer,
            empty: true,
            base: BASE,
            served: 0.0,
            forecast: 0.0,
            lost: 0.0,
            left: 0.0,
            packet: 1500.0,
            idle: false,
        };
        elsewhere.look(Instant::from_millis(5 * n), way);
        assert!(!elsewhere.is_met());
    }
}

/// A hop with a queue before the radio: what a flow sends of it, and the loops through its queue.
struct Hop {
    elsewhere: Elsewhere,
    now: Instant,
    base: Duration,
}

/// The rate of the radio, bytes/s.
const RADIO: f64 = 3e6;

impl Hop {
    fn new() -> Self {
        Self {
            elsewhere: Elsewhere::default(),
            now: Instant::ZERO,
            base: BASE,
        }
    }

    /// Reports each 5 ms for so long: `served` bytes/s, a `queue` before an empty radio, and this `lost` part.
    fn report(&mut self, time: Duration, served: f64, queue: Duration, lost: f64) {
        let end = self.now + time;
        while self.now < end {
            let left = served * 0.005;
            let way = Way {
                round: BASE + queue,
                wait: (BASE + queue).saturating_sub(self.base),
                empty: true,
                base: self.base,
                served,
                forecast: RADIO,
                lost: left * lost,
                left,
                packet: 1500.0,
                idle: false,
            };
            if let Some(base) = self.elsewhere.look(self.now, way) {
                self.base = base;
            }
            self.now += Duration::from_millis(5);
        }
    }

    fn is_apart(&self) -> bool {
        self.elsewhere.apart().is_some()
    }
}

const QUEUE: Duration = Duration::from_millis(60);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn where_a_drain_does_not_empty_the_queue_twice_others_share_it_and_the_host_steers() {
    let mut hop = Hop::new();
    hop.report(SECOND, 1e6, QUEUE, 0.0);
    assert!(!hop.is_apart() && hop.base == BASE + QUEUE, "a longer path");
    // The queue of others grows on.
    hop.report(SECOND * 2, 1e6, QUEUE * 2, 0.0);
    assert_eq!(hop.elsewhere.apart(), Some(1e6));
    assert!(!hop.elsewhere.is_met());
    // For ten seconds, then one such drain is enough, and it takes twenty.
    hop.report(SECOND * 6, 1e6, QUEUE * 2, 0.0);
    assert!(hop.is_apart());
    hop.report(SECOND * 6, 1e6, QUEUE * 4, 0.0);
    assert!(hop.is_apart());
    hop.report(SECOND * 15, 1e6, QUEUE * 4, 0.0);
    assert!(hop.is_apart());
}

#[test]
fn a_path_that_gets_longer_from_time_to_time_is_no_shared_queue() {
    let mut hop = Hop::new();
    for n in 1..10 {
        hop.report(SECOND * 3, 1e6, QUEUE * n, 0.0);
        assert!(hop.base >= BASE + QUEUE * n, "{n}");
        // On the new path the radio serves what it offers.
        hop.report(SECOND * 3, RADIO, QUEUE * n, 0.0);
        assert!(!hop.is_apart());
    }
}

#[test]
fn losses_show_a_bottleneck_and_losses_after_a_drain_show_others() {
    let mut hop = Hop::new();
    let none = Duration::ZERO;
    // Two packets in a hundred are lost by themselves.
    hop.report(SECOND * 3, 1e6, none, 0.02);
    assert!(!hop.elsewhere.is_met() && !hop.is_apart());
    hop.report(Duration::from_millis(500), 1e6, none, 0.06);
    assert!(!hop.elsewhere.is_met(), "by chance, as it seems");
    hop.report(Duration::from_millis(50), 1e6, none, 0.06);
    assert!(hop.elsewhere.is_met() && !hop.is_apart());
    hop.report(SECOND, 1e6, none, 0.06);
    assert!(hop.is_apart());
    // The radio is the bottleneck: it serves what it offers.
    hop.report(BASE * 5, RADIO, none, 0.06);
    assert!(!hop.is_apart() && !hop.elsewhere.is_met());
    // Losses alone say nothing then.
    hop.report(SECOND * 3, RADIO, none, 0.06);
    assert!(!hop.is_apart() && !hop.elsewhere.is_met());
}

#[test]
fn a_drain_takes_as_long_as_the_queue_there() {
    let mut hop = Hop::new();
    // 300 ms of queue that shrink by a quarter of the time while a quarter less is sent.
    let mut queue = Duration::from_millis(300);
    for _ in 0..600 {
        let drains = hop.elsewhere.rate(hop.now).is_some_and(|rate| rate < 1e6);
        let step = Duration::from_millis(5);
        hop.report(step, 1e6, queue, 0.0);
        if drains {
            queue = queue.saturating_sub(step / 4);
        }
    }
    assert_eq!((hop.base, hop.is_apart()), (BASE, false));
    assert!(hop.elsewhere.is_met());
}

#[test]
fn losses_that_are_found_together_count_with_all_that_left_meanwhile() {
    // A part of all packets is lost by itself; those of 100 ms are found at once. Some of them may be found with the next ones.
    let found = |lost: f64, later: f64| {
        let mut elsewhere = Elsewhere::default();
        let left = 25e6 * 0.005;
        (0..2_000_u64).any(|n| {
            let all = left * 20.0 * lost;
            let lost = match n % 40 {
                19 => all * (1.0 - later),
                39 => all * (1.0 + later),
                _ => 0.0,
            };
            let way = Way {
                round: BASE,
                wait: Duration::ZERO,
                empty: true,
                base: BASE,
                served: 25e6,
                forecast: 30e6,
                lost,
                left,
                packet: 1500.0,
                idle: false,
            };
            elsewhere.look(Instant::from_millis(5 * n), way);
            elsewhere.is_met()
        })
    };
    assert!(!found(0.01, 0.0) && !found(0.01, 0.9));
    assert!(found(0.04, 0.0) && found(0.04, 0.9));
}

/// A loop becomes 100 ms long, of 40, while a tenth of the forecast is served. `again` waits on it beyond that once it is known. What may
/// be sent at most from then on, each value once, and what became of it.
fn lengthened(again: Duration) -> (Vec<f64>, Elsewhere) {
    let mut elsewhere = Elsewhere::default();
    let mut base = BASE;
    let mut rates = Vec::new();
    for n in 0..600 {
        let now = Instant::from_millis(5 * n);
        let rate = elsewhere.rate(now).unwrap_or(10_000.0);
        if base > BASE && rates.last() != Some(&rate) && elsewhere.apart().is_none() {
            rates.push(rate);
        }
        let wait = if base > BASE {
            again
        } else {
            Duration::from_millis(60)
        };
        let way = Way {
            round: base + wait,
            wait,
            empty: true,
            base,
            served: if again.is_zero() && base > BASE {
                rate
            } else {
                1000.0
            },
            forecast: 10_000.0,
            lost: 0.0,
            left: 5.0,
            packet: 1500.0,
            idle: false,
        };
        base = elsewhere.look(now, way).unwrap_or(base);
    }
    (rates, elsewhere)
}

#[test]
fn a_longer_path_is_filled_twice_as_far_in_each_loop() {
    let (rates, elsewhere) = lengthened(Duration::ZERO);
    assert_eq!(rates, [2000.0, 4000.0, 8000.0, 16_000.0, 10_000.0]);
    assert!(!elsewhere.is_met());
}

/// It passed for a longer path, and all that the radio offers was sent into a full queue.
#[test]
fn a_queue_that_others_keep_is_not_flooded_for_a_longer_path() {
    let (rates, elsewhere) = lengthened(Duration::from_millis(30));
    assert!(rates.iter().all(|&rate| rate <= 4000.0), "{rates:?}");
    assert!(elsewhere.apart().is_some(), "the host steers");
}

/// For how many ms after the first second the rate stays below what the radio offers. In that second a hop is narrower; then it is
/// not, and the host has nothing to send for `pause` ms.
fn held_after(pause: u64) -> u64 {
    let mut elsewhere = Elsewhere::default();
    let (offered, narrow) = (3e6, 1e6);
    for ms in (0..20_000).step_by(5) {
        let now = Instant::from_millis(ms);
        let early = ms < 1000;
        let idle = !early && ms < 1000 + pause;
        let rate = elsewhere.rate(now).unwrap_or(offered);
        let free = if early { narrow } else { offered };
        let wait = Duration::from_millis(if rate > free { 30 } else { 0 });
        let way = Way {
            round: BASE + wait,
            wait,
            empty: true,
            base: BASE,
            served: if idle { 0.0 } else { rate.min(free) },
            forecast: offered,
            lost: 0.0,
            left: 5e3,
            packet: 1500.0,
            idle,
        };
        elsewhere.look(now, way);
        assert!(!early || ms < 200 || elsewhere.is_met(), "{ms}");
        assert!(!idle || elsewhere.rate(now).is_some_and(|rate| rate < offered));
        if !early && !idle && !elsewhere.is_met() {
            return ms - 1000 - pause;
        }
    }
    20_000
}

#[test]
fn what_was_held_before_a_pause_is_filled_again_after_it() {
    let (long, none) = (held_after(1500), held_after(0));
    // From a third to all of it by a quarter more in each loop; else the next probe finds it.
    assert!(long <= 6 * 40, "{long}");
    assert!(none > 1000, "{none}");
}

/// The time in ms at which a bottleneck is found, where reports come each `every` ms, a loop takes 7 ms, and all but one report in `each` show a wait.
fn found(every: u64, each: u64) -> Option<u64> {
    let mut elsewhere = Elsewhere::default();
    let base = Duration::from_millis(7);
    (0..200).map(|n| (n, n * every)).find_map(|(n, ms)| {
        let wait = if n % each == each - 1 { 0 } else { 12 };
        let wait = Duration::from_millis(wait);
        let way = Way {
            round: base + wait,
            wait,
            empty: false,
            base,
            served: 1e6,
            forecast: 5e6,
            lost: 0.0,
            left: 1e6 * every as f64 * 1e-3,
            packet: 1500.0,
            idle: false,
        };
        elsewhere.look(Instant::from_millis(ms), way);
        elsewhere.is_met().then_some(ms)
    })
}

#[test]
fn blocks_that_are_repeated_delay_some_reports_and_a_queue_delays_all() {
    // Each sixth report finds no wait, and each seventh.
    assert_eq!([1, 5, 20].map(|every| found(every, 6)), [None; 3]);
    assert_eq!([5, 20].map(|every| found(every, 7)), [Some(25), Some(100)]);
    // A loop and a half.
    assert_eq!(found(1, 200), Some(11));
    // Reports that come rarely: the second one after 150 ms.
    assert_eq!(found(100, 200), Some(200));
}
