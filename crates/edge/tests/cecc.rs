//! CECC in a closed loop: frames from TCP servers through the UPF into a small TDD cell, acknowledgments back.
//!
//! The cell is that of the paper's figures (DDDSU at 15 kHz, about 860 Mbit/s, decided two slots ahead), the sender a
//! TCP in slow start without losses. What is checked are relations, not figures; the simulator has the real cell.

mod cecc_loop;

use cecc_loop::{Late, Run, Scenario, Setup};
use slackwater_core::{Duration, Instant};
use slackwater_edge::upf::cecc::{Mode, Schedule};

/// Satisfied flows, mean over seeds: at most 0.01 % of bytes late. {network, frame} delay, steady.
fn satisfied(setup: &Setup, seeds: u64) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for seed in 0..seeds {
        let run = Run::new(&Setup { seed, ..*setup }).finish();
        sum.0 += run.satisfied(|l: &Late| l.network_steady) as f64;
        sum.1 += run.satisfied(|l: &Late| l.frame_steady) as f64;
    }
    (sum.0 / seeds as f64, sum.1 / seeds as f64)
}

/// The table that `docs/cecc.md` speaks of: `cargo test -p slackwater-edge --test cecc -- --ignored --nocapture`.
#[test]
#[ignore = "prints a table; takes minutes"]
#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn table() {
    for scenario in [Scenario::A] {
        for n in 4..=7 {
            for (name, mode, schedule) in [
                ("off", Mode::Off, Schedule::Edf),
                ("hold edf", Mode::Hold, Schedule::Edf),
                ("hold alg1", Mode::Hold, Schedule::Alg1),
                ("credit edf", Mode::Credit, Schedule::Edf),
                ("paper", Mode::Paper, Schedule::Alg1),
            ] {
                let setup = Setup {
                    scenario,
                    flows: n,
                    mode,
                    schedule,
                    length: Duration::from_secs(10),
                    ..Setup::default()
                };
                let (network, frame) = satisfied(&setup, 4);
                let run = Run::new(&setup).finish();
                println!(
                    "{scenario:?} n={n} {name:10} satisfied net {network:.1} frame {frame:.1} | late net {:.3}% frame {:.3}% | thr {:.4} share {:.3} {:?}",
                    100.0 * run.mean(|l| l.network_steady),
                    100.0 * run.mean(|l| l.frame_steady),
                    run.delivered_share(),
                    run.snapshot.share,
                    run.stats,
                );
            }
        }
    }
}
