//! XRC's agent at the base station: slots, queues, packets and reports in any order, under leaps of time.
//!
//! A base station may tell an agent more UEs, fewer blocks and other times than a simulated cell does. Whatever it tells: the agent
//! ends, keeps no more than its window, and reports rates that its slots can have carried.

use slackwater_core::{
    BearerId, Bytes, Direction, Duration, FlowId, Instant, Prbs, Qfi, Rate, Rnti, SlotIdx, UeId,
};
use slackwater_edge::gnb::{AgentConfig, IpScale, XrcAgent};
use slackwater_edge::{Agent, CellView, FlowAt};
use slackwater_signal::{Grant, Observer, PathReport, PdcpView, RlcView, SlotView};

use super::input::Input;

/// Events of one input.
const EVENTS: usize = 600;
/// UEs and bearers of the cell.
const UES: u32 = 6;
const BEARERS: u8 = 3;
/// No block carries more: 8 layers, 1024-QAM, 14 symbols of 12 subcarriers, in 1/256 byte (TS 38.214, 5.1.3.2, bounds it below).
const MOST_Q8: u32 = 8 * 10 * 14 * 12 / 8 * 256;
/// Blocks of the widest carrier (TS 38.101-1, 5.3.2).
const MOST_BLOCKS: u16 = 275;

/// The queues that the input says.
struct Cell {
    queues: [[RlcView; BEARERS as usize]; UES as usize],
}

impl CellView for Cell {
    fn ues(&self) -> usize {
        UES as usize
    }
    fn bearers(&self, _ue: UeId) -> usize {
        usize::from(BEARERS)
    }
    fn slot_bytes(&mut self, _ue: UeId) -> Bytes {
        Bytes::ZERO
    }
    fn queue(&self, ue: UeId, bearer: BearerId) -> RlcView {
        self.queues[ue.index()][usize::from(bearer.0)]
    }
}

fn direction(bit: u8) -> Direction {
    if bit & 0x80 == 0 {
        Direction::Down
    } else {
        Direction::Up
    }
}

fn config(which: u8) -> AgentConfig {
    let mut config = if which & 1 == 0 {
        AgentConfig::LTE
    } else {
        AgentConfig::nr((which >> 1) % 5)
    };
    if which & 0x10 != 0 {
        config = config.literal(u16::from(which >> 5));
    }
    if which & 0x20 != 0 {
        config.f1_delay = Duration::from_millis(2);
    }
    if which & 0x40 != 0 {
        config.scale = IpScale::NR_AM;
    }
    config
}

fn queue(input: &mut Input<'_>, now: Instant) -> RlcView {
    let what = input.u8();
    let packets = u32::from(input.u16());
    RlcView {
        ue: UeId(u32::from(what) % UES),
        bearer: BearerId((what >> 3) % BEARERS),
        direction: direction(what),
        backlog: Bytes(u64::from(packets) * 1_500),
        packets,
        // No packet waits for longer than the cell is there.
        hol: input.step().min(now.since(Instant::ZERO)),
    }
}

fn slot(input: &mut Input<'_>, agent: &mut XrcAgent, now: Instant, next: u64, version: u64) {
    let what = input.u8();
    let mut bytes = [0; UES as usize];
    for of in &mut bytes {
        *of = input.u32() % (MOST_Q8 + 1);
    }
    let all = input.u16() % (MOST_BLOCKS + 1);
    let mut left = all;
    let mut grants = Vec::new();
    for _ in 0..what % 5 {
        let to = input.u8();
        let prbs = input.u16() % (left + 1);
        left -= prbs;
        let ue = UeId(u32::from(to) % UES);
        let ndi = to & 0x40 == 0;
        grants.push(Grant {
            ue,
            rnti: Rnti(input.u16()),
            direction: direction(what),
            harq: to >> 4,
            round: u8::from(!ndi),
            ndi,
            mcs: to % 29,
            prbs: Prbs(prbs),
            tbs: Bytes(u64::from(bytes[ue.index()]) * u64::from(prbs) / 256),
        });
    }
    // A scheduler may know of no UE's channel yet, or of some alone.
    let known = usize::from(what >> 4) % (UES as usize + 1);
    let view = SlotView {
        slot: SlotIdx(next),
        start: now,
        direction: direction(what),
        grants: &grants,
        feedback: &[],
        schedulable: Prbs(all),
        free: Prbs(left),
        bytes_per_prb_q8: &bytes[..known],
        bytes_version: version,
    };
    agent.on_slot(now, &view);
}

/// The agent of XRC in its readings.
pub(crate) fn xrc_agent(data: &[u8]) {
    let mut input = Input(data);
    let config = config(input.u8());
    let mut agent = XrcAgent::new(config);
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut next = 0;
    let none = |ue: usize, bearer: usize| RlcView {
        ue: UeId(ue as u32),
        bearer: BearerId(bearer as u8),
        direction: Direction::Down,
        backlog: Bytes::ZERO,
        packets: 0,
        hol: Duration::ZERO,
    };
    let mut cell = Cell {
        queues: core::array::from_fn(|ue| core::array::from_fn(|bearer| none(ue, bearer))),
    };
    // Every block of a slot, and those that are counted beside, to one flow.
    let blocks = u64::from(MOST_BLOCKS) + u64::from(config.unschedulable);
    let most = blocks as f64 * f64::from(MOST_Q8) / 256.0 * 8e9 / config.slot.as_nanos() as f64;
    for event in 0..EVENTS {
        if input.is_empty() {
            break;
        }
        match input.u8() % 8 {
            0..=2 => {
                now = now.saturating_add(config.slot);
                slot(&mut input, &mut agent, now, next, event as u64);
                next += 1;
            }
            // A cell that slept names a later slot.
            3 => {
                let step = input.step();
                now = now.saturating_add(step);
                next += step.as_nanos() / config.slot.as_nanos();
            }
            4 => {
                let told = queue(&mut input, now);
                cell.queues[told.ue.index()][usize::from(told.bearer.0)] = told;
                agent.on_queue(now, &told);
            }
            5 => {
                let what = input.u8();
                let packet = PdcpView {
                    ue: UeId(u32::from(what) % UES),
                    bearer: BearerId((what >> 3) % BEARERS),
                    qfi: Qfi(what & 0x3f),
                    flow: (what & 0x40 != 0).then(|| FlowId(u32::from(input.u8()))),
                    direction: direction(what),
                    bytes: Bytes(u64::from(input.u16())),
                };
                agent.on_pdcp(now, &packet);
            }
            _ => {
                let what = input.u8();
                let at = FlowAt {
                    flow: FlowId(u32::from(input.u8())),
                    ue: UeId(u32::from(what) % UES),
                    bearer: BearerId((what >> 3) % BEARERS),
                };
                let heard = agent.report(now, &at, &mut cell);
                if let Some(PathReport::Share { rate, .. }) = heard {
                    bounded(rate, most);
                }
                if let Some(rate) = agent.capacity(now, at.ue) {
                    bounded(rate, most);
                }
            }
        }
    }
}

/// No cell has carried more than `most`, bit/s. A share that no whole number holds is a rounding away.
fn bounded(rate: Rate, most: f64) {
    let bps = rate.as_bps() as f64;
    assert!(bps <= most + 1.0, "{bps} of {most} bit/s");
}
