//! The same steps and seed give the same events, however the run is cut.

use slackwater_core::{Bytes, Duration, FlowId, Instant, NoRecorder, Recorder};
use slackwater_sim::{NoClock, World};

use crate::audit::Audit;
use crate::worlds::{Load, Path, Transport};

fn several(path: Path) -> Load {
    Load {
        ues: if path.is_cell() { 2 } else { 1 },
        flows_per_ue: 2,
        ..Load::bulk(path, "bbr", 2)
    }
}

fn run(load: &Load, seed: u64, strides: &[Duration]) -> World<Audit> {
    let mut world = load.world(seed).build(Audit::default());
    let end = Instant::from_millis(2_500);
    let mut strides = strides.iter().cycle();
    while world.now() < end {
        let stride = *strides.next().expect("a cycle has no end");
        world.run_until((world.now() + stride).min(end), &mut NoClock);
    }
    world
}

const WHOLE: [Duration; 1] = [Duration::from_secs(10)];

#[test]
fn the_same_seed_gives_the_same_records_and_another_does_not() {
    for path in Path::ALL {
        let load = several(path);
        let (a, b) = (run(&load, 3, &WHOLE), run(&load, 3, &WHOLE));
        assert!(a.recorder().records > 5_000, "{path:?} is alive");
        assert_eq!(a.recorder().hash, b.recorder().hash, "{path:?}");
        assert_eq!(a.events(), b.events(), "{path:?}");
        let other = run(&load, 4, &WHOLE);
        assert_ne!(a.recorder().hash, other.recorder().hash, "{path:?}");
    }
}

#[test]
fn a_run_without_a_recorder_gives_the_same_result() {
    fn delivered<R: Recorder>(mut world: World<R>) -> Vec<Bytes> {
        world.run_until(Instant::from_millis(2_500), &mut NoClock);
        let flows = 0..world.flows() as u32;
        flows
            .map(|flow| world.hosts(FlowId(flow)).1.delivered())
            .collect()
    }

    for path in Path::ALL {
        let load = several(path);
        let recorded = delivered(load.world(7).build(Audit::default()));
        assert!(recorded.iter().all(|b| b.get() > 0), "{path:?} is alive");
        assert_eq!(
            recorded,
            delivered(load.world(7).build(NoRecorder)),
            "{path:?}"
        );
    }
}

#[test]
fn cutting_a_run_changes_nothing() {
    let odd = [
        Duration::from_nanos(1),
        Duration::from_nanos(999_999),
        Duration::from_micros(313),
        Duration::from_millis(40),
        Duration::from_nanos(7_000_001),
    ];
    for path in Path::ALL {
        let load = several(path);
        let (whole, cut) = (run(&load, 5, &WHOLE), run(&load, 5, &odd));
        assert_eq!(whole.recorder().records, cut.recorder().records, "{path:?}");
        assert_eq!(whole.recorder().hash, cut.recorder().hash, "{path:?}");
        assert_eq!(whole.events(), cut.events(), "{path:?}");
    }
}

#[test]
fn quic_repeats_itself_however_the_run_is_cut() {
    let odd = [Duration::from_micros(313), Duration::from_millis(40)];
    for transport in [Transport::Quic, Transport::Quinn] {
        for path in [Path::Lossy, Path::Lte] {
            let load = several(path).over(transport);
            let (whole, cut) = (run(&load, 5, &WHOLE), run(&load, 5, &odd));
            assert!(
                whole.recorder().records > 5_000,
                "{transport:?} over {path:?}"
            );
            assert_eq!(whole.recorder().hash, cut.recorder().hash, "{path:?}");
            assert_eq!(whole.events(), cut.events(), "{path:?}");
            assert_ne!(whole.recorder().hash, run(&load, 6, &WHOLE).recorder().hash);
        }
    }
}

#[test]
fn a_second_world_in_the_process_is_not_noticed() {
    let load = several(Path::Lte);
    let alone = run(&load, 6, &WHOLE).recorder().hash;
    let (mut a, mut b) = (
        load.world(6).build(Audit::default()),
        load.world(6).build(Audit::default()),
    );
    for ms in (7..=2_500).step_by(7).chain([2_500]) {
        a.run_until(Instant::from_millis(ms), &mut NoClock);
        b.run_until(Instant::from_millis(ms), &mut NoClock);
    }
    assert_eq!((a.recorder().hash, b.recorder().hash), (alone, alone));
}
