//! The segments of a flow that left for the radio: which of them are in flight, exactly.

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant, SeqNum};

/// Segments remembered of one flow; the oldest goes unmeasured beyond. 1 Gbit/s over 200 ms are 17,000.
const CAPACITY: usize = 1 << 14;

/// In flight: a copy left, and neither an ACK nor a SACK came back. A segment dropped before it left never is.
const IN_FLIGHT: u8 = 1;
/// A copy left more than once, or a sender's repeat was the first to leave: its RTT is ambiguous (Karn and Partridge).
const REPEATED: u8 = 2;
/// Selectively acknowledged.
const SACKED: u8 = 4;
/// Two copies left with the same `TSval`, so that its echo does not tell them apart.
const SAME_TSVAL: u8 = 8;
/// It carries SYN.
const SYN: u8 = 16;

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: SeqNum,
    end: SeqNum,
    /// `TSval` of the copy that left last.
    tsval: u32,
    /// IP bytes.
    len: u32,
    /// When that copy left.
    left: Instant,
    flags: u8,
}

impl Segment {
    const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// What an acknowledgment took out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// IP bytes that were not known to be delivered before.
    pub delivered: u64,
    /// Of the newest segment, if it has been neither repeated nor selectively acknowledged before: when it left.
    pub newest: Option<Instant>,
    /// When the copy left whose `TSval` came back and which had an ambiguous RTT otherwise.
    pub echoed: Option<Instant>,
    /// One of the segments had been repeated.
    pub any_repeated: bool,
    /// The newest carried SYN.
    pub syn: bool,
}

/// A segment that starts at `start` left again.
fn note(repeats: &mut VecDeque<(Instant, SeqNum)>, now: Instant, start: SeqNum) {
    if repeats.len() == CAPACITY {
        repeats.pop_front();
    }
    repeats.push_back((now, start));
}

/// Segments in order of their sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    ring: VecDeque<Segment>,
    flight: u64,
    /// No segment in flight left before.
    oldest: Instant,
    /// All before it have been judged lost or not by what arrived behind them.
    judged: Option<SeqNum>,
    /// Segments that left again and have not been judged since: when, and where they start.
    repeats: VecDeque<(Instant, SeqNum)>,
}

impl Segments {
    /// IP bytes in flight.
    pub const fn flight(&self) -> u64 {
        self.flight
    }

    /// Heap bytes.
    pub fn heap(&self) -> usize {
        self.ring.capacity() * size_of::<Segment>()
            + self.repeats.capacity() * size_of::<(Instant, SeqNum)>()
    }

    /// Forgets everything, and gives the memory back.
    pub fn clear(&mut self) {
        self.ring = VecDeque::new();
        self.repeats = VecDeque::new();
        self.flight = 0;
        self.judged = None;
    }

    /// A segment beyond all before it leaves.
    pub fn push(
        &mut self,
        now: Instant,
        start: SeqNum,
        end: SeqNum,
        len: u32,
        tsval: u32,
        syn: bool,
    ) {
        if self.ring.len() == CAPACITY {
            let first = self.ring.pop_front().expect("a full ring has a first");
            self.land(first);
        }
        if self.flight == 0 {
            self.oldest = now;
        }
        self.flight += u64::from(len);
        self.ring.push_back(Segment {
            start,
            end,
            tsval,
            len,
            left: now,
            flags: IN_FLIGHT | if syn { SYN } else { 0 },
        });
    }

    fn land(&mut self, segment: Segment) {
        if segment.has(IN_FLIGHT) {
            self.flight -= u64::from(segment.len);
        }
    }

    /// A segment leaves that the sender repeats (or that comes late).
    pub fn repeat(&mut self, now: Instant, start: SeqNum, end: SeqNum, len: u32, tsval: u32) {
        let at = self.ring.partition_point(|s| s.end.le(start));
        let mut known = false;
        let mut gained = 0;
        for segment in self.ring.iter_mut().skip(at) {
            if segment.start.ge(end) {
                break;
            }
            known = true;
            if segment.has(SACKED) {
                continue;
            }
            if segment.tsval == tsval {
                segment.flags |= SAME_TSVAL;
            }
            segment.flags |= REPEATED;
            segment.left = now;
            segment.tsval = tsval;
            note(&mut self.repeats, now, segment.start);
            if !segment.has(IN_FLIGHT) {
                segment.flags |= IN_FLIGHT;
                gained += u64::from(segment.len);
            }
        }
        if !known && self.ring.len() < CAPACITY {
            // The copy before was dropped before it could leave, or was forgotten.
            gained += u64::from(len);
            let segment = Segment {
                start,
                end,
                tsval,
                len,
                left: now,
                flags: IN_FLIGHT | REPEATED,
            };
            self.ring.insert(at, segment);
            note(&mut self.repeats, now, start);
        }
        if self.flight == 0 && gained > 0 {
            self.oldest = now;
        }
        self.flight += gained;
    }

    /// Everything before `ack` has arrived; `tsecr` is the time stamp that the ACK echoes.
    pub fn acknowledge(&mut self, ack: SeqNum, tsecr: Option<u32>) -> Taken {
        let mut taken = Taken::default();
        while let Some(&segment) = self.ring.front() {
            if segment.end.gt(ack) {
                break;
            }
            self.ring.pop_front();
            self.land(segment);
            if !segment.has(SACKED) {
                taken.delivered += u64::from(segment.len);
            }
            if segment.has(REPEATED) {
                taken.any_repeated = true;
                if tsecr == Some(segment.tsval) && !segment.has(SAME_TSVAL) && !segment.has(SACKED)
                {
                    taken.echoed = Some(segment.left);
                }
            }
            taken.newest = (!segment.has(REPEATED) && !segment.has(SACKED)).then_some(segment.left);
            taken.syn = segment.has(SYN);
        }
        taken
    }

    /// Everything in `start..end` has arrived out of order. Returns the bytes that were not known to, and when the
    /// newest of them left, where that is unambiguous.
    pub fn sack(&mut self, start: SeqNum, end: SeqNum) -> (u64, Option<(SeqNum, Option<Instant>)>) {
        let at = self.ring.partition_point(|s| s.start.lt(start));
        let mut delivered = 0;
        let mut newest = None;
        let mut landed = 0;
        for segment in self.ring.iter_mut().skip(at) {
            if segment.end.gt(end) {
                break;
            }
            if segment.has(SACKED) {
                continue;
            }
            delivered += u64::from(segment.len);
            if segment.has(IN_FLIGHT) {
                landed += u64::from(segment.len);
            }
            segment.flags = (segment.flags | SACKED) & !IN_FLIGHT;
            newest = Some((
                segment.end,
                (!segment.has(REPEATED)).then_some(segment.left),
            ));
        }
        self.flight -= landed;
        (delivered, newest)
    }

    /// Takes as lost what left more than `slack` before a copy that has arrived from behind it, as RACK does (RFC 8985,
    /// 6.2): a radio in acknowledged mode delivers in order, so what it lacks it does not hold.
    ///
    /// `end` is the end of the newest segment that arrived and `left` when it left. Each copy is judged once.
    pub fn judge(&mut self, end: SeqNum, left: Instant, slack: Duration) {
        let from = self
            .judged
            .map_or(0, |seq| self.ring.partition_point(|s| s.end.le(seq)));
        let mut landed = 0;
        let mut judged = None;
        for segment in self.ring.iter_mut().skip(from) {
            if segment.end.gt(end) {
                break;
            }
            if segment.has(IN_FLIGHT) {
                if segment.left + slack > left {
                    break;
                }
                segment.flags &= !IN_FLIGHT;
                landed += u64::from(segment.len);
            }
            judged = Some(segment.end);
        }
        self.flight -= landed;
        self.judged = judged.or(self.judged);
        self.judge_repeats(left, slack);
    }

    /// The same for copies that left again, wherever they stand: a heavy loss takes repairs as well, and behind a limit of bytes in
    /// flight nothing more would leave until they age out.
    fn judge_repeats(&mut self, left: Instant, slack: Duration) {
        while let Some(&(repeated, start)) = self.repeats.front()
            && repeated + slack <= left
        {
            self.repeats.pop_front();
            let at = self.ring.partition_point(|s| s.end.le(start));
            let Some(segment) = self.ring.get_mut(at) else {
                continue;
            };
            // One that has left once more since is judged by that.
            if segment.has(IN_FLIGHT) && segment.start == start && segment.left == repeated {
                segment.flags &= !IN_FLIGHT;
                self.flight -= u64::from(segment.len);
            }
        }
    }

    /// Takes what left more than `age` ago as lost.
    pub fn expire(&mut self, now: Instant, age: Duration) {
        if self.flight == 0 || now.since(self.oldest) <= age {
            return;
        }
        let mut oldest = now;
        let mut landed = 0;
        for segment in self.ring.iter_mut().filter(|s| s.has(IN_FLIGHT)) {
            if now.since(segment.left) > age {
                segment.flags &= !IN_FLIGHT;
                landed += u64::from(segment.len);
            } else {
                oldest = oldest.min(segment.left);
            }
        }
        self.flight -= landed;
        self.oldest = oldest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    #[test]
    fn a_repeat_of_what_flies_adds_nothing_and_of_what_was_dropped_adds_itself() {
        let mut s = Segments::default();
        s.push(MS(0), SeqNum(0), SeqNum(100), 140, 0, false);
        s.push(MS(0), SeqNum(200), SeqNum(300), 140, 0, false);
        s.repeat(MS(5), SeqNum(0), SeqNum(100), 140, 0);
        assert_eq!(s.flight(), 280);
        s.repeat(MS(5), SeqNum(100), SeqNum(200), 140, 0);
        assert_eq!(s.flight(), 420);
        let taken = s.acknowledge(SeqNum(300), None);
        assert_eq!((s.flight(), taken.delivered), (0, 420));
        assert_eq!(taken.newest, Some(MS(0)));
        assert!(taken.any_repeated);
    }

    #[test]
    fn what_is_too_old_no_longer_flies() {
        let mut s = Segments::default();
        s.push(MS(0), SeqNum(0), SeqNum(100), 140, 0, false);
        s.push(MS(900), SeqNum(100), SeqNum(200), 140, 0, false);
        s.expire(MS(1001), Duration::from_millis(1000));
        assert_eq!(s.flight(), 140);
        s.expire(MS(1901), Duration::from_millis(1000));
        assert_eq!(s.flight(), 0);
        // Late news still counts as delivered, and lands nothing twice.
        assert_eq!(s.acknowledge(SeqNum(200), None).delivered, 280);
        assert_eq!(s.flight(), 0);
    }

    #[test]
    fn what_the_radio_lost_no_longer_flies_once_something_sent_later_has_arrived() {
        let mut s = Segments::default();
        for i in 0..4_u32 {
            s.push(
                MS(u64::from(i) * 10),
                SeqNum(i * 100),
                SeqNum(i * 100 + 100),
                140,
                0,
                false,
            );
        }
        let (_, newest) = s.sack(SeqNum(200), SeqNum(300));
        assert_eq!(newest, Some((SeqNum(300), Some(MS(20)))));
        // The second left 10 ms before what arrived: it may be late.
        s.judge(SeqNum(300), MS(20), Duration::from_millis(15));
        assert_eq!(s.flight(), 280);
        let (_, _) = s.sack(SeqNum(300), SeqNum(400));
        s.judge(SeqNum(400), MS(30), Duration::from_millis(15));
        assert_eq!(s.flight(), 0);
        // The repeat is in flight, until what left behind it has arrived.
        s.repeat(MS(60), SeqNum(0), SeqNum(100), 140, 0);
        assert_eq!(s.flight(), 140);
        s.push(MS(70), SeqNum(400), SeqNum(500), 140, 0, false);
        s.push(MS(80), SeqNum(500), SeqNum(600), 140, 0, false);
        s.sack(SeqNum(400), SeqNum(500));
        s.judge(SeqNum(500), MS(70), Duration::from_millis(15));
        assert_eq!(s.flight(), 280);
        s.sack(SeqNum(500), SeqNum(600));
        s.judge(SeqNum(600), MS(80), Duration::from_millis(15));
        assert_eq!(s.flight(), 0);
    }

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Push,
        Repeat(u32, u32),
        Ack(u32),
        Sack(u32, u32),
        Expire(u64),
        Judge(u32, u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            Just(Op::Push),
            Just(Op::Push),
            (0_u32..40, 1_u32..4).prop_map(|(a, n)| Op::Repeat(a, n)),
            (0_u32..40).prop_map(Op::Ack),
            (0_u32..40, 1_u32..6).prop_map(|(a, n)| Op::Sack(a, n)),
            (0_u64..50).prop_map(Op::Expire),
            (0_u32..40, 0_u64..50).prop_map(|(a, ms)| Op::Judge(a, ms)),
        ]
    }

    proptest! {
        #[test]
        fn flight_is_the_sum_of_what_flies(ops in prop::collection::vec(op(), 0..120)) {
            let mut s = Segments::default();
            let base = SeqNum(u32::MAX - 700);
            let (mut high, mut una, mut now) = (0, 0, MS(0));
            for op in ops {
                now += Duration::from_millis(3);
                match op {
                    Op::Push => {
                        s.push(now, base + high * 100, base + (high + 1) * 100, 140, 0, false);
                        high += 1;
                    }
                    Op::Repeat(a, n) => {
                        let (a, b) = (a.max(una), (a + n).min(high));
                        if a < b {
                            s.repeat(now, base + a * 100, base + b * 100, 140, 7);
                        }
                    }
                    Op::Ack(a) => {
                        if a > una && a <= high {
                            s.acknowledge(base + a * 100, None);
                            una = a;
                        }
                    }
                    Op::Sack(a, n) => {
                        s.sack(base + a * 100, base + (a + n) * 100);
                    }
                    Op::Expire(ms) => s.expire(now, Duration::from_millis(ms)),
                    Op::Judge(a, ms) => s.judge(base + a * 100, now, Duration::from_millis(ms)),
                }
                let sum: u64 = s.ring.iter().filter(|x| x.has(IN_FLIGHT)).map(|x| u64::from(x.len)).sum();
                prop_assert_eq!(sum, s.flight());
                prop_assert!(s.ring.iter().all(|x| !(x.has(IN_FLIGHT) && x.has(SACKED))));
                prop_assert!(s.ring.iter().zip(s.ring.iter().skip(1)).all(|(a, b)| a.end.le(b.start)));
            }
            s.acknowledge(base + high * 100, None);
            prop_assert_eq!(s.flight(), 0);
        }
    }
}
