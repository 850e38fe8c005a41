//! No component holds work while it asks for no timer: finite transfers end, and then nothing more happens.

use slackwater_core::{Duration, Instant};
use slackwater_sim::NoClock;

use crate::audit::Audit;
use crate::worlds::{CONTROLLERS, Load, Path};

fn finish(load: &Load, seed: u64, bytes: u64) {
    let what = format!(
        "{bytes} bytes over {:?} {:?} by {} seed {seed}",
        load.path, load.direction, load.controller
    );
    let mut world = load.world(seed).build(Audit::default());
    let mut end = Instant::ZERO;
    for _ in 0..60 {
        end += Duration::from_secs(1);
        world.run_until(end, &mut NoClock);
        let audit = world.recorder();
        if !audit.transfers.is_empty() && audit.ledgers.iter().all(|l| l.in_flight.is_empty()) {
            break;
        }
    }
    let audit = world.recorder();
    assert_eq!(audit.transfers.len(), 1, "{what}: complete within {end}");
    assert_eq!(audit.transfers[0].0, bytes, "{what}");
    assert!(
        audit.ledgers.iter().all(|l| l.in_flight.is_empty()),
        "{what}: drained"
    );
    let sent: u64 = audit.ledgers.iter().map(|l| l.sent.0).sum();
    world.run_until(end + Duration::from_secs(5), &mut NoClock);
    let later: u64 = world.recorder().ledgers.iter().map(|l| l.sent.0).sum();
    assert!(
        later <= sent + 4,
        "{what}: {} packets after the end",
        later - sent
    );
}

#[test]
fn every_transfer_ends() {
    for path in Path::ALL {
        for (i, bytes) in [1, 1_448, 20_000, 300_000].into_iter().enumerate() {
            for seed in 0..4 {
                let controller = CONTROLLERS[(4 * i + seed) % CONTROLLERS.len()];
                let load = Load::file(path, controller, bytes);
                finish(&load, seed as u64, bytes);
                finish(&load.up(), seed as u64, bytes);
            }
        }
    }
}

#[test]
fn every_controller_ends_on_loss_and_on_failing_blocks() {
    for path in [Path::Lossy, Path::LteAm, Path::NrAm] {
        for controller in CONTROLLERS {
            finish(&Load::file(path, controller, 1_000_000), 11, 1_000_000);
        }
    }
}
