//! ABC's sender (Goyal et al., "ABC: A Simple Explicit Congestion Controller for Wireless Networks", NSDI 2020).
//!
//! Each acknowledged packet says accelerate or brake: two packets leave for an accelerate and none for a brake, and a
//! packet a round is added whatever they say, so that flows become equal (3.1.3). Where the narrowest queue is not an ABC
//! router's nobody brakes; a second window, CUBIC's, obeys losses, and the smaller of both counts (4.1).
//!
//! The signal is the one of the authors' Linux sender: data is ECT(0), CE is "brake". Accurate ECN (RFC 9768) counts CE
//! packets for the sender, in place of the authors' DCTCP-like echo and of the paper's NS bit. Without such feedback
//! CUBIC's window alone counts (the authors' module falls back to Reno).

use slackwater_core::{Bytes, Duration, Instant, Rate};

use crate::registry::{AnyController, Entry, Marks};
use crate::window::Windowed;
use crate::window::cubic::Cubic;
use crate::{
    Ack, Cause, CongestionEvent, Controller, EcnMode, Intent, PathView, Recovery, RecoveryMode,
    Sent,
};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "abc",
        title: "ABC",
        about: "ABC (NSDI 2020): accelerate or brake from ABC's router (queue law `abc`), CUBIC where there is none",
        make: |cfg, p| {
            p.none()?;
            let abc = Abc::new(cfg.mss, cfg.initial_window);
            Ok(AnyController::Abc(abc.into()))
        },
        marks: Marks::Law("abc"),
        ..Entry::TRANSPORT
    },
    Entry {
        name: "abc-basic",
        title: "ABC (basic)",
        about: "ABC without the window for queues that are not ABC's: losses do not move it",
        make: |cfg, p| {
            p.none()?;
            let abc = Abc::basic(cfg.mss, cfg.initial_window);
            Ok(AnyController::Abc(abc.into()))
        },
        marks: Marks::Law("abc"),
        ..Entry::TRANSPORT
    },
];

/// A brake takes nothing from a window at or below this many packets (authors' `tcp_abc.c`).
const BRAKE_FLOOR: f64 = 5.0;
/// Both windows are at most this many times the flight (4.1), and some packets.
const FLIGHTS: f64 = 2.0;
/// Those packets (authors' `tcp_abccubic.c`).
const SPARE: f64 = 5.0;
/// The window is paced at twice its rate (authors' `abc_pkts_acked`: 2 * 1450 bytes per packet of the window and RTT).
const PACING_GAIN: f64 = 2.0;
/// The largest window: keeps the arithmetic in range.
const WINDOW_MAX: f64 = (1u64 << 30) as f64;

/// ABC's sender.
#[derive(Clone, Debug)]
pub struct Abc {
    name: &'static str,
    mss: u32,
    wire_mss: u32,
    /// `w_abc`, in packets.
    window: f64,
    /// `w_nonabc`; `None` for the sender that trusts in ABC routers alone.
    other: Option<Windowed<Cubic>>,
    /// The peer counts CE packets.
    heard: bool,
    /// The latest RTT.
    rtt: Duration,
}

impl Abc {
    fn with(name: &'static str, mss: u32, initial: u32, other: Option<Windowed<Cubic>>) -> Self {
        let mss = mss.max(1);
        Self {
            name,
            mss,
            // Refined by the first view of the path; TCP over IPv4 with time stamps until then.
            wire_mss: mss + 52,
            window: f64::from(initial).clamp(1.0, WINDOW_MAX),
            other,
            heard: false,
            rtt: Duration::ZERO,
        }
    }

    /// The sender with both windows (the paper's 4.1, the authors' `tcp_abccubic.c`).
    pub fn new(mss: u32, initial: u32) -> Self {
        let other = Windowed::new(Cubic::linux(), mss, initial);
        Self::with("abc", mss, initial, Some(other))
    }

    /// The sender without the second window, which losses do not move (the authors' `tcp_abc.c`).
    pub fn basic(mss: u32, initial: u32) -> Self {
        Self::with("abc-basic", mss, initial, None)
    }

    /// `w_abc`, in packets.
    pub const fn window(&self) -> f64 {
        self.window
    }

    fn resize(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire_mss = path.wire_mss.max(path.mss);
        }
    }

    /// The window in bytes that counts.
    fn effective(&self) -> u64 {
        let own = (self.window as u64).max(1) * u64::from(self.mss);
        let other = self.other.as_ref().and_then(|o| o.intent().window);
        match other {
            Some(other) if !self.heard => other.0,
            Some(other) => own.min(other.0),
            None => own,
        }
    }
}

impl Controller for Abc {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        if let Some(other) = &mut self.other {
            other.on_sent(now, path, sent);
        }
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.resize(path);
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt = rtt;
        }
        let brakes = f64::from(ack.ecn.ce);
        let all = brakes + f64::from(ack.ecn.ect0) + f64::from(ack.ecn.ect1);
        self.heard |= all > 0.0;
        if all > 0.0 {
            // 3.1.3: W + 1 + 1/W for an accelerate, W - 1 + 1/W for a brake.
            let step = all - 2.0 * brakes;
            if step > 0.0 || self.window + step > BRAKE_FLOOR {
                self.window += step;
            }
            self.window += all / self.window;
        }
        let flights = FLIGHTS * ack.prior_in_flight.0 as f64 / f64::from(self.mss) + SPARE;
        self.window = self.window.min(flights).clamp(1.0, WINDOW_MAX);
        if let Some(other) = &mut self.other {
            // CUBIC knows nothing of brakes: the host's reduction for marks is no pause for it.
            let mut seen = *ack;
            if seen.recovery == Recovery::Cwr {
                seen.recovery = Recovery::Open;
            }
            other.on_ack(now, path, &seen);
            other.bound(flights as u32);
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.resize(path);
        if event.cause == Cause::Ecn {
            // Each brake is counted by the ACK that carries it.
            return;
        }
        match &mut self.other {
            Some(other) => other.on_congestion(now, path, event),
            // RFC 5681, 3.1: what the kernel does around the authors' module. The next ACK begins anew from there.
            None if event.cause == Cause::Timeout => self.window = 1.0,
            None => {}
        }
    }

    fn on_undo(&mut self, now: Instant, path: &PathView) {
        if let Some(other) = &mut self.other {
            other.on_undo(now, path);
        }
    }

    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        if let Some(other) = &mut self.other {
            other.on_recovered(now, path);
        }
    }

    fn intent(&self) -> Intent {
        let window = self.effective();
        let pacing = (!self.rtt.is_zero()).then(|| {
            let packets = window as f64 / f64::from(self.mss);
            let bits = PACING_GAIN * packets * f64::from(self.wire_mss) * 8.0;
            let bps = bits / self.rtt.as_secs_f64();
            Rate::from_bps((bps as u64).clamp(1, u64::MAX >> 1))
        });
        Intent {
            window: Some(Bytes(window)),
            ssthresh: self.other.as_ref().and_then(|o| o.intent().ssthresh),
            pacing,
            ecn: EcnMode::Dctcp,
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("w_abc", self.window));
        if let Some(other) = &self.other {
            out.push(("w_nonabc", f64::from(other.cwnd().cwnd)));
        }
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
