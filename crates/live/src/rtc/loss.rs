//! Media packets that are thrown away on purpose, to try what retransmissions make good.

use slackwater_core::Draw;

/// Which media packets are thrown away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// The share, from 0 to 1.
    share: f64,
    draw: Draw,
    /// Media packets so far.
    packets: u64,
}

impl Loss {
    pub(super) const fn new(share: f64, draw: Draw) -> Self {
        Self {
            share,
            draw,
            packets: 0,
        }
    }

    /// Whether this datagram is thrown away: RTP only, so that the connection and its reports stay.
    pub(super) fn takes(&mut self, datagram: &[u8]) -> bool {
        if self.share <= 0.0 || !slackwater_rtc::is_media(datagram) {
            return false;
        }
        self.packets += 1;
        self.draw.uniform(self.packets) < self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_media_are_thrown_away_and_so_many() {
        let mut loss = Loss::new(0.1, Draw::new(1));
        let lost = (0..10_000).filter(|_| loss.takes(&[0x80, 0x60, 0, 1]));
        let lost = lost.count();
        assert!((850..1150).contains(&lost), "{lost}");
        // A marker, a sender report, a report of arrivals, DTLS, STUN, nothing.
        let mut all = Loss::new(1.0, Draw::new(1));
        assert!(all.takes(&[0x90, 0xe0, 0, 1]));
        for other in [
            &[0x80, 200, 0, 6][..],
            &[0x8b, 205, 0, 6],
            &[22, 254, 253],
            &[0, 1],
            &[],
        ] {
            assert!(!all.takes(other), "{other:?}");
        }
        assert!(!Loss::new(0.0, Draw::new(1)).takes(&[0x80, 0x60]));
    }
}
