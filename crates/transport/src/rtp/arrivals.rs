//! The receiver's record of what arrived, and the reports made of it.

use std::collections::VecDeque;

use slackwater_core::{Ecn, Instant};

use super::feedback::{Arrivals, Format};

/// Packets that are remembered: a late one among them is reported again with its neighbours.
const KEPT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Number of the oldest entry.
    first: u32,
    packets: VecDeque<Option<(Instant, Ecn)>>,
    /// The lowest number that the next report speaks of, where there is news.
    from: Option<u32>,
    /// Packets above were not reported yet.
    reported: u32,
}

impl Record {
    /// A packet arrived; a duplicate keeps its first time.
    pub(super) fn on_arrival(&mut self, at: Instant, number: u32, ecn: Ecn) {
        let place = number.wrapping_sub(self.first);
        if self.packets.is_empty() || (place as i32 > 0 && place as usize >= 2 * KEPT) {
            // The first packet, or one from another time.
            self.packets.clear();
            self.first = number;
            self.reported = number;
            self.from = None;
        } else if (place as i32) < 0 {
            return;
        }
        let place = number.wrapping_sub(self.first) as usize;
        if place >= self.packets.len() {
            self.packets.resize(place + 1, None);
        }
        if self.packets[place].is_some() {
            return;
        }
        self.packets[place] = Some((at, ecn));
        while self.packets.len() > KEPT {
            self.packets.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        let from = self.from.unwrap_or(self.reported);
        let earlier = (number.wrapping_sub(from) as i32) < 0;
        self.from = Some(if earlier { number } else { from });
    }

    /// The next report: all packets from the first that is new to the highest, or as many of them as fit.
    pub(super) fn report(&mut self, now: Instant, format: Format) -> Option<Arrivals> {
        let mut from = self.from?;
        if (from.wrapping_sub(self.first) as i32) < 0 {
            from = self.first;
        }
        let start = from.wrapping_sub(self.first) as usize;
        let mut report = Arrivals {
            first: from,
            packets: self.packets.range(start..).copied().collect(),
            made: None,
        };
        let fitting = report.fitting(format);
        report.packets.truncate(fitting);
        let next = from.wrapping_add(fitting as u32);
        let end = self.first.wrapping_add(self.packets.len() as u32);
        self.reported = if (next.wrapping_sub(self.reported) as i32) < 0 {
            self.reported
        } else {
            next
        };
        self.from = (next != end).then_some(next);
        report.encode(now, format);
        Some(report)
    }
}
