//! Controllers by name.

use core::fmt;
use std::sync::Arc;

use slackwater_core::{Draw, Duration, Instant, Rate};

use crate::explicit::xrc::{self, Params, Xrc};
use crate::learned::claw::Claw;
use crate::learned::oracle::{Oracle, Schedule};
use crate::learned::pbe::{self, Pbe};
use crate::learned::policy::Policy;
use crate::learned::rule::{G, Rule, Rule2};
use crate::learned::seat::Seat;
use crate::learned::sprout::Sprout;
use crate::learned::steered::{self, Steer, Steered};
use crate::learned::tyrus::Pilot;
use crate::media::al4s::{self, Al4s};
use crate::media::gcc::Gcc;
use crate::media::l4s_cc::L4sCc;
use crate::media::scream::{self, Scream};
use crate::rate::bbr::Bbr;
use crate::rate::bbr3::Bbr3;
use crate::rate::bbr3::cycle::PHASES;
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
use crate::{Ack, Controller, Feedback, Intent, Loss, PathReport, PathView, Sent};

/// What a controller is built from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Slow-start threshold before any congestion, in segments; `None`: infinite (RFC 5681, 3.1: "arbitrarily high").
    pub initial_ssthresh: Option<u32>,
    /// Bounds of an encoder, for media controllers.
    pub encoder: Encoder,
    /// Target end-to-end delay of the service, for the media controllers that go by one and are not told another by name.
    pub service: Option<Duration>,
    /// Source of the controller's random numbers; give each flow a fork of its own.
    pub draw: Draw,
}

/// The rates that an encoder can give, in payload bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoder {
    /// Rate before any feedback.
    pub start: Rate,
    /// Least rate.
    pub least: Rate,
    /// Greatest rate.
    pub most: Rate,
}

impl Encoder {
    /// 2 Mbit/s at first, then between 0.3 and 100 Mbit/s: our choice.
    pub const DEFAULT: Self = Self {
        start: Rate::from_bps(2_000_000),
        least: Rate::from_bps(300_000),
        most: Rate::from_bps(100_000_000),
    };
}

impl Default for Encoder {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Config {
    /// Ten segments of `mss` bytes (RFC 6928).
    pub const fn new(mss: u32, draw: Draw) -> Self {
        Self {
            mss,
            initial_window: 10,
            initial_ssthresh: None,
            encoder: Encoder::DEFAULT,
            service: None,
            draw,
        }
    }

    /// The same for an encoder with these rates.
    #[must_use]
    pub const fn with_encoder(self, encoder: Encoder) -> Self {
        Self { encoder, ..self }
    }

    /// The same for a service with this target end-to-end delay.
    #[must_use]
    pub const fn with_service(self, delay: Duration) -> Self {
        Self {
            service: Some(delay),
            ..self
        }
    }

    /// The same with an initial window of `segments`.
    #[must_use]
    pub const fn with_initial_window(self, segments: u32) -> Self {
        Self {
            initial_window: segments,
            ..self
        }
    }

    /// The same with a slow-start threshold from the start, for window laws.
    #[must_use]
    pub const fn with_initial_ssthresh(self, segments: Option<u32>) -> Self {
        Self {
            initial_ssthresh: segments,
            ..self
        }
    }
}

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController {
    /// The name asked for.
    pub name: String,
    /// What is wrong with the parameters after a name that exists: key, found, expected.
    pub reason: Option<String>,
}

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = &self.reason {
            return write!(f, "controller \"{}\": {reason}", self.name);
        }
        write!(f, "no controller is named \"{}\"; known are ", self.name)?;
        for (i, (name, _)) in names().iter().chain(media_names()).enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownController {}

macro_rules! controllers {
    ($($variant:ident($ty:ty)),+ $(,)?) => {
        /// Every built-in controller without a pointer in between, and one boxed kind for plug-ins.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyController {
            $(
                #[doc = concat!("`", stringify!($ty), "`.")]
                $variant($ty),
            )+
            /// A controller from elsewhere.
            Plugin(Box<dyn Controller>),
        }

        macro_rules! dispatch {
            ($self:expr, $c:ident => $call:expr) => {
                match $self {
                    $(AnyController::$variant($c) => $call,)+
                    AnyController::Plugin($c) => $call,
                }
            };
        }
    };
}

controllers! {
    Reno(Windowed<Reno>),
    RenoNs3(Windowed<RenoNs3>),
    Cubic(Windowed<Cubic>),
    Vegas(Windowed<Vegas>),
    Veno(Windowed<Veno>),
    VenoNs3(Windowed<VenoNs3>),
    Illinois(Windowed<Illinois>),
    IllinoisNs3(Windowed<IllinoisNs3>),
    Westwood(Windowed<Westwood>),
    WestwoodNs3(Windowed<WestwoodNs3>),
    Dctcp(Windowed<Dctcp>),
    Prague(Windowed<Prague>),
    Bbr(Bbr),
    Bbr3(Bbr3),
    Copa(Copa),
    Xrc(Xrc),
    Fixed(Fixed),
    Tyrus(Box<Steered<Pilot>>),
    Rule(Box<Steered<Rule>>),
    Rule2(Box<Steered<Rule2>>),
    Oracle(Box<Steered<Oracle>>),
    Claw(Box<Steered<Claw>>),
    Pbe(Box<Pbe>),
    Sprout(Box<Steered<Sprout>>),
    Al4s(Box<Al4s>),
    L4sCc(Box<L4sCc>),
    Scream(Box<Scream>),
    Gcc(Box<Gcc>),
}

impl Controller for AnyController {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        dispatch!(self, c => c.on_sent(now, path, sent));
    }
    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        dispatch!(self, c => c.on_ack(now, path, ack));
    }
    fn takes_feedback(&self) -> bool {
        dispatch!(self, c => c.takes_feedback())
    }
    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        dispatch!(self, c => c.on_feedback(now, path, feedback));
    }
    fn on_loss(&mut self, now: Instant, path: &PathView, loss: &Loss) {
        dispatch!(self, c => c.on_loss(now, path, loss));
    }
    fn on_undo(&mut self, now: Instant, path: &PathView) {
        dispatch!(self, c => c.on_undo(now, path));
    }
    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        dispatch!(self, c => c.on_recovered(now, path));
    }
    fn takes_reports(&self) -> bool {
        dispatch!(self, c => c.takes_reports())
    }
    fn takes_blocks(&self) -> bool {
        dispatch!(self, c => c.takes_blocks())
    }
    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        dispatch!(self, c => c.on_report(now, path, report));
    }
    fn on_timer(&mut self, now: Instant, path: &PathView) {
        dispatch!(self, c => c.on_timer(now, path));
    }
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        dispatch!(self, c => c.next_timer())
    }
    #[inline]
    fn intent(&self) -> Intent {
        dispatch!(self, c => c.intent())
    }
    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        dispatch!(self, c => c.snapshot(out));
    }
    fn name(&self) -> &'static str {
        dispatch!(self, c => c.name())
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl From<Box<dyn Controller>> for AnyController {
    fn from(controller: Box<dyn Controller>) -> Self {
        Self::Plugin(controller)
    }
}

/// The names that [`build`] knows, each with one line about it. Aliases are left out.
pub const fn names() -> &'static [(&'static str, &'static str)] {
    &[
        ("reno", "NewReno (RFC 5681, RFC 6582) as Linux counts it"),
        (
            "cubic",
            "CUBIC (RFC 9438) as in Linux, slow start ended by HyStart",
        ),
        (
            "cubic-hystart++",
            "CUBIC with HyStart++ (RFC 9406) for slow start",
        ),
        ("cubic-nohystart", "CUBIC with standard slow start"),
        (
            "cubic-ns3",
            "CUBIC with ns-3's HyStart, which seldom ends slow start by delay",
        ),
        (
            "reno-ns3",
            "NewReno as ns-3 counts it: growth per ACK, half the flight on loss",
        ),
        (
            "vegas",
            "Vegas: two to four packets in the queue, as in Linux",
        ),
        ("veno", "Veno as in Linux: Reno that spares random losses"),
        (
            "veno-ns3",
            "Veno as in ns-3: NewReno's growth, Veno's choice of decrease",
        ),
        (
            "illinois",
            "Illinois as in Linux: growth and decrease by queue delay",
        ),
        (
            "illinois-ns3",
            "Illinois as in ns-3: growth stops where alpha is below one",
        ),
        (
            "westwood",
            "Westwood+ as in Linux: after a loss, the measured rate's window",
        ),
        (
            "westwood-ns3",
            "Westwood+ as in ns-3: a sample per RTT, Tustin's filter",
        ),
        (
            "dctcp",
            "DCTCP (RFC 8257): the window shrinks by the share of marks",
        ),
        (
            "prague",
            "TCP Prague for L4S (draft-briscoe-iccrg-prague-congestion-control)",
        ),
        ("bbr", "BBR version 1 as in Linux 6.18"),
        (
            "bbr3",
            "BBR version 3 (draft-ietf-ccwg-bbr): bounded by losses of 2 %",
        ),
        (
            "copa",
            "Copa (NSDI 2018) with its mode switching; copa:delta=X for another delta",
        ),
        (
            "copa-default",
            "Copa that stays in its default mode, whoever fills the buffer",
        ),
        (
            "xrc",
            "XRC (ICC 2022): the cell's explicit rate and queue delay; xrc:n=5,theta=0 sets parameters",
        ),
        (
            "xrc-paper",
            "XRC by the paper's letter, without what measurements added",
        ),
        (
            "fixed",
            "a window of the initial size that never moves; fixed:N for N segments",
        ),
        (
            "tyrus",
            "Tyrus (SIGCOMM 2019): a small network sets the window by transport blocks; tyrus:policy=FILE",
        ),
        (
            "rule",
            "window = g * mean of the transport blocks * least RTT; rule:g=1.25",
        ),
        (
            "rule2",
            "rule with a margin by the link's variability: rule2:z=0.5,q=8 (ms)",
        ),
        (
            "rule2-acks",
            "rule2 without the radio: rates from the ACKs of a busy link",
        ),
        ("oracle", "a genie that knows the link's capacity to come"),
        (
            "claw",
            "CLAW (MobiSys 2017): window = mean of the transport blocks over 100 ms * least RTT",
        ),
        (
            "pbe",
            "PBE-CC (SIGCOMM 2020): rate by the cell's capacity, BBR where the Internet is slower; pbe:gamma=0.068",
        ),
        (
            "sprout",
            "Sprout (NSDI 2013): window by a cautious forecast of the link's deliveries",
        ),
    ]
}

/// The names of the media controllers that [`build`] knows. They go by [`Controller::on_feedback`], which TCP and QUIC
/// do not give, so they stand apart from [`names`].
pub const fn media_names() -> &'static [(&'static str, &'static str)] {
    &[
        (
            "al4s-c",
            "cL4S: aL4S-CC that knows the marker; al4s-c:paper as published; te=25,low=5,high=20 (ms) sets it up",
        ),
        (
            "al4s-s",
            "sL4S: aL4S-CC by the marks alone; al4s-s:paper as published",
        ),
        ("l4s-cc", "L4S-CC, aL4S-CC's predecessor, as told in words"),
        (
            "scream",
            "SCReAMv2 with L4S (draft-ietf-ccwg-rfc8298bis-screamv2), Ericsson's constants",
        ),
        ("scream-webrtc", "SCReAMv2 with libwebrtc's constants"),
        (
            "gcc",
            "Google Congestion Control as in libwebrtc: trendline, AIMD, loss v2, probes",
        ),
        (
            "gcc-remb",
            "Google Congestion Control by draft-ietf-rmcat-gcc-02: Kalman filter, REMB",
        ),
    ]
}

/// Names of the states that the controller's `mode` (see [`Controller::snapshot`]) counts through; `None` for a
/// controller without states.
pub fn modes(name: &str) -> Option<&'static [&'static str]> {
    let name = canonical(name);
    match name.split_once(':').map_or(name, |(name, _)| name) {
        "copa" | "copa-default" => Some(&["SLOW_START", "DEFAULT", "COMPETITIVE"]),
        "xrc" | "xrc-paper" => Some(xrc::MODES),
        "bbr" => Some(&["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]),
        "bbr3" => Some(PHASES),
        "tyrus" | "rule" | "rule2" | "rule2-acks" | "oracle" | "claw" | "sprout" => {
            Some(steered::MODES)
        }
        "pbe" => Some(pbe::MODES),
        _ => None,
    }
}

/// The name that an alias stands for; other names are returned as they are.
pub fn canonical(name: &str) -> &str {
    match name {
        "newreno" | "reno-linux" => "reno",
        "newreno-ns3" => "reno-ns3",
        "cubic-linux" => "cubic",
        "cubic-hystartpp" => "cubic-hystart++",
        "veno-linux" => "veno",
        "illinois-linux" => "illinois",
        "westwood+" | "westwood-linux" => "westwood",
        "westwood+-ns3" => "westwood-ns3",
        "bbr1" | "bbrv1" => "bbr",
        "bbrv3" => "bbr3",
        "cl4s" => "al4s-c",
        "sl4s" => "al4s-s",
        _ => name,
    }
}

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

/// The policy that `tyrus` flies without another one.
fn shipped() -> Arc<Policy> {
    Arc::new(Policy::zero_residual())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_builds_and_an_unknown_one_says_which_exist() {
        let cfg = Config::new(1448, Draw::new(1));
        for (name, about) in names() {
            let c = build(name, &cfg).expect("a listed name builds");
            assert_eq!(c.name(), *name);
            assert!(!about.is_empty());
            assert!(c.intent().window.is_some());
            assert_eq!(c.takes_reports(), name.starts_with("xrc"), "{name}");
            let blocks = ["tyrus", "rule", "rule2", "oracle", "claw", "pbe"].contains(name);
            assert_eq!(c.takes_blocks(), blocks, "{name}");
        }
        let err = build("cubik", &cfg).unwrap_err();
        assert!(err.to_string().contains("\"cubik\"") && err.to_string().contains("cubic-ns3"));
        assert_eq!(build("newreno", &cfg).unwrap().name(), "reno");
        assert_eq!(
            build("fixed:3", &cfg).unwrap().intent().window.unwrap().0,
            3 * 1448
        );
        assert!(build("fixed:0", &cfg).is_err());
        let AnyController::Copa(copa) = build("copa:delta=0.1", &cfg).unwrap() else {
            panic!("Copa has a parameter");
        };
        assert!((copa.delta() - 0.1).abs() < 1e-12 && copa.name() == "copa");
        for wrong in ["copa:delta=0", "copa:delta=NaN", "copa:0.1", "reno:delta=1"] {
            assert!(build(wrong, &cfg).is_err(), "{wrong}");
        }
        assert_eq!(modes("copa-default:delta=0.1").unwrap().len(), 3);
    }

    #[test]
    fn media_controllers_build_by_name_and_set_a_target() {
        let encoder = Encoder {
            start: Rate::from_mbps(3.0),
            ..Encoder::DEFAULT
        };
        let cfg = Config::new(1160, Draw::new(1)).with_encoder(encoder);
        for (name, about) in media_names() {
            let c = build(name, &cfg).expect("a listed name builds");
            assert_eq!(c.name(), *name);
            assert!(!about.is_empty() && c.takes_feedback());
            assert_eq!(c.intent().target, Some(encoder.start), "{name}");
            assert!(c.intent().pacing >= c.intent().target);
        }
        assert_eq!(build("cl4s", &cfg).unwrap().name(), "al4s-c");
        let AnyController::Al4s(c) = build("sl4s:paper,te=25", &cfg).unwrap() else {
            panic!("sl4s is an alias");
        };
        assert_eq!(c.params().share, None);
        let cfg = cfg.with_service(Duration::from_millis(150));
        for (name, te) in [("sl4s", 150), ("sl4s:paper", 150), ("sl4s:te=25", 25)] {
            let AnyController::Al4s(c) = build(name, &cfg).unwrap() else {
                panic!("{name} is aL4S-CC");
            };
            assert_eq!(c.params().target, Duration::from_millis(te), "{name}");
        }
        let wrong = build("al4s-c:te=1", &cfg).unwrap_err().to_string();
        assert!(wrong.contains("te: found \"1\", expected 6"), "{wrong}");
    }

    #[test]
    fn parameters_of_xrc_are_set_by_name_and_an_error_names_them() {
        let cfg = Config::new(1448, Draw::new(1));
        let name = "xrc:n=5,theta=0,internet=paper,gain=1.25,start=off,alpha=twnd4";
        let AnyController::Xrc(c) = build(name, &cfg).unwrap() else {
            panic!("{name} builds XRC");
        };
        let p = c.params();
        assert_eq!(
            (p.rounds, p.theta, p.fast_gain, p.start),
            (5, 0.0, 1.25, false)
        );
        assert_eq!(
            (p.beyond, p.alpha),
            (xrc::Beyond::Paper, xrc::Alpha::Quarter)
        );
        assert_eq!(p.lambda, Params::DEFAULT.lambda);
        assert_eq!((c.name(), modes(name)), ("xrc", Some(xrc::MODES)));
        let wrong = |name| build(name, &cfg).unwrap_err().to_string();
        assert_eq!(
            wrong("xrc:n=0"),
            "controller \"xrc:n=0\": n: found \"0\", expected a whole number from 1 to 1000"
        );
        assert!(wrong("xrc-paper:m=1").contains("m: found \"1\", expected one of lambda"));
        assert!(wrong("xrc:n").contains("found \"n\", expected key=value"));
        assert!(wrong("xrd:n=1").contains("known are"));
    }
}
