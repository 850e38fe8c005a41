//! Files that people hand each other: traces, scenarios, policies, configurations, results.

use std::sync::Arc;

use slackwater_control::Config as ControlConfig;
use slackwater_control::phy::Policy;
use slackwater_control::registry;
use slackwater_core::{Draw, Duration, Instant, NoRecorder};
use slackwater_lab::arena::{Row, Set};
use slackwater_live::gnb::description::Gnb;
use slackwater_live::upf::UpfConfig;
use slackwater_results::metrics::summary::RunSummary;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::{BuildError, build};
use slackwater_scenario::data::parse_series;
use slackwater_scenario::packed::Packing;
use slackwater_sim::NoClock;
use slackwater_upf::state::Origin;
use slackwater_upf::{Config, Upf};
use slackwater_wire::trace::{MahimahiTrace, RateColumns, RateSeries};

use super::ends;
use super::input::Input;

/// Virtual time for which a scenario runs that could be read.
const RUN: Duration = Duration::from_millis(20);
/// Bytes that an archive may hold.
const UNPACKED: usize = 1 << 16;
/// UEs and flows above which it is built and not run.
const MANY: usize = 64;
/// UEs and flows above which it is not built: ten thousand of them take a second and tell nothing that these do not.
const MOST: usize = 2_048;

/// Mahimahi traces and rate series: what is written is read as the same.
pub(crate) fn trace(data: &[u8]) {
    if let Ok(trace) = MahimahiTrace::parse(data) {
        let again = MahimahiTrace::parse(trace.to_text().as_bytes()).expect("it was written here");
        assert_eq!(again.times_ms(), trace.times_ms());
        let _ = (
            trace.period(),
            trace.mean_rate(),
            trace.opportunity(1 << 20),
        );
        if trace.period() < Duration::from_secs(100) {
            let _ = (trace.stats(), trace.to_rate(Duration::from_millis(100)));
        }
    }
    if let Ok(series) = RateSeries::parse(data) {
        let _ = (
            series.total(),
            series.rate_at(Instant::ZERO),
            series.to_csv(),
        );
    }
    let columns = RateColumns::default();
    let _ = RateSeries::parse_with(data, &columns);
    let _ = RateSeries::parse_pieces(data, &columns, Duration::from_secs(2));
}

/// Series that scenarios read.
pub(crate) fn series(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for name in ["mbps", "mcs", "cqi", "sinr_db"] {
        if let Ok(series) = parse_series(text, name) {
            assert!(series.times.is_sorted(), "times rise");
            assert_eq!(series.times.len(), series.values.len());
            let _ = series.round();
        }
    }
}

/// Archives: no more than the bound comes out, and what is packed is unpacked as the same.
pub(crate) fn packed(data: &[u8]) {
    let [form, data @ ..] = data else { return };
    let packing = Packing::ALL[usize::from(*form) % Packing::ALL.len()];
    if let Ok(plain) = packing.unpack(data, UNPACKED) {
        assert!(plain.len() <= UNPACKED + 1, "{} bytes", plain.len());
    }
    let again = packing.pack(data).expect("it is in memory");
    let plain = packing.unpack(&again, data.len());
    assert_eq!(plain.expect("it was packed here"), data);
}

/// A scenario that can be read can be written, built and run.
pub(crate) fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // No folder: a scenario of bytes names no files.
    let Ok(scenario) = Scenario::from_toml(text, "/nowhere") else {
        return;
    };
    let again = scenario.to_toml();
    let read = Scenario::from_toml(&again, "/nowhere");
    assert!(read.is_ok(), "what is resolved is read: {read:?}\n{again}");
    let ues: usize = scenario.ues.iter().map(|u| u.count as usize).sum();
    let size = ues.max(scenario.expanded_flows().len());
    // What a scenario is checked for before it is built: its parts are there.
    if let Err(error) = scenario.check_controllers() {
        assert!(
            !error.key.is_empty() && !error.expected.is_empty(),
            "{error}"
        );
        return;
    }
    if size > MOST {
        return;
    }
    match build(&scenario, 1, None, |_| NoRecorder) {
        Ok((mut world, _)) => {
            let end = Instant::ZERO + RUN.min(scenario.duration);
            if size <= MANY {
                world.run_until(end, &mut NoClock);
            }
        }
        Err(error) => names_its_place(&error),
    }
}

/// A world that cannot be built is the scenario's fault, and the error says which key's.
fn names_its_place(error: &BuildError) {
    let said = error.to_string();
    match error {
        BuildError::Cell(reason) | BuildError::System(reason) | BuildError::Agent(reason) => {
            assert!(!reason.is_empty(), "{said}");
        }
        BuildError::Own(inner) => assert!(!inner.key.is_empty(), "{said}"),
        BuildError::Flow {
            entry, key, reason, ..
        } => {
            let place = format!("flow[{entry}].{key}: ");
            assert!(said.starts_with(&place) && !reason.is_empty(), "{said}");
        }
    }
}

/// Policies of `tyrus`: one that is read flies.
pub(crate) fn policy(data: &[u8]) {
    if let Ok(policy) = Policy::from_safetensors(data) {
        let config = ControlConfig::new(1_448, Draw::new(1));
        ends::converse(registry::tyrus(Arc::new(policy), &config), Input(data));
    }
}

/// Files of `slackwater upf` and `slackwater gnb`.
pub(crate) fn configs(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(config) = UpfConfig::parse("upf.toml", text) {
            let again = config.to_toml();
            assert!(UpfConfig::parse("upf.toml", &again).is_ok(), "{again}");
        }
        if let Ok(gnb) = Gnb::parse("gnb.toml", text) {
            let _ = (gnb.check(), gnb.places());
        }
    }
    let _ = Origin::read(data);
    let now = Instant::ZERO + Duration::from_secs(5);
    if let Ok(mut upf) = Upf::restored(Config::default(), now, data) {
        while upf.poll(now).is_some() {}
    }
}

/// What runs leave: summaries, lines of an arena, the arena's own set.
pub(crate) fn results(data: &[u8]) {
    if let Ok(summary) = serde_json::from_slice::<RunSummary>(data) {
        let text = serde_json::to_vec(&summary).expect("a summary is JSON");
        assert!(serde_json::from_slice::<RunSummary>(&text).is_ok());
    }
    let _ = serde_json::from_slice::<Row>(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Set::parse(text);
    }
}
