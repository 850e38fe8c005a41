//! PCC: performance-oriented congestion control. A sender tries rates for a monitor interval each, computes from what came
//! of the packets sent in it how well the rate did (a utility), and moves to where the utility is higher.
//!
//! [`allegro`] is the first (Dong, Li, Zarchy, Godfrey, Schapira: "PCC: Re-architecting Congestion Control for Consistent High
//! Performance", NSDI 2015), [`vivace`] the second (Dong, Meng, Zarchy, Arslan, Gilad, Godfrey, Schapira: "PCC Vivace:
//! Online-Learning Congestion Control", NSDI 2018). [`monitor`] keeps the intervals' books for both.

pub mod allegro;
pub mod monitor;
pub mod utility;
pub mod vivace;

/// Window of a sender whose rate alone limits it, in segments: it only keeps the arithmetic in range.
const UNBOUNDED: u64 = 1 << 24;
/// RTT before any sample, seconds (authors' `kInitialRtt`).
const INITIAL_RTT: f64 = 0.1;
/// Most that is tried, bit/s: keeps the arithmetic in range.
const MOST_RATE: f64 = 1e11;
