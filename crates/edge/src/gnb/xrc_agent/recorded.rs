//! Reports that the plainest form of the agent gave, before anything in it was made faster: speed may change none.

use slackwater_core::{BearerId, Bytes, Draw, Duration, Prbs, Qfi, Rnti, SlotIdx};
use slackwater_signal::Grant;

use super::tests::report;
use super::*;

/// A cell that never was.
#[derive(Clone, Copy)]
struct Course {
    config: AgentConfig,
    ues: u32,
    flows_per_ue: u32,
    bearers: u32,
    /// One in so many slots changes some UE's bytes per block.
    change: u64,
    /// Every so many slots carry fewer bytes per block.
    special: u64,
    /// One in so many slots is followed by slots that are not shown.
    sleep: u64,
}

const PLAIN: Course = Course {
    config: AgentConfig {
        share: Share::Count,
        ..AgentConfig::LTE
    },
    ues: 1,
    flows_per_ue: 1,
    bearers: 1,
    change: u64::MAX,
    special: u64::MAX,
    sleep: u64::MAX,
};

/// All reports in one number (FNV-1a), how many they were, and the sum of their rates in kbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told(u64, u64, u64);

impl Told {
    fn take(&mut self, report: Option<PathReport>) {
        let fields = match report {
            None => [u64::MAX; 4],
            Some(PathReport::Share {
                rate,
                hol_delay,
                seq,
                shared,
            }) => {
                self.2 += rate.as_bps() / 1000;
                let hol = hol_delay.as_nanos();
                [rate.as_bps(), hol, u64::from(seq), u64::from(shared)]
            }
            Some(other) => panic!("{other:?}"),
        };
        self.1 += 1;
        for byte in fields.iter().flat_map(|field| field.to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// `counted`: the cell tells when bytes per block change.
fn play(course: &Course, counted: bool) -> Told {
    let draw = Draw::new(11);
    let mut agent = XrcAgent::new(course.config);
    let mut told = Told(0xcbf2_9ce4_8422_2325, 0, 0);
    let mut rates = vec![40 * 256; course.ues as usize];
    let mut low = rates.clone();
    let (mut generation, mut slot) = (1, 0);
    let mut backlog = vec![0u64; course.ues as usize];
    for n in 0..4000u64 {
        let bits = |k: u64| draw.fork(n, k).bits(0);
        let start = Instant::from_nanos(slot * course.config.slot.as_nanos());
        for k in 0..bits(0) % 5 {
            // Some UEs are silent for long.
            let ue = bits(10 + k) as u32 % course.ues;
            if (n / 300 + u64::from(ue)).is_multiple_of(3) {
                continue;
            }
            let of_ue = bits(20 + k) as u32 % course.flows_per_ue;
            let bytes = 100 + bits(30 + k) % 1400;
            backlog[ue as usize] += bytes;
            let packet = PdcpView {
                ue: UeId(ue),
                bearer: BearerId((of_ue % course.bearers) as u8),
                qfi: Qfi(0),
                flow: Some(FlowId(ue * course.flows_per_ue + of_ue)),
                direction: Direction::Down,
                bytes: Bytes(bytes),
            };
            agent.on_pdcp(start, &packet);
        }
        if bits(1).is_multiple_of(course.change) {
            let ue = bits(2) % u64::from(course.ues);
            rates[ue as usize] = 256 * (1 + bits(3) as u32 % 90);
            low = rates.iter().map(|q8| q8 / 3).collect();
            generation += 2;
        }
        let mut left = 48u16;
        let mut grants = Vec::new();
        for k in 0..bits(4) % 3 {
            let ue = bits(40 + k) as u32 % course.ues;
            let prbs = (bits(50 + k) as u16 % 40).min(left);
            let tbs = u64::from(prbs) * u64::from(rates[ue as usize]) / 256;
            if backlog[ue as usize] == 0 || tbs == 0 {
                continue;
            }
            left -= prbs;
            let ndi = !bits(60 + k).is_multiple_of(8);
            if ndi {
                backlog[ue as usize] = backlog[ue as usize].saturating_sub(tbs);
            }
            grants.push(Grant {
                ue: UeId(ue),
                rnti: Rnti(0),
                direction: Direction::Down,
                harq: 0,
                round: u8::from(!ndi),
                ndi,
                mcs: 0,
                prbs: Prbs(prbs),
                tbs: Bytes(tbs),
            });
        }
        let special = n % course.special == course.special - 1;
        let view = SlotView {
            slot: SlotIdx(slot),
            start,
            direction: Direction::Down,
            grants: &grants,
            feedback: &[],
            schedulable: Prbs(48),
            free: Prbs(if bits(5).is_multiple_of(3) { left } else { 0 }),
            bytes_per_prb_q8: if special { &low } else { &rates },
            bytes_version: if counted {
                generation + u64::from(special)
            } else {
                0
            },
        };
        agent.on_slot(start, &view);
        let queue = |ue: u32, at: Instant| RlcView {
            ue: UeId(ue),
            bearer: BearerId((bits(7) % u64::from(course.bearers)) as u8),
            direction: Direction::Down,
            backlog: Bytes(backlog[ue as usize]),
            packets: 0,
            hol: Duration::from_nanos(at.as_nanos() % 7919),
        };
        if agent.wants_queues() {
            for ue in 0..course.ues {
                agent.on_queue(start, &queue(ue, start));
            }
        }
        for k in 0..bits(6) % 5 {
            let at = start + Duration::from_micros(100 * k);
            let ue = bits(70 + k) as u32 % course.ues;
            let flow = FlowId(ue * course.flows_per_ue + bits(80 + k) as u32 % course.flows_per_ue);
            told.take(report(&mut agent, at, flow, queue(ue, at)));
        }
        slot += 1;
        if bits(8).is_multiple_of(course.sleep) {
            slot += bits(9) % 90;
        }
    }
    told
}

fn courses() -> [(&'static str, Course, Told); 10] {
    let delayed = |micros| AgentConfig {
        f1_delay: Duration::from_micros(micros),
        ..AgentConfig::LTE
    };
    let nr = AgentConfig {
        window: 64,
        ..AgentConfig::nr(1)
    };
    let many = Course {
        ues: 40,
        change: 1,
        ..PLAIN
    };
    [
        (
            "one UE",
            PLAIN,
            Told(0x2283_2f53_9c45_59ce, 7947, 69_966_620),
        ),
        (
            "one UE that moves",
            Course {
                change: 20,
                ..PLAIN
            },
            Told(0x014d_d320_98b7_9a85, 7947, 76_195_676),
        ),
        (
            "a cell that sleeps",
            Course {
                sleep: 50,
                change: 100,
                ues: 3,
                ..PLAIN
            },
            Told(0x8954_a708_1ea4_cdee, 7947, 31_593_784),
        ),
        (
            "many UEs that move",
            many,
            Told(0xeafd_c825_aed8_139e, 7947, 1_993_020),
        ),
        (
            "many UEs that stand",
            Course {
                change: 300,
                ..many
            },
            Told(0xd722_903d_2d66_6057, 7947, 1_839_059),
        ),
        (
            "many flows and bearers",
            Course {
                ues: 4,
                flows_per_ue: 6,
                bearers: 3,
                change: 40,
                ..PLAIN
            },
            Told(0x4f3d_8e83_b2f9_7378, 7947, 5_807_855),
        ),
        (
            "special slots",
            Course {
                config: nr,
                ues: 5,
                special: 5,
                change: 30,
                ..PLAIN
            },
            Told(0x62f0_8009_cd61_722d, 7947, 27_632_113),
        ),
        (
            "an F1 delay",
            Course {
                config: delayed(3_500),
                ues: 6,
                bearers: 2,
                change: 10,
                ..PLAIN
            },
            Told(0x44d2_18d1_3158_3faa, 7947, 12_695_341),
        ),
        (
            "a long F1 delay in a cell that sleeps",
            Course {
                config: delayed(25_000),
                ues: 6,
                change: 10,
                sleep: 40,
                ..PLAIN
            },
            Told(0x39f9_7ab6_5cba_bbd8, 7947, 21_294_357),
        ),
        (
            "the literal agent",
            Course {
                config: AgentConfig::LTE.literal(2),
                ues: 10,
                change: 7,
                ..PLAIN
            },
            Told(0x5a67_4254_065b_7a02, 7947, 8_846_202),
        ),
    ]
}

#[test]
fn reports_are_as_recorded() {
    let courses = courses();
    let asked = courses.map(|(name, _, told)| (name, told));
    for counted in [false, true] {
        let found = courses.map(|(name, course, _)| (name, play(&course, counted)));
        assert_eq!(found, asked, "counted: {counted}");
    }
}
