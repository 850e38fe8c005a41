//! `[upf]`: what the core network's user plane does to the cell's sessions.

use slackwater_core::{Duration, Rate};
use slackwater_edge::gnb::ReporterConfig;
use slackwater_edge::upf::cecc::CeccConfig;
pub use slackwater_edge::upf::cecc::{Mode as CeccMode, Schedule};
use slackwater_edge::upf::l4s_marker::L4sMarkerConfig;
use slackwater_edge::upf::vaqm::{self, VaqmConfig};
use slackwater_edge::upf::zhuge::ZhugeConfig;
use slackwater_queue::{CodelConfig, LawConfig};
pub use slackwater_sim::Profile;

use crate::field::{Field as _, choice, optional, section};
use crate::law::{Law, LawName};
use crate::units::Percent;

optional! {
    /// Whether vAQM is there, and how it moves the bottleneck.
    pub struct Mode or "off" of vaqm::Mode;
}
choice! {
    /// Defaults of vAQM's least target.
    pub enum Preset {
        /// LTE: 20 ms.
        Lte = "lte",
        /// NR: 10 ms.
        Nr = "nr",
        /// Rather throughput than delay: 40 ms.
        Throughput = "throughput",
    }
}
section! {
    /// vAQM: active queue management for each session, before the cell's queue.
    pub struct Vaqm {
        /// Whether it is there, and how it moves the bottleneck.
        pub mode: Mode = Mode(None),
        /// What `min_target` is where it is left out.
        pub preset: Preset = Preset::Lte,
        /// Target queue delay as a share of the path RTT.
        #[within(Percent(1.0), Percent(1000.0))]
        pub fraction: Percent = Percent(100.0 * VaqmConfig::default().fraction),
        /// Least target queue delay; left out, by `preset`.
        #[within(Duration::from_millis(1), Duration::from_secs(1))]
        pub min_target: Option<Duration> = None,
        /// Largest target queue delay.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub max_target: Duration = VaqmConfig::default().max_target,
        /// The law of its queues; `CoDel` is timed by the path.
        pub module: LawName = LawName(Law::BuiltIn(LawConfig::Codel(CodelConfig::default()))),
        /// Limit flows that do not answer to drops.
        pub police: bool = VaqmConfig::default().police,
    }
    check(me, at) {
        if let Some((found, expected)) = me.contradiction() {
            return Err(at.error(found, expected));
        }
    }
}
section! {
    /// What the vAQM of one session, or of a `QoS` flow of guaranteed rate, has of its own.
    pub struct OwnVaqm {
        /// How it moves the bottleneck; left out, as all.
        pub mode: Option<Mode> = None,
        /// What `min_target` is where it is left out; left out, as all.
        pub preset: Option<Preset> = None,
        /// Target queue delay as a share of the path RTT; left out, as all.
        #[within(Percent(1.0), Percent(1000.0))]
        pub fraction: Option<Percent> = None,
        /// Least target queue delay; left out, by a `preset` of its own, else as all.
        #[within(Duration::from_millis(1), Duration::from_secs(1))]
        pub min_target: Option<Duration> = None,
        /// Largest target queue delay; left out, as all.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub max_target: Option<Duration> = None,
        /// The law of its queues; left out, as all.
        pub module: Option<LawName> = None,
        /// Limit flows that do not answer to drops; left out, as all.
        pub police: Option<bool> = None,
    }
    check(me, at) {
        if me.mode == Some(Mode(None)) {
            return Err(at.error("mode = \"off\" for one instance", "\"measure\", which measures alone"));
        }
    }
}

impl Vaqm {
    /// The parameters of an instance that has some of its own.
    #[must_use]
    pub fn with(&self, own: &OwnVaqm) -> Self {
        let min_target = if own.preset.is_some() {
            None
        } else {
            self.min_target
        };
        Self {
            mode: own.mode.unwrap_or(self.mode),
            preset: own.preset.unwrap_or(self.preset),
            fraction: own.fraction.unwrap_or(self.fraction),
            min_target: own.min_target.or(min_target),
            max_target: own.max_target.unwrap_or(self.max_target),
            module: own.module.clone().unwrap_or_else(|| self.module.clone()),
            police: own.police.unwrap_or(self.police),
        }
    }

    /// What contradicts itself, and what was expected.
    pub(crate) fn contradiction(&self) -> Option<(String, &'static str)> {
        let least = crate::build::upf::min_target(self);
        (self.max_target < least).then(|| {
            let found = format!(
                "max_target = \"{}\" below min_target = \"{least}\"",
                self.max_target
            );
            (found, "max_target of at least min_target")
        })
    }
}

section! {
    /// CECC: frames of real-time media wait outside of the cell until their slot.
    pub struct Cecc {
        /// Whether it is there, and how a frame is kept back.
        pub mode: CeccMode = CeccMode::Off,
        /// Whose frame may go.
        pub schedule: Schedule = CeccConfig::default().schedule,
        /// The delay standard.
        #[within(Duration::from_millis(1), Duration::from_secs(1))]
        pub standard: Duration = CeccConfig::default().standard,
        /// How long before a slot is decided on the bytes granted for it should be at the base station.
        #[within(Duration::ZERO, Duration::from_millis(10))]
        pub margin: Duration = CeccConfig::default().margin,
    }
}
section! {
    /// Zhuge (SIGCOMM 2022): hold each ACK by what the packets that come now will wait in the cell beyond what those that
    /// leave now have waited.
    pub struct Zhuge {
        /// Whether it is there.
        pub on: bool = false,
        /// The rate of the cell's queue is that of so much time.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub window: Duration = ZhugeConfig::default().window,
        /// The longest hold.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub most: Duration = ZhugeConfig::default().most,
    }
}
section! {
    /// Mark ECT(1) packets as the cell's congestion reports say (TS 23.501, 5.37.3).
    pub struct L4s {
        /// Whether the marker is there.
        pub on: bool = false,
        /// The cell asks for no marks while the oldest packet in the queue is younger than this.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub low: Duration = Duration::from_millis(5),
        /// From this age on it asks for a mark on every packet.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub high: Duration = Duration::from_millis(20),
        /// A report counts for this long after the cell read it.
        #[within(Duration::from_millis(1), Duration::from_secs(100))]
        pub hold: Duration = L4sMarkerConfig::default().hold,
    }
    check(me, at) {
        if me.high < me.low {
            return Err(at.error(
                format!("high = \"{}\" below low = \"{}\"", me.high, me.low),
                "high of at least low"));
        }
    }
}
section! {
    /// The cell's reports of its queues to CECC, Zhuge and the marker.
    pub struct Reports {
        /// Which fields of GTP-U carry them.
        pub profile: Profile = Profile::Multi,
        /// Time between two reports.
        #[within(Duration::from_micros(125), Duration::from_secs(1))]
        pub period: Duration = ReporterConfig::default().period,
        /// When the first report is made.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub phase: Duration = ReporterConfig::default().phase,
        /// One-way delay of a report; left out, `upf.n3`.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub delay: Option<Duration> = None,
        /// Extra delay of each report, uniform from zero to this; order is kept.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub jitter: Duration = Duration::ZERO,
        /// Share of reports that never arrive.
        #[within(Percent(0.0), Percent(100.0))]
        pub loss: Percent = Percent(0.0),
        /// From here on no report leaves; left out, never.
        #[within(Duration::ZERO, Duration::from_secs(1_000_000))]
        pub stop: Option<Duration> = None,
    }
}
section! {
    /// A longer way between the UPF and the base station in every second `period`, as after handovers.
    pub struct Detour {
        /// How much longer it is, each way; left out, there is no detour.
        #[within(Duration::from_micros(1), Duration::from_secs(1))]
        pub extra: Option<Duration> = None,
        /// How long each way holds.
        #[within(Duration::from_millis(1), Duration::from_secs(1_000_000))]
        pub period: Duration = Duration::from_secs(10),
        /// vAQM receives a notice of each change, as of a path switch (TS 23.502, 4.9.1.2).
        pub notice: bool = false,
    }
}

section! {
    /// A user plane function between the servers and the cell, with vAQM, CECC, Zhuge, a marker for L4S or several of them
    /// (on the way down in this order). Left out, there is none.
    pub struct Upf {
        /// One-way delay between the UPF and the base station; the rest of a flow's wired RTT lies beyond the UPF.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub n3: Duration = Duration::from_micros(200),
        /// A longer way to the base station now and then.
        pub detour: Detour = Detour::example(),
        /// Session AMBR of every UE (TS 23.501, 5.7.1.6), which vAQM enforces; left out, none. A UE may have its own.
        #[within(Rate::from_bps(64_000), Rate::from_bps(100_000_000_000))]
        pub ambr: Option<Rate> = None,
        /// Active queue management.
        pub vaqm: Vaqm = Vaqm::example(),
        /// Frames kept outside of the cell.
        pub cecc: Cecc = Cecc::example(),
        /// Held ACKs.
        pub zhuge: Zhuge = Zhuge::example(),
        /// Marks for L4S.
        pub l4s: L4s = L4s::example(),
        /// A system that the running program adds (see docs/tutorials/system.md), perhaps with parameters after `:`; it
        /// stands nearest to the cell.
        pub system: Option<String> = None,
        /// The cell's reports to these functions.
        pub reports: Reports = Reports::example(),
    }
    check(me, at) {
        let queues = me.cecc.mode != CeccMode::Off || me.zhuge.on;
        if me.reports.profile == Profile::Container && queues {
            return Err(at.error(
                "reports.profile = \"container\" with CECC or Zhuge, which go by queues",
                "\"session\" or \"multi\", which carry queues"));
        }
    }
}
