//! Every key that documents a range: its ends are taken as they are, what lies beyond them is refused, and a cell runs with
//! what the resolved scenario says.

use slackwater_core::Duration;

use crate::build::cell::radio;
use crate::field::{Field, Reference};
use crate::tree::{Node, Value};
use crate::{Cell, Feedback, Flow, Link, Path, Record, Scenario, Ue, Upf, Wired};

const LINK: &str = r#"
name = "ranges"
duration = "10 s"
[link]
kind = "rate"
rate = "10 Mbit/s"
[wired]
rate = "10 Mbit/s"
[[flow]]
"#;
const LTE: &str = r#"
name = "ranges"
duration = "10 s"
[cell]
rat = "lte"
[upf]
[feedback]
[[ue]]
bearers = [{}]
[[flow]]
ue = 0
"#;
const NR: &str = r#"
name = "ranges"
duration = "10 s"
[cell]
rat = "nr"
[upf]
[feedback]
[[ue]]
bearers = [{}]
[[flow]]
ue = 0
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"))
}

/// Every section of the reference.
fn sections() -> Vec<Reference> {
    let mut out = Vec::new();
    Path::reference("[path]", &mut out);
    Link::reference("[link]", &mut out);
    Cell::reference("[cell]", &mut out);
    Wired::reference("[wired]", &mut out);
    Feedback::reference("[feedback]", &mut out);
    Upf::reference("[upf]", &mut out);
    Ue::reference("[[ue]]", &mut out);
    Flow::reference("[[flow]]", &mut out);
    Record::reference("[record]", &mut out);
    out
}

/// `[[flow]].app = { kind = "vr" }` as the key `flow.app` and the word `vr`.
fn place(section: &str) -> (String, Option<String>) {
    let (path, variant) = match section.split_once(" = ") {
        Some((path, rest)) => (path, rest.split('"').nth(1).map(str::to_owned)),
        None => (section, None),
    };
    (path.replace(['[', ']'], ""), variant)
}

/// A number and its unit: `30 ms`, `5 %`, `1320`.
fn parts(text: &str) -> (f64, &str) {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    (number.parse().unwrap_or_else(|_| panic!("{text}")), unit)
}

/// Just below or above an end. What is counted steps by one.
fn beyond(end: &str, sign: f64) -> String {
    let (number, unit) = parts(end);
    let counted = ["", "B", "packets", "bit/s", "Hz", "ns"].contains(&unit);
    let step = if counted && number.fract() == 0.0 {
        1.0
    } else {
        (number.abs() / 100.0).max(0.01)
    };
    let value = number + sign * step;
    if unit.is_empty() {
        format!("{value}")
    } else {
        format!("{value} {unit}")
    }
}

/// A scenario in which the section stands.
fn around(path: &str, variant: Option<&str>) -> Option<Scenario> {
    [LINK, LTE, NR].into_iter().find_map(|text| {
        let mut base = scenario(text);
        let root = path.split('.').next().unwrap_or_default();
        let needs_cell = ["cell", "ue", "upf", "feedback"].contains(&root);
        if needs_cell && base.cell().is_none() || root == "link" && base.cell().is_some() {
            return None;
        }
        if path.starts_with("cell.rlc.queue.") {
            base = base.with("cell.rlc.queue", "fifo").ok()?;
        }
        let Some(word) = variant else {
            return Some(base);
        };
        // What has no default.
        let needed = match word {
            "rate" | "cbr" => "rate = \"1 Mbit/s\"",
            "series" => "points = [[0, 1], [1, 2]]",
            "mcs" => "mcs = 5",
            _ => return base.with(path, word).ok(),
        };
        let table = format!("{{ kind = \"{word}\", {needed} }}");
        base.with(path, &table).ok()
    })
}

/// What the resolved scenario says of `key`, as text.
fn resolved(scenario: &Scenario, key: &str) -> Option<String> {
    let mut node = Node::new(Value::Table(scenario.encode()));
    for part in key.split('.') {
        let (name, index) = match part.split_once('[') {
            Some((name, index)) => (name, Some(index.trim_end_matches(']').parse().ok()?)),
            None => (part, None),
        };
        let Value::Table(table) = &node.value else {
            return None;
        };
        let mut below = table.get(name)?.clone();
        if let (Some(i), Value::Array(items)) = (index, &below.value) {
            below = items.get::<usize>(i)?.clone();
        }
        node = below;
    }
    Some(node.value.to_inline())
}

#[test]
fn every_documented_range_is_kept_and_refused_beyond() {
    let (mut walked, mut elsewhere) = (0, Vec::new());
    for section in sections() {
        let (path, variant) = place(&section.key);
        for [key, _, _, range, _] in &section.rows {
            let Some((low, high)) = range.split_once(" to ") else {
                continue;
            };
            let Some(base) = around(&path, variant.as_deref()) else {
                elsewhere.push(format!("{}.{key}", section.key));
                continue;
            };
            let full = format!("{path}.{key}");
            for end in [low, high] {
                match base.with(&full, end) {
                    Ok(s) => {
                        // A number that is written otherwise ("1000 ms", "1 s") reads as the same value.
                        let indexed = full
                            .replace("ue.", "ue[0].")
                            .replace("flow.", "flow[0].")
                            .replace("bearers.", "bearers[0].");
                        let Some(says) = resolved(&s, &indexed) else {
                            // Sections that hold nothing but defaults are left out.
                            assert!(s.encode() == base.encode(), "{full} = {end}: lost");
                            continue;
                        };
                        let again = s.with(&full, says.trim_matches('"'));
                        let same = again.as_ref().is_ok_and(|a| a.encode() == s.encode());
                        assert!(same, "{full} = {end}: resolved to {says}");
                    }
                    // Refused for what another key says, never for the range.
                    Err(e) => assert!(
                        !e.to_string().contains(range.as_str()),
                        "{full} = {end}: {e}"
                    ),
                }
            }
            for (end, sign) in [(low, -1.0), (high, 1.0)] {
                let value = beyond(end, sign);
                let e = match base.with(&full, &value) {
                    Ok(s) => panic!("{full} = {value}: taken, as {:?}", resolved(&s, &full)),
                    Err(e) => e.to_string(),
                };
                assert!(e.contains(key.as_str()), "{full} = {value}: {e}");
            }
            walked += 1;
        }
    }
    assert!(walked > 150, "{walked} keys");
    // A trace is a file, which this test does not have.
    assert_eq!(elsewhere, ["[link] = { kind = \"trace\" }.up_rate"]);
}

/// What the cell runs with is what its scenario says, at both ends of each range.
#[test]
fn a_cell_runs_with_what_the_resolved_scenario_says() {
    let cell = |text: &str, key: &str, value: &str| {
        let s = scenario(text).with(key, value);
        let s = s.unwrap_or_else(|e| panic!("{key} = {value}: {e}"));
        radio(s.cell().expect("a cell"), s.plugins())
    };
    for n in [1, 16] {
        let text = n.to_string();
        assert_eq!(cell(NR, "cell.harq.processes", &text).processes(), n);
        assert_eq!(cell(LTE, "cell.harq.processes", &text).processes(), n);
        assert_eq!(
            cell(NR, "cell.harq.transmissions", &text)
                .harq
                .transmissions,
            n
        );
        assert_eq!(cell(NR, "cell.timing.k1", &text).delays().k1, n);
        assert_eq!(cell(NR, "cell.timing.k2", &text).delays().k2, n);
    }
    for (period, slots) in [("125 us", 1), ("1 s", 2_000)] {
        assert_eq!(
            cell(NR, "cell.cqi.period", period).delays().cqi_period,
            slots
        );
    }
    for (delay, slots) in [("0 s", 0), ("1 s", 2_000)] {
        assert_eq!(cell(NR, "cell.cqi.delay", delay).delays().cqi_delay, slots);
    }
    for (processing, slots) in [("0 s", 0), ("4 ms", 8)] {
        let c = cell(NR, "cell.timing.processing", processing);
        assert_eq!(c.delays().mac_to_air, slots);
    }
    for (period, slots) in [("125 us", 1), ("640 ms", 1_280)] {
        let c = cell(NR, "cell.uplink.sr_period", period);
        assert_eq!(c.delays().sr_period, slots);
    }
    assert_eq!(cell(LTE, "cell.schedulable_prbs", "50").schedulable_dl, 50);
    let rtt = cell(LTE, "cell.harq.rtt", "100 ms").delays();
    let taken = rtt.mac_to_air + rtt.k1 + rtt.feedback_to_mac;
    assert_eq!(taken, 100);
}

/// What no cell can do is refused with a reason, where it was cut in silence before.
#[test]
fn what_a_cell_cannot_do_is_refused() {
    for (text, key, value, expected) in [
        (NR, "cell.harq.processes", "17", "1 to 16"),
        (NR, "cell.timing.k1", "17", "1 to 16"),
        (NR, "cell.timing.k2", "0", "1 to 16"),
        (NR, "cell.harq.rtt", "8 ms", "no such key for NR"),
        (
            NR,
            "cell.timing.processing",
            "5 ms",
            "at most 8 slots, \"4 ms\"",
        ),
        (NR, "cell.uplink.prepare", "3 ms", "at most K2, \"2 ms\""),
        (LTE, "cell.timing.k1", "5", "k0 = 0, k1 = 4, k2 = 4 for LTE"),
        (LTE, "cell.harq.rtt", "5 ms", "at least \"6 ms\""),
        (LTE, "cell.schedulable_prbs", "51", "1 to 50"),
        (
            LTE,
            "upf.vaqm.max_target",
            "19 ms",
            "max_target of at least min_target",
        ),
    ] {
        let e = match scenario(text).with(key, value) {
            Ok(_) => panic!("{key} = {value}: taken"),
            Err(e) => e.to_string(),
        };
        assert!(e.contains(expected), "{key} = {value}: {e}");
    }
    let slot = Duration::from_micros(500);
    let nr = scenario(NR);
    let nr = radio(nr.cell().expect("a cell"), nr.plugins());
    assert_eq!(nr.slot_duration(), slot);
}
