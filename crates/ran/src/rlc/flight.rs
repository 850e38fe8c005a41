//! Packets in flight between both ends of a bearer, and what becomes of them.

use std::collections::VecDeque;

use slackwater_core::record::DropReason;
use slackwater_core::{Duration, Instant, PacketView};
use slackwater_queue::{Law, Outcome, PacketMeta, Verdict, admit};

use super::place::Place;
use super::um::Step;
use crate::out::{CellOut, Delivered, Marked};

/// A packet, from its arrival until the other end has it: it stays in its place of the ring.
pub(super) struct Sdu<P> {
    pub(super) at: Instant,
    /// Stream offset after its last byte; [`WAITING`] until its first byte is put into a transport block.
    pub(super) end: u64,
    /// How long it waited for that.
    pub(super) sojourn: Duration,
    pub(super) packet: P,
}

/// The `end` of an SDU that has no place in the stream yet.
pub(super) const WAITING: u64 = u64::MAX;

/// What receiving did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// IP bytes delivered.
    pub delivered: u64,
    /// Packets dropped.
    pub dropped: u32,
}

/// As [`slackwater_queue::admit`], and notes a mark in `out`; false where the packet must go.
#[inline]
pub(super) fn carry_out<P: PacketView + Clone>(
    verdict: Verdict,
    now: Instant,
    place: Place,
    packet: &mut P,
    out: &mut CellOut<P>,
) -> bool {
    let outcome = admit(verdict, packet);
    if outcome == Outcome::Marked {
        note_mark(now, place, packet, out);
    }
    outcome.goes_on()
}

/// A law marked `packet`.
pub(super) fn note_mark<P: PacketView>(
    now: Instant,
    place: Place,
    packet: &P,
    out: &mut CellOut<P>,
) {
    out.marked.push(Marked {
        at: now,
        dir: place.dir,
        ue: place.ue,
        bearer: place.bearer,
        flow: packet.flow(),
        len: packet.len(),
    });
}

/// The receiving side's view of the packets.
pub(super) struct Flight<'a, P> {
    pub(super) sdus: &'a mut VecDeque<Sdu<P>>,
    pub(super) flying: &'a mut usize,
    pub(super) corrupt: &'a mut bool,
    pub(super) law: &'a mut Option<Box<dyn Law>>,
}

impl<P: PacketView + Clone> Flight<'_, P> {
    /// The same where all of it arrived and no law looks at it.
    #[inline]
    fn hand_on_row(
        &mut self,
        place: Place,
        at: Instant,
        end: u64,
        moved: &mut Moved,
        out: &mut CellOut<P>,
    ) {
        let mut count = 0;
        // A copy from place to place costs half of what moving out does.
        for sdu in self.sdus.iter().take_while(|sdu| sdu.end <= end) {
            moved.delivered += u64::from(sdu.packet.len());
            out.delivered.push(Delivered {
                at,
                dir: place.dir,
                ue: place.ue,
                packet: sdu.packet.clone(),
                entered: sdu.at,
                sojourn: sdu.sojourn,
            });
            count += 1;
        }
        self.sdus.drain(..count);
        *self.flying -= count;
    }

    /// Takes from the front what ended: delivered where all its bytes arrived, dropped elsewhere.
    #[inline]
    pub(super) fn hand_on(
        &mut self,
        (place, per_sdu): (Place, u32),
        at: Instant,
        step: Step,
        moved: &mut Moved,
        out: &mut CellOut<P>,
    ) {
        let (end, good) = match step {
            Step::Good(end) => (end, true),
            Step::Bad(end) => (end, false),
        };
        if good && !*self.corrupt && self.law.is_none() {
            self.hand_on_row(place, at, end, moved, out);
            return;
        }
        while self.sdus.front().is_some_and(|sdu| sdu.end <= end) {
            let mut sdu = self.sdus.pop_front().expect("the loop saw it");
            *self.flying -= 1;
            if good && !*self.corrupt {
                if let Some(law) = self.law {
                    let took = at.since(sdu.at);
                    let verdict = law.on_delivered(at, took, &PacketMeta::of(&sdu.packet));
                    if verdict == Verdict::Mark {
                        // What has arrived is not dropped any more.
                        carry_out(verdict, at, place, &mut sdu.packet, out);
                    }
                }
                moved.delivered += u64::from(sdu.packet.len());
                out.delivered.push(Delivered {
                    at,
                    dir: place.dir,
                    ue: place.ue,
                    packet: sdu.packet,
                    entered: sdu.at,
                    sojourn: sdu.sojourn,
                });
            } else {
                moved.dropped += 1;
                out.dropped.push((at, sdu.packet, DropReason::Radio));
            }
            *self.corrupt = false;
        }
        if !good {
            // Offsets never end an SDU at `end` here, so whatever is in front now began before it, or follows.
            let begun = self.sdus.front().is_some_and(|sdu| {
                let size = u64::from(sdu.packet.len() + per_sdu);
                sdu.end != WAITING && sdu.end - size < end
            });
            *self.corrupt = begun;
        }
    }
}
