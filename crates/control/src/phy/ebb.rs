//! `ebb`: a sender that is clocked by what leaves the radio. The base station counts for it and reports each few
//! milliseconds on a way of its own; the ACKs may come when they like.
//!
//! | rule | here |
//! |---|---|
//! | 1. bytes on their way: sent less gone, whatever the ACKs say | `count`, `flight`, [`Ebb::outstanding`] |
//! | 2. the rate of the next round | `forecast` |
//! | 3. as many bytes on their way as the next round and a short queue take | `aim` |
//! | 4. the rate, and what is too much or too little within 10 ms | `aim` |
//! | 5. a bottleneck that is not the radio | `elsewhere` |
//! | 6. others that fill the queue | `company` |
//! | 7. no reports: CUBIC | `Ebb::hand_over` |
//! | 8. what is offered and what leaves bind each other | `trust` |
//! | in place of all: the offered rate alone bounds CUBIC | `advice` |
//!
//! The rules are ours; docs/ebb.md gives their reasons.

mod advice;
mod aim;
mod company;
mod count;
mod elsewhere;
mod fades;
mod flight;
mod forecast;
mod order;
mod params;
#[cfg(test)]
mod tests;
mod trust;

use slackwater_core::{Bytes, Duration, Instant};
use slackwater_signal::Counters;

use crate::registry::{AnyController, Config, Entry, Reports};
use crate::window::Windowed;
use crate::window::cubic::Cubic;
use crate::{
    Ack, Cause, CongestionEvent, Controller, Intent, PathReport, PathView, RecoveryMode, Sent,
};
use advice::Advice;
use aim::Aim;
use company::Company;
use count::{Least, SendLog};
use elsewhere::{Elsewhere, Way};
use fades::Fades;
use flight::{Known, STANDING};
use forecast::Forecast;
use order::{greater, lesser};
pub use params::{Params, Rules};
use trust::{Span, Trust};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "ebb",
    title: "ebb",
    about: "Ours: clocked by what leaves the radio, as the base station counts it; ebb:z=0.3,q=2",
    reports: Reports::Counters,
    modes: Some(MODES),
    parameters: &params::PARAMETERS,
    make: |cfg, p| {
        let params = Params::read(p)?;
        Ok(AnyController::Ebb(Box::new(Ebb::new(params, cfg))))
    },
    ..Entry::TRANSPORT
}];

/// Names of the modes, in the order of their codes.
pub const MODES: &[&str] = &["RADIO", "ELSEWHERE", "COMPANY", "FALLBACK"];

/// Reports are silent after this, or after [`SILENT_ROUNDS`].
const SILENT: Duration = Duration::from_millis(100);
/// The same in smoothed round-trip times.
const SILENT_ROUNDS: u64 = 2;
/// After stale reports alone for so long the counters begin anew: another base station.
const RESTART: Duration = Duration::from_secs(1);
/// Reports after which the radio steers.
const TRUSTED: u32 = 2;
/// More than this, bytes/s, no radio carries: 100 Gbit/s.
const MOST: f64 = 12.5e9;
/// A gap between two stamps that is bridged at most, seconds.
const GAP: f64 = 0.050;
/// The way of a report is counted from so long before the first one, whose own way is not known.
const AHEAD: Duration = Duration::from_secs(60);
/// A report covers more time than this only after a pause: its rate says little about now.
const PAUSE: Duration = Duration::from_millis(500);

/// The counters as they came last.
#[derive(Clone, Copy, Debug)]
struct Heard {
    counters: Counters,
    /// When they came.
    at: Instant,
}

/// The sender.
#[derive(Clone, Debug)]
pub struct Ebb {
    params: Params,
    /// Payload bytes of a full packet.
    mss: u32,
    /// Bytes of its headers.
    headers: u32,
    /// What was sent.
    log: SendLog,
    /// The newest counters.
    heard: Option<Heard>,
    /// The base station that counted before the present one, and when it was left.
    left: Option<(u8, Instant)>,
    /// When the last report came, stale ones included.
    stale_since: Option<Instant>,
    /// Newer counters that came, up to [`TRUSTED`].
    fresh: u32,
    /// What the last report makes of the bytes that were sent: it is read with each ACK.
    known: Known,
    /// Bytes that left the radio, by the counters.
    gone: i64,
    /// What the counters hold beyond what was sent here: the handshake and plain ACKs, less what was lost before the radio.
    offset: i64,
    /// The most of that since the counters began, and by how much it grew since the last report that was held against the others.
    most: i64,
    foreign: u64,
    /// What it was when the counters began.
    began: i64,
    /// When the first packet left, and the last.
    first_sent: Option<Instant>,
    last_sent: Instant,
    /// Bytes that the base station dropped since the counters began, and those that were lost before it as far as the offset knows.
    dropped: u64,
    written_off: u64,
    /// The least excess of what is on its way over what the host has in flight, and since when it is one.
    excess: Option<(Instant, u64)>,
    /// The longest time between two reports, by their stamps or as they come, seconds; it fades within some seconds.
    interval: f64,
    /// What fades within the span of the last report.
    fades: Fades,
    /// Time by the stamps since the counters began, and when they began here.
    clock: (Duration, Instant),
    /// The least way of a report, beyond a constant, and how much longer that of the last one was.
    way: Least,
    late: Duration,
    forecast: Forecast,
    /// Age of the newest byte that was gone at a report's arrival, and the least of it.
    round: Duration,
    least: Least,
    /// The byte that the last loop was of: a loop without a newer one is no sample.
    noted: u64,
    /// What the loop took beyond the least one and the radio's queue.
    wait: Duration,
    /// Rate at which bytes were gone, bytes/s: mean of 50 ms.
    served: f64,
    /// The most of it of the last second or so, bytes/s.
    peak: f64,
    elsewhere: Elsewhere,
    company: Company,
    trust: Trust,
    /// What is heard in place of the counters.
    advice: Advice,
    /// IP bytes that were acknowledged.
    acked: u64,
    aim: Aim,
    /// The radio steers, and not CUBIC.
    steers: bool,
    cubic: Box<Windowed<Cubic>>,
    /// Payload bytes in flight, by the host.
    in_flight: u64,
    srtt: Duration,
    min_rtt: Duration,
    /// A timeout: what the host has in flight says nothing until something is acknowledged.
    timed_out: bool,
}

impl Ebb {
    /// A sender without reports.
    pub fn new(params: Params, cfg: &Config) -> Self {
        Self {
            params,
            mss: cfg.mss.max(1),
            headers: 52,
            log: SendLog::default(),
            heard: None,
            left: None,
            stale_since: None,
            fresh: 0,
            known: Known::default(),
            gone: 0,
            offset: 0,
            most: 0,
            foreign: 0,
            began: 0,
            first_sent: None,
            last_sent: Instant::ZERO,
            dropped: 0,
            written_off: 0,
            excess: None,
            interval: 0.005,
            fades: Fades::NONE,
            clock: (Duration::ZERO, Instant::ZERO),
            way: Least::default(),
            late: Duration::ZERO,
            forecast: Forecast::new(params.rules.mix),
            round: Duration::ZERO,
            least: Least::default(),
            noted: 0,
            wait: Duration::ZERO,
            served: 0.0,
            peak: 0.0,
            elsewhere: Elsewhere::default(),
            company: Company::default(),
            trust: Trust::default(),
            advice: Advice::new(params.advice),
            acked: 0,
            aim: Aim::default(),
            steers: false,
            cubic: Box::new(
                Windowed::new(Cubic::linux(), cfg.mss, cfg.initial_window)
                    .with_ssthresh(cfg.initial_ssthresh),
            ),
            in_flight: 0,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            timed_out: false,
        }
    }

    /// IP bytes of `payload` bytes in full packets.
    fn wire(&self, payload: u64) -> u64 {
        payload + payload * u64::from(self.headers) / u64::from(self.mss)
    }

    /// Payload of `wire` bytes of full packets.
    fn payload(&self, wire: f64) -> f64 {
        wire * f64::from(self.mss) / f64::from(self.mss + self.headers)
    }

    /// The least loop: from a byte's way to the report that it is gone, where nothing waits.
    fn base(&self) -> Duration {
        let known = self.least.get();
        known.unwrap_or(self.min_rtt).max(Duration::from_millis(1))
    }

    /// Something is known of how long a loop takes.
    fn has_base(&self) -> bool {
        !self.min_rtt.is_zero() || self.least.get().is_some()
    }

    /// Takes what leads on from the state of the host.
    #[inline]
    fn see(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.headers = path.wire_mss.saturating_sub(path.mss);
        }
        self.in_flight = path.in_flight.0;
        self.srtt = path.srtt;
        self.min_rtt = path.min_rtt;
    }

    fn on_counters(&mut self, now: Instant, counters: &Counters) {
        let Some(heard) = &self.heard else {
            self.begin(now, counters);
            return;
        };
        if counters.instance != heard.counters.instance {
            self.change(now, heard.counters.instance, counters);
            return;
        }
        let (at, span) = (heard.at, counters.since(&heard.counters));
        let gone = counters.gone.wrapping_sub(heard.counters.gone);
        let offered = f64::from(counters.offered.wrapping_sub(heard.counters.offered));
        let dropped = counters.dropped_since(&heard.counters);
        if self.trust.is_heard_again(now) {
            // What it said meanwhile is not to be built upon.
            self.least = Least::default();
            self.elsewhere = Elsewhere::default();
            self.begin(now, counters);
            return;
        }
        let Some(span) = span else {
            // Late, doubled, or of a base station that begins anew.
            let since = *self.stale_since.get_or_insert(now);
            if now.since(since) > RESTART && now.since(at) > RESTART {
                self.begin(now, counters);
            }
            return;
        };
        self.stale_since = None;
        self.heard = Some(Heard {
            counters: *counters,
            at: now,
        });
        let left = f64::from(gone);
        let seconds = span.as_secs_f64();
        if left > MOST * seconds || offered > MOST * seconds {
            // No radio does that: the counters began anew.
            self.begin(now, counters);
            return;
        }
        self.gone += i64::from(gone);
        self.align(now, counters);
        self.time(now, span);
        if span > PAUSE {
            self.forecast = Forecast::new(self.params.rules.mix);
            self.know(counters);
            return;
        }
        // They may come more rarely than they are made, where one overtakes another.
        let gap = now.since(at).as_secs_f64();
        if self.fades.span != span {
            self.fades = Fades::over(span);
        }
        let interval = greater(greater(seconds, gap), self.interval * self.fades.interval);
        self.interval = lesser(interval, GAP);
        self.fresh = (self.fresh + 1).min(TRUSTED);
        if gone > 0 {
            self.note_round(now, counters);
        }
        self.served += self.fades.served * (left / seconds - self.served);
        self.peak = greater(self.served, self.peak * self.fades.peak);
        self.dropped += dropped;
        let base = self.base();
        let gone = [u64::from(gone).saturating_sub(dropped), dropped];
        self.believe(now, counters, gone, offered, base);
        self.know(counters);
        self.forecast
            .on_sample(span, offered * self.trust.scale(), base);
        self.write_off(now, counters, base);
        self.choose(now, counters, base);
        if self.trust.is_banned(now) {
            self.hand_over();
        } else if !self.steers && self.fresh >= TRUSTED && self.has_base() {
            self.steers = true;
        }
        self.aim(now, counters);
    }

    /// How late a report is, by its stamp, which is `span` behind the last one.
    fn time(&mut self, now: Instant, span: Duration) {
        self.clock.0 += span;
        let way = (now.since(self.clock.1) + AHEAD).saturating_sub(self.clock.0);
        self.way.add(now, way);
        self.late = way.saturating_sub(self.way.get().unwrap_or(way));
    }

    /// Another base station counts: at once, unless it is the one before, whose last reports come late.
    fn change(&mut self, now: Instant, before: u8, counters: &Counters) {
        let late = self
            .left
            .is_some_and(|(instance, at)| instance == counters.instance && now.since(at) < RESTART);
        if !late {
            self.left = Some((before, now));
            // What the old one claimed says nothing of the new one.
            self.trust = Trust::default();
            self.begin(now, counters);
        }
    }

    /// Rule 8: holds what was offered against what left, which are bytes delivered and dropped; `base` is the least loop.
    fn believe(
        &mut self,
        now: Instant,
        counters: &Counters,
        gone: [u64; 2],
        offered: f64,
        base: Duration,
    ) {
        if !self.params.rules.trust {
            return;
        }
        let [left, dropped] = gone.map(|bytes| bytes as f64);
        let span = Span {
            left,
            dropped,
            offered,
            hol: counters.hol,
            excess: self.round.saturating_sub(base),
            foreign: std::mem::take(&mut self.foreign) as f64,
        };
        let packet = f64::from(self.mss + self.headers);
        // Counters that lag make a loop seem long; what was acknowledged does not.
        let round = base.min(self.min_rtt * 4);
        if self.params.rules.gone && self.trust.holds(now, round) {
            let heard = trust::Heard {
                gone: self.gone,
                acked: self.acked,
                flying: self.wire(self.in_flight),
            };
            self.trust.hold(now, heard, packet);
        }
        let probes = self.steers && !self.company.is_met() && !self.elsewhere.is_met();
        self.trust.look(now, span, base, packet, probes);
    }

    /// Rules 5 and 6: whether something else than the radio decides.
    fn choose(&mut self, now: Instant, counters: &Counters, base: Duration) {
        let rate = self.forecast.rate();
        self.wait = self.round.saturating_sub(base + counters.hol);
        if !self.wait.is_zero() {
            // What came meanwhile waits too, and the oldest byte does not say so.
            let drain = self.known.waits as f64 / greater(rate, 1.0);
            let queue = Duration::from_secs_f64(lesser(drain, 10.0));
            self.wait = self.wait.min(self.round.saturating_sub(base + queue));
        }
        let way = Way {
            round: self.round,
            wait: self.wait,
            empty: counters.hol <= STANDING,
            base,
            served: self.served,
            forecast: rate,
        };
        if self.params.rules.elsewhere
            && let Some(base) = self.elsewhere.look(now, way)
        {
            self.least.restart(now, base);
        }
        if self.params.rules.company {
            self.company.look(now, counters, rate);
        }
    }

    /// CUBIC takes over with what is on its way, at most.
    fn hand_over(&mut self) {
        if !self.steers {
            return;
        }
        self.steers = false;
        self.fresh = 0;
        let window = self.in_flight.max(self.aim.target as u64) / u64::from(self.mss);
        let window = window.clamp(2, 1 << 20) as u32;
        *self.cubic = Windowed::new(Cubic::linux(), self.mss, window).with_ssthresh(Some(window));
    }

    /// What CUBIC wants, within the rate that is advised: a round of it and the queue that is wanted, two packets at least.
    fn advised(&self, intent: Intent) -> Intent {
        let Some(rate) = self.advice.rate().filter(|_| !self.min_rtt.is_zero()) else {
            return intent;
        };
        let round = (self.min_rtt.as_secs_f64() + self.params.q).max(0.0);
        let packet = f64::from(self.mss + self.headers);
        let bytes = (rate.as_bps() as f64 / 8.0 * round).max(2.0 * packet);
        let most = Bytes(self.payload(bytes) as u64);
        Intent {
            window: Some(intent.window.map_or(most, |w| w.min(most))),
            pacing: Some(intent.pacing.map_or(rate, |p| p.min(rate))),
            ..intent
        }
    }

    /// When reports count as silent.
    fn deadline(&self) -> Option<Instant> {
        let heard = self.heard.filter(|_| self.steers)?;
        Some(heard.at + SILENT.max(self.srtt * SILENT_ROUNDS))
    }

    fn code(&self) -> u8 {
        match () {
            () if !self.steers => 3,
            () if self.company.is_met() => 2,
            () if self.elsewhere.is_met() => 1,
            () => 0,
        }
    }
}

impl Controller for Ebb {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.see(path);
        // A host may hand several packets to the kernel at once, and each has its headers.
        let mss = u64::from(self.mss);
        let packets = if sent.bytes.0 <= mss {
            1
        } else {
            sent.bytes.0.div_ceil(mss)
        };
        self.log
            .on_sent(now, sent.bytes.0 + packets * u64::from(self.headers));
        self.first_sent.get_or_insert(now);
        self.last_sent = now;
        if !self.steers {
            self.cubic.on_sent(now, path, sent);
        }
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.see(path);
        self.timed_out &= ack.newly_acked == Bytes::ZERO;
        self.acked += self.wire(ack.newly_acked.0);
        if !self.steers {
            self.cubic.on_ack(now, path, ack);
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.see(path);
        self.timed_out |= event.cause == Cause::Timeout;
        if !self.steers {
            self.cubic.on_congestion(now, path, event);
        }
    }

    fn on_undo(&mut self, now: Instant, path: &PathView) {
        self.see(path);
        if !self.steers {
            self.cubic.on_undo(now, path);
        }
    }

    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        self.see(path);
        if !self.steers {
            self.cubic.on_recovered(now, path);
        }
    }

    fn takes_counters(&self) -> bool {
        true
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        self.see(path);
        if let PathReport::Counters(counters) = report {
            if self.params.advice.is_zero() {
                self.on_counters(now, counters);
            } else {
                self.advice.on_counters(*counters);
            }
        }
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.see(path);
        if self.deadline().is_some_and(|t| t <= now) {
            self.hand_over();
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.deadline()
    }

    fn intent(&self) -> Intent {
        if !self.steers {
            return self.advised(self.cubic.intent());
        }
        let room = self.aim.most - self.outstanding() as f64;
        let window = self.in_flight as f64 + self.payload(greater(room, 0.0));
        Intent {
            window: Some(Bytes((window as u64).max(u64::from(self.mss)))),
            pacing: Some(self.aim.pace),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        let mbps = |bytes: f64| bytes * 8e-6;
        out.extend([
            ("mode", f64::from(self.code())),
            ("forecast", mbps(self.forecast.rate())),
            ("error", mbps(self.forecast.error())),
            ("served", mbps(self.served)),
            ("outstanding", self.outstanding() as f64),
            ("target", self.aim.target),
            ("loop", self.round.as_secs_f64() * 1e3),
            ("base", self.base().as_secs_f64() * 1e3),
            ("wait", self.wait.as_secs_f64() * 1e3),
        ]);
    }

    fn name(&self) -> &'static str {
        "ebb"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
