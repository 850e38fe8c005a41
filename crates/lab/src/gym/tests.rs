//! Training and deployment see and do the same; runs depend on seeds alone; rewards count what happened.

use std::sync::Arc;

use slackwater_control::Controller as _;
use slackwater_control::phy::steered::Mode;
use slackwater_control::phy::{Action, ActionSet, ObsMode, Policy, Seat};
use slackwater_control::registry::AnyController;
use slackwater_core::{Draw, Duration, FlowId};
use slackwater_sim::NoClock;

use super::domain::SELF;
use super::env::world;
use super::*;

/// A policy file with weights drawn from `seed`.
fn file(seed: u64, kind: &str, shapes: &[(&str, &[usize])], more: &[(&str, &str)]) -> Vec<u8> {
    let draw = Draw::new(seed);
    let mut header = serde_json::Map::new();
    let mut body = vec![];
    for (i, (name, shape)) in shapes.iter().enumerate() {
        let start = body.len();
        let fan = *shape.last().expect("a shape") as f64;
        for k in 0..shape.iter().product::<usize>() {
            let w = draw.fork(i as u64, 0).normal(k as u64) / fan.sqrt();
            body.extend((w as f32).to_le_bytes());
        }
        let entry = serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, body.len()] });
        header.insert((*name).to_owned(), entry);
    }
    let mut metadata = serde_json::Map::new();
    let base = [
        ("format", "slackwater-policy"),
        ("version", "1"),
        ("kind", kind),
    ];
    for (k, v) in base.iter().chain(more) {
        metadata.insert((*k).to_owned(), (*v).into());
    }
    header.insert("__metadata__".to_owned(), metadata.into());
    let mut text = serde_json::Value::from(header).to_string();
    text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
    let mut out = (text.len() as u64).to_le_bytes().to_vec();
    out.extend(text.bytes());
    out.extend(body);
    out
}

fn mlp(seed: u64, tbs: &str, choice: &str) -> Policy {
    let shapes: [(&str, &[usize]); 8] = [
        ("layer0.weight", &[16, 5]),
        ("layer0.bias", &[16]),
        ("layer1.weight", &[16, 16]),
        ("layer1.bias", &[16]),
        ("layer2.weight", &[16, 16]),
        ("layer2.bias", &[16]),
        ("head.weight", &[13, 16]),
        ("head.bias", &[13]),
    ];
    let more = [
        ("interval_ms", "20"),
        ("tbs", tbs),
        ("obs", "bdp"),
        ("actions", "sym"),
        ("choice", choice),
    ];
    Policy::from_safetensors(&file(seed, "mlp", &shapes, &more)).expect("a whole file")
}

fn residual(seed: u64, tbs: &str) -> Policy {
    let shapes: [(&str, &[usize]); 2] = [("residual.weight", &[1, 14]), ("residual.bias", &[1])];
    let more = [
        ("interval_ms", "20"),
        ("tbs", tbs),
        ("bound", "1.5"),
        ("z", "0.5"),
    ];
    Policy::from_safetensors(&file(seed, "residual-linear", &shapes, &more)).expect("a whole file")
}

const RELATIVE: Scheme = Scheme::Relative {
    obs: ObsMode::Bdp,
    actions: ActionSet::Sym,
};
const RESIDUAL: Scheme = Scheme::Residual { z: 0.5, bound: 1.5 };

fn ground(domain: Domain) -> Arc<Ground> {
    Arc::new(Ground::new(domain).expect("a good domain"))
}

/// At each decision the sender of a plain run of the scenario must know and do what the environment's does.
fn hold_against_deployment(domain: Domain, policy: Policy, scheme: Scheme, seed: u64) {
    let place = domain.places[0];
    let ground = ground(domain);
    let policy = Arc::new(policy);
    let episode = ground.episode(seed).expect("an episode");
    let mut deployed = world(&ground, &episode, &Actor::Policy(policy.clone())).expect("it builds");
    let mut env = Env::new(ground.clone(), scheme, seed).expect("it builds");
    assert_eq!(env.seed(), seed);
    let mut moved = 0;
    for decision in 0..u64::from(ground.domain().decisions) {
        let look = *env.look();
        deployed.run_until(look.at, &mut NoClock);
        let AnyController::Tyrus(there) = sender(&deployed) else {
            panic!("the scenario names tyrus")
        };
        let signals = there.signals(look.at);
        assert_eq!(signals, look.signals, "{place:?}, decision {decision}");
        let bits = |s: &slackwater_control::phy::Signals| features_and_inputs(s).map(f32::to_bits);
        assert_eq!(
            bits(&signals),
            bits(&look.signals),
            "{place:?}, decision {decision}"
        );
        let action = policy.act(&look.signals, decision).unwrap_or_default();
        moved += u32::from(action != Action::Hold);
        let stepped = env.step(action);
        if stepped.truncated {
            break;
        }
        // After both acted, both send by the same window.
        deployed.run_until(look.at + Duration::from_nanos(1), &mut NoClock);
        let window = sender(&deployed).intent().window;
        assert!(window.is_some_and(|w| w.get() > 0));
    }
    let AnyController::Tyrus(there) = sender(&deployed) else {
        panic!("the scenario names tyrus")
    };
    // Selective acknowledgments may crowd the reports out of ACKs: then CUBIC takes over, and nobody asks the agent.
    assert!(
        env.decisions() == ground.domain().decisions || there.mode() != Mode::Radio,
        "{place:?}: {:?}",
        there.counters()
    );
    assert!(moved > env.decisions() / 2, "{moved} actions");
}

fn sender(world: &slackwater_sim::World<Listener>) -> &AnyController {
    let (sender, _) = world.hosts(FlowId(0));
    match sender.quic_sender() {
        Some(quic) => quic.controller(),
        None => sender.endpoint().expect("a TCP sender").controller(),
    }
}

fn features_and_inputs(s: &slackwater_control::phy::Signals) -> [f32; 19] {
    use slackwater_control::phy::observe::{features, inputs};
    let mut all = [0.0; 19];
    all[..14].copy_from_slice(&features(s));
    all[14..].copy_from_slice(&inputs(ObsMode::Bdp, s));
    all
}

fn domain(place: Place, tbs: &str) -> Domain {
    Domain {
        places: vec![place],
        decisions: 150,
        tbs: tbs.to_owned(),
        lossy: 0.5,
        ..Domain::default()
    }
}

#[test]
fn training_and_deployment_see_and_do_the_same_to_the_bit() {
    for place in [Place::Link, Place::Wired, Place::Lte, Place::Nr] {
        for tbs in ["none", "capacity", "allocated+idle"] {
            let policy = mlp(7, tbs, "greedy");
            hold_against_deployment(domain(place, tbs), policy, RELATIVE, 3);
        }
        hold_against_deployment(domain(place, "none"), residual(8, "none"), RESIDUAL, 4);
    }
    let quic = Domain {
        transports: vec![Transport::Quic],
        ..domain(Place::Link, "capacity")
    };
    hold_against_deployment(quic, residual(8, "capacity"), RESIDUAL, 3);
    let sampled = mlp(9, "none", "sample:5");
    hold_against_deployment(domain(Place::Link, "none"), sampled, RELATIVE, 5);
}

#[test]
fn a_rollout_is_the_same_at_any_number_of_threads_and_by_hand() {
    let ground = ground(domain(Place::Link, "none"));
    let policy = mlp(1, "none", "mean");
    let roll = |jobs| {
        let mut batch = Batch::new(ground.clone(), RELATIVE, 6, 100, jobs).expect("it builds");
        batch.rollout(&policy, 200, 9).expect("it fits")
    };
    let one = roll(1);
    for (a, b) in [(&one, &roll(2)), (&one, &roll(5))] {
        assert_eq!(a.obs, b.obs);
        assert_eq!(a.actions, b.actions);
        assert_eq!(a.rewards, b.rewards);
    }
    // An episode is cut off after 150 decisions; the next begins.
    assert_eq!(one.truncated.iter().filter(|t| **t).count(), 6);
    assert!(one.truncated[149] && one.returns.len() == 6);
    // The same actions, taken one step at a time.
    let mut batch = Batch::new(ground.clone(), RELATIVE, 6, 100, 1).expect("it builds");
    let ratios = ActionSet::Sym.log_ratios();
    for t in 0..200 {
        let before = batch.observations();
        for env in 0..6 {
            let at = (env * 200 + t) * 5;
            assert_eq!(before[env * 5..][..5], one.obs[at..][..5], "step {t}");
        }
        let actions: Vec<Action> = (0..6)
            .map(|env| Action::LogRatio(ratios[one.actions[env * 200 + t] as usize]))
            .collect();
        let steps = batch.step(&actions).expect("it fits");
        for env in 0..6 {
            assert_eq!(steps.rewards[env], one.rewards[env * 200 + t], "step {t}");
        }
    }
    // Probabilities are those of the outputs.
    assert!(one.log_probs.iter().all(|p| *p <= 0.0 && p.is_finite()));
    let wrong = Scheme::Relative {
        obs: ObsMode::Log,
        actions: ActionSet::Sym,
    };
    let mut batch = Batch::new(ground, wrong, 1, 1, 1).expect("it builds");
    assert!(batch.rollout(&policy, 1, 1).is_err(), "another scale");
}

#[test]
fn rewards_count_what_the_link_carried() {
    let steady = Domain {
        places: vec![Place::Wired],
        mbps: [10.0, 10.0],
        rtt_ms: [40.0, 40.0],
        window: [40.0, 40.0],
        decisions: 100,
        ..domain(Place::Wired, "none")
    };
    let mut env = Env::new(
        ground(Domain {
            lossy: 0.0,
            ..steady
        }),
        RELATIVE,
        1,
    )
    .expect("it builds");
    let mut total = 0.0;
    for k in 0..100 {
        let stepped = env.step(Action::Hold);
        if k >= 50 {
            total += stepped.reward / 50.0;
        }
    }
    // 40 packets of 1,500 bytes in flight over 40 ms fill 12 Mbit/s: the link is full and the queue short.
    let w = env.window();
    assert!((w.capacity_mbps - 10.0).abs() < 0.6, "{w:?}");
    assert!((w.mbps - 10.0).abs() < 0.6, "{w:?}");
    assert!((2.0..20.0).contains(&w.queueing_ms), "{w:?}");
    assert!((0.85..1.1).contains(&total), "{total}");
    // A window of two packets leaves it empty.
    for _ in 0..60 {
        env.step(Action::LogRatio(-0.69));
        if env.decisions() >= 100 + 50 {
            break;
        }
    }
    let w = env.window();
    assert!(w.mbps < 3.0 && w.queueing_ms < 3.0, "{w:?}");
}

#[test]
fn a_rival_called_self_flies_the_same_and_no_share_above_one_counts() {
    let company = Domain {
        competitors: 3,
        against: vec![SELF.to_owned()],
        decisions: 200,
        ..domain(Place::Link, "capacity")
    };
    let ground = ground(company);
    let seed = (0..20).find(|s| ground.episode(*s).is_ok_and(|e| e.own.len() == 2));
    let seed = seed.expect("a draw with two rivals");
    let episode = ground.episode(seed).expect("an episode");
    let policy = Actor::Policy(Arc::new(residual(8, "capacity")));
    for (actor, first, others) in [
        (Actor::Named("bbr".to_owned()), "bbr", "bbr"),
        (policy, "tyrus", "tyrus"),
        (Actor::Seat(Seat::default(), RESIDUAL), "tyrus", "rule2"),
    ] {
        let world = world(&ground, &episode, &actor).expect("it builds");
        for flow in 0..3 {
            let (sender, _) = world.hosts(FlowId(flow));
            let name = sender.endpoint().expect("TCP").controller().name();
            assert_eq!(name, if flow == 0 { first } else { others });
        }
    }
    let greedy = score(&ground, &Actor::Named("fixed:3000".to_owned()), seed).expect("it runs");
    let counted = greedy.used.min(1.0);
    let expected = libm::log(counted) - 0.3 * libm::log(greedy.p95_ms);
    assert!((greedy.score - expected).abs() < 1e-9, "{greedy:?}");
}

#[test]
fn scores_rank_an_empty_a_full_and_an_overfull_link() {
    let ground = ground(Domain {
        decisions: 300,
        ..domain(Place::Wired, "none")
    });
    let actors = ["fixed:2", "rule2-acks", "fixed:3000"].map(|n| Actor::Named(n.to_owned()));
    let seeds = [1, 2, 3];
    let all = scores(&ground, &actors, &seeds, 2).expect("they run");
    let mean = |k: usize| all[k * 3..][..3].iter().map(|s| s.score).sum::<f64>() / 3.0;
    assert!(mean(1) > mean(0) && mean(1) > mean(2), "{all:#?}");
    assert_eq!(all, scores(&ground, &actors, &seeds, 1).expect("they run"));
}
