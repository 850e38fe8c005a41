//! What the base station's counters make of a flow: rules 1 to 10 of docs/ebb.md, for a host of any kind. The host decides what
//! it does without them.

use slackwater_core::{Duration, Instant};
use slackwater_signal::Counters;

use super::aim::Aim;
use super::clear::Clear;
use super::company::Company;
use super::count::{Least, SendLog};
use super::elsewhere::Elsewhere;
use super::fades::{Fades, SERVED};
use super::flight::Known;
use super::forecast::Forecast;
use super::host::Host;
use super::oracle::Oracle;
use super::order::{greater, lesser};
use super::params::Params;
use super::trust::Trust;
use super::upload::{Behind, Granted};
use crate::PathView;

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
pub(super) struct Heard {
    pub(super) counters: Counters,
    /// When they came.
    pub(super) at: Instant,
}

/// What the counters make of a flow, whatever carries it: what is on its way, what the radio will take, and how fast to send. Lengths
/// are bytes of IP packets.
#[derive(Clone, Debug)]
pub(crate) struct RadioClock {
    pub(super) params: Params,
    /// The host has not always something to send: media.
    pub(super) limited: bool,
    /// The data goes up, as the last report says: the radio's queue is here, and the loop ends behind the radio.
    pub(super) upload: bool,
    /// Payload bytes of a full packet.
    pub(super) mss: u32,
    /// Bytes of its headers.
    pub(super) headers: u32,
    /// What was sent.
    pub(super) log: SendLog,
    /// The newest counters.
    pub(super) heard: Option<Heard>,
    /// The base station that counted before the present one, and when it was left.
    pub(super) left: Option<(u8, Instant)>,
    /// When the last report came, stale ones included.
    pub(super) stale_since: Option<Instant>,
    /// Newer counters that came, up to [`TRUSTED`].
    pub(super) fresh: u32,
    /// What the last report makes of the bytes that were sent: it is read with each ACK.
    pub(super) known: Known,
    /// Bytes that left the radio, by the counters.
    pub(super) gone: i64,
    /// What the counters hold beyond what was sent here: the handshake and plain ACKs, less what was lost before the radio.
    pub(super) offset: i64,
    /// The most of that since the counters began, and by how much it grew since the last report that was held against the others.
    pub(super) most: i64,
    pub(super) foreign: u64,
    /// What it was when the counters began.
    pub(super) began: i64,
    /// When the first packet left, and the last.
    pub(super) first_sent: Option<Instant>,
    pub(super) last_sent: Instant,
    /// Bytes that the base station dropped since the counters began, and those that were lost before it as far as the offset knows.
    pub(super) dropped: u64,
    pub(super) written_off: u64,
    /// Of the latter, those that were found since rule 6 looked last.
    pub(super) lost: u64,
    /// The least excess of what is on its way over what the host has in flight, and since when it is one.
    pub(super) excess: Option<(Instant, u64)>,
    /// The longest time between two reports, by their stamps or as they come, seconds; it fades within some seconds.
    pub(super) interval: f64,
    /// What fades within the span of the last report.
    pub(super) fades: Fades,
    /// Time by the stamps since the counters began, and when they began here.
    pub(super) clock: (Duration, Instant),
    /// The least way of a report, beyond a constant, and how much longer that of the last one was.
    pub(super) way: Least,
    pub(super) late: Duration,
    pub(super) forecast: Forecast,
    /// Knows what comes, in place of the forecast.
    pub(super) oracle: Option<Oracle>,
    /// Age of the newest byte that was gone at a report's arrival, and the least of it.
    pub(super) round: Duration,
    pub(super) least: Least,
    /// The least age of the newest byte in the radio since the counters began.
    pub(super) nearest: Option<Duration>,
    /// The byte that the last loop was of: a loop without a newer one is no sample.
    pub(super) noted: u64,
    /// What the loop took beyond the least one and the radio's queue.
    pub(super) wait: Duration,
    /// Rate at which bytes were gone, bytes/s: mean of 50 ms.
    pub(super) served: f64,
    /// The same as the mean of the least loop, where that is longer.
    pub(super) in_a_loop: f64,
    /// The most of it of the last second or so, bytes/s.
    pub(super) peak: f64,
    pub(super) elsewhere: Elsewhere,
    pub(super) behind: Behind,
    pub(super) granted: Granted,
    pub(super) company: Company,
    pub(super) trust: Trust,
    pub(super) clear: Clear,
    /// IP bytes that were acknowledged, as those of full packets.
    pub(super) acked: u64,
    /// Payload bytes that were sent, less those that were acknowledged: what is in flight, and what was given up.
    pub(super) open: u64,
    /// Of those, what was held against bytes that left.
    pub(super) shown: u64,
    /// When what was acknowledged was last held against the offset, and what had been acknowledged then.
    pub(super) confirmed: (Instant, u64),
    pub(super) aim: Aim,
    /// What has left has shown the rate that is expected, up to a factor of four, since the counters began.
    pub(super) shows: bool,
    /// What was sent at the last report, and what was on its way then.
    pub(super) looked: (u64, f64),
    /// Whether the host sends what it might.
    pub(super) host: Host,
    /// The radio steers, and no fall-back.
    pub(super) steers: bool,
    /// What was on its way when the radio stopped steering, until the host takes it.
    pub(super) left_with: Option<u64>,
    /// Payload bytes in flight, by the host.
    pub(super) in_flight: u64,
    pub(super) srtt: Duration,
    pub(super) min_rtt: Duration,
    /// A timeout: what the host has in flight says nothing until something is acknowledged.
    pub(super) timed_out: bool,
}

impl RadioClock {
    /// Without reports. `mss` is the payload of a full packet.
    pub(crate) fn new(params: Params, mss: u32) -> Self {
        Self {
            params,
            limited: false,
            upload: false,
            mss: mss.max(1),
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
            lost: 0,
            excess: None,
            interval: 0.005,
            fades: Fades::NONE,
            clock: (Duration::ZERO, Instant::ZERO),
            way: Least::default(),
            late: Duration::ZERO,
            forecast: Forecast::new(params.rules.mix, params.rules.learn),
            oracle: None,
            round: Duration::ZERO,
            least: Least::default(),
            nearest: None,
            noted: 0,
            wait: Duration::ZERO,
            served: 0.0,
            in_a_loop: 0.0,
            peak: 0.0,
            elsewhere: Elsewhere::default(),
            behind: Behind::default(),
            granted: Granted::default(),
            company: Company::default(),
            trust: Trust::default(),
            clear: Clear::default(),
            acked: 0,
            open: 0,
            confirmed: (Instant::ZERO, 0),
            shown: 0,
            aim: Aim::default(),
            shows: false,
            looked: (0, 0.0),
            host: Host::default(),
            steers: false,
            left_with: None,
            in_flight: 0,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            timed_out: false,
        }
    }

    /// IP bytes of `payload` bytes in full packets.
    pub(super) fn wire(&self, payload: u64) -> u64 {
        payload + payload * u64::from(self.headers) / u64::from(self.mss)
    }

    /// Payload of `wire` bytes of full packets.
    pub(super) fn payload(&self, wire: f64) -> f64 {
        wire * f64::from(self.mss) / f64::from(self.mss + self.headers)
    }

    /// The least loop: from a byte's way to the report that it is gone, where nothing waits.
    pub(super) fn base(&self) -> Duration {
        let least = self.least.get();
        let known = if self.upload {
            least.map(|least| self.granted.base(least))
        } else {
            least
        };
        known.unwrap_or(self.min_rtt).max(Duration::from_millis(1))
    }

    /// Something is known of how long a loop takes. That of an upload ends behind the radio, and a round trip is much longer.
    pub(super) fn has_base(&self) -> bool {
        self.least.get().is_some() || (!self.upload && !self.min_rtt.is_zero())
    }

    /// Takes what leads on from the state of the host.
    #[inline]
    pub(super) fn see(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.headers = path.wire_mss.saturating_sub(path.mss);
        }
        self.in_flight = path.in_flight.0;
        self.srtt = path.srtt;
        self.min_rtt = path.min_rtt;
    }

    pub(crate) fn on_counters(&mut self, now: Instant, counters: &Counters) {
        self.upload = counters.upload;
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
            self.forecast = self.forecast.restarted();
            self.trust.resume();
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
        let long = greater(SERVED, self.base().as_secs_f64());
        self.in_a_loop += lesser(seconds / long, 1.0) * (left / seconds - self.in_a_loop);
        // A host that sends less than it might shows nothing of what could leave.
        if !self.is_idle(now) {
            self.peak *= self.fades.peak;
        }
        self.peak = greater(self.peak, self.in_a_loop);
        self.dropped += dropped;
        let base = self.base();
        let gone = self.shown(u64::from(gone), dropped);
        self.believe(now, counters, gone, offered, base);
        self.know(counters);
        self.forecast
            .on_sample(span, offered * self.trust.scale(), base);
        if let Some(rate) = self.oracle.as_ref().and_then(|o| o.rate(counters, base)) {
            self.forecast.know(rate);
        }
        self.note_arrival(now, counters);
        self.write_off(now, counters, base);
        self.choose(now, counters, base, (seconds, gone[0]));
        if self.trust.is_banned(now) || self.elsewhere.apart().is_some() {
            self.hand_over();
        } else if !self.steers && self.fresh >= TRUSTED && self.has_base() {
            self.steers = true;
        }
        self.aim(now, counters, seconds);
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

    /// The radio steers no more; what is on its way, or may be, is what the host goes on from.
    fn hand_over(&mut self) {
        if !self.steers {
            return;
        }
        self.steers = false;
        self.fresh = 0;
        // After a pause the first flight has to last until reports come again, of which the second one steers.
        let most = if self.in_flight == 0 {
            self.aim.most
        } else {
            self.aim.target
        };
        self.left_with = Some(self.in_flight.max(most as u64));
    }

    /// What was on its way when the radio stopped steering; once.
    pub(crate) const fn take_left(&mut self) -> Option<u64> {
        self.left_with.take()
    }

    /// Stops steering where reports have been silent for too long.
    pub(crate) fn on_timer(&mut self, now: Instant) {
        if self.deadline().is_some_and(|t| t <= now) {
            self.hand_over();
        }
    }

    /// `payload` bytes left the sender, and so many of headers with them.
    pub(crate) fn on_sent(&mut self, now: Instant, payload: u64, headers: u64) {
        self.log.on_sent(now, payload + headers);
        self.open = self.open.saturating_add(payload);
        self.first_sent.get_or_insert(now);
        self.last_sent = now;
    }

    /// `payload` bytes more were acknowledged.
    pub(crate) fn on_acked(&mut self, payload: u64) {
        self.acked = self.acked.saturating_add(self.wire(payload));
        self.open = self.open.saturating_sub(payload);
    }

    /// The radio steers.
    pub(crate) const fn steers(&self) -> bool {
        self.steers
    }

    /// Bytes that may leave beyond those that are on their way.
    pub(crate) fn room(&self) -> f64 {
        greater(self.aim.most - self.outstanding() as f64, 0.0)
    }

    /// [`Self::see`] for a host that counts IP bytes in flight, as media does: a packet has no headers then.
    pub(crate) fn see_ip(&mut self, path: &PathView) {
        self.see(&PathView {
            mss: path.wire_mss,
            ..*path
        });
    }

    /// The base station's word failed, and it is not heard.
    pub(crate) fn is_banned(&self, now: Instant) -> bool {
        self.trust.is_banned(now)
    }

    /// Others share a bottleneck that is not the radio: the rate that was served there, bytes/s.
    pub(crate) fn apart(&self) -> Option<f64> {
        self.elsewhere.apart()
    }

    /// Others fill the queue.
    pub(crate) const fn is_met(&self) -> bool {
        self.company.is_met()
    }

    /// Bytes that the base station has dropped since its counters began.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Bytes in flight, by the host.
    pub(crate) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// What the last report made of the flow.
    pub(crate) const fn aimed(&self) -> Aim {
        self.aim
    }

    /// When reports count as silent.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let heard = self.heard.as_ref().filter(|_| self.steers)?;
        Some(heard.at + self.silence())
    }

    /// Reports that are due for so long will not come.
    pub(crate) fn silence(&self) -> Duration {
        SILENT.max(self.srtt * SILENT_ROUNDS)
    }

    pub(crate) fn code(&self) -> u8 {
        match () {
            () if !self.steers => 3,
            () if self.company.is_met() => 2,
            () if self.elsewhere.is_met() => 1,
            () => 0,
        }
    }

    /// The same for a host that has not always something to send, as an encoder.
    pub(crate) fn limited(self) -> Self {
        Self {
            limited: true,
            ..self
        }
    }

    /// Named internals: rates in Mbit/s, times in ms, lengths in bytes.
    pub(crate) fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
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
}
