//! The round trip of an end that sends no media: its reference time goes out, and the other end reports how long ago it came
//! (RFC 3611, 4.4 and 4.5).

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};
use slackwater_wire::rtcp::{ExtendedReport, Message};

/// Time between two reference times: that of libwebrtc's reports of video.
const INTERVAL: Duration = Duration::from_secs(1);
/// Reference times whose answers count; an older one is no measurement of the path of now.
const WAITING: usize = 4;

/// What clocks of a millisecond may add to the other end's delay, in 1/65536 s.
const COARSE: u32 = 66;

/// Measures the round trip once a second.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    /// When the next reference time leaves; `None`: not connected.
    next: Option<Instant>,
    /// The middle 32 bits of those that wait for their answers, oldest first.
    waiting: VecDeque<u32>,
}

/// NTP's form of a time, 32.32. The epoch is our clock's: only differences are used (RFC 3550, 6.4.1).
fn ntp(now: Instant) -> u64 {
    ((u128::from(now.as_nanos()) << 32) / 1_000_000_000) as u64
}

/// What of an NTP time names it (RFC 3611, 4.5).
pub(crate) const fn middle(ntp: u64) -> u32 {
    (ntp >> 16) as u32
}

impl RoundTrip {
    /// RTCP can leave from now on.
    pub(super) const fn start(&mut self, now: Instant) {
        self.next = Some(now);
    }

    /// When [`RoundTrip::ask`] has something to send.
    pub(super) const fn next_timer(&self) -> Option<Instant> {
        self.next
    }

    /// The report with our reference time, of stream `ssrc`, where it is due.
    pub(super) fn ask(&mut self, now: Instant, ssrc: u32) -> Option<Vec<u8>> {
        self.next.filter(|t| *t <= now)?;
        self.next = Some(now.saturating_add(INTERVAL));
        let reference = ntp(now);
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(middle(reference));

        let mut bytes = Vec::new();
        let report = ExtendedReport {
            ssrc,
            reference: Some(reference),
            dlrr: Vec::new(),
        };
        Message::ExtendedReport(report).encode(&mut bytes);
        Some(bytes)
    }

    /// The round trip that `report` gives to the stream `ssrc`. Each reference time counts once.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        report: &ExtendedReport,
        ssrc: u32,
    ) -> Option<Duration> {
        let entry = report.dlrr.iter().rfind(|entry| entry.ssrc == ssrc)?;
        let place = self.waiting.iter().position(|t| *t == entry.last_rr)?;
        self.waiting.remove(place);

        // Units of 1/65536 s, which wrap. The other end cannot have waited for longer than all of it took.
        let took = middle(ntp(now)).wrapping_sub(entry.last_rr);
        if entry.delay > took.saturating_add(COARSE) {
            return None;
        }
        let units = u64::from(took.saturating_sub(entry.delay));
        Some(Duration::from_nanos((units * 1_000_000_000) >> 16))
    }
}

#[cfg(test)]
mod tests {
    use slackwater_wire::rtcp::{Dlrr, messages};

    use super::*;

    /// Our stream.
    const OURS: u32 = 1;

    fn reference(trip: &mut RoundTrip, now: Instant) -> u32 {
        let bytes = trip.ask(now, OURS).expect("a report is due");
        match messages(&bytes).next() {
            Some(Ok(Message::ExtendedReport(report))) => middle(report.reference.unwrap()),
            other => panic!("{other:?}"),
        }
    }

    fn answer(ssrc: u32, last_rr: u32, delay: u32) -> ExtendedReport {
        ExtendedReport {
            ssrc: 7,
            reference: None,
            dlrr: vec![Dlrr {
                ssrc,
                last_rr,
                delay,
            }],
        }
    }

    #[test]
    fn a_round_trip_is_what_passed_less_what_the_other_end_waited() {
        // The middle bits wrap within the measurement: 65,536 s end.
        let start = Instant::from_millis(65_535_950);
        let mut trip = RoundTrip::default();
        assert_eq!(trip.ask(start, OURS), None, "not connected");
        trip.start(start);
        let last_rr = reference(&mut trip, start);
        assert_eq!(trip.next_timer(), Some(Instant::from_millis(65_536_950)));
        assert_eq!(trip.ask(start, OURS), None, "once a second");

        let now = Instant::from_millis(65_536_150);
        // 200 ms passed, of which the other end waited for 50.
        let report = answer(OURS, last_rr, 65_536 / 20);
        let rtt = trip.on_report(now, &report, OURS).unwrap();
        assert!(rtt.as_nanos().abs_diff(150_000_000) < 40_000, "{rtt:?}");
        assert_eq!(trip.on_report(now, &report, OURS), None, "it counts once");
    }

    #[test]
    fn what_answers_no_question_of_ours_is_no_round_trip() {
        let mut trip = RoundTrip::default();
        let t = Instant::from_millis;
        trip.start(t(0));
        let sent: Vec<u32> = (0..5).map(|s| reference(&mut trip, t(s * 1000))).collect();
        let mut at = |report| trip.on_report(t(4100), &report, OURS);
        assert_eq!(at(answer(2, sent[4], 0)), None, "another receiver's");
        assert_eq!(at(answer(OURS, sent[4] + 1, 0)), None, "never sent");
        assert_eq!(at(answer(OURS, sent[0], 0)), None, "too old");
        assert_eq!(
            at(answer(OURS, sent[2], 65_536 * 5)),
            None,
            "it waited longer"
        );
        // 100 ms passed, and a coarse clock found 101.
        let coarse = at(answer(OURS, sent[3], 65_536 * 1101 / 1000));
        assert_eq!(coarse, Some(Duration::ZERO));
    }
}
