//! Controllers of a scenario: what the registry knows, and what needs a file or the link's future.

use std::path::Path;
use std::sync::Arc;

use slackwater_control::AnyController;
use slackwater_control::phy::ebb::Network;
use slackwater_control::phy::oracle::Schedule;
use slackwater_control::phy::policy::Policy;
use slackwater_control::registry::{self, Config, Registry, UnknownController};
use slackwater_core::{Duration, Instant};
use slackwater_sim::Service;

use super::link;
use crate::data::read_bounded;
use crate::{Bottleneck, Scenario};

/// What stands before the file of a policy.
const POLICY: &str = "tyrus:policy=";

/// What stands before parameters of `ebb`, and before the file of a trained forecast, which comes last.
const EBB: &str = "ebb:";
const FORECAST: &str = "forecast=";

/// A policy inside the program, in place of a file.
const POSTER: &str = "poster";

/// The controller called `name`; `tyrus:policy=FILE` reads a policy, and `ebb:z=0.3,forecast=FILE` a forecast.
///
/// # Errors
/// Where no controller has that name, or the file is no policy.
pub(crate) fn build(
    known: &Registry,
    name: &str,
    config: &Config,
) -> Result<AnyController, UnknownController> {
    let wrong = |reason| UnknownController {
        name: name.to_owned(),
        reason: Some(reason),
    };
    if let Some((text, file)) = forecast(name) {
        let network = read_forecast(Path::new(file)).map_err(wrong)?;
        return registry::ebb(Arc::new(network), text, config).map_err(wrong);
    }
    let Some(file) = name.strip_prefix(POLICY).filter(|f| *f != POSTER) else {
        return known.build(name, config);
    };
    let policy = read(Path::new(file)).map_err(wrong)?;
    Ok(registry::tyrus(Arc::new(policy), config))
}

/// The file that the controller called `name` is read from, where it needs one.
pub fn file_of(name: &str) -> Option<&str> {
    let policy = name.strip_prefix(POLICY).filter(|f| *f != POSTER);
    policy.or_else(|| forecast(name).map(|(_, file)| file))
}

/// What stands before the file of a forecast in `name`, and the file.
fn forecast(name: &str) -> Option<(&str, &str)> {
    let text = name.strip_prefix(EBB)?;
    match text.strip_prefix(FORECAST) {
        Some(file) => Some(("", file)),
        None => text.split_once(",forecast="),
    }
}

/// No policy is larger: the published ones take some kilobytes.
const MAX_POLICY: usize = 64 << 20;

/// Reads a policy.
///
/// # Errors
/// Names the file, what was found and what was expected.
pub fn read(file: &Path) -> Result<Policy, String> {
    let shown = file.display();
    let bytes = read_bounded(file, MAX_POLICY).map_err(|e| format!("policy: {shown}: {e}"))?;
    Policy::from_safetensors(&bytes).map_err(|e| format!("policy: {shown}: {e}"))
}

/// Reads a forecast.
///
/// # Errors
/// As [`read`].
pub fn read_forecast(file: &Path) -> Result<Network, String> {
    let shown = file.display();
    let bytes = read_bounded(file, MAX_POLICY).map_err(|e| format!("forecast: {shown}: {e}"))?;
    Network::from_safetensors(&bytes).map_err(|e| format!("forecast: {shown}: {e}"))
}

/// The same in a scenario: an oracle learns what the link will carry.
pub(super) fn in_scenario(
    name: &str,
    config: &Config,
    scenario: &Scenario,
) -> Result<AnyController, UnknownController> {
    if name == "oracle"
        && let Some(schedule) = schedule(scenario)
    {
        return Ok(registry::oracle(Arc::new(schedule), config));
    }
    build(scenario.plugins().controllers(), name, config)
}

/// IP bytes that one opportunity carries in full packets: 1,504 with the TUN header.
const OPPORTUNITY: u64 = 1_500;

/// The capacity of the scenario's link by the millisecond; `None` in a cell.
fn schedule(scenario: &Scenario) -> Option<Schedule> {
    let Bottleneck::Link(config) = &scenario.bottleneck else {
        return None;
    };
    Some(match link::service(config) {
        Service::Trace {
            opportunities,
            period,
        } => {
            let mut bytes = vec![0; period as usize];
            for &at in opportunities.iter() {
                bytes[(at % period) as usize] += OPPORTUNITY;
            }
            Schedule::new(bytes)
        }
        Service::Rate { steps, period } => {
            let last = steps.last().expect("a rate has a step").0;
            let end = period.map_or(last + Duration::from_millis(1), |p| Instant::ZERO + p);
            let mut step = 0;
            let rate = |k: u64| {
                while step + 1 < steps.len() && steps[step + 1].0 <= Instant::from_millis(k) {
                    step += 1;
                }
                steps[step].1.as_bps() / 8000
            };
            let bytes: Vec<u64> = (0..end.as_nanos().div_ceil(1_000_000)).map(rate).collect();
            match period {
                Some(_) => Schedule::new(bytes),
                None => Schedule::holding(bytes),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use slackwater_core::Draw;

    use super::*;

    #[test]
    fn a_policy_that_is_not_there_is_named() {
        let config = Config::new(1448, Draw::new(1));
        let wrong = build(
            &Registry::new(),
            "tyrus:policy=no/such.safetensors",
            &config,
        )
        .unwrap_err();
        let wrong = wrong.to_string();
        assert!(wrong.contains("policy: no/such.safetensors: "), "{wrong}");
    }

    #[test]
    fn a_forecast_follows_the_parameters_of_its_sender() {
        assert_eq!(forecast("ebb:forecast=a,b.st"), Some(("", "a,b.st")));
        let both = Some(("z=0.3,q=2", "x=1.st"));
        assert_eq!(forecast("ebb:z=0.3,q=2,forecast=x=1.st"), both);
        for other in [
            "ebb",
            "ebb:z=1",
            "tyrus:policy=forecast=x",
            "ebb-media:forecast=x",
            "ebb:margins=trained",
        ] {
            assert_eq!(forecast(other), None, "{other}");
        }
        assert_eq!(file_of("ebb:forecast=a.st"), Some("a.st"));
        assert_eq!(file_of("tyrus:policy=a.st"), Some("a.st"));
        for none in ["tyrus:policy=poster", "tyrus", "ebb:z=1"] {
            assert_eq!(file_of(none), None, "{none}");
        }
        let config = Config::new(1448, Draw::new(1));
        let wrong = build(&Registry::new(), "ebb:forecast=no/such.st", &config).unwrap_err();
        let wrong = wrong.to_string();
        assert!(wrong.contains("forecast: no/such.st: "), "{wrong}");
    }
}
