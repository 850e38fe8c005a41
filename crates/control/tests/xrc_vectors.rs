//! One table of events for every implementation of XRC's sender: `crates/live/bpf/tests/xrc_vectors.txt`.
//!
//! This test makes the events with a small path model, gives them to the sender of this crate and compares its answers
//! with the table; `crates/live/bpf/tests/replay.c` gives the table to the kernel's sender. After a meant change of the algorithm:
//! `SLACKWATER_BLESS=1 cargo test -p slackwater-control --test xrc_vectors`.

#![expect(
    clippy::disallowed_methods,
    reason = "the table is a file, the other sender a program"
)]

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::process::Command;

use slackwater_control::{
    Ack, AnyController, Cause, Config, CongestionEvent, Controller as _, PathReport, PathView,
    Recovery, Sent, build,
};
use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

const MSS: u64 = 1448;
const WIRE: u64 = 1500;

/// What a path does in one scenario. Times are us.
struct Path {
    name: &'static str,
    profile: &'static str,
    /// The radio's rate from a time on, bit/s.
    radio: &'static [(u64, u64)],
    /// A wired hop before the radio, bit/s; zero for none.
    wired: u64,
    /// Time that its queue holds.
    wired_buffer: u64,
    /// From when to when others take half of it, and keep so much data in its queue.
    rivals: (u64, u64, u64),
    /// From when to when all packets are lost.
    outage: (u64, u64),
    /// From when to when the path is longer, and by how much.
    longer: (u64, u64, u64),
    rtt: u64,
    /// Time that the radio's queue holds.
    buffer: u64,
    /// From when to when another flow takes half of the radio and keeps 20 ms of data in its queue.
    other: (u64, u64),
    /// From when to when no report comes.
    silence: (u64, u64),
    /// From when to when the application sends nothing.
    idle: (u64, u64),
    /// Reports say this many percent of the truth.
    lie: u64,
    /// Head-of-line delays are reported as so many times the truth, and this much.
    hol: (u64, u64),
    /// ACKs wait this long at most on their way back; one-way delays are sampled if set, in steps of 0.7 ms.
    back: u64,
    /// From when to when the receiver waits for a block that is sent again: what would be acknowledged meanwhile is at the end.
    hold: (u64, u64),
    /// A timeout that is none, at this time.
    spurious: u64,
    until: u64,
}

const PLAIN: Path = Path {
    name: "",
    profile: "product",
    radio: &[(0, 34_000_000)],
    wired: 0,
    wired_buffer: u64::MAX,
    rivals: (0, 0, 0),
    outage: (0, 0),
    longer: (0, 0, 0),
    rtt: 38_000,
    buffer: 150_000,
    other: (0, 0),
    silence: (0, 0),
    idle: (0, 0),
    lie: 100,
    hol: (1, 0),
    back: 0,
    hold: (0, 0),
    spurious: 0,
    until: 1_200_000,
};

/// Rates are low so that the table stays short: an event is an ACK.
fn paths() -> Vec<Path> {
    // No rate makes a delay fall on a threshold to the last digit: floats and integers would part there.
    let slow: &[(u64, u64)] = &[(0, 4_100_000), (900_000, 2_070_000), (1_700_000, 5_300_000)];
    let steady: &[(u64, u64)] = &[(0, 3_130_000)];
    vec![
        Path {
            name: "steps",
            radio: slow,
            until: 2_400_000,
            ..PLAIN
        },
        Path {
            name: "steps-paper",
            profile: "paper",
            radio: slow,
            until: 2_400_000,
            ..PLAIN
        },
        Path {
            name: "shared",
            radio: steady,
            other: (600_000, 2_600_000),
            until: 3_000_000,
            ..PLAIN
        },
        Path {
            name: "shared-paper",
            profile: "paper",
            radio: steady,
            other: (600_000, 2_600_000),
            until: 3_000_000,
            ..PLAIN
        },
        Path {
            name: "wired",
            radio: &[(0, 12_000_000)],
            wired: 2_700_000,
            until: 4_000_000,
            ..PLAIN
        },
        Path {
            name: "wired-paper",
            profile: "paper",
            radio: &[(0, 12_000_000)],
            wired: 2_700_000,
            until: 2_000_000,
            ..PLAIN
        },
        Path {
            name: "wired-short",
            radio: &[(0, 12_000_000)],
            wired: 2_700_000,
            wired_buffer: 17_000,
            until: 4_000_000,
            ..PLAIN
        },
        // A look around each ten seconds: the first finds rivals, the second is alone again.
        Path {
            name: "wired-rivals",
            radio: &[(0, 12_000_000)],
            wired: 2_300_000,
            wired_buffer: 140_000,
            rivals: (1_500_000, 15_100_000, 53_000),
            until: 24_000_000,
            ..PLAIN
        },
        Path {
            name: "wired-rivals-late",
            radio: &[(0, 2_500_000), (900_000, 12_000_000)],
            wired: 2_900_000,
            wired_buffer: 71_000,
            rivals: (900_000, 9_000_000, 45_000),
            until: 3_000_000,
            ..PLAIN
        },
        // The same with one-way delays: the rivals are taken for a longer path, and a loss undoes it.
        Path {
            name: "wired-rivals-doubt",
            radio: &[(0, 2_500_000), (900_000, 12_000_000)],
            wired: 2_900_000,
            wired_buffer: 71_000,
            rivals: (900_000, 9_000_000, 45_000),
            back: 1,
            until: 2_000_000,
            ..PLAIN
        },
        // The radio becomes the bottleneck.
        Path {
            name: "wired-rivals-left",
            radio: &[(0, 12_000_000), (3_000_000, 900_000)],
            wired: 2_300_000,
            wired_buffer: 140_000,
            rivals: (1_500_000, 9_000_000, 53_000),
            until: 4_500_000,
            ..PLAIN
        },
        Path {
            name: "outage",
            radio: steady,
            outage: (800_000, 900_000),
            until: 1_800_000,
            ..PLAIN
        },
        Path {
            name: "longer",
            radio: steady,
            longer: (900_000, 2_000_000, 31_000),
            until: 2_600_000,
            ..PLAIN
        },
        // The same with one-way delays.
        Path {
            name: "longer-forward",
            radio: steady,
            longer: (900_000, 2_000_000, 31_000),
            back: 1,
            until: 2_600_000,
            ..PLAIN
        },
        Path {
            name: "silence",
            radio: steady,
            silence: (800_000, 1_700_000),
            until: 2_300_000,
            ..PLAIN
        },
        Path {
            name: "idle",
            radio: steady,
            idle: (700_000, 1_900_000),
            until: 2_400_000,
            ..PLAIN
        },
        Path {
            name: "over-reported",
            radio: steady,
            lie: 150,
            until: 2_500_000,
            ..PLAIN
        },
        Path {
            name: "short-buffer",
            radio: steady,
            buffer: 45_000,
            lie: 130,
            until: 2_000_000,
            ..PLAIN
        },
        Path {
            name: "uplink",
            radio: steady,
            back: 12_000,
            until: 2_000_000,
            ..PLAIN
        },
        Path {
            name: "held-back",
            radio: &[(0, 5_300_000)],
            buffer: 25_000,
            hold: (830_000, 870_000),
            until: 1_100_000,
            ..PLAIN
        },
        Path {
            name: "spurious",
            radio: steady,
            spurious: 1_000_000,
            until: 1_500_000,
            ..PLAIN
        },
        // A window above two initial ones: paced alone, beside another flow not, nor without reports.
        Path {
            name: "paced",
            radio: &[(0, 9_100_000)],
            other: (300_000, 420_000),
            silence: (600_000, 900_000),
            until: 860_000,
            ..PLAIN
        },
        // What arrives refutes a rate that is too low.
        Path {
            name: "lies-low",
            radio: &[(0, 7_300_000)],
            lie: 20,
            until: 4_000_000,
            ..PLAIN
        },
        // Heads of the queue older than what was acknowledged last.
        Path {
            name: "lies-old",
            radio: steady,
            lie: 50,
            hol: (1, 300_000),
            until: 2_000_000,
            ..PLAIN
        },
        Path {
            name: "lies-old-paper",
            profile: "paper",
            radio: steady,
            lie: 50,
            hol: (37, 0),
            until: 2_000_000,
            ..PLAIN
        },
        // A queue that delays nothing.
        Path {
            name: "lies-queue",
            radio: steady,
            lie: 90,
            hol: (0, 21_000),
            until: 4_000_000,
            ..PLAIN
        },
        Path {
            name: "first-window",
            until: 200_000,
            ..PLAIN
        },
    ]
}

struct Packet {
    seq: u64,
    sent: u64,
    acked_at: u64,
    forward: u64,
    /// Time in the radio's queue.
    wait: u64,
    lost: bool,
    /// Packets behind it that arrived.
    behind: u32,
}

/// A sender on a path, writing what it hears and says.
struct Run<'a> {
    p: &'a Path,
    c: AnyController,
    out: String,
    now: u64,
    view: PathView,
    flight: VecDeque<Packet>,
    received: BTreeSet<u64>,
    resend: VecDeque<u64>,
    next: u64,
    una: u64,
    delivered: u64,
    radio_free: u64,
    wired_free: u64,
    recover: Option<u64>,
    limited: bool,
    dice: u64,
}

impl<'a> Run<'a> {
    fn new(p: &'a Path) -> Self {
        let name = if p.profile == "paper" {
            "xrc-paper"
        } else {
            "xrc"
        };
        let config = Config::new(MSS as u32, Draw::new(1));
        let mut view = PathView::default();
        view.mss = MSS as u32;
        view.wire_mss = WIRE as u32;
        let mut out = String::new();
        let _ = writeln!(out, "S {} {} {MSS} 10", p.name, p.profile);
        Self {
            p,
            c: build(name, &config).expect("XRC has both profiles"),
            out,
            now: 1_000,
            view,
            flight: VecDeque::new(),
            received: BTreeSet::new(),
            resend: VecDeque::new(),
            next: 0,
            una: 0,
            delivered: 0,
            radio_free: 0,
            wired_free: 0,
            recover: None,
            limited: false,
            dice: 1,
        }
    }

    fn at(&self) -> Instant {
        Instant::from_nanos(self.now * 1_000)
    }

    fn said(&mut self) {
        let mut internals = Vec::new();
        self.c.snapshot(&mut internals);
        let get = |key: &str, none: f64| {
            internals
                .iter()
                .find(|(k, _)| *k == key)
                .map_or(none, |(_, v)| *v)
        };
        let pacing = self.c.intent().pacing.map_or(0, |r| r.as_bps() / 1000);
        let _ = writeln!(
            self.out,
            " : {} {:.3} {:.3} {:.3} {:.3} {pacing}",
            get("mode", -1.0),
            get("cwnd", -1.0),
            get("twnd", -1.0),
            get("ssthresh", -1.0),
            get("gamma", 1.0),
        );
    }

    fn radio(&self) -> u64 {
        let rates = self.p.radio.iter().rev();
        rates
            .clone()
            .find(|(from, _)| *from <= self.now)
            .map_or(1, |(_, bps)| *bps)
    }

    fn shared(&self) -> bool {
        (self.p.other.0..self.p.other.1).contains(&self.now)
    }

    fn send(&mut self) {
        if (self.p.idle.0..self.p.idle.1).contains(&self.now) {
            return;
        }
        let window = self.c.intent().window.expect("a window").0 / MSS;
        self.limited = false;
        loop {
            let seq = match self.resend.pop_front() {
                Some(seq) => seq,
                None if (self.flight.len() as u64) < window => self.next,
                None => {
                    self.limited = true;
                    break;
                }
            };
            let after_idle = self.flight.is_empty();
            self.view.in_flight = Bytes(self.flight.len() as u64 * MSS);
            let mut sent = Sent::default();
            sent.after_idle = after_idle;
            self.c.on_sent(self.at(), &self.view, &sent);
            if after_idle {
                let _ = write!(
                    self.out,
                    "T {} {}",
                    self.now,
                    self.view.srtt.as_nanos() / 1000
                );
                self.said();
            }
            let mut at = self.now;
            let mut lost = (self.p.outage.0..self.p.outage.1).contains(&self.now);
            if let Some(wire) = (WIRE * 8_000_000).checked_div(self.p.wired) {
                let (from, to, kept) = self.p.rivals;
                let rivals = (from..to).contains(&self.now);
                let (kept, takes) = if rivals { (kept, 2) } else { (0, 1) };
                let free = self.wired_free.max(at + kept);
                lost = free - at > self.p.wired_buffer;
                if !lost {
                    self.wired_free = free + takes * wire;
                    at = self.wired_free;
                }
            }
            let share = if self.shared() { 2 } else { 1 };
            if self.shared() {
                self.radio_free = self.radio_free.max(at + 20_000);
            }
            let wait = self.radio_free.saturating_sub(at);
            lost |= wait > self.p.buffer;
            let (from, to, longer) = self.p.longer;
            let longer = if (from..to).contains(&self.now) {
                longer
            } else {
                0
            };
            if !lost {
                self.radio_free = self.radio_free.max(at) + share * WIRE * 8_000_000 / self.radio();
            }
            self.dice = self
                .dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let back = if self.p.back > 0 {
                (self.dice >> 33) % self.p.back / 1_000 * 1_000
            } else {
                0
            };
            let last = self.flight.back().map_or(0, |p| p.acked_at);
            self.flight.push_back(Packet {
                seq,
                sent: self.now,
                acked_at: (self.radio_free + self.p.rtt + longer + back).max(last),
                forward: self.radio_free.max(self.now) + self.p.rtt / 2 + longer - self.now,
                wait,
                lost,
                behind: 0,
            });
            if seq == self.next {
                self.next += 1;
            }
        }
    }

    fn report(&mut self, wait: u64) {
        let hol = wait * self.p.hol.0 + self.p.hol.1;
        let unheard = (self.p.silence.0..self.p.silence.1).contains(&self.now);
        if unheard || self.delivered / MSS % 2 == 1 {
            return;
        }
        let share = if self.shared() { 2 } else { 1 };
        let bps = self.radio() / share * self.p.lie / 100;
        let seq = (self.now / 1_000) as u16;
        let report = PathReport::Share {
            rate: Rate::from_bps(bps),
            hol_delay: Duration::from_micros(hol),
            seq,
            shared: self.shared(),
        };
        let srtt = self.view.srtt.as_nanos() / 1000;
        let _ = writeln!(
            self.out,
            "R {} {srtt} {bps} {hol} {seq} {}",
            self.now,
            u8::from(self.shared())
        );
        self.c.on_report(self.at(), &self.view, &report);
    }

    fn lose(&mut self, kind: Cause) {
        let event = CongestionEvent::new(kind, Bytes(MSS), self.view.in_flight, self.next * MSS);
        let code = if kind == Cause::Timeout { 2 } else { 0 };
        let srtt = self.view.srtt.as_nanos() / 1000;
        let _ = write!(self.out, "L {} {srtt} {code} {}", self.now, self.next * MSS);
        self.c.on_congestion(self.at(), &self.view, &event);
        self.said();
    }

    fn arrive(&mut self) {
        // Losses show when the third packet behind has arrived (RFC 6675, 5).
        let Some(packet) = self.flight.iter().position(|p| !p.lost) else {
            let p = self.flight.front().expect("something in flight");
            self.now = p.acked_at.max(self.now) + 200_000;
            self.lose(Cause::Timeout);
            self.recover = None;
            for p in self.flight.drain(..) {
                self.resend.push_back(p.seq);
            }
            return;
        };
        let p = self.flight.remove(packet).expect("it is there");
        self.now = p.acked_at.max(self.now + 1);
        if (self.p.hold.0..self.p.hold.1).contains(&self.now) {
            self.now = self.p.hold.1;
        }
        self.report(p.wait);
        self.received.insert(p.seq);
        let before = self.una;
        while self.received.remove(&self.una) {
            self.una += 1;
        }
        let rtt = self.now - p.sent;
        let srtt = self.view.srtt.as_nanos() / 1000;
        let srtt = if srtt == 0 { rtt } else { (srtt * 7 + rtt) / 8 };
        self.view.srtt = Duration::from_micros(srtt);
        let least = self.view.min_rtt.as_nanos() / 1000;
        self.view.min_rtt = Duration::from_micros(if least == 0 { rtt } else { least.min(rtt) });
        self.delivered += MSS;
        self.view.in_flight = Bytes(self.flight.len() as u64 * MSS);
        if self.recover.is_some_and(|high| self.una >= high) {
            self.recover = None;
            self.c.on_recovered(self.at(), &self.view);
            self.out.push_str("V\n");
        }
        let owd =
            (self.p.back > 0).then(|| Duration::from_micros((p.forward + 5_000_000) / 700 * 700));
        let recovery = if self.recover.is_some() {
            Recovery::Fast
        } else {
            Recovery::Open
        };
        let mut ack = Ack::default();
        ack.newly_acked = Bytes(MSS);
        ack.cumulative = Bytes((self.una - before) * MSS);
        ack.rtt = Some(Duration::from_micros(rtt));
        ack.owd = owd;
        ack.delivered = Bytes(self.delivered);
        ack.cwnd_limited = self.limited;
        ack.app_limited = !self.limited;
        ack.recovery = recovery;
        ack.una = self.una * MSS;
        ack.next = self.next * MSS;
        let flags = [
            self.una > before,
            recovery == Recovery::Fast,
            self.limited,
            !self.limited,
        ];
        let flags: u8 = flags
            .iter()
            .enumerate()
            .map(|(i, set)| u8::from(*set) << i)
            .sum();
        let _ = write!(
            self.out,
            "A {} {srtt} {} {} {rtt} {} {} {} {} {} {flags}",
            self.now,
            self.view.min_rtt.as_nanos() / 1000,
            self.view.in_flight.0,
            owd.map_or(-1, |d| (d.as_nanos() / 1000) as i64),
            MSS,
            self.delivered,
            self.una * MSS,
            self.next * MSS,
        );
        self.c.on_ack(self.at(), &self.view, &ack);
        self.said();
        for before in self.flight.range_mut(..packet) {
            before.behind += 1;
        }
        let missing = self.flight.iter().take_while(|p| p.behind >= 3).count();
        if missing > 0 && self.recover.is_none() {
            self.recover = Some(self.next);
            self.lose(Cause::Loss);
        }
        for p in self.flight.drain(..missing) {
            self.resend.push_back(p.seq);
        }
    }

    fn run(mut self) -> String {
        let mut spurious = self.p.spurious;
        while self.now < self.p.until {
            self.send();
            if self.flight.is_empty() {
                self.now = self.p.idle.1.max(self.now + 1);
                continue;
            }
            self.arrive();
            if spurious > 0 && self.now > spurious {
                spurious = 0;
                self.lose(Cause::Timeout);
                self.c.on_undo(self.at(), &self.view);
                self.out.push('U');
                self.said();
            }
        }
        self.out
    }
}

#[test]
fn the_table_of_events_is_what_this_sender_does() {
    let made: String = paths().iter().map(|p| Run::new(p).run()).collect();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../live/bpf/tests/xrc_vectors.txt"
    );
    if std::env::var_os("SLACKWATER_BLESS").is_some() {
        std::fs::write(file, &made).expect("the table can be written");
    }
    let kept = std::fs::read_to_string(file).expect("the table is there");
    for (i, (kept, made)) in kept.lines().zip(made.lines()).enumerate() {
        assert_eq!(kept, made, "line {}", i + 1);
    }
    assert_eq!(kept.lines().count(), made.lines().count());
}

#[test]
fn the_table_visits_every_mode() {
    let made: String = paths().iter().map(|p| Run::new(p).run()).collect();
    let mut seen = BTreeSet::new();
    for line in made.lines() {
        if let Some((_, said)) = line.split_once(" : ") {
            seen.insert(said.split(' ').next().expect("a mode").to_owned());
        }
    }
    let all: BTreeSet<_> = (0..12).map(|mode: u8| mode.to_string()).collect();
    assert_eq!(seen, all);
}

#[test]
fn the_kernels_sender_agrees_with_the_table() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../live/bpf/tests");
    let program =
        std::env::temp_dir().join(format!("slackwater-xrc-replay-{}", std::process::id()));
    let built = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(format!("{tests}/replay.c"))
        .arg("-lm")
        .status();
    let Ok(built) = built else {
        eprintln!("skipped: no C compiler (cc) to build crates/live/bpf/tests/replay.c with");
        return;
    };
    assert!(built.success(), "crates/live/bpf/tests/replay.c compiles");
    let table =
        std::fs::File::open(format!("{tests}/xrc_vectors.txt")).expect("the table is there");
    let replayed = Command::new(&program)
        .stdin(table)
        .output()
        .expect("the program runs");
    let _ = std::fs::remove_file(&program);
    let said = String::from_utf8_lossy(&replayed.stdout);
    let wrong = String::from_utf8_lossy(&replayed.stderr);
    assert!(replayed.status.success(), "{said}{wrong}");
    assert_eq!(said.lines().count(), paths().len(), "{said}");
}
