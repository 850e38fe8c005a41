//! The controller, and what it is told: shared by the estimator and the stage at the wire.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use rtc_interceptor::PacketReport as Reported;
use rtc_rtcp::transport_feedbacks::cc_feedback_report::Ecn as Field;
use slackwater_control::{
    AnyMedia, Feedback, Intent, MediaController as _, PacketReport, PathView, Sent,
};
use slackwater_core::{Bytes, Duration, Ecn, Instant};

/// What stands around an RTP packet of the stack: IPv4 (20), UDP (8), and SRTP's tag of 80 bits (RFC 3711, 5.2).
pub(crate) const AROUND: u32 = 38;
/// RTP's header (RFC 3550, 5.1).
const RTP: u32 = 12;
/// Times of arrival begin here, in units of 1/65536 s: an offset of at most 8 s (RFC 8888, 3.1) stays positive.
const FIRST: u64 = 1 << 33;

/// The least time after which a packet that no report speaks of is out of flight: a lost report must not close a window for ever.
const SILENCE: Duration = Duration::from_millis(500);

/// The smoothed round trip after `sample`: a first sample stands, then alpha is 1/8 (RFC 6298, 2.2 and 2.3).
fn smooth(srtt: Duration, sample: Duration) -> Duration {
    if srtt.is_zero() {
        return sample;
    }
    Duration::from_nanos((srtt.as_nanos() / 8) * 7 + sample.as_nanos() / 8)
}

/// In which form arrivals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// Before the time of the report, which is this (RFC 8888, 3.1), in units of 1/65536 s without wrapping.
    Before(u64),
    /// Since the receiver's epoch (transport-wide reports).
    Since,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) controller: AnyMedia,
    epoch: StdInstant,
    pub(crate) path: PathView,
    /// A stage at the wire tells what leaves.
    pub(crate) watched: bool,
    /// Streams that the stack has a history of.
    pub(crate) streams: HashSet<u32>,
    /// When what is in flight left, with IP bytes.
    flight: VecDeque<(Instant, u64)>,
    arrivals: Option<Arrivals>,
    /// The time up to which timers have been served.
    pub(crate) served: Instant,
    packets: Vec<PacketReport>,
}

impl State {
    pub(crate) fn new(now: StdInstant, controller: AnyMedia, mss: u32) -> Self {
        let mut path = PathView::default();
        path.mss = mss;
        path.wire_mss = mss + RTP + AROUND;
        Self {
            controller,
            epoch: now,
            path,
            watched: false,
            streams: HashSet::new(),
            flight: VecDeque::new(),
            arrivals: None,
            served: Instant::ZERO,
            packets: Vec::new(),
        }
    }

    pub(crate) fn ours(&self, at: StdInstant) -> Instant {
        let since = at.saturating_duration_since(self.epoch);
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(crate) fn std(&self, at: Instant) -> StdInstant {
        self.epoch + StdDuration::from_nanos(at.as_nanos())
    }

    pub(crate) fn intent(&self) -> Intent {
        self.controller.intent()
    }

    /// When the oldest packet in flight is given up: no report speaks of it (as `transport::rtp` has it, ours).
    pub(crate) fn expiry(&self) -> Option<Instant> {
        let patience = SILENCE.max(self.path.srtt * 4);
        self.flight.front().map(|(at, _)| *at + patience)
    }

    /// Takes out of flight what is given up by now.
    pub(crate) fn expire(&mut self, now: Instant) {
        while self.expiry().is_some_and(|t| t <= now) {
            self.land();
        }
    }

    /// The oldest packet is no longer in flight.
    fn land(&mut self) {
        if let Some((_, bytes)) = self.flight.pop_front() {
            self.path.in_flight -= Bytes(bytes);
        }
    }

    /// A packet of `size` RTP bytes left.
    pub(crate) fn on_sent(&mut self, now: Instant, size: usize) {
        let bytes = Bytes(size as u64 + u64::from(AROUND));
        let idle = self.flight.is_empty();
        self.flight.push_back((now, bytes.0));
        self.path.in_flight += bytes;
        let mut sent = Sent::default();
        sent.bytes = bytes;
        sent.after_idle = idle;
        self.controller.on_sent(now, &self.path, &sent);
    }

    /// A report of RFC 8888 with this time, in units of 1/65536 s, comes next.
    pub(crate) fn on_ccfb(&mut self, timestamp: u32) {
        let before = match self.arrivals {
            Some(Arrivals::Before(before)) => before,
            Some(Arrivals::Since) | None => FIRST + u64::from(timestamp),
        };
        // It wraps after 18 hours; a late report has an earlier time.
        let step = timestamp.wrapping_sub(before as u32).cast_signed();
        let now = before.saturating_add_signed(i64::from(step)).max(FIRST);
        self.arrivals = Some(Arrivals::Before(now));
    }

    /// A transport-wide report comes next.
    pub(crate) fn on_twcc(&mut self) {
        self.arrivals = Some(Arrivals::Since);
    }

    /// The time of arrival by the receiver's clock; `now` is what the report's own time is where nobody has told it.
    fn arrived(&self, now: Instant, report: &Reported) -> Option<Instant> {
        if !report.arrived {
            return None;
        }
        let form = self.arrivals.or(report.is_twcc.then_some(Arrivals::Since));
        let nanos = |d: StdDuration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let time = match form {
            Some(Arrivals::Since) => report.arrival.map(|d| Instant::from_nanos(nanos(d))),
            Some(Arrivals::Before(ticks)) => {
                let at = Instant::from_nanos(((u128::from(ticks) * 1_000_000_000) >> 16) as u64);
                // Arrived after the report's time (RFC 8888, 3.1): the stack has no offset for it.
                let before = report.arrival.map_or(0, nanos);
                Some(at.saturating_sub(Duration::from_nanos(before)))
            }
            None => {
                let before = report.arrival.map_or(0, nanos);
                Some(now.saturating_sub(Duration::from_nanos(before)))
            }
        };
        // Without a time it arrived all the same, by now.
        time.or(Some(now))
    }

    /// The history's reports, in the order of sending.
    pub(crate) fn on_reports(&mut self, now: StdInstant, reports: &[Reported]) {
        let Some(newest) = reports.last() else {
            return;
        };
        let now = self.ours(now);
        if !self.watched {
            for report in reports {
                self.on_sent(self.ours(report.departure), report.size);
            }
        }
        let departed = self.ours(newest.departure);
        while self.flight.front().is_some_and(|(at, _)| *at <= departed) {
            self.land();
        }
        self.sample(now, reports);
        let mut packets = core::mem::take(&mut self.packets);
        packets.clear();
        packets.extend(reports.iter().map(|report| {
            let sent = self.ours(report.departure);
            let bytes = Bytes(report.size as u64 + u64::from(AROUND));
            match self.arrived(now, report) {
                None => PacketReport::lost(report.id, sent, bytes),
                Some(arrived) => {
                    PacketReport::received(report.id, sent, arrived, bytes, ecn(report.ecn))
                }
            }
        }));
        let feedback = Feedback::new(&packets);
        self.controller.on_feedback(now, &self.path, &feedback);
        self.packets = packets;
    }

    /// Takes the round trip of the newest packet that arrived, less the time that the report waited, where the report says.
    fn sample(&mut self, now: Instant, reports: &[Reported]) {
        let Some(newest) = reports.iter().rev().find(|r| r.arrived) else {
            return;
        };
        let waited = match (self.arrivals, newest.is_twcc, newest.arrival) {
            (Some(Arrivals::Before(_)), _, Some(before)) | (None, false, Some(before)) => {
                Duration::from_nanos(u64::try_from(before.as_nanos()).unwrap_or(u64::MAX))
            }
            _ => Duration::ZERO,
        };
        let whole = now.since(self.ours(newest.departure));
        let rtt = whole.saturating_sub(waited);
        if rtt.is_zero() {
            return;
        }
        self.path.srtt = smooth(self.path.srtt, rtt);
        let least = self.path.min_rtt;
        self.path.min_rtt = if least.is_zero() { rtt } else { least.min(rtt) };
    }
}

fn ecn(field: Field) -> Ecn {
    match field {
        Field::NotEct => Ecn::NotEct,
        Field::Ect0 => Ecn::Ect0,
        Field::Ect1 => Ecn::Ect1,
        Field::Ce => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_control::{Config, build_media};
    use slackwater_core::Draw;

    #[expect(
        clippy::disallowed_methods,
        reason = "a base that cancels out of every difference; std gives no other"
    )]
    fn some_instant() -> StdInstant {
        StdInstant::now()
    }

    fn report(arrival: StdDuration, departure: StdInstant, is_twcc: bool) -> Reported {
        Reported {
            ssrc: 1,
            id: 0,
            rtp_sequence_number: 0,
            is_twcc,
            twcc_sequence_number: 0,
            size: 1200,
            arrived: true,
            departure,
            arrival: Some(arrival),
            ecn: Field::Ce,
        }
    }

    fn state(now: StdInstant) -> State {
        let controller = build_media("cl4s", &Config::new(1188, Draw::new(1))).expect("a name");
        State::new(now, controller, 1188)
    }

    #[test]
    fn times_of_arrival_pass_over_the_wrap_of_the_reports_time() {
        let now = some_instant();
        let mut state = state(now);
        let late = Instant::ZERO + Duration::from_secs(1);
        state.on_ccfb(u32::MAX - 65_535);
        let first = state.arrived(late, &report(StdDuration::from_millis(500), now, false));
        // A second later it has wrapped; the packet arrived a quarter of a second before it.
        state.on_ccfb(0);
        let second = state.arrived(late, &report(StdDuration::from_millis(250), now, false));
        let (first, second) = (first.expect("arrived"), second.expect("arrived"));
        assert_eq!(second.since(first), Duration::from_millis(1250));
        // Late reports count as what they are.
        state.on_ccfb(u32::MAX - 65_535);
        let again = state.arrived(late, &report(StdDuration::from_millis(500), now, false));
        assert_eq!(again, Some(first));
    }

    #[test]
    fn transport_wide_times_are_the_receivers() {
        let now = some_instant();
        let mut state = state(now);
        let late = Instant::ZERO + Duration::from_secs(1);
        let of = |state: &State, ms| {
            let report = report(StdDuration::from_millis(ms), now, true);
            state.arrived(late, &report).expect("arrived")
        };
        assert_eq!(
            of(&state, 40).since(of(&state, 15)),
            Duration::from_millis(25)
        );
        state.on_twcc();
        assert_eq!(
            of(&state, 40).since(of(&state, 15)),
            Duration::from_millis(25)
        );
    }

    #[test]
    fn what_was_reported_is_no_longer_in_flight() {
        let now = some_instant();
        let mut state = state(now);
        state.watched = true;
        let at = |ms| now + StdDuration::from_millis(ms);
        for ms in [0, 1, 2] {
            state.on_sent(state.ours(at(ms)), 1200);
        }
        state.on_ccfb(0);
        let waited = StdDuration::from_millis(5);
        state.on_reports(at(30), &[report(waited, at(1), false)]);
        assert_eq!(state.path.in_flight, Bytes(u64::from(1200 + AROUND)));
        // 29 ms, of which the report waited 5.
        assert_eq!(state.path.srtt, Duration::from_millis(24));
    }
}
