//! Slackwater's media controllers in the pipeline of webrtc-rs (crate `rtc`, 0.21): its trait
//! [`BandwidthEstimator`](rtc_interceptor::BandwidthEstimator), and what that trait does not carry.
//!
//! The trait takes reports and returns a rate. A controller also needs the packets that leave, the round trip and the bytes in flight,
//! and sets the ECN mark: [`Watch`] is a stage at the wire for these. [`Pace`] takes the place of the stack's pacer. [`Estimator::install`]
//! puts all into a registry:
//!
//! ```
//! use std::time::Instant;
//! use rtc_interceptor::Registry;
//! use slackwater_control::Config;
//! use slackwater_core::Draw;
//! use slackwater_estimator::Estimator;
//!
//! let cc = Estimator::new(Instant::now(), "cl4s", &Config::new(1200, Draw::new(1)))?;
//! let registry = cc.install(Registry::new());
//! // .. give the registry to the peer connection, and at each frame:
//! assert_eq!(cc.target(), Config::new(1200, Draw::new(1)).encoder.start);
//! # drop(registry.build());
//! # Ok::<(), slackwater_control::UnknownController>(())
//! ```
//!
//! What is missing: padding that probes for bandwidth, and a discard of frames that wait. See docs/rtc.md.

mod estimator;
mod pace;
mod state;
mod watch;

pub use estimator::Estimator;
pub use pace::Pace;
pub use watch::{WIRE, Watch};
