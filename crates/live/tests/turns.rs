//! CECC on real buffers: no user's frames fare worse than without it, and no user is the last one for ever.
//!
//! Five users' frames of virtual reality come in step, as datagrams that nobody can slow down. The emulator's own code takes them as
//! buffers, under a virtual clock; the law is the one that `slackwater_edge` is held to in its own loop with TCP servers.

use std::path::Path;
use std::sync::{Arc, Mutex};

use slackwater_core::record::PacketEvent;
use slackwater_core::{Direction, Duration, Instant, NodeId, Packet, Recorder};
use slackwater_lab::run::prepare;
use slackwater_live::bridge::{Bridge, Tap};
use slackwater_live::flows::FlowTable;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::Hosts;
use slackwater_sim::NoClock;
use slackwater_wire::{IpVersion, packet};

const USERS: u32 = 5;
/// A frame's bytes are late from here on (CECC's requirement).
const LATE: Duration = Duration::from_millis(10);
/// What comes before is the start's.
const FROM: Instant = Instant::from_millis(1_000);
/// A user may be so much worse off: frames that begin together go together (docs/design/0053), a packet or two apart.
const ALLOWANCE: f64 = 0.001;
/// The luckiest user and the unluckiest may be so far apart. By deadlines alone the last of each round is the same: five frames of
/// which four fit would be 0, 0, 0, 0 and 1 late.
const SPREAD: f64 = 0.1;

/// The paper's cell with `mbps` for each user; `mode` of CECC.
fn scenario(mbps: f64, mode: &str) -> Scenario {
    let text = slackwater_scenario::embedded("arena/vr-tdd").expect("an embedded scenario");
    let mut scenario = Scenario::parse("vr", &text, Path::new(".")).expect("a good scenario");
    let rate = format!("{mbps} Mbit/s");
    for (key, value) in [
        ("duration", "4 s"),
        ("warmup", "1 s"),
        ("flow.app.transport", "udp"),
        ("flow.app.rate", &rate),
        ("flow.app.interval_sigma", "0 ms"),
        ("upf.cecc.mode", mode),
    ] {
        scenario = scenario.with(key, value).expect(key);
    }
    scenario
}

/// What left the servers.
type Sent = Arc<Mutex<Vec<(Instant, Packet)>>>;

/// Notes it.
struct Servers(Sent);

impl Recorder for Servers {
    fn packet(&mut self, now: Instant, _node: NodeId, packet: &Packet, event: PacketEvent) {
        if matches!(event, PacketEvent::Sent) && packet.dir == Direction::Down {
            self.0.lock().expect("one thread").push((now, *packet));
        }
    }
}

fn arrivals(scenario: &Scenario) -> Vec<(Instant, Packet)> {
    let sent = Sent::default();
    let servers = Servers(Arc::clone(&sent));
    let run = prepare(scenario, scenario.seed, Hosts::Simulated, |_| servers);
    let mut run = run.expect("a world");
    run.world
        .run_until(Instant::ZERO + scenario.duration, &mut NoClock);
    core::mem::take(&mut *sent.lock().expect("one thread"))
}

/// By user, the share of bytes that came later than they may, of buffers that leave the emulator; what never came is late.
fn late(scenario: &Scenario, sent: &[(Instant, Packet)]) -> Vec<f64> {
    let run = prepare(scenario, scenario.seed, Hosts::External, |recorder| {
        Tap::new(recorder, Duration::from_millis(10), false)
    });
    let flows = FlowTable::new(USERS, 1);
    let mut bridge = Bridge::new(run.expect("a world").world, flows, 1500);
    // What was sent too near the end to be judged does not count.
    let to = Instant::ZERO + scenario.duration - Duration::from_millis(50);
    let counts = |at: Instant| (FROM..to).contains(&at);
    let mut all = vec![0_u64; USERS as usize];
    let mut timely = all.clone();
    let look = |bridge: &mut Bridge, timely: &mut Vec<u64>| {
        bridge.departures(|d| {
            if counts(d.came) && d.at - d.came <= LATE {
                timely[d.ue as usize] += d.bytes.len() as u64;
            }
        });
    };
    for (at, packet) in sent {
        bridge.run_until(*at, &mut NoClock);
        let mut bytes = Vec::new();
        packet::encode(packet, IpVersion::V4, usize::MAX, &mut bytes);
        if counts(*at) {
            all[packet.flow.index()] += bytes.len() as u64;
        }
        assert!(bridge.arrive(*at, false, packet.flow.0, bytes).is_some());
        look(&mut bridge, &mut timely);
    }
    bridge.run_until(Instant::ZERO + scenario.duration, &mut NoClock);
    look(&mut bridge, &mut timely);
    let share = |(all, timely): (&u64, &u64)| 1.0 - *timely as f64 / (*all).max(1) as f64;
    all.iter().zip(&timely).map(share).collect()
}

#[test]
fn no_user_is_worse_off_than_without_cecc() {
    for mbps in [50.0, 75.0, 100.0, 125.0, 150.0] {
        let (off, hold) = (scenario(mbps, "off"), scenario(mbps, "hold"));
        let sent = arrivals(&off);
        let (off, hold) = (late(&off, &sent), late(&hold, &sent));
        for (without, with) in off.iter().zip(&hold) {
            assert!(*with <= without + ALLOWANCE, "{mbps}: {off:?} {hold:?}");
        }
        let most = hold.iter().copied().fold(0.0, f64::max);
        let least = hold.iter().copied().fold(1.0, f64::min);
        assert!(most - least < SPREAD, "{mbps}: {hold:?}");
    }
}
