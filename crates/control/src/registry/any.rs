//! Every built-in controller in one type: those of TCP and QUIC.

use slackwater_core::Instant;

use crate::phy::abc::Abc;
use crate::phy::claw::Claw;
use crate::phy::ebb::Ebb;
use crate::phy::exll::Exll;
use crate::phy::oracle::Oracle;
use crate::phy::pbe::Pbe;
use crate::phy::rule::{Rule, Rule2};
use crate::phy::sprout::Sprout;
use crate::phy::steered::Steered;
use crate::phy::tyrus::Pilot;
use crate::phy::xrc::{Paper, Sender, Xrc};
use crate::rate::bbr::Bbr;
use crate::rate::bbr3::Bbr3;
use crate::rate::copa::Copa;
use crate::rate::pcc::allegro::Allegro;
use crate::rate::pcc::vivace::Vivace;
use crate::rate::verus::Verus;
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
use crate::{Ack, CongestionEvent, Controller, Intent, PathReport, PathView, Sent};

macro_rules! controllers {
    ($($variant:ident($ty:ty)),+ $(,)?) => {
        /// Every built-in controller of TCP and QUIC without a pointer in between, and one boxed kind for plug-ins.
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
    Verus(Box<Verus>),
    Vivace(Box<Vivace>),
    Allegro(Box<Allegro>),
    Xrc(Box<Xrc>),
    XrcPaper(Box<Sender<Paper>>),
    Abc(Box<Abc>),
    Fixed(Fixed),
    Tyrus(Box<Steered<Pilot>>),
    Rule(Box<Steered<Rule>>),
    Rule2(Box<Steered<Rule2>>),
    Oracle(Box<Steered<Oracle>>),
    Claw(Box<Steered<Claw>>),
    Exll(Box<Steered<Exll>>),
    Pbe(Box<Pbe>),
    Sprout(Box<Sprout>),
    Ebb(Box<Ebb>),
}

impl Controller for AnyController {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        dispatch!(self, c => c.on_sent(now, path, sent));
    }
    #[inline]
    fn on_sent_row(&mut self, now: Instant, path: &PathView, sent: &Sent, count: u64) {
        dispatch!(self, c => c.on_sent_row(now, path, sent, count));
    }
    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        dispatch!(self, c => c.on_ack(now, path, ack));
    }
    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        dispatch!(self, c => c.on_congestion(now, path, event));
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
    fn takes_counters(&self) -> bool {
        dispatch!(self, c => c.takes_counters())
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
    fn name(&self) -> &str {
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
