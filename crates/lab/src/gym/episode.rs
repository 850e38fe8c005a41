//! One draw of a domain, as the scenario that it is.

use std::path::Path;
use std::sync::Arc;

use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};
use slackwater_scenario::data::TraceFile;
use slackwater_scenario::feedback::{BlocksMode, Carrier};
use slackwater_scenario::field::Field as _;
use slackwater_scenario::flow::{App, Flow, Transfers, Transport};
use slackwater_scenario::link::{Link, Queue, Wired};
use slackwater_scenario::ue::{Mobility, Static};
use slackwater_scenario::units::{KmPerHour, Limit, Metres, Percent};
use slackwater_scenario::{Bottleneck, Scenario};

use super::domain::{Domain, DomainError, Place, Recorded, SELF, Transport as Transports};
use super::pattern::{Pattern, between, log_between};

/// IP bytes of a full packet.
const PACKET: f64 = 1500.0;
/// Segments that TCP may hold at the sender, and at the receiver: no limit of the transport's own.
const SOCKET: Bytes = Bytes(64_000_000);
/// Speeds of UEs, km/h.
const SPEEDS: [f64; 3] = [3.0, 30.0, 60.0];

const LINK: &str = r#"
    name = "gym-link"
    duration = "10 s"
    link = { kind = "rate", rate = "10 Mbit/s" }
    [[flow]]
"#;
const LTE: &str = r#"
    name = "gym-lte"
    duration = "10 s"
    [cell]
    rat = "lte"
    bandwidth = "10 MHz"
    fading = "eva"
    [[ue]]
    [[flow]]
"#;
const NR: &str = r#"
    name = "gym-nr"
    duration = "10 s"
    [cell]
    rat = "nr"
    bandwidth = "20 MHz"
    scs = "30 kHz"
    duplex = "tdd"
    tdd = "DDDSU"
    fading = "tdl-c"
    [[ue]]
    [[flow]]
"#;

/// The scenarios that episodes start from.
#[derive(Clone, Debug)]
pub(super) struct Bases {
    link: Scenario,
    lte: Scenario,
    nr: Scenario,
}

impl Default for Bases {
    fn default() -> Self {
        let read = |text| {
            Scenario::parse("<gym>", text, Path::new(".")).expect("the base scenarios are right")
        };
        Self {
            link: read(LINK),
            lte: read(LTE),
            nr: read(NR),
        }
    }
}

/// A draw.
#[derive(Clone, Debug)]
pub struct Episode {
    /// Seed of the world.
    pub seed: u64,
    /// Kind of bottleneck.
    pub place: Place,
    /// The scenario. The first flow is the learner's.
    pub scenario: Scenario,
    /// The learner's share of the bottleneck, 0 to 1: one over the number of flows.
    pub share: f64,
    /// Flows beside the first that the learner's controller flies too.
    pub own: Vec<usize>,
    /// Rate of a hop before the bottleneck, Mbit/s.
    pub hop: Option<f64>,
    /// When the score begins.
    pub warm: Instant,
}

/// Purposes of an episode's draws.
mod purpose {
    pub(super) const EPISODE: u64 = 0x6779_6d01;
    pub(super) const LINK: u64 = 0x6779_6d02;
}

/// Which number of an episode a draw is for.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Key {
    Place,
    Rtt,
    Buffer,
    Lossy,
    Loss,
    FeedbackDelay,
    FeedbackLoss,
    AckBatch,
    Competitors,
    Window,
    Family,
    Offset,
    Rate,
    Distance,
    Speed,
    Transport,
    Idle,
    Hop,
    Rival = 64,
    Start = 256,
}

fn pick<T: Copy>(all: &[T], u: f64) -> T {
    all[((u * all.len() as f64) as usize).min(all.len() - 1)]
}

fn ms(x: f64) -> Duration {
    Duration::from_secs_f64(x / 1e3)
}

impl Episode {
    /// The episode that `seed` draws from `domain`.
    ///
    /// # Errors
    /// Where a controller of the domain is not known.
    pub(super) fn draw(
        domain: &Domain,
        bases: &Bases,
        traces: &[Recorded],
        seed: u64,
    ) -> Result<Self, DomainError> {
        let draw = Draw::new(seed).fork(purpose::EPISODE, 0);
        let u = |key: Key| draw.uniform(key as u64);
        let place = pick(&domain.places, u(Key::Place));
        let mut s = match place {
            Place::Link | Place::Wired | Place::Behind => bases.link.clone(),
            Place::Lte => bases.lte.clone(),
            Place::Nr => bases.nr.clone(),
        };
        // The first decision comes after the first RTT sample; a second is more than any first RTT in range.
        let length = u64::from(domain.decisions) * u64::from(domain.interval_ms);
        s.duration = Duration::from_millis(length + 2_000);
        s.seed = seed;
        s.path.rtt = ms(between(domain.rtt_ms, u(Key::Rtt)));
        if u(Key::Lossy) < domain.lossy {
            s.path.loss = Percent(between(domain.loss_percent, u(Key::Loss)));
        }
        let late = between(domain.feedback_delay_ms, u(Key::FeedbackDelay));
        s.feedback.faults.loss =
            Percent(between(domain.feedback_loss_percent, u(Key::FeedbackLoss)));
        if late > 0.0 {
            // Reports on ACKs come when these come; later ones travel by themselves.
            s.feedback.carrier = Carrier::Datagram;
            s.feedback.delay = ms(late);
        }
        let mut blocks = BlocksMode::ALL.iter().copied();
        s.feedback.tyrus.blocks = blocks.find(|b| b.word() == domain.tbs);
        let buffer = log_between(domain.buffer, u(Key::Buffer));
        let mbps = log_between(domain.mbps, u(Key::Rate));
        match &mut s.bottleneck {
            Bottleneck::Link(link) if place == Place::Wired => {
                let Link::Rate(rate) = link.as_mut() else {
                    unreachable!("the base link has a rate")
                };
                rate.rate = Rate::from_mbps(mbps);
                rate.queue = Queue::drop_tail(Limit::Packets(buffer as u32));
            }
            Bottleneck::Link(link) => {
                let span = length + 2_000;
                let file = if traces.is_empty() {
                    let family = pick(&domain.families, u(Key::Family));
                    let source = draw.fork(purpose::LINK, 0);
                    let pattern = Pattern::draw(family, domain.mbps, source);
                    TraceFile {
                        file: format!("synthetic-{seed}"),
                        opportunities: Arc::new(pattern.opportunities(span, source)),
                    }
                } else {
                    let at = (u(Key::Family) * traces.len() as f64) as usize;
                    cut(&traces[at.min(traces.len() - 1)], u(Key::Offset), span)
                };
                **link = Link::Trace(slackwater_scenario::link::TraceLink {
                    file,
                    up_file: None,
                    up_rate: None,
                    queue: Queue::drop_tail(Limit::Packets(buffer as u32)),
                    up_queue: Queue::drop_tail(Limit::Packets(1000)),
                });
            }
            Bottleneck::Cell(cell) => {
                cell.rlc.buffer = Limit::Bytes(Bytes((buffer * PACKET) as u64));
                let ue = &mut s.ues[0];
                ue.mobility = Mobility::Static(Static {
                    distance: Metres(log_between([50.0, 600.0], u(Key::Distance))),
                });
                ue.speed = KmPerHour(pick(&SPEEDS, u(Key::Speed)));
            }
        }
        let hop = (place == Place::Behind).then(|| log_between(domain.hop_mbps, u(Key::Hop)));
        s.wired = hop.map(|mbps| Wired {
            rate: Rate::from_mbps(mbps),
            ..Wired::example()
        });
        let transport = match pick(&domain.transports, u(Key::Transport)) {
            Transports::Tcp => Transport::Tcp,
            Transports::Quic => Transport::Quic,
        };
        let batch = between(domain.ack_batch_ms, u(Key::AckBatch));
        let window = log_between(domain.window, u(Key::Window)) as u32;
        shape(&mut s.flows[0], transport, window, batch);
        if u(Key::Idle) < domain.idle {
            s.flows[0].app = App::Transfers(Transfers {
                min: Bytes(50_000),
                max: Bytes(2_000_000),
                gap: ms(1000.0 * draw.uniform(Key::Idle as u64 + 512)),
                reconnect: false,
                ..Transfers::example()
            });
        }
        let mut own = vec![];
        let rivals = (u(Key::Competitors) * f64::from(domain.competitors + 1)) as u64;
        for k in 0..rivals.min(u64::from(domain.competitors)) {
            let mut flow = bases.link.flows[0].clone();
            let which = draw.uniform(Key::Rival as u64 + k);
            let at = (which * domain.against.len() as f64) as usize;
            let name = domain.against[at.min(domain.against.len() - 1)].as_str();
            if name == SELF {
                own.push(k as usize + 1);
                shape(&mut flow, transport, 10, batch);
            } else {
                name.clone_into(&mut flow.controller);
                flow.transport = Some(transport);
            }
            flow.start = ms(between([0.0, 1500.0], draw.uniform(Key::Start as u64 + k)));
            if s.cell().is_some() {
                // Each in a UE of its own, at a place of its own.
                let mut ue = s.ues[0].clone();
                let u = draw.uniform(Key::Start as u64 + 64 + k);
                ue.mobility = Mobility::Static(Static {
                    distance: Metres(log_between([50.0, 600.0], u)),
                });
                s.ues.push(ue);
                flow.ue = slackwater_scenario::UeRef::Index(k as u32 + 1);
            }
            s.flows.push(flow);
        }
        s.check_controllers()
            .map_err(|e| DomainError::new("against", e.found, e.expected))?;
        let share = 1.0 / s.flows.len() as f64;
        Ok(Self {
            seed,
            place,
            scenario: s,
            share,
            own,
            hop,
            warm: Instant::from_millis(u64::from(domain.warmup_ms)),
        })
    }
}

/// What carries a flow of the learner's: with so many segments at first, and ACKs that wait for `batch` ms.
fn shape(flow: &mut Flow, transport: Transport, window: u32, batch: f64) {
    flow.transport = Some(transport);
    flow.tcp.initial_window = window;
    flow.quic.initial_window = window;
    flow.tcp.send_buffer = SOCKET;
    flow.tcp.recv_buffer = SOCKET;
    flow.quic.send_buffer = SOCKET;
    flow.quic.recv_window = SOCKET;
    // As the poster's sender: a window alone, without pacing.
    flow.quic.pacing = false;
    if batch > 0.0 {
        flow.tcp.delayed_ack = ms(batch);
        flow.tcp.ack_every = 64;
        flow.quic.max_ack_delay = ms(batch);
        flow.quic.ack_every = 64;
    }
}

/// `span` milliseconds of a trace from share `at` of its length on; it starts anew where it ends.
fn cut(trace: &Recorded, at: f64, span: u64) -> TraceFile {
    let whole = TraceFile {
        file: trace.file.clone(),
        opportunities: Arc::clone(&trace.opportunities),
    };
    whole.cut((at * whole.period() as f64) as u64, span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(domain: &Domain, seed: u64) -> Episode {
        let traces = domain.read_traces().expect("no files");
        Episode::draw(domain, &Bases::default(), &traces, seed).expect("a good domain")
    }

    #[test]
    fn the_same_seed_draws_the_same_episode_and_others_stay_in_range() {
        let domain = Domain {
            places: vec![
                Place::Link,
                Place::Wired,
                Place::Behind,
                Place::Lte,
                Place::Nr,
            ],
            competitors: 2,
            against: vec!["cubic".to_owned(), SELF.to_owned()],
            transports: vec![Transports::Tcp, Transports::Quic],
            idle: 0.5,
            lossy: 0.5,
            ..Domain::default()
        };
        let mut seen = [0; 5];
        let (mut quic, mut idle, mut own) = (0, 0, 0);
        for seed in 0..80 {
            let e = draw(&domain, seed);
            assert_eq!(e.scenario, draw(&domain, seed).scenario);
            seen[e.place as usize] += 1;
            let rtt = e.scenario.path.rtt.as_secs_f64() * 1e3;
            assert!((20.0..=80.0).contains(&rtt), "{rtt}");
            assert!((4..=200).contains(&e.scenario.flows[0].tcp.initial_window));
            assert!((1..=3).contains(&e.scenario.flows.len()));
            assert_eq!(e.hop.is_some(), e.place == Place::Behind);
            quic += u32::from(e.scenario.flows[0].transport == Some(Transport::Quic));
            idle += u32::from(matches!(e.scenario.flows[0].app, App::Transfers(_)));
            own += e.own.len();
        }
        assert!((20..60).contains(&quic) && (20..60).contains(&idle) && own > 15);
        assert!(seen.iter().all(|n| *n > 5), "{seen:?}");
    }

    #[test]
    fn a_cut_starts_anew_where_the_trace_ends() {
        let trace = Recorded {
            file: "t".to_owned(),
            opportunities: Arc::new(vec![2, 2, 5, 10]),
        };
        let part = cut(&trace, 0.45, 12);
        assert_eq!(*part.opportunities, [1, 6, 8, 8, 11, 12]);
    }
}
