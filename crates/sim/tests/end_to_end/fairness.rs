//! Flows that share a queue share its rate: nobody is locked out.

use slackwater_sim::NoClock;

use crate::audit::Audit;
use crate::worlds::{Load, Path};

fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|s| *s as f64).sum();
    let squares: f64 = shares.iter().map(|s| (*s as f64) * (*s as f64)).sum();
    sum * sum / (shares.len() as f64 * squares)
}

fn shares(load: &Load, seed: u64) -> Vec<u64> {
    let mut world = load.world(seed).build(Audit::default());
    world.run_until(load.stop, &mut NoClock);
    let shares = world.recorder().payloads();
    assert_eq!(shares.len(), load.ues * load.flows_per_ue);
    shares
}

#[test]
fn four_cubic_flows_share_one_lte_bearer() {
    // Without jitter of a slot, TTI-aligned arrivals lock flows out of a full buffer.
    let mut mean = 0.0;
    for seed in 1..=2 {
        let load = Load {
            flows_per_ue: 4,
            ..Load::bulk(Path::LteAm, "cubic", 30)
        };
        let shares = shares(&load, seed);
        let index = jain(&shares);
        assert!(index >= 0.8, "seed {seed}: {index:.3} of {shares:?}");
        mean += index / 2.0;
    }
    assert!(mean >= 0.9, "{mean:.3}");
}

#[test]
fn four_ues_with_four_flows_each_all_progress() {
    for path in [Path::Lte, Path::Nr] {
        let load = Load {
            ues: 4,
            flows_per_ue: 4,
            ..Load::bulk(path, "cubic", 10)
        };
        let shares = shares(&load, 1);
        let fair = shares.iter().sum::<u64>() / shares.len() as u64;
        let least = *shares.iter().min().expect("sixteen");
        assert!(least * 8 > fair, "{path:?}: {shares:?}");
        let by_ue: Vec<u64> = shares.chunks(4).map(|c| c.iter().sum()).collect();
        assert!(jain(&by_ue) >= 0.85, "{path:?}: {by_ue:?}");
    }
}

#[test]
fn fair_queueing_gives_equal_shares() {
    let load = Load {
        flows_per_ue: 4,
        ..Load::bulk(Path::Fair, "cubic", 10)
    };
    let shares = shares(&load, 1);
    assert!(jain(&shares) > 0.99, "{shares:?}");
}
