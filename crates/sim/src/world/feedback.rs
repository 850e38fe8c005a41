//! Explicit feedback: an agent's reports on their way from the cell to the senders.

use slackwater_core::packet::{IPV4_HEADER, TCP_HEADER, UDP_HEADER};
use slackwater_core::{
    BearerId, Direction, Draw, Duration, FlowId, Instant, Packet, Proto, QuicBits, SackBlock,
    SeqNum, TcpFlags, UeId,
};
use slackwater_edge::ReportAgent;
use slackwater_ran::cell::Cell;
use slackwater_signal::{Body, PathReport};
use slackwater_transport::quic::{ACK_RANGE, REPORT_FRAME};

use super::Hop;
use crate::lane::LaneConfig;

/// IP bytes of an out-of-band report over UDP and IPv4: key of the flow and body.
const DATAGRAM: u16 = IPV4_HEADER + UDP_HEADER + 28;
/// The option with the report (RFC 6994: kind, length, `ExID`, body).
const OPTION: u16 = 12;
/// Bytes of options that a TCP header holds (RFC 9293, 3.1).
const OPTIONS_MAX: u16 = 40;
/// The largest IP packet that an agent makes by growing one.
const MTU: u16 = 1500;

/// What carries reports to senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeedbackCarrier {
    /// A TCP option on each ACK; a QUIC flow gets none.
    TcpOption,
    /// A datagram beside each ACK (each packet that a QUIC receiver sends), on a lane of its own.
    Datagram(LaneConfig),
}

/// How reports travel, and what goes wrong with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackConfig {
    /// What carries them.
    pub carrier: FeedbackCarrier,
    /// Probability that a report is lost: its option stripped, its datagram gone.
    pub loss: f64,
    /// From here on no report leaves (an agent that is gone, a middlebox that strips).
    pub until: Instant,
    /// The agent lies: rates are multiplied by this. 1 is honest.
    pub rate_scale: f64,
    /// The same for head-of-line delays.
    pub hol_scale: f64,
}

impl Default for FeedbackConfig {
    fn default() -> Self {
        Self {
            carrier: FeedbackCarrier::TcpOption,
            loss: 0.0,
            until: Instant::MAX,
            rate_scale: 1.0,
            hol_scale: 1.0,
        }
    }
}

/// A flow whose sender asked for reports.
#[derive(Clone, Copy, Debug)]
struct Reported {
    ue: UeId,
    bearer: BearerId,
    /// Where its datagrams go.
    lane: Option<Hop>,
    /// Reports so far, for the draws of losses.
    count: u64,
    last: Option<PathReport>,
}

/// An agent and the way of its reports.
pub(super) struct Feedback {
    pub(super) agent: Box<dyn ReportAgent + Send>,
    pub(super) config: FeedbackConfig,
    draw: Draw,
    /// By flow.
    flows: Vec<Option<Reported>>,
}

impl Feedback {
    pub(super) fn new(
        agent: Box<dyn ReportAgent + Send>,
        config: FeedbackConfig,
        draw: Draw,
    ) -> Self {
        Self {
            agent,
            config,
            draw,
            flows: Vec::new(),
        }
    }

    /// The sender of `flow` takes reports; datagrams travel by `lane`.
    pub(super) fn subscribe(
        &mut self,
        flow: FlowId,
        ue: UeId,
        bearer: BearerId,
        lane: Option<Hop>,
    ) {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, None);
        }
        self.flows[flow.index()] = Some(Reported {
            ue,
            bearer,
            lane,
            count: 0,
            last: None,
        });
    }

    /// The last report that left for `flow`.
    pub(super) fn last(&self, flow: FlowId) -> Option<PathReport> {
        self.flows.get(flow.index())?.as_ref()?.last
    }

    /// Shows the agent the downlink queues of all reported flows.
    pub(super) fn show_queues(&mut self, now: Instant, cell: &Cell<Packet>) {
        let mut before = None;
        for flow in self.flows.iter().flatten() {
            // Flows of one bearer mostly follow each other.
            if before != Some((flow.ue, flow.bearer)) {
                before = Some((flow.ue, flow.bearer));
                let view = cell.rlc_view(now, Direction::Down, flow.ue, flow.bearer);
                self.agent.on_queue(now, &view);
            }
        }
    }

    #[inline]
    pub(super) fn stamp(
        &mut self,
        now: Instant,
        cell: &Cell<Packet>,
        packet: &mut Packet,
    ) -> Option<(Hop, Packet)> {
        if !answers(packet) || now >= self.config.until {
            return None;
        }
        let flow = self.flows.get_mut(packet.flow.index())?.as_mut()?;
        let queue = cell.rlc_view(now, Direction::Down, flow.ue, flow.bearer);
        let report = self.agent.report(now, packet.flow, &queue)?;
        flow.last = Some(report);
        let number = flow.count;
        flow.count += 1;
        let lossy = self.config.loss > 0.0;
        if lossy && self.draw.fork(u64::from(packet.flow.0), 0).uniform(number) < self.config.loss {
            return None;
        }
        let body = Body::of(&self.config.distort(report))?;
        if let Some(lane) = flow.lane {
            return Some((lane, datagram(now, packet.flow, body)));
        }
        if packet.proto == Proto::Tcp {
            put(packet, body);
        }
        None
    }
}

/// True for a packet beside which a report may leave: an ACK of TCP, or anything of QUIC's after the handshake, since an
/// agent cannot read what it is.
#[inline]
fn answers(packet: &Packet) -> bool {
    packet.direction() == Direction::Up
        && match packet.proto {
            Proto::Tcp => {
                packet.flags.contains(TcpFlags::ACK) && !packet.flags.contains(TcpFlags::SYN)
            }
            Proto::Quic => !packet.quic().contains(QuicBits::LONG),
            Proto::Udp => false,
        }
}

/// True for a packet into which the UE can put a report to the sender of its flow: an ACK, but for those of the real QUIC
/// stack, whose bytes are written.
#[inline]
pub(super) fn carries(packet: &Packet) -> bool {
    answers(packet) && (packet.proto == Proto::Tcp || packet.quic().contains(QuicBits::ACK))
}

fn slot(body: Body) -> SackBlock {
    let (start, end) = body.words();
    SackBlock {
        start: SeqNum(start),
        end: SeqNum(end),
    }
}

/// A report on its own.
pub(super) fn datagram(now: Instant, flow: FlowId, body: Body) -> Packet {
    Packet {
        created: now,
        flow,
        slots: [SackBlock::default(), SackBlock::default(), slot(body)],
        len: DATAGRAM,
        proto: Proto::Udp,
        bits: Packet::BIT_UP | Packet::BIT_REPORT,
        ..Packet::default()
    }
}

/// Puts a report into the options of `packet`, where they have room.
#[inline]
pub(super) fn put(packet: &mut Packet, body: Body) {
    if packet.proto == Proto::Quic {
        put_frame(packet, body);
        return;
    }
    // A real packet may be of IPv6, whose header of 40 bytes would pass for options.
    let options = (packet.len - packet.payload - IPV4_HEADER - TCP_HEADER).min(OPTIONS_MAX);
    // Without padding, time stamps (10), two SACK blocks (18) and the report (12) fill the 40 bytes.
    let grown = (options + OPTION).min(OPTIONS_MAX);
    if packet.sacks <= 2 && packet.len - options + grown <= MTU {
        packet.len += grown - options;
        packet.bits |= Packet::BIT_REPORT;
        packet.slots[2] = slot(body);
    }
}

/// Puts a report into a DATAGRAM frame of a light QUIC receiver's ACK (RFC 9221), as that receiver would.
fn put_frame(packet: &mut Packet, body: Body) {
    let bits = packet.quic().with(QuicBits::DATAGRAM);
    packet.flags = TcpFlags(bits.0);
    if packet.sacks > 2 {
        packet.sacks = 2;
        packet.len -= ACK_RANGE;
    }
    packet.len += REPORT_FRAME;
    packet.bits |= Packet::BIT_REPORT;
    packet.slots[2] = slot(body);
}

impl FeedbackConfig {
    fn distort(&self, report: PathReport) -> PathReport {
        match report {
            PathReport::Share {
                rate,
                hol_delay,
                seq,
                shared,
            } => PathReport::Share {
                rate: rate.mul_f64(self.rate_scale),
                hol_delay: Duration::from_nanos(
                    (hol_delay.as_nanos() as f64 * self.hol_scale) as u64,
                ),
                seq,
                shared,
            },
            other => other,
        }
    }
}
