//! Our controllers behind quinn's interface.

use std::any::Any;
use std::sync::Arc;
#[cfg(not(all(test, slackwater_loom)))]
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Instant as StdInstant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion;
use slackwater_control::{AnyController, Controller as _, EcnMode};
use slackwater_core::{Duration, Instant};

#[cfg(all(test, slackwater_loom))]
use loom::sync::{Mutex, MutexGuard};

use crate::clock::{Epoch, duration};
use crate::state::State;

/// Where the pacer's time comes from.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The host tells it, by [`Shared::at`], before it lets quinn send. For hosts of quinn-proto.
    Told,
    /// The same, by a host that is called late, as one of quinn is: its timers have this step ([`late`](crate::clock::late)).
    Stepped(Duration),
    /// It is read when quinn wants to send: `std::time::Instant::now`. For hosts of quinn, which sends by itself and is woken
    /// by timers of [`SLACK`].
    Read(fn() -> StdInstant),
}

/// How much before its time a packet may leave under [`Clock::Read`]: the step of tokio's timers. Those come up to two steps late
/// ([`late`](crate::clock::late)), so a wake-up that aims at the time less one is on time in the mean. The pacer counts on from the
/// planned time, so the rate holds (docs/design/0099).
pub const SLACK: Duration = Duration::from_millis(1);

/// Who spaces packets.
#[derive(Clone, Copy, Debug)]
enum Pacing {
    Ours(Clock),
    /// quinn, at 1.25 windows per RTT in bursts of ten packets or more, whatever rate a controller wants.
    Quinn,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    now: Mutex<Instant>,
    pacing: Pacing,
    news: Mutex<News>,
}

/// What the host's task for the connection waits for.
#[derive(Debug, Default)]
struct News {
    some: bool,
    waker: Option<Waker>,
}

/// A [`State`] that quinn's connection and the host share. Copies are the same state.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Inner>);

impl Shared {
    /// `cc`, before anything happened, for one connection whose packets our pacer spaces; `mtu` is a full UDP payload, which
    /// is the segment that `cc` was built with. `ecn` says how packets are marked where not as `cc` wants it.
    ///
    /// quinn sends when the window has room, and this closes the window until the next packet may leave. So the host lets
    /// quinn send again at [`State::next_departure`], and after a report or a timer of the controller's.
    pub fn new(
        epoch: Epoch,
        cc: AnyController,
        mtu: u16,
        ecn: Option<EcnMode>,
        clock: Clock,
    ) -> Self {
        Self::with(epoch, cc, mtu, ecn, Pacing::Ours(clock))
    }

    fn with(
        epoch: Epoch,
        cc: AnyController,
        mtu: u16,
        ecn: Option<EcnMode>,
        pacing: Pacing,
    ) -> Self {
        let ecn = ecn.unwrap_or(cc.intent().ecn);
        Self(Arc::new(Inner {
            state: Mutex::new(State::new(epoch, cc, mtu, ecn)),
            now: Mutex::new(Instant::ZERO),
            pacing,
            news: Mutex::default(),
        }))
    }

    /// The state.
    pub fn get(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no holder panics")
    }

    /// It is `now`: for [`Clock::Told`].
    pub fn at(&self, now: Instant) {
        *self.0.now.lock().expect("no holder panics") = now;
    }

    /// The window that quinn may know.
    fn window(&self) -> u64 {
        let mut state = self.get();
        let now = match self.0.pacing {
            // quinn sends only what leaves its count below this; RFC 9002, 7 lets the count reach the window. Its pacer
            // counts in 32 bits.
            Pacing::Quinn => {
                state.settle();
                return state.window().min(u64::from(u32::MAX) - 1) + 1;
            }
            Pacing::Ours(Clock::Told | Clock::Stepped(_)) => {
                *self.0.now.lock().expect("no holder panics")
            }
            Pacing::Ours(Clock::Read(read)) => state.epoch().simulated(read()),
        };
        let departure = state.next_departure(now);
        drop(state);
        match departure {
            // Above 2^32 quinn does not pace, and whether there is room was counted here.
            Some(at) if at <= now + self.slack() => u64::MAX >> 1,
            Some(_) => {
                self.wake();
                0
            }
            None => 0,
        }
    }

    /// How much before its time a packet may leave.
    pub fn slack(&self) -> Duration {
        match self.0.pacing {
            Pacing::Ours(Clock::Read(_)) => SLACK,
            Pacing::Ours(Clock::Stepped(step)) => step,
            _ => Duration::ZERO,
        }
    }

    /// Wakes the task that waits in [`Shared::poll_news`]: the controller heard something.
    pub fn wake(&self) {
        let mut news = self.0.news.lock().expect("no holder panics");
        news.some = true;
        if let Some(waker) = news.waker.take() {
            waker.wake();
        }
    }

    /// Ready where the pacer closed the window, or [`Shared::wake`] was called, since it was last ready. For one task.
    pub fn poll_news(&self, cx: &Context<'_>) -> Poll<()> {
        let mut news = self.0.news.lock().expect("no holder panics");
        if core::mem::take(&mut news.some) {
            return Poll::Ready(());
        }
        news.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Implements quinn's controller, and the factory of one connection's: whoever holds the [`Shared`] can tell it of reports
/// and timers. See [`Factory`] for hosts of several connections.
#[derive(Clone, Debug)]
pub struct Adapter(pub Shared);

impl congestion::ControllerFactory for Adapter {
    fn build(self: Arc<Self>, _: StdInstant, mtu: u16) -> Box<dyn congestion::Controller> {
        self.0.get().mtu = mtu;
        Box::new((*self).clone())
    }
}

/// Gives each connection a controller of its own: what a host that keeps no account of its connections hands to
/// `TransportConfig::congestion_controller_factory`, quinn's as well as quinn-proto's.
///
/// It is the lesser way: quinn paces, a mark is a congestion event, the controllers' own timers are not called (quinn has
/// none to offer), and no reports reach them. A host that keeps a [`Shared`] for each connection has all of it.
#[derive(Debug)]
pub struct Factory {
    epoch: Epoch,
    controller: Mutex<AnyController>,
}

impl Factory {
    /// Copies `controller`, built for segments of the path's UDP payload, for each connection.
    pub fn new(controller: AnyController) -> Self {
        Self {
            epoch: Epoch::new(),
            controller: Mutex::new(controller),
        }
    }
}

impl congestion::ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: StdInstant, mtu: u16) -> Box<dyn congestion::Controller> {
        let cc = self.controller.lock().expect("no holder panics").clone();
        let classic = Some(EcnMode::Classic);
        Box::new(Adapter(Shared::with(
            self.epoch,
            cc,
            mtu,
            classic,
            Pacing::Quinn,
        )))
    }
}

impl congestion::Controller for Adapter {
    fn on_sent(&mut self, now: StdInstant, bytes: u64, _: u64) {
        let mut state = self.0.get();
        let now = state.epoch.simulated(now);
        state.on_sent(now, bytes);
    }

    fn on_ack(&mut self, _: StdInstant, sent: StdInstant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let mut state = self.0.get();
        let sent = state.epoch.simulated(sent);
        state.on_packet_acked(sent, bytes, duration(rtt.get()));
    }

    fn on_end_acks(&mut self, now: StdInstant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let mut state = self.0.get();
        let now = state.epoch.simulated(now);
        state.on_end_acks(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: StdInstant,
        sent: StdInstant,
        persistent: bool,
        lost: u64,
    ) {
        let mut state = self.0.get();
        let (now, sent) = (state.epoch.simulated(now), state.epoch.simulated(sent));
        state.on_congestion(now, sent, persistent, lost);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.0.get().mtu = mtu;
    }

    fn window(&self) -> u64 {
        self.0.window()
    }

    /// quinn copies a controller when the peer's address changes. The copy is the same one: the host goes on to pace it and to
    /// tell it of reports.
    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.0.get().window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(all(test, slackwater_loom))]
mod model;

#[cfg(all(test, not(slackwater_loom)))]
mod tests {
    use quinn_proto::congestion::ControllerFactory as _;
    use slackwater_control::{Config, build};
    use slackwater_core::Draw;

    use super::*;

    #[test]
    fn each_connection_of_a_factory_has_a_controller_of_its_own() {
        let cc = build("reno", &Config::new(1200, Draw::new(7))).unwrap();
        let factory = Arc::new(Factory::new(cc));
        quinn_proto::TransportConfig::default().congestion_controller_factory(factory.clone());
        let epoch = Epoch::new();
        let (now, later) = (
            epoch.std(Instant::from_millis(1_000)),
            epoch.std(Instant::from_millis(1_050)),
        );
        let mut one = factory.clone().build(now, 1200);
        let other = factory.build(now, 1200);
        let before = other.window();
        one.on_sent(now, 12_000, 9);
        one.on_congestion_event(later, now, false, 1200);
        assert!(one.window() < before);
        assert_eq!(other.window(), before);
    }
}
