//! The kernel's TCP senders of a scenario's flows, through function, gNB and cell.
//!
//! Applications are those of the simulator: they say when how many bytes are handed to a socket. What is measured is measured at the
//! ends: RTTs by `TCP_INFO`, bytes where they are read, and the delay of packets between the servers' interface and the
//! UEs' ([`Delay`]). The function has the scenario's vAQM or CECC, the cell its channel, queues and reports.
//!
//! The servers stand at the function, so that all of the scenario's wired delay lies between function and cell.

mod ends;
mod wire;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant as WallInstant, SystemTime};

use slackwater_core::{Draw, Duration};
use slackwater_edge::upf::vaqm::Mode as VaqmMode;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::app_of;
use slackwater_scenario::flow::{App, Way};
use slackwater_scenario::upf::CeccMode;
use slackwater_schema::field::Field as _;

use self::ends::{Ends, Run, Task};
use self::wire::{Listener, Passed};
use super::{DEVICE, Left, Options, run as run_core, ue};
use crate::LiveError;
use crate::emulate::Outcome;
use crate::emulate::netns::Namespace;
use crate::emulate::plan::UE_DEVICE;
use crate::gnb::description::{Gnb, Profile, Reports};
use crate::gnb::{self, Up};
use crate::kernel::tasks::{CONTROLLERS, PORT, configure};
use crate::sys;
use crate::upf::config::{Aqm, Frames, Functions};
pub use wire::Delay;

/// From when sockets listen to the start of the run: the cell is built meanwhile.
const LEAD: core::time::Duration = core::time::Duration::from_millis(500);

/// What applications draw from the scenario's seed for.
const APPLICATION: u64 = 1;

/// A message of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When it was due at the socket, from the start of the run.
    pub start: Duration,
    /// Its bytes.
    pub bytes: u64,
    /// All bytes of the flow until its end.
    end: u64,
}

/// A read at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    /// When, from the start of the run.
    at: Duration,
    /// All bytes of the flow until then.
    all: u64,
}

/// What was measured of a flow.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Its name.
    pub label: String,
    /// Smoothed RTTs every 10 ms: when, from the start of the run, and how long.
    pub rtts: Vec<(Duration, Duration)>,
    /// Delays of its packets, from the servers' interface to the UE's.
    pub delays: Vec<Delay>,
    /// Bytes that came and were not seen to leave.
    pub unseen: u64,
    /// What its application wrote.
    frames: Vec<Frame>,
    /// What was read.
    reads: Vec<Read>,
}

impl Flow {
    /// Bytes that were read from `from` until `until`.
    pub fn read(&self, from: Duration, until: Duration) -> u64 {
        let before = |at: Duration| {
            let place = self.reads.partition_point(|r| r.at < at);
            place.checked_sub(1).map_or(0, |last| self.reads[last].all)
        };
        before(until) - before(from)
    }

    /// The messages that arrived whole, and how long each took from the socket until its last byte was read.
    pub fn times(&self) -> impl Iterator<Item = (&Frame, Duration)> {
        self.frames.iter().filter_map(|frame| {
            let place = self.reads.partition_point(|r| r.all < frame.end);
            let read = self.reads.get(place)?;
            Some((frame, read.at.saturating_sub(frame.start)))
        })
    }

    /// Of the messages from `from` on that arrived whole: bytes that were read later than `limit` after their message was due,
    /// and all bytes.
    pub fn late(&self, from: Duration, limit: Duration) -> (u64, u64) {
        let (mut late, mut all) = (0, 0);
        for (frame, took) in self.times().filter(|(f, _)| f.start >= from) {
            all += frame.bytes;
            if took > limit {
                let in_time = self.reads.partition_point(|r| r.at <= frame.start + limit);
                let read = in_time
                    .checked_sub(1)
                    .map_or(0, |last| self.reads[last].all);
                late += (frame.end - read.max(frame.end - frame.bytes)).min(frame.bytes);
            }
        }
        (late, all)
    }
}

/// What a run left.
#[derive(Debug)]
pub struct Measured {
    /// The flows, in the order of the scenario.
    pub flows: Vec<Flow>,
    /// The cell's side.
    pub outcome: Outcome,
    /// The function's status at the end (JSON, as at `/status`).
    pub status: String,
    /// Its sessions at the end (JSON, as at `/sessions`).
    pub sessions: String,
}

/// The scenario as a gNB's cell has it: its functions stand in the user plane function.
///
/// # Errors
/// Where the scenario has no `[upf]`.
pub fn cell_of(scenario: &Scenario) -> Result<Scenario, LiveError> {
    let cell = scenario.with("upf.vaqm.mode", "off")?;
    Ok(cell.with("upf.cecc.mode", "off")?)
}

/// What the user plane function has of the scenario.
fn functions(scenario: &Scenario) -> Result<Functions, LiveError> {
    let wrong = |key: &str, found: &str, expected: &str| {
        LiveError::Usage(format!(
            "{key}: found {found}, expected {expected} in a function on real packets"
        ))
    };
    let Some(upf) = &scenario.upf else {
        return Err(wrong("upf", "none", "a user plane function"));
    };
    Ok(Functions {
        vaqm: match upf.vaqm.mode.0 {
            None => Aqm::Off,
            Some(VaqmMode::Auto) => Aqm::Auto,
            Some(VaqmMode::Window) => Aqm::Window,
            Some(VaqmMode::Direct) => Aqm::Direct,
            Some(_) => return Err(wrong("upf.vaqm.mode", "another", "auto, window or direct")),
        },
        cecc: match upf.cecc.mode {
            CeccMode::Off => Frames::Off,
            CeccMode::Hold => Frames::Hold,
            CeccMode::Credit => Frames::Credit,
            CeccMode::Paper => Frames::Paper,
        },
    })
}

/// The flows of `scenario`.
fn tasks(scenario: &Scenario) -> Result<Vec<Task>, LiveError> {
    let flows = scenario.expanded_flows();
    let task = |(k, flow): (u16, &slackwater_scenario::FlowInstance<'_>)| {
        let wrong = |found: &str, expected: &str| {
            LiveError::Usage(format!(
                "flow \"{}\": found {found}, expected {expected} with kernel senders",
                flow.label
            ))
        };
        let app = &flow.spec.app;
        if !matches!(app, App::Bulk(_) | App::Transfers(_) | App::Vr(_)) {
            return Err(wrong("another application", "bulk, transfers or vr"));
        }
        if matches!(app, App::Transfers(t) if !t.reconnect) {
            return Err(wrong("transfers in one connection", "reconnect = true"));
        }
        let controller = &flow.spec.controller;
        if flow.spec.protocol() != slackwater_scenario::flow::Protocol::Tcp
            || !CONTROLLERS.contains(&controller.as_str())
        {
            return Err(wrong(controller, "TCP under reno, cubic or bbr"));
        }
        if flow.spec.direction == Way::Up || flow.ue.is_none() {
            return Err(wrong("another direction", "a download by a UE"));
        }
        if flow.spec.tcp != flows[0].spec.tcp {
            return Err(wrong("tcp keys of its own", "those of the first flow"));
        }
        Ok(Task {
            label: flow.label.clone(),
            controller: controller.clone(),
            ue: flow.ue.unwrap_or(0),
            app: app_of(app),
            start: flow.start,
            stop: flow.stop.min(scenario.duration),
            draw: Draw::new(scenario.seed).fork(APPLICATION, u64::from(k)),
            port: PORT + k,
        })
    };
    (0..).zip(&flows).map(task).collect()
}

/// Both ends of all flows, and who listens between them.
struct Started {
    ends: Vec<Ends>,
    wire: Listener,
    over: Arc<AtomicBool>,
}

impl Started {
    fn new(scenario: &Scenario, tasks: &[Task], up: &Up) -> Result<Self, LiveError> {
        let spaces: Vec<Namespace> = up
            .ues
            .iter()
            .map(|(_, file)| Namespace::of_file(file))
            .collect::<Result<_, _>>()?;
        if let Some(flow) = scenario.flows.first() {
            configure(&flow.tcp)?;
            for space in &spaces {
                space.inside(|| configure(&flow.tcp))?;
            }
        }
        let listen = |device: &str| {
            sys::listen(device)
                .map_err(|e| LiveError::kernel(format!("cannot listen at {device}"), e))
        };
        let mut sockets = vec![listen(DEVICE)?];
        for space in &spaces {
            sockets.push(space.inside(|| listen(UE_DEVICE))?);
        }
        let over = Arc::new(AtomicBool::new(false));
        let run = Run {
            begins: WallInstant::now() + LEAD,
            over: Arc::clone(&over),
        };
        let ports = PORT..PORT + tasks.len() as u16;
        let wire = Listener::start(sockets, ports, SystemTime::now() + LEAD, Arc::clone(&over))?;
        let ends = tasks
            .iter()
            .map(|task| Ends::start(task.clone(), ue(task.ue), &spaces[task.ue as usize], &run))
            .collect::<Result<_, _>>()?;
        Ok(Self { ends, wire, over })
    }

    fn end(self, tasks: &[Task]) -> Result<Vec<Flow>, LiveError> {
        self.over.store(true, Ordering::Relaxed);
        let passed = self.wire.end();
        let of = |seen: &[Passed], port| -> Vec<Passed> {
            seen.iter().filter(|p| p.port == port).copied().collect()
        };
        let mut flows = Vec::new();
        for (ends, task) in self.ends.into_iter().zip(tasks) {
            let seen = ends.end()?;
            let left = of(&passed[0], task.port);
            let came = of(&passed[1 + task.ue as usize], task.port);
            let (delays, unseen) = wire::delays(&left, &came);
            flows.push(Flow {
                label: task.label.clone(),
                rtts: seen.rtts,
                delays,
                unseen,
                frames: seen.written,
                reads: seen.read,
            });
        }
        Ok(flows)
    }
}

/// Runs the flows of `scenario` in real time. `cell` is a file with [`cell_of`] the scenario.
///
/// # Errors
/// Where a flow wants what the kernel has not, or the kernel refuses namespaces, devices or sockets.
pub fn run(scenario: &Scenario, cell: &Path) -> Result<Measured, LiveError> {
    let (tasks, functions) = (tasks(scenario)?, functions(scenario)?);
    let told = functions.vaqm != Aqm::Off || functions.cecc != Frames::Off;
    let gnb = Gnb {
        name: scenario.name.clone(),
        cell: cell.display().to_string(),
        set: vec![format!("path.rtt={}", scenario.path.rtt)],
        seed: scenario.seed,
        reports: Reports {
            profile: if told { Profile::Session } else { Profile::Off },
            ..Reports::example()
        },
        ..Gnb::example()
    };
    let limit = scenario.duration + Duration::from_millis(LEAD.as_millis() as u64);
    let options = Options {
        gnb: gnb::Options {
            limit: Some(limit),
            plugins: scenario.plugins().clone(),
            ..gnb::Options::new(gnb)
        },
        ues: scenario.expanded_ues().len() as u32,
        functions,
    };
    let mut started = None;
    let left = run_core(&options, |up| {
        started = Some(Started::new(scenario, &tasks, up));
    });
    let flows = started.map(|s| s.and_then(|s| s.end(&tasks))).transpose();
    let Left {
        outcome,
        status,
        sessions,
    } = left?;
    Ok(Measured {
        flows: flows?.unwrap_or_default(),
        outcome,
        status,
        sessions,
    })
}

#[cfg(test)]
mod tests;
