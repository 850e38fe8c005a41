//! Veno: Reno that tells random loss from congestion by Vegas' queue estimate (Fu and Liew, JSAC 2003), as Linux
//! `tcp_veno.c` and as ns-3 run it.

use slackwater_core::{Duration, Instant};

use crate::registry::{AnyController, Entry, Parameter};
use crate::window::vegas::wide_ratio;
use crate::window::windowed;
use crate::window::{Cwnd, Law};
use crate::{Ack, CongestionEvent, PathView, Recovery};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "veno",
        aliases: &["veno-linux"],
        title: "Veno",
        about: "Veno as in Linux: Reno that spares random losses; veno:slow=0 never slows its growth",
        parameters: &PARAMETERS,
        make: |cfg, p| {
            let [slow] = p.numbers(&PARAMETERS)?;
            let law = Veno {
                slow: slow > 0.0,
                ..Veno::default()
            };
            Ok(AnyController::Veno(windowed(law, cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "veno-ns3",
        title: "Veno (ns-3)",
        about: "Veno as in ns-3: NewReno's growth, Veno's choice of decrease",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::VenoNs3(windowed(VenoNs3::default(), cfg)))
        },
        ..Entry::TRANSPORT
    },
];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] = [Parameter::number(
    "slow",
    1.0,
    (0.0, 1.0),
    "",
    "above 0: the window grows at half the pace where the path counts as congested (`tcp_veno.c`)",
)];

/// Packets in the queue from which the path counts as congested, in halves (Linux: 3 with one fraction bit).
const BETA_HALVES: u64 = 3 << 1;
/// The same in ns-3, in packets: the attribute's default; the constructor's 6 is overwritten.
const BETA_NS3: u64 = 3;

/// Veno as Linux runs it.
///
/// Linux keeps the count of samples across ACKs but forgets the least RTT with every ACK, so the estimate is of one
/// ACK.
#[derive(Clone, Debug)]
pub struct Veno {
    on: bool,
    /// Grows by half where the queue is long.
    slow: bool,
    base_rtt: Duration,
    ack_rtt: Duration,
    samples: u32,
    /// Every other round grows once the queue is long.
    grow_next: bool,
    /// Packets in the queue, in halves.
    diff: u64,
}

impl Default for Veno {
    fn default() -> Self {
        Self {
            on: true,
            slow: true,
            base_rtt: Duration::MAX,
            ack_rtt: Duration::MAX,
            samples: 0,
            grow_next: true,
            diff: 0,
        }
    }
}

impl Law for Veno {
    fn name(&self) -> &'static str {
        "veno"
    }

    #[inline]
    fn acked(&mut self, _now: Instant, _w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        let open = ack.recovery == Recovery::Open;
        if open && !self.on {
            self.ack_rtt = Duration::MAX;
        }
        self.on = open;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt + Duration::from_micros(1);
            self.base_rtt = self.base_rtt.min(rtt);
            self.ack_rtt = self.ack_rtt.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        if !ack.cwnd_limited {
            return;
        }
        if !self.on {
            w.reno(acked);
            return;
        }
        if self.samples < 3 {
            w.reno(acked);
        } else {
            if self.ack_rtt != Duration::MAX {
                let halves = u64::from(w.cwnd) << 1;
                let target = wide_ratio(halves, self.base_rtt.as_nanos(), self.ack_rtt.as_nanos());
                self.diff = halves - target;
            }
            let left = if w.in_slow_start() {
                w.slow_start(acked)
            } else {
                acked
            };
            if left > 0 {
                if self.diff < BETA_HALVES || !self.slow {
                    w.additive_increase(w.cwnd, left);
                } else if w.cnt >= w.cwnd {
                    if self.grow_next {
                        w.set(w.cwnd + 1);
                    }
                    self.grow_next = !self.grow_next;
                    w.cnt = 0;
                } else {
                    w.cnt += left;
                }
            }
            w.set(w.cwnd.max(2));
        }
        self.ack_rtt = Duration::MAX;
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        _event: &CongestionEvent,
    ) -> u32 {
        if self.diff < BETA_HALVES {
            // A loss without a queue is taken for a random one (Fu and Liew, III-B).
            (u64::from(w.cwnd) * 4 / 5).max(2) as u32
        } else {
            w.half()
        }
    }

    fn restarted(&mut self, _now: Instant, _w: &mut Cwnd, _idle: Duration) {
        // Linux `tcp_veno_cwnd_event` starts over, but for the count of samples.
        *self = Self {
            samples: self.samples,
            slow: self.slow,
            ..Self::default()
        };
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("diff", self.diff as f64 / 2.0));
    }
}

/// Veno as ns-3 runs it.
///
/// ns-3 clears the count of samples with each ACK, so the condition "more than two samples" never holds and growth
/// is always its `NewReno`'s: one segment per ACK in slow start, a window's share per ACK after. Only the choice
/// between 4/5 and 1/2 after a loss is left of Veno, taken from the RTT of the last ACK, and it cuts the flight.
#[derive(Clone, Debug)]
pub struct VenoNs3 {
    base_rtt: Duration,
    ack_rtt: Option<Duration>,
    diff: u64,
}

impl Default for VenoNs3 {
    fn default() -> Self {
        Self {
            base_rtt: Duration::MAX,
            ack_rtt: None,
            diff: 0,
        }
    }
}

impl Law for VenoNs3 {
    const VALIDATES: bool = false;

    fn name(&self) -> &'static str {
        "veno-ns3"
    }

    #[inline]
    fn acked(&mut self, _now: Instant, _w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.ack_rtt = Some(self.ack_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, _ack: &Ack, _acked: u32) {
        // Without a sample ns-3 divides by the largest time: the whole window counts as queued.
        let target = self.ack_rtt.map_or(0, |rtt| {
            wide_ratio(u64::from(w.cwnd), self.base_rtt.as_nanos(), rtt.as_nanos())
        });
        self.diff = u64::from(w.cwnd).saturating_sub(target);
        w.reno_per_ack();
        self.ack_rtt = None;
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        event: &CongestionEvent,
    ) -> u32 {
        if self.diff < BETA_NS3 {
            let flight = event
                .in_flight
                .0
                .min(u64::from(u32::MAX) * u64::from(w.mss));
            (flight * 4 / 5 / u64::from(w.mss)).max(2) as u32
        } else {
            w.half_flight(event)
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("diff", self.diff as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Feed;
    use crate::window::Windowed;

    #[test]
    fn a_loss_without_a_queue_costs_a_fifth() {
        // 20 packets, RTT at its least: no queue. Linux tcp_veno.c: cwnd * 4 / 5.
        let mut feed = Feed::new(Windowed::new(Veno::default(), 1000, 20));
        feed.round_at(100);
        feed.lose();
        assert_eq!(feed.cwnd(), 32);
        // 40 packets at 150 ms over 100 ms: 13 queued, a congestion loss.
        let mut feed = Feed::new(Windowed::new(Veno::default(), 1000, 20));
        feed.round_at(100);
        feed.round_at(150);
        let before = feed.cwnd();
        feed.lose();
        assert_eq!(feed.cwnd(), before / 2);
    }

    #[test]
    fn a_long_queue_halves_the_growth() {
        let growth = |rtt, slow| {
            let law = Veno {
                slow,
                ..Veno::default()
            };
            let mut feed = Feed::new(Windowed::new(law, 1000, 20));
            feed.round_at(100);
            feed.lose();
            feed.recover();
            let before = feed.cwnd();
            for _ in 0..12 {
                feed.round_at(rtt);
            }
            feed.cwnd() - before
        };
        assert_eq!(growth(100, true), 12);
        let slowed = growth(150, true);
        assert!((5..=6).contains(&slowed), "{slowed}");
        assert!(growth(150, false) >= 11);
    }

    #[test]
    fn ns3_grows_like_new_reno_whatever_the_queue() {
        let growth = |rtt| {
            let mut feed = Feed::new(Windowed::new(VenoNs3::default(), 1000, 20));
            feed.round_at(100);
            feed.lose();
            feed.recover();
            let before = feed.cwnd();
            for _ in 0..12 {
                feed.round_at(rtt);
            }
            feed.cwnd() - before
        };
        assert_eq!(growth(100), growth(150));
        assert!(growth(100) >= 11);
    }
}
