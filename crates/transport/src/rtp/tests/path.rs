//! A link between two ends, and a controller that keeps to what it is given.

use std::collections::VecDeque;

use slackwater_control::{AnyMedia, EcnMode, Feedback, Intent, MediaController, PathView};
use slackwater_core::{Bytes, Direction, Draw, Duration, Ecn, FlowId, Instant, Packet, Rate};

use crate::rtp::{Frame, Mailbox, RtpConfig, RtpReceiver, RtpSender};

pub(super) const START: Instant = Instant::from_millis(10);

/// A controller that keeps what it is given and remembers what it is told.
#[derive(Clone, Debug, Default)]
struct Steady {
    intent: Intent,
    prompt: bool,
    received: u64,
    marked: u64,
    lost: u64,
    /// Extremes of arrival less departure, in ns.
    delays: Option<(i64, i64)>,
    last: Option<u64>,
    rtt: Duration,
    limited: bool,
    out_of_order: u64,
}

impl MediaController for Steady {
    fn on_feedback(&mut self, _: Instant, path: &PathView, feedback: &Feedback<'_>) {
        self.rtt = path.srtt;
        self.limited = feedback.app_limited;
        let mut before = None;
        for p in feedback.packets {
            self.out_of_order += u64::from(before.is_some_and(|b| b >= p.seq));
            before = Some(p.seq);
            let Some(arrived) = p.arrived else {
                self.lost += 1;
                continue;
            };
            self.received += 1;
            self.marked += u64::from(p.ecn == Ecn::Ce);
            let delay = arrived.as_nanos() as i64 - p.sent.as_nanos() as i64;
            let (least, most) = self.delays.unwrap_or((delay, delay));
            self.delays = Some((least.min(delay), most.max(delay)));
        }
        self.last = before;
    }
    fn intent(&self) -> Intent {
        self.intent
    }
    fn is_prompt(&self) -> bool {
        self.prompt
    }
    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("received", self.received as f64));
        out.push(("marked", self.marked as f64));
        out.push(("lost", self.lost as f64));
        let (least, most) = self.delays.unwrap_or_default();
        out.push(("least", least as f64));
        out.push(("most", most as f64));
        out.push(("rtt", self.rtt.as_millis_f64()));
        out.push(("limited", f64::from(u8::from(self.limited))));
        out.push(("out_of_order", self.out_of_order as f64));
    }
    fn name(&self) -> &'static str {
        "steady"
    }
    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

fn paced(mbps: f64, pace: f64) -> Intent {
    let target = Rate::from_mbps(mbps);
    Intent {
        target: Some(target),
        pacing: Some(target.mul_f64(pace * 1.05)),
        ecn: EcnMode::L4s,
        ..Intent::default()
    }
}

pub(super) fn steady(mbps: f64, pace: f64) -> AnyMedia {
    with(paced(mbps, pace))
}

pub(super) fn with(intent: Intent) -> AnyMedia {
    boxed(Steady {
        intent,
        ..Steady::default()
    })
}

/// One whose frames leave before the next comes, where it is `prompt`.
pub(super) fn prompt(mbps: f64, pace: f64, prompt: bool) -> AnyMedia {
    boxed(Steady {
        intent: paced(mbps, pace),
        prompt,
        ..Steady::default()
    })
}

fn boxed(steady: Steady) -> AnyMedia {
    let steady: Box<dyn MediaController> = Box::new(steady);
    steady.into()
}

/// A FIFO at `rate`, `delay` each way, marks by sojourn from `ramp.0` to `ramp.1`.
pub(super) struct Path {
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    pub(super) ramp: (Duration, Duration),
    /// Of the packets with media and of those with RTCP.
    pub(super) loss: [f64; 2],
    pub(super) limit: usize,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            rate: Rate::from_mbps(20.0),
            delay: Duration::from_millis(5),
            ramp: (Duration::from_millis(5), Duration::from_millis(20)),
            loss: [0.0; 2],
            limit: 400,
        }
    }
}

pub(super) struct Run {
    pub(super) sender: RtpSender,
    pub(super) receiver: RtpReceiver,
    pub(super) frames: Vec<Frame>,
    pub(super) media: Vec<Packet>,
    pub(super) rtcp: Vec<Packet>,
    pub(super) marks: u64,
    pub(super) drops: u64,
    pub(super) now: Instant,
}

impl Run {
    pub(super) fn told(&self, name: &str) -> f64 {
        let mut values = Vec::new();
        self.sender.controller().snapshot(&mut values);
        let found = values.iter().find(|v| v.0 == name);
        found.unwrap_or_else(|| panic!("{name} in {values:?}")).1
    }
}

pub(super) fn run(config: &RtpConfig, controller: AnyMedia, path: &Path, seconds: u64) -> Run {
    let draw = Draw::new(5);
    let stop = START + Duration::from_secs(seconds);
    let end = stop + Duration::from_secs(2);
    let flow = FlowId(3);
    let mut r = Run {
        sender: RtpSender::new(flow, false, config, controller, START, stop, draw),
        receiver: RtpReceiver::new(flow, false, config),
        frames: Vec::new(),
        media: Vec::new(),
        rtcp: Vec::new(),
        marks: 0,
        drops: 0,
        now: Instant::ZERO,
    };
    let mut mailbox = Mailbox::default();
    let mut queue: VecDeque<Packet> = VecDeque::new();
    let mut served: Option<Instant> = None;
    let mut down: VecDeque<(Instant, Packet)> = VecDeque::new();
    let mut up: VecDeque<(Instant, Packet)> = VecDeque::new();
    let mut out = Vec::new();
    let mut events = 0u64;
    loop {
        let times = [
            served,
            down.front().map(|p| p.0),
            up.front().map(|p| p.0),
            r.sender.next_timer(),
            r.receiver.next_timer(),
        ];
        let Some(now) = times.into_iter().flatten().min().filter(|t| *t <= end) else {
            break;
        };
        assert!(now >= r.now, "time does not run back");
        r.now = now;
        events += 1;
        assert!(events < 4_000_000, "events come to an end");
        if served == Some(now) {
            let packet = queue.pop_front().expect("one is served");
            down.push_back((now + path.delay, packet));
            served = None;
        } else if times[1] == Some(now) {
            let (_, packet) = down.pop_front().expect("it arrives");
            r.receiver.on_packet(now, &packet, &mut mailbox, &mut out);
        } else if times[2] == Some(now) {
            let (_, packet) = up.pop_front().expect("it arrives");
            r.sender.on_packet(now, &packet, &mut mailbox, &mut out);
        } else if times[3] == Some(now) {
            r.sender.on_timer(now, &mut out);
        } else {
            r.receiver.on_timer(now, &mut mailbox, &mut out);
        }
        for mut packet in out.drain(..) {
            assert_eq!(packet.created, now);
            let back = packet.dir == Direction::Up;
            let (list, key) = if back {
                (&mut r.rtcp, 1)
            } else {
                (&mut r.media, 0)
            };
            list.push(packet);
            let lost = draw.fork(9, key).uniform(list.len() as u64) < path.loss[key as usize];
            r.drops += u64::from(lost);
            if lost {
            } else if back {
                up.push_back((now + path.delay, packet));
            } else if queue.len() < path.limit {
                // The wait ahead stands for the sojourn.
                let waiting: u64 = queue.iter().map(|p| u64::from(p.len)).sum();
                let wait = path.rate.time_for(Bytes(waiting)).as_secs_f64();
                let (low, high) = (path.ramp.0.as_secs_f64(), path.ramp.1.as_secs_f64());
                let chance = (wait - low) / (high - low);
                if draw.fork(9, 2).uniform(list.len() as u64) < chance {
                    packet.ecn = Ecn::Ce;
                    r.marks += 1;
                }
                queue.push_back(packet);
            } else {
                r.drops += 1;
            }
        }
        if served.is_none()
            && let Some(packet) = queue.front()
        {
            served = Some(now + path.rate.time_for(Bytes(u64::from(packet.len))));
        }
        r.frames.extend(r.receiver.take_frames());
    }
    r
}
