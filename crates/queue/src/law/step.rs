//! DCTCP's marking at a switch: every packet that arrives at more than a threshold (RFC 8257, 3.1).
//!
//! There is no state and no average: DCTCP's sender averages the marks itself (RFC 8257, 3.3).

use slackwater_core::{Bytes, Draw, Duration, Instant};

use super::parameters::{Key, Parameters, keys};
use crate::{Law, PacketMeta, QueueView, Verdict};

/// What can be set of a [`Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepConfig {
    /// `K`: the bytes that may wait unmarked.
    pub threshold: Bytes,
}

impl Default for StepConfig {
    fn default() -> Self {
        Self {
            // 20 packets, for 1 Gbit/s in a data centre (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, 4); RFC
            // 8257, 3.1, leaves the value to the operator.
            threshold: Bytes(30_000),
        }
    }
}

impl Parameters for StepConfig {
    type Law = Step;
    const NAME: &'static str = "step";
    const ABOUT: &'static str =
        "DCTCP's marking of every packet that arrives at more than a threshold (RFC 8257).";
    const KEYS: &'static [Key<Self>] = keys! {
        /// Bytes that may wait unmarked; a packet that is not ECN-capable is dropped beyond them.
        threshold = threshold in Data(Bytes(1), Bytes(1_000_000_000)),
    };

    fn build(&self, _draw: Draw) -> Step {
        Step { config: *self }
    }
}

/// The threshold.
#[derive(Clone, Debug)]
pub struct Step {
    config: StepConfig,
}

impl Law for Step {
    fn on_enqueue(
        &mut self,
        _now: Instant,
        _delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        let with_it = queue.bytes + Bytes(u64::from(packet.len));
        if with_it > self.config.threshold {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Ecn;

    use super::*;

    #[test]
    fn marks_begin_where_the_packet_no_longer_fits() {
        let mut law = StepConfig::default().build(Draw::new(1));
        let packet = PacketMeta {
            len: 1500,
            ecn: Ecn::Ect0,
        };
        for (waits, verdict) in [
            (0, Verdict::Pass),
            (28_500, Verdict::Pass),
            (28_501, Verdict::Mark),
            (1 << 30, Verdict::Mark),
        ] {
            let queue = QueueView {
                bytes: Bytes(waits),
                packets: 1,
            };
            let seen = law.on_enqueue(Instant::ZERO, Duration::ZERO, &queue, &packet);
            assert_eq!(seen, verdict, "{waits}");
        }
    }
}
