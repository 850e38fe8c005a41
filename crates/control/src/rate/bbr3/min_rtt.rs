//! The least round trip, and when to look for it (5.3.4.3).

use slackwater_core::{Duration, Instant};

/// The estimate holds for so long (`MinRTTFilterLen`, 2.16.1).
const FILTER: Duration = Duration::from_secs(10);
/// Time between two looks (`ProbeRTTInterval`, 2.16.2).
const INTERVAL: Duration = Duration::from_secs(5);
/// Time at the small window (`ProbeRTTDuration`, 2.16.2).
const DURATION: Duration = Duration::from_millis(200);

/// Both filters and the progress of `ProbeRTT`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinRtt {
    min: Option<Duration>,
    at: Instant,
    probe_min: Option<Duration>,
    probe_at: Instant,
    expired: bool,
    done_at: Option<Instant>,
    round_done: bool,
    started: bool,
}

impl MinRtt {
    /// The estimate.
    #[inline]
    pub const fn get(&self) -> Option<Duration> {
        self.min
    }

    /// The connection begins; the handshake measured `srtt` (`OnInit`, 5.2.1).
    pub const fn init(&mut self, now: Instant, srtt: Duration) {
        if !self.started {
            self.started = true;
            self.at = now;
            self.probe_at = now;
            if !srtt.is_zero() {
                self.min = Some(srtt);
            }
        }
    }

    /// It is time for `ProbeRTT` (`probe_rtt_expired`).
    pub const fn expired(&self) -> bool {
        self.expired
    }

    /// `UpdateMinRTT`.
    #[inline]
    pub fn update(&mut self, now: Instant, rtt: Option<Duration>) {
        self.expired = now > self.probe_at.saturating_add(INTERVAL);
        if let Some(rtt) = rtt
            && (self.expired || self.probe_min.is_none_or(|min| rtt < min))
        {
            self.probe_min = Some(rtt);
            self.probe_at = now;
        }
        let Some(probe) = self.probe_min else { return };
        if self.min.is_none_or(|min| probe < min) || now > self.at.saturating_add(FILTER) {
            self.min = Some(probe);
            self.at = self.probe_at;
        }
    }

    /// `ProbeRTT` begins; its time runs from when the flight is small.
    pub const fn enter(&mut self) {
        self.done_at = None;
    }

    /// The flight came down already.
    pub const fn holds(&self) -> bool {
        self.done_at.is_some()
    }

    /// The flight came down now.
    pub const fn hold(&mut self, now: Instant) {
        self.done_at = Some(now.saturating_add(DURATION));
        self.round_done = false;
    }

    /// Notes a round's start; true once one has passed.
    pub const fn round(&mut self, start: bool) -> bool {
        self.round_done |= start;
        self.round_done
    }

    /// The time is over: schedules the next look (`CheckProbeRTTDone`).
    pub fn done(&mut self, now: Instant) -> bool {
        let done = self.done_at.is_some_and(|at| now > at);
        if done {
            self.probe_at = now;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_due_five_seconds_after_the_last_lowest_value() {
        let ms = |n| Some(Duration::from_millis(n));
        let mut m = MinRtt::default();
        m.init(Instant::ZERO, Duration::from_millis(90));
        m.update(Instant::from_millis(100), ms(40));
        m.update(Instant::from_millis(5100), ms(60));
        assert!(!m.expired() && m.get() == ms(40));
        m.update(Instant::from_millis(5101), ms(70));
        assert!(m.expired());
        assert_eq!(m.get(), ms(40), "the estimate lives ten seconds");
        m.update(Instant::from_millis(10_101), ms(80));
        assert_eq!(
            m.get(),
            ms(70),
            "then the best of the last interval follows"
        );
    }
}
