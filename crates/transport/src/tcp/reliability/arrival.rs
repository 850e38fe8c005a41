//! What an ACK says of segments.

use slackwater_core::packet::SackBlock;
use slackwater_core::{Duration, Instant, SeqNum};

use super::Reliability;
use crate::tcp::rack::Rack;
use crate::tcp::rate_sample::Newest;
use crate::tcp::rto::Rtt;
use crate::tcp::scoreboard::{Segment, Was};
use crate::tcp::timestamps::tick;

/// An ACK, in the sender's terms.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Arrival {
    /// The cumulative point before it.
    pub(in crate::tcp) una: u64,
    /// The cumulative point that it names.
    pub(in crate::tcp) ack: u64,
    /// The peer's window moved.
    pub(in crate::tcp) moved: bool,
    /// Bytes in flight before it.
    pub(in crate::tcp) prior_in_flight: u64,
    /// Tick that the peer echoed, where it did.
    pub(in crate::tcp) echo: Option<u32>,
}

/// What an ACK brought, as far as the scoreboard tells.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct News {
    /// The newest segment that it delivered.
    pub(in crate::tcp) newest: Newest,
    /// Bytes newly delivered.
    pub(in crate::tcp) newly: u64,
    /// Segments newly delivered.
    pub(in crate::tcp) packets: u32,
    /// The longest and the shortest round trip that it shows.
    pub(in crate::tcp) rtt: Option<(Duration, Duration)>,
    /// What arrived twice.
    pub(in crate::tcp) dsack: Option<(u64, u64)>,
    /// Something was newly `SACKed`.
    pub(in crate::tcp) sacked: bool,
    /// A segment that was sent once and before the episode arrived (Linux `FLAG_ORIG_SACK_ACKED`).
    pub(in crate::tcp) original: bool,
    /// Without progress, the timeout starts anew all the same: what was `SACKed` had left before the oldest segment was
    /// sent (again), so that its answer may still come (Linux `tcp_clean_rtx_queue`).
    pub(in crate::tcp) waits: bool,
}

/// What one ACK says of segments, while it is read.
struct Scan<'a> {
    now: Instant,
    rack: &'a mut Rack,
    min_rtt: Duration,
    /// Tick that the peer echoed, where it did.
    echo: Option<u32>,
    /// End of the present episode (F-RTO looks at what was sent before it).
    episode_end: u64,
    /// Position of the highest segment `SACKed` before this ACK.
    fack: u64,
    /// The newest segment that it delivered.
    newest: Newest,
    /// Bytes newly delivered.
    newly: u64,
    /// Segments newly delivered.
    packets: u32,
    /// Segments below the cumulative point, those `SACKed` before included.
    acked_segments: u64,
    /// When the first and the last segment left that the point moved over, sent once and not `SACKed` before.
    first_acked: Option<Instant>,
    last_acked: Instant,
    /// The same of what was `SACKed`.
    first_sacked: Option<Instant>,
    last_sacked: Instant,
    /// The point moved over something that was sent again.
    resent_acked: bool,
    /// See [`News::original`].
    original: bool,
}

impl Scan<'_> {
    #[inline]
    fn delivered(&mut self, s: &Segment) {
        self.newly += u64::from(s.len);
        self.packets += 1;
        self.newest.see(s);
        let spurious = s.is(Segment::RESENT)
            && self
                .echo
                .is_some_and(|e| (e.wrapping_sub(tick(s.sent)) as i32) < 0);
        self.rack.delivered(self.now, s, self.min_rtt, spurious);
        if !s.is(Segment::RESENT) {
            // RFC 8985, 6.2, step 3: an original below what was received before.
            if s.pos < self.fack {
                self.rack.reordered = true;
            }
            self.original |= s.end() <= self.episode_end;
        }
    }

    #[inline]
    fn sacked(&mut self, s: &Segment) {
        self.delivered(s);
        if !s.is(Segment::RESENT) {
            self.first_sacked.get_or_insert(s.sent);
            self.last_sacked = s.sent;
        }
    }

    #[inline]
    fn acked(&mut self, s: &Segment, was: Was) {
        self.acked_segments += 1;
        if s.is(Segment::RESENT) {
            self.resent_acked = true;
        } else if !was.sacked {
            self.first_acked.get_or_insert(s.sent);
            self.last_acked = s.sent;
        }
        if !was.sacked {
            self.delivered(s);
        }
    }
}

impl Reliability {
    /// Takes an ACK that does no more than move the point over segments of which nothing is known but that they left. They
    /// left in order, so that the last one says what a look at each would. `None` for any other, which is not taken.
    #[inline]
    pub(in crate::tcp) fn acknowledge_row(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        rtt: &Rtt,
    ) -> Option<News> {
        let row = self.board.acknowledge_row(arrival.ack)?;
        let last = &row.last;
        self.rack.delivered(now, last, rtt.min(), false);
        Some(News {
            newest: Newest::of(last),
            newly: arrival.ack - arrival.una,
            packets: row.count as u32,
            rtt: Some((now.since(row.first_sent), now.since(last.sent))),
            dsack: None,
            sacked: false,
            original: false,
            waits: false,
        })
    }

    /// Takes any ACK: looks at each segment of which it says something. `base` is the sequence number of position 0.
    pub(in crate::tcp) fn acknowledge(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        blocks: &[SackBlock],
        base: SeqNum,
        episode_end: u64,
        rtt: &Rtt,
    ) -> News {
        let Arrival { una, ack, echo, .. } = *arrival;
        let fack = self.board.fack();
        self.rack.advanced = false;
        let mut scan = Scan {
            now,
            min_rtt: rtt.min(),
            rack: &mut self.rack,
            echo,
            episode_end,
            fack: if fack > self.board.head() {
                self.board.get(fack - 1).pos
            } else {
                una
            },
            newest: Newest::default(),
            newly: 0,
            packets: 0,
            acked_segments: 0,
            first_acked: None,
            last_acked: Instant::ZERO,
            first_sacked: None,
            last_sacked: Instant::ZERO,
            resent_acked: false,
            original: false,
        };

        let mut dsack = None;
        if !blocks.is_empty() {
            let at = |s: SeqNum| una as i64 + i64::from((s - (base + una as u32)) as i32);
            for (i, b) in blocks.iter().enumerate() {
                let (start, end) = (at(b.start), at(b.end));
                if start >= end || end > self.board.nxt() as i64 {
                    continue;
                }
                // RFC 2883, 4: a first block below the ACK, or within the second, reports a duplicate.
                let within = i == 0
                    && blocks
                        .get(1)
                        .is_some_and(|o| at(o.start) <= start && end <= at(o.end));
                if i == 0 && (end <= ack as i64 || within) {
                    dsack = Some((start.max(0) as u64, end.max(0) as u64));
                } else {
                    self.board
                        .sack(start.max(0) as u64, end.max(0) as u64, |s| scan.sacked(s));
                }
            }
        }
        let sacked = scan.packets > 0;

        let advanced = ack > una;
        if advanced {
            self.board.acknowledge(ack, |s, was| scan.acked(s, was));
        }
        let Scan {
            newest,
            newly,
            packets,
            acked_segments,
            first_acked,
            last_acked,
            first_sacked,
            last_sacked,
            resent_acked,
            original,
            ..
        } = scan;

        // Non-SACK: what duplicate ACKs counted is now acknowledged (Linux `tcp_remove_reno_sacks`).
        if advanced && self.dup_acks > 0 {
            self.dup_acks = self
                .dup_acks
                .saturating_sub(acked_segments.saturating_sub(1));
            self.dup_acks = self.dup_acks.min(self.board.segments());
        }

        // RTT (RFC 6298, 3; Karn): segments sent once; else what SACK shows; else the time stamps.
        let mut rtt = None;
        if let Some(first) = first_acked.filter(|_| !resent_acked) {
            rtt = Some((now.since(first), now.since(last_acked)));
        }
        if let Some(first) = first_sacked {
            let (old, new) = (now.since(first), now.since(last_sacked));
            rtt = Some((rtt.map_or(old, |(a, _)| a), new));
        }
        if rtt.is_none()
            && advanced
            && let Some(echo) = echo
        {
            let ticks = tick(now).wrapping_sub(echo);
            // Linux `tcp_rtt_tsopt_us`: less than a tick counts as one.
            if ticks < 1 << 20 {
                let sample = Duration::from_millis(u64::from(ticks.max(1)));
                rtt = Some((sample, sample));
            }
        }
        let waits = !advanced
            && !self.board.is_empty()
            && first_sacked.is_some_and(|at| at < self.board.get(self.board.head()).sent);
        News {
            newest,
            newly,
            packets,
            rtt,
            dsack,
            sacked,
            original,
            waits,
        }
    }
}
