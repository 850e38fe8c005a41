//! XRC's sender as the paper has it and nothing more: section III-B, in its order and with its symbols.
//!
//! Quotation marks hold the paper's sentences. "Open" marks what the paper leaves to whoever builds it; docs/xrc.md says
//! why each was decided so. `sender` calls these methods as ACKs, reports and losses arrive; what this
//! project adds stands beside, in [`product`](super::product).

use slackwater_core::Instant;

use super::round::Measured;
use super::sender::{Algorithm, Sender};
use super::state::State;
use super::{MAX_WINDOW, MIN_WINDOW, Mode};
use crate::{Ack, Cause, CongestionEvent, PathView};

/// The queuing budget lambda, in seconds: "The queue budget is 10ms" (section IV).
const LAMBDA: f64 = 0.010;
/// RTTs of slow increase before the unfairness mode: "e.g., N=10".
const N: u32 = 10;
/// Open: a report is not authenticated. The rate counts up to this multiple of what arrived, which never binds an honest
/// agent.
const CLAMP: f64 = 10.0;

/// XRC's algorithm. All of its state is `State`: CWND, twnd, sigma, the reports and the window of data.
#[derive(Clone, Copy, Debug)]
pub struct Paper;

impl Sender<Paper> {
    /// The paper's sender with an initial window of `initial` segments of `mss` bytes.
    pub fn paper(mss: u32, initial: u32) -> Self {
        Self::with("xrc-paper", Paper, State::new(mss, initial, CLAMP))
    }
}

impl Algorithm for Paper {
    fn lambda(&self) -> f64 {
        LAMBDA
    }

    /// "Upon reception of an ACK with explicit feedback, XRC calculates a target congestion window (twnd)."
    fn target(&self, s: &State) -> f64 {
        // Equation 2: twnd = R_exp * RTT_min.
        s.window(s.r_exp(), s.rtt_min())
    }

    /// "The XRC Sender estimates the queuing delay (sigma) in every window of data", and decides by it.
    fn decide(&mut self, s: &mut State, _now: Instant, path: &PathView, window: &Measured) {
        let mean_rtt = window.rtt.unwrap_or(path.srtt.as_secs_f64());

        // Equation 3: sigma = max { mean of RTT_j - RTT_min, HoL_exp }.
        let end_to_end = (mean_rtt - s.rtt_min()).max(0.0);
        s.sigma = end_to_end.max(s.hol_exp());

        if s.sigma <= LAMBDA {
            avoid_congestion(s, path);
        } else {
            match bottleneck(end_to_end, s.hol_exp()) {
                Bottleneck::Internet => follow_standard_tcp(s),
                Bottleneck::Cellular => drain_or_fight(s),
            }
        }
    }

    /// The weight factor alpha "dictates the aggressiveness": CWND grows by alpha segments in an RTT.
    fn grow(&mut self, s: &mut State, _now: Instant, _path: &PathView, ack: &Ack) {
        let rapid = s.mode == Mode::Fast;

        // Open: a window that the sender does not use does not grow, as in standard TCP; the way to the target does not
        // depend on use.
        if ack.cwnd_limited || (rapid && !ack.app_limited) {
            let most = if rapid {
                s.twnd.max(s.cwnd)
            } else {
                MAX_WINDOW
            };
            s.add(ack, most);
        }
    }

    fn threshold(&self, s: &State, event: &CongestionEvent, explicit: bool) -> f64 {
        threshold(s, event, explicit)
    }

    fn snapshot(&self, s: &State, out: &mut Vec<(&'static str, f64)>) {
        let internet = s.mode == Mode::Internet;
        out.push(("lambda", LAMBDA));
        out.push(("internet", f64::from(u8::from(internet))));
    }
}

/// Where the bottleneck link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bottleneck {
    /// "in the Internet portion of the path".
    Internet,
    /// "at a cellular link".
    Cellular,
}

/// "Detection of the bottleneck location. When the RLC `HoL` delay is below the queuing budget and the observed end-to-end
/// queuing delay exceeds the RLC `HoL` delay by more than the queuing budget, XRC deduces that the bottleneck link is in
/// the Internet portion of the path." Open: any other queue above the budget counts as the cell's.
fn bottleneck(end_to_end: f64, hol_exp: f64) -> Bottleneck {
    if hol_exp < LAMBDA && end_to_end > hol_exp + LAMBDA {
        Bottleneck::Internet
    } else {
        Bottleneck::Cellular
    }
}

/// "Congestion Avoidance": the queuing delay is within the budget.
fn avoid_congestion(s: &mut State, path: &PathView) {
    s.high = 0;
    // Open: the unfairness mode ends at the target.
    if s.mode == Mode::Unfair {
        s.cwnd = s.cwnd.min(s.twnd);
    }

    // Packets are whole: less than a segment below the target is at it.
    if s.cwnd + 1.0 > s.twnd {
        // "Once the estimated target window is reached, XRC increases the CWND slowly (i.e., one segment per RTT)."
        s.enter(Mode::Probe, 1.0);
    } else {
        // alpha "is large when the congestion window (CWND) is lower than the estimated target window": "a rapid increase
        // (i.e., within 2 RTTs)". Open: no step below alpha = twnd - CWND is that rapid.
        s.enter_fast(Mode::Fast, path);
    }
}

/// "XRC behaves similar to standard TCP (alpha=1), when it detects an Internet bottleneck, which continues until the sender
/// reaches the target rate, during which it sends with a steady rate until a packet is dropped or the estimated queuing
/// delay becomes smaller than the budget."
pub(super) fn follow_standard_tcp(s: &mut State) {
    s.high = 0;
    let alpha = if s.cwnd < s.twnd { 1.0 } else { 0.0 };
    s.enter(Mode::Internet, alpha);
}

/// The queue of the cell exceeds the budget.
fn drain_or_fight(s: &mut State) {
    s.high = s.high.saturating_add(1);
    if s.high <= N + 1 {
        drain(s);
    } else {
        // "alpha becomes temporarily large until the competing flows slow down due to packet losses." Open: alpha = twnd.
        s.enter(Mode::Unfair, s.twnd);
    }
}

/// Back to the target, and slowly on.
pub(super) fn drain(s: &mut State) {
    if s.high == 1 {
        // "XRC resets the CWND to the estimated target window when the end-to-end queuing delay exceeds the pre-defined
        // queuing budget."
        s.cwnd = s.cwnd.min(s.twnd);
        s.enter(Mode::Reset, 0.0);
    } else {
        // "Unfairness mode. XRC increases slowly for N number of RTTs". Open: by a segment, from a target that follows a
        // drop of capacity up to the agent's 40 TTIs late.
        s.cwnd = s.cwnd.min(s.twnd + f64::from(s.high - 1));
        s.enter(Mode::Slow, 1.0);
    }
}

/// "Finally, XRC follows standard TCP's loss recovery and slow start mechanism." Open: the threshold is the target where
/// reports still say that it fits, and after the unfairness mode; half of the window otherwise.
pub(super) fn threshold(s: &State, event: &CongestionEvent, explicit: bool) -> f64 {
    match event.cause {
        Cause::Timeout if explicit => s.twnd.max(MIN_WINDOW),
        Cause::Loss | Cause::Ecn if s.mode == Mode::Unfair => s.cwnd.min(s.twnd),
        _ => s.half(),
    }
}

#[cfg(test)]
mod tests;
