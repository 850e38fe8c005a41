//! Fast fading as a function of (draw, metres travelled): tapped delay lines, each tap a sum of plane waves.
//!
//! Power is evaluated at the centres of a few sub-bands and folded into one effective SINR. Nothing has a memory, so
//! a terminal that sleeps costs nothing and wakes to the value that it would have had. The path is cut in cells of
//! 1/64 wavelength: within one the fading holds, which keeps phases in whole numbers and lets a slow terminal reuse
//! its last value.

use std::sync::Arc;

use slackwater_core::{Draw, Instant};

use super::math::{Grid, from_db};
use super::pathloss::LIGHT;

mod taps;
#[cfg(test)]
mod tests;

slackwater_schema::choice! {
    /// A power delay profile.
    pub enum Profile {
        /// One Rayleigh tap: all sub-bands fade alike.
        Flat = "flat",
        /// Extended pedestrian A (TS 36.101, B.2).
        Epa = "epa",
        /// Extended vehicular A (TS 36.101, B.2).
        Eva = "eva",
        /// Extended typical urban (TS 36.101, B.2).
        Etu = "etu",
        /// TDL-A (TR 38.901, 7.7.2), no line of sight; delays scale with the delay spread, as those up to TDL-E do.
        TdlA = "tdl-a",
        /// TDL-B, no line of sight.
        TdlB = "tdl-b",
        /// TDL-C, no line of sight.
        TdlC = "tdl-c",
        /// TDL-D, line of sight with K = 13.3 dB.
        TdlD = "tdl-d",
        /// TDL-E, line of sight with K = 22 dB.
        TdlE = "tdl-e",
        /// TDL-A simplified, 30 ns.
        TdlA30 = "tdl-a30",
        /// TDL-B simplified, 100 ns.
        TdlB100 = "tdl-b100",
        /// TDL-C simplified, 300 ns.
        TdlC300 = "tdl-c300",
    }
}

impl Profile {
    /// The taps, and whether their delays are in units of the delay spread.
    const fn taps(self) -> (&'static [taps::Tap], bool) {
        match self {
            Self::Flat => (&taps::FLAT, false),
            Self::Epa => (&taps::EPA, false),
            Self::Eva => (&taps::EVA, false),
            Self::Etu => (&taps::ETU, false),
            Self::TdlA => (&taps::TDL_A, true),
            Self::TdlB => (&taps::TDL_B, true),
            Self::TdlC => (&taps::TDL_C, true),
            Self::TdlD => (&taps::TDL_D, true),
            Self::TdlE => (&taps::TDL_E, true),
            Self::TdlA30 => (&taps::TDL_A30, false),
            Self::TdlB100 => (&taps::TDL_B100, false),
            Self::TdlC300 => (&taps::TDL_C300, false),
        }
    }
}

/// How the SINRs of the sub-bands become one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Averaging {
    /// The SINR of the mean of log2(1 + SINR): mean mutual information of Gaussian symbols.
    #[default]
    Information,
    /// Exponential effective SINR mapping: -beta ln(mean(exp(-SINR / beta))), one beta per modulation from QPSK to
    /// 1024QAM.
    Exponential {
        /// Linear betas for 2, 4, 6, 8 and 10 bits per symbol.
        beta: [f64; 5],
    },
}

impl Averaging {
    /// Betas in the middle of published link-level calibrations, which run from 1.5 to 1.8 (QPSK), 4 to 6.5 (16QAM),
    /// 11 to 30 (64QAM) and 56 to 133 (256QAM) with rising code rate; 1024QAM by extrapolation.
    pub const EESM: Self = Self::Exponential {
        beta: [1.7, 5.0, 20.0, 90.0, 400.0],
    };
}

/// The parameters of fast fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadingConfig {
    /// Power delay profile.
    pub profile: Profile,
    /// RMS delay spread in ns, for TDL-A to TDL-E.
    pub delay_spread_ns: f64,
    /// Carrier frequency in GHz.
    pub carrier_ghz: f64,
    /// Speed of the surroundings in m/s: the Doppler of a terminal that stands. The terminal's own motion adds to it.
    pub speed_mps: f64,
    /// Sub-bands at which the channel is evaluated, 1 to 32.
    pub subbands: u8,
    /// Width of the carrier in Hz.
    pub bandwidth_hz: f64,
    /// From sub-bands to one SINR.
    pub averaging: Averaging,
}

impl Default for FadingConfig {
    /// EPA at 2 GHz and 3 km/h (5.6 Hz of Doppler; the specification's EPA5 has 5 Hz) over 50 LTE blocks.
    fn default() -> Self {
        Self {
            profile: Profile::Epa,
            delay_spread_ns: 100.0,
            carrier_ghz: 2.0,
            speed_mps: 3.0 / 3.6,
            subbands: 13,
            bandwidth_hz: 9e6,
            averaging: Averaging::default(),
        }
    }
}

/// The most sub-bands.
pub const MAX_SUBBANDS: usize = 32;

/// Cells of the path per wavelength.
const CELLS_PER_WAVE: f64 = 64.0;
/// One turn of a phase.
const TURN: f64 = 4_294_967_296.0;
/// Entries of the phasor table: a phase error of 0.003 rad, 50 dB below the signal.
const PHASORS: usize = 1024;
/// Waves of a strong tap, and of one 10 dB below the strongest.
const STRONG_RAYS: usize = 8;
const WEAK_RAYS: usize = 4;
/// Waves of the only tap of a flat channel.
const FLAT_RAYS: usize = 24;
/// The Doppler shift of the line of sight over the greatest: TR 38.901, 7.7.2.
const LOS_DOPPLER: f64 = 0.7;
/// Taps closer than this share of the inverse bandwidth cannot be told apart and are merged.
const MERGE: f64 = 0.1;

/// SINR grid of the averaging tables: steps of 1/16 dB.
const SINR_START: f64 = -50.0;
const SINR_END: f64 = 70.0;
const SINR_STEPS: f64 = 16.0;

#[derive(Clone, Debug)]
struct PlanTap {
    rays: usize,
    los: bool,
    /// Amplitude of each ray.
    amplitude: f32,
    /// The turn of the tap at each sub-band's centre.
    re: [f32; MAX_SUBBANDS],
    im: [f32; MAX_SUBBANDS],
}

/// What all terminals of one cell share.
#[derive(Clone, Debug)]
pub struct FadingPlan {
    config: FadingConfig,
    subbands: usize,
    cells_per_metre: f64,
    taps: Box<[PlanTap]>,
    phasors: Box<[(f32, f32); PHASORS]>,
    /// log2 of 1 + i/128.
    log2_mantissa: Box<[f32; 129]>,
    /// One falling function of SINR per averaging class.
    averages: Box<[Grid]>,
}

impl FadingPlan {
    /// The tables of one cell.
    ///
    /// Panics where there are no sub-bands or more than 32.
    pub fn new(config: &FadingConfig) -> Arc<Self> {
        let subbands = usize::from(config.subbands);
        assert!(
            (1..=MAX_SUBBANDS).contains(&subbands),
            "fading has 1 to {MAX_SUBBANDS} sub-bands, not {subbands}"
        );
        let mut phasors = Box::new([(0.0, 0.0); PHASORS]);
        for (i, p) in phasors.iter_mut().enumerate() {
            // Centred, so that cutting the low bits of a phase does not turn it.
            let angle = core::f64::consts::TAU * (i as f64 + 0.5) / PHASORS as f64;
            *p = (libm::cos(angle) as f32, libm::sin(angle) as f32);
        }
        let mut log2_mantissa = Box::new([0.0; 129]);
        for (i, v) in log2_mantissa.iter_mut().enumerate() {
            *v = libm::log2(1.0 + i as f64 / 128.0) as f32;
        }
        let grid = |f: &dyn Fn(f64) -> f64| {
            Grid::new(SINR_START, SINR_END, SINR_STEPS, |db| f(from_db(db)))
        };
        let averages = match config.averaging {
            // Falling, as the inverse wants it.
            Averaging::Information => vec![grid(&|x| -libm::log2(1.0 + x))],
            Averaging::Exponential { beta } => {
                beta.iter().map(|b| grid(&|x| libm::exp(-x / b))).collect()
            }
        };
        Arc::new(Self {
            config: *config,
            subbands,
            cells_per_metre: CELLS_PER_WAVE * config.carrier_ghz * 1e9 / LIGHT,
            taps: plan_taps(config),
            phasors,
            log2_mantissa,
            averages: averages.into(),
        })
    }

    /// The parameters it was made from.
    pub fn config(&self) -> &FadingConfig {
        &self.config
    }

    /// 10 log10 of a power by table (error below 1e-4 dB); an empty one gives -150 dB.
    #[inline]
    fn db(&self, power: f32) -> f32 {
        const DB_PER_OCTAVE: f32 = 3.010_3;
        let bits = power.max(1e-15).to_bits();
        let exponent = (bits >> 23) as i32 - 127;
        let i = (bits >> 16) as usize & 127;
        let fraction = (bits & 0xffff) as f32 * (1.0 / 65_536.0);
        let low = self.log2_mantissa[i];
        let mantissa = low + (self.log2_mantissa[i + 1] - low) * fraction;
        DB_PER_OCTAVE * (exponent as f32 + mantissa)
    }

    /// Which averaging table serves `qm` bits per symbol; without one, the modulation usual at `mean_sinr_db`.
    fn class(&self, qm: Option<u8>, mean_sinr_db: f64) -> usize {
        if self.averages.len() == 1 {
            return 0;
        }
        // Mean SINRs at which CQI 7, 10 and 12 of the 256QAM table begin, and the top of 256QAM, rounded.
        let usual = [5.0, 11.0, 20.0, 28.0];
        match qm {
            Some(qm) => usize::from(qm / 2).clamp(1, self.averages.len()) - 1,
            None => usual.iter().filter(|&&x| mean_sinr_db >= x).count(),
        }
    }
}

/// Merges the taps that the bandwidth cannot resolve, normalises their power and turns them to the sub-bands.
fn plan_taps(config: &FadingConfig) -> Box<[PlanTap]> {
    let (listed, scaled) = config.profile.taps();
    let unit_s = if scaled { config.delay_spread_ns } else { 1.0 } * 1e-9;
    // (delay in s, power, line of sight)
    let mut taps: Vec<(f64, f64, bool)> = listed
        .iter()
        .map(|t| (t.delay * unit_s, from_db(t.power_db), t.los))
        .collect();
    taps.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.total_cmp(&b.0)));
    let mut merged: Vec<(f64, f64, bool)> = Vec::new();
    let mut first = 0.0;
    for (delay, power, los) in taps {
        match merged.last_mut() {
            Some(last) if !los && !last.2 && delay - first < MERGE / config.bandwidth_hz => {
                last.0 = (last.0 * last.1 + delay * power) / (last.1 + power);
                last.1 += power;
            }
            _ => {
                first = delay;
                merged.push((delay, power, los));
            }
        }
    }
    let total: f64 = merged.iter().map(|t| t.1).sum();
    let strongest = merged.iter().map(|t| t.1).fold(0.0, f64::max);
    let flat = merged.len() == 1;
    merged
        .into_iter()
        .map(|(delay, power, los)| {
            let rays = match (los, flat) {
                (true, _) => 1,
                (false, true) => FLAT_RAYS,
                (false, false) if power > 0.1 * strongest => STRONG_RAYS,
                (false, false) => WEAK_RAYS,
            };
            let mut tap = PlanTap {
                rays,
                los,
                amplitude: libm::sqrt(power / total / rays as f64) as f32,
                re: [0.0; MAX_SUBBANDS],
                im: [0.0; MAX_SUBBANDS],
            };
            for b in 0..usize::from(config.subbands) {
                let centre = (b as f64 + 0.5) / f64::from(config.subbands) - 0.5;
                let angle = -core::f64::consts::TAU * centre * config.bandwidth_hz * delay;
                tap.re[b] = libm::cos(angle) as f32;
                tap.im[b] = libm::sin(angle) as f32;
            }
            tap
        })
        .collect()
}

/// One plane wave: turns (x 2^32) per cell of the path, and phase at its beginning.
#[derive(Clone, Copy, Debug)]
struct Ray {
    step: u32,
    phase: u32,
}

/// The fading of one terminal in one direction.
#[derive(Clone, Debug)]
pub struct Fading {
    plan: Arc<FadingPlan>,
    rays: Box<[Ray]>,
    /// The cell of the path that `gains_db` belongs to.
    cell: Option<u32>,
    gains_db: [f32; MAX_SUBBANDS],
    /// The last question in this cell: mean SINR and averaging class, and its answer.
    last: Option<(f64, usize, f64)>,
}

impl Fading {
    /// The fading of the terminal that `draw` belongs to.
    pub fn new(plan: &Arc<FadingPlan>, draw: Draw) -> Self {
        let mut rays = Vec::with_capacity(plan.taps.iter().map(|t| t.rays).sum());
        for (t, tap) in (0..).zip(&plan.taps) {
            let draw = draw.fork(t, 0);
            let turn = draw.uniform(0);
            for r in 0..tap.rays {
                // Clarke's model: waves from all sides, one in each of `rays` equal sectors.
                let jitter = draw.uniform(1 + 2 * r as u64);
                let angle = core::f64::consts::TAU * ((r as f64 + jitter) / tap.rays as f64 + turn);
                let doppler = if tap.los {
                    LOS_DOPPLER
                } else {
                    libm::cos(angle)
                };
                rays.push(Ray {
                    step: (doppler * (TURN / CELLS_PER_WAVE)) as i64 as u32,
                    phase: draw.bits(2 + 2 * r as u64) as u32,
                });
            }
        }
        Self {
            plan: Arc::clone(plan),
            rays: rays.into(),
            cell: None,
            gains_db: [0.0; MAX_SUBBANDS],
            last: None,
        }
    }

    /// The complex response at the first `N` sub-bands in one cell of the path.
    fn response_of<const N: usize>(&self, cell: u32) -> ([f32; N], [f32; N]) {
        const SHIFT: u32 = 32 - PHASORS.trailing_zeros();
        let (mut re, mut im) = ([0.0_f32; N], [0.0_f32; N]);
        let mut rays = &self.rays[..];
        for tap in &self.plan.taps {
            let (own, rest) = rays.split_at(tap.rays);
            rays = rest;
            let (mut x, mut y) = (0.0_f32, 0.0_f32);
            for ray in own {
                let phase = ray.phase.wrapping_add(ray.step.wrapping_mul(cell));
                let (c, s) = self.plan.phasors[(phase >> SHIFT) as usize];
                x += c;
                y += s;
            }
            x *= tap.amplitude;
            y *= tap.amplitude;
            // Whole arrays, unused bands included: the compiler turns a fixed length into vector instructions.
            for b in 0..N {
                re[b] += x * tap.re[b] - y * tap.im[b];
                im[b] += x * tap.im[b] + y * tap.re[b];
            }
        }
        (re, im)
    }

    /// Power gains in dB in one cell of the path.
    fn gains_of<const N: usize>(&mut self, cell: u32) {
        let (re, im) = self.response_of::<N>(cell);
        for b in 0..self.plan.subbands {
            self.gains_db[b] = self.plan.db(re[b] * re[b] + im[b] * im[b]);
        }
    }

    fn enter(&mut self, metres: f64) {
        let cell = (metres * self.plan.cells_per_metre) as i64 as u32;
        if self.cell == Some(cell) {
            return;
        }
        match self.plan.subbands {
            1..=4 => self.gains_of::<4>(cell),
            5..=16 => self.gains_of::<16>(cell),
            _ => self.gains_of::<MAX_SUBBANDS>(cell),
        }
        self.cell = Some(cell);
        self.last = None;
    }

    /// The gain over the mean power of each sub-band in dB, `metres` along the path.
    pub fn gains_db(&mut self, metres: f64) -> &[f32] {
        self.enter(metres);
        &self.gains_db[..self.plan.subbands]
    }

    /// The effective SINR in dB, `metres` along the path, of a carrier that has `mean_sinr_db` on average over fading,
    /// for a block of `qm` bits per symbol where that is known.
    pub fn effective_after(&mut self, mean_sinr_db: f64, metres: f64, qm: Option<u8>) -> f64 {
        self.enter(metres);
        let class = self.plan.class(qm, mean_sinr_db);
        if let Some((mean, c, answer)) = self.last
            && mean == mean_sinr_db
            && c == class
        {
            return answer;
        }
        let n = self.plan.subbands;
        let grid = &self.plan.averages[class];
        let sum: f64 = self.gains_db[..n]
            .iter()
            .map(|&g| grid.at(mean_sinr_db + f64::from(g)))
            .sum();
        let answer = grid.falls_to(sum / n as f64);
        self.last = Some((mean_sinr_db, class, answer));
        answer
    }

    /// [`Fading::effective_after`] for a terminal that stands in surroundings that move at the configured speed.
    pub fn effective_sinr_db(&mut self, mean_sinr_db: f64, now: Instant) -> f64 {
        let metres = self.plan.config.speed_mps * now.as_secs_f64();
        self.effective_after(mean_sinr_db, metres, None)
    }

    /// The SINR of each sub-band in dB, in `out`; its length is at least the number of sub-bands, which is returned.
    pub fn subband_sinr_db(&mut self, mean_sinr_db: f64, metres: f64, out: &mut [f64]) -> usize {
        self.enter(metres);
        let n = self.plan.subbands;
        for (out, &g) in out[..n].iter_mut().zip(&self.gains_db[..n]) {
            *out = mean_sinr_db + f64::from(g);
        }
        n
    }

    /// The tables that this terminal shares.
    pub fn plan(&self) -> &FadingPlan {
        &self.plan
    }
}
