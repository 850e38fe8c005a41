//! Samples of UEs for schedulers that want them.

use slackwater_core::{Bytes, Direction, Instant, PacketView, UeId};

use super::Cell;
use super::ue::{Bearer, Ue};
use crate::mac::UeSample;

impl<P: PacketView + Clone> Ue<P> {
    /// The bearer that a downlink grant would serve first: of those with anything to send, the one of highest priority. The
    /// bearer of highest priority where the cell cannot know.
    fn first_bearer(&self, dir: Direction) -> &Bearer<P> {
        let mut bearers = self.order.iter().map(|&b| &self.bearers[usize::from(b)]);
        let first = bearers.clone().next().expect("a UE has a bearer");
        match dir {
            Direction::Down => bearers.find(|b| b.down.need() > 0).unwrap_or(first),
            Direction::Up => first,
        }
    }
}

impl<P: PacketView + Clone> Cell<P> {
    /// A slot with candidates begins: the scheduler gets what it goes by.
    #[inline]
    pub(super) fn begin_slot(&mut self, dir: Direction, now: Instant, slot: u64) {
        let side = self.side(dir);
        side.scheduler.begin(slot);
        if side.sampler.is_some() {
            self.sample(dir, now, slot);
        }
    }

    /// Gathers a sample of each candidate.
    fn sample(&mut self, dir: Direction, now: Instant, slot: u64) {
        let side = match dir {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        };
        let Some(sampler) = &mut side.sampler else {
            return;
        };

        let mut samples = core::mem::take(&mut sampler.samples);
        samples.clear();
        for index in &side.wants {
            let bearer = self.ues[index].first_bearer(dir);
            let whole = side.tables[0].slot_bytes(side.mcs[index]);
            samples.push(UeSample {
                ue: UeId(index as u32),
                head_of_line: (dir == Direction::Down).then(|| bearer.down.view(now).hol),
                backlog: Bytes(u64::from(side.want[index])),
                class: bearer.class,
                guaranteed: bearer.guaranteed,
                instantaneous: sampler.rate(f64::from(whole)),
                average: sampler.average(slot, index),
            });
        }
        side.scheduler.on_samples(now, &samples);
        sampler.samples = samples;
    }
}
