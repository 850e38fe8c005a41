use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::rules::Volume;
use crate::sessions::Sessions;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn triggers(bits: u32) -> [u8; 3] {
    let [a, b, c, _] = bits.to_le_bytes();
    [a, b, c]
}

fn rule(bits: u32) -> Urr {
    Urr {
        id: 1,
        volume: true,
        duration: true,
        triggers: triggers(bits),
        ..Urr::default()
    }
}

fn bytes(total: u64) -> Volume {
    Volume {
        total: Some(Bytes(total)),
        ..Volume::default()
    }
}

fn session() -> Seid {
    Sessions::default().add(Instant::ZERO, 0, 1)
}

fn down(usage: &mut Usage, now: Instant, seid: Seid, len: u64) -> bool {
    usage.on_packet(now, seid, &[1], Direction::Down, Bytes(len))
}

/// Runs timers up to `now` and takes what is due.
fn due(usage: &mut Usage, now: Instant) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    while let Some(next) = usage.next_timer().filter(|next| *next <= now) {
        usage.on_timer(next);
        while let Some((_, report)) = usage.take_due(next) {
            all.push((report.end.as_nanos() / 1_000_000_000, report.triggers));
        }
    }
    all
}

#[test]
fn a_quota_ends_packets_and_a_new_one_lets_them_pass() {
    let (mut usage, seid) = (Usage::default(), session());
    let urr = Urr {
        volume_quota: bytes(1_000),
        ..rule(trigger::VOLUME_QUOTA)
    };
    usage.create(at(0), seid, &urr);
    assert!(down(&mut usage, at(1), seid, 600));
    assert!(
        down(&mut usage, at(1), seid, 600),
        "the one that uses it up"
    );
    assert!(!down(&mut usage, at(1), seid, 1));
    let (_, report) = usage.take_due(at(1)).unwrap();
    let counted = report.volume.unwrap();
    assert_eq!(report.triggers, trigger::VOLUME_QUOTA);
    assert_eq!((counted.down, counted.down_packets), (Bytes(1_200), 2));
    // It stays used up, and that is not told again.
    assert!(!down(&mut usage, at(2), seid, 1) && !usage.is_due());
    usage.update(at(2), seid, &urr, true, false);
    assert!(down(&mut usage, at(2), seid, 1));
    assert_eq!(
        usage.query(at(2), seid, 1).unwrap().volume.unwrap().down,
        Bytes(1)
    );
}

#[test]
fn a_quota_of_one_rule_ends_packets_of_all() {
    let (mut usage, seid) = (Usage::default(), session());
    let short = Urr {
        id: 2,
        volume_quota: bytes(1),
        ..rule(0)
    };
    usage.create(at(0), seid, &rule(0));
    usage.create(at(0), seid, &short);
    assert!(usage.on_packet(at(0), seid, &[2, 1], Direction::Up, Bytes(9)));
    assert!(!usage.on_packet(at(0), seid, &[1, 2], Direction::Up, Bytes(9)));
    assert!(usage.on_packet(at(0), seid, &[1], Direction::Up, Bytes(9)));
    assert_eq!(
        usage.query(at(0), seid, 1).unwrap().volume.unwrap().up,
        Bytes(18)
    );
    assert!(
        usage.on_packet(at(0), Seid(99), &[1], Direction::Up, Bytes(9)),
        "no such session"
    );
}

#[test]
fn periods_stay_on_their_grid() {
    let (mut usage, seid) = (Usage::default(), session());
    let urr = Urr {
        period: Some(SECOND * 10),
        ..rule(trigger::PERIODIC)
    };
    usage.create(at(5), seid, &urr);
    let told = due(&mut usage, at(40));
    assert_eq!(told, [15, 25, 35].map(|s| (s, trigger::PERIODIC)));
    // Time jumped: one report, and the next where it would have been.
    usage.on_timer(at(71));
    assert_eq!(usage.take_due(at(71)).unwrap().1.end, at(71));
    assert_eq!(usage.next_timer(), Some(at(75)));
    usage.end(at(72), seid);
    assert_eq!(usage.next_timer(), None);
}

#[test]
fn time_is_counted_while_it_is_used() {
    let (mut usage, seid) = (Usage::default(), session());
    let urr = Urr {
        inactivity: Some(SECOND * 5),
        time_threshold: Some(SECOND * 12),
        ..rule(trigger::TIME_THRESHOLD)
    };
    usage.create(at(0), seid, &urr);
    assert_eq!(usage.next_timer(), None, "nothing came");
    // Used from 10 s to 15 s, and from 100 s on with a packet each second: 12 s are over at 107 s.
    down(&mut usage, at(10), seid, 1);
    assert_eq!(due(&mut usage, at(99)), []);
    let mut told = Vec::new();
    for s in 100..110 {
        told.extend(due(&mut usage, at(s)));
        down(&mut usage, at(s), seid, 1);
    }
    assert_eq!(told, [(107, trigger::TIME_THRESHOLD)]);
    // 2 s more by the last packet at 109 s, 5 s of rest, 1 s before the report at 107 s is not there twice.
    let last = usage.remove(at(200), seid, 1).unwrap();
    assert_eq!(last.duration, Some(SECOND * 7));
}

#[test]
fn a_quota_of_time_ends_packets() {
    let (mut usage, seid) = (Usage::default(), session());
    let urr = Urr {
        time_quota: Some(SECOND * 3),
        ..rule(trigger::TIME_QUOTA)
    };
    usage.create(at(0), seid, &urr);
    assert!(down(&mut usage, at(10), seid, 1));
    assert!(down(&mut usage, at(12), seid, 1));
    assert_eq!(due(&mut usage, at(20)), [(13, trigger::TIME_QUOTA)]);
    assert!(!down(&mut usage, at(14), seid, 1));
}

#[test]
fn traffic_begins_and_ends() {
    let (mut usage, seid) = (Usage::default(), session());
    let urr = Urr {
        event: true,
        inactivity: Some(SECOND * 5),
        holding: Some(SECOND * 7),
        ..rule(trigger::START | trigger::STOP | trigger::QUOTA_HOLDING)
    };
    usage.create(at(0), seid, &urr);
    let mut told = due(&mut usage, at(9));
    for s in [10, 12, 30] {
        told.extend(due(&mut usage, at(s)));
        down(&mut usage, at(s), seid, 1);
        while let Some((_, report)) = usage.take_due(at(s)) {
            told.push((s, report.triggers));
        }
    }
    told.extend(due(&mut usage, at(60)));
    let (start, stop, hold) = (trigger::START, trigger::STOP, trigger::QUOTA_HOLDING);
    let expected = [
        (7, hold),
        (10, start),
        (17, stop),
        (19, hold),
        (30, start),
        (35, stop),
        (37, hold),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_rule_counts_before_or_after_its_rates_are_enforced() {
    let mut sessions = Sessions::default();
    let seid = sessions.add(at(0), 0, 1);
    let mut usage = Usage::default();
    let before = Urr {
        id: 2,
        before_qos: true,
        ..rule(0)
    };
    usage.create(at(0), seid, &rule(0));
    usage.create(at(0), seid, &before);
    for (enforced, len) in [(false, 1_000), (false, 500), (true, 1_000)] {
        let bytes = Bytes(len);
        assert!(usage.on_packet_at(at(0), seid, &[1, 2], Direction::Down, bytes, enforced));
    }
    let counted = |usage: &mut Usage, urr| usage.query(at(1), seid, urr).unwrap().volume.unwrap();
    assert_eq!(counted(&mut usage, 1).down, Bytes(1_000));
    assert_eq!(
        counted(&mut usage, 2).down,
        Bytes(1_500),
        "what was offered"
    );
}

#[derive(Clone, Debug)]
enum Step {
    Packet(u8, bool, u16),
    Wait(u32),
    Query(u8),
    Take,
    Requota(u8),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1u8..8, any::<bool>(), any::<u16>()).prop_map(|(u, up, n)| Step::Packet(u, up, n)),
        2 => (0u32..20_000).prop_map(Step::Wait),
        1 => (1u8..4).prop_map(Step::Query),
        2 => Just(Step::Take),
        1 => (1u8..4).prop_map(Step::Requota),
    ]
}

proptest! {
    #[test]
    fn reports_add_up_to_what_passed(
        bits in 0u32..1 << 10,
        volumes in proptest::array::uniform4(1u64..200_000),
        times in proptest::array::uniform4(1u64..40),
        inactive: bool,
        steps in vec(any_step(), 1..120),
    ) {
        let seid = session();
        let mut usage = Usage::default();
        let seconds = |i: usize| Some(SECOND * times[i]);
        let rules: Vec<Urr> = (1..4).map(|id| Urr {
            id,
            volume_threshold: Volume { total: Some(Bytes(volumes[0])), up: Some(Bytes(volumes[1])), down: None },
            volume_quota: if id == 2 { bytes(volumes[2]) } else { Volume::default() },
            time_threshold: seconds(0),
            time_quota: if id == 3 { seconds(1) } else { None },
            period: seconds(2),
            holding: seconds(3),
            inactivity: inactive.then_some(SECOND * 4),
            ..rule(bits & trigger::ALL)
        }).collect();
        for urr in &rules {
            usage.create(Instant::ZERO, seid, urr);
        }
        let mut now = Instant::ZERO;
        let mut passed = [Counted::default(); 4];
        let mut reports: Vec<Report> = Vec::new();
        for step in steps {
            match step {
                Step::Packet(mask, up, len) => {
                    let urrs: Vec<u32> = (1..4).filter(|u| mask >> (u - 1) & 1 == 1).collect();
                    let direction = if up { Direction::Up } else { Direction::Down };
                    if usage.on_packet(now, seid, &urrs, direction, Bytes(len.into())) {
                        for u in urrs {
                            passed[u as usize].add(direction, 1, len.into());
                        }
                    }
                }
                Step::Wait(ms) => {
                    now += Duration::from_millis(ms.into());
                    usage.on_timer(now);
                    prop_assert!(usage.next_timer().is_none_or(|next| next > now));
                }
                Step::Query(urr) => reports.extend(usage.query(now, seid, urr.into())),
                Step::Take => {
                    while let Some((_, report)) = usage.take_due(now) {
                        prop_assert!(report.triggers & !bits == 0);
                        reports.push(report);
                    }
                }
                Step::Requota(urr) => {
                    usage.update(now, seid, &rules[usize::from(urr) - 1], true, true);
                }
            }
            prop_assert!(usage.due.len() <= 3 && usage.timers.len() <= 3);
        }
        reports.extend(usage.end(now, seid));
        prop_assert!(!usage.is_due() && usage.next_timer().is_none());
        for urr in 1..4u32 {
            let mine: Vec<&Report> = reports.iter().filter(|r| r.urr == urr).collect();
            let mut sum = Counted::default();
            let mut end = Instant::ZERO;
            let mut time = Duration::ZERO;
            for (n, report) in mine.iter().enumerate() {
                let c = report.volume.expect("measured");
                sum.up.0 += c.up.0;
                sum.down.0 += c.down.0;
                sum.up_packets += c.up_packets;
                sum.down_packets += c.down_packets;
                time += report.duration.expect("measured");
                prop_assert_eq!((report.seqn as usize, report.start), (n, end), "one after another");
                end = report.end;
            }
            prop_assert_eq!(sum, passed[urr as usize]);
            prop_assert!(time <= now.since(Instant::ZERO));
        }
    }
}
