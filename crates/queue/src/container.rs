//! Containers: what holds the packets.

mod dualq;
mod fifo;
mod fq;
mod shaper;
mod turns;

pub use dualq::{DualQ, DualQShape, Scheduler};
pub use fifo::{Fifo, Limits, Overflow};
pub use fq::{Fq, FqShape};
pub use shaper::{Shaper, ShaperConfig};
pub use turns::{FlowQueue, FlowQueues, Turns};

use slackwater_core::record::DropReason;
use slackwater_core::{Instant, PacketView};

use crate::{Outcome, Sink, Verdict, admit};

/// As [`crate::admit`], and reports to `sink`; true where the packet goes on.
#[cold]
#[inline(never)]
fn carry_out<P: PacketView>(
    verdict: Verdict,
    now: Instant,
    packet: &mut P,
    sink: &mut dyn Sink<P>,
) -> bool {
    let outcome = admit(verdict, packet);
    match outcome {
        Outcome::Passed => {}
        Outcome::Marked => sink.marked(now, packet),
        Outcome::Dropped => sink.dropped(now, packet, DropReason::Law),
    }
    outcome.goes_on()
}
