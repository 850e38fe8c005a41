//! Containers: what holds the packets.

mod fifo;
mod fq;
mod shaper;

pub use fifo::{Fifo, Limits, Overflow};
pub use fq::{Fq, FqShape};
pub use shaper::{Shaper, ShaperConfig};

use slackwater_core::record::DropReason;
use slackwater_core::{Ecn, Instant, PacketView};

use crate::{PacketMeta, Sink, Verdict};

/// Whether a packet outlived its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admitted {
    Yes,
    No,
}

/// Carries out `verdict` on `packet` and tells `sink`. A packet that carries CE already is not marked again.
#[inline]
fn admit<P: PacketView>(
    verdict: Verdict,
    now: Instant,
    packet: &mut P,
    meta: PacketMeta,
    sink: &mut dyn Sink<P>,
) -> Admitted {
    match verdict {
        Verdict::Pass => Admitted::Yes,
        Verdict::Mark if meta.ecn.is_capable() => {
            if meta.ecn != Ecn::Ce {
                packet.set_ecn(Ecn::Ce);
                sink.marked(now, packet);
            }
            Admitted::Yes
        }
        Verdict::Mark | Verdict::Drop => {
            sink.dropped(now, packet, DropReason::Law);
            Admitted::No
        }
    }
}
