//! What a law decides, and the one function that carries it out.

use slackwater_core::{Ecn, PacketView};

/// What a law decides about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it pass.
    Pass,
    /// Signal congestion: mark where the packet is ECN-capable, drop elsewhere (RFC 3168, 5).
    Mark,
    /// Drop whatever the ECN field says.
    Drop,
}

/// What became of a packet under a [`Verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a dropped packet must not go on, and a mark is counted"]
pub enum Outcome {
    /// It goes on as it came.
    Passed,
    /// It goes on and carries CE, which it did not before.
    Marked,
    /// It must not go on.
    Dropped,
}

impl Outcome {
    /// True where the packet goes on.
    #[inline]
    pub fn goes_on(self) -> bool {
        self != Self::Dropped
    }
}

/// Carries out `verdict` on `packet`. Every queue, radio link control and edge function goes through here, so that a mark
/// means the same in all of them: a packet that is not ECN-capable is dropped in its place, and one that carries CE already
/// goes on and counts for nothing (RFC 3168, 5).
#[inline]
pub fn admit<P: PacketView + ?Sized>(verdict: Verdict, packet: &mut P) -> Outcome {
    match verdict {
        Verdict::Pass => Outcome::Passed,
        Verdict::Drop => Outcome::Dropped,
        Verdict::Mark => match packet.ecn() {
            Ecn::NotEct => Outcome::Dropped,
            Ecn::Ce => Outcome::Passed,
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.set_ecn(Ecn::Ce);
                Outcome::Marked
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Packet;

    use super::*;

    #[test]
    fn a_mark_goes_by_the_field_and_a_drop_does_not() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (verdict, ecn, outcome, after) in [
            (Verdict::Pass, NotEct, Outcome::Passed, NotEct),
            (Verdict::Pass, Ect1, Outcome::Passed, Ect1),
            (Verdict::Mark, NotEct, Outcome::Dropped, NotEct),
            (Verdict::Mark, Ect0, Outcome::Marked, Ce),
            (Verdict::Mark, Ect1, Outcome::Marked, Ce),
            (Verdict::Mark, Ce, Outcome::Passed, Ce),
            (Verdict::Drop, Ect0, Outcome::Dropped, Ect0),
            (Verdict::Drop, Ce, Outcome::Dropped, Ce),
        ] {
            let mut packet = Packet {
                ecn,
                ..Packet::default()
            };
            assert_eq!(admit(verdict, &mut packet), outcome, "{verdict:?} {ecn:?}");
            assert_eq!(packet.ecn, after);
        }
    }
}
