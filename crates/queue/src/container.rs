//! Containers: what holds the packets.

mod dualq;
mod fifo;
mod fq;
mod shaper;

pub use dualq::{DualQ, DualQShape, Scheduler};
pub use fifo::{Fifo, Limits, Overflow};
pub use fq::{Fq, FqShape};
pub use shaper::{Shaper, ShaperConfig};

use slackwater_core::record::DropReason;
use slackwater_core::{Ecn, Instant, PacketView};

use crate::{PacketMeta, Sink, Verdict};

/// Carries out `verdict` on `packet`, tells `sink`, and returns whether the packet goes on. A packet that carries CE
/// already is not marked again.
#[cold]
#[inline(never)]
fn admit<P: PacketView>(
    verdict: Verdict,
    now: Instant,
    packet: &mut P,
    meta: PacketMeta,
    sink: &mut dyn Sink<P>,
) -> bool {
    match verdict {
        Verdict::Pass => true,
        Verdict::Mark if meta.ecn.is_capable() => {
            if meta.ecn != Ecn::Ce {
                packet.set_ecn(Ecn::Ce);
                sink.marked(now, packet);
            }
            true
        }
        Verdict::Mark | Verdict::Drop => {
            sink.dropped(now, packet, DropReason::Law);
            false
        }
    }
}
