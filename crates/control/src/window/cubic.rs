//! CUBIC (RFC 9438) in the integer arithmetic of Linux `tcp_cubic.c`.
//!
//! Linux measures epochs in jiffies (4 ms at 250 Hz); here they are nanoseconds, brought to the kernel's 1/1024 s
//! where the cubic is evaluated.

use slackwater_core::{Duration, Instant};

use crate::registry::{AnyController, Entry, Parameter};
use crate::window::hystart::{HyStart, Variant};
use crate::window::hystart_pp::HyStartPp;
use crate::window::windowed;
use crate::window::{Cwnd, Law};
use crate::{Ack, Cause, CongestionEvent, PathView};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "cubic",
        aliases: &["cubic-linux"],
        title: "CUBIC",
        about: "CUBIC (RFC 9438) as in Linux, slow start ended by HyStart; cubic:reno=0 may be slower than Reno",
        parameters: &PARAMETERS,
        make: |cfg, p| {
            let [reno] = p.numbers(&PARAMETERS)?;
            let law = Cubic::linux().reno_friendly(reno > 0.0);
            Ok(AnyController::Cubic(windowed(law, cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "cubic-hystart++",
        aliases: &["cubic-hystartpp"],
        title: "CUBIC (HyStart++)",
        about: "CUBIC with HyStart++ (RFC 9406) for slow start",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::Cubic(windowed(Cubic::hystart_pp(), cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "cubic-nohystart",
        title: "CUBIC (standard slow start)",
        about: "CUBIC with standard slow start",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::Cubic(windowed(Cubic::plain(), cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "cubic-ns3",
        title: "CUBIC (ns-3)",
        about: "CUBIC with ns-3's HyStart, which seldom ends slow start by delay",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::Cubic(windowed(Cubic::ns3(), cfg)))
        },
        ..Entry::TRANSPORT
    },
];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] = [Parameter::number(
    "reno",
    1.0,
    (0.0, 1.0),
    "",
    "above 0: at least as fast as Reno (RFC 9438, 4.3; `tcp_friendliness` of `tcp_cubic.c`)",
)];

/// Multiplicative decrease, in 1/1024: 0.7 (RFC 9438, 4.6; Linux `beta`).
const BETA: u64 = 717;
/// Unit of [`BETA`].
const SCALE: u64 = 1024;
/// C = 0.4 (RFC 9438, 5) as Linux has it: 41 * 10 / 1024 (`bic_scale`).
const CUBE_RTT_SCALE: u64 = 41 * 10;
/// 2^40 / (41 * 10): the cube of K in 1/1024 s for each segment below the origin (Linux `cube_factor`).
const CUBE_FACTOR: f64 = ((1u64 << 40) / CUBE_RTT_SCALE) as f64;
/// Segments to acknowledge per Reno segment, times 8 and per segment of window: 8 (1 + beta) / 3 / (1 - beta)
/// (RFC 9438, 4.3; Linux `beta_scale`).
const RENO_SCALE: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// With the same window, the target is looked at this often (Linux: HZ / 32).
const UPDATE_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// RTT samples this long after a reduction are not trusted (Linux: HZ).
const SETTLE: Duration = Duration::from_secs(1);
/// Before the first loss the window grows by at least 5 % per RTT (Linux).
const FIRST_EPOCH_CNT: u32 = 20;

/// How slow start ends.
#[derive(Clone, Copy, Debug)]
pub enum SlowStart {
    /// By the first loss alone.
    Plain,
    /// By `HyStart`.
    HyStart(HyStart),
    /// By `HyStart++`.
    PlusPlus(HyStartPp),
}

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    name: &'static str,
    slow_start: SlowStart,
    /// Segments to acknowledge per segment of growth.
    cnt: u32,
    /// `W_max`, zero before the first congestion event.
    last_max: u32,
    last_cwnd: u32,
    last_time: Instant,
    /// Window where the cubic is flat.
    origin: u32,
    /// K in 1/1024 s.
    k: u64,
    /// Start of the present epoch of congestion avoidance.
    epoch: Option<Instant>,
    /// Segments acknowledged towards the Reno estimate.
    ack_cnt: u32,
    /// `W_est` (RFC 9438, 4.3).
    reno: u32,
    /// Never slower than Reno (RFC 9438, 4.3).
    reno_friendly: bool,
    /// Least RTT sample, none yet or none since a timeout: zero.
    delay_min: Duration,
}

impl Cubic {
    fn with(name: &'static str, slow_start: SlowStart) -> Self {
        Self {
            name,
            slow_start,
            cnt: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: Instant::ZERO,
            origin: 0,
            k: 0,
            epoch: None,
            ack_cnt: 0,
            reno: 0,
            reno_friendly: true,
            delay_min: Duration::ZERO,
        }
    }

    /// As Linux runs it: with `HyStart`.
    pub fn linux() -> Self {
        Self::with("cubic", SlowStart::HyStart(HyStart::new(Variant::Linux)))
    }

    /// With `HyStart++`.
    pub fn hystart_pp() -> Self {
        Self::with("cubic-hystart++", SlowStart::PlusPlus(HyStartPp::default()))
    }

    /// With standard slow start.
    pub fn plain() -> Self {
        Self::with("cubic-nohystart", SlowStart::Plain)
    }

    /// As ns-3 runs it: with its reading of `HyStart`.
    pub fn ns3() -> Self {
        Self::with("cubic-ns3", SlowStart::HyStart(HyStart::new(Variant::Ns3)))
    }

    /// The same with or without the Reno-friendly region (RFC 9438, 4.3). ns-3's had none before 3.41.
    #[must_use]
    pub const fn reno_friendly(mut self, on: bool) -> Self {
        self.reno_friendly = on;
        self
    }

    /// Forgets all epochs (Linux `bictcp_reset`).
    fn reset(&mut self) {
        *self = Self {
            reno_friendly: self.reno_friendly,
            ..Self::with(self.name, self.slow_start)
        };
    }

    /// Sets `cnt` for the present window and time (Linux `bictcp_update`).
    fn update(&mut self, now: Instant, cwnd: u32, acked: u32) {
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        if self.last_cwnd == cwnd && now.since(self.last_time) <= UPDATE_INTERVAL {
            return;
        }
        // Several ACKs at one instant move only the Reno estimate.
        if self.epoch.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.follow_curve(now, cwnd, acked);
        }
        if self.reno_friendly {
            self.keep_up_with_reno(cwnd);
        }
        // At most one segment per two acknowledged: 1.5 times per RTT (RFC 9438, 4.4).
        self.cnt = self.cnt.max(2);
    }

    /// `W_cubic` one RTT ahead (RFC 9438, 4.2, 4.4 and 4.5).
    fn follow_curve(&mut self, now: Instant, cwnd: u32, acked: u32) {
        let epoch = if let Some(epoch) = self.epoch {
            epoch
        } else {
            self.epoch = Some(now);
            self.ack_cnt = acked;
            self.reno = cwnd;
            if self.last_max <= cwnd {
                self.k = 0;
                self.origin = cwnd;
            } else {
                let below = f64::from(self.last_max - cwnd);
                self.k = libm::cbrt(CUBE_FACTOR * below) as u64;
                self.origin = self.last_max;
            }
            now
        };
        let ahead = now.since(epoch) + self.delay_min;
        let t = (u128::from(ahead.as_nanos()) * 1024 / 1_000_000_000) as u64;
        // Beyond 2^17 / 1024 s = 128 s off the origin the product would leave 64 bits; the window has long been
        // bounded by then.
        let off = t.abs_diff(self.k).min(1 << 17);
        let delta = ((CUBE_RTT_SCALE * off * off * off) >> 40) as u32;
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        self.cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            // Nearly flat: one segment in a hundred windows.
            cwnd.saturating_mul(100)
        };
        if self.last_max == 0 {
            self.cnt = self.cnt.min(FIRST_EPOCH_CNT);
        }
    }

    /// Never slower than Reno (RFC 9438, 4.3).
    fn keep_up_with_reno(&mut self, cwnd: u32) {
        let per_segment =
            ((u64::from(cwnd) * RENO_SCALE) >> 3).clamp(1, u64::from(u32::MAX)) as u32;
        if self.ack_cnt > per_segment {
            let steps = (self.ack_cnt - 1) / per_segment;
            self.ack_cnt -= steps * per_segment;
            self.reno = self.reno.saturating_add(steps);
        }
        if self.reno > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.reno - cwnd));
        }
    }
}

impl Law for Cubic {
    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn acked(&mut self, now: Instant, w: &mut Cwnd, path: &PathView, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if self.epoch.is_some_and(|epoch| now.since(epoch) < SETTLE) {
            return;
        }
        if self.delay_min.is_zero() || rtt < self.delay_min {
            self.delay_min = rtt.max(Duration::from_nanos(1));
        }
        if !w.in_slow_start() {
            return;
        }
        let exit = match &mut self.slow_start {
            SlowStart::Plain => false,
            SlowStart::HyStart(hystart) => hystart.sample(now, w, path, ack, rtt, self.delay_min),
            SlowStart::PlusPlus(hystart) => hystart.acked(w, ack),
        };
        if exit {
            w.ssthresh = w.cwnd;
        }
    }

    #[inline]
    fn grow(&mut self, now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        if !ack.cwnd_limited {
            return;
        }
        let mut acked = acked;
        if w.in_slow_start() {
            let growth = match &mut self.slow_start {
                SlowStart::PlusPlus(hystart) => hystart.growth(w, acked),
                _ => acked,
            };
            acked = w.slow_start(growth);
            if acked == 0 {
                return;
            }
        }
        self.update(now, w.cwnd, acked);
        w.additive_increase(self.cnt, acked);
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        _event: &CongestionEvent,
    ) -> u32 {
        self.epoch = None;
        let cwnd = u64::from(w.cwnd);
        self.last_max = if w.cwnd < self.last_max {
            // Fast convergence (RFC 9438, 4.7).
            (cwnd * (SCALE + BETA) / (2 * SCALE)) as u32
        } else {
            w.cwnd
        };
        (cwnd * BETA / SCALE).max(2) as u32
    }

    fn timed_out(&mut self, now: Instant, _w: &mut Cwnd, event: &CongestionEvent) {
        debug_assert_eq!(event.cause, Cause::Timeout);
        self.reset();
        if let SlowStart::HyStart(hystart) = &mut self.slow_start {
            hystart.reset(now, event.next);
        }
    }

    fn restarted(&mut self, now: Instant, _w: &mut Cwnd, idle: Duration) {
        // Idle time does not count as growth (RFC 9438, 5.8).
        if let Some(epoch) = &mut self.epoch {
            *epoch = epoch.saturating_add(idle).min(now);
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("w_max", f64::from(self.last_max)));
        out.push(("w_est", f64::from(self.reno)));
        out.push(("k", self.k as f64 / 1024.0));
        out.push(("cnt", f64::from(self.cnt)));
        match &self.slow_start {
            SlowStart::Plain => {}
            SlowStart::HyStart(hystart) => {
                out.push(("hystart_found", f64::from(u8::from(hystart.found()))));
            }
            SlowStart::PlusPlus(hystart) => {
                out.push(("css", f64::from(u8::from(hystart.in_css()))));
            }
        }
    }
}

#[cfg(test)]
mod tests;
