//! Scenarios as people write them, right and wrong.

use std::path::Path as FsPath;

use slackwater_queue::LawConfig;

use super::*;
use crate::field::{At, Field};
use crate::{Law, Limit, Queue, cell, data, embedded, reference, units};

#[test]
fn every_built_in_scenario_loads_and_survives_a_round_trip() {
    for (name, text) in embedded::ALL {
        let scenario =
            Scenario::parse(name, text, FsPath::new(".")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scenario.name, *name);
        let resolved = scenario.to_toml();
        let again =
            Scenario::from_toml(&resolved, ".").unwrap_or_else(|e| panic!("{e}\n{resolved}"));
        assert_eq!(again, scenario, "{resolved}");
        assert_eq!(again.to_toml(), resolved);
        let json = Scenario::from_json(&scenario.to_json(), ".").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(json, scenario);
        assert!(
            !scenario
                .expand()
                .unwrap_or_else(|e| panic!("{e}"))
                .is_empty()
        );
    }
}

const LINK: &str = r#"name = "t"
duration = "10 s"
[link]
kind = "rate"
rate = "12 Mbit/s"
[[flow]]
controller = "cubic"
"#;

const CELL: &str = r#"name = "t"
duration = "10 s"
[cell]
rat = "lte"
[[ue]]
count = 2
[[flow]]
ue = "each"
"#;

fn error(text: &str) -> String {
    match Scenario::parse("t.toml", text, FsPath::new("/nowhere")) {
        Ok(_) => panic!("no error in\n{text}"),
        Err(e) => e.to_string(),
    }
}

fn swap(base: &str, from: &str, to: &str) -> String {
    assert!(base.contains(from), "{from}");
    base.replacen(from, to, 1)
}

/// What a run could not survive is refused where the scenario is read.
#[test]
fn what_parses_can_run() {
    let nr = |tdd: &str, special: &str| {
        let cell = format!("[cell]\nrat = \"nr\"\ntdd = \"{tdd}\"\nspecial = \"{special}\"");
        swap(CELL, "[cell]\nrat = \"lte\"", &cell)
    };
    let long = "D".repeat(20) + "U";
    assert!(error(&nr(&long, "10:2:2")).contains("1 to 20 letters"));
    let one_way = error(&nr("SU", "0:14:0"));
    assert!(one_way.contains("cell.tdd: found \"SU\""), "{one_way}");

    let series = |kind: &str, points: &str| {
        swap(
            CELL,
            "count = 2",
            &format!("channel = {{ kind = \"{kind}\", points = {points} }}"),
        )
    };
    for kind in ["mcs-series", "cqi-series"] {
        let short = error(&series(kind, "[[0, 5], [1e-9, 6]]"));
        assert!(short.contains("a round of at least \"1 ms\""), "{short}");
        let far = error(&series(kind, "[[0, 5], [18446744073, 6]]"));
        assert!(far.contains("from 0 to 1000000"), "{far}");
    }
    let link = "name = \"a\"\nduration = \"1 s\"\n[link]\nkind = \"series\"\npoints = [[0, 1], [1e-9, 2]]\n[[flow]]\n";
    let short = error(link);
    assert!(short.contains("a round of at least \"1 ms\""), "{short}");

    let far = crate::data::parse_series("time_s,mcs\n0,5\n18446744073,6\n", "mcs");
    assert_eq!(far.expect_err("past thirty years").line, 3);
}

/// Pipes could block for ever, devices need not end, and an archive may unpack to more than the memory holds.
#[cfg(target_os = "linux")]
#[test]
fn only_regular_files_of_bounded_size_are_read() {
    use crate::data::{read_bounded, read_bytes};
    use crate::packed::Packing;
    let found = |path: &str| read_bounded(FsPath::new(path), 16).expect_err(path).found;
    assert_eq!(found("/dev/zero"), "a pipe or a device");
    assert_eq!(found("/"), "a folder");
    assert_eq!(
        found(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")),
        "a larger file"
    );
    assert_eq!(found("/no/such/file"), "no such file");

    // 272 MiB of zeros take some kilobytes: the same 16 MiB again and again.
    let dir = Data::new("bomb", &[]);
    for packing in Packing::ALL {
        let part = packing.pack(&vec![0; 16 << 20]).expect("memory");
        let bomb = dir.0.join(format!("bomb{}", packing.ending()));
        std::fs::write(&bomb, part.repeat(17)).expect("a writable folder");
        let e = read_bytes(&bomb).expect_err("272 MiB");
        assert_eq!(
            (e.found.as_str(), e.expected.as_str()),
            ("a larger file", "at most 256 MiB"),
            "{packing:?}"
        );
    }
}

/// Each mistake gives one line that names the place, the key, what was found and what was expected.
#[test]
fn mistakes_are_told_in_one_clear_line() {
    let time = "a time in ns, us, ms, s, min, h (\"30 ms\")";
    let rate = "a rate in bit/s, kbit/s, Mbit/s, Gbit/s (\"12 Mbit/s\")";
    let cases: &[(&str, &str, &str, String)] = &[
        // Unknown keys, with and without a near one.
        (LINK, "controller =", "controler =",
            "t.toml:7:1: flow[0].controler: found an unknown key, expected `controller`?".into()),
        (LINK, "kind = \"rate\"", "kind = \"rate\"\nbandwidth = \"10 MHz\"",
            "t.toml:5:1: link.bandwidth: found an unknown key, expected one of rate, up_rate, opportunities, queue, up_queue, kind".into()),
        (LINK, "duration", "durration",
            "t.toml:2:1: durration: found an unknown key, expected `duration`?".into()),
        // Units.
        (LINK, "\"10 s\"", "\"10 sec\"", "t.toml:2:12: duration: found \"10 sec\", expected \"10 s\"?".into()),
        (LINK, "\"10 s\"", "10", format!("t.toml:2:12: duration: found the number 10, expected {time}")),
        (LINK, "\"10 s\"", "\"-10 s\"", format!("t.toml:2:12: duration: found \"-10 s\", expected {time}")),
        (LINK, "\"10 s\"", "\"1e3 s\"", format!("t.toml:2:12: duration: found \"1e3 s\", expected {time}")),
        (LINK, "12 Mbit/s", "12 Mbps", "t.toml:5:8: link.rate: found \"12 Mbps\", expected \"12 Mbit/s\"?".into()),
        (CELL, "rat = \"lte\"", "bandwidth = \"10 kHzz\"",
            "t.toml:4:13: cell.bandwidth: found \"10 kHzz\", expected a frequency in Hz, kHz, MHz, GHz (\"10 MHz\")".into()),
        (LINK, "rate = \"12 Mbit/s\"", "rate = \"12 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"0 packets\" }",
            "t.toml:6:34: link.queue.limit: found \"0 packets\", expected 1 packet or more".into()),
        // Ranges.
        (LINK, "\"10 s\"", "\"0 s\"", "t.toml:2:12: duration: found \"0 s\", expected 1 ms to 10000000 s".into()),
        (CELL, "rat = \"lte\"", "layers = 5", "t.toml:4:10: cell.layers: found the number 5, expected 1 to 4".into()),
        (CELL, "rat = \"lte\"", "rat = \"nr\"\nscs = \"45 kHz\"",
            "t.toml:5:7: cell.scs: found \"45 kHz\", expected 15, 30, 60 or 120 kHz".into()),
        (CELL, "rat = \"lte\"", "bandwidth = \"7 MHz\"",
            "t.toml:4:13: cell.bandwidth: found \"7 MHz\", expected 1.4, 3, 5, 10, 15 or 20 MHz for LTE (36.101, 5.6)".into()),
        (LINK, "duration = \"10 s\"", "duration = \"10 s\"\nwarmup = \"10 s\"",
            "t.toml:3:10: warmup: found \"10 s\", expected less than duration = \"10 s\"".into()),
        // Words.
        (CELL, "\"lte\"", "\"5g\"", "t.toml:4:7: cell.rat: found \"5g\", expected one of \"lte\", \"nr\"".into()),
        (LINK, "\"rate\"", "\"wire\"",
            "t.toml:4:8: link.kind: found \"wire\", expected one of \"trace\", \"rate\", \"series\"".into()),
        (LINK, "kind = \"rate\"\n", "",
            "t.toml:3:1: link: found no key `kind`, expected one of \"trace\", \"rate\", \"series\"".into()),
        (CELL, "rat = \"lte\"", "rat = \"nr\"\ntdd = \"DDXSU\"",
            "t.toml:5:7: cell.tdd: found \"DDXSU\", expected 1 to 20 letters D, S, U, with downlink and uplink (\"DDDSU\")".into()),
        (CELL, "rat = \"lte\"", "rat = \"nr\"\nspecial = \"10:2:3\"",
            "t.toml:5:11: cell.special: found \"10:2:3\", expected downlink:guard:uplink symbols, 14 together (\"10:2:2\")".into()),
        // What is missing or does not fit together.
        (LINK, "rate = \"12 Mbit/s\"\n", "",
            format!("t.toml:3:1: link: found no key `rate`, expected {rate}")),
        (LINK, "name = \"t\"\n", "", "t.toml: found no key `name`, expected text".into()),
        (LINK, "\"t\"", "\"../t\"",
            "t.toml:1:8: name: found \"../t\", expected 1 to 100 letters, digits, \"-\", \"_\" or \".\", not starting with \".\"".into()),
        (LINK, "[[flow]]\ncontroller = \"cubic\"\n", "", "t.toml: found no [[flow]], expected one or more".into()),
        (LINK, "[[flow]]", "[cell]\n[[flow]]",
            "t.toml:6:1: cell: found both [link] and [cell], expected one of them".into()),
        (LINK, "[[flow]]", "[[ue]]\n[[flow]]",
            "t.toml:6:1: ue: found a [[ue]] beside [link], expected [[ue]] only with [cell]".into()),
        (CELL, "\"each\"", "2", "t.toml:8:6: flow[0].ue: found UE 2, expected 0 to 1 (2 in all)".into()),
        (LINK, "\"cubic\"", "\"cubic\"\nstart = \"5 s\"\nstop = \"4 s\"",
            "t.toml:6:1: flow[0]: found stop = \"4 s\" and start = \"5 s\", expected stop after start".into()),
        (LINK, "kind = \"rate\"\nrate = \"12 Mbit/s\"", "kind = \"series\"",
            "t.toml:3:1: link: found neither `file` nor `points`, expected one of them".into()),
        (LINK, "kind = \"rate\"\nrate = \"12 Mbit/s\"", "kind = \"series\"\npoints = [[0, 1], [0, 2]]",
            "t.toml:3:1: link: found the time 0 in points[1], expected seconds that rise, from 0 to 1000000".into()),
        (LINK, "kind = \"rate\"\nrate = \"12 Mbit/s\"", "kind = \"trace\"\nfile = \"no.down\"",
            "t.toml:5:8: link.file: found no such file in \"no.down\", expected a readable file".into()),
        // Lists to vary.
        (LINK, "[[flow]]", "[vary]\nseed = []\n[[flow]]",
            "t.toml:7:8: vary.seed: found a list of 0, expected one value or more".into()),
        (LINK, "[[flow]]", "[vary]\nseed = 3\n[[flow]]",
            "t.toml:7:8: vary.seed: found the number 3, expected a list".into()),
        (LINK, "[[flow]]", "[vary]\n\"flow.contoller\" = [\"bbr\"]\n[[flow]]",
            "t.toml:7:21: vary.flow.contoller: found an unknown key at flow[0].contoller, expected `controller`?".into()),
        (LINK, "[[flow]]", "[vary]\n\"link.rate\" = [\"1 Mbit/s\", \"2 MHz\"]\n[[flow]]",
            format!("t.toml:7:28: vary.link.rate: found \"2 MHz\", expected {rate}")),
        (LINK, "[[flow]]", "[vary]\n\"cell.layers\" = [1]\n[[flow]]",
            "t.toml:7:18: vary.cell.layers: found the key `cell`, expected a key of this scenario that may vary".into()),
        // A vAQM of one's own.
        (CELL, "[[flow]]", "[[ue]]\nvaqm.mode = \"off\"\n[[flow]]",
            "t.toml:8:1: ue[1].vaqm: found mode = \"off\" for one instance, expected \"measure\", which measures alone".into()),
        (CELL, "[[flow]]", "[[ue]]\nbearers = [{ qfi = [1], vaqm = { module = \"pie\" } }]\n[[flow]]",
            "t.toml:8:12: ue[1].bearers[0]: found vaqm without a gbr, expected a gbr: other flows share the instance of the session".into()),
        (CELL, "[[flow]]", "[upf]\nvaqm.max_target = \"30 ms\"\n[[ue]]\nvaqm.preset = \"throughput\"\n[[flow]]",
            "t.toml:5:1: ue: found a vaqm with max_target = \"30 ms\" below min_target = \"40 ms\", expected max_target of at least min_target".into()),
        // Not TOML at all.
        (LINK, "[link]", "[link", "t.toml:3:6: found unclosed table, expected `]`".into()),
    ];
    let mut wrong = Vec::new();
    for (base, from, to, expected) in cases {
        let got = error(&swap(base, from, to));
        assert!(!got.contains('\n'), "{got}");
        if got != *expected {
            wrong.push(format!("got:      {got}\nexpected: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A folder of data files, gone when dropped.
struct Data(PathBuf);

impl Data {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let dir = std::env::temp_dir().join(format!("slackwater-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        for (file, text) in files {
            std::fs::write(dir.join(file), text).expect("written");
        }
        Self(dir)
    }

    fn load(&self, text: &str) -> Result<Scenario, ScenarioError> {
        std::fs::write(self.0.join("t.toml"), text).expect("written");
        Scenario::load(self.0.join("t.toml"))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_bad_line_in_a_data_file_is_named() {
    let data = Data::new(
        "bad-data",
        &[
            ("back.down", "1\n5\n3\n"),
            ("word.down", "1\nfive\n"),
            ("rates.csv", "time_s,mbps\n0,1\n1,-2\n"),
            ("order.csv", "time_s,mbps\n1,1\n0,2\n"),
            ("columns.csv", "when,what\n0,1\n"),
            ("mcs.csv", "time_s,mcs\n0,20\n1,40\n"),
            ("broken.xz", "not an archive"),
            ("broken.gz", "not an archive"),
            ("broken.zst", "not an archive"),
        ],
    );
    let trace = |file: &str| {
        swap(
            LINK,
            "kind = \"rate\"\nrate = \"12 Mbit/s\"",
            &format!("kind = \"trace\"\nfile = \"{file}\""),
        )
    };
    let series = |file: &str| {
        swap(
            LINK,
            "kind = \"rate\"\nrate = \"12 Mbit/s\"",
            &format!("kind = \"series\"\nfile = \"{file}\""),
        )
    };
    let mcs = |file: &str| {
        swap(
            CELL,
            "count = 2",
            &format!("count = 2\nchannel = {{ kind = \"mcs-series\", file = \"{file}\" }}"),
        )
    };
    for (text, expected) in [
        (
            trace("back.down"),
            "link.file: found time 3 ms after 5 ms in line 3 of \"back.down\", expected times that never go back",
        ),
        (
            trace("word.down"),
            "link.file: found `five` in line 2 of \"word.down\", expected a whole number",
        ),
        (trace("broken.xz"), "expected a file as its name ends, .xz"),
        (trace("broken.gz"), "expected a file as its name ends, .gz"),
        (
            trace("broken.zst"),
            "expected a file as its name ends, .zst",
        ),
        (
            series("rates.csv"),
            "link.file: found \"-2\" in line 3 of \"rates.csv\", expected a number from 0 to 1e15 for `mbps`",
        ),
        (
            series("order.csv"),
            "link.file: found the time 0 s after 1 s in line 3 of \"order.csv\", expected times that rise",
        ),
        (
            series("columns.csv"),
            "link.file: found the columns when, what in line 1 of \"columns.csv\", expected a column `time_s` or `time_ms`",
        ),
        (
            series("rates.csv#ul"),
            "link.file: found the columns time_s, mbps in line 1 of \"rates.csv\", expected a column `ul`",
        ),
        (
            mcs("mcs.csv"),
            "ue[0].channel.file: found 40 at 1 s in \"mcs.csv\", expected at most 28",
        ),
    ] {
        let got = data.load(&text).expect_err("a bad file").to_string();
        assert!(got.contains(expected), "got {got}\nexpected {expected}");
        assert!(
            got.contains("t.toml:5:8: ") || got.contains("t.toml:7:"),
            "{got}"
        );
    }
}

#[test]
fn data_files_are_read_beside_the_scenario_and_survive_a_round_trip() {
    let data = Data::new(
        "good-data",
        &[
            ("a.down", "0\n1\n1\n4\n"),
            ("b.down", "2\n"),
            ("r.csv", "time_s,ul,mbps\n0,9,1.5\n2.5,8,0\n"),
        ],
    );
    let text = swap(
        LINK,
        "kind = \"rate\"\nrate = \"12 Mbit/s\"",
        "kind = \"trace\"\nfile = \"a.down\"\nup_file = \"b.down\"",
    ) + "[vary]\n\"link.file\" = [\"a.down\", \"b.down\"]\n";
    let scenario = data.load(&text).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand().unwrap_or_else(|e| panic!("{e}"));
    let opportunities: Vec<Vec<u64>> = runs
        .iter()
        .map(|r| match r.scenario.link() {
            Some(Link::Trace(t)) => t.file.opportunities.to_vec(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(opportunities, [vec![0, 1, 1, 4], vec![2]]);
    assert_eq!(runs[1].name(), "b.down");

    let text = swap(
        LINK,
        "kind = \"rate\"\nrate = \"12 Mbit/s\"",
        "kind = \"series\"\nfile = \"r.csv#ul\"",
    );
    let scenario = data.load(&text).unwrap_or_else(|e| panic!("{e}"));
    let Some(Link::Series(s)) = scenario.link() else {
        panic!("a series")
    };
    assert_eq!(
        s.rates(),
        [
            (Duration::ZERO, slackwater_core::Rate::from_mbps(9.0)),
            (
                Duration::from_millis(2500),
                slackwater_core::Rate::from_mbps(8.0)
            ),
        ]
    );
    assert_eq!(s.round(), Duration::from_secs(5));
    let again = Scenario::from_toml(&scenario.to_toml(), &data.0).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, scenario);
}

#[test]
fn lists_to_vary_multiply() {
    let text = swap(
        CELL,
        "[[ue]]",
        "[vary]\n\"flow.controller\" = [\"cubic\", \"reno\"]\nseed = [3, 4, 5]\n\"cell.rlc.buffer\" = [\"64 kB\", \"unlimited\"]\n[[ue]]",
    );
    let scenario = Scenario::from_toml(&text, ".").unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(runs.len(), 12);
    let told: Vec<String> = runs
        .iter()
        .map(|r| format!("{} {}", r.name(), r.seed))
        .collect();
    assert_eq!(told[0], "cubic, 64 kB 3");
    assert_eq!(told[1], "cubic, unlimited 3");
    assert_eq!(told[2], "cubic, 64 kB 4");
    assert_eq!(told[11], "reno, unlimited 5");
    let last = &runs[11].scenario;
    assert_eq!(last.flows[0].controller, "reno");
    assert_eq!(last.seed, 5);
    assert_eq!(last.cell().map(|c| c.rlc.buffer), Some(Limit::Unlimited));
    assert!(last.vary.is_empty());
}

#[test]
fn a_key_can_be_set_from_the_command_line() {
    let scenario = Scenario::from_toml(LINK, ".").unwrap_or_else(|e| panic!("{e}"));
    let set = |key, value| scenario.with(key, value).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(set("flow.controller", "reno").flows[0].controller, "reno");
    assert_eq!(set("flow[0].tcp.mss", "1200").flows[0].tcp.mss, 1200);
    assert_eq!(set("path.rtt", "80 ms").path.rtt, Duration::from_millis(80));
    assert_eq!(set("seed", "9").seed, 9);
    let codel = set("link.queue.law", "codel");
    let Some(Link::Rate(link)) = codel.link() else {
        panic!("a rate")
    };
    assert!(
        matches!(&link.queue, Queue::Fifo(f) if matches!(f.law, Law::BuiltIn(LawConfig::Codel(_))))
    );
    let e = scenario
        .with("flow.mss", "1200")
        .expect_err("no such key")
        .to_string();
    assert!(
        e.starts_with("--set: flow[0].mss: found an unknown key"),
        "{e}"
    );
    let e = scenario
        .with("path.rtt", "80")
        .expect_err("no unit")
        .to_string();
    assert!(
        e.starts_with("--set: path.rtt: found the number 80, expected a time"),
        "{e}"
    );
    assert!(scenario.with("flow[7].controller", "reno").is_err());
    assert!(scenario.with("", "reno").is_err());
    assert!(scenario.with("x = 1\ny", "2").is_err());
    // Several at once: the last of a key holds, and a table can be replaced before a key of it.
    let queue = "{ kind = \"fifo\", limit = \"9 packets\" }";
    let changes = [
        ("link.queue", queue),
        ("link.queue.limit", "7 packets"),
        ("seed", "8"),
        ("seed", "9"),
    ];
    let all = scenario.with_all(changes).unwrap_or_else(|e| panic!("{e}"));
    let one_by_one = changes.iter().fold(scenario.clone(), |s, (key, value)| {
        s.with(key, value).unwrap_or_else(|e| panic!("{e}"))
    });
    assert_eq!((&all, all.seed), (&one_by_one, 9));
    assert!(all.to_toml().contains("7 packets"), "{}", all.to_toml());
    let e = scenario
        .with_all([("seed", "9"), ("path.rtt", "80")])
        .expect_err("no unit");
    assert!(e.to_string().starts_with("--set: path.rtt: found"), "{e}");
    assert!(scenario.with_all([]).is_ok_and(|same| same == scenario));
    // A key below an empty list would go nowhere.
    let cell = Scenario::from_toml(CELL, ".").unwrap_or_else(|e| panic!("{e}"));
    let e = cell
        .with("ue.bearers.priority", "1")
        .expect_err("no bearer");
    assert!(e.to_string().contains("found an empty list"), "{e}");
}

#[test]
fn flows_and_ues_are_counted_out() {
    let text = swap(
        CELL,
        "ue = \"each\"",
        "ue = \"each\"\ncount = 2\nstagger = \"1 s\"\nstop = \"8 s\"",
    ) + "[[flow]]\nue = 1\ndirection = \"up\"\nrtt = \"70 ms\"\nlabel = \"up\"\n";
    let scenario = Scenario::from_toml(&text, ".").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.expanded_ues().len(), 2);
    let flows = scenario.expanded_flows();
    let told: Vec<String> = flows
        .iter()
        .map(|f| format!("{} ue{:?} {} {} {}", f.label, f.ue, f.start, f.stop, f.rtt))
        .collect();
    assert_eq!(
        told,
        [
            "cubic 1 ueSome(0) 0 s 8 s 30 ms",
            "cubic 2 ueSome(0) 1 s 8 s 30 ms",
            "cubic 3 ueSome(1) 2 s 8 s 30 ms",
            "cubic 4 ueSome(1) 3 s 8 s 30 ms",
            "up ueSome(1) 0 s 10 s 70 ms",
        ]
    );
}

#[test]
fn a_session_and_a_gbr_flow_have_a_vaqm_of_their_own() {
    let text = swap(
        CELL,
        "[[flow]]",
        "[upf]\nvaqm = { mode = \"window\", min_target = \"15 ms\" }\n[[ue]]\nvaqm = { module = \"pie\", preset = \"nr\" }\n\
         bearers = [{ qfi = [3], gbr = \"1 Mbit/s\", vaqm = { mode = \"direct\", module = \"none\" } }]\n[[flow]]",
    );
    let scenario = Scenario::parse("t.toml", &text, FsPath::new(".")).expect("right");
    let all = scenario.upf.as_ref().expect("a UPF").vaqm.clone();
    let says = |ue: usize| -> Vec<String> {
        let of = scenario.ues[ue].vaqm(&all);
        let text = |(qfi, v): &(Option<u8>, crate::upf::Vaqm)| {
            let module = v
                .module
                .encode()
                .map_or_else(String::new, |m| m.to_inline());
            format!(
                "{qfi:?} {} {module} {:?}",
                v.mode
                    .0
                    .map_or("off", slackwater_edge::upf::vaqm::Mode::word),
                v.min_target.map(Duration::as_millis_f64)
            )
        };
        of.iter().map(text).collect()
    };
    assert_eq!(says(0), ["None window \"codel\" Some(15.0)"]);
    assert_eq!(
        says(1),
        ["None window \"pie\" None", "Some(3) direct \"none\" None"]
    );
    let again = Scenario::parse("t.toml", &scenario.to_toml(), FsPath::new(".")).expect("right");
    assert_eq!(again, scenario);
}

#[test]
fn defaults_follow_the_radio_access_technology() {
    let nr = Scenario::from_toml(&swap(CELL, "\"lte\"", "\"nr\""), ".")
        .unwrap_or_else(|e| panic!("{e}"));
    let cell = nr.cell().expect("a cell");
    assert_eq!((cell.scs.0, cell.bandwidth.0), (30_000, 100_000_000));
    assert_eq!(
        (cell.duplex, cell.mcs_table),
        (cell::Duplex::Tdd, cell::McsTable::Qam256)
    );
}

#[test]
fn reports_that_cannot_reach_a_sender_are_found() {
    let text = r#"
        name = "n"
        duration = "1 s"
        [cell]
        rat = "lte"
        [[ue]]
        channel = { kind = "mcs", mcs = 12 }
        [[flow]]
        [[flow]]
        controller = "xrc"
        transport = "quic"
    "#;
    let s = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
    let check = |changes: &[(&str, &str)]| {
        let mut s = s.clone();
        for (key, value) in changes {
            s = s.with(key, value).expect("a good change");
        }
        s.check_controllers().map_err(|e| e.to_string())
    };
    let wrong = check(&[]).expect_err("no option in QUIC");
    assert_eq!(
        wrong,
        "feedback.carrier: found \"tcp-option\", and flow[1] with controller \"xrc\" over QUIC, expected \"datagram\" or \
         \"socket\": no option reaches a QUIC sender"
    );
    assert!(check(&[("flow.transport", "quinn")]).is_err());
    for fine in [
        [("feedback.carrier", "datagram")],
        [("feedback.carrier", "socket")],
        [("flow.transport", "tcp")],
        [("flow.controller", "cubic")],
        [("flow.direction", "up")],
    ] {
        assert_eq!(check(&fine), Ok(()), "{fine:?}");
    }
}

#[test]
fn controllers_are_checked_against_those_that_exist() {
    let s = Scenario::from_toml(&swap(LINK, "\"cubic\"", "\"cubik\""), ".")
        .unwrap_or_else(|e| panic!("{e}"));
    let e = s.check_controllers().expect_err("no such controller");
    assert_eq!(
        e.to_string(),
        "flow[0].controller: found \"cubik\", expected \"cubic\"?"
    );
    let with = |name: &str| {
        let s = s.with("flow.controller", name).expect("any name is text");
        s.check_controllers().map_err(|e| e.to_string())
    };
    for name in ["fixed:20", "xrc:n=5,theta=0", "bbrv3", "copa:delta=0.1"] {
        assert_eq!(with(name), Ok(()));
    }
    let wrong = with("xrc:foo=3").expect_err("no such parameter");
    assert!(wrong.contains("foo") && wrong.contains("lambda"), "{wrong}");
    assert_eq!(
        with("gcc"),
        Err("flow[0].controller: found \"gcc\", expected a controller for TCP; this one steers media".to_owned())
    );
    let media = LINK.replace("[[flow]]", "[[flow]]\napp = { kind = \"media\" }");
    let s = Scenario::from_toml(&media, ".").unwrap_or_else(|e| panic!("{e}"));
    let with = |name: &str| {
        let s = s.with("flow.controller", name).expect("any name is text");
        s.check_controllers().map_err(|e| e.to_string())
    };
    for name in ["al4s-c:paper,low=5,high=20", "gcc", "scream-webrtc"] {
        assert_eq!(with(name), Ok(()));
    }
    assert_eq!(
        with("cubic"),
        Err("flow[0].controller: found \"cubic\", expected a controller for media; this one steers TCP".to_owned())
    );
    assert!(with("screem").is_err_and(|e| e.contains("\"scream\"?")));
}

#[test]
fn a_flow_is_built_for_the_controllers_that_its_carrier_knows() {
    let build = |text: &str| {
        let s = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
        let world = crate::build::build(&s, 1, None, |_| slackwater_core::record::NoRecorder);
        world.map(|_| ()).map_err(|e| e.to_string())
    };
    let media = LINK.replace("[[flow]]", "[[flow]]\napp = { kind = \"media\" }");
    assert_eq!(
        build(&media).expect_err("TCP's controller over RTP"),
        "flow[0].controller: flow \"cubic\": controller \"cubic\": found a controller of TCP, expected one of media"
    );
    let gcc = LINK.replace("\"cubic\"", "\"gcc\"");
    assert_eq!(
        build(&gcc).expect_err("media's controller over TCP"),
        "flow[0].controller: flow \"gcc\": controller \"gcc\": found a controller of media, expected one of TCP"
    );
    // A key counts entries of the file, and not the flows that they make: the label tells those apart.
    let third =
        "[[flow]]\ncount = 4\n[[flow]]\n[[flow]]\nlabel = \"b\"\ncount = 2\ncontroller = \"gcc\"\n";
    let third = LINK.replace("[[flow]]\ncontroller = \"cubic\"\n", third);
    assert_eq!(
        build(&third).expect_err("media's controller over TCP"),
        "flow[2].controller: flow \"b 1\": controller \"gcc\": found a controller of media, expected one of TCP"
    );
}

#[test]
fn a_ue_that_cannot_be_built_is_named_by_its_key() {
    let ues = "[upf]\n[[ue]]\ncount = 3\n[[ue]]\nvaqm = { module = \"own:none-such\" }\n[[flow]]";
    let text = CELL.replacen("[[flow]]", ues, 1);
    let e = match Scenario::from_toml(&text, ".") {
        Err(e) => e.to_string(),
        Ok(s) => crate::build::build(&s, 1, None, |_| slackwater_core::record::NoRecorder)
            .map(|_| ())
            .expect_err("no such law")
            .to_string(),
    };
    assert!(e.contains("ue[2].vaqm.module: found"), "{e}");
}

/// Every key of every built-in scenario, defaults filled in, is a key of the schema, and every word one of its words.
#[test]
fn the_schema_knows_what_the_parser_takes() {
    fn fits(value: &serde_json::Value, schema: &serde_json::Value) -> bool {
        use serde_json::Value as J;
        if let Some(any) = schema.get("anyOf").and_then(J::as_array) {
            return any.iter().any(|s| fits(value, s));
        }
        if let Some(word) = schema.get("const") {
            return word == value;
        }
        if let Some(words) = schema.get("enum").and_then(J::as_array) {
            return words.contains(value);
        }
        match (value, schema.get("type").and_then(J::as_str)) {
            (J::Object(map), Some("object")) => {
                let known = |k: &String| schema["properties"].get(k);
                let required = schema.get("required").and_then(J::as_array);
                required.is_none_or(|r| {
                    r.iter()
                        .all(|k| k.as_str().is_some_and(|k| map.contains_key(k)))
                }) && map.iter().all(|(k, v)| match known(k) {
                    Some(s) => fits(v, s),
                    None => schema["additionalProperties"] == true,
                })
            }
            (J::Array(items), Some("array")) => items.iter().all(|v| fits(v, &schema["items"])),
            (J::Number(n), Some("integer")) => n.is_i64() || n.is_u64(),
            (J::String(_), Some("string"))
            | (J::Bool(_), Some("boolean"))
            | (J::Number(_), Some("number")) => true,
            _ => false,
        }
    }
    let schema = reference::json_schema();
    for (name, text) in embedded::ALL {
        let scenario = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
        let mut json = scenario.to_json();
        assert!(fits(&json, &schema), "{name}: {json:#}");
        json["path"]["rrt"] = "1 ms".into();
        assert!(
            !fits(&json, &schema),
            "a schema that takes anything shows nothing"
        );
    }
}

mod fuzz {
    use proptest::prelude::*;

    use super::*;

    fn same<T: Field + PartialEq + core::fmt::Debug>(v: &T) {
        let cache = DataCache::default();
        let node = Node::new(v.encode().expect("a value"));
        let cx = Cx {
            file: "",
            text: None,
            base_dir: FsPath::new("."),
            files: &cache,
        };
        let back = T::decode(&At {
            cx,
            node: &node,
            key: String::new(),
        });
        assert_eq!(back.as_ref(), Ok(v), "{node:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
            let _ = Scenario::from_toml(&text, "/nowhere");
        }

        /// A built-in scenario with a piece cut out and another put in.
        #[test]
        fn no_damage_makes_the_parser_panic(
            which in 0..embedded::ALL.len(),
            at in any::<prop::sample::Index>(),
            cut in 0usize..40,
            put in prop_oneof![
                "\\PC{0,12}", "[\\[\\]{}=\".,0-9 -]{0,8}", Just("99999999999999999999".to_owned()),
                Just("nan".to_owned()), Just("\"1000000000000000000000 s\"".to_owned()),
                Just("\"0.0000000000000000000000000001 ms\"".to_owned()), Just("-1".to_owned()),
                Just("1979-05-27".to_owned()), Just("[[ue]]\ncount=4000000000\n".to_owned()),
            ],
        ) {
            let text = embedded::ALL[which].1;
            let mut start = at.index(text.len());
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + cut).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            let damaged = format!("{}{put}{}", &text[..start], &text[end..]);
            match Scenario::from_toml(&damaged, "/nowhere") {
                Err(e) => prop_assert!(!e.to_string().contains('\n'), "{e}"),
                Ok(s) => {
                    let again = Scenario::from_toml(&s.to_toml(), "/nowhere");
                    prop_assert_eq!(again.map_err(|e| format!("{e}\n{}", s.to_toml())), Ok(s));
                }
            }
        }

        #[test]
        fn no_data_file_makes_its_reader_panic(text in "(time_s,mbps\n)?[0-9,.\\-e\n#xa]{0,200}") {
            let _ = data::parse_series(&text, "mbps");
        }

        /// What a quantity prints, it reads.
        #[test]
        fn quantities_survive_a_round_trip(ns in any::<u64>(), db in -1e6..1e6f64, hz in 1u64..1 << 60) {
            use slackwater_core::{Bytes, Rate};
            // Printed as floats: 2^50 ns are thirteen days, which is more than a run may last.
            let ns = ns >> 14;
            same(&Duration::from_nanos(ns));
            same(&Rate::from_bps(ns));
            same(&Bytes(ns));
            same(&units::Hertz(hz >> 10));
            same(&units::Db(db));
            same(&units::Percent(db.abs()));
            same(&units::Metres(db.abs()));
        }
    }
}

/// The part of a documentation page between its markers.
fn between<'a>(page: &'a str, marker: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("<!-- {marker} -->\n"))
        .expect("the start marker");
    rest.split_once(&format!("<!-- /{marker} -->"))
        .expect("the end marker")
        .0
}

#[test]
fn the_reference_in_the_documentation_is_current() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let page = std::fs::read_to_string(page).expect("docs/scenario.md");
    assert!(
        between(&page, "reference") == reference::markdown(),
        "docs/scenario.md: replace what stands between the markers by what \
         `cargo test -p slackwater-scenario print_the_reference -- --ignored --nocapture` prints"
    );
}

#[test]
#[ignore = "prints the generated part of docs/scenario.md"]
#[expect(clippy::print_stdout, reason = "its purpose")]
fn print_the_reference() {
    println!("{}", reference::markdown());
}
