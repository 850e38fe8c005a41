//! Whatever a scenario says within its ranges, it runs, and its numbers keep their laws.

use std::fmt::Write as _;
use std::path::Path;

use slackwater_core::rng::{Draw, Rng, Stream};
use slackwater_lab::run::{Control, run_scenario};
use slackwater_report as report;
use slackwater_report::view;
use slackwater_scenario::Scenario;

/// Writes scenarios by chance, out of values at the edges of their ranges and usual ones.
struct Author(Stream);

impl Author {
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[(self.0.next_u64() % of.len() as u64) as usize]
    }

    fn often(&mut self, of_ten: u64) -> bool {
        self.0.next_u64() % 10 < of_ten
    }

    fn queue(&mut self) -> String {
        if self.often(3) {
            let kind = self.pick(&["fq-codel", "dualpi2"]);
            return format!(r#"{{ kind = "{kind}" }}"#);
        }
        let limit = self.pick(&["1 packets", "128 packets", "1600 B", "64 kB", "unlimited"]);
        let law = self.pick(&[
            r#", law = { kind = "pi2" }"#,
            "",
            r#", law = { kind = "codel", ecn = true }"#,
            r#", law = { kind = "pie" }"#,
            r#", law = { kind = "ramp", low = "1 ms", high = "5 ms" }"#,
        ]);
        format!(r#"{{ kind = "fifo", limit = "{limit}"{law} }}"#)
    }

    fn app(&mut self) -> &'static str {
        self.pick(&[
            r#"{ kind = "bulk" }"#,
            r#"{ kind = "bulk" }"#,
            r#"{ kind = "vr", fps = 60, rate = "5 Mbit/s" }"#,
            r#"{ kind = "vr", fps = 1000, rate = "100 Mbit/s" }"#,
            r#"{ kind = "cbr", rate = "2 Mbit/s", packet = 64 }"#,
            r#"{ kind = "transfers", min = "1 B", max = "1 MB" }"#,
            r#"{ kind = "transfers", min = "1 kB", max = "1 kB", reconnect = true }"#,
            r#"{ kind = "video", rate = "5 Mbit/s" }"#,
        ])
    }

    fn media(&mut self) -> &'static str {
        self.pick(&[
            r#"{ kind = "media" }"#,
            r#"{ kind = "media", fps = 1000, size_cv = "100 %", min = "1 kbit/s", packet = 200 }"#,
            r#"{ kind = "media", start = "50 Mbit/s", pacing = 2.5, feedback = "twcc", every = "1 ms" }"#,
            r#"{ kind = "media", fps = 30, key_interval = "100 ms", key_scale = 8, needs_key = true, playout = "0 ms" }"#,
            r#"{ kind = "media", discard = true, longest_wait = "5 ms", nack = false, feedback_loss = "50 %", ecn = "ect1" }"#,
        ])
    }

    fn tcp(&mut self) -> String {
        let mut parts = vec![];
        for choices in [
            &["mss = 64", "mss = 536", "mss = 8960"][..],
            &["sack = false"],
            &["timestamps = false"],
            &[r#"recv_buffer = "10 kB""#, r#"recv_buffer = "64 kB""#],
            &[r#"send_buffer = "10 kB""#],
            &[r#"ecn = "classic""#, r#"ecn = "accurate""#],
            &["ack_every = 10"],
            &["pacing = true"],
            &["initial_window = 1", "initial_window = 100"],
        ] {
            if self.often(2) {
                parts.push(self.pick(choices));
            }
        }
        format!("{{ {} }}", parts.join(", "))
    }

    fn cell(&mut self, out: &mut String) -> Result<(), std::fmt::Error> {
        if self.often(5) {
            let mhz = self.pick(&["5 MHz", "20 MHz", "100 MHz"]);
            let scs = if mhz == "5 MHz" { "15 kHz" } else { "30 kHz" };
            let duplex = self.pick(&["fdd", "tdd"]);
            let layers = self.pick(&["1", "2", "4"]);
            let table = self.pick(&["64qam", "256qam", "low-se"]);
            writeln!(
                out,
                "[cell]\nrat = \"nr\"\nbandwidth = \"{mhz}\"\nscs = \"{scs}\""
            )?;
            writeln!(
                out,
                "duplex = \"{duplex}\"\nlayers = {layers}\nmcs_table = \"{table}\""
            )?;
        } else {
            let mhz = self.pick(&["1.4 MHz", "10 MHz", "20 MHz"]);
            writeln!(out, "[cell]\nrat = \"lte\"\nbandwidth = \"{mhz}\"")?;
        }
        let (scheduler, fading) = (
            self.pick(&["rr", "pf"]),
            self.pick(&["none", "none", "eva", "tdl-c"]),
        );
        let (mode, buffer) = (
            self.pick(&["um", "am"]),
            self.pick(&["1 packets", "128 packets", "1 MB", "unlimited"]),
        );
        let transmissions = self.pick(&["1", "4", "8"]);
        writeln!(out, "scheduler = \"{scheduler}\"\nfading = \"{fading}\"")?;
        writeln!(out, "rlc = {{ mode = \"{mode}\", buffer = \"{buffer}\" }}")?;
        writeln!(out, "harq = {{ transmissions = {transmissions} }}")?;
        if self.often(3) {
            let queue = self.queue();
            writeln!(out, "[wired]\nrate = \"20 Mbit/s\"\nqueue = {queue}")?;
        }
        if self.often(3) {
            let mode = self.pick(&[
                "off", "auto", "window", "int", "literal", "drain", "direct", "measure",
            ]);
            let (cecc, schedule) = (
                self.pick(&["off", "paper", "credit", "hold"]),
                self.pick(&["edf", "alg1"]),
            );
            let reports = self.pick(&[
                "reports.loss = \"0 %\"",
                "reports.loss = \"50 %\"\nreports.jitter = \"5 ms\"",
                "reports.period = \"125 us\"\nreports.stop = \"200 ms\"",
                "ambr = \"64 kbit/s\"",
            ]);
            writeln!(out, "[upf]\nvaqm.mode = \"{mode}\"")?;
            writeln!(
                out,
                "cecc.mode = \"{cecc}\"\ncecc.schedule = \"{schedule}\"\n{reports}"
            )?;
        }
        let (count, mobility) = (
            self.pick(&["1", "2", "5"]),
            self.pick(&[
                r#"{ kind = "static", distance = "1 m" }"#,
                r#"{ kind = "static", distance = "5000 m" }"#,
                r#"{ kind = "steps", min = "10 m", max = "2000 m", period = "300 ms" }"#,
            ]),
        );
        writeln!(out, "[[ue]]\ncount = {count}\nmobility = {mobility}")?;
        if self.often(2) {
            let mcs = self.pick(&["0", "12", "27"]);
            writeln!(out, "channel = {{ kind = \"mcs\", mcs = {mcs} }}")?;
        }
        Ok(())
    }

    fn scenario(&mut self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        let duration = self.pick(&["1 s", "50 ms", "700 ms"]);
        let (rtt, loss) = (
            self.pick(&["0 ms", "1 ms", "40 ms", "600 ms"]),
            self.pick(&["0 %", "0 %", "1 %", "20 %", "100 %"]),
        );
        let interval = self.pick(&["1 ms", "10 ms", "1 s"]);
        writeln!(out, "name = \"any\"\nduration = \"{duration}\"")?;
        writeln!(out, "[path]\nrtt = \"{rtt}\"\nloss = \"{loss}\"")?;
        writeln!(
            out,
            "[record]\ninterval = \"{interval}\"\npcap = true\npackets = true"
        )?;
        let cell = self.often(6);
        if cell {
            self.cell(&mut out)?;
        } else if self.often(5) {
            let (rate, queue) = (
                self.pick(&["1 kbit/s", "12 Mbit/s", "2 Gbit/s"]),
                self.queue(),
            );
            writeln!(
                out,
                "[link]\nkind = \"rate\"\nrate = \"{rate}\"\nqueue = {queue}"
            )?;
            if self.often(3) {
                writeln!(out, "up_rate = \"100 kbit/s\"")?;
            }
        } else {
            let (smooth, queue) = (self.pick(&["true", "false"]), self.queue());
            writeln!(
                out,
                "[link]\nkind = \"series\"\nperiod = \"1 s\"\nsmooth = {smooth}"
            )?;
            writeln!(
                out,
                "points = [[0.0, 5.0], [0.3, 0.0], [0.6, 90.0]]\nqueue = {queue}"
            )?;
        }
        for _ in 0..=self.0.next_u64() % 4 {
            let controller = self.pick(&[
                "reno",
                "cubic",
                "vegas",
                "veno",
                "illinois",
                "westwood",
                "bbr",
                "cubic-hystart++",
                "cubic-ns3",
                "reno-ns3",
                "veno-ns3",
                "illinois-ns3",
                "westwood-ns3",
                "fixed:1",
                "fixed:500",
            ]);
            let (mut app, tcp) = (self.app(), self.tcp());
            let mut controller = controller;
            if self.often(2) {
                app = self.media();
                controller = self.pick(&[
                    "al4s-c",
                    "al4s-s:paper,te=25",
                    "l4s-cc",
                    "scream",
                    "scream-webrtc",
                    "gcc",
                    "gcc-remb",
                ]);
            }
            let direction = self.pick(&["down", "down", "up"]);
            writeln!(out, "[[flow]]\ncontroller = \"{controller}\"\napp = {app}")?;
            writeln!(out, "direction = \"{direction}\"\ntcp = {tcp}")?;
            if cell {
                writeln!(out, "ue = {}", self.pick(&["0", "\"each\""]))?;
            }
            if self.often(2) {
                writeln!(out, "start = \"20 ms\"\nstop = \"45 ms\"")?;
            }
        }
        Ok(out)
    }
}

#[test]
fn any_scenario_runs_and_keeps_the_laws() {
    let (mut sent, mut delivered) = (0, 0);
    for case in 0..400u64 {
        let text = Author(Draw::new(77).stream(case))
            .scenario()
            .expect("a string takes any text");
        let scenario = Scenario::from_toml(&text, Path::new("."))
            .unwrap_or_else(|e| panic!("case {case}: {e}\n{text}"));
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let result =
                run_scenario(&scenario, case, &mut |_| Control::Continue).expect("it runs");
            let page = report::render(&view::report(std::slice::from_ref(&result), "test"));
            assert!(page.len() > 10_000, "a page was drawn");
            result.summary
        }));
        let Ok(summary) = run else {
            panic!("case {case} panicked:\n{text}");
        };
        for link in &summary.links {
            let u = link.utilisation.unwrap_or(0.0);
            assert!((0.0..=1.0).contains(&u), "case {case}: {link:?}\n{text}");
        }
        for flow in &summary.flows {
            sent += flow.sent;
            delivered += flow.delivered;
            let lost: u64 = flow.drops.values().sum();
            assert!(
                flow.delivered + lost <= flow.sent,
                "case {case}: {flow:?}\n{text}"
            );
            assert!(
                flow.goodput_mbps.is_finite() && flow.goodput_mbps >= 0.0,
                "case {case}"
            );
        }
        let u = summary.utilisation.unwrap_or(0.0);
        assert!((0.0..=1.000_001).contains(&u), "case {case}: {u}\n{text}");
    }
    assert!(
        sent > 400_000 && delivered > 200_000,
        "the scenarios are alive: {sent} {delivered}"
    );
}
