//! Tail loss probes (RFC 8985, 7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_process_tlp_ack`).

use slackwater_control::{Cause, CongestionEvent, Recovery};
use slackwater_core::{Bytes, Duration, Instant, Packet};

use super::connection::Endpoint;

/// Added to twice the RTT where more than one segment is in flight (Linux `TCP_TIMEOUT_MIN`: two jiffies; of 1 ms).
const MARGIN: Duration = Duration::from_millis(2);

impl Endpoint {
    /// Arms the probe timer, once the timeout is armed.
    #[inline]
    pub(crate) fn arm_probe(&mut self, now: Instant) {
        let may = self.cfg.tlp
            && self.sack
            && matches!(self.ca, Recovery::Open | Recovery::Cwr)
            && !self.board.is_empty()
            && self.board.sacked() == 0
            && self.probe.is_none();
        if !may {
            self.timers.tlp = Instant::MAX;
            return;
        }
        let srtt = self.rtt.srtt();
        let wait = if srtt.is_zero() {
            self.cfg.initial_rto
        } else if self.board.segments() == 1 {
            // RFC 8985, 7.2: a lone segment may wait for a delayed ACK (Linux allows its least timeout for that).
            srtt * 2 + self.rtt.min_rto()
        } else {
            srtt * 2 + MARGIN
        };
        self.timers.tlp = (now + wait).min(self.timers.rto);
    }

    /// Sends new data where there is any, else the last segment once more (RFC 8985, 7.3).
    pub(crate) fn on_probe_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.board.is_empty() || self.probe.is_some() {
            return;
        }
        self.stats.probes += 1;
        let before = self.board.nxt();
        self.send_one_new(now, out);
        let repeated = self.board.nxt() == before;
        if repeated {
            self.resend(now, self.board.tail() - 1, out);
        }
        self.probe = Some((self.board.nxt(), repeated));
        self.timers.tlp = Instant::MAX;
        self.timers.rto = now + self.rtt.rto();
    }

    /// An ACK of `ack` arrived while a probe is out (RFC 8985, 7.4). `duplicate`: it names the probe in a DSACK;
    /// `pure`: it says nothing new.
    pub(crate) fn on_probe_ack(&mut self, now: Instant, ack: u64, duplicate: bool, pure: bool) {
        let Some((end, repeated)) = self.probe else {
            return;
        };
        if ack < end {
            return;
        }
        if !repeated || duplicate {
            self.probe = None;
        } else if ack > end {
            // The probe repaired a loss that nothing else told of: the window shrinks as if it had.
            self.probe = None;
            if self.ca == Recovery::Open {
                let len = Bytes(u64::from(self.mss));
                let event = CongestionEvent::new(
                    Cause::Loss,
                    len,
                    Bytes(self.in_flight()),
                    self.board.nxt(),
                );
                self.congestion(now, &event);
                self.end_reduction(now);
            }
        } else if pure {
            // Both the original and the probe arrived.
            self.probe = None;
        }
    }
}
