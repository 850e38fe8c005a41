//! GCC beside an independent implementation, pion/interceptor's (Kalman filter), which runs in virtual time in a process
//! of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use slackwater_control::{
    AnyMedia, Config, EcnMode, Encoder, Feedback, Intent, MediaController, PathView, Sent,
    build_media,
};
use slackwater_core::{Draw, Instant, Rate};

use super::link::{Outcome, Setup, run};

/// The peer's process.
#[derive(Debug)]
struct Process {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Process {
    fn tell(&mut self, line: &str) {
        let to = self.to.as_mut().expect("open until dropped");
        to.write_all(line.as_bytes()).expect("the peer reads");
    }

    fn ask(&mut self, line: &str) -> u64 {
        self.tell(line);
        let mut answer = String::new();
        self.from.read_line(&mut answer).expect("the peer answers");
        let rate = answer.strip_prefix("T ").expect("a rate").trim();
        rate.parse().expect("bit/s")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.wait();
    }
}

/// pion's GCC as a controller.
#[derive(Clone, Debug)]
struct Pion {
    process: Arc<Mutex<Process>>,
    sent: u64,
    rate: f64,
}

impl Pion {
    /// Builds the peer, which takes Go and a proxy of its modules.
    fn start(bps: u64) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/media/pion");
        let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pion-peer");
        let built = Command::new("go")
            .args(["test", "-c", "-o"])
            .arg(&binary)
            .arg(".")
            .current_dir(source)
            .status()
            .expect("Go is installed");
        assert!(built.success(), "the peer does not build");
        let mut child = Command::new(binary)
            .args(["-test.run", "Peer"])
            .env("PEER_START", bps.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer starts");
        let (to, from) = (child.stdin.take(), child.stdout.take().expect("piped"));
        Self {
            process: Arc::new(Mutex::new(Process {
                child,
                to,
                from: BufReader::new(from),
            })),
            sent: 0,
            rate: bps as f64,
        }
    }
}

impl MediaController for Pion {
    fn on_sent(&mut self, now: Instant, _path: &PathView, sent: &Sent) {
        let line = format!("S {} {} {}\n", now.as_nanos(), self.sent, sent.bytes.0);
        self.sent += 1;
        self.process.lock().expect("one user").tell(&line);
    }

    fn on_feedback(&mut self, now: Instant, _path: &PathView, feedback: &Feedback<'_>) {
        use std::fmt::Write as _;
        let mut line = format!("F {}", now.as_nanos());
        for packet in feedback.packets {
            let _ = match packet.arrived {
                Some(at) => write!(line, " {}:{}", packet.seq, at.as_nanos()),
                None => write!(line, " {}:-", packet.seq),
            };
        }
        line.push('\n');
        self.rate = self.process.lock().expect("one user").ask(&line) as f64;
    }

    fn intent(&self) -> Intent {
        // Rate on the wire, as ours counts it; paced as ours.
        Intent {
            target: Some(Rate::from_bps((self.rate * 1160.0 / 1200.0) as u64)),
            pacing: Some(Rate::from_bps((self.rate * 2.5) as u64)),
            ecn: EcnMode::Off,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("target_rate", self.rate));
    }

    fn name(&self) -> &'static str {
        "pion"
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

/// Seconds, and the target rates in Mbit/s of two controllers that hear the same.
type Curves = Arc<Mutex<Vec<(f64, f64, f64)>>>;

/// Two controllers that hear the same feedback, of which the first decides.
#[derive(Clone, Debug)]
struct Both {
    leads: AnyMedia,
    follows: AnyMedia,
    curves: Curves,
}

fn target(controller: &AnyMedia) -> f64 {
    let mut values = Vec::new();
    controller.snapshot(&mut values);
    let rate = values.iter().find(|v| v.0 == "target_rate");
    rate.expect("it is named").1 / 1e6
}

impl MediaController for Both {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.leads.on_sent(now, path, sent);
        self.follows.on_sent(now, path, sent);
    }

    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        self.leads.on_feedback(now, path, feedback);
        self.follows.on_feedback(now, path, feedback);
        let row = (
            now.as_secs_f64(),
            target(&self.leads),
            target(&self.follows),
        );
        self.curves.lock().expect("one user").push(row);
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.leads.on_timer(now, path);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.leads.next_timer()
    }

    fn intent(&self) -> Intent {
        self.leads.intent()
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.leads.snapshot(out);
    }

    fn name(&self) -> &'static str {
        "both"
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

fn ours(name: &str) -> AnyMedia {
    let encoder = Encoder {
        start: Rate::from_mbps(2.0),
        ..Encoder::DEFAULT
    };
    let config = Config::new(1160, Draw::new(1)).with_encoder(encoder);
    build_media(name, &config).expect("the controller exists")
}

fn pion() -> AnyMedia {
    AnyMedia::Plugin(Box::new(Pion::start(2_000_000)))
}

/// Runs `leads` over the IETF pattern with `follows` listening.
fn side_by_side(
    leads: AnyMedia,
    follows: AnyMedia,
    feedback_ms: u64,
) -> (Outcome, Vec<(f64, f64, f64)>) {
    let curves = Curves::default();
    let both = Both {
        leads,
        follows,
        curves: Arc::clone(&curves),
    };
    let mut setup = Setup::one("");
    setup.feedback_ms = feedback_ms;
    setup.make = Some(Box::new(move || AnyMedia::Plugin(Box::new(both.clone()))));
    let outcome = run(&setup);
    drop(setup);
    let rows = core::mem::take(&mut *curves.lock().expect("one user"));
    (outcome, rows)
}

/// Mean of |a - b| over the mean of a, and of (a - b).
fn difference(rows: &[(f64, f64, f64)]) -> (f64, f64) {
    let mean: f64 = rows.iter().map(|r| r.1).sum();
    let apart: f64 = rows.iter().map(|r| (r.1 - r.2).abs()).sum();
    let signed: f64 = rows.iter().map(|r| r.2 - r.1).sum();
    (apart / mean, signed / mean)
}

#[test]
#[ignore = "takes Go and its modules; prints how far GCC is from pion's and writes the curves"]
#[expect(clippy::print_stdout, reason = "it is for reading")]
#[expect(clippy::disallowed_methods, reason = "the curves are for plotting")]
fn gcc_beside_pion() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for feedback_ms in [0, 50, 100] {
        for (leads, follows) in [
            ("gcc-remb", "pion"),
            ("pion", "gcc-remb"),
            ("gcc", "pion"),
            ("pion", "gcc"),
        ] {
            let make = |name| if name == "pion" { pion() } else { ours(name) };
            let (o, rows) = side_by_side(make(leads), make(follows), feedback_ms);
            let (apart, signed) = difference(&rows);
            println!(
                "{leads} leads, {follows} hears the same, feedback {feedback_ms} ms: {:.1} % of the link, queue p95 {:.1} \
                 p99 {:.1} ms; {follows} differs by {:.1} % (mean {:+.1} %)",
                o.util * 100.0,
                o.p95,
                o.p99,
                apart * 100.0,
                signed * 100.0,
            );
            let mut csv = format!("s,{leads},{follows}\n");
            for (t, a, b) in &rows {
                use std::fmt::Write as _;
                let _ = writeln!(csv, "{t:.3},{a:.4},{b:.4}");
            }
            let file = folder.join(format!("{leads}-{follows}-{feedback_ms}.csv"));
            std::fs::write(&file, csv).expect("the folder is writable");
        }
    }
    println!("curves: {}", folder.display());
}
