//! Rule 1: what is on its way by the base station's counters. They hold more than was sent here, such as handshakes, and less, such
//! as what was lost before the radio: an offset between both counts is found, and mended.

use slackwater_core::{Duration, Instant};
use slackwater_signal::Counters;

use super::clock::{Heard, RadioClock};
use super::count::Least;
use super::order::{greater, lesser};

/// A radio queue above this hides the least loop.
pub(super) const STANDING: Duration = Duration::from_millis(5);
/// The first counters that come so soon after the first packet have counted all packets.
const YOUNG: Duration = Duration::from_secs(1);
/// Nothing of what was sent has reached the radio after half a round trip, and so long at most. Ours: what was counted before it, such as a
/// handshake, has been reported by then.
const EARLIEST: Duration = Duration::from_millis(20);
/// What comes so much later to the radio than what came fastest is not lost yet. Ours.
const JITTER: Duration = Duration::from_millis(4);
/// A packet that leaves after so many times of a packet meets none before it.
const ALONE: u64 = 2;
/// Packets of others that the first counters may hold beyond those that were sent here: a loop is of a byte behind so many.
const FOREIGN: u64 = 2;

/// What the last report makes of the bytes that were sent. It holds until the next one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Of the bytes that were sent here, those that left the radio.
    ours: u64,
    /// What the radio has taken while the report was late.
    since: u64,
    /// Bytes that wait in the radio, as far as the report is believed.
    pub waits: u64,
}

impl RadioClock {
    /// Bytes that left the sender and not the radio.
    pub(crate) fn outstanding(&self) -> u64 {
        if !self.params.rules.gone {
            return self.wire(self.in_flight);
        }
        let Known { ours, since, waits } = self.known;
        let known = self.log.sent().saturating_sub(ours);
        known.saturating_sub(since).max(waits.min(known))
    }

    /// Takes from `counters`, and from what is believed of them, what holds until the next ones.
    pub(super) fn know(&mut self, counters: &Counters) {
        let (scale, backlog) = (self.trust.scale(), counters.backlog);
        self.known = Known {
            ours: self.ours(),
            since: if self.late.is_zero() {
                0
            } else {
                (self.late.as_secs_f64() * self.served) as u64
            },
            waits: if scale < 1.0 {
                (f64::from(backlog) * scale) as u64
            } else {
                u64::from(backlog)
            },
        };
    }

    /// Of the bytes that were sent here, those that left the radio.
    fn ours(&self) -> u64 {
        u64::try_from(self.gone - self.offset).unwrap_or(0)
    }

    /// The first counters, or those of another base station.
    pub(super) fn begin(&mut self, now: Instant, counters: &Counters) {
        let first = self.heard.is_none();
        let young = self.first_sent.is_none_or(|sent| now.since(sent) < YOUNG);
        self.heard = Some(Heard {
            counters: *counters,
            at: now,
        });
        self.stale_since = None;
        self.fresh = 0;
        self.trust.restart();
        self.clock = (Duration::ZERO, now);
        self.way = Least::default();
        self.late = Duration::ZERO;
        self.gone = i64::from(counters.gone);
        self.offset = if first && young {
            // It has counted since the flow began. A late report does not hold yet what was acknowledged meanwhile.
            0
        } else {
            // Nothing is known of what is on its way but what the host has in flight.
            let flying = self.wire(self.in_flight).min(self.log.sent());
            self.gone - (self.log.sent() - flying) as i64
        };
        self.began = self.offset;
        self.shown = self.acked;
        self.excess = None;
        self.nearest = None;
        self.shows = false;
        self.dropped = 0;
        self.written_off = self.lost();
        self.forecast = self.forecast.restarted();
        // Counters of a flow that connects again hold what its connections before sent: that is no part of what is ours.
        self.align(now, counters);
        // Packets that no controller hears of are counted there, such as probes of the path's MTU (RFC 8899) over QUIC: what they
        // are ahead of left later than they did, and would make the loop seem short.
        self.noted = self.noted.max(self.ours() + FOREIGN * u64::from(self.mss));
        self.most = self.offset;
        self.foreign = 0;
        self.know(counters);
    }

    /// Finds out what the counters hold that was not sent here.
    pub(super) fn align(&mut self, now: Instant, counters: &Counters) {
        let arrived = self.gone + i64::from(counters.backlog);
        let sent = self.log.sent() as i64;
        // The round trip of a handshake may be that of an outage.
        let none = self
            .first_sent
            .is_some_and(|t| !self.upload && now.since(t) < (self.min_rtt / 2).min(EARLIEST));
        // A queue before the radio, which may have grown since the last loop, holds what was sent for longer than the base.
        let way = self.base().max(self.srtt);
        let all = self.has_base() && now.since(self.last_sent) > way * 2;
        let foreign = (FOREIGN * u64::from(self.mss)) as i64;
        self.offset = match () {
            // Nothing was sent ...
            () if self.first_sent.is_none() => arrived,
            // ... or nothing of it can have reached the radio, but where the handshake waited on its way ...
            () if none => self.offset.max(arrived.min(foreign)),
            // ... or all of it has, or never will.
            () if all => arrived - sent,
            // What waits there is a word that nothing proves: it may tell of a handshake, and of no more.
            () => {
                let handshake = self.began + foreign;
                self.offset
                    .max((arrived - sent).min(handshake))
                    .max(self.gone - sent)
            }
        };
        // Bytes that pass for those of others would be on their way for ever.
        let (since, acked) = self.confirmed;
        if self.least.get().is_some() && now.since(since) >= self.base() + self.late {
            // What had been acknowledged when the report was made had left by then.
            self.offset = self.offset.min(self.gone - acked as i64);
            self.confirmed = (now, self.acked);
        }
        self.foreign += u64::try_from(self.offset - self.most).unwrap_or(0);
        self.most = self.most.max(self.offset);
    }

    /// Bytes that `counters` show at the radio beyond those that were sent, as far as the host knows of them.
    pub(super) fn unseen(&self, now: Instant, counters: &Counters) -> u64 {
        let (gone, offset) = match &self.heard {
            // As `begin` would.
            None if self.first_sent.is_none_or(|t| now.since(t) < YOUNG) => {
                (i64::from(counters.gone), 0)
            }
            Some(Heard { counters: last, .. })
                if counters.instance == last.instance && counters.since(last).is_some() =>
            {
                let gone = counters.gone.wrapping_sub(last.gone);
                (self.gone + i64::from(gone), self.offset)
            }
            _ => return 0,
        };
        let arrived = gone + i64::from(counters.backlog) - offset;
        u64::try_from(arrived - self.log.sent() as i64).unwrap_or(0)
    }

    /// `payload` bytes of those that were said to be sent were not, nor their headers, by a host that knows of all that the last counters may
    /// hold.
    pub(super) fn take_back(&mut self, now: Instant, payload: u64, headers: u64) {
        self.log.take_back(payload + headers);
        self.open = self.open.saturating_sub(payload);
        if let Some(Heard { counters, .. }) = self.heard {
            self.align(now, &counters);
            self.know(&counters);
        }
    }

    /// The age of the newest byte that is gone.
    pub(super) fn note_round(&mut self, now: Instant, counters: &Counters) {
        // A few bytes more than ours are in the counters: they must not reach into the next row.
        let byte = self.ours().saturating_sub(u64::from(self.mss));
        if byte <= self.noted {
            // What left was a handshake or plain ACKs.
            return;
        }
        let Some(mut left) = self.log.time_of(byte) else {
            return;
        };
        let mut last = byte;
        if let Some((end, begun)) = self.before_a_pause(now, byte, left) {
            // Such are not ours, or the loop would be shorter than ever.
            self.offset += (byte - end) as i64;
            self.nearest = None;
            if end <= self.noted {
                return;
            }
            (last, left) = (end, begun);
        }
        self.noted = last;
        // Without what made the report late: that says nothing of the bytes.
        self.round = now.since(left).saturating_sub(self.late);
        if self.upload {
            self.granted.look(now, counters.hol, self.round);
        }
        if self.is_short(now, last, left) {
            return;
        }
        // A queue only makes a loop longer: below the least one, a loop through a queue is one as well.
        if counters.hol <= STANDING || self.least.get().is_none_or(|least| self.round < least) {
            self.least.add(now, self.round);
        }
    }

    /// The age of the oldest byte that is not gone; zero where all are.
    pub(super) fn age_of_oldest(&self, now: Instant) -> Duration {
        let left = self.log.left_at(self.ours() + 1);
        left.map_or(Duration::ZERO, |left| {
            now.since(left).saturating_sub(self.late)
        })
    }

    /// At a slow rate a full packet takes some time by itself. A loop of one that is not full, or that left after a pause of the host and so
    /// behind no other, is shorter than the least one of a flow that always sends.
    fn is_short(&self, now: Instant, byte: u64, left: Instant) -> bool {
        let packet = f64::from(self.mss + self.headers);
        let takes = Duration::from_secs_f64(lesser(packet / greater(self.aim.rate, 1.0), 1.0));
        let before = self.log.before();
        let alone = before.is_some_and(|(_, begun)| left.since(begun) > takes * ALONE);
        let known = self.least.get().is_some();
        let end = byte + u64::from(self.mss);
        let alone = alone && self.is_idle(now);
        known && takes > JITTER && (alone || self.log.has_short(byte, end))
    }

    /// `byte` seems to be of the first packets that left after a pause, at `left`, and sooner here than any before. The counters hold a few
    /// bytes that were not sent here, such as acknowledgments of what the other end sent. Returns the end of what left before the pause, and when.
    fn before_a_pause(&self, now: Instant, byte: u64, left: Instant) -> Option<(u64, Instant)> {
        let (end, begun) = self.log.before()?;
        let foreign = FOREIGN * u64::from(self.mss);
        let few = byte - end <= foreign;
        // A slow sender pauses after each packet.
        let fast = self.aim.rate * JITTER.as_secs_f64() > foreign as f64;
        let pause = fast && left.since(begun) > JITTER;
        let round = now.since(left).saturating_sub(self.late);
        // A drain of rule 2 makes a loop shorter by the flow's own queue, and a report that comes soon after a byte by its interval.
        let interval = Duration::from_secs_f64(self.interval);
        let shortest = round + JITTER + self.own_queue() + interval;
        (few && pause && shortest < self.base()).then_some((end, begun))
    }

    /// Bytes that the host has given up and that the base station did not drop. They are counted by their payload: an acknowledgment does not
    /// report in how many packets it came, and packets that are not full have more headers.
    fn lost(&self) -> u64 {
        let given_up = self.open.saturating_sub(self.in_flight);
        self.wire(given_up).saturating_sub(self.dropped)
    }

    /// Bytes have not reached the radio for two rounds though they must have: they were lost before. No more than the host has given
    /// up: a queue before the radio looks alike.
    /// `base` is the least loop.
    pub(super) fn write_off(&mut self, now: Instant, counters: &Counters, base: Duration) {
        let excess = self.excess(now, counters);
        if excess == 0 || self.timed_out {
            self.excess = None;
            return;
        }
        let (since, least) = self.excess.unwrap_or((now, excess));
        let least = least.min(excess);
        if now.since(since) < base * 2 {
            self.excess = Some((since, least));
            return;
        }
        self.offset -= least as i64;
        self.known.ours = self.ours();
        self.written_off += least;
        self.lost += least;
        self.excess = None;
    }

    /// Bytes that left so long ago that they have reached the radio or never will, and have not; no more than the host has given up.
    fn excess(&self, now: Instant, counters: &Counters) -> u64 {
        let given_up = self.lost().saturating_sub(self.written_off);
        let Some(nearest) = self.nearest.filter(|_| given_up > 0) else {
            return 0;
        };
        let then = now.saturating_sub(nearest + self.late + JITTER);
        let sent = self.log.sent_by(then).unwrap_or(0);
        sent.saturating_sub(self.arrived(counters)).min(given_up)
    }

    /// Of the bytes that were sent here, those that reached the radio.
    fn arrived(&self, counters: &Counters) -> u64 {
        self.ours() + u64::from(counters.backlog)
    }

    /// The age of the newest byte that reached the radio: the least of it is the way there and that of a report.
    pub(super) fn note_arrival(&mut self, now: Instant, counters: &Counters) {
        let byte = self.arrived(counters).saturating_sub(u64::from(self.mss));
        let Some(left) = self.log.left_at(byte).filter(|_| byte > 0) else {
            return;
        };
        let age = now.since(left).saturating_sub(self.late);
        self.nearest = Some(self.nearest.map_or(age, |least| least.min(age)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::ebb::Params;

    const PACKET: u64 = 1500;

    /// Packets leave at `times`, in ms, at a rate of one each `takes` ms. Whether the loop of the last one is none to go by.
    fn short(takes: u64, times: &[u64], full: bool, idle: bool) -> bool {
        let mut clock = RadioClock::new(Params::DEFAULT, 1448);
        let at = Instant::from_millis;
        let base = Duration::from_millis(50);
        clock.aim.rate = PACKET as f64 * 1e3 / takes as f64;
        clock.least.add(at(0), base);
        for &ms in times {
            clock.on_sent(at(ms), PACKET, 0);
        }
        if !full {
            clock.log.note_short();
        }
        let now = at(2_000);
        if idle {
            clock.host.note(now, (0.0, 1500.0), 0.005, base, base);
        }
        let byte = PACKET * times.len() as u64 - 1448;
        let left = clock.log.time_of(byte).expect("it left");
        clock.is_short(now, byte, left)
    }

    #[test]
    fn a_packet_that_meets_no_other_or_is_not_full_has_no_least_loop_at_a_slow_rate() {
        assert!(!short(17, &[0, 17, 34], true, true));
        assert!(short(17, &[0, 17, 69], true, true), "after a pause");
        assert!(!short(17, &[0, 17, 51], true, true), "of two packets");
        assert!(!short(17, &[0, 17, 1000], true, false), "the radio paused");
        assert!(short(17, &[0, 17, 34], false, false), "not full");
        assert!(!short(4, &[0, 17, 1000], false, true), "fast");
    }

    #[test]
    fn the_oldest_byte_that_is_not_gone_left_after_the_pause() {
        let mut clock = RadioClock::new(Params::DEFAULT, 1448);
        let at = Instant::from_millis;
        let now = at(100);
        assert_eq!(clock.age_of_oldest(now), Duration::ZERO);
        for ms in [10, 20, 90] {
            clock.on_sent(at(ms), 1448, 52);
        }
        let ages = [0, 1499, 1500, 3000, 4500].map(|gone| {
            clock.gone = gone;
            clock.age_of_oldest(now).as_nanos() / 1_000_000
        });
        assert_eq!(ages, [90, 90, 80, 10, 0]);
    }

    #[test]
    fn packets_that_are_not_full_are_not_given_up_when_they_are_acknowledged() {
        let mut clock = RadioClock::new(Params::DEFAULT, 1448);
        for n in 0..100 {
            clock.on_sent(Instant::from_millis(n), 500, 52);
            clock.on_acked(500);
        }
        assert_eq!(clock.lost(), 0);
        clock.on_sent(Instant::from_millis(100), 1448, 52);
        assert_eq!(clock.lost(), 1500);
        clock.in_flight = 1448;
        assert_eq!(clock.lost(), 0);
        // What the radio dropped was not lost before it.
        (clock.in_flight, clock.dropped) = (0, 1500);
        assert_eq!(clock.lost(), 0);
        clock.take_back(Instant::from_millis(101), 1448, 52);
        clock.dropped = 0;
        assert_eq!(clock.lost(), 0);
    }
}
