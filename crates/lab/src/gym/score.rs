//! How good a controller is in an episode: by itself, in the form that ships.

use std::sync::Arc;

use serde::Serialize;
use slackwater_core::Instant;
use slackwater_sim::NoClock;

use super::domain::DomainError;
use super::env::{Actor, Ground, world};
use crate::parallel;

/// Weight of the logarithm of the delay (a study's S = mean[ln util - 0.3 ln p95]).
pub const DELAY_WEIGHT: f64 = 0.3;
/// Utilisation below this counts as this: an outage is no reason for a score without end.
const LEAST_USED: f64 = 0.01;

/// What an episode gave after its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Throughput at the receiver, Mbit/s of IP bytes.
    pub mbps: f64,
    /// What the bottleneck could have carried, Mbit/s.
    pub capacity_mbps: f64,
    /// Throughput over this flow's share of the capacity.
    pub used: f64,
    /// Mean one-way delay, milliseconds.
    pub mean_ms: f64,
    /// 95th percentile of the one-way delay, milliseconds.
    pub p95_ms: f64,
    /// Share of data packets dropped.
    pub loss: f64,
    /// ln(used) - 0.3 ln(p95 / ms); beside other flows no more than one share counts as used.
    pub score: f64,
    /// The same with the mean delay.
    pub score_mean: f64,
}

/// Scores each of `actors` in each episode of `seeds`, `[actor][seed]`.
///
/// # Errors
/// Where the domain contradicts itself.
pub fn scores(
    ground: &Arc<Ground>,
    actors: &[Actor],
    seeds: &[u64],
    jobs: usize,
) -> Result<Vec<Score>, DomainError> {
    let n = seeds.len();
    let all = parallel::map(actors.len() * n, jobs, |k| {
        score(ground, &actors[k / n.max(1)], seeds[k % n.max(1)])
    });
    all.into_iter().collect()
}

/// Scores `actor` in the episode that `seed` draws.
///
/// # Errors
/// Where the domain contradicts itself.
pub fn score(ground: &Ground, actor: &Actor, seed: u64) -> Result<Score, DomainError> {
    let episode = ground.episode(seed)?;
    let mut world = world(ground, &episode, actor)?;
    world.run_until(Instant::ZERO + episode.scenario.duration, &mut NoClock);
    let listener = world.recorder();
    let (from, to) = (listener.at_warm(), listener.totals());
    let seconds = to.read_at.since(from.read_at).as_secs_f64().max(1e-3);
    let mbps = (to.bytes - from.bytes) as f64 * 8e-6 / seconds;
    let capacity_mbps = to.capacity.saturating_sub(from.capacity) as f64 * 8e-6 / seconds;
    let capacity_mbps = capacity_mbps.min(episode.hop.unwrap_or(f64::INFINITY));
    let used = mbps / (capacity_mbps * episode.share).max(1e-3);
    let delays = listener.delays();
    // Where nothing arrived, the delay is that of the whole episode.
    let whole = episode.scenario.duration.as_secs_f64() * 1e3;
    let in_ms = |d: Option<slackwater_core::Duration>| d.map_or(whole, |d| d.as_secs_f64() * 1e3);
    let (mean_ms, p95_ms) = (in_ms(delays.mean()), in_ms(delays.quantile(0.95)));
    let (packets, dropped) = (to.packets - from.packets, to.dropped - from.dropped);
    // Nothing is won by taking more than a share from others.
    let counted = if episode.share < 1.0 {
        used.min(1.0)
    } else {
        used
    };
    let form = |delay_ms: f64| {
        libm::log(counted.max(LEAST_USED)) - DELAY_WEIGHT * libm::log(delay_ms.max(0.1))
    };
    Ok(Score {
        mbps,
        capacity_mbps,
        used,
        mean_ms,
        p95_ms,
        loss: dropped as f64 / (packets + dropped).max(1) as f64,
        score: form(p95_ms),
        score_mean: form(mean_ms),
    })
}
