//! What RLC's acknowledged mode sends again, for observers.

use slackwater_core::{BearerId, Bytes, Direction, Instant, PacketView, UeId};
use slackwater_signal::{Observer, ResentView};

use super::Cell;
use super::side::slot_start;
use crate::rlc::PieceKind;

impl<P: PacketView + Clone> Cell<P> {
    /// Notes what the block that `ue` or its base station has just filled sends again in the slot `air`.
    #[inline]
    pub(super) fn note_resent(&mut self, dir: Direction, ue: usize, process: u8, air: u64) {
        if self.down.watched && self.ues[ue].am {
            self.note_again(dir, ue, process, air);
        }
    }

    fn note_again(&mut self, dir: Direction, ue: usize, process: u8, air: u64) {
        let air = slot_start(air, self.slot_ns);
        let side = match dir {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        };
        let pieces = side.block(ue, process).pieces.iter();
        let again = pieces.filter(|piece| piece.kind == PieceKind::Again);
        self.resent.extend(again.map(|piece| ResentView {
            ue: UeId(ue as u32),
            bearer: BearerId(piece.bearer),
            direction: dir,
            air,
            bytes: Bytes(piece.end - piece.start),
        }));
    }

    /// Shows what was noted since.
    #[inline]
    pub(super) fn show_resent(&mut self, now: Instant, observer: &mut (impl Observer + ?Sized)) {
        for view in self.resent.drain(..) {
            observer.on_resent(now, &view);
        }
    }
}
