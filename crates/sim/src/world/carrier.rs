//! What takes a report from where it is made to who acts on it, and what goes wrong on the way.
//!
//! A report to a sender is eight bytes ([`ReportBody`]) in the simulator as on the wire: what a sender reads is as coarse as
//! these make it, and an ACK grows by the option or frame that holds them.

use core::fmt;

use slackwater_core::packet::{Blocks, IPV4_HEADER, TCP_HEADER, UDP_HEADER};
use slackwater_core::{
    Body, Bytes, Direction, Draw, Duration, Ecn, FlowId, Instant, NodeId, Packet, QuicBits,
    Segment, TcpFlags,
};
use slackwater_edge::ReportCarrier;
use slackwater_signal::{Counters, PathReport, RanReport, ReportBody};
use slackwater_transport::quic::{ACK_RANGE, REPORT_FRAME};

use super::gtpu::Profile;
use crate::lane::LaneConfig;

/// IP bytes of an out-of-band report over UDP and IPv4: key of the flow and body.
const DATAGRAM: u16 = IPV4_HEADER + UDP_HEADER + 28;
/// The same with a base station's counters.
const DATAGRAM_COUNTERS: u16 = IPV4_HEADER + UDP_HEADER + 44;
/// The option with the report (RFC 6994: kind, length, `ExID`, body).
const OPTION: u16 = 12;
/// Bytes of options that a TCP header holds (RFC 9293, 3.1).
const OPTIONS_MAX: u16 = 40;
/// The largest IP packet that an agent makes by growing one.
const MTU: u16 = 1500;

/// Who acts on an agent's reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// The sender of this flow.
    Sender(FlowId),
    /// The sender of this flow, should its data turn out to go the other way ([`World::set_direction`](super::World::set_direction)).
    Turned(FlowId),
    /// The senders of all flows that are added later, whose data goes down through the agent's cell, and whose controller
    /// takes reports.
    Senders,
    /// This edge function.
    Function(NodeId),
}

/// What carries reports: to senders by the first three, to edge functions by the others.
pub enum Carrier {
    /// Each ACK: a TCP option, or a DATAGRAM frame (RFC 9221) that a QUIC receiver puts beside its ACK. An agent on the
    /// path cannot write into QUIC.
    OnAck,
    /// A datagram beside an ACK (or beside a packet of a QUIC receiver), at most one every so often.
    Datagram {
        /// The least time between two.
        every: Duration,
        /// Their way.
        lane: LaneConfig,
    },
    /// A socket of its own, at this period whatever else happens, while the flow is not idle. What makes reports as packets
    /// pass sends them as datagrams.
    Socket {
        /// The period.
        every: Duration,
        /// Their way.
        lane: LaneConfig,
    },
    /// GTP-U from the base station to the user plane function. Messages keep their order.
    Gtpu {
        /// Which fields hold the reports.
        profile: Profile,
        /// One-way delay.
        delay: Duration,
        /// Extra delay of each message, uniform in [0, jitter).
        jitter: Duration,
    },
    /// A carrier from outside for messages to a function.
    Own(Box<dyn ReportCarrier + Send>),
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnAck => f.write_str("OnAck"),
            Self::Datagram { every, lane } => write!(f, "Datagram({every:?}, {lane:?})"),
            Self::Socket { every, lane } => write!(f, "Socket({every:?}, {lane:?})"),
            Self::Gtpu {
                profile,
                delay,
                jitter,
            } => write!(f, "Gtpu({profile:?}, {delay:?}, {jitter:?})"),
            Self::Own(_) => f.write_str("Own"),
        }
    }
}

impl Carrier {
    /// The way of reports that travel on their own.
    pub(super) const fn lane(&self) -> Option<LaneConfig> {
        match *self {
            Self::Datagram { lane, .. } | Self::Socket { lane, .. } => Some(lane),
            Self::OnAck | Self::Gtpu { .. } | Self::Own(_) => None,
        }
    }

    /// True for what takes reports to senders.
    pub(super) const fn reaches_senders(&self) -> bool {
        !matches!(self, Self::Gtpu { .. } | Self::Own(_))
    }
}

/// What goes wrong with reports; nothing, by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Probability that a report is lost: its option stripped, its datagram gone.
    pub loss: f64,
    /// From here on no report leaves (an agent that is gone, a middlebox that strips), or no new one.
    pub until: Instant,
    /// After [`Faults::until`] the last report is repeated.
    pub stale: bool,
    /// The agent lies: rates and bytes are multiplied by this. 1 is honest.
    pub scale: f64,
    /// The same for delays.
    pub delay_scale: f64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            loss: 0.0,
            until: Instant::MAX,
            stale: false,
            scale: 1.0,
            delay_scale: 1.0,
        }
    }
}

impl Faults {
    /// No report leaves at `now`.
    #[inline]
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        now >= self.until && !self.stale
    }

    /// What leaves at `now` repeats the last report.
    #[inline]
    pub(super) fn repeats(&self, now: Instant) -> bool {
        now >= self.until && self.stale
    }

    /// Report number `key` of those that `draw` decides on is lost.
    #[inline]
    pub(super) fn loses(&self, draw: Draw, key: u64) -> bool {
        self.loss > 0.0 && draw.uniform(key) < self.loss
    }

    /// What arrives of the `fresh` report that leaves at `now` for one sender; `None` where none does. Losses are draws of
    /// `draw` by the number of the report.
    #[inline]
    pub(super) fn pass(
        &self,
        now: Instant,
        fresh: PathReport,
        progress: &mut Progress,
        draw: Draw,
    ) -> Option<PathReport> {
        let repeats = self.repeats(now);
        let arriving = self.distort(fresh, progress.last.filter(|_| repeats), repeats)?;
        if !repeats {
            progress.last = Some(fresh);
        }
        let number = progress.count;
        progress.count += 1;
        if self.loses(draw, number) {
            return None;
        }
        Some(arriving)
    }

    /// What an agent that lies, or that repeats the `last` report, makes of a `fresh` one.
    fn distort(
        &self,
        fresh: PathReport,
        last: Option<PathReport>,
        repeats: bool,
    ) -> Option<PathReport> {
        match (fresh, last) {
            // The rate is repeated, over the time that has passed; zero before there was one.
            (PathReport::TransportBlocks { bytes, span, end }, _) => {
                let bytes = match last {
                    Some(PathReport::TransportBlocks {
                        bytes,
                        span: covered,
                        ..
                    }) => bytes.0 as f64 / units(covered) * units(span),
                    _ if repeats => 0.0,
                    _ => bytes.0 as f64,
                };
                let bytes = Bytes((bytes * self.scale) as u64);
                Some(PathReport::TransportBlocks { bytes, span, end })
            }
            (_, Some(report)) => Some(self.scaled(report)),
            (report, None) => (!repeats).then(|| self.scaled(report)),
        }
    }

    fn scaled(&self, report: PathReport) -> PathReport {
        match report {
            PathReport::Share {
                rate,
                hol_delay,
                seq,
                shared,
            } => PathReport::Share {
                rate: rate.mul_f64(self.scale),
                hol_delay: Duration::from_nanos(
                    (hol_delay.as_nanos() as f64 * self.delay_scale) as u64,
                ),
                seq,
                shared,
            },
            PathReport::Counters(counters) => {
                let scale = |bytes: u32| (f64::from(bytes) * self.scale) as u64 as u32;
                let hol = counters.hol.as_nanos() as f64 * self.delay_scale;
                PathReport::Counters(Counters {
                    offered: scale(counters.offered),
                    backlog: scale(counters.backlog),
                    company: scale(counters.company),
                    hol: Duration::from_nanos(hol as u64),
                    ..counters
                })
            }
            other => other,
        }
    }
}

/// A span in slots of the highest numerology (15.625 us: TS 38.211, 4.3.2).
fn units(span: Duration) -> f64 {
    (span.as_nanos() / 15_625) as f64
}

/// The reports to one sender that left so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Their number, which names the draws of losses.
    count: u64,
    /// The last that was not a repetition.
    pub(super) last: Option<PathReport>,
}

impl Faults {
    /// Makes of a message to an edge function what arrives of it but for its loss: what an agent that lies says, or `last`
    /// again. `last` is kept up where that may come.
    pub(super) fn distort_message(
        &self,
        now: Instant,
        message: &mut Vec<RanReport>,
        last: &mut Vec<RanReport>,
    ) {
        if self.repeats(now) {
            message.clear();
            message.extend(last.iter().map(|report| report.read_at(now)));
            return;
        }
        if self.scale != 1.0 {
            for report in message.iter_mut() {
                *report = report.scaled(self.scale);
            }
        }
        if self.stale {
            last.clone_from(message);
        }
    }
}

/// True for a packet beside which a report may leave: an ACK of TCP, or anything of QUIC's after the handshake, since an
/// agent cannot read what it is.
#[inline]
pub(super) const fn answers(packet: &Packet) -> bool {
    matches!(packet.dir, Direction::Up)
        && match &packet.body {
            Body::Tcp(s) => s.flags.contains(TcpFlags::ACK) && !s.flags.contains(TcpFlags::SYN),
            Body::QuicData(_) | Body::QuicAck(_) => true,
            _ => false,
        }
}

/// True for a packet into which the UE can put a report to the sender of its flow: an ACK, but for those of the real QUIC
/// stack, whose bytes are written.
#[inline]
pub(super) const fn carries(packet: &Packet) -> bool {
    answers(packet)
        && match packet.quic() {
            Some(bits) => bits.contains(QuicBits::ACK),
            None => true,
        }
}

/// A report on its own; `None` where no datagram holds it.
pub(super) fn datagram(now: Instant, flow: FlowId, report: &PathReport) -> Option<Packet> {
    let (len, body) = match report {
        PathReport::Counters(counters) => (DATAGRAM_COUNTERS, Body::Counters(counters.encode())),
        other => (DATAGRAM, Body::Report(ReportBody::of(other)?.0)),
    };
    Some(Packet {
        created: now,
        flow,
        len,
        ecn: Ecn::NotEct,
        dir: Direction::Up,
        body,
    })
}

/// Puts a report into `packet`: into the options of a segment, where they have room, or into a DATAGRAM frame of a light
/// QUIC receiver's ACK (RFC 9221), as that receiver would.
#[inline]
pub(super) fn put(packet: &mut Packet, body: ReportBody) {
    match &mut packet.body {
        Body::Tcp(segment) => put_option(&mut packet.len, segment, body),
        Body::QuicAck(ack) => {
            if ack.set_report(body.0) {
                packet.len -= ACK_RANGE;
            }
            packet.len += REPORT_FRAME;
        }
        // Beside data for the end that sends no reports' flow: the frame takes its room, and nobody reads it.
        Body::QuicData(data) => {
            data.bits = data.bits.with(QuicBits::DATAGRAM);
            packet.len += REPORT_FRAME;
        }
        _ => {}
    }
}

/// Puts a report into the options of a segment whose packet has `len` bytes, where they have room.
#[inline]
pub(super) fn put_option(len: &mut u16, segment: &mut Segment, body: ReportBody) {
    // A real packet may be of IPv6, whose header of 40 bytes would pass for options.
    let options = (*len - segment.payload - IPV4_HEADER - TCP_HEADER).min(OPTIONS_MAX);
    // Without padding, time stamps (10), two SACK blocks (18) and the report (12) fill the 40 bytes.
    let grown = (options + OPTION).min(OPTIONS_MAX);
    if segment.blocks != Blocks::Three && *len - options + grown <= MTU {
        *len += grown - options;
        segment.set_report(body.0);
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Bytes, UeId};

    use super::*;

    const STOP: Instant = Instant::from_millis(100);

    fn backlog(at: Instant, bytes: u64) -> RanReport {
        RanReport::Backlog {
            at,
            ue: UeId(1),
            flow: FlowId(2),
            bytes: Bytes(bytes),
        }
    }

    #[test]
    fn reports_end_or_repeat_the_last() {
        let mut faults = Faults {
            until: STOP,
            ..Faults::default()
        };
        let before = Instant::from_millis(99);
        assert!(!faults.is_silent(before) && !faults.repeats(before));
        assert!(faults.is_silent(STOP) && !faults.repeats(STOP));

        faults.stale = true;
        assert!(!faults.is_silent(STOP) && faults.repeats(STOP));
        let mut last = Vec::new();
        let mut message = vec![backlog(before, 7_000)];
        faults.distort_message(before, &mut message, &mut last);
        assert_eq!(message, [backlog(before, 7_000)]);
        let mut message = vec![backlog(STOP, 90)];
        faults.distort_message(STOP, &mut message, &mut last);
        assert_eq!(message, [backlog(STOP, 7_000)]);
    }

    #[test]
    fn an_agent_lies_about_amounts_and_not_about_time() {
        let faults = Faults {
            scale: 0.5,
            delay_scale: 3.0,
            ..Faults::default()
        };
        let mut message = vec![backlog(STOP, 7_000)];
        faults.distort_message(STOP, &mut message, &mut Vec::new());
        assert_eq!(message, [backlog(STOP, 3_500)]);
        let share = |mbps, ms| PathReport::Share {
            rate: slackwater_core::Rate::from_mbps(mbps),
            hol_delay: Duration::from_millis(ms),
            seq: 9,
            shared: true,
        };
        let told = faults.distort(share(10.0, 4), None, false);
        assert_eq!(told, Some(share(5.0, 12)));
    }
}
