//! Cycles: who may go now, by deadline or by Algorithm 1.

use slackwater_core::{Duration, Instant, PacketView};

use super::Cecc;
use super::config::{Mode, Schedule};

impl<P: PacketView + Clone> Cecc<P> {
    /// A cycle: who may go now?
    pub(super) fn run_cycle(&mut self, now: Instant) {
        self.due = false;
        self.tick = None;
        // Whoever waited too long goes whatever the cell holds.
        self.let_overdue_go(now);
        match self.schedule() {
            Schedule::Edf => {
                self.admitted.clear();
                self.put_back(now);
                self.edf(now);
            }
            Schedule::Alg1 => self.alg1(now),
        }
        if !self.waiting.is_empty() || !self.ready.is_empty() {
            self.need_tick(now);
        }
    }

    /// Lets go what waited for two beats, whatever its rank.
    fn let_overdue_go(&mut self, now: Instant) {
        let put_back = self.waiting.range((1, Instant::ZERO, 0)..);
        let mut overdue: Vec<u32> = put_back
            .filter(|w| self.flows[w.2].overdue(w.1) <= now)
            .map(|w| w.2)
            .collect();
        while let Some(k) = overdue.pop() {
            self.let_go(now, k);
        }
        while let Some(&(0, frame, k)) = self.waiting.first() {
            if self.flows[k].overdue(frame) > now {
                break;
            }
            self.let_go(now, k);
        }
    }

    /// The first packet of `k`, or its grant, goes.
    fn let_go(&mut self, now: Instant, k: u32) {
        self.stats.overdue += 1;
        if self.flows[k].fifo.head().is_some() {
            self.release_one(now, k);
        } else {
            self.grant(now, k);
        }
    }

    pub(super) fn need_tick(&mut self, now: Instant) {
        if self.tick.is_none() {
            let answer = match self.config.mode {
                Mode::Hold => Duration::ZERO,
                _ => self.rtt_n6,
            };
            let ahead = answer + self.radio.wired() + self.config.margin;
            self.tick = Some(self.radio.grid.tick(now, ahead));
        }
    }

    pub(super) fn wait(&mut self, k: u32, place: Instant) {
        self.flows[k].place = Some((0, place));
        self.waiting.insert((0, place, k));
        self.list(k);
        let now = self.now;
        self.need_tick(now);
    }

    pub(super) fn leave(&mut self, k: u32) {
        if let Some((rank, start)) = self.flows[k].place.take() {
            self.waiting.remove(&(rank, start, k));
            self.list(k);
        }
    }

    /// True where bytes that leave now (or in `ahead`, where a server has to answer first) find less than the budget.
    pub(super) fn fits(&mut self, now: Instant, ahead: Duration) -> bool {
        let arrive = now + ahead + self.radio.wired();
        let budget = self.radio.budget() * u64::from(self.config.budget_percent) / 100;
        self.radio.backlog(now, arrive) <= budget
    }

    /// Earliest frame first.
    pub(super) fn edf(&mut self, now: Instant) {
        while let Some(&(_, _, k)) = self.waiting.first() {
            let flow = &self.flows[k];
            let knocks = flow.fifo.head().is_none();
            let ahead = match (&flow.tcp, knocks) {
                (Some(tcp), true) => tcp.rtt_n6(),
                _ => Duration::ZERO,
            };
            if !self.fits(now, ahead) {
                break;
            }
            if knocks {
                self.grant(now, k);
            } else if !self.release_tie(now) {
                self.release_one(now, k);
            }
        }
        if self.waiting.is_empty() && !self.idle.is_empty() {
            self.grant_ahead(now);
        }
    }

    /// `FrameSize`, no larger than what can meet the standard at all.
    pub(super) fn frame_size(&mut self, k: u32) -> u64 {
        let flow = &mut self.flows[k];
        let size = flow.frames.size();
        let fixed = self.radio.wired() + self.radio.grid.worst_processing();
        let left = self.config.standard.saturating_sub(fixed);
        let most = u128::from(self.radio.throughput(flow.ue)) * u128::from(left.as_nanos());
        size.min((most / 1_000_000_000) as u64)
    }
}
