//! Path loss, line of sight and shadowing: log-distance and TR 38.901, 7.4.
//!
//! Distances and heights in metres, carriers in GHz, losses in dB. `d` is the horizontal distance.

use slackwater_core::Draw;
use slackwater_schema::units::{Db, Metres};
use slackwater_schema::{choice, field::Field as _, section, tagged};

use super::math::Cosine;
use super::mobility::Position;

#[cfg(test)]
mod tests;

/// The speed of light as TR 38.901 takes it, m/s.
pub const LIGHT: f64 = 3.0e8;

/// A deployment of TR 38.901.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deployment {
    /// Urban macro.
    Uma,
    /// Urban micro, street canyon.
    Umi,
    /// Rural macro.
    Rma,
    /// Indoor hotspot, mixed office.
    InhMixed,
    /// Indoor hotspot, open office.
    InhOpen,
}

choice! {
    /// Line of sight.
    pub enum Sight {
        /// Line of sight.
        Los = "los",
        /// No line of sight.
        Nlos = "nlos",
        /// By the deployment's probability at each place, correlated between near places.
        Drawn = "drawn",
    }
}

section! {
    /// Received power falls by `10 * exponent` dB per decade of distance.
    pub struct LogDistance {
        /// Path-loss exponent.
        #[within(1.0, 8.0)]
        pub exponent: f64 = 3.0,
        /// Loss at 1 m.
        #[within(Db(0.0), Db(200.0))]
        pub reference: Db = Db(38.6),
    }
}
section! {
    /// A scenario of TR 38.901, table 7.4.1-1.
    pub struct Tr38901 {
        /// Line of sight or not.
        pub condition: Sight = Sight::Los,
        /// Height of the base station; left out, the scenario's own (UMa 25 m, UMi 10 m, RMa 35 m, InH 3 m).
        #[within(Metres(1.0), Metres(150.0))]
        pub bs_height: Option<Metres> = None,
        /// Height of the UE.
        #[within(Metres(1.0), Metres(22.5))]
        pub ue_height: Metres = Metres(1.5),
    }
}
tagged! {
    /// Path loss.
    pub enum PathLoss by "model" {
        /// Log-distance.
        LogDistance(LogDistance) = "log-distance",
        /// Urban macro.
        Uma(Tr38901) = "uma",
        /// Urban micro, street canyon.
        Umi(Tr38901) = "umi",
        /// Rural macro.
        Rma(Tr38901) = "rma",
        /// Indoor office.
        Inh(Tr38901) = "inh",
        /// Indoor office without inner walls (open office).
        InhOpen(Tr38901) = "inh-open",
    }
}

impl Default for PathLoss {
    /// The scenario that ns-3 was measured in: 38.6 dB at 1 m (free space at 2.0 GHz), exponent 3.
    fn default() -> Self {
        Self::LogDistance(LogDistance::example())
    }
}

/// A model of TR 38.901 at one carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Model {
    /// The deployment.
    deployment: Deployment,
    /// Line of sight.
    sight: Sight,
    /// Carrier frequency in GHz, 0.5 to 100.
    carrier_ghz: f64,
    /// Base station height in m.
    bs_height_m: f64,
    /// Terminal height in m.
    ut_height_m: f64,
}

impl Model {
    fn d3(&self, d: f64) -> f64 {
        let dh = self.bs_height_m - self.ut_height_m;
        libm::sqrt(d * d + dh * dh)
    }

    /// 4 h'BS h'UT f / c with an effective environment height of 1 m (note 1 of table 7.4.1-1; the greater heights that
    /// it draws for terminals above 13 m are left out).
    fn breakpoint(&self) -> f64 {
        4.0 * (self.bs_height_m - 1.0) * (self.ut_height_m - 1.0) * self.carrier_ghz * 1e9 / LIGHT
    }

    /// Two slopes of the urban models: `near` dB per decade, then 40, with `step` at the break point.
    fn urban_los(&self, d: f64, at_1m: f64, near: f64, step: f64) -> f64 {
        let fc = 20.0 * libm::log10(self.carrier_ghz);
        let log_d3 = libm::log10(self.d3(d));
        let bp = self.breakpoint();
        if d <= bp {
            return at_1m + near * log_d3 + fc;
        }
        let dh = self.bs_height_m - self.ut_height_m;
        at_1m + 40.0 * log_d3 + fc - step * libm::log10(bp * bp + dh * dh)
    }

    /// The rural model with line of sight, for an average building height of 5 m.
    fn rma_los(&self, d: f64) -> f64 {
        const H: f64 = 5.0;
        let h_172 = libm::pow(H, 1.72);
        let near = |x: f64| {
            20.0 * libm::log10(40.0 * core::f64::consts::PI * x * self.carrier_ghz / 3.0)
                + (0.03 * h_172).min(10.0) * libm::log10(x)
                - (0.044 * h_172).min(14.77)
                + 0.002 * libm::log10(H) * x
        };
        let d3 = self.d3(d);
        let bp = self.rma_breakpoint();
        if d <= bp {
            near(d3)
        } else {
            near(bp) + 40.0 * libm::log10(d3 / bp)
        }
    }

    fn rma_breakpoint(&self) -> f64 {
        core::f64::consts::TAU * self.bs_height_m * self.ut_height_m * self.carrier_ghz * 1e9
            / LIGHT
    }

    /// The rural model without line of sight, for streets of 20 m between buildings of 5 m.
    fn rma_nlos(&self, d: f64) -> f64 {
        const H: f64 = 5.0;
        const W: f64 = 20.0;
        let log_bs = libm::log10(self.bs_height_m);
        let h_ratio = H / self.bs_height_m;
        let log_ut = libm::log10(11.75 * self.ut_height_m);
        161.04 - 7.1 * libm::log10(W) + 7.5 * libm::log10(H)
            - (24.37 - 3.7 * h_ratio * h_ratio) * log_bs
            + (43.42 - 3.1 * log_bs) * (libm::log10(self.d3(d)) - 3.0)
            + 20.0 * libm::log10(self.carrier_ghz)
            - (3.2 * log_ut * log_ut - 4.97)
    }

    /// Mean loss in dB at horizontal distance `d`: TR 38.901, table 7.4.1-1. Distances below 1 m count as 1 m.
    fn loss_db(&self, d: f64, los: bool) -> f64 {
        let d = d.max(1.0);
        let log_fc = libm::log10(self.carrier_ghz);
        let log_d3 = || libm::log10(self.d3(d));
        let (seen, hidden) = match self.deployment {
            Deployment::Uma => (
                self.urban_los(d, 28.0, 22.0, 9.0),
                13.54 + 39.08 * log_d3() + 20.0 * log_fc - 0.6 * (self.ut_height_m - 1.5),
            ),
            Deployment::Umi => (
                self.urban_los(d, 32.4, 21.0, 9.5),
                35.3 * log_d3() + 22.4 + 21.3 * log_fc - 0.3 * (self.ut_height_m - 1.5),
            ),
            Deployment::Rma => (self.rma_los(d), self.rma_nlos(d)),
            Deployment::InhMixed | Deployment::InhOpen => (
                32.4 + 17.3 * log_d3() + 20.0 * log_fc,
                38.3 * log_d3() + 17.30 + 24.9 * log_fc,
            ),
        };
        if los { seen } else { seen.max(hidden) }
    }

    /// The probability of line of sight at horizontal distance `d`: TR 38.901, table 7.4.2-1.
    fn los_probability(&self, d: f64) -> f64 {
        let decay = |from: f64, scale: f64| libm::exp(-(d - from) / scale);
        match self.deployment {
            Deployment::Uma if d > 18.0 => {
                let near = 18.0 / d + libm::exp(-d / 63.0) * (1.0 - 18.0 / d);
                let high = if self.ut_height_m <= 13.0 {
                    0.0
                } else {
                    libm::pow((self.ut_height_m - 13.0) / 10.0, 1.5)
                };
                let x = d / 100.0;
                (near * (1.0 + high * 1.25 * x * x * x * libm::exp(-d / 150.0))).min(1.0)
            }
            Deployment::Umi if d > 18.0 => 18.0 / d + libm::exp(-d / 36.0) * (1.0 - 18.0 / d),
            Deployment::Rma if d > 10.0 => decay(10.0, 1000.0),
            Deployment::InhMixed if d >= 6.5 => 0.32 * decay(6.5, 32.6),
            Deployment::InhMixed if d > 1.2 => decay(1.2, 4.7),
            Deployment::InhOpen if d > 49.0 => 0.54 * decay(49.0, 211.7),
            Deployment::InhOpen if d > 5.0 => decay(5.0, 70.8),
            _ => 1.0,
        }
    }

    /// Standard deviation of shadowing in dB at horizontal distance `d`: TR 38.901, table 7.4.1-1.
    fn shadow_sigma_db(&self, d: f64, los: bool) -> f64 {
        match (self.deployment, los) {
            (Deployment::Uma | Deployment::Umi, true) => 4.0,
            (Deployment::Umi, false) => 7.82,
            (Deployment::Rma, true) if d <= self.rma_breakpoint() => 4.0,
            (Deployment::Uma, false) | (Deployment::Rma, true) => 6.0,
            (Deployment::Rma, false) => 8.0,
            (Deployment::InhMixed | Deployment::InhOpen, true) => 3.0,
            (Deployment::InhMixed | Deployment::InhOpen, false) => 8.03,
        }
    }

    /// The distance in m over which shadowing decorrelates to 1/e: TR 38.901, table 7.5-6.
    const fn shadow_correlation_m(&self, los: bool) -> f64 {
        match (self.deployment, los) {
            (Deployment::Uma | Deployment::Rma, true) => 37.0,
            (Deployment::Uma, false) => 50.0,
            (Deployment::Umi | Deployment::InhMixed | Deployment::InhOpen, true) => 10.0,
            (Deployment::Umi, false) => 13.0,
            (Deployment::Rma, false) => 120.0,
            (Deployment::InhMixed | Deployment::InhOpen, false) => 6.0,
        }
    }
}

/// Shadowing that is not the deployment's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowing {
    /// Standard deviation in dB.
    pub sigma_db: f64,
    /// Distance in m over which it decorrelates to 1/e.
    pub correlation_m: f64,
}

/// Waves of a [`Field`].
const WAVES: usize = 48;

/// A Gaussian field over the plane with zero mean, unit variance and correlation exp(-distance / `correlation_m`): a
/// function of the place alone, so two visits find the same value.
///
/// A sum of plane waves whose wave numbers follow the spectrum of that correlation in two dimensions,
/// k d^2 / (1 + k^2 d^2)^(3/2), drawn by inversion.
#[derive(Clone, Debug)]
pub struct Field {
    /// Turns x 2^32 per metre along x and y, and the phase.
    waves: Box<[(f64, f64, u32); WAVES]>,
}

impl Field {
    /// The field of one draw.
    pub fn new(correlation_m: f64, draw: Draw) -> Self {
        // Directions evenly over half a turn, radii by a golden-ratio sequence: each field covers the spectrum well.
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let (turn, shift) = (draw.uniform(0), draw.uniform(1));
        let mut waves = Box::new([(0.0, 0.0, 0); WAVES]);
        for (i, wave) in waves.iter_mut().enumerate() {
            let angle = core::f64::consts::PI * (i as f64 + turn) / WAVES as f64;
            let u = (i as f64 * GOLDEN + shift) % 1.0;
            let rest = (1.0 - u).max(1e-3);
            let k = libm::sqrt(1.0 / (rest * rest) - 1.0) / correlation_m;
            let turns = k / core::f64::consts::TAU * 4_294_967_296.0;
            *wave = (
                turns * libm::cos(angle),
                turns * libm::sin(angle),
                draw.bits(2 + i as u64) as u32,
            );
        }
        Self { waves }
    }

    /// The value at a place.
    pub fn at(&self, p: Position, cosine: &Cosine) -> f64 {
        let sum: f64 = self
            .waves
            .iter()
            .map(|&(kx, ky, phase)| {
                // The cast keeps the turns' fraction: the low 32 bits of a 64-bit count.
                cosine.at(((kx * p.x + ky * p.y) as i64 as u32).wrapping_add(phase))
            })
            .sum();
        sum * libm::sqrt(2.0 / WAVES as f64)
    }
}

/// The share of a standard normal variable below `x`.
fn normal_share(x: f64) -> f64 {
    0.5 * libm::erfc(-x / core::f64::consts::SQRT_2)
}

/// The distance in m over which line of sight decorrelates: TR 38.901, table 7.6.3.1-2.
const fn sight_correlation_m(deployment: Deployment) -> f64 {
    match deployment {
        Deployment::Uma | Deployment::Umi => 50.0,
        Deployment::Rma => 60.0,
        Deployment::InhMixed | Deployment::InhOpen => 10.0,
    }
}

/// The mean loss by distance.
#[derive(Clone, Debug)]
enum Mean {
    LogDistance(LogDistance),
    Tr38901(Model),
}

impl Mean {
    /// The loss of `path_loss` at `carrier_ghz`. A base station has its deployment's height (TR 38.901, tables 7.2-1 to 7.2-3)
    /// unless told otherwise.
    fn of(path_loss: &PathLoss, carrier_ghz: f64) -> Self {
        let (deployment, own_height, config) = match path_loss {
            PathLoss::LogDistance(l) => return Self::LogDistance(l.clone()),
            PathLoss::Uma(t) => (Deployment::Uma, 25.0, t),
            PathLoss::Umi(t) => (Deployment::Umi, 10.0, t),
            PathLoss::Rma(t) => (Deployment::Rma, 35.0, t),
            PathLoss::Inh(t) => (Deployment::InhMixed, 3.0, t),
            PathLoss::InhOpen(t) => (Deployment::InhOpen, 3.0, t),
        };
        Self::Tr38901(Model {
            deployment,
            sight: config.condition,
            carrier_ghz,
            bs_height_m: config.bs_height.map_or(own_height, Metres::get),
            ut_height_m: config.ue_height.get(),
        })
    }
}

/// The large-scale loss of one terminal: mean loss, line of sight and shadowing by place.
#[derive(Clone, Debug)]
pub struct LargeScale {
    mean: Mean,
    sight: Option<Field>,
    /// Shadowing with and without line of sight; the log-distance model has the first alone.
    shadows: Option<(Field, Option<Field>)>,
    sigma_db: Option<f64>,
}

impl LargeScale {
    /// The loss of one terminal at `carrier_ghz`. `shadowing`: none, the deployment's own, or the given one.
    pub fn new(
        path_loss: &PathLoss,
        carrier_ghz: f64,
        shadowing: &ShadowingKind,
        draw: Draw,
    ) -> Self {
        let field = |correlation, purpose| Field::new(correlation, draw.fork(purpose, 0));
        let mean = Mean::of(path_loss, carrier_ghz);
        let model = match &mean {
            Mean::Tr38901(model) => Some(model),
            Mean::LogDistance(_) => None,
        };
        let (shadows, sigma_db) = match (shadowing, model) {
            (ShadowingKind::Given(s), _) => {
                (Some((field(s.correlation_m, 1), None)), Some(s.sigma_db))
            }
            (ShadowingKind::Deployment, Some(m)) => (
                Some((
                    field(m.shadow_correlation_m(true), 1),
                    Some(field(m.shadow_correlation_m(false), 2)),
                )),
                None,
            ),
            (ShadowingKind::None, _) | (ShadowingKind::Deployment, None) => (None, None),
        };
        let sight = model
            .filter(|m| m.sight == Sight::Drawn)
            .map(|m| field(sight_correlation_m(m.deployment), 3));
        Self {
            mean,
            sight,
            shadows,
            sigma_db,
        }
    }

    /// Whether the terminal sees the base station from `p`.
    pub fn los(&self, p: Position, cosine: &Cosine) -> bool {
        match &self.mean {
            Mean::LogDistance(_) => false,
            Mean::Tr38901(m) => match (m.sight, &self.sight) {
                (Sight::Drawn, Some(field)) => {
                    normal_share(field.at(p, cosine)) < m.los_probability(p.distance())
                }
                (sight, _) => sight == Sight::Los,
            },
        }
    }

    /// The loss in dB at `p`, shadowing included.
    pub fn loss_db(&self, p: Position, cosine: &Cosine) -> f64 {
        let d = p.distance();
        let los = self.los(p, cosine);
        let (mean, own_sigma) = match &self.mean {
            Mean::LogDistance(l) => (
                l.reference.0 + 10.0 * l.exponent * libm::log10(d.max(1.0)),
                0.0,
            ),
            Mean::Tr38901(m) => (m.loss_db(d, los), m.shadow_sigma_db(d, los)),
        };
        let shadow = self.shadows.as_ref().map_or(0.0, |(seen, hidden)| {
            let field = if los {
                seen
            } else {
                hidden.as_ref().unwrap_or(seen)
            };
            field.at(p, cosine) * self.sigma_db.unwrap_or(own_sigma)
        });
        mean + shadow
    }
}

/// Which shadowing applies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ShadowingKind {
    /// None.
    #[default]
    None,
    /// That of the TR 38.901 deployment; the log-distance model has none.
    Deployment,
    /// This one.
    Given(Shadowing),
}
