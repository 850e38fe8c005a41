//! Media over every kind of path: RTP one way, RTCP the other.

use slackwater_core::{Duration, FlowId, Instant};
use slackwater_sim::{NoClock, World};

use crate::audit::Audit;
use crate::conservation;
use crate::worlds::{Load, Path};

const CONTROLLERS: [&str; 3] = ["al4s-c", "scream", "gcc"];

fn load(path: Path, controller: &'static str) -> Load {
    Load {
        flows_per_ue: 2,
        stop: Instant::from_millis(4_000),
        ..Load::bulk(path, controller, 4)
    }
}

#[test]
fn packets_of_media_and_reports_are_conserved() {
    for (i, path) in Path::ALL.into_iter().enumerate() {
        conservation::audit(&load(path, CONTROLLERS[i % 3]), 1);
    }
}

#[test]
fn a_run_of_media_can_be_cut_and_repeated() {
    let run = |path, controller, stride| {
        let mut world = load(path, controller).world(3).build(Audit::default());
        while world.now() < Instant::from_millis(2_000) {
            world.run_until(world.now() + stride, &mut NoClock);
        }
        world
    };
    for (path, controller) in [
        (Path::Step, "al4s-c"),
        (Path::Lossy, "gcc"),
        (Path::NrAm, "scream"),
    ] {
        let whole = run(path, controller, Duration::from_secs(2));
        let cut = run(path, controller, Duration::from_micros(12_500));
        assert!(whole.recorder().records > 2_000, "{path:?} is alive");
        assert_eq!(whole.recorder().hash, cut.recorder().hash, "{path:?}");
        assert_eq!(whole.events(), cut.events(), "{path:?}");
    }
}

#[test]
fn the_frames_told_are_those_that_the_receiver_counts() {
    for path in [Path::Trace, Path::Lossy, Path::Nr] {
        let one = Load {
            flows_per_ue: 1,
            ..load(path, "al4s-s")
        };
        let mut world: World<Audit> = one.world(2).build(Audit::default());
        world.run_until(Instant::from_millis(6_000), &mut NoClock);
        let (sender, receiver) = world.hosts(FlowId(0));
        let receiver = receiver.rtp_receiver().expect("media").stats();
        let sender = sender.rtp_sender().expect("media").stats();
        // 60 a second for 4 s, the first one up to a frame late.
        assert!((239..=240).contains(&sender.frames), "{}", sender.frames);
        let frames = &world.recorder().frames;
        let shown = frames.iter().filter(|f| f.shown.is_some()).count() as u64;
        assert_eq!(shown, receiver.shown, "{path:?}");
        assert_eq!(frames.len() as u64, receiver.shown + receiver.lost);
        assert!(shown > 230, "{path:?}: {shown}");
        let frozen = frames.iter().fold(Duration::ZERO, |t, f| t + f.frozen);
        assert_eq!(frozen, receiver.frozen);
        for f in frames.iter().filter(|f| f.completed.is_some()) {
            assert!(f.captured <= f.sent && Some(f.sent) < f.completed, "{f:?}");
        }
    }
}
