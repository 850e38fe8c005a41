//! How acknowledgments come up: requests, buffer status, and the timers that make up for lost ones.

use super::*;

/// One UE next to the cell unless it is elsewhere.
fn near(config: &CellConfig) -> ChannelConfig {
    ChannelConfig {
        mobility: Mobility::Static(Position { x: 100.0, y: 0.0 }),
        downlink: config.downlink_budget(),
        uplink: config.uplink_budget(),
        ..ChannelConfig::default()
    }
}

/// Puts acknowledgments into the UE as slots end, `sent(k)` as slot `k` does. Returns for each slot how many came up,
/// and the delay of each in slots.
fn come_up(
    config: &CellConfig,
    channel: ChannelConfig,
    slots: u64,
    sent: impl Fn(u64) -> u32,
) -> (Vec<u32>, Vec<u64>) {
    let mut cell = cell(config, vec![ue(channel, RlcConfig::default())]);
    let mut out = CellOut::new();
    let slot_ns = config.slot_duration().as_nanos();
    let (mut came, mut times, mut delays) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..slots {
        let at = Instant::from_nanos(k * slot_ns);
        cell.run_slot(at, &mut out, &mut NoObserver);
        came.push(out.delivered.len() as u32);
        delays.extend(
            out.delivered
                .drain(..)
                .map(|d| k - times[d.packet.number() as usize]),
        );
        for _ in 0..sent(k) {
            let ack = packet(times.len() as u32, 52);
            times.push(k);
            cell.enqueue(at, Direction::Up, UeId(0), Qfi(0), ack, &mut out);
        }
        out.clear();
    }
    (came, delays)
}

/// The longest way from one slot in which acknowledgments came to the next, from `from` on.
fn widest(came: &[u32], from: usize) -> usize {
    let with: Vec<usize> = (from..came.len()).filter(|&k| came[k] > 0).collect();
    with.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
}

#[test]
fn ns3s_uplink_serves_each_report() {
    let config = CellConfig::lte_ns3(10.0);
    // One each millisecond; two now and then (a download of 35 Mbit/s under delayed acknowledgments); every other one.
    for (every, extra) in [(1, 0), (1, 1), (2, 0)] {
        let sent = |k: u64| {
            let now = u32::from(k.is_multiple_of(every));
            now + extra * u32::from(k.is_multiple_of(2))
        };
        let (came, delays) = come_up(&config, near(&config), 1000, sent);
        assert_eq!(widest(&came, 100), every as usize, "{every} {extra}");
        // After the first ones, each takes the same way.
        let (least, largest) = (delays[50..].iter().min(), delays[50..].iter().max());
        assert!(
            largest.unwrap() - least.unwrap() < every,
            "{least:?} {largest:?}"
        );
    }
}

#[test]
fn ns3s_uplink_starts_again_at_once() {
    // Twenty in twenty milliseconds, then thirty without any.
    let config = CellConfig::lte_ns3(10.0);
    let (came, _) = come_up(&config, near(&config), 1000, |k| u32::from(k % 50 < 20));
    for burst in came.chunks(50).skip(2).take(15) {
        let first = burst.iter().position(|&n| n > 0).unwrap();
        // The first grant takes what came while it was on its way, the next ones one each.
        assert_eq!(burst[first], 4, "{burst:?}");
        assert!(
            burst[first + 1..first + 17].iter().all(|&n| n == 1),
            "{burst:?}"
        );
    }
}

#[test]
fn a_status_from_before_a_request_does_not_undo_it() {
    // A block is filled four slots before it is on the air, so that its empty status arrives with the next request.
    let mut config = CellConfig::lte(10.0);
    config.uplink.sr_period = Some(Duration::from_millis(6));
    config.uplink.prepare = Some(Duration::from_millis(4));
    for between in 1..40 {
        let sent = |k| u32::from(k == 40 || k == 40 + between);
        let (_, delays) = come_up(&config, near(&config), 150, sent);
        // A request leaves up to 6 slots later, is known in the next, and its block is there 1 + 4 + 1 slots later.
        let late = delays.iter().any(|&d| d > 14);
        assert!(
            delays.len() == 2 && !late,
            "{between} slots later: {delays:?}"
        );
    }
}

/// A UE that is out of reach from 1 s for `away` and sends one acknowledgment a millisecond; how long after its return
/// the first one comes up.
fn back_after(config: &CellConfig, away: Duration) -> u64 {
    let (near_by, far) = (
        Position::at_distance(100.0),
        Position::at_distance(50_000.0),
    );
    let (gone, step) = (Instant::from_millis(1000), Duration::from_millis(1));
    let channel = ChannelConfig {
        mobility: Mobility::Waypoints(vec![
            (Instant::ZERO, near_by),
            (gone, near_by),
            (gone + step, far),
            (gone + away, far),
            (gone + away + step, near_by),
        ]),
        ..near(config)
    };
    let back = 1000 + away.as_nanos() / 1_000_000 + 1;
    let (came, _) = come_up(config, channel, back + 2000, |_| 1);
    let from = back as usize;
    (from..came.len())
        .find(|&k| came[k] > 0)
        .expect("it never comes back") as u64
        - back
}

#[test]
fn a_block_given_up_is_granted_again() {
    // Until then the UE waited for retxBSR-Timer, 320 ms.
    let config = CellConfig::lte(10.0);
    let wait = back_after(&config, Duration::from_millis(100));
    // What follows the lost block waits for t-Reordering, 50 ms, which covers four transmissions and the new grant.
    assert!(wait <= 60, "{wait} ms");
}

#[test]
fn what_a_cell_has_given_up_waits_for_the_timer() {
    // Beyond a hundred failures in a row the cell grants nothing by itself.
    let mut config = CellConfig::lte(10.0);
    for retx in [320, 640] {
        config.uplink.retx_bsr = Some(Duration::from_millis(retx));
        // Shortly after the cell's last grants.
        let waits: Vec<u64> = (0..8)
            .map(|k| back_after(&config, Duration::from_millis(1100 + 97 * k)))
            .collect();
        let longest = *waits.iter().max().unwrap();
        assert!(longest <= retx + 60, "{retx}: {waits:?}");
        assert!(longest > retx / 2, "{retx}: {waits:?}");
    }
}

#[test]
fn a_full_block_reports_when_the_timer_says_so() {
    // A bulk upload fills its blocks: reports come by periodicBSR-Timer, and the queue is served as if each block had one.
    let channel = |config: &CellConfig| ue(near(config), RlcConfig::default());
    for mut config in [CellConfig::lte(10.0), CellConfig::nr(100, 1)] {
        let each = saturate(&config, channel(&config), Direction::Up, 2);
        config.uplink.periodic_bsr = Some(Duration::from_millis(10));
        let some = saturate(&config, channel(&config), Direction::Up, 2);
        let [each, some] = [each, some].map(|cell| cell.stats().up.delivered as f64);
        assert!(some > 0.99 * each, "{:?}: {some}, {each}", config.rat);
    }
}
