//! Two queues, one for scalable and one for classic traffic, with coupled signals (`DualPI2`, RFC 9332, appendix A).

use std::collections::VecDeque;

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Duration, Instant, PacketView};

use super::{Limits, carry_out};
use crate::law::{Pi2, ramp};
use crate::{PacketMeta, Queue, QueueView, Sink, Verdict};

/// Which queue sends where both could (RFC 9332, 4.2.2 leaves it open, and names both of these).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheduler {
    /// Scalable traffic goes first, but classic traffic gets this share of the bytes, between 0 and 1, while it waits.
    Weighted {
        /// The least share of classic traffic.
        classic: f64,
    },
    /// The packet that has waited longer, after the scalable ones' waits were lengthened by this.
    TimeShifted {
        /// How much longer classic packets wait.
        shift: Duration,
    },
}

/// The shape of a [`DualQ`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualQShape {
    /// How much may wait in both queues together; what does not fit is dropped at the tail.
    pub limits: Limits,
    /// Which queue sends.
    pub scheduler: Scheduler,
    /// Delay up to which the scalable queue marks nothing by itself (`minTh`).
    pub low: Duration,
    /// Delay from which it marks everything (`minTh` + `range`); the same as `low` makes a step.
    pub high: Duration,
    /// With fewer packets than this behind it, a scalable packet is not marked by its own queue (`Th_len`): at low rates
    /// one packet's transmission is longer than the thresholds.
    pub spared: u32,
}

impl Default for DualQShape {
    fn default() -> Self {
        Self {
            limits: Limits {
                // Linux' dualpi2; RFC 9332, figure 2, has 250 ms at the link's rate, which a queue does not know.
                packets: Some(10_000),
                bytes: None,
            },
            // Linux' classic_protection.
            scheduler: Scheduler::Weighted { classic: 0.1 },
            // RFC 9332, figure 2, lines 17 to 19.
            low: Duration::from_micros(800),
            high: Duration::from_micros(1200),
            spared: 1,
        }
    }
}

#[derive(Debug)]
struct Ring<P> {
    packets: VecDeque<(P, Instant)>,
    bytes: Bytes,
}

impl<P> Ring<P> {
    const fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }

    fn head_since(&self) -> Option<Instant> {
        self.packets.front().map(|(_, since)| *since)
    }

    /// Age of the head at `now`.
    fn delay(&self, now: Instant) -> Duration {
        self.head_since()
            .map_or(Duration::ZERO, |since| now.since(since))
    }
}

/// Two coupled queues.
#[derive(Debug)]
pub struct DualQ<P> {
    shape: DualQShape,
    law: Pi2,
    scalable: Ring<P>,
    classic: Ring<P>,
    /// What classic traffic has earned by scalable packets that went before it, in bytes.
    credit: f64,
}

impl<P: PacketView> DualQ<P> {
    /// Empty queues.
    pub const fn new(shape: DualQShape, law: Pi2) -> Self {
        Self {
            shape,
            law,
            scalable: Ring::new(),
            classic: Ring::new(),
            credit: 0.0,
        }
    }

    /// The law that couples the queues.
    pub const fn law(&self) -> &Pi2 {
        &self.law
    }

    /// What waits in the scalable and in the classic queue.
    pub fn backlogs(&self) -> [QueueView; 2] {
        [&self.scalable, &self.classic].map(|ring| QueueView {
            bytes: ring.bytes,
            packets: ring.packets.len() as u32,
        })
    }

    /// RFC 9332, A.2: the controller follows the longer of both delays, so that scalable traffic that does not answer
    /// ends in overload too.
    fn update(&mut self, now: Instant) {
        let (scalable, classic) = (&self.scalable, &self.classic);
        self.law
            .update_until(now, |at| scalable.delay(at).max(classic.delay(at)));
    }

    /// True where the scalable queue sends next; one of both has a packet.
    fn scalable_next(&mut self, now: Instant) -> bool {
        let (Some((scalable, _)), Some((classic, _))) =
            (self.scalable.packets.front(), self.classic.packets.front())
        else {
            // Nobody competes, nothing is earned.
            self.credit = 0.0;
            return !self.scalable.packets.is_empty();
        };
        match self.shape.scheduler {
            Scheduler::TimeShifted { shift } => {
                self.scalable.delay(now) >= self.classic.delay(now).saturating_sub(shift)
            }
            Scheduler::Weighted { classic: share } => {
                let share = share.clamp(0.0, 1.0);
                let cost = f64::from(classic.len()) * (1.0 - share);
                if self.credit >= cost {
                    self.credit -= cost;
                    return false;
                }
                self.credit += f64::from(scalable.len()) * share;
                true
            }
        }
    }
}

impl<P: PacketView> Queue<P> for DualQ<P> {
    fn enqueue(&mut self, now: Instant, packet: P, sink: &mut dyn Sink<P>) {
        self.update(now);
        let len = Bytes(u64::from(packet.len()));
        let waits = self.backlog();
        if !self
            .shape
            .limits
            .allow(waits.packets + 1, waits.bytes + len)
        {
            sink.dropped(now, &packet, DropReason::Full);
            return;
        }
        let ring = if packet.ecn().is_scalable() {
            &mut self.scalable
        } else {
            &mut self.classic
        };
        ring.bytes += len;
        ring.packets.push_back((packet, now));
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)> {
        self.update(now);
        loop {
            let is_scalable = self.scalable_next(now);
            let ring = if is_scalable {
                &mut self.scalable
            } else {
                &mut self.classic
            };
            let (mut packet, since) = ring.packets.pop_front()?;
            let meta = PacketMeta::of(&packet);
            ring.bytes -= Bytes(u64::from(meta.len));
            let verdict = if is_scalable {
                let native = if (ring.packets.len() as u32) < self.shape.spared {
                    0.0
                } else {
                    ramp::chance(self.shape.low, self.shape.high, now.since(since))
                };
                self.law.hit_scalable(native)
            } else {
                self.law.hit_classic()
            };
            if verdict == Verdict::Pass || carry_out(verdict, now, &mut packet, sink) {
                return Some((packet, since));
            }
        }
    }

    fn backlog(&self) -> QueueView {
        QueueView {
            bytes: self.scalable.bytes + self.classic.bytes,
            packets: (self.scalable.packets.len() + self.classic.packets.len()) as u32,
        }
    }

    fn head_since(&self) -> Option<Instant> {
        let heads = [self.scalable.head_since(), self.classic.head_since()];
        heads.into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Datagram, Ecn, Packet};

    use super::*;
    use crate::{NoSink, law::Pi2Config};

    fn dualq(scheduler: Scheduler) -> DualQ<Packet> {
        let shape = DualQShape {
            scheduler,
            ..DualQShape::default()
        };
        DualQ::new(shape, Pi2::new(Pi2Config::default()))
    }

    fn put(q: &mut DualQ<Packet>, at: Instant, ecn: Ecn, n: u32) {
        for seq in 0..n {
            let packet = Packet {
                body: Datagram::new(seq, 0).into(),
                len: 1500,
                ecn,
                ..Packet::default()
            };
            q.enqueue(at, packet, &mut NoSink);
        }
    }

    #[test]
    fn the_field_chooses_the_queue() {
        let mut q = dualq(Scheduler::Weighted { classic: 0.1 });
        for (n, ecn) in [
            (1, Ecn::NotEct),
            (2, Ecn::Ect0),
            (4, Ecn::Ect1),
            (8, Ecn::Ce),
        ] {
            put(&mut q, Instant::ZERO, ecn, n);
        }
        assert_eq!(q.backlogs().map(|v| v.packets), [12, 3]);
        assert_eq!(q.backlogs()[1].bytes, Bytes(4500));
    }

    #[test]
    fn classic_traffic_gets_its_share_and_no_more() {
        for (share, want) in [(0.0, 0), (0.1, 100), (0.5, 500), (1.0, 1000)] {
            let mut q = dualq(Scheduler::Weighted { classic: share });
            put(&mut q, Instant::ZERO, Ecn::Ect1, 1100);
            put(&mut q, Instant::ZERO, Ecn::NotEct, 1100);
            for _ in 0..1000 {
                q.dequeue(Instant::ZERO, &mut NoSink);
            }
            let sent = 1100 - q.backlogs()[1].packets;
            assert!(sent.abs_diff(want) <= 1, "{share}: {sent}");
        }
    }

    #[test]
    fn the_shift_is_a_head_start() {
        let shift = Duration::from_millis(30);
        let mut q = dualq(Scheduler::TimeShifted { shift });
        put(&mut q, Instant::ZERO, Ecn::NotEct, 2);
        put(&mut q, Instant::from_millis(30), Ecn::Ect1, 1);
        put(&mut q, Instant::from_millis(31), Ecn::Ect1, 1);
        let now = Instant::from_millis(32);
        let order: Vec<bool> = std::iter::from_fn(|| q.dequeue(now, &mut NoSink))
            .map(|(p, _)| p.ecn.is_scalable())
            .collect();
        assert_eq!(order, [true, false, false, true]);
    }

    #[test]
    fn its_own_ramp_spares_the_last_packet() {
        let mut q = dualq(Scheduler::Weighted { classic: 0.1 });
        put(&mut q, Instant::ZERO, Ecn::Ect1, 4);
        // The first fills the count to one, which does not exceed it (RFC 9332, figure 5).
        let now = Instant::from_nanos(1_300_000);
        let marks: Vec<bool> = (0..4)
            .map(|_| q.dequeue(now, &mut NoSink).expect("four wait").0.ecn == Ecn::Ce)
            .collect();
        assert_eq!(marks, [false, true, true, false]);
    }

    /// The controller sees the queue at each period, not at the call: 15, 30 and 45 ms of age by then.
    #[test]
    fn the_update_sees_the_head_grow_between_calls() {
        let mut q = dualq(Scheduler::Weighted { classic: 0.1 });
        put(&mut q, Instant::ZERO, Ecn::NotEct, 1);
        q.update(Instant::from_millis(46));
        let want = 3.0 * 0.045 + 0.15 * (0.015 + 0.030);
        assert!((q.law().base() - want).abs() < 1e-12, "{}", q.law().base());
    }
}
