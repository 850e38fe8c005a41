//! Building a built-in controller from its name, and those that need more than a name.

use std::sync::Arc;

use slackwater_core::Duration;

use super::catalogue::{media_entries, transport_entries};
use super::{
    AnyController, AnyMedia, Config, Kind, Make, Parameters, UnknownController, base, find,
};
use crate::phy::ebb::{Ebb, Network};
use crate::phy::oracle::{Oracle, Schedule};
use crate::phy::policy::Policy;
use crate::phy::rule::Rule2;
use crate::phy::seat::Seat;
use crate::phy::steered::steered;
use crate::phy::tyrus::Pilot;

/// The controller of TCP or QUIC called `name`, with parameters after `:` where there are some.
///
/// # Errors
/// Where no controller has that name, which lists those that exist; where it steers media; where its parameters are wrong.
pub fn build(name: &str, cfg: &Config) -> Result<AnyController, UnknownController> {
    let known = base(name);
    let entry = transport_entries().find(|e| e.name == known);
    made(name, Kind::Transport, entry.map(|e| e.make), cfg)
}

/// The controller of media called `name`, with parameters after `:` where there are some.
///
/// # Errors
/// As [`build`].
pub fn build_media(name: &str, cfg: &Config) -> Result<AnyMedia, UnknownController> {
    let known = base(name);
    let entry = media_entries().find(|e| e.name == known);
    made(name, Kind::Media, entry.map(|e| e.make), cfg)
}

fn made<C>(
    name: &str,
    kind: Kind,
    make: Option<Make<C>>,
    cfg: &Config,
) -> Result<C, UnknownController> {
    let wrong = |reason| UnknownController {
        name: name.to_owned(),
        reason,
    };
    let make = make.ok_or_else(|| wrong(find(name).map(|_| kind.instead())))?;
    let parameters = match name.split_once(':') {
        Some((_, "")) => {
            let reason = "found nothing after \":\", expected parameters";
            return Err(wrong(Some(reason.to_owned())));
        }
        Some((_, text)) => text,
        None => "",
    };
    make(cfg, Parameters(parameters)).map_err(|reason| wrong(Some(reason)))
}

/// The policy that `tyrus` runs without another one: the one in `models/`, which `slackwater train tyrus --models models`
/// makes.
///
/// # Panics
/// Where that file is no policy: a build of it would not have passed its tests.
pub fn shipped() -> Arc<Policy> {
    let file = include_bytes!("../../models/tyrus.safetensors");
    Arc::new(Policy::from_safetensors(file).expect("the shipped policy is whole"))
}

/// The policy of `tyrus:policy=poster`: three layers of sixteen neurons that PPO trained, as the poster has it; `models/` holds it
/// beside its card.
///
/// # Panics
/// As [`shipped`].
pub fn poster() -> Arc<Policy> {
    let file = include_bytes!("../../models/tyrus-poster.safetensors");
    Arc::new(Policy::from_safetensors(file).expect("the poster's policy is whole"))
}

/// Tyrus with `policy`, which the caller has read from a file.
pub fn tyrus(policy: Arc<Policy>, cfg: &Config) -> AnyController {
    AnyController::Tyrus(steered(Pilot::new(policy), cfg))
}

/// `ebb` with the forecast of `network`, which the caller has read from a file; `text` is what stands after `ebb:` beside it.
///
/// # Errors
/// Key, found, expected.
pub fn ebb(network: Arc<Network>, text: &str, cfg: &Config) -> Result<AnyController, String> {
    let sender = Ebb::with_network(network, text, cfg)?;
    Ok(AnyController::Ebb(Box::new(sender)))
}

/// Tyrus whose decisions, every `interval`, an agent outside makes through `seat`. Residual actions correct `base`.
pub fn seated(seat: Seat, interval: Duration, base: Rule2, cfg: &Config) -> AnyController {
    AnyController::Tyrus(steered(Pilot::external(seat, interval, base), cfg))
}

/// The oracle of a link with this capacity.
pub fn oracle(schedule: Arc<Schedule>, cfg: &Config) -> AnyController {
    AnyController::Oracle(steered(Oracle::new(Some(schedule)), cfg))
}
