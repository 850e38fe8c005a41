//! Tail loss probes (RFC 8985, 7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_process_tlp_ack`).

use slackwater_control::{Cause, CongestionEvent, Recovery};
use slackwater_core::{Bytes, Duration, Instant, Packet};

use super::connection::Endpoint;

/// Added to twice the RTT where more than one segment is in flight (Linux `TCP_TIMEOUT_MIN`: two jiffies; of 1 ms).
const MARGIN: Duration = Duration::from_millis(2);

/// The tail loss probe in flight, where there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// What it was.
    out: Option<Sent>,
}

/// A probe that left.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Position after its last byte (`TLP.end_seq`).
    end: u64,
    /// It repeated data (`TLP.is_retrans`).
    repeated: bool,
}

impl Probe {
    /// One is in flight.
    #[inline]
    pub(super) const fn is_out(&self) -> bool {
        self.out.is_some()
    }

    /// None is in flight any more, or none that matters.
    #[inline]
    pub(super) const fn clear(&mut self) {
        self.out = None;
    }

    /// A DSACK that ends at `end` names it.
    #[inline]
    pub(super) fn is_named_by(&self, end: u64) -> bool {
        self.out.is_some_and(|probe| probe.end == end)
    }

    /// A DSACK that ends at `end` names it, and it repeated data: so the DSACK says nothing of other retransmissions.
    pub(super) fn accounts_for(&self, end: u64) -> bool {
        self.out
            .is_some_and(|probe| probe.repeated && probe.end == end)
    }

    /// An ACK of `ack` arrived (RFC 8985, 7.4). `duplicate`: it names the probe in a DSACK; `pure`: it says nothing new.
    /// True where the probe repaired a loss that nothing else showed.
    fn on_ack(&mut self, ack: u64, duplicate: bool, pure: bool) -> bool {
        let Some(Sent { end, repeated }) = self.out.filter(|probe| ack >= probe.end) else {
            return false;
        };
        let repaired = repeated && !duplicate && ack > end;
        // Without news at its end, both the original and the probe arrived.
        if !repeated || duplicate || ack > end || pure {
            self.clear();
        }
        repaired
    }
}

impl Endpoint {
    /// Arms the probe timer, once the timeout is armed.
    #[inline]
    pub(super) fn arm_probe(&mut self, now: Instant) {
        let may = self.cfg.tlp
            && self.reliability.sack()
            && matches!(self.episode.state(), Recovery::Open | Recovery::Cwr)
            && !self.reliability.is_empty()
            && self.reliability.has_no_sacks()
            && !self.probe.is_out();
        if !may {
            self.timers.tlp = Instant::MAX;
            return;
        }
        let srtt = self.rtt.srtt();
        let wait = if srtt.is_zero() {
            self.cfg.initial_rto
        } else if self.reliability.segments() == 1 {
            // RFC 8985, 7.2: a lone segment may wait for a delayed ACK (Linux allows its least timeout for that).
            srtt * 2 + self.rtt.min_rto()
        } else {
            srtt * 2 + MARGIN
        };
        self.timers.tlp = (now + wait).min(self.timers.rto);
    }

    /// Sends new data where there is any, else the last segment once more (RFC 8985, 7.3).
    pub(super) fn on_probe_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.reliability.is_empty() || self.probe.is_out() {
            return;
        }
        self.stats.probes += 1;
        let before = self.reliability.nxt();
        self.send_one_new(now, out);
        let end = self.reliability.nxt();
        let repeated = end == before;
        if repeated {
            self.resend(now, self.reliability.newest(), out);
        }
        self.probe.out = Some(Sent { end, repeated });
        self.timers.tlp = Instant::MAX;
        self.timers.rto = now + self.rtt.rto();
    }

    /// An ACK of `ack` arrived while a probe is out. `duplicate`: it names the probe in a DSACK; `pure`: it says nothing
    /// new.
    pub(super) fn on_probe_ack(&mut self, now: Instant, ack: u64, duplicate: bool, pure: bool) {
        let repaired = self.probe.on_ack(ack, duplicate, pure);
        if repaired && self.episode.is_open() {
            // The window shrinks as if the loss had been seen.
            let len = Bytes(u64::from(self.handshake.mss()));
            let in_flight = Bytes(self.reliability.in_flight());
            let nxt = self.reliability.nxt();
            let event = CongestionEvent::new(Cause::Loss, len, in_flight, nxt);
            self.on_congestion(now, &event);
            self.end_reduction(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(repeated: bool) -> Probe {
        let end = 3000;
        Probe {
            out: Some(Sent { end, repeated }),
        }
    }

    /// A probe repeats what was perhaps not lost: its own DSACK is no sign that a recovery was in vain.
    #[test]
    fn a_dsack_is_the_probes_where_it_names_what_the_probe_repeated() {
        assert!(probe(true).accounts_for(3000));
        assert!(!probe(true).accounts_for(2000), "another retransmission's");
        assert!(!probe(false).accounts_for(3000), "it was new data");
        assert!(!Probe::default().accounts_for(3000));
    }

    /// RFC 8985, 7.4.2: the window is reduced where an ACK passes the end of a probe of old data without a DSACK for it.
    #[test]
    fn a_probe_repaired_a_loss_where_nothing_says_that_it_came_twice() {
        for (repeated, ack, duplicate, repaired) in [
            (true, 2000, false, false),
            (true, 3000, false, false),
            (true, 4000, false, true),
            (true, 4000, true, false),
            (false, 4000, false, false),
        ] {
            let found = probe(repeated).on_ack(ack, duplicate, false);
            assert_eq!(found, repaired, "{repeated} {ack} {duplicate}");
        }
    }
}
