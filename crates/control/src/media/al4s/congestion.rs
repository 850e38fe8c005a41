//! Congestion tracker (aL4S-CC, section IV-A): how quickly the queue becomes congested, and how long it was not.

/// Bounds of the delay gradient (section IV-A).
pub const GRADIENT: (f64, f64) = (0.5, 4.5);
/// Feedbacks that the history can hold.
const MOST: usize = 64;

/// The tracker's state.
#[derive(Clone, Debug)]
pub struct CongestionTracker {
    /// Delay gradient.
    gradient: f64,
    /// tau: seconds without a mark.
    free: f64,
    /// The FCE of the last feedbacks, in a ring.
    history: [f64; MOST],
    window: usize,
    at: usize,
}

impl CongestionTracker {
    /// A tracker with a history of `window` feedbacks.
    pub fn new(window: usize) -> Self {
        Self {
            gradient: GRADIENT.0,
            free: 0.0,
            history: [0.0; MOST],
            window: window.clamp(1, MOST),
            at: 0,
        }
    }

    /// A feedback `dt` seconds after the last one, whose fraction of marked packets is `fce`.
    pub fn update(&mut self, fce: f64, dt: f64) {
        // "duration tau for which no CE-marked packets have been received": any mark ends it.
        self.free = if fce > 0.0 { 0.0 } else { self.free + dt };
        // eq. 3: a sum of consecutive differences telescopes.
        let sigma = fce - self.history[self.at];
        self.history[self.at] = fce;
        self.at = (self.at + 1) % self.window;
        // eq. 2.
        if fce > 0.0 {
            self.gradient += sigma.max(0.0);
        } else {
            self.gradient -= self.free;
        }
        self.gradient = self.gradient.clamp(GRADIENT.0, GRADIENT.1);
    }

    /// A lost packet: congestion of another kind (ours, with the guard).
    pub fn on_congestion(&mut self) {
        self.free = 0.0;
    }

    /// The delay gradient.
    pub const fn gradient(&self) -> f64 {
        self.gradient
    }

    /// tau in seconds.
    pub const fn free(&self) -> f64 {
        self.free
    }
}
