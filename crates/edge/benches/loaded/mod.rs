//! A cell whose queues are kept full, which the benches of agents share.

use slackwater_core::{Direction, Draw, FlowId, Instant, Packet, Qfi, Rnti, UeId};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::{ChannelConfig, Mobility, Position};
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::Observer;

/// Slots per measurement.
const SLOTS: u64 = 500;
/// Packets that enter in each slot: what the cell carries.
const PACKETS: u32 = 3;
pub(crate) const DOWN: Direction = Direction::Down;

/// Who sends: `flows` flows in all, in turn, to `ues` UEs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// UEs of the cell.
    pub(crate) ues: u32,
    /// Flows; those of a UE are `ues` apart.
    pub(crate) flows: u32,
}

impl Load {
    /// One flow for each of `ues` UEs.
    pub(crate) const fn of(ues: u32) -> Self {
        Self { ues, flows: ues }
    }

    /// The UE of `flow`.
    pub(crate) const fn ue(self, flow: u32) -> UeId {
        UeId(flow % self.ues)
    }

    /// A cell whose queues hold packets already. `observe` sets what it shows an observer beside its slots.
    pub(crate) fn cell(self, observe: fn(&mut CellConfig)) -> Cell<Packet> {
        let mut config = CellConfig::lte(10.0);
        observe(&mut config);
        let ue = |k: u32| UeConfig {
            channel: ChannelConfig {
                mobility: Mobility::Static(Position {
                    x: 100.0 + f64::from(k % 50) * 2.0,
                    y: 0.0,
                }),
                downlink: config.downlink_budget(),
                uplink: config.uplink_budget(),
                ..ChannelConfig::default()
            },
            bearers: vec![BearerConfig::default()],
            rnti: Rnti(k as u16),
        };
        let ues = (0..self.ues).map(ue).collect();
        let mut cell = Cell::new(&config, ues, Draw::new(1)).expect("a valid cell");
        let mut out = CellOut::new();
        for k in 0..40.max(4 * self.flows) {
            self.enter(&mut cell, Instant::ZERO, k % self.flows, &mut out);
        }
        cell
    }

    fn enter(self, cell: &mut Cell<Packet>, now: Instant, flow: u32, out: &mut CellOut<Packet>) {
        let packet = Packet {
            flow: FlowId(flow),
            len: 1500,
            ..Packet::default()
        };
        cell.enqueue(now, DOWN, self.ue(flow), Qfi(0), packet, out);
    }

    /// Runs the slots; `after` is called at the end of each with its number and what was delivered.
    pub(crate) fn run<O: Observer>(
        self,
        cell: &mut Cell<Packet>,
        out: &mut CellOut<Packet>,
        observer: &mut O,
        after: impl FnMut(&Cell<Packet>, &CellOut<Packet>, &mut O, u64),
    ) {
        self.run_slots(SLOTS, cell, out, observer, after);
    }

    /// The same with so many slots.
    pub(crate) fn run_slots<O: Observer>(
        self,
        slots: u64,
        cell: &mut Cell<Packet>,
        out: &mut CellOut<Packet>,
        observer: &mut O,
        mut after: impl FnMut(&Cell<Packet>, &CellOut<Packet>, &mut O, u64),
    ) {
        let mut next = 0;
        for slot in 0..slots {
            let now = Instant::from_millis(slot);
            for _ in 0..PACKETS {
                self.enter(cell, now, next % self.flows, out);
                next += 1;
            }
            cell.run_slot(now, out, observer);
            after(cell, out, observer, slot);
            out.clear();
        }
    }
}
