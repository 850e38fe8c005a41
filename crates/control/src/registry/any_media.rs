//! Every built-in controller in one type: those of media.

use slackwater_core::Instant;

use crate::media::MediaController;
use crate::media::al4s::Al4s;
use crate::media::ebb::Ebb;
use crate::media::gcc::Gcc;
use crate::media::l4s_cc::L4sCc;
use crate::media::scream::Scream;
use crate::{Feedback, Intent, PathReport, PathView, Sent};

/// Every built-in controller of media, and one boxed kind for plug-ins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyMedia {
    /// `Al4s`.
    Al4s(Box<Al4s>),
    /// `L4sCc`.
    L4sCc(Box<L4sCc>),
    /// `Scream`.
    Scream(Box<Scream>),
    /// `Gcc`.
    Gcc(Box<Gcc>),
    /// `Ebb`.
    Ebb(Box<Ebb>),
    /// A controller from elsewhere.
    Plugin(Box<dyn MediaController>),
}

macro_rules! dispatch {
    ($self:expr, $c:ident => $call:expr) => {
        match $self {
            AnyMedia::Al4s($c) => $call,
            AnyMedia::L4sCc($c) => $call,
            AnyMedia::Scream($c) => $call,
            AnyMedia::Gcc($c) => $call,
            AnyMedia::Ebb($c) => $call,
            AnyMedia::Plugin($c) => $call,
        }
    };
}

impl MediaController for AnyMedia {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        dispatch!(self, c => c.on_sent(now, path, sent));
    }
    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        dispatch!(self, c => c.on_feedback(now, path, feedback));
    }
    fn takes_reports(&self) -> bool {
        dispatch!(self, c => c.takes_reports())
    }
    fn takes_counters(&self) -> bool {
        dispatch!(self, c => c.takes_counters())
    }
    fn is_prompt(&self) -> bool {
        dispatch!(self, c => c.is_prompt())
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
    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

impl From<Box<dyn MediaController>> for AnyMedia {
    fn from(controller: Box<dyn MediaController>) -> Self {
        Self::Plugin(controller)
    }
}
