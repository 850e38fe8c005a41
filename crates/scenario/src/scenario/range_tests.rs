//! Every key that documents a range: its ends are taken as they are, what lies beyond them is refused, and a cell runs with
//! what the resolved scenario says.

use slackwater_core::Duration;

use crate::build::cell::radio;
use crate::build::used::used;
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
        let base = scenario(text);
        let root = path.split('.').next().unwrap_or_default();
        let needs_cell = ["cell", "ue", "upf", "feedback"].contains(&root);
        if needs_cell && base.cell().is_none() || root == "link" && base.cell().is_some() {
            return None;
        }
        within(base, path, variant)
    })
}

/// The base with the variant of a section.
fn within(mut base: Scenario, path: &str, variant: Option<&str>) -> Option<Scenario> {
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

/// A value between the ends of a range: half of the upper one.
fn half(high: &str) -> String {
    let (number, unit) = parts(high);
    let counted = ["", "B", "packets", "bit/s", "Hz", "ns"].contains(&unit);
    let half = if counted && number >= 2.0 {
        (number / 2.0).floor()
    } else {
        number / 2.0
    };
    format!("{half} {unit}").trim_end().to_owned()
}

/// What a key needs beside it to have an effect, or to take each of its values.
fn beside(path: &str, variant: Option<&str>, key: &str) -> Vec<(&'static str, &'static str)> {
    const WINDOW: [(&str, &str); 2] = [("upf.vaqm.mode", "window"), ("upf.vaqm.max_target", "2 s")];
    const GUARANTEED: [(&str, &str); 2] =
        [("ue.bearers.qfi", "[3]"), ("ue.bearers.gbr", "1 kbit/s")];
    const HELD: (&str, &str) = ("upf.cecc.mode", "hold");
    const L4S: (&str, &str) = ("upf.l4s.on", "true");
    const FOR_EVER: (&str, &str) = ("duration", "1000000 s");
    match (path, variant, key) {
        ("cell", _, "schedulable_prbs") => vec![("cell.n_rb", "1320")],
        ("cell", _, "shadowing_distance") => vec![("cell.shadowing", "6 dB")],
        ("cell", _, "delay_spread") | ("ue", _, "speed") => vec![("cell.fading", "tdl-a")],
        ("upf.vaqm" | "ue.vaqm", _, _) => WINDOW.to_vec(),
        ("ue.bearers.vaqm", _, _) => [WINDOW, GUARANTEED].concat(),
        ("ue.bearers", _, "gbr" | "mbr") => GUARANTEED.to_vec(),
        ("ue.mobility", _, "min") => vec![("ue.mobility.max", "100 km")],
        ("ue.mobility", _, "max") => vec![("ue.mobility.min", "1 m")],
        ("upf.cecc" | "upf.reports", _, _) => vec![HELD],
        ("upf.zhuge", _, _) => vec![("upf.zhuge.on", "true")],
        ("upf.l4s", _, "low") => vec![L4S, ("upf.l4s.high", "10 s")],
        ("upf.l4s", _, "high") => vec![L4S, ("upf.l4s.low", "0 s")],
        ("upf.l4s", _, _) => vec![L4S],
        ("upf.detour", _, "period") => vec![("upf.detour.extra", "5 ms")],
        ("feedback" | "feedback.tyrus", _, _) => vec![("feedback.carrier", "socket")],
        ("flow", _, "stagger") => vec![("flow.count", "2")],
        ("flow", _, "start" | "stop") => vec![FOR_EVER],
        ("flow.quic", _, _) => vec![("flow.transport", "quic")],
        ("flow.app", Some("transfers"), "min") => vec![("flow.app.max", "1000 GB")],
        ("flow.app", Some("transfers"), "max") => vec![("flow.app.min", "1 B")],
        ("flow.app", Some("video"), "on") => vec![("flow.app.period", "1000 s")],
        ("flow.app", Some("page"), "document") => vec![("flow.app.size", "1000 GB")],
        ("flow.app", Some("page"), "size") => vec![("flow.app.document", "1 B")],
        ("flow.app", Some("media"), "start") => {
            vec![
                ("flow.app.max", "100000 Mbit/s"),
                ("flow.app.min", "1 kbit/s"),
            ]
        }
        ("flow.app", Some("media"), "min") => {
            vec![
                ("flow.app.max", "100000 Mbit/s"),
                ("flow.app.start", "100000 Mbit/s"),
            ]
        }
        ("flow.app", Some("media"), "max") => {
            vec![("flow.app.min", "1 kbit/s"), ("flow.app.start", "1 kbit/s")]
        }
        ("flow.app", Some("media"), "pause") => {
            vec![FOR_EVER, ("flow.app.resume", "1000000 s")]
        }
        ("flow.app", Some("media"), "resume") => vec![FOR_EVER, ("flow.app.pause", "0 s")],
        _ => Vec::new(),
    }
}

/// The scenarios in which a key has an effect.
fn templates(path: &str) -> &'static [&'static str] {
    match path.split('.').next() {
        Some("cell" | "ue" | "upf") => &[LTE, NR],
        Some("feedback" | "flow") => &[LTE],
        _ => &[LINK],
    }
}

/// The base with what a key needs; `None` where that scenario has no such section.
fn prepared(text: &str, path: &str, variant: Option<&str>, key: &str) -> Option<Scenario> {
    let mut base = scenario(text);
    if variant == Some("media") {
        base = base.with("flow.controller", "gcc").ok()?;
    }
    base = within(base, path, variant)?;
    for (other, value) in beside(path, variant, key) {
        base = base.with(other, value).ok()?;
    }
    // The ends of a ramp.
    let ramp = path.ends_with("law") || path.ends_with("queue");
    match key {
        "low" if ramp => base.with(&format!("{path}.high"), "10 s").ok(),
        "high" if ramp => base.with(&format!("{path}.low"), "0 s").ok(),
        _ => Some(base),
    }
}

/// Each value of a key within its range gives a world of its own, none is cut to another, and the resolved file gives the
/// world that its scenario gave.
#[test]
fn the_world_is_built_of_what_the_resolved_scenario_says() {
    let (mut walked, mut alike, mut single) = (0, Vec::new(), Vec::new());
    for section in sections() {
        let (path, variant) = place(&section.key);
        for [key, _, _, range, _] in &section.rows {
            let full = format!("{path}.{key}");
            // What a run records is no part of its world, and as many as there may be are too many for a test.
            let apart = path == "record" || ["ue.count", "flow.count"].contains(&full.as_str());
            let Some((low, high)) = range.split_once(" to ").filter(|_| !apart) else {
                continue;
            };
            let mut pairs = 0;
            for text in templates(&path) {
                let Some(base) = prepared(text, &path, variant.as_deref(), key) else {
                    continue;
                };
                let mut before: Option<(String, String)> = None;
                for value in [low, &half(high), high] {
                    // Refused for what other keys say; the test above has what a key takes by itself.
                    let Ok(s) = base.with(&full, value) else {
                        continue;
                    };
                    let world = used(&s);
                    assert_eq!(used(&scenario(&s.to_toml())), world, "{full} = {value}");
                    if let Some((other, its)) = before.filter(|(other, _)| other != value) {
                        pairs += 1;
                        if its == world {
                            alike.push(format!("{full} = {other} and {value}"));
                        }
                    }
                    before = Some((value.to_owned(), world));
                }
            }
            if pairs == 0 {
                single.push(full);
            }
            walked += 1;
        }
    }
    assert!(walked > 150, "{walked} keys");
    assert!(alike.is_empty(), "{}", alike.join("\n"));
    // A trace is a file, and all but the least of a range of 50 ms are more than 8 slots (see below).
    assert_eq!(single, ["link.up_rate", "cell.timing.processing"]);
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
