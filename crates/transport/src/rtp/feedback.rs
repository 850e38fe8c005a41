//! What RTCP says, how long the message is, and how coarse its times are.

use std::collections::VecDeque;

use slackwater_core::{Ecn, Instant};

/// The format in which arrivals are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// RFC 8888: times in 1/1024 s, with ECN. One block for all packets: that of the retransmissions' own stream, eight
    /// bytes more where there are any, is left out.
    #[default]
    Ccfb,
    /// draft-holmer-rmcat-transport-wide-cc-extensions-01: times in 250 us, without ECN.
    Twcc,
}

/// An RTCP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rtcp {
    /// Which packets arrived.
    Arrivals(Arrivals),
    /// Which retransmissions arrived, by the numbers of a stream that they have for themselves (RFC 4588, 4).
    Repairs(Arrivals),
    /// RTP sequence numbers of packets that are missing (RFC 4585, 6.2.1).
    Nack(Vec<u32>),
    /// A key frame is wanted (RFC 4585, 6.3.1).
    Pli,
}

/// When each packet from `first` on arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Transport-wide number of the first packet.
    pub first: u32,
    /// From there on, when each packet arrived by the receiver's clock, and its mark; `None`: not so far.
    pub packets: Vec<Option<(Instant, Ecn)>>,
    /// When the report was made, by the same clock, where the format tells.
    pub made: Option<Instant>,
}

impl Arrivals {
    /// Makes the times, and the marks, what is left of them in `format` when the report is made at `now`.
    pub(super) fn encode(&mut self, now: Instant, format: Format) {
        match format {
            Format::Ccfb => {
                // Rounded up: a packet must not arrive after the report's time (RFC 8888, 3.1).
                let units = (u128::from(now.as_nanos()) * 65_536).div_ceil(1_000_000_000);
                let made = Instant::from_nanos((units * 1_000_000_000 / 65_536) as u64);
                self.made = Some(made);
                for (at, _) in self.packets.iter_mut().flatten() {
                    let offset = u128::from(made.since(*at).as_nanos());
                    let units = (offset * 1024 + 500_000_000) / 1_000_000_000;
                    // Longer than 8.19 s is not told apart (RFC 8888, 3.1).
                    let units = units.min(0x1ffe) as u64;
                    *at = made.saturating_sub(slackwater_core::Duration::from_nanos(
                        units * 1_000_000_000 / 1024,
                    ));
                }
            }
            Format::Twcc => {
                self.made = None;
                for (at, ecn) in self.packets.iter_mut().flatten() {
                    *at = Instant::from_nanos(at.as_nanos() / TICK * TICK);
                    *ecn = Ecn::NotEct;
                }
            }
        }
    }

    /// Packets from the first on that fit one message of `format`.
    pub(super) fn fitting(&self, format: Format) -> usize {
        let most = self.packets.len().min(MOST);
        if format == Format::Ccfb {
            return most;
        }
        let deltas = deltas(&self.packets[..most]);
        let far = deltas
            .enumerate()
            .find(|(_, d)| d.is_some_and(|d| i16::try_from(d).is_err()));
        far.map_or(most, |(place, _)| place)
    }

    /// RTCP bytes of the message.
    pub(super) fn len(&self, format: Format) -> usize {
        match format {
            // Header, sender, stream, number and count, time (RFC 8888, 3.1).
            Format::Ccfb => 20 + 2 * self.packets.len().next_multiple_of(2),
            Format::Twcc => twcc_len(&self.packets),
        }
    }
}

/// 250 us, the unit of transport-wide reports, in ns.
const TICK: u64 = 250_000;
/// 64 ms, the unit of their reference time.
const REFERENCE: u64 = 64_000_000;
/// Packets that one message speaks of at most, so that it fits an IP packet of 1,500 bytes in either format.
const MOST: usize = 450;

/// Time from each arrival to the next in units of 250 us; the first from the reference.
fn deltas(packets: &[Option<(Instant, Ecn)>]) -> impl Iterator<Item = Option<i64>> + '_ {
    let first = packets.iter().flatten().next();
    let mut last = first.map_or(0, |(at, _)| at.as_nanos() / REFERENCE * REFERENCE / TICK);
    packets.iter().map(move |packet| {
        let (at, _) = packet.as_ref()?;
        let at = at.as_nanos() / TICK;
        let delta = at.wrapping_sub(last) as i64;
        last = at;
        Some(delta)
    })
}

/// Bytes of a transport-wide report (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1), whose chunks are each of
/// the kind that covers most packets.
fn twcc_len(packets: &[Option<(Instant, Ecn)>]) -> usize {
    // A status symbol is also the number of bytes of its delta.
    let symbols: Vec<u8> = deltas(packets)
        .map(|d| d.map_or(0, |d| if (0..256).contains(&d) { 1 } else { 2 }))
        .collect();
    let bytes: usize = symbols.iter().map(|s| usize::from(*s)).sum();
    let (mut rest, mut chunks) = (&symbols[..], 0);
    while let Some(first) = rest.first() {
        let run = rest.iter().take_while(|s| *s == first).count().min(8191);
        let ones = rest.len().min(14);
        let ones = if rest[..ones].contains(&2) { 0 } else { ones };
        rest = &rest[run.max(ones).max(rest.len().min(7))..];
        chunks += 1;
    }
    (20 + 2 * chunks + bytes).next_multiple_of(4)
}

/// RTCP bytes of a NACK: header, two streams, and words that each name a packet and 16 after it.
pub(super) fn nack_len(missing: &[u32]) -> usize {
    let (mut words, mut first) = (0, None);
    for &number in missing {
        if first.is_none_or(|f| number.wrapping_sub(f) > 16) {
            words += 1;
            first = Some(number);
        }
    }
    12 + 4 * words
}

/// RTCP bytes of a picture loss indication.
pub(super) const PLI_LEN: usize = 12;

/// RTCP messages between the two ends of one flow, by the number of the packet that carries them.
///
/// A simulated packet is copied by value and has no room for them. What is never taken, because the packet was lost, is
/// forgotten in time.
#[derive(Clone, Debug, Default)]
pub struct Mailbox {
    first: u32,
    held: VecDeque<Option<Rtcp>>,
}

/// Messages that are kept for packets on their way.
const HELD: usize = 1024;

impl Mailbox {
    /// Leaves a message; the number is for the packet that carries it.
    pub fn put(&mut self, message: Rtcp) -> u32 {
        if self.held.len() == HELD {
            self.held.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.held.push_back(Some(message));
        self.first.wrapping_add(self.held.len() as u32 - 1)
    }

    /// Takes the message of the packet that arrived; `None` where it was taken before (a duplicate) or is forgotten.
    pub fn take(&mut self, number: u32) -> Option<Rtcp> {
        let place = number.wrapping_sub(self.first) as usize;
        let message = self.held.get_mut(place)?.take();
        while matches!(self.held.front(), Some(None)) {
            self.held.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        message
    }
}
