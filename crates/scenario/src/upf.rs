//! `[upf]`: what the core network's user plane does to the cell's sessions.

use slackwater_core::{Duration, Rate};
use slackwater_queue::{CodelConfig, LawConfig};

use crate::field::{choice, section};
use crate::law::{Law, LawName};
use crate::units::Percent;

choice! {
    /// Active queue management at the UPF.
    pub enum Aqm {
        /// None.
        None = "none",
        /// Virtual AQM: queues wait at the UPF in place of the cell.
        Vaqm = "vaqm",
    }
}
choice! {
    /// How vAQM moves the bottleneck.
    pub enum Mode {
        /// Packets leave while less is in flight than the bottleneck holds at the target RTT.
        Window = "window",
        /// A rate that integrates the distance from the target RTT.
        Int = "int",
        /// The rate of the article's text.
        Literal = "literal",
        /// The same with states that let the cell's queue drain.
        Drain = "drain",
        /// No queue: the RTT drives drops and marks at once.
        Direct = "direct",
        /// Measures alone.
        Off = "off",
    }
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
choice! {
    /// How CECC keeps a frame back.
    pub enum Cecc {
        /// Not there.
        Off = "off",
        /// As printed: two acknowledgments, a large and a small window.
        Paper = "paper",
        /// The right edge of the window alone.
        Credit = "credit",
        /// Packets wait at the UPF.
        Hold = "hold",
    }
}
choice! {
    /// Whose frame may go.
    pub enum Schedule {
        /// The earliest, while the backlog stays below a slot.
        Edf = "edf",
        /// Algorithm 1 of the paper; `cecc = "paper"` always uses it.
        Alg1 = "alg1",
    }
}

section! {
    /// A user plane function between the servers and the cell, with vAQM, CECC, Zhuge, a marker for L4S or several of them
    /// (on the way down in this order). Left out, there is none.
    pub struct Upf {
        /// One-way delay between the UPF and the base station; the rest of a flow's wired RTT lies beyond the UPF.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub n3: Duration = Duration::from_micros(200),
        /// In every second `detour_period` the way between the UPF and the base station is longer by so much each way, as
        /// after handovers; left out, never.
        #[within(Duration::from_micros(1), Duration::from_secs(1))]
        pub detour: Option<Duration> = None,
        /// How long each way holds.
        #[within(Duration::from_millis(1), Duration::from_secs(1_000_000))]
        pub detour_period: Duration = Duration::from_secs(10),
        /// vAQM is told of each change, as by a path switch (TS 23.502, 4.9.1.2).
        pub detour_told: bool = false,
        /// Session AMBR of every UE (TS 23.501, 5.7.1.6), which vAQM enforces; left out, none. A UE may have its own.
        #[within(Rate::from_bps(64_000), Rate::from_bps(100_000_000_000))]
        pub ambr: Option<Rate> = None,
        /// Active queue management.
        pub aqm: Aqm = Aqm::None,
        /// vAQM: how it moves the bottleneck.
        pub mode: Mode = Mode::Window,
        /// vAQM: what `min_target` is where it is left out.
        pub preset: Preset = Preset::Lte,
        /// vAQM: target queue delay as a share of the path RTT.
        #[within(Percent(1.0), Percent(1000.0))]
        pub fraction: Percent = Percent(50.0),
        /// vAQM: least target queue delay; left out, by `preset`.
        #[within(Duration::from_millis(1), Duration::from_secs(1))]
        pub min_target: Option<Duration> = None,
        /// vAQM: largest target queue delay.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub max_target: Duration = Duration::from_millis(100),
        /// vAQM: the law of its queues; `CoDel` is timed by the path.
        pub module: LawName = LawName(Law::BuiltIn(LawConfig::Codel(CodelConfig::default()))),
        /// vAQM: limit flows that do not answer to drops.
        pub police: bool = true,
        /// CECC: how a frame is kept back.
        pub cecc: Cecc = Cecc::Off,
        /// CECC: whose frame may go.
        pub schedule: Schedule = Schedule::Edf,
        /// CECC: the delay standard.
        #[within(Duration::from_millis(1), Duration::from_secs(1))]
        pub standard: Duration = Duration::from_millis(10),
        /// CECC: how long before a slot is decided on the bytes granted for it should be at the base station.
        #[within(Duration::ZERO, Duration::from_millis(10))]
        pub margin: Duration = Duration::from_micros(200),
        /// Zhuge (SIGCOMM 2022): hold each ACK by what the packets that come now will wait in the cell beyond what those that
        /// leave now have waited.
        pub zhuge: bool = false,
        /// Zhuge: the rate of the cell's queue is that of so much time.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub zhuge_window: Duration = Duration::from_millis(40),
        /// Zhuge: the longest hold.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub zhuge_most: Duration = Duration::from_millis(200),
        /// Mark ECT(1) packets as the cell's congestion reports say (TS 23.501, 5.37.3).
        pub l4s_marker: bool = false,
        /// Marker: the cell asks for no marks while the oldest packet in the queue is younger than this.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub l4s_low: Duration = Duration::from_millis(5),
        /// Marker: from this age on it asks for a mark on every packet.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub l4s_high: Duration = Duration::from_millis(20),
        /// Marker: a report counts for this long after the cell read it.
        #[within(Duration::from_millis(1), Duration::from_secs(100))]
        pub l4s_hold: Duration = Duration::from_millis(200),
        /// A system that the running program adds (see docs/tutorials/system.md), perhaps with parameters after `:`; it
        /// stands nearest to the cell.
        pub system: Option<String> = None,
        /// Time between two reports of the cell's queues.
        #[within(Duration::from_micros(125), Duration::from_secs(1))]
        pub report_period: Duration = Duration::from_millis(1),
        /// When the first report is made.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub report_phase: Duration = Duration::ZERO,
        /// One-way delay of a report; left out, `n3`.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub report_delay: Option<Duration> = None,
        /// Extra delay of each report, uniform from zero to this; order is kept.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub report_jitter: Duration = Duration::ZERO,
        /// Share of reports that never arrive.
        #[within(Percent(0.0), Percent(100.0))]
        pub report_loss: Percent = Percent(0.0),
        /// From here on no report leaves; left out, never.
        #[within(Duration::ZERO, Duration::from_secs(1_000_000))]
        pub report_stop: Option<Duration> = None,
    }
    check(me, at) {
        if me.l4s_high < me.l4s_low {
            return Err(at.error(
                format!("l4s_high = \"{}\" below l4s_low = \"{}\"", me.l4s_high, me.l4s_low),
                "l4s_high of at least l4s_low"));
        }
        let least = crate::build::upf::min_target(me);
        if me.max_target < least {
            return Err(at.error(
                format!("max_target = \"{}\" below min_target = \"{least}\"", me.max_target),
                "max_target of at least min_target"));
        }
    }
}
