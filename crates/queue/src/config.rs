//! Queues by name: plain values that a scenario holds, and the queues built from them.

use slackwater_core::{Bytes, Draw, Instant, PacketView};

use crate::container::{
    DualQ, DualQShape, Fifo, Fq, FqShape, Limits, Overflow, Shaper, ShaperConfig,
};
use crate::law::{AnyLaw, CodelConfig, LawConfig, Pi2, Pi2Config};
use crate::{Queue, QueueView, Sink};

/// A FIFO with its law.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FifoConfig {
    /// How much may wait; the default is any amount.
    pub limits: Limits,
    /// Which packet goes at the limit.
    pub overflow: Overflow,
    /// The law.
    pub law: LawConfig,
}

/// Fair queues with the law of each.
#[derive(Clone, Debug, PartialEq)]
pub struct FqConfig {
    /// Buckets, quantum and limits.
    pub shape: FqShape,
    /// The law; `CoDel` by default, which makes FQ-CoDel.
    pub law: LawConfig,
}

impl Default for FqConfig {
    fn default() -> Self {
        Self {
            shape: FqShape::default(),
            law: LawConfig::Codel(CodelConfig::default()),
        }
    }
}

/// Two queues, coupled (RFC 9332).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DualQConfig {
    /// Limits, the scheduler, and when the scalable queue marks by itself.
    pub shape: DualQShape,
    /// The law that couples them.
    pub law: Pi2Config,
}

/// Which container.
#[derive(Clone, Debug, PartialEq)]
pub enum ContainerConfig {
    /// One ring.
    Fifo(FifoConfig),
    /// A ring for each flow.
    Fq(FqConfig),
    /// A ring for scalable and one for classic traffic.
    DualQ(DualQConfig),
}

impl Default for ContainerConfig {
    fn default() -> Self {
        Self::Fifo(FifoConfig::default())
    }
}

/// A queue as a scenario names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueConfig {
    /// The container and its law.
    pub container: ContainerConfig,
    /// A token bucket in front of it.
    pub shaper: Option<ShaperConfig>,
}

impl QueueConfig {
    /// The names that [`QueueConfig::from_name`] knows.
    pub const NAMES: [&'static str; 3] = ["fifo", "fq-codel", "dualpi2"];

    /// A drop-tail FIFO of `packets` packets.
    pub const fn droptail(packets: u32) -> Self {
        Self::fifo(Limits::packets(packets), LawConfig::None)
    }

    /// A FIFO with limits and a law.
    pub const fn fifo(limits: Limits, law: LawConfig) -> Self {
        Self {
            container: ContainerConfig::Fifo(FifoConfig {
                limits,
                overflow: Overflow::Tail,
                law,
            }),
            shaper: None,
        }
    }

    /// The container of that name with its default parameters, without a shaper.
    pub fn from_name(name: &str) -> Option<Self> {
        let container = match name {
            "fifo" => ContainerConfig::Fifo(FifoConfig::default()),
            "fq-codel" => ContainerConfig::Fq(FqConfig::default()),
            "dualpi2" => ContainerConfig::DualQ(DualQConfig::default()),
            _ => return None,
        };
        Some(Self {
            container,
            shaper: None,
        })
    }

    /// The container's name.
    pub const fn name(&self) -> &'static str {
        match self.container {
            ContainerConfig::Fifo(_) => "fifo",
            ContainerConfig::Fq(_) => "fq-codel",
            ContainerConfig::DualQ(_) => "dualpi2",
        }
    }

    /// The container's law.
    pub fn law(&self) -> LawConfig {
        match &self.container {
            ContainerConfig::Fifo(c) => c.law.clone(),
            ContainerConfig::Fq(c) => c.law.clone(),
            ContainerConfig::DualQ(c) => LawConfig::Pi2(c.law),
        }
    }

    /// The same queue with another law. Two coupled queues take no other than PI2, and keep what they have.
    #[must_use]
    pub fn with_law(mut self, law: LawConfig) -> Self {
        match &mut self.container {
            ContainerConfig::Fifo(c) => c.law = law,
            ContainerConfig::Fq(c) => c.law = law,
            ContainerConfig::DualQ(c) => {
                if let LawConfig::Pi2(law) = law {
                    c.law = law;
                }
            }
        }
        self
    }

    /// How much may wait.
    pub const fn limits(&self) -> Limits {
        match &self.container {
            ContainerConfig::Fifo(c) => c.limits,
            ContainerConfig::Fq(c) => c.shape.limits,
            ContainerConfig::DualQ(c) => c.shape.limits,
        }
    }

    /// The same queue with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        match &mut self.container {
            ContainerConfig::Fifo(c) => c.limits = limits,
            ContainerConfig::Fq(c) => c.shape.limits = limits,
            ContainerConfig::DualQ(c) => c.shape.limits = limits,
        }
        self
    }

    /// An empty queue; `draw` decides what it leaves to chance (hash perturbation, random drops and marks).
    pub fn build<P: PacketView>(&self, draw: Draw) -> AnyQueue<P> {
        // Purposes of the draws: laws by bucket, and the hash.
        const LAW: u64 = 1;
        const HASH: u64 = 2;
        let inner = match &self.container {
            ContainerConfig::Fifo(c) => {
                let law = c.law.build(draw.fork(LAW, 0));
                AnyQueue::Fifo(Fifo::new(c.limits, c.overflow, law))
            }
            ContainerConfig::Fq(c) => AnyQueue::Fq(Fq::new(c.shape, draw.fork(HASH, 0), |i| {
                c.law.build(draw.fork(LAW, u64::from(i)))
            })),
            ContainerConfig::DualQ(c) => {
                AnyQueue::DualQ(Box::new(DualQ::new(c.shape, Pi2::new(c.law))))
            }
        };
        match self.shaper {
            None => inner,
            Some(shaper) => AnyQueue::Shaped(Box::new(Shaper::new(shaper, inner))),
        }
    }
}

/// Any of the containers, without a virtual call.
#[derive(Debug)]
pub enum AnyQueue<P> {
    /// One ring.
    Fifo(Fifo<P, AnyLaw>),
    /// A ring for each flow.
    Fq(Fq<P, AnyLaw>),
    /// A ring for scalable and one for classic traffic.
    DualQ(Box<DualQ<P>>),
    /// Any of them behind a token bucket.
    Shaped(Box<Shaper<Self>>),
}

impl<P: PacketView> AnyQueue<P> {
    /// The containers that are a call away: kept out of line, the FIFO's path is short enough to be inlined.
    #[inline(never)]
    fn enqueue_elsewhere(&mut self, now: Instant, packet: P, sink: &mut dyn Sink<P>) {
        match self {
            Self::Fifo(q) => q.enqueue(now, packet, sink),
            Self::Fq(q) => q.enqueue(now, packet, sink),
            Self::DualQ(q) => q.enqueue(now, packet, sink),
            Self::Shaped(q) => q.enqueue(now, packet, sink),
        }
    }

    #[inline(never)]
    fn dequeue_elsewhere(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)> {
        match self {
            Self::Fifo(q) => q.dequeue(now, sink),
            Self::Fq(q) => q.dequeue(now, sink),
            Self::DualQ(q) => q.dequeue(now, sink),
            Self::Shaped(q) => q.dequeue(now, sink),
        }
    }
}

impl<P: PacketView> Queue<P> for AnyQueue<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, sink: &mut dyn Sink<P>) {
        if let Self::Fifo(q) = self {
            q.enqueue(now, packet, sink);
        } else {
            self.enqueue_elsewhere(now, packet, sink);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)> {
        if let Self::Fifo(q) = self {
            q.dequeue(now, sink)
        } else {
            self.dequeue_elsewhere(now, sink)
        }
    }

    #[inline]
    fn backlog(&self) -> QueueView {
        match self {
            Self::Fifo(q) => q.backlog(),
            Self::Fq(q) => q.backlog(),
            Self::DualQ(q) => q.backlog(),
            Self::Shaped(q) => q.backlog(),
        }
    }

    #[inline]
    fn head_since(&self) -> Option<Instant> {
        match self {
            Self::Fifo(q) => q.head_since(),
            Self::Fq(q) => q.head_since(),
            Self::DualQ(q) => q.head_since(),
            Self::Shaped(q) => q.head_since(),
        }
    }

    #[inline]
    fn next_ready(&self, now: Instant) -> Option<Instant> {
        match self {
            Self::Fifo(q) => q.next_ready(now),
            Self::Fq(q) => q.next_ready(now),
            Self::DualQ(q) => q.next_ready(now),
            Self::Shaped(q) => q.next_ready(now),
        }
    }

    fn wants_capacity(&self) -> bool {
        matches!(self, Self::Fifo(q) if q.wants_capacity())
    }

    fn on_capacity(&mut self, now: Instant, capacity: Bytes) {
        if let Self::Fifo(q) = self {
            q.on_capacity(now, capacity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in QueueConfig::NAMES {
            assert_eq!(QueueConfig::from_name(name).map(|c| c.name()), Some(name));
        }
        assert_eq!(QueueConfig::from_name("stack"), None);
    }

    #[test]
    fn parameters_reach_the_container() {
        let config = QueueConfig::from_name("fq-codel")
            .expect("known")
            .with_law(LawConfig::None)
            .with_limits(Limits::packets(3));
        assert_eq!(config.law().name(), "none");
        let ContainerConfig::Fq(fq) = config.container else {
            panic!("fq-codel is an Fq");
        };
        assert_eq!(fq.shape.limits, Limits::packets(3));
    }
}
