//! A path without a bottleneck: constant delay, bounded jitter, random loss, order kept.

use std::collections::VecDeque;

use slackwater_core::{Draw, Duration, Instant, Packet};

/// What a lane does to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneConfig {
    /// One-way delay.
    pub delay: Duration,
    /// Extra delay of each packet, uniform in [0, jitter); a packet never overtakes another of its lane.
    pub jitter: Duration,
    /// Probability that a packet is lost.
    pub loss: f64,
}

/// Packets in flight on a lane. One lane serves one flow and direction, so jitter is independent between flows: this
/// is the sub-slot jitter without which arrivals stay aligned to the radio's slots and lock flows out.
#[derive(Debug)]
pub(crate) struct Lane {
    config: LaneConfig,
    draw: Draw,
    count: u64,
    last: Instant,
    packets: VecDeque<(Instant, Packet)>,
}

impl Lane {
    pub(crate) fn new(config: LaneConfig, draw: Draw) -> Self {
        Self {
            config,
            draw,
            count: 0,
            last: Instant::ZERO,
            packets: VecDeque::new(),
        }
    }

    /// Takes a packet; false where the lane loses it.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, packet: Packet) -> bool {
        let key = self.count;
        self.count += 1;
        if self.config.loss > 0.0 && self.draw.uniform(2 * key) < self.config.loss {
            return false;
        }
        let mut due = now + self.config.delay;
        if !self.config.jitter.is_zero() {
            due += self.config.jitter.mul_f64(self.draw.uniform(2 * key + 1));
        }
        self.last = self.last.max(due);
        self.packets.push_back((self.last, packet));
        true
    }

    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.packets.front().map(|p| p.0)
    }

    #[inline]
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Packet> {
        if self.packets.front()?.0 <= now {
            self.packets.pop_front().map(|p| p.1)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_core::SeqNum;

    #[test]
    fn jitter_keeps_order_and_bounds() {
        let config = LaneConfig {
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(1),
            loss: 0.0,
        };
        let mut lane = Lane::new(config, Draw::new(1));
        let mut sent = vec![];
        for i in 0..1_000u32 {
            let now = Instant::from_nanos(u64::from(i / 7) * 300_000);
            assert!(lane.push(
                now,
                Packet {
                    seq: SeqNum(i),
                    ..Packet::default()
                }
            ));
            sent.push(now);
        }
        let mut next = 0;
        while let Some(at) = lane.next_timer() {
            let p = lane.pop_due(at).expect("due");
            assert_eq!(p.seq.0, next, "order");
            let delay = at - sent[next as usize];
            assert!(delay >= Duration::from_millis(10) && delay < Duration::from_millis(11));
            next += 1;
        }
        assert_eq!(next, 1_000);
    }

    #[test]
    fn loses_the_share_it_is_told() {
        let mut lane = Lane::new(
            LaneConfig {
                loss: 0.1,
                ..LaneConfig::default()
            },
            Draw::new(5),
        );
        let lost = (0..100_000)
            .filter(|_| !lane.push(Instant::ZERO, Packet::default()))
            .count();
        assert!((9_700..10_300).contains(&lost), "{lost}");
    }
}
