//! What an ACK does at the sender (Linux `tcp_ack`): SACK, the cumulative point, RTT, recovery, the controller.

use slackwater_control::Ack;
use slackwater_core::packet::{SackBlock, Segment};
use slackwater_core::{Bytes, Instant, Packet, TcpFlags};

use super::connection::Endpoint;
use super::reliability::{Arrival, News};

/// What the recovery states look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    /// The cumulative point before.
    pub(super) una: u64,
    /// It moved.
    pub(super) advanced: bool,
    /// Something was newly `SACKed`.
    pub(super) sacked: bool,
    /// A duplicate ACK: no data, no news, no window update.
    pub(super) duplicate: bool,
    /// A DSACK names something that was sent without need.
    pub(super) dsack: bool,
    /// A classic ECN echo, or a CE count.
    pub(super) ce: bool,
    /// See [`News::original`].
    pub(super) original: bool,
    /// Tick that the peer echoed, where it did.
    pub(super) echo: Option<u32>,
}

impl Endpoint {
    /// The SACK blocks of `s` that count.
    #[inline]
    fn blocks<'a>(&self, s: &'a Segment) -> &'a [SackBlock] {
        if self.reliability.sack() {
            s.sack_blocks()
        } else {
            &[]
        }
    }

    /// The ACK half of segment `p`, whose first byte is at the peer's position `seq`.
    pub(super) fn on_ack(&mut self, now: Instant, p: &Segment, seq: u64, out: &mut Vec<Packet>) {
        let una = self.reliability.una();
        let ack = self.handshake.position(p.ack, una);
        if ack > self.reliability.nxt() as i64 {
            // RFC 9293, 3.10.7.4: it acknowledges what was never sent.
            self.send_ack(now, out);
            return;
        }
        let blocks = self.blocks(p);
        let current = ack >= una as i64;
        if !current && blocks.is_empty() {
            return;
        }
        let ack = if current { ack as u64 } else { una };
        let moved = current && self.window.take(p, ack, seq, una);
        if self.reliability.is_empty() && self.episode.is_open() && blocks.is_empty() {
            self.on_idle_ack(now, moved, out);
            return;
        }

        let arrival = Arrival {
            una,
            ack,
            moved,
            prior_in_flight: self.reliability.in_flight(),
            echo: self.timestamps.echo(p),
        };
        if blocks.is_empty()
            && self.episode.is_open()
            && self.reliability.has_no_duplicates()
            && let Some(news) = self.reliability.acknowledge_row(now, &arrival, &self.rtt)
        {
            // Nearly every ACK.
            self.conclude(now, p, &arrival, news, out);
        } else {
            self.on_other_ack(now, p, &arrival, out);
        }
    }

    /// An ACK while nothing is in flight: it may be about the peer's window.
    fn on_idle_ack(&mut self, now: Instant, moved: bool, out: &mut Vec<Packet>) {
        self.probe.clear();
        if moved {
            self.window.opened();
            self.timers.persist = Instant::MAX;
            self.transmit(now, out);
        } else if self.timers.persist != Instant::MAX {
            // The probe was answered: the peer lives, and its window is shut.
            self.timers.persist = self.rtt.persist(now, self.window.probes());
        }
    }

    /// An ACK of which each segment must be looked at.
    fn on_other_ack(
        &mut self,
        now: Instant,
        p: &Segment,
        arrival: &Arrival,
        out: &mut Vec<Packet>,
    ) {
        let (base, end) = (self.handshake.base(), self.episode.end());
        let blocks = self.blocks(p);
        let news = self
            .reliability
            .acknowledge(now, arrival, blocks, base, end, &self.rtt);
        self.conclude(now, p, arrival, news, out);
    }

    /// What follows once the scoreboard is up to date: RTT, recovery, timers, the controller, and what may leave.
    #[expect(
        clippy::inline_always,
        reason = "for a plain ACK most of it folds away"
    )]
    #[inline(always)]
    fn conclude(
        &mut self,
        now: Instant,
        p: &Segment,
        arrival: &Arrival,
        news: News,
        out: &mut Vec<Packet>,
    ) {
        let Arrival {
            una,
            ack,
            moved,
            prior_in_flight,
            echo,
        } = *arrival;
        let News {
            newest,
            newly,
            packets,
            rtt: sample_rtt,
            dsack,
            sacked,
            original,
            waits,
        } = news;
        let advanced = ack > una;
        let lost_before = self.reliability.lost_total();
        if let Some((rtt, fresh)) = sample_rtt {
            let (una, nxt) = (self.reliability.una(), self.reliability.nxt());
            self.rtt.sample(rtt, fresh, una, nxt);
        }

        if let Some((start, end)) = dsack {
            self.on_dsack(start, end);
        }
        self.reliability.adapt(&newest, newly);
        let mut ecn = self.ecn.on_ack(p.flags, packets, false);
        ecn.ce = ecn.ce.min(packets.max(1) * 8);
        self.stats.ce_echoed += u64::from(ecn.ce);
        if advanced {
            self.episode.on_progress();
            self.window.opened();
        }
        let duplicate = !advanced && !moved && p.payload == 0 && !p.flags.contains(TcpFlags::FIN);
        let probe_named = dsack.is_some_and(|(_, end)| self.probe.is_named_by(end));
        if self.probe.is_out() {
            let pure = duplicate && !sacked;
            self.on_probe_ack(now, ack, probe_named, pure);
        }

        let unusual = sacked || duplicate || dsack.is_some() || ecn.ce > 0;
        if !self.episode.is_open() || unusual {
            let signs = Signs {
                una,
                advanced,
                sacked,
                duplicate,
                dsack: dsack.is_some(),
                ce: ecn.ce > 0,
                original,
                echo,
            };
            self.alert(now, &signs, prior_in_flight);
        }

        let progress = self.rearm(now, advanced, waits);

        let min_rtt = self.rtt.min();
        let (rate, round) = self.reliability.sample(now, newly, &newest, min_rtt);
        let lost = self.reliability.lost_total();
        let newly_lost = lost.saturating_sub(lost_before);
        let mut a = Ack::default();
        a.newly_acked = Bytes(newly);
        a.cumulative = Bytes(self.reliability.una() - una);
        a.newly_lost = Bytes(newly_lost);
        a.duplicated = Bytes(dsack.map_or(0, |(start, end)| end - start));
        a.prior_in_flight = Bytes(prior_in_flight);
        a.rtt = sample_rtt.map(|(_, fresh)| fresh);
        a.owd = echo.and_then(|_| self.timestamps.one_way(p));
        a.back = echo.and_then(|_| self.timestamps.way_back(now, p));
        a.rate = rate;
        a.ecn = ecn;
        a.delivered = Bytes(self.reliability.delivered());
        a.lost = Bytes(lost);
        a.app_limited = self.reliability.is_app_limited();
        a.cwnd_limited = self.is_cwnd_limited();
        a.round_start = round;
        a.recovery = self.episode.state();
        a.una = self.reliability.una();
        a.next = self.reliability.nxt();
        let path = self.path();
        self.congestion.on_ack(now, &path, &a);
        if self.episode.is_reducing() {
            let in_flight = self.reliability.in_flight();
            let good = advanced && newly_lost == 0;
            let mss = u64::from(self.handshake.mss());
            self.episode
                .on_delivered(newly, in_flight, good, self.cfg.prr_bound, mss);
        }
        self.transmit_after(now, progress, out);
    }

    /// Starts the timeout anew where the cumulative point `advanced` or where an answer may still come (`waits`), and wakes
    /// the application. True where the probe timer starts anew as well.
    #[inline]
    fn rearm(&mut self, now: Instant, advanced: bool, waits: bool) -> bool {
        if !advanced {
            if waits {
                self.timers.rto = now + self.rtt.rto();
            }
            return false;
        }
        let in_flight = !self.reliability.is_empty();
        if in_flight {
            self.timers.rto = now + self.rtt.rto();
        } else {
            self.timers.rto = Instant::MAX;
            self.timers.tlp = Instant::MAX;
            self.timers.reorder = Instant::MAX;
            if self.stream.fin_sent() {
                self.note_closed();
            }
            if self.stream.is_drained(self.reliability.nxt()) {
                self.events.drained = true;
            }
        }
        if self.stream.has_room_again(self.reliability.una()) {
            self.events.writable = true;
        }
        in_flight
    }

    /// A DSACK: something was sent without need (RFC 2883; Linux `tcp_check_dsack`).
    fn on_dsack(&mut self, start: u64, end: u64) {
        if self.probe.accounts_for(end) {
            return;
        }
        self.reliability.on_dsack();
        let segments = (end - start).div_ceil(u64::from(self.handshake.mss()));
        self.episode
            .on_dsack(end, self.reliability.una(), segments as u32);
    }
}
