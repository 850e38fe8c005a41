//! What a sender can tell of a path or a peer that does not do what it should.

use core::fmt;

use slackwater_transport::rtp::Format;

use crate::Sent;

/// So many packets must have been reported before their ECN fields say something of the path (ours): a sender at its least
/// rate has as many in a second.
const ENOUGH: u64 = 20;
/// Of a hundred packets that arrived, so many as CE are all: a queue that marks by its delay leaves some (ours).
const ALL: u64 = 99;

/// What is wrong, since an earlier look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Media left, and no report came.
    Silent,
    /// Packets arrive, none of them as ECT(1) or CE.
    Bleached,
    /// All packets arrive as CE.
    AllMarked,
    /// RTCP came that could not be read.
    Malformed,
}

impl Trouble {
    /// What went wrong between `before` and `now`, which are a second or so apart. ECN fields count where reports have
    /// them, and where media leave as ECT(1).
    pub fn between(before: &Sent, now: &Sent, format: Format) -> Vec<Self> {
        let since = |of: fn(&Sent) -> u64| of(now).saturating_sub(of(before));
        let arrived = since(|s| s.media.arrived);
        let mut found = Vec::new();
        if since(|s| s.media.packets) > 0 && since(|s| s.media.reports) == 0 {
            found.push(Self::Silent);
        }
        if format == Format::Ccfb && now.l4s && arrived >= ENOUGH {
            if since(|s| s.media.l4s) == 0 {
                found.push(Self::Bleached);
            }
            if since(|s| s.media.marked) * 100 >= arrived * ALL {
                found.push(Self::AllMarked);
            }
        }
        if since(|s| s.malformed) > 0 {
            found.push(Self::Malformed);
        }
        found
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => {
                "no report came for a second: found media that leave, expected a report a frame; the rate falls until one comes"
            }
            Self::Bleached => {
                "the path clears ECT(1): found packets that arrive as Not-ECT or ECT(0), expected ECT(1) or CE; marks cannot be seen, delay and losses decide"
            }
            Self::AllMarked => {
                "the path marks all packets: found CE on each, expected marks on some; the rate falls to its least"
            }
            Self::Malformed => "RTCP came that cannot be read; it is left out and counted",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(packets: u64, arrived: u64, l4s: u64, marked: u64) -> Sent {
        let mut sent = Sent {
            l4s: true,
            ..Sent::default()
        };
        sent.media.packets = packets;
        sent.media.arrived = arrived;
        sent.media.l4s = l4s;
        sent.media.marked = marked;
        sent.media.reports = arrived.min(1);
        sent
    }

    #[test]
    fn each_trouble_has_its_sign() {
        let between = |now: &Sent| Trouble::between(&Sent::default(), now, Format::Ccfb);
        assert_eq!(between(&sent(200, 200, 200, 3)), []);
        assert_eq!(between(&sent(200, 0, 0, 0)), [Trouble::Silent]);
        assert_eq!(between(&sent(200, 200, 0, 0)), [Trouble::Bleached]);
        assert_eq!(between(&sent(200, 200, 200, 200)), [Trouble::AllMarked]);
        // Too few to tell, reports without ECN, media without ECT(1).
        assert_eq!(between(&sent(10, 10, 0, 0)), []);
        let bleached = sent(200, 200, 0, 0);
        let twcc = Trouble::between(&Sent::default(), &bleached, Format::Twcc);
        assert_eq!(twcc, []);
        assert_eq!(
            between(&Sent {
                l4s: false,
                ..bleached
            }),
            []
        );
        let malformed = Sent {
            malformed: 1,
            ..sent(200, 200, 200, 0)
        };
        assert_eq!(between(&malformed), [Trouble::Malformed]);
    }
}
