//! The receiving end: reports, asks for what is missing, and shows frames.

use slackwater_core::{Body, Bytes, Direction, Duration, Ecn, FlowId, Instant, Packet};

use super::BELOW_RTCP;
use super::arrivals::Record;
use super::config::{Cadence, ReceiverConfig, RtpConfig};
use super::feedback::{Format, Mailbox, PLI_LEN, Rtcp, nack_len};
use super::frames::{Buffer, Frame};
use super::nack::{Missing, retry_after};

/// Key frames are asked for no more often than this (ours).
const PLI_INTERVAL: Duration = Duration::from_millis(300);

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Packets that arrived, padding and duplicates included.
    pub packets: u64,
    /// Packets that arrived marked CE.
    pub marked: u64,
    /// Packets of frames that were new.
    pub media: u64,
    /// Frames that were shown.
    pub shown: u64,
    /// Frames that were complete after their deadline.
    pub late: u64,
    /// Frames that were never shown.
    pub lost: u64,
    /// Gaps between shown frames of more than three mean gaps, and more than 150 ms above the mean.
    pub freezes: u64,
    /// Sum of those gaps.
    pub frozen: Duration,
    /// Reports sent.
    pub reports: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Key frames asked for.
    pub plis: u64,
    /// IP bytes of RTCP.
    pub rtcp: Bytes,
}

/// A packet that arrived, apart from the media in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The number that reports call it by.
    pub number: u32,
    /// Its mark.
    pub ecn: Ecn,
    /// It came on a stream of retransmissions, which has numbers of its own in reports (RFC 4588, 4).
    pub repair: bool,
    /// RTP sequence number of the media packet that it is, or brings again; `None`: no gap shows where it is missing.
    pub sequence: Option<u32>,
    /// It ends a frame.
    pub last: bool,
}

/// One end of a media flow.
#[derive(Clone, Debug)]
pub struct RtpReceiver {
    flow: FlowId,
    /// Which way RTCP goes.
    dir: Direction,
    format: Format,
    config: ReceiverConfig,
    record: Record,
    /// Of the stream of retransmissions, where they have one of their own.
    repairs: Record,
    missing: Missing,
    /// Round trip, smoothed; `None`: not known.
    rtt: Option<Duration>,
    buffer: Buffer,
    report_timer: Option<Instant>,
    /// When the first packet came: intervals count from there.
    first: Option<Instant>,
    pli: Option<Instant>,
    done: Vec<Frame>,
    delivered: u64,
    stats: ReceiverStats,
}

impl RtpReceiver {
    /// The end that media of `flow` goes to; `up`: the media goes up.
    pub fn new(flow: FlowId, up: bool, config: &RtpConfig) -> Self {
        Self {
            flow,
            dir: if up { Direction::Down } else { Direction::Up },
            format: config.format,
            config: config.receiver,
            record: Record::default(),
            repairs: Record::default(),
            missing: Missing::default(),
            rtt: None,
            buffer: Buffer::new(config.receiver),
            report_timer: None,
            first: None,
            pli: None,
            done: Vec::new(),
            delivered: 0,
            stats: ReceiverStats::default(),
        }
    }

    /// A packet arrived.
    pub fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        mailbox: &mut Mailbox,
        out: &mut Vec<Packet>,
    ) {
        let Body::Media(media) = &packet.body else {
            return;
        };
        let of_frame = media.packets > 0;
        let arrival = Arrival {
            number: media.number,
            ecn: packet.ecn,
            repair: false,
            sequence: of_frame.then_some(media.sequence),
            last: of_frame && media.index.checked_add(1) == Some(media.packets),
        };
        self.record(now, &arrival);
        if of_frame {
            self.put(now, packet);
        }
        self.respond(now, arrival.last, mailbox, out);
    }

    /// A packet arrived at a host that tells later what it is of; see [`RtpReceiver::on_media`]. `false`: the media packet that
    /// it brings again had arrived before, or was given up.
    pub fn on_arrival(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        mailbox: &mut Mailbox,
        out: &mut Vec<Packet>,
    ) -> bool {
        let fresh = self.record(now, arrival);
        self.respond(now, arrival.last, mailbox, out);
        fresh
    }

    /// What a packet is of that [`RtpReceiver::on_arrival`] was told of, or several of them together.
    pub fn on_media(
        &mut self,
        now: Instant,
        packet: &Packet,
        mailbox: &mut Mailbox,
        out: &mut Vec<Packet>,
    ) {
        self.put(now, packet);
        self.ask(now, mailbox, out);
    }

    /// The packet is counted, and the next report has it. `false`: its media had arrived before.
    fn record(&mut self, now: Instant, arrival: &Arrival) -> bool {
        self.stats.packets += 1;
        self.stats.marked += u64::from(arrival.ecn == Ecn::Ce);
        let clock = now.saturating_add(self.config.clock_offset);
        let record = if arrival.repair {
            &mut self.repairs
        } else {
            &mut self.record
        };
        record.on_arrival(clock, arrival.number, arrival.ecn);

        let sequence = arrival.sequence.filter(|_| self.config.nack);
        sequence.is_none_or(|sequence| self.missing.on_packet(now, sequence))
    }

    /// The media of `packet` are put to those of its frame.
    fn put(&mut self, now: Instant, packet: &Packet) {
        let Body::Media(media) = &packet.body else {
            return;
        };
        let buffer = &mut self.buffer;
        if buffer.on_packet(now, packet.created, media, &mut self.done) {
            self.delivered += u64::from(media.payload);
            self.stats.media += 1;
        }
        self.buffer.settle(now, &mut self.done);
    }

    /// Reports, or is to report later; requests what is missing.
    fn respond(&mut self, now: Instant, last: bool, mailbox: &mut Mailbox, out: &mut Vec<Packet>) {
        match self.config.cadence {
            Cadence::Frame(_) if last => self.report(now, mailbox, out),
            Cadence::Frame(wait) => {
                self.report_timer.get_or_insert(now.saturating_add(wait));
            }
            Cadence::Interval(interval) => {
                let first = *self.first.get_or_insert(now);
                let gone = now.since(first) / interval.max(Duration::from_nanos(1));
                self.report_timer
                    .get_or_insert(first + interval * (gone + 1));
            }
        }
        self.ask(now, mailbox, out);
    }

    /// Time has come.
    pub fn on_timer(&mut self, now: Instant, mailbox: &mut Mailbox, out: &mut Vec<Packet>) {
        if self.buffer.next_timer().is_some_and(|t| t <= now) {
            self.buffer.settle(now, &mut self.done);
        }
        if self.report_timer.is_some_and(|t| t <= now) {
            self.report(now, mailbox, out);
        }
        self.ask(now, mailbox, out);
    }

    /// When [`RtpReceiver::on_timer`] should be called.
    pub fn next_timer(&self) -> Option<Instant> {
        let pli = self.pli.filter(|_| self.buffer.needs_key);
        let timers = [
            self.report_timer,
            self.buffer.next_timer(),
            self.missing.next_timer(),
            pli,
        ];
        timers.into_iter().flatten().min()
    }

    /// Frames that were shown or given up since the last call, in their order.
    pub fn take_frames(&mut self) -> std::vec::Drain<'_, Frame> {
        self.done.drain(..)
    }

    /// The host decodes: see [`ReceiverConfig::needs_key`].
    pub const fn decode_outside(&mut self) {
        self.config.needs_key = true;
        self.buffer.decode_outside();
    }

    /// The other end sends again what is missing: requests it, and holds up later frames for it.
    pub const fn request_missing(&mut self) {
        self.config.nack = true;
        self.buffer.request_missing();
    }

    /// The host's decoder needs a key frame. The next call sends a PLI, and no frame is shown before a key frame.
    pub const fn need_key(&mut self) {
        self.buffer.needs_key = true;
    }

    /// The host measured a round trip to the other end: what stays missing is requested again after one.
    pub fn on_round_trip(&mut self, rtt: Duration) {
        // RFC 6298, 2.
        self.rtt = Some(self.rtt.map_or(rtt, |smoothed| (smoothed * 7 + rtt) / 8));
    }

    /// Round trip to the other end, smoothed; `None`: the host measured none.
    pub const fn round_trip(&self) -> Option<Duration> {
        self.rtt
    }

    /// Payload bytes of frames that arrived, each once.
    pub const fn delivered(&self) -> Bytes {
        Bytes(self.delivered)
    }

    /// Counters.
    pub const fn stats(&self) -> ReceiverStats {
        let counts = self.buffer.counts;
        ReceiverStats {
            shown: counts.shown,
            late: counts.late,
            lost: counts.lost,
            freezes: counts.freezes,
            frozen: counts.frozen,
            ..self.stats
        }
    }

    fn report(&mut self, now: Instant, mailbox: &mut Mailbox, out: &mut Vec<Packet>) {
        self.report_timer = None;
        let clock = now.saturating_add(self.config.clock_offset);
        while let Some(report) = self.record.report(clock, self.format) {
            let len = report.len(self.format);
            self.stats.reports += 1;
            self.send(now, Rtcp::Arrivals(report), len, mailbox, out);
        }
        while let Some(report) = self.repairs.report(clock, self.format) {
            let len = report.len(self.format);
            self.send(now, Rtcp::Repairs(report), len, mailbox, out);
        }
    }

    fn ask(&mut self, now: Instant, mailbox: &mut Mailbox, out: &mut Vec<Packet>) {
        let retry = self.rtt.map_or(self.config.nack_retry, retry_after);
        let missing = self.missing.ask(now, retry);
        if !missing.is_empty() {
            let len = nack_len(&missing);
            self.stats.nacks += 1;
            self.send(now, Rtcp::Nack(missing), len, mailbox, out);
        }
        if self.buffer.needs_key && self.pli.is_none_or(|t| t <= now) {
            self.pli = Some(now.saturating_add(PLI_INTERVAL));
            self.stats.plis += 1;
            self.send(now, Rtcp::Pli, PLI_LEN, mailbox, out);
        }
    }

    fn send(
        &mut self,
        now: Instant,
        message: Rtcp,
        len: usize,
        mailbox: &mut Mailbox,
        out: &mut Vec<Packet>,
    ) {
        // A NACK of a thousand scattered packets is longer than any report, and far below 64 kB.
        let len = len as u16 + BELOW_RTCP;
        self.stats.rtcp += Bytes(u64::from(len));
        out.push(Packet {
            created: now,
            flow: self.flow,
            len,
            ecn: Ecn::NotEct,
            dir: self.dir,
            body: Body::Rtcp(slackwater_core::Rtcp {
                message: mailbox.put(message),
            }),
        });
    }
}
