//! `[flow.app] kind = "media"`: real-time media over RTP.

use slackwater_core::{Duration, Rate};

use crate::field::{choice, section};
use crate::units::Percent;

choice! {
    /// Format of RTCP's reports.
    pub enum Report {
        /// Congestion control feedback (RFC 8888), with ECN.
        Ccfb = "ccfb",
        /// Transport-wide congestion control, without ECN.
        Twcc = "twcc",
    }
}
choice! {
    /// The ECN field of media packets.
    pub enum MediaEcn {
        /// As the controller wants it.
        Controller = "controller",
        /// Not-ECT, as if something on the way cleared it.
        Off = "off",
        /// ECT(1), whatever the controller wants.
        Ect1 = "ect1",
    }
}
choice! {
    /// What frames are like and how they leave.
    pub enum Frames {
        /// Sizes deviate by themselves, and the pacer spreads each over its time.
        Even = "even",
        /// As Chromium's: sizes deviate by 53 %, rates of a second by 20 %, and a frame leaves at once.
        Chromium = "chromium",
    }
}
section! {
    /// Real-time media over RTP: an encoder that follows the flow's controller, which must be one for media.
    pub struct Media {
        /// Frames a second.
        #[within(1.0, 1000.0)]
        pub fps: f64 = 60.0,
        /// Rate of the encoder before any feedback, payload.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub start: Rate = Rate::from_bps(2_000_000),
        /// Its least rate.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub min: Rate = Rate::from_bps(300_000),
        /// Its greatest rate.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub max: Rate = Rate::from_bps(100_000_000),
        /// Time constant with which it follows; 0: at the next frame.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub lag: Duration = Duration::ZERO,
        /// What frames are like and how they leave the pacer; sets the defaults of `size_cv` and `burst`.
        pub frames: Frames = Frames::Even,
        /// Standard deviation of the frame size, in percent of the mean; left out, 5 %, or 53 % of Chromium's.
        #[within(Percent(0.0), Percent(100.0))]
        pub size_cv: Option<Percent> = None,
        /// Time between key frames; left out, only those that are asked for.
        #[within(Duration::from_millis(10), Duration::from_secs(10_000))]
        pub key_interval: Option<Duration> = None,
        /// Size of a key frame in mean frames; those after it save what it took.
        #[within(1.0, 100.0)]
        pub key_scale: f64 = 1.0,
        /// The first frame comes a uniform share of an interval late, so that flows are not in step.
        pub random_phase: bool = true,
        /// No frame is captured from this time of the run until `resume`; left out, the media never pauses.
        #[within(Duration::ZERO, Duration::from_secs(1_000_000))]
        pub pause: Option<Duration> = None,
        /// End of the pause.
        #[within(Duration::ZERO, Duration::from_secs(1_000_000))]
        pub resume: Duration = Duration::from_secs(1_000_000),
        /// Target end-to-end delay of the service (TE of the aL4S-CC paper), which its controllers are told.
        #[within(Duration::from_millis(6), Duration::from_secs(10))]
        pub service: Duration = Duration::from_millis(60),
        /// A frame that is complete later than this after its capture is late; left out, `service` and the time between
        /// two frames, over which a frame is paced.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub deadline: Option<Duration> = None,
        /// IP bytes of a full packet.
        #[within(200, 9000)]
        pub packet: u16 = 1200,
        /// Pacing rate in target rates, headers added; left out, what the controller says.
        #[within(0.5, 100.0)]
        pub pacing: Option<f64> = None,
        /// What the pacer lets go at once, as time at its rate; left out, what the controller says, or 40 ms of Chromium's
        /// frames (libwebrtc's burst interval).
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub burst: Option<Duration> = None,
        /// Nothing waits longer than this for the pacer, which then goes faster; left out, 2 s (libwebrtc), the time of
        /// a frame for `al4s-c` and `al4s-s` unless `prompt=off` is set, or 100 ms where it is thrown away (`SCReAM`).
        #[within(Duration::from_millis(1), Duration::from_secs(100))]
        pub longest_wait: Option<Duration> = None,
        /// What waits longer is thrown away in place of that, with all behind it; left out, for `scream` alone, as its
        /// authors' code clears its RTP queue.
        pub discard: Option<bool> = None,
        /// What may be in flight above the controller's window, as time at its target, since reports once a frame free the window so
        /// late; left out, nothing. `slackwater rtc send` gives the time of a frame.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub unreported: Option<Duration> = None,
        /// ECN field.
        pub ecn: MediaEcn = MediaEcn::Controller,
        /// Format of reports.
        pub feedback: Report = Report::Ccfb,
        /// Time between reports; left out, one at the end of each frame (RFC 9392).
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub every: Option<Duration> = None,
        /// RTCP packets lost at random on the wired part.
        #[within(Percent(0.0), Percent(100.0))]
        pub feedback_loss: Percent = Percent(0.0),
        /// Missing packets are asked for and sent again.
        pub nack: bool = true,
        /// Frames are shown so long after their capture; left out, as late as their jitter wants.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub playout: Option<Duration> = None,
        /// Frames after one that was given up wait for a key frame, which is asked for.
        pub needs_key: bool = false,
        /// The UE tells the sender the thresholds of the bottleneck's ramp, where it has one; cL4S goes by them. It tells at the flow's start
        /// and each second after, by a datagram for which `feedback`'s delay, jitter and faults hold. A sender that takes the base station's
        /// counters is not told.
        pub told: bool = true,
    }
    check(me, at) {
        if let Some(pause) = me.pause.filter(|p| *p >= me.resume) {
            return Err(at.error(
                format!("pause = \"{pause}\" and resume = \"{}\"", me.resume), "resume after pause"));
        }
        if !(me.min <= me.start && me.start <= me.max) {
            return Err(at.error(
                format!("min = \"{}\", start = \"{}\", max = \"{}\"", me.min, me.start, me.max),
                "min of at most start, start of at most max"));
        }
    }
}

impl Media {
    /// A frame that is complete later than this after its capture is late.
    pub fn late_after(&self) -> Duration {
        let frame = Duration::from_secs_f64(1.0 / self.fps);
        self.deadline.unwrap_or(self.service + frame)
    }
}
