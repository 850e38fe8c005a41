//! The scenario whose world the packets of N3 pass.

use slackwater_core::Duration;
use slackwater_scenario::tree::{self, Value as Tree};
use slackwater_scenario::upf::{CeccMode, Mode};
use slackwater_scenario::{Plugins, Scenario};
use toml::{Table, Value};

use super::description::{Gnb, Profile};
use crate::LiveError;
use crate::emulate::cells::{Edge, Middle, Wanted, put, sub};

/// The scenario of `gnb`'s cell: its UEs, flows for the connections of each `QoS` flow, and the reports.
///
/// # Errors
/// Where the cell cannot be had, or has functions that belong to the user plane function.
pub(super) fn scenario(gnb: &Gnb, plugins: &Plugins) -> Result<Scenario, LiveError> {
    let edge = gnb.edge.iter().map(|name| cells_own(name, plugins));
    let edge = edge.collect::<Result<Vec<_>, _>>()?;
    let counts = edge.contains(&Edge::Ebb);
    if counts && matches!(gnb.reports.profile, Profile::Container | Profile::Off) {
        return Err(LiveError::Usage(
            "edge: found \"ebb\" with reports.profile \"a\" or \"off\", expected \"b\", \"c\" or \"auto\": A has no field for counters"
                .to_owned(),
        ));
    }
    if gnb.reports.uploads.port.is_some() && !counts {
        return Err(LiveError::Usage(
            "reports.uploads: found a port without edge = [\"ebb\"], expected both: no one else counts uploads"
                .to_owned(),
        ));
    }
    let set = gnb.set.iter().map(|set| {
        let pair = set.split_once('=');
        let (key, value) = pair
            .ok_or_else(|| LiveError::Usage(format!("set: found {set:?}, expected KEY=VALUE")))?;
        Ok((key.trim().to_owned(), value.trim().to_owned()))
    });
    let wanted = Wanted {
        name: gnb.name.clone(),
        middle: Middle::Cell(gnb.cell.clone()),
        ues: gnb.ue.len() as u32,
        delay: Duration::ZERO,
        queue: gnb.queue.clone(),
        edge,
        // Counters of flows travel by N3, beside the packets.
        datagrams: counts,
        blocks: false,
        seed: gnb.seed,
        flows: gnb.flows,
        set: set.collect::<Result<_, LiveError>>()?,
        plugins: plugins.clone(),
    };
    let scenario = wanted.scenario_with(|root| adapt(root, gnb))?;
    if scenario.cell().is_none() {
        return Err(LiveError::Usage(format!(
            "{}: found a link, expected a cell",
            gnb.cell
        )));
    }
    if let Some(upf) = &scenario.upf {
        let functions = [
            (upf.vaqm.mode != Mode(None), "upf.vaqm"),
            (upf.cecc.mode != CeccMode::Off, "upf.cecc"),
            (upf.zhuge.on, "upf.zhuge"),
            (upf.system.is_some(), "upf.system"),
        ];
        if let Some((_, key)) = functions.iter().find(|f| f.0) {
            return Err(LiveError::Usage(format!(
                "{key}: found a function, expected none: it belongs to the user plane function behind N3"
            )));
        }
    }
    Ok(scenario)
}

/// The function called `name`, where it is one of the cell itself.
fn cells_own(name: &str, plugins: &Plugins) -> Result<Edge, LiveError> {
    match Edge::find(name, plugins)? {
        Edge::Vaqm | Edge::Cecc | Edge::System(_) => Err(LiveError::Usage(format!(
            "edge: found \"{name}\", expected xrc, ebb, l4s or an agent: it belongs to the user plane function behind N3"
        ))),
        own => Ok(own),
    }
}

fn adapt(root: &mut Table, gnb: &Gnb) -> Result<(), LiveError> {
    if gnb.ue.iter().any(|u| !u.radio.0.entries.is_empty()) {
        place_ues(root, gnb)?;
    }
    // The flows of each place in turn: their numbers are those of places.
    let flow = root.get("flow").and_then(Value::as_array);
    let flow = flow.and_then(|f| f.first()?.as_table().cloned());
    let flow = flow.unwrap_or_default();
    let places = gnb.places();
    let flows = places.iter().map(|place| {
        let mut flow = flow.clone();
        put(&mut flow, "ue", i64::from(place.ue));
        put(&mut flow, "qfi", i64::from(place.qfi.0));
        Value::Table(flow)
    });
    put(root, "flow", flows.collect::<Vec<_>>());
    let profile = match gnb.reports.profile {
        Profile::Off => {
            root.remove("upf");
            return Ok(());
        }
        Profile::Container => "container",
        Profile::Session => "session",
        Profile::Auto | Profile::Multi => "multi",
    };
    let upf = sub(root, "upf")?;
    let reports = sub(upf, "reports")?;
    put(reports, "profile", profile);
    put(reports, "period", gnb.reports.period.to_string());
    if let Some(congestion) = &gnb.reports.congestion {
        let l4s = sub(upf, "l4s")?;
        put(l4s, "on", true);
        put(l4s, "low", congestion.low.to_string());
        put(l4s, "high", congestion.high.to_string());
    }
    Ok(())
}

/// Each UE by itself, with its own radio.
fn place_ues(root: &mut Table, gnb: &Gnb) -> Result<(), LiveError> {
    let known = root.get("ue").and_then(Value::as_array);
    let mut all: Vec<Table> = Vec::new();
    for ue in known.into_iter().flatten().filter_map(Value::as_table) {
        let mut one = ue.clone();
        let count = one.remove("count").and_then(|c| c.as_integer());
        for _ in 0..count.unwrap_or(1) {
            all.push(one.clone());
        }
    }
    for (one, ue) in all.iter_mut().zip(&gnb.ue) {
        let json = tree::to_json(&Tree::Table(ue.radio.0.clone()));
        let radio = Table::try_from(json)
            .map_err(|e| LiveError::Usage(format!("{}.radio: {e}", ue.name)))?;
        one.extend(radio);
        one.remove("count");
    }
    let all = all.into_iter().map(Value::Table);
    put(root, "ue", all.collect::<Vec<_>>());
    Ok(())
}

#[cfg(test)]
mod tests {
    use slackwater_core::NoRecorder;
    use slackwater_scenario::build::{Hosts, build_with};

    use super::*;

    const TEXT: &str = r#"
        cell = "lte"
        flows = 3
        [n3]
        address = ["10.0.0.2"]
        [reports]
        profile = "c"
        to = { address = "10.0.0.1", teid = 9 }
        period = "2 ms"
        congestion = {}
        [[ue]]
        name = "a"
        address = ["10.45.0.2"]
        uplink = { address = "10.0.0.1", teid = 1 }
        downlink = 1
        qfi = [1, 5]
        [[ue]]
        name = "b"
        address = ["10.45.0.3"]
        uplink = { address = "10.0.0.1", teid = 2 }
        downlink = 2
        radio = { mobility = { kind = "static", distance = "400 m" }, bearers = [{ qfi = [1] }, { qfi = [5] }] }
    "#;

    fn gnb() -> Gnb {
        Gnb::parse("gnb.toml", TEXT).expect("a good file")
    }

    #[test]
    fn flows_follow_the_places_and_ues_their_radio() {
        let scenario = scenario(&gnb(), &Plugins::new()).expect("a cell");
        let flows = scenario.expanded_flows();
        let places: Vec<_> = flows.iter().map(|f| (f.ue, f.spec.qfi)).collect();
        let of = |ue, qfi| [(Some(ue), qfi); 3];
        assert_eq!(places, [of(0, 1), of(0, 5), of(1, 1)].concat());
        let ues = scenario.expanded_ues();
        assert_eq!(ues.len(), 2);
        assert_ne!(ues[0].mobility, ues[1].mobility);
        let upf = scenario.upf.as_ref().expect("reports");
        assert_eq!(upf.reports.period, Duration::from_millis(2));
        assert!(upf.l4s.on);
        let names = super::super::bearers(&gnb(), &scenario);
        assert_eq!(names[1].iter().map(|q| q.0).collect::<Vec<_>>(), [1, 5]);
        let built = build_with(&scenario, 1, Hosts::BeyondN3, None, |_| NoRecorder);
        let (_, layout) = built.expect("it builds");
        assert!(layout.upf.is_empty(), "the functions stand outside");
    }

    #[test]
    fn what_belongs_to_the_upf_is_refused() {
        let says = |gnb: &Gnb, words: &str| {
            let error = scenario(gnb, &Plugins::new()).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        };
        let mut other = gnb();
        other.edge = vec!["vaqm".to_owned()];
        says(&other, "edge: found \"vaqm\", expected xrc, ebb, l4s");
        let mut other = gnb();
        other.set = vec!["upf.cecc.mode=hold".to_owned()];
        says(&other, "upf.cecc: found a function");
        let mut other = gnb();
        other.edge = vec!["ebb".to_owned()];
        scenario(&other, &Plugins::new()).expect("profile C has a field for counters");
        for profile in [Profile::Off, Profile::Container] {
            other.reports.profile = profile;
            says(&other, "edge: found \"ebb\" with reports.profile");
        }
        let mut other = gnb();
        other.reports.uploads.port = Some(4434);
        says(&other, "reports.uploads: found a port without edge");
        let mut other = gnb();
        other.set = vec!["upf.cecc.mode".to_owned()];
        says(&other, "expected KEY=VALUE");
        let mut other = gnb();
        other.cell = "nowhere".to_owned();
        says(&other, "one of lte");
    }
}
