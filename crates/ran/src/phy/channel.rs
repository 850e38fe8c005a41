//! The channel of one terminal: an SINR made of transmit power, path loss, shadowing, fading and noise, or a series of
//! MCS, CQI or SINR values that was given.

use std::sync::Arc;

use slackwater_core::{Draw, Duration, Instant};

use super::fading::{Fading, FadingConfig, FadingPlan};
use super::math::{Cosine, to_db};
use super::mobility::{Mobility, Mover, Position};
use super::pathloss::{LargeScale, PathLoss, ShadowingKind};

#[cfg(test)]
mod tests;

/// Thermal noise at 290 K in dBm/Hz.
pub const THERMAL_NOISE_DBM_HZ: f64 = -174.0;

/// What power arrives with, in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Transmit power over all `blocks`, dBm.
    pub tx_power_dbm: f64,
    /// Resource blocks that the transmit power is spread over evenly.
    pub blocks: u16,
    /// Width of one block in Hz.
    pub block_hz: f64,
    /// Gains of both antennas less cable losses, dB.
    pub antenna_gain_db: f64,
    /// Noise figure of the receiver, dB.
    pub noise_figure_db: f64,
    /// Rise of the noise floor by other cells, dB.
    pub interference_margin_db: f64,
    /// Any other loss: penetration into a building or a car, body loss, dB.
    pub other_loss_db: f64,
}

impl Budget {
    /// 30 dBm over 50 LTE blocks to a terminal with a noise figure of 9 dB: the cell that ns-3 was measured in.
    pub const DOWNLINK: Self = Self {
        tx_power_dbm: 30.0,
        blocks: 50,
        block_hz: 180e3,
        antenna_gain_db: 0.0,
        noise_figure_db: 9.0,
        interference_margin_db: 0.0,
        other_loss_db: 0.0,
    };

    /// A terminal of power class 3 (23 dBm, TS 36.101, 6.2.2) over 50 LTE blocks to a base station with a noise figure
    /// of 5 dB.
    pub const UPLINK: Self = Self {
        tx_power_dbm: 23.0,
        noise_figure_db: 5.0,
        ..Self::DOWNLINK
    };

    /// SINR in dB of one block at no path loss.
    pub fn sinr_at_no_loss_db(&self) -> f64 {
        let per_block = self.tx_power_dbm - to_db(f64::from(self.blocks));
        let noise = THERMAL_NOISE_DBM_HZ + to_db(self.block_hz) + self.noise_figure_db;
        per_block + self.antenna_gain_db - self.other_loss_db - self.interference_margin_db - noise
    }
}

/// A channel that is given instead of modelled. Values hold until the next row; the first also holds before its time.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// One MCS for ever.
    FixedMcs(u8),
    /// MCS by time.
    McsSeries(Vec<(Instant, u8)>),
    /// Reported CQI by time.
    CqiSeries(Vec<(Instant, u8)>),
    /// Downlink SINR in dB by time.
    SinrSeries(Vec<(Instant, f64)>),
}

/// The channel of a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelConfig {
    /// A given downlink channel; the rest of the configuration then serves the uplink.
    pub given: Option<Given>,
    /// Begins a given series anew after this time.
    pub given_repeat: Option<Duration>,
    /// Block error rate of first transmissions on a given MCS; without it none fails.
    pub bler: Option<f64>,
    /// How the terminal moves.
    pub mobility: Mobility,
    /// Mean loss by distance.
    pub path_loss: PathLoss,
    /// Carrier frequency that the path loss is for, GHz.
    pub carrier_ghz: f64,
    /// Shadowing.
    pub shadowing: ShadowingKind,
    /// Fast fading, if any.
    pub fading: Option<FadingConfig>,
    /// Fades both directions alike (TDD); in FDD they are independent.
    pub reciprocal: bool,
    /// Base station to terminal.
    pub downlink: Budget,
    /// Terminal to base station.
    pub uplink: Budget,
}

impl Default for ChannelConfig {
    fn default() -> Self {
        Self {
            given: None,
            given_repeat: None,
            bler: None,
            mobility: Mobility::default(),
            path_loss: PathLoss::default(),
            carrier_ghz: 2.0,
            shadowing: ShadowingKind::default(),
            fading: None,
            reciprocal: false,
            downlink: Budget::DOWNLINK,
            uplink: Budget::UPLINK,
        }
    }
}

/// A step function of time with a cursor: asking in the order of time costs one comparison.
#[derive(Clone, Debug)]
struct Series<T> {
    rows: Arc<[(Instant, T)]>,
    repeat: Option<Duration>,
    cursor: usize,
}

impl<T: Copy> Series<T> {
    /// Panics where rows are missing, not in the order of time, or longer than their repetition.
    fn new(rows: &[(Instant, T)], repeat: Option<Duration>) -> Self {
        assert!(!rows.is_empty(), "a given channel has no rows");
        assert!(
            rows.is_sorted_by(|a, b| a.0 < b.0),
            "the rows of a given channel are not in the order of time"
        );
        if let Some(period) = repeat {
            let last = rows[rows.len() - 1].0;
            assert!(
                last.since(Instant::ZERO) < period,
                "a given channel repeats after {period}, before its last row at {last}"
            );
        }
        Self {
            rows: rows.into(),
            repeat,
            cursor: 0,
        }
    }

    #[inline]
    fn at(&mut self, now: Instant) -> T {
        let now = match self.repeat {
            Some(period) => Instant::from_nanos(now.as_nanos() % period.as_nanos()),
            None => now,
        };
        if now < self.rows[self.cursor].0 {
            self.cursor = self.rows.partition_point(|r| r.0 <= now).max(1) - 1;
        }
        while let Some(next) = self.rows.get(self.cursor + 1)
            && next.0 <= now
        {
            self.cursor += 1;
        }
        self.rows[self.cursor].1
    }
}

#[derive(Clone, Debug)]
enum GivenSeries {
    None,
    FixedMcs(u8),
    Mcs(Series<u8>),
    Cqi(Series<u8>),
    Sinr(Series<f64>),
}

/// What the terminals of one configuration share: tables, given rows and budgets.
#[derive(Clone, Debug)]
pub struct ChannelPlan {
    config: Arc<ChannelConfig>,
    cosine: Arc<Cosine>,
    fading: Option<Arc<FadingPlan>>,
    given: GivenSeries,
    downlink_db: f64,
    uplink_db: f64,
}

impl ChannelPlan {
    /// The shared part of all channels of `config`.
    ///
    /// Panics on a given series without rows, out of order or longer than its repetition.
    pub fn new(config: &ChannelConfig) -> Self {
        let fading = config.fading.as_ref().map(FadingPlan::new);
        Self::with_tables(config, Arc::new(Cosine::new()), fading)
    }

    /// The plan of another configuration (another place, say) that shares this one's tables where they are the same.
    #[must_use]
    pub fn alike(&self, config: &ChannelConfig) -> Self {
        let fading = if config.fading == self.config.fading {
            self.fading.clone()
        } else {
            config.fading.as_ref().map(FadingPlan::new)
        };
        Self::with_tables(config, Arc::clone(&self.cosine), fading)
    }

    fn with_tables(
        config: &ChannelConfig,
        cosine: Arc<Cosine>,
        fading: Option<Arc<FadingPlan>>,
    ) -> Self {
        let repeat = config.given_repeat;
        let given = match &config.given {
            None => GivenSeries::None,
            Some(Given::FixedMcs(mcs)) => GivenSeries::FixedMcs(*mcs),
            Some(Given::McsSeries(rows)) => GivenSeries::Mcs(Series::new(rows, repeat)),
            Some(Given::CqiSeries(rows)) => GivenSeries::Cqi(Series::new(rows, repeat)),
            Some(Given::SinrSeries(rows)) => GivenSeries::Sinr(Series::new(rows, repeat)),
        };
        Self {
            config: Arc::new(config.clone()),
            cosine,
            fading,
            given,
            downlink_db: config.downlink.sinr_at_no_loss_db(),
            uplink_db: config.uplink.sinr_at_no_loss_db(),
        }
    }

    /// The channel of the terminal that `draw` belongs to.
    pub fn channel(&self, draw: Draw) -> Channel {
        let fading = |purpose| {
            self.fading
                .as_ref()
                .map(|plan| Fading::new(plan, draw.fork(purpose, 0)))
        };
        Channel {
            mover: Mover::new(&self.config.mobility, draw.fork(MOBILITY, 0)),
            large: LargeScale::new(
                &self.config.path_loss,
                self.config.carrier_ghz,
                &self.config.shadowing,
                draw.fork(LARGE_SCALE, 0),
            ),
            downlink: fading(DOWNLINK_FADING),
            uplink: if self.config.reciprocal {
                None
            } else {
                fading(UPLINK_FADING)
            },
            given: self.given.clone(),
            loss: Loss::EMPTY,
            plan: self.clone(),
        }
    }
}

// Purposes of a terminal's draws.
const MOBILITY: u64 = 1;
const LARGE_SCALE: u64 = 2;
const DOWNLINK_FADING: u64 = 3;
const UPLINK_FADING: u64 = 4;

/// The loss of a moving terminal is computed on this grid of time and joined by straight lines: 0.8 m at 30 km/h.
const LOSS_STEP: Duration = Duration::from_millis(100);

/// The large-scale loss over a span of time: constant, or a line.
#[derive(Clone, Copy, Debug)]
struct Loss {
    from: Instant,
    /// The span ends before this.
    until: Instant,
    at_from: f64,
    per_ns: f64,
    /// The loss at the end of a line, where the next one begins.
    at_until: Option<f64>,
}

impl Loss {
    const EMPTY: Self = Self {
        from: Instant::MAX,
        until: Instant::ZERO,
        at_from: 0.0,
        per_ns: 0.0,
        at_until: None,
    };
}

/// The channel of one terminal.
#[derive(Clone, Debug)]
pub struct Channel {
    plan: ChannelPlan,
    mover: Mover,
    large: LargeScale,
    downlink: Option<Fading>,
    uplink: Option<Fading>,
    given: GivenSeries,
    loss: Loss,
}

impl Channel {
    /// The channel of one terminal alone; for many of one configuration, share a [`ChannelPlan`].
    pub fn new(config: &ChannelConfig, draw: Draw) -> Self {
        ChannelPlan::new(config).channel(draw)
    }

    /// The configuration.
    pub fn config(&self) -> &ChannelConfig {
        &self.plan.config
    }

    /// Path loss and shadowing in dB. A moving terminal's is computed every 100 ms and joined by straight lines.
    pub fn loss_db(&mut self, now: Instant) -> f64 {
        if now < self.loss.from || now >= self.loss.until {
            self.loss = self.loss_around(now);
        }
        self.loss.at_from + (now - self.loss.from).as_nanos() as f64 * self.loss.per_ns
    }

    fn loss_around(&mut self, now: Instant) -> Loss {
        let (place, until) = self.mover.position(now);
        if until > now {
            return Loss {
                from: now,
                until,
                at_from: self.large.loss_db(place, &self.plan.cosine),
                per_ns: 0.0,
                at_until: None,
            };
        }
        let step = LOSS_STEP.as_nanos();
        let from = Instant::from_nanos(now.as_nanos() / step * step);
        let until = from + LOSS_STEP;
        let known = self.loss.at_until.filter(|_| self.loss.until == from);
        let at_from = known.unwrap_or_else(|| self.loss_at(from));
        let at_until = self.loss_at(until);
        Loss {
            from,
            until,
            at_from,
            per_ns: (at_until - at_from) / step as f64,
            at_until: Some(at_until),
        }
    }

    fn loss_at(&mut self, at: Instant) -> f64 {
        let (place, _) = self.mover.position(at);
        self.large.loss_db(place, &self.plan.cosine)
    }

    /// Metres along the path of fading: the terminal's own and those of its surroundings.
    fn faded_metres(&mut self, now: Instant) -> f64 {
        let surroundings = self.plan.config.fading.map_or(0.0, |f| f.speed_mps);
        surroundings * now.as_secs_f64() + self.mover.travelled(now)
    }

    fn faded(&mut self, mean: f64, now: Instant, uplink: bool, qm: Option<u8>) -> f64 {
        if self.downlink.is_none() {
            return mean;
        }
        let metres = self.faded_metres(now);
        let own = match (&mut self.uplink, uplink) {
            (Some(own), true) => Some(own),
            _ => self.downlink.as_mut(),
        };
        own.map_or(mean, |f| f.effective_after(mean, metres, qm))
    }

    /// The downlink SINR in dB without fast fading, as it stands in one block.
    pub fn mean_sinr_db(&mut self, now: Instant) -> f64 {
        if let GivenSeries::Sinr(series) = &mut self.given {
            return series.at(now);
        }
        self.plan.downlink_db - self.loss_db(now)
    }

    /// Until when the SINR of either direction stays as it was at the time that was asked about last; that time or an
    /// earlier one where it changes all the time.
    #[inline]
    pub fn steady_until(&self) -> Instant {
        let given = matches!(self.given, GivenSeries::Sinr(_));
        if given || self.downlink.is_some() || self.loss.at_until.is_some() {
            return Instant::ZERO;
        }
        self.loss.until
    }

    /// The effective downlink SINR of the carrier in dB.
    pub fn sinr_db(&mut self, now: Instant) -> f64 {
        self.sinr_db_for(now, None)
    }

    /// The effective downlink SINR in dB for a block of `qm` bits per symbol: another one than [`Channel::sinr_db`]
    /// under exponential averaging only.
    pub fn sinr_db_for(&mut self, now: Instant, qm: Option<u8>) -> f64 {
        let mean = self.mean_sinr_db(now);
        if matches!(self.given, GivenSeries::Sinr(_)) {
            return mean;
        }
        self.faded(mean, now, false, qm)
    }

    /// The downlink SINR of each sub-band in dB, in `out`; the number of sub-bands (one without fading).
    pub fn subband_sinr_db(&mut self, now: Instant, out: &mut [f64]) -> usize {
        let mean = self.mean_sinr_db(now);
        let metres = self.faded_metres(now);
        match &mut self.downlink {
            Some(f) if !matches!(self.given, GivenSeries::Sinr(_)) => {
                f.subband_sinr_db(mean, metres, out)
            }
            _ => {
                out[0] = mean;
                1
            }
        }
    }

    /// The effective uplink SINR in dB with the power spread over the whole carrier. It is modelled even where the
    /// downlink is given.
    pub fn ul_sinr_db(&mut self, now: Instant) -> f64 {
        let mean = self.plan.uplink_db - self.loss_db(now);
        self.faded(mean, now, true, None)
    }

    /// The effective uplink SINR in dB with the full power put into `prbs` blocks.
    pub fn ul_sinr_db_over(&mut self, now: Instant, prbs: u16) -> f64 {
        let spread = f64::from(self.plan.config.uplink.blocks) / f64::from(prbs.max(1));
        let mean = self.plan.uplink_db + to_db(spread) - self.loss_db(now);
        self.faded(mean, now, true, None)
    }

    /// The given MCS, where the channel is one.
    #[inline]
    pub fn given_mcs(&mut self, now: Instant) -> Option<u8> {
        match &mut self.given {
            GivenSeries::FixedMcs(mcs) => Some(*mcs),
            GivenSeries::Mcs(series) => Some(series.at(now)),
            _ => None,
        }
    }

    /// The given CQI, where the channel is one.
    #[inline]
    pub fn given_cqi(&mut self, now: Instant) -> Option<u8> {
        match &mut self.given {
            GivenSeries::Cqi(series) => Some(series.at(now)),
            _ => None,
        }
    }

    /// Block error rate of first transmissions on a given MCS, where one is configured.
    pub fn given_bler(&self) -> Option<f64> {
        self.plan.config.bler
    }

    /// Where the terminal is.
    pub fn position(&mut self, now: Instant) -> Position {
        self.mover.position(now).0
    }

    /// Metres from the base station.
    pub fn distance(&mut self, now: Instant) -> f64 {
        self.mover.distance(now)
    }

    /// Speed of the terminal in m/s.
    pub fn speed(&mut self, now: Instant) -> f64 {
        self.mover.speed(now)
    }
}
