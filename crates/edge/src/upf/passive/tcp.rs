//! Round-trip times and bytes in flight of a TCP flow that goes down, seen from the middle.

use slackwater_core::{Duration, Instant, SackList, SeqNum, TcpFlags, TcpHeader};

use super::segments::Segments;
use super::{RttSample, SampleKind};

/// What arrives later than so much after its turn is lost.
const REORDERING: Duration = Duration::from_millis(10);

/// What an uplink segment told.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckInfo {
    /// IP bytes now known to be delivered.
    pub delivered: u64,
    /// A round trip.
    pub sample: Option<RttSample>,
    /// The flow's first acknowledgment beyond its handshake, or a later one.
    pub advanced: bool,
}

/// Observes one TCP flow: data going down as it leaves, acknowledgments coming up.
///
/// Fields that each packet uses stand together.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct TcpFlow {
    /// All before it is acknowledged.
    una: SeqNum,
    /// All before it has left at least once.
    high: SeqNum,
    /// Largest payload seen.
    mss: u32,
    started: bool,
    acked: bool,
    segments: Segments,
    /// The SACK blocks of the last ACK: what they covered need not be searched again.
    blocks: SackList,
    repeated: u64,
    spurious: u64,
}

impl TcpFlow {
    /// IP bytes in flight: left, and neither acknowledged nor selectively acknowledged nor given up.
    pub const fn flight(&self) -> u64 {
        self.segments.flight()
    }

    /// Segments that left more than once.
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Repeats that the UE reported as needless (D-SACK, RFC 2883).
    pub const fn spurious(&self) -> u64 {
        self.spurious
    }

    /// True once an ACK of data came by: acknowledgments pass here too.
    pub const fn acknowledged(&self) -> bool {
        self.acked
    }

    /// Heap bytes.
    pub fn heap(&self) -> usize {
        self.segments.heap()
    }

    /// What left more than `age` ago counts as lost.
    pub fn expire(&mut self, now: Instant, age: Duration) {
        self.segments.expire(now, age);
    }

    /// True where the segment repeats what has left before.
    pub fn is_repeat(&self, tcp: &TcpHeader) -> bool {
        self.started && tcp.payload > 0 && (tcp.seq + tcp.payload).le(self.high)
    }

    /// A segment of `len` IP bytes leaves for the UE.
    pub fn on_left(&mut self, now: Instant, tcp: &TcpHeader, len: u32) {
        if tcp.flags.contains(TcpFlags::RST) {
            self.segments.clear();
            return;
        }
        let syn = tcp.flags.contains(TcpFlags::SYN);
        let consumed = tcp.payload + u32::from(syn) + u32::from(tcp.flags.contains(TcpFlags::FIN));
        if consumed == 0 {
            return;
        }
        let (start, end) = (tcp.seq, tcp.seq + consumed);
        // A leap of half a gigabyte is another connection on the same ports.
        let leap = (start - self.high) as i32;
        if !self.started || leap.unsigned_abs() > 1 << 29 || (syn && start != self.una) {
            self.segments.clear();
            self.started = true;
            self.una = start;
            self.high = start;
            self.blocks = SackList::default();
        }
        self.mss = self.mss.max(tcp.payload);
        let tsval = tcp.timestamps.map_or(0, |(tsval, _)| tsval);
        if end.gt(self.high) {
            let fresh = start.max(self.high);
            if start.lt(self.high) {
                self.repeated += 1;
                self.segments.repeat(now, start, self.high, 0, tsval);
            }
            // A segment that answers a SYN is timed by the ACK that ends the handshake; one that opens it waits for
            // the UE's application.
            let opens = syn && !tcp.flags.contains(TcpFlags::ACK);
            self.segments.push(now, fresh, end, len, tsval, opens);
            self.high = end;
        } else if end.gt(self.una) {
            self.repeated += 1;
            self.segments
                .repeat(now, start.max(self.una), end, len, tsval);
        }
    }

    /// A segment of the UE passes on its way up.
    pub fn on_uplink(&mut self, now: Instant, tcp: &TcpHeader, sack: &SackList) -> AckInfo {
        if tcp.flags.contains(TcpFlags::RST) {
            self.segments.clear();
            return AckInfo::default();
        }
        if !self.started || !tcp.flags.contains(TcpFlags::ACK) {
            return AckInfo::default();
        }
        if tcp.ack.gt(self.high) {
            // It acknowledges what left before this function saw the flow.
            self.segments.clear();
            self.una = tcp.ack;
            self.high = tcp.ack;
            return AckInfo::default();
        }
        let mut info = AckInfo::default();
        if !sack.is_empty() {
            self.on_sack(now, tcp.ack, sack, &mut info);
        }
        if tcp.ack.gt(self.una) {
            let covered = tcp.ack - self.una;
            self.una = tcp.ack;
            let taken = self
                .segments
                .acknowledge(tcp.ack, tcp.timestamps.map(|(_, tsecr)| tsecr));
            info.delivered += taken.delivered;
            info.advanced = true;
            self.acked |= covered > 1;
            let left = if taken.any_repeated {
                None
            } else {
                taken.newest
            };
            if let Some(left) = taken.echoed.or(left) {
                // With all data covered and less than two segments of it new, the ACK may have waited for a second
                // (RFC 9293, 3.8.6.3). One byte is a handshake's, acknowledged at once.
                let may_wait = tcp.ack == self.high && covered > 1 && covered < 2 * self.mss;
                let kind = match () {
                    () if taken.syn => SampleKind::MinOnly,
                    () if may_wait => SampleKind::IfLower,
                    () => SampleKind::Full,
                };
                info.sample = Some(RttSample {
                    rtt: now.since(left),
                    kind,
                });
            }
        }
        info
    }

    fn on_sack(&mut self, now: Instant, ack: SeqNum, sack: &SackList, info: &mut AckInfo) {
        // RFC 2883, 4: the first block tells of a duplicate where it lies below the ACK or inside the second.
        let first = sack[0];
        let inside =
            |b: &slackwater_core::SackBlock| first.start.ge(b.start) && first.end.le(b.end);
        let duplicate = first.end.le(ack) || sack.get(1).is_some_and(inside);
        self.spurious += u64::from(duplicate);
        let mut newest: Option<(SeqNum, Option<Instant>)> = None;
        for block in sack.iter().skip(usize::from(duplicate)) {
            if block.end.le(ack) || block.start.ge(block.end) || block.end.gt(self.high) {
                continue;
            }
            // Blocks grow at their ends: the part known from the last ACK needs no search.
            let known = self
                .blocks
                .iter()
                .find(|k| k.start.le(block.start) && k.end.gt(block.start));
            let start = known.map_or(block.start, |k| k.end);
            if start.ge(block.end) {
                continue;
            }
            let (delivered, found) = self.segments.sack(start, block.end);
            info.delivered += delivered;
            if let Some((end, left)) = found
                && newest.is_none_or(|(best, _)| end.gt(best))
            {
                newest = Some((end, left));
            }
        }
        self.blocks = *sack;
        if let Some((end, Some(left))) = newest {
            self.segments.judge(end, left, REORDERING);
            // Out-of-order data is acknowledged at once (RFC 5681, 4.2).
            info.sample = Some(RttSample {
                rtt: now.since(left),
                kind: SampleKind::Full,
            });
        }
    }
}

#[cfg(test)]
mod tests;
