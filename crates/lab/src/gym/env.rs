//! One world, decision by decision.

use std::sync::Arc;

use slackwater_control::phy::ebb::{Ebb, Oracle, Params};
use slackwater_control::phy::observe::{FEATURES, INPUTS};
use slackwater_control::phy::rule::Rule2;
use slackwater_control::phy::track::Source;
use slackwater_control::phy::{Action, ActionSet, Look, ObsMode, Policy, Seat};
use slackwater_control::registry::{self, AnyController, Config as ControllerConfig};
use slackwater_core::{Duration, FlowId, Instant};
use slackwater_scenario::build;
use slackwater_sim::{CELL_DOWN, NoClock, World};

use super::domain::{Domain, DomainError, Recorded, SELF};
use super::episode::{Bases, Episode};
use super::listen::{Listener, Totals};
use super::reward::{Reward, Window};

/// Most numbers of an observation.
pub const WIDEST: usize = FEATURES;
/// Windows of reward reach back over at most so many decisions.
const BACK: usize = 64;
/// A world whose sender does not decide for this long has no more to tell.
const SILENT: Duration = Duration::from_secs(10);
/// Mixes the number of an attempt into the seed of an episode whose link never let the sender begin.
const ANOTHER: u64 = 0x9e37_79b9_7f4a_7c15;

/// What an agent sees and how it answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// The poster's: five inputs, a relative change of the window (Tyrus, section 2).
    Relative {
        /// How the inputs are scaled.
        obs: ObsMode,
        /// The changes.
        actions: ActionSet,
    },
    /// A correction of rule v2: 14 features, the logarithm of a factor.
    Residual {
        /// The rule's margin.
        z: f64,
        /// Largest size of the logarithm.
        bound: f64,
    },
}

impl Scheme {
    /// Length of an observation.
    pub const fn width(&self) -> usize {
        match self {
            Self::Relative { .. } => INPUTS,
            Self::Residual { .. } => FEATURES,
        }
    }

    /// Writes what the agent sees to the front of `out`.
    #[inline]
    pub fn observe(&self, look: &Look, out: &mut [f32]) {
        match self {
            Self::Relative { obs, .. } => out[..INPUTS].copy_from_slice(&look.inputs(*obs)),
            Self::Residual { .. } => out[..FEATURES].copy_from_slice(&look.features()),
        }
    }
}

/// A domain that was checked and read, ready for worlds.
#[derive(Clone, Debug)]
pub struct Ground {
    domain: Domain,
    reward: Reward,
    bases: Bases,
    traces: Vec<Recorded>,
}

impl Ground {
    /// Reads what `domain` names.
    ///
    /// # Errors
    /// Where a value makes no sense or a trace cannot be read.
    pub fn new(domain: Domain) -> Result<Self, DomainError> {
        domain.check()?;
        let traces = domain.read_traces()?;
        let reward = domain
            .reward
            .parse()
            .map_err(|e| DomainError::new("reward", e, "the name of a reward"))?;
        let ground = Self {
            domain,
            reward,
            bases: Bases::default(),
            traces,
        };
        // Names of controllers are checked once here, not in the middle of a training.
        for name in ground.domain.against.iter().filter(|n| *n != SELF) {
            let config = ControllerConfig::new(1448, slackwater_core::Draw::new(0));
            registry::build(name, &config)
                .map_err(|e| DomainError::new("against", format!("{name:?}"), e.to_string()))?;
        }
        Ok(ground)
    }

    /// The domain.
    pub const fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The episode that `seed` draws.
    ///
    /// # Errors
    /// Where the domain contradicts itself.
    pub fn episode(&self, seed: u64) -> Result<Episode, DomainError> {
        Episode::draw(&self.domain, &self.bases, &self.traces, seed)
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(u64::from(self.domain.interval_ms))
    }

    /// The rates' source for a sender in this domain.
    pub(super) fn source(&self) -> Source {
        if self.domain.tbs == "none" {
            Source::Acks
        } else {
            Source::Phy
        }
    }
}

/// Who decides for the learner's flow.
#[derive(Clone, Debug)]
pub enum Actor {
    /// A policy, deployed.
    Policy(Arc<Policy>),
    /// A controller of the registry.
    Named(String),
    /// An agent outside.
    Seat(Seat, Scheme),
    /// `ebb`, and what looks on at each report.
    Watched(Oracle),
}

/// The world of `episode` with `actor` at its first flow.
pub(super) fn world(
    ground: &Ground,
    episode: &Episode,
    actor: &Actor,
) -> Result<World<Listener>, DomainError> {
    let mut scenario = episode.scenario.clone();
    // The name decides what is on the path for it: a feed of transport blocks.
    let (first, others) = match actor {
        Actor::Named(name) => (name.as_str(), name.as_str()),
        Actor::Policy(_) => ("tyrus", "tyrus"),
        Actor::Seat(..) => ("tyrus", "rule2"),
        Actor::Watched(_) => ("ebb", "ebb"),
    };
    first.clone_into(&mut scenario.flows[0].controller);
    for &flow in &episode.own {
        others.clone_into(&mut scenario.flows[flow].controller);
    }
    let mut controller = |flow: usize, config: &ControllerConfig| -> Option<AnyController> {
        match actor {
            Actor::Policy(policy) if flow == 0 || episode.own.contains(&flow) => {
                Some(registry::tyrus(policy.clone(), config))
            }
            Actor::Seat(seat, scheme) if flow == 0 => {
                let z = match scheme {
                    Scheme::Residual { z, .. } => *z,
                    Scheme::Relative { .. } => Rule2::PHY.z,
                };
                let base = Rule2 {
                    z,
                    source: ground.source(),
                    ..Rule2::PHY
                };
                Some(registry::seated(
                    seat.clone(),
                    ground.interval(),
                    base,
                    config,
                ))
            }
            Actor::Watched(oracle) if flow == 0 => {
                let sender = Ebb::new(Params::DEFAULT, config).with_oracle(oracle.clone());
                Some(AnyController::Ebb(Box::new(sender)))
            }
            _ => None,
        }
    };
    let (world, _) = build::build_given(
        &scenario,
        episode.seed,
        None,
        |layout| {
            let index = if layout.cell { CELL_DOWN } else { 0 };
            Listener::new(FlowId(0), layout.bottleneck, index, episode.warm)
        },
        &mut controller,
    )
    .map_err(|e| DomainError::new("episode", e.to_string(), "parts that fit together"))?;
    Ok(world)
}

/// Counts at one decision.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Instant,
    totals: Totals,
    acked: u64,
    lost: u64,
    rtt_sum: f64,
    rtts: u32,
}

/// What one step gives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stepped {
    /// The reward.
    pub reward: f64,
    /// The episode was cut off here; its value goes on.
    pub truncated: bool,
}

/// An environment.
pub struct Env {
    ground: Arc<Ground>,
    scheme: Scheme,
    seat: Seat,
    world: World<Listener>,
    look: Look,
    share: f64,
    /// Most that a hop before the bottleneck carries, Mbit/s.
    hop: f64,
    seed: u64,
    decisions: u32,
    marks: [Mark; BACK],
}

impl Env {
    /// An environment at the start of the episode that `seed` draws.
    ///
    /// # Errors
    /// Where the domain contradicts itself.
    pub fn new(ground: Arc<Ground>, scheme: Scheme, seed: u64) -> Result<Self, DomainError> {
        for attempt in 0..16u64 {
            let drawn = seed ^ attempt.wrapping_mul(ANOTHER);
            let episode = ground.episode(drawn)?;
            let seat = Seat::default();
            let mut world = world(&ground, &episode, &Actor::Seat(seat.clone(), scheme))?;
            let first = next_look(&mut world, &seat, Instant::ZERO);
            if let Some(look) = first {
                let mut env = Self {
                    ground,
                    scheme,
                    seat,
                    world,
                    look,
                    share: episode.share,
                    hop: episode.hop.unwrap_or(f64::INFINITY),
                    seed,
                    decisions: 0,
                    marks: [Mark::default(); BACK],
                };
                env.mark();
                return Ok(env);
            }
        }
        let found = format!("seed {seed}: sixteen links on which no sender comes to a decision");
        Err(DomainError::new(
            "domain",
            found,
            "links that carry something",
        ))
    }

    /// Starts the episode that `seed` draws.
    ///
    /// # Errors
    /// As [`Env::new`].
    pub fn reset(&mut self, seed: u64) -> Result<(), DomainError> {
        *self = Self::new(self.ground.clone(), self.scheme, seed)?;
        Ok(())
    }

    /// What the agent sees now, to the front of `out`.
    #[inline]
    pub fn observe(&self, out: &mut [f32]) {
        self.scheme.observe(&self.look, out);
    }

    /// What was seen at the present decision, unscaled.
    pub const fn look(&self) -> &Look {
        &self.look
    }

    /// Seed of the episode.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// What the agent sees and does.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Decisions taken in this episode.
    pub const fn decisions(&self) -> u32 {
        self.decisions
    }

    /// Takes `action` and goes on to the next decision.
    pub fn step(&mut self, action: Action) -> Stepped {
        self.seat.act(action);
        let seen = next_look(
            &mut self.world,
            &self.seat,
            self.look.at + self.ground.interval(),
        );
        if let Some(look) = seen {
            self.look = look;
        }
        self.decisions += 1;
        self.mark();
        let truncated = seen.is_none() || self.decisions >= self.ground.domain.decisions;
        Stepped {
            reward: self.ground.reward.of(&self.window()),
            truncated,
        }
    }

    /// Remembers the counts of this decision.
    fn mark(&mut self) {
        let n = self.decisions as usize;
        let before = if n == 0 {
            Mark::default()
        } else {
            self.marks[(n - 1) % BACK]
        };
        self.marks[n % BACK] = Mark {
            at: self.look.at,
            totals: self.world.recorder().totals(),
            acked: before.acked + self.look.delivered.get(),
            lost: before.lost + self.look.lost.get(),
            rtt_sum: before.rtt_sum + self.look.rtt_sum,
            rtts: before.rtts + self.look.rtts,
        };
    }

    /// What happened within the last round trip, or since the last decision where that is longer (Tyrus, section 2:
    /// "All of them are taken within one RTT").
    pub fn window(&self) -> Window {
        let n = self.decisions as usize;
        let end = self.marks[n % BACK];
        let reach = self
            .look
            .srtt
            .as_nanos()
            .div_ceil(self.ground.interval().as_nanos());
        let back = (reach.max(1) as usize).min(BACK - 1).min(n.max(1));
        let from = self.marks[(n - back.min(n)) % BACK];
        let seconds = end.at.since(from.at).as_secs_f64().max(1e-3);
        let (a, b) = (from.totals, end.totals);
        let read = b.read_at.since(a.read_at).as_secs_f64();
        let capacity_mbps = if read > 0.0 {
            b.capacity.saturating_sub(a.capacity) as f64 * 8e-6 / read
        } else {
            0.0
        };
        let (acked, lost) = (end.acked - from.acked, end.lost - from.lost);
        let rtts = end.rtts - from.rtts;
        let rtt_ms = if rtts > 0 {
            (end.rtt_sum - from.rtt_sum) * 1e3 / f64::from(rtts)
        } else {
            // Nothing came back: the last RTT, and it grows.
            let since = self.look.signals.min_rtt + self.look.signals.queueing + seconds;
            since * 1e3
        };
        Window {
            mbps: (b.bytes - a.bytes) as f64 * 8e-6 / seconds,
            capacity_mbps: capacity_mbps.min(self.hop) * self.share,
            rtt_ms,
            queueing_ms: (rtt_ms - self.look.signals.min_rtt * 1e3).max(0.0),
            loss: lost as f64 / (acked + lost).max(1) as f64,
        }
    }
}

/// Runs `world` to the sender's next look, which is expected at `due`.
fn next_look(world: &mut World<Listener>, seat: &Seat, due: Instant) -> Option<Look> {
    world.run_until(due, &mut NoClock);
    let mut look = seat.take();
    let end = due + SILENT;
    while look.is_none() && world.run_event(end, &mut NoClock) {
        look = seat.take();
    }
    look
}
