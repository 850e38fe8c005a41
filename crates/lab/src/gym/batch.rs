//! Many environments on all cores.

use std::sync::{Arc, Mutex, PoisonError};

use slackwater_control::phy::{Action, ActionSet, Policy};
use slackwater_core::Draw;

use super::domain::DomainError;
use super::env::{Env, Ground, Scheme, WIDEST};
use crate::parallel;

/// Fewer steps than this on each thread cost less than starting it.
const WORTH_A_THREAD: usize = 16;

/// Environments in lock step. Environment i plays the episodes `seed + i`, `seed + i + n`, and so on for n environments,
/// whatever the number of threads.
pub struct Batch {
    envs: Vec<Slot>,
    ground: Arc<Ground>,
    scheme: Scheme,
    jobs: usize,
}

struct Slot {
    env: Env,
    next_seed: u64,
    /// Rewards so far, of this episode.
    sum: f64,
}

/// One step of all environments.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Observations after it, of the next episode where one ended; `[environment][input]`.
    pub obs: Vec<f32>,
    /// Rewards.
    pub rewards: Vec<f32>,
    /// Where an episode was cut off.
    pub truncated: Vec<bool>,
    /// The last observations of episodes that were cut off; zero elsewhere.
    pub last: Vec<f32>,
}

/// Trajectories of all environments, `[environment][step]`.
#[derive(Clone, Debug, Default)]
pub struct Rollout {
    /// Observations before each action, `[environment][step][input]`.
    pub obs: Vec<f32>,
    /// Actions: numbers of the set, or logarithms.
    pub actions: Vec<f32>,
    /// Logarithms of their probabilities.
    pub log_probs: Vec<f32>,
    /// Rewards.
    pub rewards: Vec<f32>,
    /// Where an episode was cut off after the step.
    pub truncated: Vec<bool>,
    /// Observations after each step (those of the ended episode where one ended), `[environment][step][input]`.
    pub next: Vec<f32>,
    /// Sums of rewards of the episodes that ended, by environment and time.
    pub returns: Vec<f64>,
}

impl Batch {
    /// `n` environments on up to `jobs` threads.
    ///
    /// # Errors
    /// Where the domain contradicts itself.
    pub fn new(
        ground: Arc<Ground>,
        scheme: Scheme,
        n: usize,
        seed: u64,
        jobs: usize,
    ) -> Result<Self, DomainError> {
        let made = parallel::map(n, jobs, |i| {
            let first = seed.wrapping_add(i as u64);
            Env::new(ground.clone(), scheme, first).map(|env| Slot {
                env,
                next_seed: first.wrapping_add(n as u64),
                sum: 0.0,
            })
        });
        let envs = made.into_iter().collect::<Result<_, _>>()?;
        Ok(Self {
            envs,
            ground,
            scheme,
            jobs,
        })
    }

    /// Number of environments.
    pub fn len(&self) -> usize {
        self.envs.len()
    }

    /// True without environments.
    pub fn is_empty(&self) -> bool {
        self.envs.is_empty()
    }

    /// What the agents see and do.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Starts anew, environment i with the episode `seeds[i]`.
    ///
    /// # Errors
    /// Where the domain contradicts itself.
    pub fn reset(&mut self, seeds: &[u64]) -> Result<(), DomainError> {
        let n = self.envs.len() as u64;
        let ground = &self.ground;
        let scheme = self.scheme;
        let results = each(&mut self.envs, self.jobs, |i, slot| {
            slot.env = Env::new(ground.clone(), scheme, seeds[i])?;
            slot.next_seed = seeds[i].wrapping_add(n);
            slot.sum = 0.0;
            Ok(())
        });
        results.into_iter().collect()
    }

    /// What the agents see, `[environment][input]`.
    pub fn observations(&self) -> Vec<f32> {
        let width = self.scheme.width();
        let mut out = vec![0.0; width * self.envs.len()];
        for (slot, out) in self.envs.iter().zip(out.chunks_exact_mut(width)) {
            slot.env.observe(out);
        }
        out
    }

    /// Takes an action in each environment; where an episode ends the next begins.
    ///
    /// # Errors
    /// Where the domain contradicts itself.
    pub fn step(&mut self, actions: &[Action]) -> Result<Steps, DomainError> {
        let width = self.scheme.width();
        let jobs = self.jobs.min(self.envs.len().div_ceil(WORTH_A_THREAD));
        let n = self.envs.len();
        let stepped = each(&mut self.envs, jobs, |i, slot| {
            let mut last = [0f32; WIDEST];
            let stepped = slot.env.step(actions[i]);
            if stepped.truncated {
                slot.env.observe(&mut last);
                slot.restart(n)?;
            }
            Ok((stepped, last))
        });
        let mut out = Steps::default();
        for result in stepped {
            let (stepped, last) = result?;
            out.rewards.push(stepped.reward as f32);
            out.truncated.push(stepped.truncated);
            out.last.extend(&last[..width]);
        }
        out.obs = self.observations();
        Ok(out)
    }

    /// Plays `steps` decisions of `policy` in each environment, with actions drawn by its outputs' softmax; `seed` names the
    /// draws.
    ///
    /// # Errors
    /// Where `policy` is none of actions, or its set or scale is not that of the environments.
    pub fn rollout(
        &mut self,
        policy: &Policy,
        steps: usize,
        seed: u64,
    ) -> Result<Rollout, DomainError> {
        let Scheme::Relative { obs: mode, actions } = self.scheme else {
            let expected = "a policy of relative actions";
            return Err(DomainError::new(
                "policy",
                "a scheme of residuals",
                expected,
            ));
        };
        let fits = policy.mlp().filter(|(_, obs)| *obs == mode);
        let Some((net, _)) = fits.filter(|_| policy.actions() == Some(actions)) else {
            let expected = format!("obs {} and actions {}", mode.name(), actions.name());
            return Err(DomainError::new(
                "policy",
                "another kind of policy",
                expected,
            ));
        };
        let ratios = actions.log_ratios();
        let draw = Draw::new(seed);
        let width = self.scheme.width();
        let n = self.envs.len();
        let parts = each(&mut self.envs, self.jobs, |i, slot| {
            let draw = draw.fork(ROLLOUT, i as u64);
            let mut part = Rollout {
                obs: Vec::with_capacity(steps * width),
                next: Vec::with_capacity(steps * width),
                ..Rollout::default()
            };
            for t in 0..steps {
                let x = slot.env.look().inputs(mode);
                let out = net.forward(&x);
                let (action, log_prob) = sample(&out[..ratios.len()], draw.uniform(t as u64));
                part.obs.extend(x);
                part.actions.push(action as f32);
                part.log_probs.push(log_prob);
                let stepped = slot.env.step(Action::LogRatio(ratios[action]));
                slot.sum += stepped.reward;
                part.rewards.push(stepped.reward as f32);
                part.truncated.push(stepped.truncated);
                part.next.extend(slot.env.look().inputs(mode));
                if stepped.truncated {
                    part.returns.push(slot.sum);
                    slot.restart(n)?;
                }
            }
            Ok(part)
        });
        let mut all = Rollout::default();
        for part in parts {
            let part = part?;
            all.obs.extend(part.obs);
            all.actions.extend(part.actions);
            all.log_probs.extend(part.log_probs);
            all.rewards.extend(part.rewards);
            all.truncated.extend(part.truncated);
            all.next.extend(part.next);
            all.returns.extend(part.returns);
        }
        Ok(all)
    }
}

/// Purpose of a rollout's draws.
const ROLLOUT: u64 = 0x6779_6d03;

impl Slot {
    fn restart(&mut self, n: usize) -> Result<(), DomainError> {
        self.env.reset(self.next_seed)?;
        self.next_seed = self.next_seed.wrapping_add(n as u64);
        self.sum = 0.0;
        Ok(())
    }
}

/// The number at `u` of the outputs' softmax, and the logarithm of its probability.
fn sample(out: &[f32], u: f64) -> (usize, f32) {
    let most = out.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut weights = [0f64; slackwater_control::phy::action::MAX_ACTIONS];
    let mut total = 0.0;
    for (w, v) in weights.iter_mut().zip(out) {
        *w = libm::exp(f64::from(v - most));
        total += *w;
    }
    let mut left = u * total;
    let mut chosen = out.len() - 1;
    for (i, w) in weights[..out.len()].iter().enumerate() {
        if left < *w {
            chosen = i;
            break;
        }
        left -= w;
    }
    (chosen, libm::log(weights[chosen] / total) as f32)
}

/// Applies `f` to each of `all` on up to `jobs` threads; results come in order.
fn each<T: Send, R: Send>(
    all: &mut [T],
    jobs: usize,
    f: impl Fn(usize, &mut T) -> R + Sync,
) -> Vec<R> {
    if jobs <= 1 {
        return all.iter_mut().enumerate().map(|(i, t)| f(i, t)).collect();
    }
    let cells: Vec<Mutex<&mut T>> = all.iter_mut().map(Mutex::new).collect();
    parallel::map(cells.len(), jobs, |i| {
        // Each index is asked for once: the lock is never waited for.
        let mut cell = cells[i].lock().unwrap_or_else(PoisonError::into_inner);
        f(i, &mut cell)
    })
}

/// A set of actions by its name, or why there is none.
///
/// # Errors
/// Where no set has that name.
pub fn action_set(name: &str) -> Result<ActionSet, DomainError> {
    ActionSet::parse(name)
        .ok_or_else(|| DomainError::new("actions", format!("{name:?}"), "one of L0, L, F, sym"))
}
