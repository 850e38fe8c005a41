//! Every built-in controller in one type.

use slackwater_core::Instant;

use crate::explicit::xrc::Xrc;
use crate::learned::claw::Claw;
use crate::learned::oracle::Oracle;
use crate::learned::pbe::Pbe;
use crate::learned::rule::{Rule, Rule2};
use crate::learned::sprout::Sprout;
use crate::learned::steered::Steered;
use crate::learned::tyrus::Pilot;
use crate::media::al4s::Al4s;
use crate::media::gcc::Gcc;
use crate::media::l4s_cc::L4sCc;
use crate::media::scream::Scream;
use crate::rate::bbr::Bbr;
use crate::rate::bbr3::Bbr3;
use crate::rate::copa::Copa;
use crate::window::Windowed;
use crate::window::cubic::Cubic;
use crate::window::dctcp::Dctcp;
use crate::window::fixed::Fixed;
use crate::window::illinois::{Illinois, IllinoisNs3};
use crate::window::prague::Prague;
use crate::window::reno::{Reno, RenoNs3};
use crate::window::vegas::Vegas;
use crate::window::veno::{Veno, VenoNs3};
use crate::window::westwood::{Westwood, WestwoodNs3};
use crate::{Ack, Controller, Feedback, Intent, Loss, PathReport, PathView, Sent};

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
