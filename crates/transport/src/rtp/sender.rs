//! The sending end: encoder, packetiser, pacer, and the controller that sets their rates.

mod host;

pub use host::Wanted;

use std::collections::VecDeque;

use slackwater_control::{
    AnyMedia, EcnMode, Feedback, Intent, MediaController as _, Pacer, PacketReport, PathReport,
    PathView, Sent,
};
use slackwater_core::record::FlowSample;
use slackwater_core::{
    Body, Bytes, Direction, Draw, Duration, Ecn, FlowId, Instant, Media, Packet, Rate,
};
use slackwater_signal::{Counters, ReportBody};

use super::RTX_HEADER;
use super::config::{Overflow, RtpConfig, SenderConfig};
use super::feedback::{Arrivals, Mailbox, Rtcp};
use super::history::{History, Outcome};
use super::source::{Encoded, Source};

/// Media packets that can be sent again.
const KEPT: usize = 4096;
/// What no report speaks of is out of flight after this, or four round trips (ours; a lost report must not close a
/// window for ever).
const SILENCE: Duration = Duration::from_millis(500);
/// Share of a window that media without a rate of the controller's fills: the rest keeps the pacer's queue short.
const OF_WINDOW: f64 = 0.9;
/// Below this share of the target, averaged over ten frames, the media limits the sender.
const LIMITED: f64 = 0.85;

/// Media may count against padding for so long.
const PAD_AHEAD: Duration = Duration::from_millis(50);

/// Nothing is thrown away again for so long (`kMinRtpQueueDiscardInterval_ntp` of Ericsson's `ScreamV2TxStream.cpp`).
const BETWEEN_DISCARDS: Duration = Duration::from_millis(250);

/// A pacer in a hurry empties its queue in no less time (libwebrtc: 1 ms).
const HURRY_LEAST: Duration = Duration::from_millis(1);
/// Media waits no longer for the pacer (libwebrtc's queue time limit), where nobody wants a shorter time.
const HURRIED: Duration = Duration::from_secs(2);

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// Frames captured.
    pub frames: u64,
    /// Frames that a host's encoder left out.
    pub skipped: u64,
    /// Frames thrown away, as a whole or in part, before they left.
    pub discarded: u64,
    /// Packets that left, all kinds.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: Bytes,
    /// Packets sent again.
    pub retransmits: u64,
    /// Padding packets.
    pub padding: u64,
    /// Packets that count as lost.
    pub lost: u64,
    /// Packets that reports call received, each once.
    pub arrived: u64,
    /// Of those, as ECT(1) or CE.
    pub l4s: u64,
    /// Packets that reports call marked CE, each once.
    pub marked: u64,
    /// Reports that arrived.
    pub reports: u64,
    /// NACKs that arrived.
    pub nacks: u64,
    /// Longest time that a packet waited for the pacer and the window.
    pub longest_wait: Duration,
}

/// A media packet that left, and when it last did.
#[derive(Clone, Copy, Debug)]
struct Kept {
    media: Media,
    sent: Instant,
}

/// One end of a media flow.
#[derive(Debug)]
pub struct RtpSender {
    config: SenderConfig,
    /// Header bytes of a media packet.
    header: u16,
    payload: u16,
    flow: FlowId,
    /// Which way media goes.
    dir: Direction,
    controller: AnyMedia,
    intent: Intent,
    source: Source,
    /// Frames are encoded by the host; see [`RtpSender::encode_outside`].
    outside: bool,
    /// Number of the next frame of the host's.
    frame: u32,
    pacer: Pacer,
    history: History,
    /// Packets that wait, oldest first.
    queue: VecDeque<Media>,
    /// IP bytes of those.
    queued: u64,
    /// RTP sequence numbers that wait to be sent again.
    again: VecDeque<u32>,
    kept: VecDeque<Kept>,
    /// RTP sequence number of the oldest in `kept`, and of the next packet.
    oldest: u32,
    sequence: u32,
    /// When padding may leave.
    pad: Instant,
    srtt: Option<Duration>,
    rtt: Duration,
    min_rtt: Option<Duration>,
    /// Frame sizes in units of what the target allows.
    usage: f64,
    /// The queue was last thrown away.
    cleared: Option<Instant>,
    acked: u64,
    blocked: bool,
    pace: Option<Instant>,
    news: Vec<PacketReport>,
    stats: SenderStats,
}

impl RtpSender {
    /// The end that media of `flow` comes from, captured from `start` to `stop`; `up`: it goes up.
    pub fn new(
        flow: FlowId,
        up: bool,
        config: &RtpConfig,
        controller: AnyMedia,
        start: Instant,
        stop: Instant,
        draw: Draw,
    ) -> Self {
        let mut sender = Self {
            config: config.sender,
            header: config.header(),
            payload: config.payload(),
            flow,
            dir: if up { Direction::Up } else { Direction::Down },
            intent: controller.intent(),
            controller,
            source: Source::new(config.sender.source, start, stop, draw),
            outside: false,
            frame: 0,
            pacer: Pacer::from_the_first(),
            history: History::default(),
            queue: VecDeque::new(),
            queued: 0,
            again: VecDeque::new(),
            kept: VecDeque::new(),
            oldest: 0,
            sequence: 0,
            pad: start,
            srtt: None,
            rtt: Duration::ZERO,
            min_rtt: None,
            usage: 1.0,
            cleared: None,
            acked: 0,
            blocked: false,
            pace: None,
            news: Vec::new(),
            stats: SenderStats::default(),
        };
        sender.follow(start);
        sender
    }

    /// A packet arrived: RTCP, or an explicit report.
    pub fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        mailbox: &mut Mailbox,
        out: &mut Vec<Packet>,
    ) {
        match &packet.body {
            Body::Report(bytes) => {
                if let Some(report) = ReportBody(*bytes).report() {
                    self.on_path_report(now, &report, out);
                }
            }
            Body::Counters(octets) => {
                if let Some(counters) = Counters::decode(octets) {
                    self.on_path_report(now, &PathReport::Counters(counters), out);
                }
            }
            Body::Rtcp(rtcp) => {
                if let Some(message) = mailbox.take(rtcp.message) {
                    self.on_message(now, &message, out);
                }
            }
            _ => {}
        }
    }

    /// RTCP arrived, where no mailbox stands between the ends.
    pub fn on_message(&mut self, now: Instant, message: &Rtcp, out: &mut Vec<Packet>) {
        match message {
            Rtcp::Arrivals(report) => self.on_report(now, core::slice::from_ref(report)),
            // Numbers here are those of all packets: only a host with two streams has others.
            Rtcp::Repairs(_) => {}
            Rtcp::Nack(missing) => self.on_nack(now, missing),
            Rtcp::Pli => self.source.want_key(),
        }
        self.transmit(now, out);
    }

    /// A report arrived that speaks of several ranges of packets, in their order, and of none between them.
    pub fn on_ranges(&mut self, now: Instant, ranges: &[Arrivals], out: &mut Vec<Packet>) {
        self.on_report(now, ranges);
        self.transmit(now, out);
    }

    /// Explicit feedback arrived.
    pub fn on_path_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        let path = self.path();
        self.controller.on_report(now, &path, report);
        self.follow(now);
        self.transmit(now, out);
    }

    /// Time has come.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.controller.next_timer().is_some_and(|t| t <= now) {
            let path = self.path();
            self.controller.on_timer(now, &path);
            self.follow(now);
        }
        while let Some(due) = self.source.next()
            && due <= now
            && !self.outside
        {
            // Its first packet was due then, however late this call is.
            self.pace.get_or_insert(due);
            self.capture(now);
        }
        self.transmit(now, out);
    }

    /// When [`RtpSender::on_timer`] should be called.
    pub fn next_timer(&self) -> Option<Instant> {
        let expiry = self.history.oldest().filter(|_| self.blocked);
        let timers = [
            self.source.next(),
            self.pace,
            self.controller.next_timer(),
            expiry.map(|t| t.saturating_add(self.silence())),
        ];
        timers.into_iter().flatten().min()
    }

    /// No frame is captured from `now` on. What was captured leaves, and reports are read.
    pub fn end(&mut self, now: Instant) {
        self.source.end(now);
    }

    /// Counters.
    pub const fn stats(&self) -> SenderStats {
        self.stats
    }

    /// The controller.
    pub const fn controller(&self) -> &AnyMedia {
        &self.controller
    }

    /// Payload rate that the encoder aims at.
    pub fn encoder_rate(&self) -> Rate {
        Rate::from_bps(self.source.rate() as u64)
    }

    /// Bytes that wait for the pacer and the window, and for how long the oldest has.
    pub fn queue(&self, now: Instant) -> (Bytes, Duration) {
        let wait = self.queue.front().map(|m| now.since(m.captured));
        (Bytes(self.queued), wait.unwrap_or_default())
    }

    /// The state for records; lengths in IP bytes.
    pub fn sample(&self) -> FlowSample {
        let mut sample = FlowSample::default();
        sample.cwnd = self.intent.window.unwrap_or_default();
        sample.ssthresh = self.intent.ssthresh;
        sample.in_flight = self.history.in_flight();
        sample.srtt = self.srtt.unwrap_or_default();
        sample.rtt = self.rtt;
        sample.min_rtt = self.min_rtt.unwrap_or_default();
        sample.pacing = self.pacer.rate();
        sample.target = Some(self.encoder_rate());
        sample.acked = Bytes(self.acked);
        sample.retransmits = self.stats.retransmits;
        sample
    }

    fn path(&self) -> PathView {
        let mut path = PathView::default();
        path.srtt = self.srtt.unwrap_or_default();
        path.min_rtt = self.min_rtt.unwrap_or_default();
        path.mss = u32::from(self.payload);
        path.wire_mss = u32::from(self.payload + self.header);
        path.in_flight = self.history.in_flight();
        path.queued = Bytes(self.queued);
        path
    }

    /// IP bytes per payload byte of full packets.
    fn overhead(&self) -> f64 {
        f64::from(self.payload + self.header) / f64::from(self.payload)
    }

    /// Payload rate for the encoder.
    fn target(&self) -> Rate {
        let headless = |rate: Rate| rate.mul_f64(1.0 / self.overhead());
        if let Some(target) = self.intent.target {
            target
        } else if let Some(pacing) = self.intent.pacing {
            headless(pacing)
        } else if let (Some(window), Some(srtt)) = (self.intent.window, self.srtt) {
            headless(Rate::from_bytes_over(window, srtt).mul_f64(OF_WINDOW))
        } else {
            self.config.source.start
        }
    }

    /// What headers leave of `target`, which a controller means for full packets: where frames do not fill theirs, the
    /// payload shrinks and the rate on the wire stays.
    fn headroom(&self, target: Rate) -> Rate {
        let per_second = 8.0 * self.config.source.fps;
        let wire = target.as_bps() as f64 / per_second * self.overhead();
        let packets = libm::ceil(wire / f64::from(self.payload + self.header));
        let payload = (wire - packets * f64::from(self.header)).max(0.0);
        target.min(Rate::from_bps((payload * per_second) as u64))
    }

    /// Takes over what the controller wants.
    fn follow(&mut self, now: Instant) {
        self.intent = self.controller.intent();
        self.set_pace(now);
    }

    /// How long media may wait for the pacer where nobody configured it.
    fn patience(&self) -> Duration {
        if self.controller.is_prompt() {
            Duration::from_secs_f64(1.0 / self.config.source.fps)
        } else {
            HURRIED
        }
    }

    fn set_pace(&mut self, now: Instant) {
        let of_target = |factor| self.target().mul_f64(factor * self.overhead());
        let of_window = || Pacer::window_rate(&self.intent, &self.path());
        let configured = self.config.pacing.map(of_target);
        let pacing = configured.or(self.intent.pacing).or_else(of_window);
        let hurried = match self.config.overflow {
            Overflow::Hurry(limit) => {
                let limit = limit.unwrap_or_else(|| self.patience());
                // On average, what waits has waited half as long as the oldest (libwebrtc's pacer counts exactly).
                let (queued, wait) = self.queue(now);
                let left = limit.saturating_sub(wait / 2).max(HURRY_LEAST);
                Rate::from_bytes_over(queued, left)
            }
            Overflow::Keep | Overflow::Discard(_) => Rate::ZERO,
        };
        let rate = pacing.map(|p| p.max(hurried).max(self.intent.padding));
        let burst = match (self.config.burst, rate) {
            (Some(time), Some(rate)) => rate.bytes_in(time),
            _ => self.intent.burst,
        };
        self.pacer.set_rate(rate, burst);
    }

    /// Encodes the frame that is due and cuts it into packets of one size.
    fn capture(&mut self, now: Instant) {
        let target = self.headroom(self.target());
        let frame = self.source.take(target);
        self.stats.frames += 1;
        self.count_usage(target, frame.bytes);
        let count = frame.bytes.div_ceil(u64::from(self.payload)).max(1);
        let (least, larger) = (frame.bytes / count, frame.bytes % count);
        let lengths = (0..count).map(|index| least as u16 + u16::from(index < larger));
        self.enqueue(frame, count as u32, lengths);
        self.set_pace(now);
    }

    /// A frame of so many bytes was made for `target`.
    fn count_usage(&mut self, target: Rate, bytes: u64) {
        let allowed = target.as_bps() as f64 / 8.0 / self.config.source.fps;
        if allowed > 0.0 {
            self.usage += (bytes as f64 / allowed - self.usage) * 0.1;
        }
    }

    /// The packets of `frame` wait for the pacer.
    fn enqueue(&mut self, frame: Encoded, count: u32, lengths: impl Iterator<Item = u16>) {
        for (index, payload) in (0..count).zip(lengths) {
            self.queue.push_back(Media {
                captured: frame.captured,
                // Numbers are given as packets leave.
                number: 0,
                sequence: self.sequence,
                frame: frame.number,
                index,
                packets: count,
                payload,
                key: frame.key,
                retransmission: false,
            });
            self.sequence = self.sequence.wrapping_add(1);
            self.queued += u64::from(payload + self.header);
        }
    }

    fn on_report(&mut self, now: Instant, ranges: &[Arrivals]) {
        self.stats.reports += 1;
        let mut news = core::mem::take(&mut self.news);
        let mut outcome = Outcome::default();
        for range in ranges {
            let of_range = self
                .history
                .on_report(now, range, self.config.reordering, &mut news);
            outcome.add(&of_range);
        }
        if let Some(rtt) = outcome.rtt {
            self.rtt = rtt;
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
            // RFC 6298, 2.
            self.srtt = Some(self.srtt.map_or(rtt, |s| (s * 7 + rtt) / 8));
        }
        self.acked += outcome.acked.0;
        self.stats.lost += outcome.lost_packets;
        let count =
            |with: fn(&PacketReport) -> bool| news.iter().filter(|p| with(p)).count() as u64;
        self.stats.arrived += count(|p| p.arrived.is_some());
        self.stats.l4s += count(|p| matches!(p.ecn, Ecn::Ect1 | Ecn::Ce));
        self.stats.marked += news.iter().filter(|p| p.ecn == Ecn::Ce).count() as u64;
        let path = self.path();
        let mut feedback = Feedback::new(&news);
        feedback.app_limited = self.usage < LIMITED;
        self.controller.on_feedback(now, &path, &feedback);
        news.clear();
        self.news = news;
        self.follow(now);
    }

    fn on_nack(&mut self, now: Instant, missing: &[u32]) {
        self.stats.nacks += 1;
        if !self.config.retransmit {
            return;
        }
        let pause = self.srtt.unwrap_or_default();
        for &sequence in missing {
            let place = sequence.wrapping_sub(self.oldest) as usize;
            let waits = self.again.contains(&sequence);
            if let Some(kept) = self.kept.get_mut(place)
                && !waits
                // What was sent again within a round trip may still arrive.
                && (!kept.media.retransmission || now.since(kept.sent) >= pause)
            {
                self.again.push_back(sequence);
            }
        }
    }

    fn silence(&self) -> Duration {
        SILENCE.max(self.srtt.unwrap_or_default() * 4)
    }

    /// Sends all that may leave now.
    fn transmit(&mut self, now: Instant, out: &mut Vec<Packet>) {
        // What waited was due before a late call: lateness of a host's timer is no silence, and costs no rate. The pacer is
        // told when packets were due; all else goes by when they leave.
        let limit = now.saturating_sub(self.config.late);
        let mut due = self.pace.take().map_or(now, |t| t.clamp(limit, now));
        self.blocked = false;
        self.discard(now);
        // What is no longer kept cannot be sent again.
        while let Some(sequence) = self.again.front()
            && self
                .kept
                .get(sequence.wrapping_sub(self.oldest) as usize)
                .is_none()
        {
            self.again.pop_front();
        }
        self.history.expire(now.saturating_sub(self.silence()));
        while let Some((media, kind)) = self.next_packet(now) {
            let in_flight = self.history.in_flight().0;
            let ip_bytes = self.ip_bytes(&media, kind);
            let len = u64::from(ip_bytes);
            let unreported = self.target().bytes_in(self.config.unreported);
            let window = self.intent.window.map_or(u64::MAX, |w| w.0);
            let window = window.saturating_add(unreported.0);
            if in_flight > 0 && in_flight + len > window {
                self.blocked = true;
                return;
            }
            due = self.pacer.earliest_departure(due, Bytes(len));
            if due > now {
                self.pace = Some(due);
                return;
            }
            self.pacer.on_sent(due, Bytes(len));
            self.send(now, media, ip_bytes, kind, out);
        }
        if self.intent.padding > Rate::ZERO && self.source.next().is_some() {
            self.pace = Some(self.pad);
        }
    }

    /// What leaves next: what was asked for, then media, then padding.
    fn next_packet(&self, now: Instant) -> Option<(Media, Kind)> {
        if let Some(&sequence) = self.again.front() {
            let place = sequence.wrapping_sub(self.oldest) as usize;
            let media = Media {
                retransmission: true,
                ..self.kept.get(place)?.media
            };
            return Some((media, Kind::Again));
        }
        if let Some(media) = self.queue.front() {
            return Some((*media, Kind::Media));
        }
        let wanted = self.intent.padding > Rate::ZERO && self.source.next().is_some();
        (wanted && self.pad <= now).then(|| (Media::default(), Kind::Padding))
    }

    /// The length of the packet.
    const fn ip_bytes(&self, media: &Media, kind: Kind) -> u16 {
        match kind {
            Kind::Media => media.payload + self.header,
            Kind::Again => media.payload + self.header + RTX_HEADER,
            Kind::Padding => self.config.packet,
        }
    }

    fn send(
        &mut self,
        now: Instant,
        mut media: Media,
        ip_bytes: u16,
        kind: Kind,
        out: &mut Vec<Packet>,
    ) {
        let len = Bytes(u64::from(ip_bytes));
        match kind {
            Kind::Again => {
                // Media waits while this does, so what `next_packet` found is still kept.
                if let Some(sequence) = self.again.pop_front() {
                    let place = sequence.wrapping_sub(self.oldest) as usize;
                    if let Some(kept) = self.kept.get_mut(place) {
                        kept.sent = now;
                        kept.media.retransmission = true;
                    }
                }
                self.stats.retransmits += 1;
                // Media makes room, so that the rate on the wire stays.
                self.source.spend(ip_bytes);
            }
            Kind::Media => {
                self.queue.pop_front();
                self.queued -= len.0;
                let wait = now.since(media.captured);
                self.stats.longest_wait = self.stats.longest_wait.max(wait);
                self.keep(now, media);
            }
            Kind::Padding => self.stats.padding += 1,
        }
        let after_idle = self.history.in_flight() == Bytes::ZERO;
        media.number = self.history.next();
        let ecn = match self.config.ecn.unwrap_or(self.intent.ecn) {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic | EcnMode::Dctcp => Ecn::Ect0,
            EcnMode::L4s => Ecn::Ect1,
        };
        self.history.on_sent(now, ip_bytes);
        if self.intent.padding > Rate::ZERO {
            let length = self.intent.padding.time_for(len);
            // Media faster than the padding is no reason to be silent for long afterwards.
            let most = now.saturating_add(length + PAD_AHEAD);
            self.pad = self.pad.max(now).saturating_add(length).min(most);
        }
        self.stats.packets += 1;
        self.stats.bytes += len;
        out.push(Packet {
            created: now,
            flow: self.flow,
            len: ip_bytes,
            ecn,
            dir: self.dir,
            body: Body::Media(media),
        });
        let mut sent = Sent::default();
        sent.bytes = len;
        sent.retransmission = kind == Kind::Again;
        sent.after_idle = after_idle;
        let path = self.path();
        self.controller.on_sent(now, &path, &sent);
        if after_idle {
            self.follow(now);
        } else if kind == Kind::Media && matches!(self.config.overflow, Overflow::Hurry(_)) {
            self.set_pace(now);
        }
    }

    /// Remembers a media packet for retransmission.
    fn keep(&mut self, now: Instant, media: Media) {
        if !self.config.retransmit {
            return;
        }
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.oldest = self.oldest.wrapping_add(1);
        }
        self.kept.push_back(Kept { media, sent: now });
    }

    /// Throws away what waited too long, where that is asked for.
    fn discard(&mut self, now: Instant) {
        let Overflow::Discard(limit) = self.config.overflow else {
            return;
        };
        let waited = |m: &Media| now.since(m.captured) > limit;
        let lately = self
            .cleared
            .is_some_and(|t| now.since(t) < BETWEEN_DISCARDS);
        if lately || !self.queue.front().is_some_and(waited) {
            return;
        }
        self.cleared = Some(now);
        let mut frames = 0;
        let mut last = None;
        for media in self.queue.drain(..) {
            frames += u64::from(last != Some(media.frame));
            last = Some(media.frame);
            // Numbers are given again: a receiver must not ask for what never left.
            self.sequence = self.sequence.wrapping_sub(1);
        }
        self.queued = 0;
        self.stats.discarded += frames;
        self.set_pace(now);
    }
}

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Media,
    Again,
    Padding,
}
