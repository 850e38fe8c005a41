//! Building a built-in controller from its name and parameters.

use std::sync::Arc;

use slackwater_core::Duration;

use super::{AnyController, Config, UnknownController, canonical};
use crate::explicit::xrc::{Params, Xrc};
use crate::learned::claw::Claw;
use crate::learned::oracle::{Oracle, Schedule};
use crate::learned::pbe::{self, Pbe};
use crate::learned::policy::Policy;
use crate::learned::rule::{G, Rule, Rule2};
use crate::learned::seat::Seat;
use crate::learned::sprout::Sprout;
use crate::learned::steered::{Steer, Steered};
use crate::learned::tyrus::Pilot;
use crate::media::al4s::{self, Al4s};
use crate::media::gcc::Gcc;
use crate::media::l4s_cc::L4sCc;
use crate::media::scream::{self, Scream};
use crate::rate::bbr::Bbr;
use crate::rate::bbr3::Bbr3;
use crate::rate::copa::{Copa, DELTA};
use crate::window::cubic::Cubic;
use crate::window::dctcp::Dctcp;
use crate::window::fixed::Fixed;
use crate::window::illinois::{Illinois, IllinoisNs3};
use crate::window::prague::Prague;
use crate::window::reno::{Reno, RenoNs3};
use crate::window::vegas::Vegas;
use crate::window::veno::{Veno, VenoNs3};
use crate::window::westwood::{Westwood, WestwoodNs3};
use crate::window::{Law, Windowed};

fn windowed<L: Law>(law: L, cfg: &Config) -> Windowed<L> {
    Windowed::new(law, cfg.mss, cfg.initial_window).with_ssthresh(cfg.initial_ssthresh)
}

/// The controller called `name`.
///
/// # Errors
/// Where no controller has that name; the error lists those that exist.
pub fn build(name: &str, cfg: &Config) -> Result<AnyController, UnknownController> {
    use AnyController as C;
    let (mss, initial) = (cfg.mss, cfg.initial_window);
    let encoder = &cfg.encoder;
    Ok(match canonical(name) {
        "reno" => C::Reno(windowed(Reno, cfg)),
        "reno-ns3" => C::RenoNs3(windowed(RenoNs3, cfg)),
        "cubic" => C::Cubic(windowed(Cubic::linux(), cfg)),
        "cubic-hystart++" => C::Cubic(windowed(Cubic::hystart_pp(), cfg)),
        "cubic-nohystart" => C::Cubic(windowed(Cubic::plain(), cfg)),
        "cubic-ns3" => C::Cubic(windowed(Cubic::ns3(), cfg)),
        "vegas" => C::Vegas(windowed(Vegas::default(), cfg)),
        "veno" => C::Veno(windowed(Veno::default(), cfg)),
        "veno-ns3" => C::VenoNs3(windowed(VenoNs3::default(), cfg)),
        "illinois" => C::Illinois(windowed(Illinois::default(), cfg)),
        "illinois-ns3" => C::IllinoisNs3(windowed(IllinoisNs3::default(), cfg)),
        "westwood" => C::Westwood(windowed(Westwood::default(), cfg)),
        "westwood-ns3" => C::WestwoodNs3(windowed(WestwoodNs3::default(), cfg)),
        "dctcp" => C::Dctcp(windowed(Dctcp::default(), cfg)),
        "prague" => C::Prague(windowed(Prague::default(), cfg)),
        "bbr" => C::Bbr(Bbr::new(mss, initial, cfg.draw)),
        "bbr3" => C::Bbr3(Bbr3::new(mss, initial, cfg.draw)),
        "copa" => C::Copa(Copa::new(mss, initial, DELTA)),
        "copa-default" => C::Copa(Copa::fixed(mss, initial, DELTA)),
        "xrc" => C::Xrc(Xrc::new("xrc", Params::DEFAULT, mss, initial)),
        "xrc-paper" => C::Xrc(Xrc::new("xrc-paper", Params::PAPER, mss, initial)),
        "fixed" => C::Fixed(Fixed::new(mss, initial)),
        "tyrus" => tyrus(shipped(), cfg),
        "rule" => steer(C::Rule, Rule { gain: G }, cfg),
        "rule2" => steer(C::Rule2, Rule2::PHY, cfg),
        "rule2-acks" => steer(C::Rule2, Rule2::ACKS, cfg),
        "oracle" => steer(C::Oracle, Oracle::default(), cfg),
        "claw" => steer(C::Claw, Claw, cfg),
        "pbe" => C::Pbe(Pbe::new(pbe::GAMMA, mss, initial, cfg.draw).into()),
        "sprout" => steer(C::Sprout, Sprout::default(), cfg),
        "al4s-c" => {
            C::Al4s(Al4s::conscious(served(al4s::Params::DEFAULT, "", cfg), encoder).into())
        }
        "al4s-s" => C::Al4s(Al4s::standard(served(al4s::Params::DEFAULT, "", cfg), encoder).into()),
        "l4s-cc" => {
            C::L4sCc(L4sCc::new(served(al4s::Params::PAPER, "", cfg).target, encoder).into())
        }
        "gcc" => C::Gcc(Gcc::webrtc(encoder).into()),
        "gcc-remb" => C::Gcc(Gcc::remb(encoder).into()),
        "scream" => C::Scream(Scream::new("scream", scream::Params::ERICSSON, encoder).into()),
        "scream-webrtc" => {
            C::Scream(Scream::new("scream-webrtc", scream::Params::WEBRTC, encoder).into())
        }
        other => {
            return with_parameter(other, cfg).map_err(|reason| UnknownController {
                name: name.to_owned(),
                reason,
            });
        }
    })
}

/// Parameters of rule v2.
fn rule2(text: &str, base: Rule2) -> Result<Rule2, Option<String>> {
    let keys = [("z", base.z, -2.0, 5.0), ("q", base.q * 1e3, 0.0, 1000.0)];
    let [z, q] = numbers(text, keys).map_err(Some)?;
    Ok(Rule2 {
        z,
        q: q / 1e3,
        ..base
    })
}

/// Numbers by their keys: name, default, least and most.
fn numbers<const N: usize>(
    text: &str,
    keys: [(&str, f64, f64, f64); N],
) -> Result<[f64; N], String> {
    let mut values = keys.map(|(_, default, ..)| default);
    for pair in text.split(',') {
        let (key, found) = pair
            .split_once('=')
            .ok_or_else(|| format!("found \"{pair}\", expected key=value"))?;
        let i = keys.iter().position(|k| k.0 == key).ok_or_else(|| {
            let known: Vec<&str> = keys.iter().map(|k| k.0).collect();
            format!(
                "{key}: found \"{found}\", expected one of {}",
                known.join(", ")
            )
        })?;
        let (_, _, least, most) = keys[i];
        values[i] = found
            .parse()
            .ok()
            .filter(|v| (least..=most).contains(v))
            .ok_or_else(|| {
                format!("{key}: found \"{found}\", expected a number from {least} to {most}")
            })?;
    }
    Ok(values)
}

/// The policy that `tyrus` flies without another one: the one in `models/`, which `slackwater train tyrus --models models`
/// makes.
///
/// # Panics
/// Where that file is no policy: a build of it would not have passed its tests.
pub fn shipped() -> Arc<Policy> {
    let file = include_bytes!("../../../../models/tyrus.safetensors");
    Arc::new(Policy::from_safetensors(file).expect("the shipped policy is whole"))
}

/// Tyrus with `policy`, which the caller has read from a file.
pub fn tyrus(policy: Arc<Policy>, cfg: &Config) -> AnyController {
    steer(AnyController::Tyrus, Pilot::new(policy), cfg)
}

/// Tyrus whose decisions, every `interval`, an agent outside makes through `seat`. Residual actions correct `base`.
pub fn seated(seat: Seat, interval: Duration, base: Rule2, cfg: &Config) -> AnyController {
    let pilot = Pilot::external(seat, interval, base);
    steer(AnyController::Tyrus, pilot, cfg)
}

/// The oracle of a link with this capacity.
pub fn oracle(schedule: Arc<Schedule>, cfg: &Config) -> AnyController {
    steer(AnyController::Oracle, Oracle::new(Some(schedule)), cfg)
}

fn steer<S: Steer>(
    kind: fn(Box<Steered<S>>) -> AnyController,
    steer: S,
    cfg: &Config,
) -> AnyController {
    kind(Box::new(Steered::new(steer, cfg.mss, cfg.initial_window)))
}

/// `params`, which `text` named, for the service of `cfg` where the text names none.
fn served(mut params: al4s::Params, text: &str, cfg: &Config) -> al4s::Params {
    let named = text.split(',').any(|part| part.trim().starts_with("te="));
    if let Some(service) = cfg.service.filter(|_| !named) {
        params.target = service;
    }
    params
}

/// Controllers whose name carries parameters. The error says what is wrong with them where the name exists.
fn with_parameter(name: &str, cfg: &Config) -> Result<AnyController, Option<String>> {
    use AnyController as C;
    let (mss, initial) = (cfg.mss, cfg.initial_window);
    let encoder = &cfg.encoder;
    let (name, parameter) = name.split_once(':').ok_or(None)?;
    let name = canonical(name);
    let delta = || {
        let delta = parameter.strip_prefix("delta=")?.parse::<f64>().ok()?;
        (delta.is_finite() && delta > 0.0).then_some(delta)
    };
    let al4s = || match al4s::Params::parse(parameter) {
        Ok(params) => Ok(served(params, parameter, cfg)),
        Err(wrong) => Err(Some(wrong.to_string())),
    };
    let xrc = |name, profile: Params| match profile.with(parameter) {
        Ok(params) => Ok(C::Xrc(Xrc::new(name, params, mss, initial))),
        Err(wrong) => Err(Some(wrong.to_string())),
    };
    Ok(match name {
        "copa" => C::Copa(Copa::new(mss, initial, delta().ok_or(None)?)),
        "copa-default" => C::Copa(Copa::fixed(mss, initial, delta().ok_or(None)?)),
        "fixed" => {
            let segments = parameter.parse::<u32>().ok();
            let segments = segments.filter(|&n| n > 0).ok_or(None)?;
            C::Fixed(Fixed::new(mss, segments))
        }
        "rule" => {
            let [gain] = numbers(parameter, [("g", G, 0.1, 10.0)]).map_err(Some)?;
            steer(C::Rule, Rule { gain }, cfg)
        }
        "pbe" => {
            let [gamma] = numbers(parameter, [("gamma", pbe::GAMMA, 0.0, 0.5)]).map_err(Some)?;
            C::Pbe(Pbe::new(gamma, mss, initial, cfg.draw).into())
        }
        "rule2" => steer(C::Rule2, rule2(parameter, Rule2::PHY)?, cfg),
        "rule2-acks" => steer(C::Rule2, rule2(parameter, Rule2::ACKS)?, cfg),
        "xrc" => xrc("xrc", Params::DEFAULT)?,
        "xrc-paper" => xrc("xrc-paper", Params::PAPER)?,
        "al4s-c" => C::Al4s(Al4s::conscious(al4s()?, encoder).into()),
        "al4s-s" => C::Al4s(Al4s::standard(al4s()?, encoder).into()),
        // Its service is all that it takes.
        "l4s-cc" => C::L4sCc(L4sCc::new(al4s()?.target, encoder).into()),
        _ => return Err(None),
    })
}
