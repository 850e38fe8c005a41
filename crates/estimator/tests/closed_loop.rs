//! Our controllers inside the pipeline of webrtc-rs, in virtual time: an encoder, the stack's pacer and history, a marking link, and reports
//! by the stack's own recorder.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rtc_interceptor::{
    AttributedPacket, CcFeedbackRecorder, Interceptor as _, Packet, Registry, StreamInfo,
    TaggedPacket,
};
use rtc_rtcp::transport_feedbacks::cc_feedback_report::Ecn as Field;
use rtc_rtp::Header;
use rtc_shared::{EcnCodepoint, TransportContext};
use sansio::Protocol as _;
use slackwater_control::Config;
use slackwater_core::{Draw, Rate};
use slackwater_estimator::Estimator;

const SSRC: u32 = 7;
const PAYLOAD: usize = 1188;
/// 10 Mbit/s, 10 ms each way, a buffer of 300 ms.
const LINK: f64 = 10e6;
const WAY: Duration = Duration::from_millis(10);
const BUFFER: f64 = 0.3;
/// The ramp of case 1 of the paper (J. Son et al., "Adaptable L4S Congestion Control", V-B).
const RAMP: (f64, f64) = (2e-3, 10e-3);
/// 60 frames a second.
const FRAME: f64 = 1.0 / 60.0;

/// What a run showed.
#[derive(Debug, Default)]
struct Seen {
    /// IP bits a second that arrived in the second half.
    rate: f64,
    /// Queueing delays of that half in seconds, sorted.
    delays: Vec<f64>,
    marked: u64,
    not_ect: u64,
    /// The most that left in a millisecond, in packets.
    burst: usize,
}

impl Seen {
    fn quantile(&self, share: f64) -> f64 {
        self.delays[((self.delays.len() - 1) as f64 * share) as usize]
    }
}

fn rtp(now: Instant, number: u16) -> TaggedPacket {
    TaggedPacket {
        now,
        transport: TransportContext::default(),
        message: AttributedPacket::new(Packet::Rtp(rtc_rtp::Packet {
            header: Header {
                version: 2,
                payload_type: 96,
                sequence_number: number,
                ssrc: SSRC,
                ..Header::default()
            },
            payload: vec![0; PAYLOAD].into(),
        })),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a base that cancels out of every difference; std gives no other"
)]
fn some_instant() -> Instant {
    Instant::now()
}

/// `seconds` of a flow of `cc` over the link, which marks or does not.
fn run(cc: &str, marks: bool, seconds: u64) -> (Seen, Estimator) {
    let begun = some_instant();
    let mut config = Config::new(PAYLOAD as u32, Draw::new(1));
    config.encoder.most = Rate::from_bps(30_000_000);
    let estimator = Estimator::new(begun, cc, &config).expect("a media controller");
    let mut chain = estimator.install(Registry::new()).build();
    let stream = StreamInfo {
        ssrc: SSRC,
        clock_rate: 90_000,
        ..StreamInfo::default()
    };
    chain.bind_local_stream(&stream);

    let mut recorder = CcFeedbackRecorder::new();
    let (mut seen, mut number, mut owed, mut frame) = (Seen::default(), 0u16, 0.0, 0.0);
    // When the link is free again, in seconds; arrivals there; reports on their way back.
    let (mut free, mut owed_marks) = (0.0f64, 0.0f64);
    let mut arrivals: VecDeque<(Instant, u16, Field)> = VecDeque::new();
    let mut back = VecDeque::new();
    for ms in 0..seconds * 1000 {
        let at = ms as f64 * 1e-3;
        let now = begun + Duration::from_millis(ms);
        let late = ms >= seconds * 500;
        while frame <= at {
            frame += FRAME;
            owed += estimator.target().as_bps() as f64 * FRAME / 8.0;
            while owed >= PAYLOAD as f64 {
                owed -= PAYLOAD as f64;
                chain.handle_write(rtp(now, number)).expect("room");
                number = number.wrapping_add(1);
            }
        }
        chain.handle_timeout(now).expect("a live chain");
        let mut burst = 0;
        while let Some(packet) = chain.poll_write() {
            let Packet::Rtp(media) = &packet.message.packet else {
                continue;
            };
            burst += 1;
            let queue = free.max(at) - at;
            if queue > BUFFER {
                continue;
            }
            free = free.max(at) + (media.payload.len() + 50) as f64 * 8.0 / LINK;
            let l4s = packet.transport.ecn == Some(EcnCodepoint::Ect1);
            owed_marks += ((queue - RAMP.0) / (RAMP.1 - RAMP.0)).clamp(0.0, 1.0);
            let mark = marks && l4s && owed_marks >= 1.0;
            if owed_marks >= 1.0 {
                owed_marks -= 1.0;
            }
            seen.marked += u64::from(mark);
            seen.not_ect += u64::from(!l4s);
            let ecn = match (mark, l4s) {
                (true, _) => Field::Ce,
                (false, true) => Field::Ect1,
                (false, false) => Field::NotEct,
            };
            if late {
                seen.rate += (PAYLOAD + 50) as f64 * 8.0 / (seconds as f64 / 2.0);
                seen.delays.push(queue);
            }
            let arrives = begun + Duration::from_secs_f64(free) + WAY;
            arrivals.push_back((arrives, media.header.sequence_number, ecn));
        }
        if late {
            seen.burst = seen.burst.max(burst);
        }
        while let Some((_, number, ecn)) = arrivals.front().filter(|(t, ..)| *t <= now) {
            recorder.add_packet(arrivals[0].0, SSRC, *number, *ecn);
            arrivals.pop_front();
        }
        // About once a frame (RFC 9392, 4). The time wraps in this run.
        if ms % 16 == 0 {
            let stamp = (u32::MAX - 65_536).wrapping_add((at * 65_536.0) as u32);
            let report = recorder.build_report(now, 1, stamp, 1200);
            back.push_back((now + WAY, report));
        }
        while let Some((_, report)) = back.pop_front_if_due(now) {
            chain
                .handle_read(TaggedPacket {
                    now,
                    transport: TransportContext::default(),
                    message: AttributedPacket::new(Packet::Rtcp(vec![Box::new(report)])),
                })
                .expect("a report");
            while chain.poll_read().is_some() {}
        }
    }
    seen.delays.sort_unstable_by(f64::total_cmp);
    (seen, estimator)
}

/// The first entry whose time has come.
trait Due<T> {
    fn pop_front_if_due(&mut self, now: Instant) -> Option<(Instant, T)>;
}

impl<T> Due<T> for VecDeque<(Instant, T)> {
    fn pop_front_if_due(&mut self, now: Instant) -> Option<(Instant, T)> {
        self.front().filter(|(t, _)| *t <= now)?;
        self.pop_front()
    }
}

#[test]
fn marks_hold_the_queue_inside_of_the_ramp() {
    for cc in ["cl4s", "sl4s", "l4s-cc"] {
        let (seen, estimator) = run(cc, true, 40);
        assert_eq!(seen.not_ect, 0, "{cc}");
        assert!(seen.marked > 0, "{cc}");
        // Above its upper end every packet is marked, and below no controller for L4S lets a queue stand there.
        assert!(
            seen.quantile(0.95) < RAMP.1,
            "{cc}: {}",
            seen.quantile(0.95)
        );
        // The least that the paper has of two flows with any of the three on such a link: twice 38 % (V-B, Table 1).
        let used = seen.rate / LINK;
        assert!((0.76..=1.0).contains(&used), "{cc}: {used}");
        // A round trip is two ways and a queue, and a report may wait for a frame.
        let srtt = estimator.srtt().as_secs_f64();
        assert!(
            (0.02..0.02 + RAMP.1 + 0.016).contains(&srtt),
            "{cc}: {srtt}"
        );
    }
}

#[test]
fn packets_leave_one_by_one() {
    let (seen, _) = run("cl4s", true, 20);
    // 10 Mbit/s are a packet each millisecond; the pacer may be at 1.2 times that, and saves up one packet (docs/rtc.md).
    assert!(seen.burst <= 3, "{}", seen.burst);
}

#[test]
fn without_marks_delay_bounds_the_rate() {
    for cc in ["cl4s", "gcc"] {
        let (seen, _) = run(cc, false, 40);
        assert_eq!(seen.marked, 0);
        // A controller that hears no delay fills the buffer. GCC's least rate is 0.3 Mbit/s.
        assert!(
            seen.quantile(0.5) < BUFFER / 2.0,
            "{cc}: {}",
            seen.quantile(0.5)
        );
        assert!(
            (0.1..=1.0).contains(&(seen.rate / LINK)),
            "{cc}: {}",
            seen.rate
        );
    }
}

#[test]
fn an_unknown_name_is_refused() {
    let config = Config::new(PAYLOAD as u32, Draw::new(1));
    let error = Estimator::new(some_instant(), "cubic", &config).expect_err("not for media");
    assert!(error.to_string().contains("cubic"), "{error}");
}
