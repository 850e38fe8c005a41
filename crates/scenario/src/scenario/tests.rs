//! Scenarios as people write them, right and wrong.

use std::path::Path as FsPath;

use slackwater_queue::LawConfig;

use super::*;
use crate::field::{At, Field};
use crate::{Law, Limit, Queue, cell, data, embedded, reference, units};

mod checks;
mod data_files;
mod fields;
mod mistakes;
mod page;

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
