//! `[link]`, `[wired]`, `[path]` and the queues in front of them.

use slackwater_core::{Bytes, Duration, Rate};

use crate::data::{LEAST_ROUND, RateFile, TraceFile};
use crate::error::ScenarioError;
use crate::field::{At, Field, section, tagged};
use crate::law::Law;
use crate::units::{Limit, Percent};

section! {
    /// Pauses of a forwarding host: what falls due during one leaves at its end.
    pub struct Stalls {
        /// One pause begins in each of these periods, at a uniform time.
        #[within(Duration::from_millis(1), Duration::from_secs(100))]
        pub every: Duration = Duration::from_millis(100),
        /// Its length is uniform from zero to this.
        #[within(Duration::from_micros(1), Duration::from_secs(10))]
        pub longest: Duration = Duration::from_millis(16),
    }
}

section! {
    /// The wired part of the path, the same for every flow unless the flow says otherwise.
    pub struct Path {
        /// Round-trip time without any queue and without the radio: half of it each way.
        #[within(Duration::ZERO, Duration::from_secs(100))]
        pub rtt: Duration = Duration::from_millis(30),
        /// Extra delay of each packet on its way to the bottleneck, uniform from zero to this; order is kept. Left
        /// out, it is one slot for a cell (without it, arrivals in step with slots lock flows out) and nothing for a link.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub jitter: Option<Duration> = None,
        /// Pauses of the host that forwards the packets, as a user-space emulator has them; left out, none.
        pub stalls: Option<Stalls> = None,
        /// Random loss on the wired part towards the receiver.
        #[within(Percent(0.0), Percent(100.0))]
        pub loss: Percent = Percent(0.0),
    }
}

impl Default for Path {
    fn default() -> Self {
        Self::example()
    }
}

section! {
    /// One queue, first in first out.
    pub struct FifoQueue {
        /// Room; what does not fit is dropped at the tail.
        pub limit: Limit = Limit::Packets(1000),
        /// Law.
        pub law: Law = Law::NONE,
    }
}

section! {
    /// Fair queueing with CoDel in each flow's queue (RFC 8290).
    pub struct FqQueue {
        /// Room of all queues together.
        pub limit: Limit = Limit::Packets(10_240),
        /// Queues that flows are hashed to.
        #[within(1, 65_536)]
        pub flows: u32 = 1024,
        /// Bytes that a flow may send per round.
        #[within(Bytes(1), Bytes(1_000_000))]
        pub quantum: Bytes = Bytes(1514),
        /// CoDel's acceptable standing delay.
        #[within(Duration::from_micros(1), Duration::from_secs(10))]
        pub target: Duration = Duration::from_millis(5),
        /// CoDel's interval.
        #[within(Duration::from_micros(1), Duration::from_secs(100))]
        pub interval: Duration = Duration::from_millis(100),
        /// Mark ECN-capable packets in place of dropping them.
        pub ecn: bool = true,
    }
}

section! {
    /// Two queues with coupled signals: one for scalable packets (ECT(1), CE), one for all others (`DualPI2`, RFC 9332).
    pub struct DualQueue {
        /// Room of both queues together.
        pub limit: Limit = Limit::Packets(10_000),
        /// Delay of classic traffic to keep.
        #[within(Duration::from_micros(1), Duration::from_secs(10))]
        pub target: Duration = Duration::from_millis(15),
        /// The longest round trip of most traffic; the gains follow from it.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub rtt_max: Duration = Duration::from_millis(100),
        /// k, the coupling factor.
        #[within(0.0, 100.0)]
        pub coupling: f64 = 2.0,
        /// The scalable queue marks nothing by itself up to this delay.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub low: Duration = Duration::from_micros(800),
        /// It marks everything from this delay on.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub high: Duration = Duration::from_micros(1200),
        /// Least share of classic packets while they wait; scalable ones go first otherwise.
        #[within(Percent(0.0), Percent(100.0))]
        pub classic_share: Percent = Percent(10.0),
        /// Serve by arrival in place of that, with scalable packets this much ahead.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub shift: Option<Duration> = None,
    }
    check(me, at) {
        if me.high < me.low {
            return Err(at.error(
                format!("high = \"{}\" below low = \"{}\"", me.high, me.low),
                "high of at least low",
            ));
        }
    }
}

tagged! {
    /// A queue.
    pub enum Queue by "kind" {
        /// One queue, first in first out.
        Fifo(FifoQueue) = "fifo",
        /// A queue for each flow, served in turn, each under CoDel (RFC 8290).
        Fq(FqQueue) = "fq-codel",
        /// A queue for scalable and one for classic traffic, coupled (RFC 9332).
        Dual(DualQueue) = "dualpi2",
    }
}

impl Queue {
    /// A drop-tail queue.
    pub fn drop_tail(limit: Limit) -> Self {
        Self::Fifo(FifoQueue {
            limit,
            law: Law::NONE,
        })
    }
}

/// Bytes that one opportunity of a Mahimahi trace moves (`mm-link`).
pub const OPPORTUNITY: Bytes = Bytes(1504);

section! {
    /// A link that follows a Mahimahi trace: 1,504 bytes at each opportunity, the trace repeated, packets split
    /// over opportunities.
    pub struct TraceLink {
        /// Opportunities towards the receiver.
        pub file: TraceFile,
        /// Opportunities of the other direction; left out, `up_rate` holds.
        pub up_file: Option<TraceFile> = None,
        /// Rate of the other direction; left out, it never delays.
        #[within(Rate::from_bps(1_000), Rate::from_bps(1_000_000_000_000))]
        pub up_rate: Option<Rate> = None,
        /// Queue towards the receiver.
        pub queue: Queue = Queue::drop_tail(Limit::Packets(1000)),
        /// Queue of the other direction.
        pub up_queue: Queue = Queue::drop_tail(Limit::Packets(1000)),
    }
}

section! {
    /// A link of constant rate.
    pub struct RateLink {
        /// Rate towards the receiver.
        #[within(Rate::from_bps(1_000), Rate::from_bps(1_000_000_000_000))]
        pub rate: Rate,
        /// Rate of the other direction; left out, it never delays.
        #[within(Rate::from_bps(1_000), Rate::from_bps(1_000_000_000_000))]
        pub up_rate: Option<Rate> = None,
        /// `true`: opportunities of 1,504 bytes, one per 1,500 bytes of `rate`, as Mahimahi's constant traces have them
        /// (12 Mbit/s is one each millisecond). `false`: each byte takes its own time.
        pub opportunities: bool = true,
        /// Queue towards the receiver.
        pub queue: Queue = Queue::drop_tail(Limit::Packets(1000)),
        /// Queue of the other direction.
        pub up_queue: Queue = Queue::drop_tail(Limit::Packets(1000)),
    }
}

section! {
    /// A link whose rate follows a series, repeated when it ends; each byte takes its own time.
    pub struct SeriesLink {
        /// Rates from a file.
        pub file: Option<RateFile> = None,
        /// Rates given here, as pairs of seconds and Mbit/s.
        pub points: Vec<[f64; 2]> = Vec::new(),
        /// Change from one point to the next in a straight line, in place of a step.
        pub smooth: bool = false,
        /// Length of one round of the series; left out, the last point lasts as long as the one before it.
        #[within(Duration::from_millis(1), Duration::from_secs(1_000_000))]
        pub period: Option<Duration> = None,
        /// Rates of the other direction, as `points`, in steps, with the same round; left out, `up_rate` holds.
        pub up_points: Vec<[f64; 2]> = Vec::new(),
        /// Rate of the other direction; left out, it never delays.
        #[within(Rate::from_bps(1_000), Rate::from_bps(1_000_000_000_000))]
        pub up_rate: Option<Rate> = None,
        /// Queue towards the receiver.
        pub queue: Queue = Queue::drop_tail(Limit::Packets(1000)),
        /// Queue of the other direction.
        pub up_queue: Queue = Queue::drop_tail(Limit::Packets(1000)),
    }
    check(me, at) {
        check_points(at, &me.points)?;
        check_points(at, &me.up_points)?;
        if me.up_points.iter().any(|[t, _]| *t >= me.round().as_secs_f64()) {
            return Err(at.error("a time in up_points beyond the round", "times within one round"));
        }
        if me.file.is_some() != me.points.is_empty() {
            return Err(at.error(
                if me.file.is_some() { "both `file` and `points`" } else { "neither `file` nor `points`" },
                "one of them",
            ));
        }
        if let (Some(period), Some((last, _))) = (me.period, me.rates().last())
            && period <= *last
        {
            return Err(at.error(
                format!("period = \"{period}\" and a last point at {last}"),
                "a period beyond the last point",
            ));
        }
        if me.round() < LEAST_ROUND {
            return Err(at.error(
                format!("a series that repeats each \"{}\"", me.round()),
                format!("a round of at least \"{LEAST_ROUND}\""),
            ));
        }
        if me.rates().iter().all(|(_, r)| r.as_bps() == 0) {
            return Err(at.error("a rate that is always 0", "a rate above 0 at some time"));
        }
    }
}

/// Points must start at or after zero, rise in time and hold finite rates.
fn check_points(at: &At<'_>, points: &[[f64; 2]]) -> Result<(), ScenarioError> {
    let mut last = -1.0;
    for (i, [t, mbps]) in points.iter().enumerate() {
        if !(*t > last && *t >= 0.0 && *t <= 1e6) {
            return Err(at.error(
                format!("the time {t} in points[{i}]"),
                "seconds that rise, from 0 to 1000000",
            ));
        }
        if !(*mbps >= 0.0 && *mbps <= 1e6) {
            return Err(at.error(
                format!("the rate {mbps} in points[{i}]"),
                "Mbit/s from 0 to 1000000",
            ));
        }
        last = *t;
    }
    Ok(())
}

impl SeriesLink {
    /// The points, from wherever they come.
    pub fn rates(&self) -> Vec<(Duration, Rate)> {
        match &self.file {
            Some(file) => file
                .series
                .times
                .iter()
                .zip(&file.series.values)
                .map(|(t, v)| (*t, Rate::from_mbps(*v)))
                .collect(),
            None => self
                .points
                .iter()
                .map(|[t, v]| (Duration::from_secs_f64(*t), Rate::from_mbps(*v)))
                .collect(),
        }
    }

    /// Length of one round of the series.
    pub fn round(&self) -> Duration {
        self.period.unwrap_or_else(|| {
            let rates = self.rates();
            match rates.as_slice() {
                [.., a, b] => b.0 + (b.0 - a.0),
                _ => Duration::from_secs(1),
            }
        })
    }
}

tagged! {
    /// A bottleneck that is a link.
    pub enum Link by "kind" {
        /// A Mahimahi trace.
        Trace(TraceLink) = "trace",
        /// A constant rate.
        Rate(RateLink) = "rate",
        /// A series of rates.
        Series(SeriesLink) = "series",
    }
}

impl Link {
    /// Its queues: towards the receiver, and of the other direction.
    pub fn queues(&self) -> [&Queue; 2] {
        match self {
            Self::Trace(link) => [&link.queue, &link.up_queue],
            Self::Rate(link) => [&link.queue, &link.up_queue],
            Self::Series(link) => [&link.queue, &link.up_queue],
        }
    }
}

section! {
    /// A wired bottleneck in series with the link or cell, on the network side.
    pub struct Wired {
        /// Rate of data towards its receiver: a download comes to the radio by it, and an upload goes on by one of the same kind.
        #[within(Rate::from_bps(1_000), Rate::from_bps(1_000_000_000_000))]
        pub rate: Rate,
        /// Its queue.
        pub queue: Queue = Queue::drop_tail(Limit::Packets(1000)),
    }
}
