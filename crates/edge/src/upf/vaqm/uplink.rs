//! The uplink's share of the round trips of a session: what vAQM must not take for a queue of the downlink.

use slackwater_core::{Duration, Instant};

use crate::upf::passive::{RttSample, SampleKind};

/// What one connection shows of the uplink's queue holds for the others so long.
const FRESH: Duration = Duration::from_millis(50);
/// The span in which the UE's data is counted.
const SPAN: Duration = Duration::from_millis(100);
/// Packets from this length on are data, not acknowledgments: an ACK with time stamps and four SACK blocks has 92 bytes, one of
/// QUIC with 32 ranges some 200.
const DATA: u32 = 500;
/// So many bytes of data in two spans fill no uplink: an initial window (RFC 6928).
const BUSY: u64 = 14_600;

/// The uplink of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uplink {
    /// When a connection last showed what its packets wait, and how long that was.
    waited: Option<(Instant, Duration)>,
    /// When the present span began.
    since: Instant,
    /// Bytes of data in the present span.
    bytes: u64,
    /// Bytes of data in the span before.
    before: u64,
}

impl Uplink {
    /// A packet of the UE passes; `waited` is what its time stamp shows.
    pub(super) fn on_packet(&mut self, now: Instant, len: u32, waited: Option<Duration>) {
        if let Some(waited) = waited {
            self.waited = Some((now, waited));
        }
        if len >= DATA {
            self.turn(now);
            self.bytes += u64::from(len);
        }
    }

    fn turn(&mut self, now: Instant) {
        let age = now.since(self.since);
        if age >= SPAN {
            self.before = if age < SPAN * 2 { self.bytes } else { 0 };
            self.bytes = 0;
            self.since = now;
        }
    }

    /// The UE sends more than requests.
    fn is_busy(&mut self, now: Instant) -> bool {
        self.turn(now);
        self.before + self.bytes > BUSY
    }

    /// Takes the wait in the uplink out of a sample, and returns what it took. Up to `usual` it takes nothing, and all of it from
    /// twice that on: grants and repetitions delay an ACK so much without any queue, which the target delay holds already.
    /// Where nothing shows the wait and the uplink is busy, the sample may lower the average and not raise it: a download that is
    /// slowed for another's queue is worse than one that is not.
    pub(super) fn split(
        &mut self,
        now: Instant,
        sample: &mut RttSample,
        usual: Duration,
    ) -> Duration {
        let fresh = |(at, _): &(Instant, Duration)| now.since(*at) <= FRESH;
        if let Some((_, waited)) = self.waited.filter(fresh) {
            let queued = waited.min(waited.saturating_sub(usual) * 2);
            let waited = queued.min(sample.rtt.saturating_sub(Duration::from_nanos(1)));
            sample.rtt = sample.rtt.saturating_sub(waited);
            return waited;
        }
        if sample.kind == SampleKind::Full && self.is_busy(now) {
            sample.kind = SampleKind::IfLower;
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_millis(10);

    const fn full(ms: u64) -> RttSample {
        RttSample {
            rtt: Duration::from_millis(ms),
            kind: SampleKind::Full,
        }
    }

    #[test]
    fn what_one_connection_shows_holds_for_all_for_a_while() {
        let mut uplink = Uplink::default();
        uplink.on_packet(
            Instant::from_millis(10),
            60,
            Some(Duration::from_millis(70)),
        );
        let mut sample = full(100);
        let waited = uplink.split(Instant::from_millis(50), &mut sample, USUAL);
        assert_eq!(waited, Duration::from_millis(70));
        assert_eq!(sample, full(30));
        let mut sample = full(100);
        assert!(
            uplink
                .split(Instant::from_millis(61), &mut sample, USUAL)
                .is_zero()
        );
        assert_eq!(sample, full(100), "and no longer");
        // Grants and repetitions are no queue.
        for (wait, taken) in [(10, 0), (14, 8), (20, 20)] {
            let now = Instant::from_millis(65 + wait);
            uplink.on_packet(now, 60, Some(Duration::from_millis(wait)));
            let taken = Duration::from_millis(taken);
            assert_eq!(uplink.split(now, &mut full(100), USUAL), taken);
        }
        // More than the whole: something of the round trip is left.
        uplink.on_packet(Instant::from_millis(90), 60, Some(Duration::from_secs(1)));
        let mut sample = full(20);
        uplink.split(Instant::from_millis(90), &mut sample, USUAL);
        assert!(!sample.rtt.is_zero());
    }

    #[test]
    fn beside_data_whose_wait_nothing_shows_a_sample_only_lowers() {
        let mut uplink = Uplink::default();
        let mut kind = |ms: u64, len: u32| {
            let now = Instant::from_millis(ms);
            uplink.on_packet(now, len, None);
            let mut sample = full(100);
            assert!(uplink.split(now, &mut sample, USUAL).is_zero());
            sample.kind
        };
        for ms in 0..100 {
            assert_eq!(kind(ms, 200), SampleKind::Full, "acknowledgments");
        }
        for ms in 100..109 {
            assert_eq!(kind(ms, 1_400), SampleKind::Full, "a request");
        }
        for ms in 120..300 {
            kind(ms, 1_400);
        }
        assert_eq!(kind(300, 1_400), SampleKind::IfLower, "an upload");
        assert_eq!(kind(600, 60), SampleKind::Full, "its end");
    }
}
