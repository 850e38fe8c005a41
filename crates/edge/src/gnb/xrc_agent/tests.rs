use slackwater_core::{BearerId, Bytes, Draw, Duration, Prbs, Qfi, Rnti, SlotIdx};
use slackwater_signal::Grant;

use super::*;
use crate::agent::OneQueue;

/// Bytes of TBS granted to a UE, and whether the block is new.
type Given = (u32, u64, bool);

/// Literal bytes, so that expectations are round.
const PLAIN: AgentConfig = AgentConfig::LTE.literal(0);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// What `agent` reports to the sender of `flow`, whose data waits in `queue`.
pub(super) fn report(
    agent: &mut XrcAgent,
    at: Instant,
    flow: FlowId,
    queue: RlcView,
) -> Option<PathReport> {
    let flow = FlowAt {
        flow,
        ue: queue.ue,
        bearer: queue.bearer,
    };
    agent.report(at, &flow, &mut OneQueue(queue))
}

/// Shows the slot `n` of 1 ms; `block` holds bytes per block and UE.
fn slot(agent: &mut XrcAgent, n: u64, given: &[Given], all: u16, free: u16, block: &[u32]) {
    let grants: Vec<Grant> = given
        .iter()
        .map(|&(ue, tbs, ndi)| Grant {
            ue: UeId(ue),
            rnti: Rnti(0),
            direction: Direction::Down,
            harq: 0,
            round: u8::from(!ndi),
            ndi,
            mcs: 0,
            prbs: Prbs(1),
            tbs: Bytes(tbs),
        })
        .collect();
    let q8: Vec<u32> = block.iter().map(|b| b * 256).collect();
    let view = SlotView {
        slot: SlotIdx(n),
        start: ms(n),
        direction: Direction::Down,
        grants: &grants,
        feedback: &[],
        schedulable: Prbs(all),
        free: Prbs(free),
        bytes_per_prb_q8: &q8,
        bytes_version: 0,
    };
    agent.on_slot(ms(n), &view);
    // The uplink is none of its business.
    let up = SlotView {
        direction: Direction::Up,
        ..view
    };
    agent.on_slot(ms(n), &up);
}

fn arrive(agent: &mut XrcAgent, at: Instant, ue: u32, flow: u32, bytes: u64) {
    let mut packet = PdcpView {
        ue: UeId(ue),
        bearer: BearerId(0),
        qfi: Qfi(0),
        flow: Some(FlowId(flow)),
        direction: Direction::Down,
        bytes: Bytes(bytes),
    };
    agent.on_pdcp(at, &packet);
    packet.direction = Direction::Up;
    packet.flow = Some(FlowId(flow + 1000));
    agent.on_pdcp(at, &packet);
}

fn queue(ue: u32, backlog: u64, hol_ms: u64) -> RlcView {
    RlcView {
        ue: UeId(ue),
        bearer: BearerId(0),
        direction: Direction::Down,
        backlog: Bytes(backlog),
        packets: 0,
        hol: Duration::from_millis(hol_ms),
    }
}

/// Mbit/s.
fn capacity(agent: &mut XrcAgent, at: u64, ue: u32) -> f64 {
    agent.capacity(ms(at), UeId(ue)).unwrap().as_bps() as f64 / 1e6
}

#[test]
fn own_blocks_are_averaged_over_the_window() {
    let mut agent = XrcAgent::new(PLAIN);
    assert_eq!(agent.capacity(ms(0), UeId(0)), None);
    arrive(&mut agent, ms(0), 0, 1, 1_000_000);
    for n in 0..10 {
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20]);
    }
    // 1,000 bytes each millisecond, over the slots that there are.
    assert_eq!(capacity(&mut agent, 9, 0), 8.0);
    for n in 10..40 {
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20]);
    }
    for n in 40..60 {
        slot(
            &mut agent,
            n,
            &[(0, 600, true), (0, 1000, true)],
            50,
            0,
            &[20],
        );
    }
    // 20 slots of 1,000 and 20 of 1,600.
    assert_eq!(capacity(&mut agent, 59, 0), 10.4);
    for n in 60..100 {
        slot(&mut agent, n, &[], 50, 0, &[20]);
    }
    assert_eq!(capacity(&mut agent, 99, 0), 0.0);
}

#[test]
fn free_blocks_are_shared_at_each_ones_mcs() {
    let mut agent = XrcAgent::new(PLAIN);
    for ue in 0..2 {
        arrive(&mut agent, ms(0), ue, ue, 1_000_000);
    }
    for n in 0..40 {
        let given = [(0, 1000, true), (1, 500, true)];
        slot(&mut agent, n, &given, 50, 10, &[100, 200]);
    }
    // 1,000 + 10 * 100 / 2, and 500 + 10 * 200 / 2.
    assert_eq!(capacity(&mut agent, 39, 0), 12.0);
    assert_eq!(capacity(&mut agent, 39, 1), 12.0);
    // The MCS that counts is that of the slot: 20 slots on, half of the free bytes have doubled.
    for n in 40..60 {
        slot(&mut agent, n, &[(0, 1000, true)], 50, 10, &[200, 200]);
    }
    assert_eq!(capacity(&mut agent, 59, 0), 8.0 * 1.75);
}

#[test]
fn retransmissions_are_neither_own_nor_free() {
    let mut agent = XrcAgent::new(PLAIN);
    arrive(&mut agent, ms(0), 0, 1, 1_000_000);
    for n in 0..40 {
        slot(&mut agent, n, &[(0, 1000, n % 10 != 0)], 50, 0, &[20]);
    }
    assert_eq!(capacity(&mut agent, 39, 0), 7.2);
}

#[test]
fn free_blocks_are_divided_by_who_is_active_when_asked() {
    let mut agent = XrcAgent::new(PLAIN);
    arrive(&mut agent, ms(0), 0, 0, 1_000_000);
    for n in 0..40 {
        slot(&mut agent, n, &[], 50, 50, &[20; 10]);
    }
    assert_eq!(capacity(&mut agent, 39, 0), 8.0);
    for ue in 1..10 {
        arrive(&mut agent, ms(39), ue, ue, 1_000_000);
    }
    // The slots lie behind; who shares them now counts.
    assert_eq!(capacity(&mut agent, 39, 0), 0.8);
    assert_eq!(capacity(&mut agent, 39, 9), 0.8);
    // 240 ms on, only the other nine are gone for good: all are.
    assert_eq!(capacity(&mut agent, 240, 0), 8.0);
}

#[test]
fn only_an_idle_ue_is_promised_its_share_of_all_blocks() {
    let mut agent = XrcAgent::new(PLAIN);
    arrive(&mut agent, ms(0), 0, 0, 100_000_000);
    // UE 2 waits for its turn with a packet in its queue all the time.
    arrive(&mut agent, ms(0), 2, 2, 1500);
    for n in 0..100 {
        arrive(&mut agent, ms(n), 2, 2, 1500);
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20, 40, 40]);
    }
    assert_eq!(capacity(&mut agent, 99, 2), 0.0);
    // UE 1 has been idle: 50 blocks of 40 bytes among three.
    let all = 16.0f64;
    assert_eq!(capacity(&mut agent, 99, 1), 5.333_333);
    // It wakes, and the window fills with slots that count as they are.
    arrive(&mut agent, ms(100), 1, 1, 15_000);
    for n in 100..110 {
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20, 40, 40]);
    }
    assert_eq!(capacity(&mut agent, 109, 1), all * 30.0 / 40.0 / 3.0);
    // Ten grants that empty its queue; 40 slots after the last it counts as idle again.
    for n in 110..120 {
        slot(&mut agent, n, &[(1, 2000, true)], 50, 0, &[20, 40, 40]);
    }
    let at = |agent: &mut XrcAgent, n: u64| {
        for n in agent.slots.next()..=n {
            arrive(agent, ms(n), 0, 0, 1);
            slot(agent, n, &[(0, 1000, true)], 50, 0, &[20, 40, 40]);
        }
        capacity(agent, n, 1)
    };
    assert_eq!(at(&mut agent, 158), 2000.0 * 8.0 / 1000.0 / 40.0);
    assert_eq!(at(&mut agent, 159), 0.133_333);
    assert_eq!(at(&mut agent, 198), 5.333_333);
}

#[test]
fn a_queue_that_is_seen_empty_sets_the_estimate_right() {
    let mut agent = XrcAgent::new(PLAIN);
    // A packet is dropped behind PDCP, and no block ever carries it.
    arrive(&mut agent, ms(0), 0, 0, 1500);
    for n in 0..50 {
        slot(&mut agent, n, &[], 50, 0, &[20]);
    }
    assert_eq!(capacity(&mut agent, 49, 0), 0.0);
    agent.share(ms(49), FlowId(0), &queue(0, 0, 0));
    for n in 50..60 {
        slot(&mut agent, n, &[], 50, 0, &[20]);
    }
    assert_eq!(capacity(&mut agent, 59, 0), 2.0);
    // A queue that is seen to hold something ends that.
    agent.share(ms(59), FlowId(0), &queue(0, 9000, 0));
    for n in 60..70 {
        slot(&mut agent, n, &[], 50, 0, &[20]);
    }
    assert_eq!(capacity(&mut agent, 69, 0), 2.0);
}

#[test]
fn flows_of_a_ue_share_its_capacity() {
    let mut agent = XrcAgent::new(PLAIN);
    arrive(&mut agent, ms(0), 0, 1, 1_000_000);
    arrive(&mut agent, ms(0), 0, 2, 1500);
    for n in 0..300 {
        arrive(&mut agent, ms(n), 0, 1, 1500);
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20]);
        let n_flows = if n <= 200 { 2 } else { 1 };
        let report = agent.share(ms(n), FlowId(1), &queue(0, 9000, 7));
        let expected = PathReport::Share {
            rate: Rate::from_bps(8_000_000 / n_flows),
            hol_delay: Duration::from_millis(7),
            seq: n as u16,
            shared: n_flows > 1,
        };
        assert_eq!(report, expected);
    }
}

#[test]
fn an_f1_delay_ages_rate_and_head_but_not_the_count_of_flows() {
    let config = AgentConfig {
        f1_delay: Duration::from_micros(9_500),
        ..PLAIN
    };
    let mut agent = XrcAgent::new(config);
    assert!(agent.wants_queues() && !XrcAgent::new(PLAIN).wants_queues());
    arrive(&mut agent, ms(0), 0, 1, 100_000_000);
    for n in 0..200 {
        let tbs = if n < 100 { 1000 } else { 2000 };
        slot(&mut agent, n, &[(0, tbs, true)], 50, 0, &[20]);
        agent.on_queue(ms(n), &queue(0, 10_000_000, n));
        if n == 150 {
            arrive(&mut agent, ms(n), 0, 2, 1500);
        }
        let report = report(&mut agent, ms(n), FlowId(1), queue(0, 10_000_000, 555));
        // Slot 0 is known 9.5 ms later, when slot 10 begins.
        if n < 10 {
            assert_eq!(report, None, "{n}");
            continue;
        }
        let known = n - 10;
        let new = (known + 1).saturating_sub(100).min(40);
        let bps = (40 * 8_000_000 + new * 8_000_000) / 40;
        let expected = PathReport::Share {
            rate: Rate::from_bps(bps / if n < 150 { 1 } else { 2 }),
            hol_delay: Duration::from_millis(known),
            seq: known as u16,
            shared: n >= 150,
        };
        assert_eq!(report, Some(expected), "{n}");
    }
    assert!(agent.ues[0].kept() <= 130, "memory is bounded");
}

#[test]
fn headers_are_taken_off_by_the_sizes_of_packets_and_blocks() {
    let mut agent = XrcAgent::new(AgentConfig::LTE);
    for n in 0..40 {
        slot(&mut agent, n, &[(0, 3000, true)], 50, 0, &[60]);
    }
    // No packet was seen: 1.5 %.
    assert_eq!(capacity(&mut agent, 39, 0), 24.0 * 0.985);
    for n in 40..80 {
        arrive(&mut agent, ms(n), 0, 0, 1400);
        arrive(&mut agent, ms(n), 0, 0, 1500);
        slot(&mut agent, n, &[(0, 3000, true)], 50, 0, &[60]);
    }
    let exact: f64 = 24e6 * (1.0 - 5.0 / 3000.0) * 1450.0 / 1454.0;
    assert_eq!(capacity(&mut agent, 79, 0), (exact + 0.5).floor() / 1e6);
    // Small packets cost more.
    for n in 80..200 {
        arrive(&mut agent, ms(n), 0, 0, 96);
        slot(&mut agent, n, &[(0, 3000, true)], 50, 0, &[60]);
    }
    assert!((22.9..23.1).contains(&capacity(&mut agent, 199, 0)));
}

#[test]
fn the_literal_agent_counts_blocks_that_nobody_gives() {
    let mut agent = XrcAgent::new(AgentConfig::LTE.literal(2));
    arrive(&mut agent, ms(0), 0, 1, 1_000_000);
    for n in 0..40 {
        slot(&mut agent, n, &[(0, 48 * 60, true)], 48, 0, &[60]);
    }
    assert_eq!(capacity(&mut agent, 39, 0), 50.0 * 60.0 * 8.0 / 1000.0);
    // A slot that carries no data has no blocks to count.
    for n in 40..80 {
        slot(&mut agent, n, &[], 0, 0, &[60]);
    }
    assert_eq!(capacity(&mut agent, 79, 0), 0.0);
}

#[test]
fn slots_that_are_not_shown_count_as_free_and_numbers_wrap() {
    let mut agent = XrcAgent::new(PLAIN);
    arrive(&mut agent, ms(0), 0, 1, 1_000_000);
    slot(&mut agent, 70_000, &[(0, 1000, true)], 50, 0, &[40]);
    slot(&mut agent, 70_010, &[(0, 1000, true)], 50, 0, &[40]);
    // 11 slots: 2 of 1,000 bytes, 9 of 2,000.
    assert_eq!(capacity(&mut agent, 70_010, 0), 14.545_455);
    let report = agent.share(ms(70_010), FlowId(1), &queue(0, 1, 0));
    let PathReport::Share { seq, .. } = report else {
        panic!("{report:?}");
    };
    assert_eq!(u32::from(seq), 70_010 % 65_536);
    // A slot shown again changes nothing.
    slot(&mut agent, 70_010, &[(0, 1000, true)], 50, 0, &[40]);
    slot(&mut agent, 700_000, &[], 50, 0, &[40]);
    assert!(capacity(&mut agent, 700_000, 0) > 15.5);
}

#[test]
fn whole_turns_tell_the_same_at_all_times() {
    let config = AgentConfig {
        whole_turns: true,
        ..PLAIN
    };
    let mut agent = XrcAgent::new(config);
    // A block of 3,900 bytes each 39 slots, and the queue never empty.
    for n in 0..400 {
        arrive(&mut agent, ms(n), 0, 0, 1500);
        let given: &[Given] = if n % 39 == 0 { &[(0, 3900, true)] } else { &[] };
        slot(&mut agent, n, given, 50, 0, &[20]);
        if n > 78 {
            assert_eq!(capacity(&mut agent, n, 0), 0.8, "{n}");
        }
    }
    // The turn is overdue, and then will not come.
    let mut told = Vec::new();
    for n in 400..440 {
        slot(&mut agent, n, &[], 50, 0, &[20]);
        told.push(capacity(&mut agent, n, 0));
    }
    assert!(told.is_sorted_by(|a, b| a >= b), "{told:?}");
    assert_eq!((told[28], told[39]), (0.8, 0.709_091));
    for n in 440..480 {
        slot(&mut agent, n, &[], 50, 0, &[20]);
    }
    assert_eq!(capacity(&mut agent, 479, 0), 0.0);
}

#[test]
fn what_a_waking_ue_is_promised_is_taken_off_the_others() {
    let config = AgentConfig {
        balance: true,
        ..PLAIN
    };
    let mut agent = XrcAgent::new(config);
    for n in 0..100 {
        arrive(&mut agent, ms(n), 0, 0, 1500);
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20, 20]);
    }
    assert_eq!(capacity(&mut agent, 99, 0), 8.0);
    arrive(&mut agent, ms(100), 1, 1, 15_000);
    assert_eq!(
        (capacity(&mut agent, 99, 0), capacity(&mut agent, 99, 1)),
        (4.0, 4.0)
    );
    // Half a window on, the half that the scheduler did not give it is the other's again.
    for n in 100..120 {
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20, 20]);
    }
    assert_eq!(
        (capacity(&mut agent, 119, 0), capacity(&mut agent, 119, 1)),
        (6.0, 2.0)
    );
    // In an idle cell nobody had anything to lose.
    let mut agent = XrcAgent::new(config);
    for n in 0..100 {
        slot(&mut agent, n, &[], 50, 50, &[20, 20]);
    }
    arrive(&mut agent, ms(100), 0, 0, 15_000);
    arrive(&mut agent, ms(100), 1, 1, 15_000);
    for n in 100..120 {
        slot(&mut agent, n, &[(0, 1000, true)], 50, 0, &[20, 20]);
    }
    assert_eq!(
        (capacity(&mut agent, 119, 0), capacity(&mut agent, 119, 1)),
        (6.0, 2.0)
    );
}

/// A slot as it was.
struct Past {
    free: u64,
    all: u64,
    /// By UE: bytes of a block, own bytes, waking.
    block: Vec<u64>,
    own: Vec<u64>,
    waking: Vec<bool>,
}

/// What the agent should say, from a complete record.
#[derive(Default)]
struct Record {
    slots: Vec<Past>,
}

impl Record {
    fn capacity(&self, known: usize, window: usize, ue: usize, active: u64) -> f64 {
        let to = known + 1;
        let from = to.saturating_sub(window);
        let late = &self.slots[to.saturating_sub(3).max(from)..to];
        let now = late.iter().map(|slot| slot.block[ue]).max().unwrap();
        let (mut own, mut free) = (0, 0);
        for slot in &self.slots[from..to] {
            own += slot.own[ue];
            free += if slot.waking[ue] {
                now * slot.all
            } else {
                slot.block[ue] * slot.free
            };
        }
        let bytes = own as f64 + free as f64 / active as f64;
        (bytes * 8000.0 / (to - from) as f64) * 1e-6
    }
}

#[test]
fn agrees_with_a_plain_recount() {
    const UES: usize = 5;
    for seed in 0..24 {
        let draw = Draw::new(seed);
        let window = [40, 7, 64][seed as usize % 3];
        let delay = [0, 0, 3, 25][seed as usize % 4];
        let config = AgentConfig {
            window,
            waking_after: 10,
            f1_delay: Duration::from_millis(delay),
            ..PLAIN
        };
        let mut agent = XrcAgent::new(config);
        let mut record = Record::default();
        let mut backlog = [0u64; UES];
        let mut last_grant = [None; UES];
        let mut emptied = [0u64; UES];
        let mut last_packet = [None; UES];
        for n in 0..1500u64 {
            let bits = |k: u64| draw.bits(n * 64 + k);
            for ue in 0..UES {
                // Bursts, with silence between.
                if bits(ue as u64).is_multiple_of(if n / 100 % 2 == 0 { 6 } else { 60 }) {
                    let bytes = 1 + bits(8) % 3000;
                    arrive(&mut agent, ms(n), ue as u32, ue as u32, bytes);
                    backlog[ue] += bytes;
                    last_packet[ue] = Some(n);
                }
            }
            // With every other seed MCS stay for longer than a window, and sums are taken another way.
            let change = if seed % 2 == 0 { n } else { n / 150 };
            let block: Vec<u32> = (0..UES as u64)
                .map(|u| 10 + (draw.bits(change * 64 + 20 + u) % 3) as u32)
                .collect();
            let (all, mut free) = (50, 0);
            let mut given = Vec::new();
            let mut own = vec![0; UES];
            let mut granted = [false; UES];
            match bits(30) % 4 {
                0 => free = bits(31) % 51,
                1 => {}
                _ => {
                    let ue = (bits(32) % UES as u64) as usize;
                    let tbs = 1 + bits(33) % 2000;
                    let ndi = !bits(34).is_multiple_of(5);
                    given.push((ue as u32, tbs, ndi));
                    granted[ue] = true;
                    if ndi {
                        own[ue] = tbs;
                    }
                }
            }
            let waking = (0..UES)
                .map(|u| {
                    backlog[u] == 0
                        && !granted[u]
                        && n >= emptied[u]
                        && last_grant[u].is_none_or(|at: u64| n >= at + 10)
                })
                .collect();
            for u in 0..UES {
                if granted[u] {
                    last_grant[u] = Some(n);
                    if backlog[u] > 0 && own[u] >= backlog[u] {
                        emptied[u] = n + 1;
                    }
                    backlog[u] = backlog[u].saturating_sub(own[u]);
                }
            }
            slot(&mut agent, n, &given, all, free as u16, &block);
            let block = block.iter().map(|&b| u64::from(b)).collect();
            record.slots.push(Past {
                free,
                all: 50,
                block,
                own,
                waking,
            });
            let Some(known) = n.checked_sub(delay) else {
                continue;
            };
            for ue in 0..UES {
                if !bits(40 + ue as u64).is_multiple_of(5) {
                    continue;
                }
                let active = (0..UES)
                    .filter(|&u| u == ue || last_packet[u].is_some_and(|at| n <= at + 200))
                    .count();
                let expected =
                    record.capacity(known as usize, usize::from(window), ue, active as u64);
                let found = capacity(&mut agent, n, ue as u32);
                assert!(
                    (found - expected).abs() < 1e-6,
                    "seed {seed}, slot {n}, UE {ue}: {found}, not {expected}"
                );
            }
        }
    }
}
