//! The estimator that the stack calls, and that the application reads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant as StdInstant;

use rtc_interceptor::{
    BandwidthEstimator, CongestionControlBuilder, EstimatorStats, PacketReport, Registry, Slot,
};
use slackwater_control::{
    AnyMedia, Config, EcnMode, MediaController as _, UnknownController, build_media,
};
use slackwater_core::{Duration, Ecn, Rate};

use crate::pace::Pace;
use crate::state::{AROUND, State};
use crate::watch::{WIRE, Watch};

/// The least time from one wake-up to the next: the trait forbids a deadline that does not advance.
const STEP: Duration = Duration::from_millis(1);

/// A media controller behind webrtc-rs' trait. Clones share the controller: one goes into the stack, one stays with the encoder.
#[derive(Clone, Debug)]
pub struct Estimator(Arc<Mutex<State>>);

impl Estimator {
    /// The controller of this name, such as `cl4s` or `gcc`. `now` is the first instant that it sees; `config.mss` is the payload of a
    /// full RTP packet in bytes.
    ///
    /// # Errors
    /// Where no media controller has this name, or its parameters cannot be read.
    pub fn new(now: StdInstant, name: &str, config: &Config) -> Result<Self, UnknownController> {
        Ok(Self::with(now, build_media(name, config)?, config.mss))
    }

    /// A controller that was built elsewhere, one of your own for instance. `mss` is the payload of a full RTP packet in bytes.
    pub fn with(now: StdInstant, controller: AnyMedia, mss: u32) -> Self {
        Self(Arc::new(Mutex::new(State::new(now, controller, mss))))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, and what it guards is whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `registry` with the estimator behind the stack's history, our pacer in the place of the stack's, and the stage at the wire. With
    /// transport-wide reports the stack's `TwccSenderBuilder` is needed beside it (`Slot::TwccSender`).
    #[must_use]
    pub fn install(&self, registry: Registry) -> Registry {
        let control = CongestionControlBuilder::new(self.clone()).build();
        registry
            .with(Slot::from(WIRE), self.watch())
            .with(Slot::CongestionControl, control)
            .with(Slot::Pacer, self.pace())
    }

    /// The pacer alone, for `Slot::Pacer`.
    pub fn pace(&self) -> Pace {
        Pace::new(self.clone())
    }

    /// The stage at the wire alone, for [`WIRE`]: from now on the controller hears of packets as they leave.
    pub fn watch(&self) -> Watch {
        self.state().watched = true;
        Watch::new(self.clone())
    }

    /// What the encoder should give, in bits of RTP payload.
    pub fn target(&self) -> Rate {
        self.state().controller.intent().target.unwrap_or_default()
    }

    /// The ECN field that media should leave with. [`Watch`] sets it.
    pub fn ecn(&self) -> Ecn {
        match self.state().controller.intent().ecn {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic | EcnMode::Dctcp => Ecn::Ect0,
            EcnMode::L4s => Ecn::Ect1,
        }
    }

    /// The smoothed round trip (RFC 6298); zero before the first report.
    pub fn srtt(&self) -> Duration {
        self.state().path.srtt
    }
}

impl BandwidthEstimator for Estimator {
    fn on_reports(&mut self, now: StdInstant, reports: &[PacketReport]) {
        self.state().on_reports(now, reports);
    }

    /// The pacing rate: who reads this is the stack's pacer, which counts RTP packets without what stands around them.
    fn target_bitrate(&self) -> f64 {
        let state = self.state();
        let intent = state.controller.intent();
        let wire = f64::from(state.path.wire_mss);
        match (intent.pacing, intent.target) {
            (Some(rate), _) => rate.as_bps() as f64 * (wire - f64::from(AROUND)) / wire,
            (None, Some(rate)) => {
                rate.as_bps() as f64 * (wire - f64::from(AROUND)) / f64::from(state.path.mss)
            }
            (None, None) => 0.0,
        }
    }

    fn handle_timeout(&mut self, now: StdInstant) {
        let mut state = self.state();
        let now = state.ours(now);
        state.served = now;
        let path = state.path;
        if state.controller.next_timer().is_some_and(|t| t <= now) {
            state.controller.on_timer(now, &path);
        }
    }

    fn poll_timeout(&self) -> Option<StdInstant> {
        let state = self.state();
        let at = state.controller.next_timer()?;
        Some(state.std(at.max(state.served + STEP)))
    }

    fn stats(&self) -> EstimatorStats {
        let srtt = self.srtt();
        let mut stats = EstimatorStats::default();
        stats.round_trip_time =
            (!srtt.is_zero()).then(|| std::time::Duration::from_nanos(srtt.as_nanos()));
        stats
    }
}
