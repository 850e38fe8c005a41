//! XRC's sender (Kheirkhah, Kassem, Fairhurst, Marina: "XRC: An Explicit Rate Control for Future Cellular Networks",
//! ICC 2022, section III-B).
//!
//! The base station reports a fair rate and the delay of its queue ([`PathReport::Share`](crate::PathReport::Share)). The
//! sender turns the rate into a target window, jumps to it, probes above it a segment per RTT, and falls back to it when
//! the queue exceeds a budget. Where the queue stays, others fill it: after N rounds the window grows by a target window
//! per RTT until the others lose packets. A queue that the reports do not show lies beyond the radio.
//!
//! Two profiles share the parts that an ACK, a report and a loss need: [`paper`] has the paper's decisions in the paper's
//! order, [`product`] has them with what measurements added. Windows count segments here and payload bytes outside; the
//! reported rate counts IP bytes.

mod doubt;
pub mod paper;
pub mod product;
mod reports;
mod round;
mod sender;
mod sizes;
mod state;

pub use self::paper::Paper;
pub use self::product::{Alpha, Beyond, Params, Post, Product, Verdict};
pub use self::sender::Sender;
use crate::registry::{AnyController, Entry, Parameter, Reports};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "xrc",
        title: "XRC",
        about: "XRC (ICC 2022): the cell's explicit rate and queue delay; xrc:n=5,theta=0 sets parameters",
        reports: Reports::Share,
        modes: Some(MODES),
        parameters: &DEFAULT,
        make: |cfg, p| {
            let params = p.read(Params::DEFAULT, |text| Params::DEFAULT.with(text))?;
            let xrc = Xrc::new("xrc", params, cfg.mss, cfg.initial_window);
            Ok(AnyController::Xrc(xrc.into()))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "xrc-paper",
        title: "XRC (paper profile)",
        about: "XRC by the paper's letter, without what measurements added",
        reports: Reports::Share,
        modes: Some(MODES),
        parameters: &PAPER,
        make: |cfg, p| {
            let (mss, initial) = (cfg.mss, cfg.initial_window);
            if p.text().is_empty() {
                return Ok(AnyController::XrcPaper(Sender::paper(mss, initial).into()));
            }
            // The product with every addition off does the same; a parameter switches one on.
            let params = p.read(Params::PAPER, |text| Params::PAPER.with(text))?;
            let xrc = Xrc::new("xrc-paper", params, mss, initial);
            Ok(AnyController::Xrc(xrc.into()))
        },
        ..Entry::TRANSPORT
    },
];

/// What may follow `xrc:` and `xrc-paper:`.
const DEFAULT: [Parameter; 21] = product::parameters(Params::DEFAULT);
const PAPER: [Parameter; 21] = product::parameters(Params::PAPER);

/// The product's sender.
pub type Xrc = Sender<Product>;

/// Segments of the least window outside of a timeout.
const MIN_WINDOW: f64 = 2.0;
/// Segments of the largest window.
const MAX_WINDOW: f64 = (1 << 30) as f64;

/// What the sender does, by its code in the snapshot's `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// No reports: `NewReno`.
    NoFeedback,
    /// On the way to the first target, whatever the queue.
    Start,
    /// To the target window in one RTT.
    Fast,
    /// One segment per RTT above the target.
    Probe,
    /// Back to the target: the queue exceeded the budget.
    Reset,
    /// One segment per RTT: the queue exceeds the budget again.
    Slow,
    /// Growth that makes the others lose.
    Unfair,
    /// The bottleneck lies beyond the radio.
    Internet,
    /// Careful growth after such a bottleneck was seen.
    InternetProbe,
    /// Fast recovery.
    Recovery,
    /// Slow start after a timeout.
    SlowStart,
    /// CUBIC at a bottleneck beyond the radio that others share.
    Compete,
}

/// Names of the modes, in the order of their codes.
pub const MODES: &[&str] = &[
    "NO_FEEDBACK",
    "START",
    "FAST",
    "PROBE",
    "RESET",
    "SLOW",
    "UNFAIR",
    "INTERNET",
    "IPROBE",
    "RECOVERY",
    "SLOW_START",
    "COMPETE",
];

/// The name of the mode that the snapshot codes as `code`; `"?"` for none.
pub const fn mode_name(code: u8) -> &'static str {
    if (code as usize) < MODES.len() {
        MODES[code as usize]
    } else {
        "?"
    }
}

#[cfg(test)]
mod tests;
