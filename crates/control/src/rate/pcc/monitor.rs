//! Monitor intervals: which packets left in each, and what became of them.

use std::collections::VecDeque;

use slackwater_core::{Bytes, Duration, Instant};

use crate::estimate::sent_log::{Fate, Known, SentLog};
use crate::{Ack, CongestionEvent, PathView};

/// What an acknowledged packet showed.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The packet's place among all sent.
    pub number: u64,
    /// Microseconds.
    pub rtt: f64,
    /// The ACK was none of a burst.
    pub reliable: bool,
}

/// A monitor interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its place among all intervals.
    pub id: u32,
    /// The rate tried, bit/s.
    pub rate: f64,
    /// Its utility will be used.
    pub useful: bool,
    /// It was opened while the rate still doubled.
    pub starting: bool,
    /// Its time was doubled once for want of reliable samples.
    pub extended: bool,
    /// Departure of the first packet; `None` before it.
    pub began: Option<Instant>,
    /// Departure of the last packet.
    pub ended: Instant,
    /// Payload bytes that left.
    pub sent: u64,
    /// Payload bytes that arrived.
    pub acked: u64,
    /// Payload bytes that were lost.
    pub lost: u64,
    /// Smoothed RTT when the interval was opened.
    pub rtt: Duration,
    /// RTTs of the packets that arrived.
    pub samples: Vec<Sample>,
    /// Reliable ones among them.
    pub reliable: usize,
}

impl Interval {
    /// The fate of all its packets is known.
    pub const fn is_settled(&self) -> bool {
        self.acked + self.lost == self.sent
    }

    /// From the first departure to the last, and the time that a full packet takes at the rate, seconds.
    pub fn seconds(&self, wire_mss: u32) -> f64 {
        let began = self.began.unwrap_or(self.ended);
        let packet = f64::from(wire_mss.max(1)) * 8.0 / self.rate;
        self.ended.since(began).as_secs_f64() + packet
    }

    /// Part of its bytes that were lost.
    pub fn loss_rate(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }

    /// Mean of its RTTs, seconds; `None` without one.
    pub fn mean_rtt(&self) -> Option<f64> {
        let sum: f64 = self.samples.iter().map(|s| s.rtt).sum();
        (!self.samples.is_empty()).then(|| sum * 1e-6 / self.samples.len() as f64)
    }
}

/// The intervals whose books are open, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    intervals: VecDeque<Interval>,
    log: SentLog<u32>,
    /// Intervals opened so far.
    opened: u32,
    /// Fates that the last event told, kept for its room.
    known: Vec<Known<u32>>,
}

impl Monitor {
    /// Opens an interval at `rate`; what leaves from now on is its.
    pub fn open(&mut self, rate: f64, useful: bool, starting: bool, rtt: Duration) -> u32 {
        let id = self.opened;
        self.opened = self.opened.wrapping_add(1);
        self.intervals.push_back(Interval {
            id,
            rate,
            useful,
            starting,
            extended: false,
            began: None,
            ended: Instant::ZERO,
            sent: 0,
            acked: 0,
            lost: 0,
            rtt,
            samples: Vec::new(),
            reliable: 0,
        });
        id
    }

    /// The interval that packets leave in.
    pub fn current(&self) -> Option<&Interval> {
        self.intervals.back()
    }

    /// The same, to be changed.
    pub fn current_mut(&mut self) -> Option<&mut Interval> {
        self.intervals.back_mut()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter()
    }

    /// All of them, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Interval> {
        self.intervals.iter_mut()
    }

    /// Useful intervals.
    pub fn useful(&self) -> usize {
        self.intervals.iter().filter(|i| i.useful).count()
    }

    /// Closes the books of the oldest interval.
    pub fn pop(&mut self) -> Option<Interval> {
        self.intervals.pop_front()
    }

    /// Closes all books.
    pub fn clear(&mut self) {
        self.intervals.clear();
    }

    /// The interval `id`, where its books are open.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Interval> {
        let first = self.intervals.front()?.id;
        self.intervals.get_mut(id.wrapping_sub(first) as usize)
    }

    /// A packet of `bytes` leaves in the current interval.
    #[inline]
    pub fn sent(&mut self, now: Instant, bytes: Bytes) {
        let Some(interval) = self.intervals.back_mut() else {
            return;
        };
        interval.began.get_or_insert(now);
        interval.ended = now;
        interval.sent += bytes.0;
        self.log.sent(now, bytes, interval.id);
    }

    /// The packets whose fate `ack` tells. Losses are in the books already; what arrived is left to the caller.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) -> &[Known<u32>] {
        let mut known = core::mem::take(&mut self.known);
        known.clear();
        self.log.on_ack(now, ack, |k| known.push(k));
        self.settle(&mut known);
        self.known = known;
        &self.known
    }

    /// Books packet `k` of those that [`Monitor::on_ack`] told last as arrived, with what it showed.
    pub fn arrive(&mut self, k: usize, sample: Option<Sample>) {
        let known = self.known[k];
        if let Some(interval) = self.get_mut(known.tag) {
            interval.acked += u64::from(known.bytes);
            interval.samples.extend(sample.map(|s| Sample {
                number: known.number,
                ..s
            }));
        }
    }

    /// A timeout's losses.
    pub fn on_congestion(&mut self, path: &PathView, event: &CongestionEvent) {
        let mut known = core::mem::take(&mut self.known);
        known.clear();
        self.log.on_congestion(path, event, |k| known.push(k));
        self.settle(&mut known);
        self.known = known;
    }

    /// Books losses and keeps the rest.
    fn settle(&mut self, known: &mut Vec<Known<u32>>) {
        known.retain(|k| {
            let lost = k.fate == Fate::Lost;
            if lost && let Some(interval) = self.get_mut(k.tag) {
                interval.lost += u64::from(k.bytes);
            }
            !lost
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_booked_where_they_left() {
        let mut m = Monitor::default();
        let at = Instant::from_millis;
        m.sent(at(0), Bytes(1000));
        assert_eq!(m.iter().count(), 0, "nothing is open");
        let a = m.open(8e6, true, false, Duration::ZERO);
        for ms in 1..=4 {
            m.sent(at(ms), Bytes(1000));
        }
        let b = m.open(16e6, false, false, Duration::ZERO);
        m.sent(at(5), Bytes(1000));
        assert_eq!((m.useful(), m.current().map(|i| i.id)), (1, Some(b)));

        let ack = |bytes, sent, lost| Ack {
            newly_acked: Bytes(bytes),
            rtt: Some(at(100).since(at(sent))),
            lost: Bytes(lost),
            ..Ack::default()
        };
        let arrived = m.on_ack(at(100), &ack(2000, 2, 0)).to_vec();
        assert_eq!(arrived.iter().map(|k| k.tag).collect::<Vec<_>>(), [a, a]);
        // The third packet is missing: it is the loss that the fifth's ACK brings.
        let _ = m.on_ack(at(100), &ack(1000, 4, 0));
        let arrived = m.on_ack(at(100), &ack(1000, 5, 1000)).to_vec();
        assert_eq!((arrived.len(), arrived[0].tag), (1, b));
        let first = m.get_mut(a).expect("open");
        assert_eq!((first.sent, first.lost), (4000, 1000));
        assert!((first.loss_rate() - 0.25).abs() < 1e-12);
        // 3 ms between departures and a packet of 1000 B at 8 Mbit/s.
        assert!((first.seconds(1000) - 0.004).abs() < 1e-12);
        assert_eq!(m.pop().map(|i| i.id), Some(a));
        assert!(m.get_mut(a).is_none());
    }
}
