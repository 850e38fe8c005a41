//! Sprout: a window by a cautious forecast of what the link will deliver (Winstein, Sivaraman, Balakrishnan: "Stochastic
//! Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013), as the authors' program has it
//! (keithw/sprout). File names here and in [`forecast`] are that program's.
//!
//! The receiver's half: each tick of 20 ms the belief about the rate is evolved, and judged by exactly what arrived
//! (`Sprout::hear`). The sender's half: it may have outstanding what the link will deliver between one and six ticks
//! from the forecast on; what it sent and what is not forecast to have left counts against that (`Sprout::leave`).
//!
//! A TCP receiver makes no forecast. The sender makes it from ACKs: the time stamps that they carry (RFC 7323) say when
//! they left, so that delay on the way back moves no arrival into another tick. ACKs without time stamps count when they
//! come. The authors' receiver speaks 50 ms after the last time at the latest; here silence that long counts as time that
//! has passed at the receiver, and is taken back where a late ACK shows that it had not.

pub mod forecast;

use std::collections::VecDeque;

use slackwater_core::{Bytes, Duration, Instant};

use self::forecast::{AHEAD, Forecaster};
use crate::registry::{AnyController, Entry, Parameter};
use crate::{Ack, CongestionEvent, Controller, Intent, PathView, RecoveryMode, Sent};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "sprout",
    title: "Sprout",
    about: "Sprout (NSDI 2013): window by a cautious forecast of the link's deliveries; sprout:max=11.2 (Mbit/s)",
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let [max] = p.numbers(&PARAMETERS)?;
        Ok(AnyController::Sprout(Sprout::new(cfg.mss, max).into()))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] = [Parameter::number(
    "max",
    MAX_MBPS,
    (0.1, 10_000.0),
    "Mbit/s",
    "highest rate of the forecast's model (`receiver.hh`: 1000 packets of 1,400 bytes a second)",
)];

/// Time of a tick (`TICK_LENGTH`, `receiver.hh`; NSDI 2013, 3.1).
pub const TICK: Duration = Duration::from_millis(20);
/// The highest rate of the model, Mbit/s: 1000 packets of 1,400 bytes a second (`receiver.hh`).
pub const MAX_MBPS: f64 = 11.2;
/// Bytes of a packet of the model (`Receiver::recv`).
const PACKET: f64 = 1400.0;
/// Bytes of a packet that is sent (`sproutbt2.cc`, `SproutConnection::window_size`).
const DATA: f64 = 1440.0;
/// What a full packet counts at the receiver: its data and the forecast's length (`ForecastPacket::tostring`).
const ARRIVED: f64 = DATA + 2.0;
/// What a full packet counts at the sender: 50 bytes for headers (`Connection::new_packet`).
const QUEUED: f64 = ARRIVED + 50.0;
/// The window reaches so many ticks, 100 ms (`TARGET_DELAY_TICKS`, `sproutconn.h`; NSDI 2013, 3.5).
const TARGET: usize = 5;
/// A flight's last packet announces the next within this (`fallback_interval`, `sproutbt2.cc`).
const PAUSE: Duration = Duration::from_millis(50);
/// The sender looks again after this at the latest (`sproutbt2.cc`).
const LOOK: Duration = Duration::from_millis(10);
/// After a pause the belief evolves by so many ticks at most: it has forgotten by then.
const FORGET: u64 = 500;

/// What the receiver knows, as far as the sender can tell.
#[derive(Clone, Debug)]
struct Receiver {
    forecaster: Forecaster,
    /// When the present tick began.
    tick: Instant,
    /// Packets of the model that arrived in this tick.
    arrived: f64,
    /// Ticks from here on are judged even where nothing arrives; none while nothing is outstanding.
    judged: Option<Instant>,
}

impl Receiver {
    /// Closes the ticks that ended before `at`; true where there was one. `whole` packets only count.
    fn advance(&mut self, at: Instant, whole: bool) -> bool {
        if self.tick + TICK >= at {
            return false;
        }
        let ticks = at.since(self.tick).as_nanos() / TICK.as_nanos();
        if ticks > FORGET {
            self.tick += TICK * (ticks - FORGET);
        }
        while self.tick + TICK < at {
            let busy = self.judged.is_some_and(|from| self.tick >= from);
            let arrived = core::mem::take(&mut self.arrived);
            // Whole packets, one at least where something came (`Receiver::advance_to`).
            let count = if whole && arrived > 0.0 {
                (arrived + 0.5).floor().max(1.0)
            } else {
                arrived
            };
            self.forecaster
                .tick((busy || arrived > 0.0).then_some(count));
            self.tick += TICK;
        }
        true
    }
}

/// Sprout's sender, and its receiver's half.
#[derive(Clone, Debug)]
pub struct Sprout {
    mss: u64,
    /// Packets of 1,400 bytes that one of the model stands for.
    scale: f64,
    /// The model is the authors', which counts whole packets.
    whole: bool,
    /// None before the first ACK.
    receiver: Option<Receiver>,
    /// The receiver before silence was taken for time that passed.
    heard: Option<Box<Receiver>>,
    /// Cumulated counts of the forecast in use.
    counts: [u16; AHEAD],
    /// When it came, and the tick of it that has been reached.
    forecast_at: Instant,
    reached: usize,
    /// What is in the queue by that forecast, bytes as the sender counts them.
    queue: f64,
    /// Payload bytes sent, and in flight.
    sent: u64,
    in_flight: u64,
    /// Totals of what had been sent where flights ended.
    flights: VecDeque<u64>,
    /// The least delay on the way back and the last one, each up to the same constant.
    least_back: Option<Duration>,
    back: Duration,
    min_rtt: Duration,
    window: u64,
    /// When to look again.
    next: Option<Instant>,
}

impl Sprout {
    /// Sprout over packets of `mss` payload bytes, with a model that ends at `max` Mbit/s.
    pub fn new(mss: u32, max: f64) -> Self {
        let mss = u64::from(mss.max(1));
        Self {
            mss,
            scale: max / MAX_MBPS,
            whole: (max - MAX_MBPS).abs() < 1e-9,
            receiver: None,
            heard: None,
            counts: [0; AHEAD],
            forecast_at: Instant::ZERO,
            reached: 0,
            queue: 0.0,
            sent: 0,
            in_flight: 0,
            flights: VecDeque::new(),
            least_back: None,
            back: Duration::ZERO,
            min_rtt: Duration::ZERO,
            // Nothing is known: one packet (`SproutConnection`'s first forecast is used up before it can be used).
            window: mss,
            next: None,
        }
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mss as f64
    }

    /// An ACK says what arrived (`Connection::recv` of the receiver).
    fn hear(&mut self, now: Instant, ack: &Ack) {
        if let Some(back) = ack.back {
            self.least_back = Some(self.least_back.map_or(back, |least| least.min(back)));
            self.back = back.saturating_sub(self.least_back.unwrap_or(back));
        }
        // When the ACK left, later by the way back's least delay.
        let at = now.saturating_sub(self.back);
        let arrived = self.packets(ack.newly_acked.0) * ARRIVED / (PACKET * self.scale);

        if let Some(heard) = self.heard.take()
            && let Some(receiver) = &mut self.receiver
            && at < receiver.tick
        {
            *receiver = *heard;
        }
        let first = self.receiver.is_none();
        let receiver = self.receiver.get_or_insert_with(|| Receiver {
            forecaster: Forecaster::default(),
            tick: at,
            arrived: 0.0,
            judged: None,
        });
        let news = receiver.advance(at, self.whole);
        receiver.arrived += arrived;

        // The end of a flight announces a pause; a delayed ACK may keep its last packet back.
        let gone = self.sent.saturating_sub(self.in_flight) + self.mss;
        while self.flights.front().is_some_and(|&end| end <= gone) {
            self.flights.pop_front();
            let until = receiver.tick + PAUSE;
            receiver.judged = Some(receiver.judged.map_or(until, |j| j.max(until)));
        }
        if self.in_flight <= self.mss {
            receiver.judged = None;
        }
        if news || first {
            self.adopt(now);
        }
    }

    /// A new forecast (`SproutConnection::recv`).
    fn adopt(&mut self, now: Instant) {
        if let Some(receiver) = &self.receiver {
            self.counts = receiver.forecaster.cautious();
        }
        self.forecast_at = now;
        self.reached = 0;
        self.queue = self.packets(self.in_flight) * QUEUED;
    }

    /// Silence: time passes at the receiver, as far as the sender can tell.
    fn listen(&mut self, now: Instant) {
        let at = now.saturating_sub(self.back + PAUSE);
        let Some(receiver) = &mut self.receiver else {
            return;
        };
        if receiver.tick + TICK >= at {
            return;
        }
        if self.heard.is_none() {
            self.heard = Some(Box::new(receiver.clone()));
        }
        receiver.advance(at, self.whole);
        self.adopt(now);
    }

    /// What the sender may send (`SproutConnection::window_size`).
    fn leave(&mut self, now: Instant) {
        let ticks = now.since(self.forecast_at).as_nanos() / TICK.as_nanos();
        let reached = (ticks as usize).min(AHEAD - 1);
        let bytes = |count: u16| f64::from(count) * DATA * self.scale;
        while self.reached < reached {
            // As in the authors' code: by the forecast up to that tick, not by that of the tick alone.
            self.queue = (self.queue - bytes(self.counts[self.reached])).max(0.0);
            self.reached += 1;
        }
        let target = (reached + TARGET).min(AHEAD - 1);
        let forecast = bytes(self.counts[target]) - bytes(self.counts[reached]);
        // Whole packets, where the authors' last one of a flight is as short as it must be: none too many in the mean.
        let room = ((forecast - self.queue).max(0.0) / DATA).round() as u64 * self.mss;
        if room > 0 && self.in_flight > 0 && self.flights.back() != Some(&self.sent) {
            // A new flight: what was sent before was the last of one.
            self.flights.push_back(self.sent);
        }
        // Where the forecast gives no leave, a packet shows whether the link is back (`sproutbt2.cc`: each 50 ms).
        self.window = (self.in_flight + room).max(self.mss);
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = u64::from(path.mss);
        }
        self.in_flight = path.in_flight.0;
        self.min_rtt = path.min_rtt;
    }

    /// Sets the window, and the time to look again while something is outstanding.
    fn steer(&mut self, now: Instant) {
        if self.receiver.is_some() {
            self.leave(now);
        }
        self.next = (self.in_flight > 0).then_some(now + LOOK);
    }
}

impl Controller for Sprout {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        let idle = self.in_flight == 0;
        self.view(path);
        self.sent += sent.bytes.0;
        self.queue += self.packets(sent.bytes.0) * QUEUED;
        if let Some(receiver) = self.receiver.as_mut()
            && receiver.judged.is_none()
            && self.in_flight > self.mss
        {
            // Nothing was under way: this packet can arrive after the least RTT, and not before.
            receiver.judged = Some(now + self.min_rtt);
        }
        if idle {
            self.next = Some(now + LOOK);
        }
        self.window = self.window.max(self.mss);
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        self.hear(now, ack);
        self.steer(now);
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, _event: &CongestionEvent) {
        // A loss is a delivery that is missing, which the forecast sees: what was in flight is not sent anew at once.
        let before = self.in_flight;
        self.view(path);
        let lost = before.saturating_sub(self.in_flight);
        self.window = self.window.saturating_sub(lost).max(self.mss);
        self.next = Some(now + LOOK);
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        if self.next.is_some_and(|due| due <= now) {
            self.view(path);
            self.listen(now);
            self.steer(now);
        }
    }

    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        self.next
    }

    #[inline]
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(self.window)),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", self.window as f64 / self.mss as f64));
        out.push(("forecast", f64::from(self.counts[TARGET - 1]) * self.scale));
        out.push(("queue", self.queue / DATA));
        if let Some(receiver) = &self.receiver {
            out.push(("rate_pps", receiver.forecaster.mean() * self.scale));
        }
    }

    fn name(&self) -> &'static str {
        "sprout"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
