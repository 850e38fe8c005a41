//! Controllers by name.

use core::fmt;

use slackwater_core::{Draw, Instant};

use crate::window::Windowed;
use crate::window::cubic::Cubic;
use crate::window::fixed::Fixed;
use crate::window::reno::Reno;
use crate::{Ack, Controller, Intent, Loss, PathReport, PathView, Sent};

/// What a controller is built from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Source of the controller's random numbers; give each flow a fork of its own.
    pub draw: Draw,
}

impl Config {
    /// Ten segments of `mss` bytes (RFC 6928).
    pub const fn new(mss: u32, draw: Draw) -> Self {
        Self {
            mss,
            initial_window: 10,
            draw,
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
}

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController {
    /// The name asked for.
    pub name: String,
}

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no controller is named \"{}\"; known are ", self.name)?;
        for (i, (name, _)) in names().iter().enumerate() {
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
    Cubic(Windowed<Cubic>),
    Fixed(Fixed),
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
    fn on_loss(&mut self, now: Instant, path: &PathView, loss: &Loss) {
        dispatch!(self, c => c.on_loss(now, path, loss));
    }
    fn on_undo(&mut self, now: Instant, path: &PathView) {
        dispatch!(self, c => c.on_undo(now, path));
    }
    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        dispatch!(self, c => c.on_recovered(now, path));
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
        ("cubic-nohystart", "CUBIC with standard slow start"),
        (
            "cubic-ns3",
            "CUBIC with ns-3's HyStart, which seldom ends slow start by delay",
        ),
        (
            "fixed",
            "a window of the initial size that never moves; fixed:N for N segments",
        ),
    ]
}

/// The name that an alias stands for; other names are returned as they are.
pub fn canonical(name: &str) -> &str {
    match name {
        "newreno" | "linux-reno" => "reno",
        "cubic-linux" => "cubic",
        _ => name,
    }
}

/// The controller called `name`.
///
/// # Errors
/// Where no controller has that name; the error lists those that exist.
pub fn build(name: &str, cfg: &Config) -> Result<AnyController, UnknownController> {
    let (mss, initial) = (cfg.mss, cfg.initial_window);
    let cubic = |law| AnyController::Cubic(Windowed::new(law, mss, initial));
    Ok(match canonical(name) {
        "reno" => AnyController::Reno(Windowed::new(Reno, mss, initial)),
        "cubic" => cubic(Cubic::linux()),
        "cubic-nohystart" => cubic(Cubic::plain()),
        "cubic-ns3" => cubic(Cubic::ns3()),
        "fixed" => AnyController::Fixed(Fixed::new(mss, initial)),
        other => {
            let segments = other
                .strip_prefix("fixed:")
                .and_then(|n| n.parse::<u32>().ok())
                .filter(|&n| n > 0);
            match segments {
                Some(n) => AnyController::Fixed(Fixed::new(mss, n)),
                None => {
                    return Err(UnknownController {
                        name: name.to_owned(),
                    });
                }
            }
        }
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
        }
        let err = build("cubik", &cfg).unwrap_err();
        assert!(err.to_string().contains("\"cubik\"") && err.to_string().contains("cubic-ns3"));
        assert_eq!(build("newreno", &cfg).unwrap().name(), "reno");
        assert_eq!(
            build("fixed:3", &cfg).unwrap().intent().window.unwrap().0,
            3 * 1448
        );
        assert!(build("fixed:0", &cfg).is_err());
    }
}
