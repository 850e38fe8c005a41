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

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(report: Option<Arrivals>) -> Vec<(u32, bool)> {
        let report = report.unwrap_or_default();
        let packets = (report.first..).zip(report.packets);
        packets.map(|(n, p)| (n, p.is_some())).collect()
    }

    #[test]
    fn reports_join_and_a_late_packet_is_reported_with_what_follows() {
        let mut r = Record::default();
        let t = Instant::from_millis;
        for n in [u32::MAX, 0, 2] {
            r.on_arrival(t(1), n, Ecn::Ect1);
        }
        let first = r.report(t(2), Format::Ccfb).unwrap();
        assert_eq!(first.first, u32::MAX);
        let seen: Vec<_> = first.packets.iter().map(Option::is_some).collect();
        assert_eq!(seen, [true, true, false, true]);
        assert_eq!(r.report(t(3), Format::Ccfb), None);
        r.on_arrival(t(4), 4, Ecn::Ce);
        assert_eq!(
            numbers(r.report(t(5), Format::Ccfb)),
            [(3, false), (4, true)]
        );
        // Neither a duplicate nor one from long ago is news.
        r.on_arrival(t(6), 4, Ecn::Ect1);
        r.on_arrival(t(6), u32::MAX - 9, Ecn::Ect1);
        assert_eq!(r.report(t(6), Format::Ccfb), None);
        r.on_arrival(t(7), 1, Ecn::Ect1);
        let again = [(1, true), (2, true), (3, false), (4, true)];
        assert_eq!(numbers(r.report(t(8), Format::Ccfb)), again);
    }

    #[test]
    fn long_reports_and_long_pauses_make_several_messages() {
        let mut r = Record::default();
        for n in 0..1000 {
            r.on_arrival(Instant::from_millis(u64::from(n)), n, Ecn::Ect1);
        }
        // More than 8.19 s later.
        r.on_arrival(Instant::from_millis(20_000), 1000, Ecn::Ect1);
        let lengths = |mut r: Record, format| {
            let now = Instant::from_millis(20_000);
            let reports = core::iter::from_fn(|| r.report(now, format));
            reports.map(|a| a.packets.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(r.clone(), Format::Ccfb), [450, 450, 101]);
        assert_eq!(lengths(r.clone(), Format::Twcc), [450, 450, 100, 1]);
        // A jump begins anew.
        r.on_arrival(Instant::from_millis(20_001), 1 << 20, Ecn::Ect1);
        assert_eq!(lengths(r, Format::Ccfb), [1]);
    }
}
