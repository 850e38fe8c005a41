//! What RTCP says, between the wire's form and the one that the ends of a flow speak: the whole of what a controller of
//! ours needs to be driven by another stack.
//!
//! The ends count packets and time without wrapping; RTP counts packets in 16 bits, RFC 8888 time in 32, and
//! transport-wide reports in 24 and 8. [`Unwrap`] gives the nearest.

use slackwater_core::{Duration, Instant};
use slackwater_transport::rtp::{Arrivals, Format, Rtcp};
use slackwater_wire::rtcp::{Arrival, Ccfb, Fir, Message, Nack, Pli, Stream, Twcc};

/// Times of arrival start here, so that one which lies before the first report is none below zero.
const MARGIN: Duration = Duration::from_secs(60);
/// A unit of transport-wide reports (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1: 250 us).
const TICK: u64 = 250_000;
/// What stands for an arrival longer ago than RFC 8888 tells (3.1: 8,189/1024 s).
const LONG_AGO: Duration = Duration::from_secs(8);

/// A counter of `BITS` bits made one that does not wrap.
#[derive(Clone, Copy, Debug)]
pub struct Unwrap<const BITS: u32> {
    last: Option<u64>,
}

impl<const BITS: u32> Default for Unwrap<BITS> {
    fn default() -> Self {
        Self { last: None }
    }
}

impl<const BITS: u32> Unwrap<BITS> {
    /// The value with these low bits that is nearest to the last one given; the first is itself.
    pub fn next(&mut self, low: u64) -> u64 {
        let value = self.near(self.last.unwrap_or(low), low);
        self.last = Some(value);
        value
    }

    /// The value with these low bits that is nearest to `last`.
    pub fn near(self, last: u64, low: u64) -> u64 {
        let shift = 64 - BITS;
        let ahead = (low.wrapping_sub(last) << shift).cast_signed() >> shift;
        last.checked_add_signed(ahead)
            .unwrap_or_else(|| last.wrapping_add_signed(ahead).wrapping_add(1 << BITS))
    }
}

/// Reads what a receiver says.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    numbers: Unwrap<16>,
    reports: Unwrap<32>,
    ticks: Unwrap<32>,
    /// Number of the last full intra request.
    fir: Option<u8>,
}

impl Reader {
    /// What `message` says to the sender of stream `ssrc` whose newest packet has number `newest`; `None`: nothing that it
    /// acts on.
    pub fn read(&mut self, message: &Message, ssrc: u32, newest: u32) -> Option<Rtcp> {
        match message {
            Message::Ccfb(report) => self.ccfb(report, ssrc, newest).map(Rtcp::Arrivals),
            Message::Twcc(report) => Some(Rtcp::Arrivals(self.twcc(report, newest))),
            Message::Nack(nack) if nack.media == ssrc => {
                let missing = nack.missing();
                Some(Rtcp::Nack(
                    missing.map(|n| self.number(n, newest)).collect(),
                ))
            }
            Message::Pli(pli) if pli.media == ssrc => Some(Rtcp::Pli),
            Message::Fir(fir) => self.fir(fir, ssrc),
            _ => None,
        }
    }

    /// A request for a key frame, where it is a new one.
    fn fir(&mut self, fir: &Fir, ssrc: u32) -> Option<Rtcp> {
        let (_, number) = fir.entries.iter().find(|(stream, _)| *stream == ssrc)?;
        // A repetition has the number of the first (RFC 5104, 4.3.1.2).
        (self.fir.replace(*number) != Some(*number)).then_some(Rtcp::Pli)
    }

    fn number(&self, low: u16, newest: u32) -> u32 {
        self.numbers.near(u64::from(newest), u64::from(low)) as u32
    }

    fn ccfb(&mut self, report: &Ccfb, ssrc: u32, newest: u32) -> Option<Arrivals> {
        let made = self.reports.next(u64::from(report.timestamp));
        // Units of 1/65536 s (RFC 8888, 3.1).
        let made = ((u128::from(made) * 1_000_000_000) >> 16) as u64;
        let made = Instant::from_nanos(made).saturating_add(MARGIN);
        let stream = report.streams.iter().find(|s| s.ssrc == ssrc)?;
        let arrival = |a: &Arrival| {
            let ago = if a.offset == UNKNOWN {
                Duration::ZERO
            } else {
                a.before_report().unwrap_or(LONG_AGO)
            };
            (made.saturating_sub(ago), a.ecn)
        };
        Some(Arrivals {
            first: self.number(stream.begin, newest),
            packets: stream
                .packets
                .iter()
                .map(|p| p.as_ref().map(arrival))
                .collect(),
            made: Some(made),
        })
    }

    fn twcc(&mut self, report: &Twcc, newest: u32) -> Arrivals {
        let mut arrival = |ticks: u32| {
            let ticks = self.ticks.next(u64::from(ticks));
            let at = Instant::from_nanos(ticks.saturating_mul(TICK));
            (at.saturating_add(MARGIN), slackwater_core::Ecn::NotEct)
        };
        let packets = report.arrivals().map(|t| t.map(&mut arrival)).collect();
        Arrivals {
            first: self.number(report.base, newest),
            packets,
            made: None,
        }
    }
}

/// An offset that is not known (RFC 8888, 3.1).
const UNKNOWN: u16 = 0x1fff;

/// Writes what a receiver says of stream `media`.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The receiver's own stream.
    sender: u32,
    format: Format,
    /// Number of the next transport-wide report.
    count: u8,
}

impl Writer {
    /// A receiver that calls itself `sender`.
    pub const fn new(sender: u32, format: Format) -> Self {
        Self {
            sender,
            format,
            count: 0,
        }
    }

    /// Appends `message` about stream `media`; nothing where the format cannot say it.
    pub fn write(&mut self, message: &Rtcp, media: u32, out: &mut Vec<u8>) {
        let sender = self.sender;
        match message {
            Rtcp::Arrivals(arrivals) | Rtcp::Repairs(arrivals) => {
                self.write_reports(&[(media, arrivals)], out);
            }
            Rtcp::Nack(missing) => {
                let missing = missing.iter().map(|n| *n as u16);
                Message::Nack(Nack::of(sender, media, missing)).encode(out);
            }
            Rtcp::Pli => Message::Pli(Pli { sender, media }).encode(out),
        }
    }

    /// Appends what was made at one time of several streams: RFC 8888 has one message for them.
    pub fn write_reports(&mut self, streams: &[(u32, &Arrivals)], out: &mut Vec<u8>) {
        match self.format {
            Format::Ccfb => {
                let made = streams.iter().find_map(|(_, a)| a.made).unwrap_or_default();
                let stream = |(media, arrivals): &(u32, &Arrivals)| Stream {
                    ssrc: *media,
                    begin: arrivals.first as u16,
                    packets: arrivals
                        .packets
                        .iter()
                        .map(|p| p.map(|(at, ecn)| Arrival::new(ecn, Some(made.since(at)))))
                        .collect(),
                };
                Message::Ccfb(Ccfb {
                    sender: self.sender,
                    streams: streams.iter().map(stream).collect(),
                    timestamp: Ccfb::timestamp_of(made),
                })
                .encode(out);
            }
            Format::Twcc => {
                for (media, arrivals) in streams {
                    self.write_wide(arrivals, *media, out);
                }
            }
        }
    }

    fn write_wide(&mut self, arrivals: &Arrivals, media: u32, out: &mut Vec<u8>) {
        let ticks = arrivals.packets.iter();
        let ticks: Vec<Option<u64>> = ticks
            .map(|p| p.map(|(at, _)| at.as_nanos() / TICK))
            .collect();
        // The receiver cuts its reports so that they fit; one that does not says nothing.
        if let Ok(mut report) = Twcc::of(arrivals.first as u16, self.count, &ticks) {
            report.sender = self.sender;
            report.media = media;
            self.count = self.count.wrapping_add(1);
            Message::Twcc(report).encode(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_core::Ecn;
    use slackwater_wire::rtcp::messages;

    use super::*;

    #[test]
    fn counters_wrap_to_the_nearest() {
        let mut u = Unwrap::<16>::default();
        assert_eq!(u.next(65_534), 65_534);
        assert_eq!(u.next(1), 65_537);
        assert_eq!(u.next(65_535), 65_535);
        assert_eq!(u.near(2, 65_535), 65_535, "nothing lies below zero");
        assert_eq!(u.near(65_536 * 3, 65_535), 65_536 * 3 - 1);
    }

    fn arrivals(first: u32, base: u64) -> Arrivals {
        let at = |ms, ecn| Some((Instant::from_millis(base + ms), ecn));
        Arrivals {
            first,
            packets: vec![at(0, Ecn::Ect1), None, at(2, Ecn::Ce), at(4, Ecn::Ect1)],
            made: Some(Instant::from_millis(base + 5)),
        }
    }

    /// What the sender reads of what the receiver writes.
    fn through(format: Format, reports: &[Arrivals], newest: u32) -> Vec<Arrivals> {
        let (mut writer, mut reader) = (Writer::new(9, format), Reader::default());
        let read = reports.iter().map(|report| {
            let mut bytes = Vec::new();
            writer.write(&Rtcp::Arrivals(report.clone()), 7, &mut bytes);
            let message = messages(&bytes).next().unwrap().unwrap();
            match reader.read(&message, 7, newest).unwrap() {
                Rtcp::Arrivals(read) => read,
                other => panic!("{other:?}"),
            }
        });
        read.collect()
    }

    #[test]
    fn a_report_keeps_its_numbers_marks_and_differences_of_time() {
        let sent = [
            arrivals(65_534, 100_000),
            arrivals(65_538, 165_536_000 / 1000),
        ];
        for format in [Format::Ccfb, Format::Twcc] {
            let read = through(format, &sent, 65_540);
            for (sent, read) in sent.iter().zip(&read) {
                assert_eq!(sent.first, read.first);
                let times = |a: &Arrivals| -> Vec<Option<u64>> {
                    let first = a.packets[0].unwrap().0;
                    let packets = a.packets.iter();
                    packets
                        .map(|p| p.map(|(at, _)| at.since(first).as_nanos()))
                        .collect()
                };
                for (a, b) in times(sent).iter().zip(times(read)) {
                    let off = a.unwrap_or(0).abs_diff(b.unwrap_or(0));
                    assert!(a.is_some() == b.is_some() && off < 1_100_000, "{off}");
                }
                if format == Format::Ccfb {
                    let marks = |a: &Arrivals| -> Vec<Option<Ecn>> {
                        a.packets.iter().map(|p| p.map(|(_, ecn)| ecn)).collect()
                    };
                    assert_eq!(marks(sent), marks(read));
                }
            }
            let apart =
                |a: &[Arrivals]| a[1].packets[0].unwrap().0.since(a[0].packets[0].unwrap().0);
            let off = apart(&sent).as_nanos().abs_diff(apart(&read).as_nanos());
            assert!(off < 1_100_000, "{format:?}: {off}");
        }
    }

    #[test]
    fn another_streams_report_says_nothing() {
        let mut bytes = Vec::new();
        Writer::new(9, Format::Ccfb).write(&Rtcp::Arrivals(arrivals(1, 50)), 8, &mut bytes);
        Writer::new(9, Format::Ccfb).write(&Rtcp::Pli, 8, &mut bytes);
        let mut reader = Reader::default();
        for message in messages(&bytes) {
            assert_eq!(reader.read(&message.unwrap(), 7, 4), None);
        }
    }

    #[test]
    fn a_full_intra_request_counts_once_for_each_number() {
        let mut reader = Reader::default();
        let mut read = |stream, number| {
            let fir = Message::Fir(Fir {
                sender: 9,
                entries: vec![(8, 1), (stream, number)],
            });
            reader.read(&fir, 7, 4)
        };
        assert_eq!(read(6, 3), None);
        assert_eq!(read(7, 3), Some(Rtcp::Pli));
        assert_eq!(read(7, 3), None);
        assert_eq!(read(7, 4), Some(Rtcp::Pli));
    }

    #[test]
    fn one_report_speaks_of_two_streams() {
        let (media, repairs) = (arrivals(10, 100), arrivals(3, 100));
        let mut bytes = Vec::new();
        let mut writer = Writer::new(9, Format::Ccfb);
        writer.write_reports(&[(7, &media), (8, &repairs)], &mut bytes);
        let read: Vec<_> = messages(&bytes).map(Result::unwrap).collect();
        assert_eq!(read.len(), 1);
        let mut reader = Reader::default();
        for (ssrc, first) in [(7, 10), (8, 3)] {
            let Some(Rtcp::Arrivals(part)) = reader.read(&read[0], ssrc, 13) else {
                panic!("a report of {ssrc}");
            };
            assert_eq!((part.first, part.packets.len()), (first, 4));
        }
    }

    proptest! {
        /// Whatever a peer sends is read, or refused, without a panic.
        #[test]
        fn hostile_reports_are_read_or_refused(
            body in proptest::collection::vec(any::<u8>(), 0..200),
            kind in prop_oneof![Just((205_u8, 11_u8)), Just((205, 15)), Just((205, 1)), Just((206, 1)), Just((206, 4)), any::<(u8, u8)>()],
            newest: u32,
        ) {
            let words = body.len() / 4;
            let mut bytes = vec![0x80 | kind.1 & 31, kind.0, (words >> 8) as u8, words as u8];
            bytes.extend(&body);
            let mut reader = Reader::default();
            for message in messages(&bytes).flatten() {
                let ssrc = match &message {
                    Message::Ccfb(c) => c.streams.first().map_or(0, |s| s.ssrc),
                    Message::Nack(n) => n.media,
                    _ => 0,
                };
                for _ in 0..2 {
                    let _ = reader.read(&message, ssrc, newest);
                }
            }
        }
    }
}
