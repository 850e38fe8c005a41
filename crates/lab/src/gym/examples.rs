//! What a forecast is to learn: what `ebb` saw of the offered rate in episodes, and what then came.

use std::sync::{Arc, Mutex, PoisonError};

use slackwater_control::phy::ebb::{self, Example, Offer, Oracle};
use slackwater_core::Instant;
use slackwater_sim::NoClock;

use super::domain::DomainError;
use super::env::{Actor, Ground, world};
use crate::parallel;

/// The examples of each episode that one of `seeds` draws.
///
/// # Errors
/// Where the domain contradicts itself.
pub fn examples(
    ground: &Ground,
    seeds: &[u64],
    jobs: usize,
) -> Result<Vec<Vec<Example>>, DomainError> {
    let all = parallel::map(seeds.len(), jobs, |k| of_episode(ground, seeds[k]));
    all.into_iter().collect()
}

fn of_episode(ground: &Ground, seed: u64) -> Result<Vec<Example>, DomainError> {
    let episode = ground.episode(seed)?;
    let offers = Arc::new(Mutex::new(vec![]));
    let noting = Arc::clone(&offers);
    // It looks on, and knows nothing.
    let scribe = Oracle::new(move |counters, round| {
        let mut offers = noting.lock().unwrap_or_else(PoisonError::into_inner);
        offers.push(Offer {
            stamp: counters.stamp,
            offered: counters.offered,
            round,
        });
        None
    });
    let mut world = world(ground, &episode, &Actor::Watched(scribe))?;
    world.run_until(Instant::ZERO + episode.scenario.duration, &mut NoClock);
    let offers = offers.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(ebb::examples(&offers))
}

#[cfg(test)]
mod tests {
    use super::super::domain::{Domain, Place};
    use super::*;

    #[test]
    fn links_and_cells_give_examples_whose_rounds_are_those_of_their_paths() {
        for place in [Place::Link, Place::Lte, Place::Nr] {
            let tbs = if place == Place::Link {
                "capacity"
            } else {
                "allocated+idle"
            };
            let domain = Domain {
                places: vec![place],
                tbs: tbs.to_owned(),
                decisions: 200,
                ..Domain::default()
            };
            let ground = Ground::new(domain).expect("a good domain");
            let found = examples(&ground, &[1, 2, 3], 2).expect("a good domain");
            assert_eq!(found.len(), 3);
            for episode in found {
                // Six seconds, an example each 20 ms.
                assert!(episode.len() > 200, "{place:?}: {}", episode.len());
                let mean = |f: fn(&Example) -> f64| {
                    episode.iter().map(f).sum::<f64>() / episode.len() as f64
                };
                let (came, mixture) = (mean(|e| e.came), mean(|e| e.mixture));
                assert!((0.8..1.25).contains(&(mixture / came)), "{mixture} {came}");
                assert!(
                    episode
                        .iter()
                        .all(|e| e.inputs.iter().all(|x| x.is_finite()))
                );
            }
        }
    }
}
