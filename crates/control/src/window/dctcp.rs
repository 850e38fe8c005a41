//! DCTCP (RFC 8257): the window shrinks by half the share of packets that were marked.
//!
//! The share comes from accurate ECN feedback (RFC 9768) in place of RFC 8257's own echo: a count instead of a bit that
//! changes, so that delayed ACKs cost no precision. Without such feedback the host sends no ECT, and this is Reno.

use slackwater_core::Instant;

use crate::registry::{AnyController, Entry, Marks};
use crate::window::windowed;
use crate::window::{Cwnd, Law};
use crate::{Ack, Cause, CongestionEvent, EcnMode, PathView};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "dctcp",
    title: "DCTCP",
    about: "DCTCP (RFC 8257): the window shrinks by the share of marks",
    make: |cfg, p| {
        p.none()?;
        Ok(AnyController::Dctcp(windowed(Dctcp::default(), cfg)))
    },
    marks: Marks::Queue,
    ..Entry::TRANSPORT
}];

/// Weight of a round's share in the average (RFC 8257, 4.2: 1/16; Linux `dctcp_shift_g` 4).
pub(super) const GAIN: f64 = 1.0 / 16.0;

/// The moving average of the share of marked packets (`DCTCP.Alpha` of RFC 8257, 3.3).
#[derive(Clone, Copy, Debug)]
pub struct Alpha {
    value: f64,
    /// Packets acknowledged in this window of data, and those of them that were marked.
    acked: u64,
    marked: u64,
    /// The window ends when this position is acknowledged (`DCTCP.WindowEnd`).
    end: u64,
}

impl Default for Alpha {
    /// Alpha is one at first, so that the first mark is answered as a loss (RFC 8257, 4.2).
    fn default() -> Self {
        Self {
            value: 1.0,
            acked: 0,
            marked: 0,
            end: 0,
        }
    }
}

impl Alpha {
    /// The average, in [0, 1].
    pub const fn get(&self) -> f64 {
        self.value
    }

    /// Counts an ACK's packets; without accurate feedback it names none.
    #[inline]
    pub fn count(&mut self, ack: &Ack) {
        let ecn = ack.ecn;
        let all = u64::from(ecn.ce) + u64::from(ecn.ect0) + u64::from(ecn.ect1);
        self.acked += all;
        self.marked += u64::from(ecn.ce);
    }

    /// A window of data was acknowledged.
    #[inline]
    pub const fn is_round_over(&self, ack: &Ack) -> bool {
        ack.una >= self.end
    }

    /// Takes the round's share into the average where `learns`, and begins the next round (RFC 8257, 3.3, steps 4
    /// to 7).
    #[inline]
    pub fn next_round(&mut self, ack: &Ack, learns: bool) {
        if learns && self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.value = (1.0 - GAIN) * self.value + GAIN * share;
        }
        self.acked = 0;
        self.marked = 0;
        self.end = ack.next;
    }
}

/// DCTCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dctcp {
    alpha: Alpha,
}

impl Law for Dctcp {
    const ECN: EcnMode = EcnMode::Dctcp;

    fn name(&self) -> &'static str {
        "dctcp"
    }

    #[inline]
    fn acked(&mut self, _now: Instant, _w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        self.alpha.count(ack);
        if self.alpha.is_round_over(ack) {
            self.alpha.next_round(ack, true);
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        // RFC 8257, 3.4: growth is that of conventional TCP.
        if ack.cwnd_limited {
            w.reno(acked);
        }
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        event: &CongestionEvent,
    ) -> u32 {
        match event.cause {
            // RFC 8257, 3.3, step 9: cwnd * (1 - alpha / 2).
            Cause::Ecn => ((f64::from(w.cwnd) * (1.0 - self.alpha.get() / 2.0)) as u32).max(2),
            // RFC 8257, 3.5: losses are answered as in conventional TCP.
            Cause::Loss | Cause::Timeout => w.half(),
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("alpha", self.alpha.get()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Feed;
    use crate::window::Windowed;

    fn dctcp() -> Feed<Windowed<Dctcp>> {
        let mut feed = Feed::new(Windowed::new(Dctcp::default(), 1000, 20));
        feed.ce_of = Some(0);
        feed
    }

    fn alpha(feed: &Feed<Windowed<Dctcp>>) -> f64 {
        feed.c.law().alpha.get()
    }

    #[test]
    fn alpha_is_the_moving_average_of_the_marked_share() {
        // RFC 8257, 3.3: alpha = (1 - g) * alpha + g * F with g = 1/16, from 1.
        let mut feed = dctcp();
        feed.cwnd_limited = false;
        feed.round_at(10);
        feed.round_at(10);
        // The first ACK closes a window of nothing; then one in each round.
        let thrice = 15.0_f64 / 16.0 * (15.0 / 16.0) * (15.0 / 16.0);
        assert_eq!(alpha(&feed), thrice);
        let before = alpha(&feed);
        // One in four.
        feed.ce_of = Some(4);
        feed.round_at(10);
        feed.round_at(10);
        let half_way = before * 15.0 / 16.0;
        assert!(alpha(&feed) > half_way * 15.0 / 16.0);
        for _ in 0..200 {
            feed.round_at(10);
        }
        assert!((alpha(&feed) - 0.25).abs() < 0.01, "{}", alpha(&feed));
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_half() {
        let mut feed = dctcp();
        feed.cwnd_limited = false;
        feed.ce_of = Some(4);
        for _ in 0..200 {
            feed.round_at(10);
        }
        feed.mark();
        // 20 * (1 - 0.25 / 2) = 17.5.
        assert_eq!((feed.cwnd(), feed.ssthresh()), (17, Some(17)));
        // Once per window.
        feed.mark();
        assert_eq!(feed.cwnd(), 17);
        // A loss in the same round is answered for itself (RFC 8257, 3.5).
        feed.lose();
        assert_eq!(feed.cwnd(), 8);
        feed.recover();
        feed.lose();
        assert_eq!(feed.cwnd(), 4);
    }

    #[test]
    fn the_first_mark_halves() {
        let mut feed = dctcp();
        feed.mark();
        assert_eq!((feed.cwnd(), feed.ssthresh()), (10, Some(10)));
        assert_eq!(feed.c.law().alpha.get(), 1.0);
    }

    #[test]
    fn it_is_reno_without_feedback() {
        let mut feed = dctcp();
        feed.ce_of = None;
        feed.round_at(10);
        assert_eq!(feed.cwnd(), 40);
        feed.lose();
        feed.recover();
        assert_eq!(feed.cwnd(), 20);
        feed.round_at(10);
        assert_eq!(feed.cwnd(), 21);
        // What no one reports is not learnt.
        assert_eq!(alpha(&feed), 1.0);
    }
}
