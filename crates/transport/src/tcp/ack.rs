//! What an ACK does at the sender (Linux `tcp_ack`): SACK, the cumulative point, RTT, recovery, the controller.

use slackwater_control::{Ack, Controller, Recovery};
use slackwater_core::packet;
use slackwater_core::{Bytes, Duration, Instant, Packet, SegmentBits, SeqNum, TcpFlags};

use super::connection::{Endpoint, OWD_BASE};
use super::rack::Rack;
use super::rate_sample::Newest;
use super::scoreboard::{Segment, Was};

/// What one ACK told about segments.
struct Scan<'a> {
    now: Instant,
    rack: &'a mut Rack,
    min_rtt: Duration,
    /// Tick that the peer echoed, where it did.
    echo: Option<u32>,
    /// End of the present episode (F-RTO looks at what was sent before it).
    high: u64,
    /// Position of the highest segment `SACKed` before this ACK.
    fack: u64,
    newest: Newest,
    newly: u64,
    packets: u32,
    acked_segments: u64,
    first_acked: Option<Instant>,
    last_acked: Instant,
    first_sacked: Option<Instant>,
    last_sacked: Instant,
    resent_acked: bool,
    /// A segment that was sent once and before the episode arrived (Linux `FLAG_ORIG_SACK_ACKED`).
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
                .is_some_and(|e| (e.wrapping_sub(Endpoint::tick(s.sent)) as i32) < 0);
        self.rack.delivered(self.now, s, self.min_rtt, spurious);
        if !s.is(Segment::RESENT) {
            // RFC 8985, 6.2, step 3: an original below what was received before.
            if s.pos < self.fack {
                self.rack.reordered = true;
            }
            self.original |= s.end() <= self.high;
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

/// What an ACK brought, as far as the scoreboard tells.
#[derive(Clone, Copy)]
struct News {
    /// The cumulative point before and after.
    una: u64,
    ack: u64,
    /// The peer's window moved.
    moved: bool,
    prior_in_flight: u64,
    /// Tick that the peer echoed, where it did.
    echo: Option<u32>,
    newest: Newest,
    /// Bytes and segments newly delivered.
    newly: u64,
    packets: u32,
    /// The longest and the shortest round trip that it shows.
    rtt: Option<(Duration, Duration)>,
    dsack: Option<(u64, u64)>,
    /// Something was newly `SACKed`.
    sacked: bool,
    original: bool,
    /// Without progress, the timeout starts anew all the same: what was `SACKed` had left before the oldest segment was
    /// sent (again), so that its answer may still come (Linux `tcp_clean_rtx_queue`).
    waits: bool,
}

/// What the recovery states look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// The cumulative point before.
    pub(crate) una: u64,
    /// It moved.
    pub(crate) advanced: bool,
    /// Something was newly `SACKed`.
    pub(crate) sacked: bool,
    /// A duplicate ACK: no data, no news, no window update.
    pub(crate) duplicate: bool,
    pub(crate) dsack: bool,
    /// A classic ECN echo, or a CE count.
    pub(crate) ce: bool,
    pub(crate) original: bool,
    pub(crate) echo: Option<u32>,
}

impl Endpoint {
    #[inline]
    fn position(&self, seq: SeqNum) -> i64 {
        let una = self.board.una();
        una as i64 + i64::from((seq - (self.base + una as u32)) as i32)
    }

    /// The ACK half of segment `p`, whose first byte is at the peer's position `seq`.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        p: &packet::Segment,
        seq: u64,
        out: &mut Vec<Packet>,
    ) {
        let una = self.board.una();
        let ack = self.position(p.ack);
        if ack > self.board.nxt() as i64 {
            // RFC 9293, 3.10.7.4: it acknowledges what was never sent.
            self.send_ack(now, out);
            return;
        }
        let blocks = if self.sack { p.sack_blocks() } else { &[] };
        let current = ack >= una as i64;
        if !current && blocks.is_empty() {
            return;
        }
        let ack = if current { ack as u64 } else { una };
        let moved = current && self.take_window(p, ack, seq, una);
        if self.board.is_empty() && self.ca == Recovery::Open && blocks.is_empty() {
            self.probe = None;
            if moved {
                self.persist_count = 0;
                self.timers.persist = Instant::MAX;
                self.transmit(now, out);
            } else if self.timers.persist != Instant::MAX {
                // The probe was answered: the peer lives, and its window is shut.
                self.timers.persist = self.rtt.persist(now, self.persist_count);
            }
            return;
        }

        let prior_in_flight = self.in_flight();
        let echo = (self.timestamps && p.bits.contains(SegmentBits::TIMESTAMPS)).then_some(p.tsecr);
        if blocks.is_empty()
            && self.ca == Recovery::Open
            && self.dup_acks == 0
            && let Some(row) = self.board.acknowledge_row(ack)
        {
            // Nearly every ACK: it moves the point over segments of which nothing is known but that they left. They
            // left in order, so that the last one says what a look at each would.
            let last = &row.last;
            self.rack.delivered(now, last, self.rtt.min(), false);
            let news = News {
                una,
                ack,
                moved,
                prior_in_flight,
                echo,
                newest: Newest::of(last),
                newly: ack - una,
                packets: row.count as u32,
                rtt: Some((now.since(row.first_sent), now.since(last.sent))),
                dsack: None,
                sacked: false,
                original: false,
                waits: false,
            };
            self.conclude(now, p, news, out);
        } else {
            self.scan(now, p, ack, moved, prior_in_flight, echo, out);
        }
    }

    /// Looks at each segment of which the ACK tells something.
    #[expect(
        clippy::too_many_arguments,
        reason = "one function cut in two for speed"
    )]
    fn scan(
        &mut self,
        now: Instant,
        p: &packet::Segment,
        ack: u64,
        moved: bool,
        prior_in_flight: u64,
        echo: Option<u32>,
        out: &mut Vec<Packet>,
    ) {
        let una = self.board.una();
        let blocks = if self.sack { p.sack_blocks() } else { &[] };
        let fack = self.board.fack();
        self.rack.advanced = false;
        let mut scan = Scan {
            now,
            min_rtt: self.rtt.min(),
            rack: &mut self.rack,
            echo,
            high: self.high,
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
            let at = |s: SeqNum| una as i64 + i64::from((s - (self.base + una as u32)) as i32);
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
        let sacked_news = scan.packets > 0;
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
        let mut sample_rtt = None;
        if let Some(first) = first_acked.filter(|_| !resent_acked) {
            sample_rtt = Some((now.since(first), now.since(last_acked)));
        }
        if let Some(first) = first_sacked {
            let (old, new) = (now.since(first), now.since(last_sacked));
            sample_rtt = Some((sample_rtt.map_or(old, |(a, _)| a), new));
        }
        if sample_rtt.is_none()
            && advanced
            && let Some(echo) = echo
        {
            let ticks = Self::tick(now).wrapping_sub(echo);
            // Linux `tcp_rtt_tsopt_us`: less than a tick counts as one.
            if ticks < 1 << 20 {
                let rtt = Duration::from_millis(u64::from(ticks.max(1)));
                sample_rtt = Some((rtt, rtt));
            }
        }
        let waits = !advanced
            && !self.board.is_empty()
            && first_sacked.is_some_and(|at| at < self.board.get(self.board.head()).sent);
        let news = News {
            una,
            ack,
            moved,
            prior_in_flight,
            echo,
            newest,
            newly,
            packets,
            rtt: sample_rtt,
            dsack,
            sacked: sacked_news,
            original,
            waits,
        };
        self.conclude(now, p, news, out);
    }

    /// What follows once the scoreboard is up to date: RTT, recovery, timers, the controller, and what may leave.
    #[expect(
        clippy::inline_always,
        reason = "for a plain ACK most of it folds away"
    )]
    #[inline(always)]
    fn conclude(&mut self, now: Instant, p: &packet::Segment, news: News, out: &mut Vec<Packet>) {
        let News {
            una,
            ack,
            moved,
            prior_in_flight,
            echo,
            newest,
            newly,
            packets,
            rtt: sample_rtt,
            dsack,
            sacked: sacked_news,
            original,
            waits,
        } = news;
        let advanced = ack > una;
        let lost_before = self.lost_total;
        if let Some((rtt, fresh)) = sample_rtt {
            self.rtt
                .sample(rtt, fresh, self.board.una(), self.board.nxt());
        }

        if let Some((start, end)) = dsack {
            self.on_dsack(start, end);
        }
        let delivered = self.delivery.delivered + newly;
        self.rack.adapt(newest.prior_delivered(), delivered);
        let mut ecn = self.ecn.on_ack(p.flags, packets, false);
        ecn.ce = ecn.ce.min(packets.max(1) * 8);
        self.stats.ce_echoed += u64::from(ecn.ce);
        if advanced {
            self.timeouts_in_row = 0;
            self.persist_count = 0;
        }
        let duplicate = !advanced && !moved && p.payload == 0 && !p.flags.contains(TcpFlags::FIN);
        let probe_named = dsack.is_some_and(|(_, end)| self.probe.is_some_and(|(e, _)| e == end));
        if self.probe.is_some() {
            let pure = duplicate && !sacked_news;
            self.on_probe_ack(now, ack, probe_named, pure);
        }

        let news = sacked_news || duplicate || dsack.is_some() || ecn.ce > 0;
        if self.ca != Recovery::Open || news {
            let told = Told {
                una,
                advanced,
                sacked: sacked_news,
                duplicate,
                dsack: dsack.is_some(),
                ce: ecn.ce > 0,
                original,
                echo,
            };
            self.alert(now, &told, prior_in_flight);
        }

        let mut progress = false;
        if advanced {
            if self.board.is_empty() {
                self.timers.rto = Instant::MAX;
                self.timers.tlp = Instant::MAX;
                self.timers.reorder = Instant::MAX;
                if self.fin_sent {
                    self.note_closed();
                }
                if !self.bulk && self.unsent() == 0 {
                    self.events.drained = true;
                }
            } else {
                self.timers.rto = now + self.rtt.rto();
                progress = true;
            }
            self.note_space();
        } else if waits {
            self.timers.rto = now + self.rtt.rto();
        }

        let (rate, round) = self.delivery.sample(now, newly, &newest, self.rtt.min());
        let newly_lost = self.lost_total.saturating_sub(lost_before);
        let mut a = Ack::default();
        a.newly_acked = Bytes(newly);
        a.cumulative = Bytes(self.board.una() - una);
        a.newly_lost = Bytes(newly_lost);
        a.prior_in_flight = Bytes(prior_in_flight);
        a.rtt = sample_rtt.map(|(_, fresh)| fresh);
        a.owd = echo.and_then(|echo| Self::one_way(&mut self.clock_gap, p.tsval, echo));
        a.back = echo.and_then(|_| Self::one_way(&mut self.back_gap, Self::tick(now), p.tsval));
        a.rate = rate;
        a.ecn = ecn;
        a.delivered = Bytes(self.delivery.delivered);
        a.lost = Bytes(self.lost_total);
        a.app_limited = self.delivery.is_limited();
        a.cwnd_limited = self.is_cwnd_limited();
        a.round_start = round;
        a.recovery = self.ca;
        a.una = self.board.una();
        a.next = self.board.nxt();
        let path = self.path();
        self.cc.on_ack(now, &path, &a);
        self.follow();
        if self.prr.is_some() {
            let in_flight = self.in_flight();
            let progress = advanced && newly_lost == 0;
            let mss = u64::from(self.mss);
            if let Some(prr) = &mut self.prr {
                prr.on_ack(newly, in_flight, progress, self.cfg.prr_bound, mss);
            }
        }
        self.transmit_after(now, progress, out);
    }

    /// The delay from one end to the other, up to a constant: the clock of the end that received less that of the end that
    /// sent. `gap` remembers the constant.
    #[inline]
    fn one_way(gap: &mut Option<u32>, received: u32, sent: u32) -> Option<Duration> {
        let apart = received.wrapping_sub(sent);
        let base = *gap.get_or_insert_with(|| apart.wrapping_sub(OWD_BASE));
        let delay = apart.wrapping_sub(base);
        // A peer whose clock jumps says nothing.
        (delay < 2 * OWD_BASE).then(|| Duration::from_millis(u64::from(delay)))
    }

    /// A DSACK: something was sent without need (RFC 2883; Linux `tcp_check_dsack`).
    fn on_dsack(&mut self, start: u64, end: u64) {
        let probe = self
            .probe
            .is_some_and(|(high, repeated)| repeated && end == high);
        if probe {
            return;
        }
        self.rack.dsack = true;
        self.rack.reordered = true;
        if let (Some(marker), Some(n)) = (self.undo, self.undo_resent)
            && end > marker
            && end <= self.board.una().max(self.high)
        {
            let count = (end - start).div_ceil(u64::from(self.mss)) as u32;
            self.undo_resent = Some(n.saturating_sub(count));
        }
    }

    /// True where the controller answers CE as it answers loss.
    #[inline]
    pub(crate) fn classic_ecn(&self) -> bool {
        !self.intent.ecn.is_proportional()
    }
}
