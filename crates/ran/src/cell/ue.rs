//! A UE in the cell: its bearers, what they need, and what they put into a block.

use slackwater_core::{BearerId, Direction, Instant, PacketView, Rate, Rnti, UeId};

use super::config::BearerConfig;
use crate::mac::FiveQi;
use crate::out::CellOut;
use crate::rat::Rat;
use crate::rlc::{Entity, Headers, Piece, Place, Waiting};
use crate::sdap::QfiMap;

/// A bearer, in both directions.
pub(super) struct Bearer<P> {
    /// RLC of the downlink, both ends.
    pub(super) down: Entity<P>,
    /// RLC of the uplink, both ends.
    pub(super) up: Entity<P>,
    /// Lower goes first.
    pub(super) priority: u8,
    /// Class of service.
    pub(super) class: FiveQi,
    /// Guaranteed rate.
    pub(super) guaranteed: Option<Rate>,
}

impl<P> Bearer<P> {
    #[inline]
    pub(super) fn entity(&mut self, dir: Direction) -> &mut Entity<P> {
        match dir {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

/// A UE in the cell.
pub(super) struct Ue<P> {
    /// In the order of the configuration.
    pub(super) bearers: Vec<Bearer<P>>,
    /// Indices into `bearers` by priority.
    pub(super) order: Vec<u8>,
    /// Whose turn it is among equals, by direction.
    pub(super) turn: [u8; 2],
    /// The bearer of each QFI.
    pub(super) qfis: QfiMap,
    /// What the cell calls it.
    pub(super) rnti: Rnti,
    /// Has a bearer in acknowledged mode.
    pub(super) am: bool,
}

impl<P: PacketView + Clone> Ue<P> {
    /// UE `index` with these bearers, whose laws move into it.
    pub(super) fn new(rat: Rat, index: usize, rnti: Rnti, bearers: Vec<BearerConfig>) -> Self {
        let qfis = QfiMap::new(bearers.iter().map(|b| b.qfis.as_slice()));
        let bearers: Vec<Bearer<P>> = bearers
            .into_iter()
            .enumerate()
            .map(|(b, config)| {
                let headers = Headers::of(rat, config.rlc.mode);
                let place = |dir| Place {
                    dir,
                    ue: UeId(index as u32),
                    bearer: BearerId(b as u8),
                };
                let waiting = match config.queue {
                    None => Waiting::InPlace(config.law),
                    Some((queue, draw)) => Waiting::Queue(Box::new(queue.build(draw))),
                };
                Bearer {
                    down: Entity::new(
                        place(Direction::Down),
                        &config.rlc,
                        &config.pdcp,
                        headers,
                        waiting,
                    ),
                    up: Entity::new(
                        place(Direction::Up),
                        &config.rlc,
                        &config.pdcp,
                        headers,
                        Waiting::InPlace(config.law_ul),
                    ),
                    priority: config.priority,
                    class: config.class,
                    guaranteed: config.guaranteed,
                }
            })
            .collect();
        let am = bearers.iter().any(|b| b.down.is_am());
        let mut order: Vec<u8> = (0..bearers.len() as u8).collect();
        order.sort_by_key(|&b| bearers[usize::from(b)].priority);
        Self {
            bearers,
            order,
            turn: [0; 2],
            qfis,
            rnti,
            am,
        }
    }

    /// Bytes that all queues need in one direction.
    #[inline]
    pub(super) fn need(&self, now: Instant, dir: Direction) -> u32 {
        let mut need = 0u32;
        for bearer in &self.bearers {
            let (entity, other) = match dir {
                Direction::Down => (&bearer.down, &bearer.up),
                Direction::Up => (&bearer.up, &bearer.down),
            };
            need = need.saturating_add(entity.need());
            if self.am {
                need = need.saturating_add(other.status_need(now));
            }
        }
        need
    }

    /// Fills a block of `room` bytes from the bearers by priority; returns the bytes used.
    pub(super) fn fill(
        &mut self,
        now: Instant,
        dir: Direction,
        room: u32,
        pieces: &mut Vec<Piece>,
        out: &mut CellOut<P>,
    ) -> u32 {
        pieces.clear();
        let mut used = 0;
        if self.am {
            for bearer in &mut self.bearers {
                let other = bearer.entity(dir.reverse());
                used += other.fill_status(now, room - used, pieces);
            }
        }
        if let [bearer] = self.bearers.as_mut_slice() {
            return used + bearer.entity(dir).fill(now, room - used, pieces, out);
        }
        let n = self.order.len();
        let mut first = 0;
        while first < n {
            let priority = self.bearers[usize::from(self.order[first])].priority;
            let group = self.order[first..]
                .iter()
                .take_while(|&&b| self.bearers[usize::from(b)].priority == priority)
                .count();
            let turn = usize::from(self.turn[dir as usize]);
            for k in 0..group {
                let b = usize::from(self.order[first + (turn + k) % group]);
                used += self.bearers[b]
                    .entity(dir)
                    .fill(now, room - used, pieces, out);
            }
            first += group;
        }
        self.turn[dir as usize] = self.turn[dir as usize].wrapping_add(1);
        used
    }
}
