//! The round trip on the servers' side, from the UE's data and the servers' acknowledgments.

use slackwater_core::{Duration, Instant, SeqNum, TcpFlags, TcpHeader};

/// Times one segment of the UE at a time; its value only sets control intervals.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerRtt {
    timed: Option<(SeqNum, Instant)>,
    sent: Option<SeqNum>,
    smoothed: Option<Duration>,
}

impl ServerRtt {
    /// A segment of the UE passes on its way up.
    pub fn on_uplink(&mut self, now: Instant, tcp: &TcpHeader) {
        if tcp.flags.contains(TcpFlags::RST) {
            *self = Self::default();
            return;
        }
        let syn = tcp.flags.contains(TcpFlags::SYN);
        let consumed = tcp.payload + u32::from(syn) + u32::from(tcp.flags.contains(TcpFlags::FIN));
        if consumed == 0 {
            return;
        }
        if syn {
            self.sent = None;
        }
        let end = tcp.seq + consumed;
        if self.sent.is_some_and(|sent| end.le(sent)) {
            // Sent again: an answer would not say to which copy (Karn).
            self.timed = None;
            return;
        }
        self.sent = Some(end);
        if self.timed.is_none() {
            self.timed = Some((end, now));
        }
    }

    /// A segment of the server arrives.
    pub fn on_downlink(&mut self, now: Instant, tcp: &TcpHeader) {
        let Some((end, since)) = self.timed else {
            return;
        };
        if tcp.flags.contains(TcpFlags::ACK) && tcp.ack.ge(end) {
            self.timed = None;
            let rtt = now.since(since);
            // RFC 6298, 2: a smoothed RTT with gain 1/8.
            self.smoothed = Some(self.smoothed.map_or(rtt, |old| (old * 7 + rtt) / 8));
        }
    }

    /// The smoothed round-trip time.
    pub const fn get(&self) -> Option<Duration> {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, ack: u32, payload: u32, flags: TcpFlags) -> TcpHeader {
        TcpHeader {
            seq: SeqNum(seq),
            ack: SeqNum(ack),
            window: 0,
            flags,
            payload,
            timestamps: None,
        }
    }

    #[test]
    fn the_handshake_and_requests_are_timed_and_repeats_are_not() {
        let mut rtt = ServerRtt::default();
        let ms = Instant::from_millis;
        rtt.on_uplink(ms(0), &segment(9, 0, 0, TcpFlags::SYN));
        rtt.on_downlink(
            ms(20),
            &segment(0, 10, 0, TcpFlags::SYN.with(TcpFlags::ACK)),
        );
        assert_eq!(rtt.get(), Some(Duration::from_millis(20)));
        rtt.on_uplink(ms(100), &segment(10, 1, 50, TcpFlags::ACK));
        rtt.on_uplink(ms(300), &segment(10, 1, 50, TcpFlags::ACK));
        rtt.on_downlink(ms(320), &segment(1, 60, 0, TcpFlags::ACK));
        assert_eq!(rtt.get(), Some(Duration::from_millis(20)));
        rtt.on_uplink(ms(400), &segment(60, 1, 50, TcpFlags::ACK));
        rtt.on_downlink(ms(428), &segment(1, 110, 0, TcpFlags::ACK));
        assert_eq!(rtt.get(), Some(Duration::from_millis(21)));
    }
}
