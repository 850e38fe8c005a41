//! What was in flight, and what was already lost, when a packet was sent: `P.tx_in_flight` and `P.lost` (4.1.2.1.2).
//!
//! Hosts of other controllers need neither, so that BBR keeps them itself. Packets between two ACKs share one entry, found
//! again by the total of delivered bytes that each packet carries for its rate sample anyway (`P.delivered`).

use std::collections::VecDeque;

/// Entries kept at most.
const CAP: usize = 2048;
/// A flight is told apart in so many parts at most.
const PARTS: u64 = 512;

/// Packets sent while so many bytes were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    delivered: u64,
    /// Bytes in flight after the last of them left (`P.tx_in_flight`).
    pub in_flight: u64,
    /// Bytes lost on the connection before the first of them left (`P.lost`).
    pub lost: u64,
}

/// The flights of the last round, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Flights {
    entries: VecDeque<Flight>,
}

impl Flights {
    /// A packet left.
    #[inline]
    pub fn sent(&mut self, delivered: u64, in_flight: u64, lost: u64) {
        if let Some(last) = self.entries.back_mut() {
            // At high rates, neighbours are as good as one.
            if delivered >= last.delivered
                && (delivered == last.delivered || delivered - last.delivered < in_flight / PARTS)
            {
                last.in_flight = last.in_flight.max(in_flight);
                return;
            }
            if delivered < last.delivered {
                self.entries.clear();
            } else if self.entries.len() >= CAP {
                self.entries.pop_front();
            }
        }
        self.entries.push_back(Flight {
            delivered,
            in_flight,
            lost,
        });
    }

    /// The flight of the packet that was sent with `prior_delivered` bytes delivered; what is older is forgotten.
    #[inline]
    pub fn find(&mut self, prior_delivered: u64) -> Option<Flight> {
        while self
            .entries
            .get(1)
            .is_some_and(|f| f.delivered <= prior_delivered)
        {
            self.entries.pop_front();
        }
        self.entries.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_finds_the_flight_it_was_sent_in() {
        let mut flights = Flights::default();
        assert_eq!(flights.find(0), None);
        for ack in 0..100u64 {
            flights.sent(ack * 1000, 40_000, ack);
            flights.sent(ack * 1000, 41_000, ack);
        }
        let found = flights.find(30_500).expect("an entry");
        assert_eq!((found.in_flight, found.lost), (41_000, 30));
        assert_eq!(flights.entries.len(), 70, "older ones are gone");
        // An older sample finds the oldest that is left.
        assert_eq!(flights.find(2_000).expect("an entry").lost, 30);
    }

    #[test]
    fn space_stays_bounded_at_any_rate() {
        let mut flights = Flights::default();
        for ack in 0..100_000u64 {
            flights.sent(ack * 1000, 50_000_000, 0);
        }
        assert!(flights.entries.len() < 1100, "{}", flights.entries.len());
        for ack in 0..100_000u64 {
            flights.sent(200_000_000 + ack * 1000, 0, 0);
        }
        assert!(flights.entries.len() <= CAP);
    }
}
