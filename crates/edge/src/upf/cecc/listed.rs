//! Algorithm 1 over the flows that could send, kept in order of priority so that a cycle looks only at those that go.

use slackwater_core::{Duration, Instant, PacketView};

use super::Cecc;
use super::config::{Mode, Schedule};
use super::flow::BEAT;
use super::schedule::{Admission, Limits};

/// Beats after which a kicked flow goes whatever is predicted. Where frames come together, the one that went last is kicked
/// for a beat, having nothing to send: were it admitted by force then, its next frame would join those of the others.
const PATIENCE: u64 = 2;

impl<P: PacketView + Clone> Cecc<P> {
    /// Puts `k` among the flows that Algorithm 1 chooses from, or takes it out, as it now stands.
    pub(super) fn list(&mut self, k: u32) {
        if self.schedule() != Schedule::Alg1 {
            return;
        }
        let flow = &mut self.flows[k];
        let wants = flow.place.is_some() || flow.acks;
        let listed = wants.then_some(flow.base);
        if listed == flow.listed {
            return;
        }
        let before = core::mem::replace(&mut flow.listed, listed);
        if let Some(base) = before {
            self.ready.remove(&(base, k));
        }
        if let Some(base) = listed {
            self.ready.insert((base, k));
            if before.is_none() {
                self.fresh.push(k);
            }
        } else {
            self.unkick(k);
        }
    }

    /// `paper`: no ACK numbers of `k` wait any more.
    pub(super) fn forget_acks(&mut self, k: u32) {
        self.flows[k].acks = false;
        self.list(k);
    }

    /// Forgets since when `k` is kicked; true where that was for too long.
    fn unkick(&mut self, k: u32) -> bool {
        let Some(end) = self.flows[k].kicked.take() else {
            return false;
        };
        self.kicked.remove(&(end, k));
        end < self.now
    }

    /// Chooses the set M: flows that were kicked for too long, then in order of priority until one would break the standard.
    pub(super) fn alg1(&mut self, now: Instant) {
        let ahead = match self.config.mode {
            Mode::Hold => Duration::ZERO,
            _ => self.rtt_n6,
        };
        let arrive = now + ahead + self.radio.wired();
        let busy = self.radio.collect(now);
        let mut set = Admission::new(Limits {
            base: self.radio.wired() + self.radio.grid.processing(arrive),
            standard: self.config.standard,
            busy,
            keep_one: busy == 0,
        });
        self.radio.forget_opened();
        let mut chosen = core::mem::take(&mut self.admitted);
        chosen.clear();
        chosen.extend(self.kicked.iter().take_while(|e| e.0 < now).map(|e| e.1));
        self.stats.forced += chosen.len() as u64;
        for &k in &chosen {
            let alone = self.alone(now, k, busy);
            self.take(k, alone, true, &mut set);
        }
        let mut next = self.ready.first().copied();
        let mut ties: Vec<(Duration, u32)> = Vec::new();
        while let Some((base, first)) = next {
            ties.clear();
            let mut k = first;
            next = loop {
                if !self.flows[k].chosen {
                    ties.push((self.alone(now, k, busy), k));
                }
                match self.ready.range((base, k + 1)..).next() {
                    Some(&(same, other)) if same == base => k = other,
                    other => break other.copied(),
                }
            };
            // Of equal priority the longer delay goes first, then the larger id: the others stay.
            ties.sort_unstable();
            let all = ties.len();
            let stay = ties
                .iter()
                .take_while(|t| self.take(t.1, t.0, false, &mut set))
                .count();
            chosen.extend(ties[..stay].iter().map(|t| t.1));
            if stay < all {
                break;
            }
        }
        self.stats.kicked += self.ready.len().saturating_sub(chosen.len()) as u64;
        // Those that came since the last cycle and stay behind count as kicked from now on.
        let mut fresh = core::mem::take(&mut self.fresh);
        for k in fresh.drain(..) {
            let flow = &mut self.flows[k];
            if flow.listed.is_some() && !flow.chosen && flow.kicked.is_none() {
                let end = now + flow.beat() * PATIENCE;
                flow.kicked = Some(end);
                self.kicked.insert((end, k));
            }
        }
        self.fresh = fresh;
        for &k in &chosen {
            self.flows[k].chosen = false;
            self.admit(now, k);
        }
        self.admitted = chosen;
    }

    /// `(RBS + TxSize + FrameSize) / TH` of `k`: what eq. 4 gives where it is alone.
    fn alone(&mut self, now: Instant, k: u32, busy: u64) -> Duration {
        let frame = self.frame_size(k);
        let ue = self.flows[k].ue;
        let bytes = self.radio.held_by(now, ue, busy) + frame;
        let rate = self.radio.throughput(ue).max(1);
        // Bytes of a cell's queue times 10^9 fit.
        Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / rate)
    }

    /// Takes `k` into the set M where that does not break the standard.
    fn take(&mut self, k: u32, alone: Duration, forced: bool, set: &mut Admission) -> bool {
        let ue = self.flows[k].ue;
        let opens = !self.radio.busy(ue.0) && !self.radio.opened(ue.0);
        let taken = set.admits(alone, opens, forced);
        if taken {
            self.radio.open(ue.0);
            self.flows[k].chosen = true;
        }
        taken
    }

    /// A flow of the set M goes.
    pub(super) fn admit(&mut self, now: Instant, k: u32) {
        let until = now + self.radio.grid.slot();
        let flow = &mut self.flows[k];
        flow.admitted = until;
        if self.unkick(k) && self.flows[k].tcp.is_some() {
            self.flows[k].frames.taint();
        }
        self.fresh.push(k);
        if self.flows[k].fifo.head().is_some() {
            self.empty(now, k);
        } else if self.config.mode == Mode::Paper {
            let frame = self.frame_size(k);
            let flow = &mut self.flows[k];
            let interval = flow.frames.interval().unwrap_or(BEAT);
            if let Some(tcp) = &mut flow.tcp {
                tcp.two_acks(now, frame, interval, &mut self.out);
                self.stats.grants += 1;
                flow.acks = tcp.has_acks();
                if tcp.clocked() {
                    flow.frames.taint();
                }
            }
            self.list(k);
        } else {
            self.grant(now, k);
        }
    }
}
