//! A scenario with the kernel's own TCP senders in place of simulated ones.

pub(crate) mod hosts;
mod quic;
mod rtc;
pub(crate) mod tasks;

use std::net::TcpStream;
#[cfg(feature = "bpf")]
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

#[cfg(feature = "bpf")]
use slackwater_control::registry::base;
use slackwater_core::{FlowId, Instant};
use slackwater_lab::run;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::Hosts;

use self::hosts::{Failure, sample, start};
#[cfg(feature = "bpf")]
use self::tasks::{EBB, XRC};
use self::tasks::{configure, tasks};
use crate::LiveError;
use crate::emulate::beside::Ports;
use crate::emulate::bridge::Tap;
use crate::emulate::flows::FlowTable;
use crate::emulate::meter::View;
use crate::emulate::netns;
#[cfg(feature = "bpf")]
use crate::emulate::netns::Namespace;
use crate::emulate::plan::MAX_UES;
use crate::emulate::reach::Range;
use crate::emulate::setup::Network;
use crate::emulate::{Drive, Outcome, PRIORITY};
use crate::sys;

/// Runs `scenario` once, in namespaces of its own, with the kernel's senders and receivers. Every flow is bulk TCP under
/// reno, cubic, bbr, or xrc and ebb, which are loaded for the time of the run; or QUIC (`quinn`) by a server of this
/// program, on the side that sends, with any controller that it takes; or media by a WebRTC sender and receiver of this program.
///
/// # Errors
/// Where a flow asks for what the kernel has not, or the kernel refuses.
pub fn run_live(scenario: &Scenario, meter: bool) -> Result<Outcome, LiveError> {
    let tasks = tasks(scenario)?;
    let ues = tasks.iter().map(|t| t.ue + 1).max().unwrap_or(1);
    if ues > MAX_UES {
        return Err(LiveError::Usage(format!(
            "found {ues} UEs, expected at most {MAX_UES}"
        )));
    }
    netns::isolate()?;
    let (network, plan) = Network::new(ues, 1500, None, Range::default(), Vec::new())?;
    if let Some(flow) = scenario.flows.first() {
        configure(&flow.tcp)?;
        for space in &network.spaces {
            space.inside(|| configure(&flow.tcp))?;
        }
    }
    #[cfg(feature = "bpf")]
    let xrc = tasks
        .iter()
        .any(|t| t.controller == XRC && !t.quic)
        .then(load_xrc)
        .transpose()?;
    #[cfg(feature = "bpf")]
    let ebb = load_ebb(&tasks, &network.spaces)?;
    let since = sys::signals();
    sys::count_signals().map_err(|e| LiveError::kernel("cannot take signals", e))?;
    let mut table = FlowTable::fixed(tasks.iter().map(|t| t.ue));
    let labels = scenario.expanded_flows().into_iter().map(|f| f.label);
    for (i, (task, label)) in tasks.iter().zip(labels).enumerate() {
        table.bind(task.port, FlowId(i as u32), &label, task.up);
    }
    let run = run::prepare(scenario, scenario.seed, Hosts::External, |recorder| {
        let interval = recorder.interval();
        Tap::new(recorder, interval, false)
    })?;
    let view = View::new(meter, false);
    let mut drive = Drive::new(network, run, table, 1500, view, &scenario.name);
    let over = Arc::new(AtomicBool::new(false));
    let failure = Failure::default();
    let mut threads = Vec::new();
    for (i, task) in tasks.into_iter().enumerate() {
        if task.quic {
            drive.set_ports(own_reports());
            let reports = quic::REPORTS + i as u16;
            let threads_of = quic::start(&task, scenario, reports, plan, &drive, &over, &failure)?;
            threads.extend(threads_of);
            continue;
        }
        if task.media {
            drive.set_ports(own_reports());
            let ends = rtc::start(&task, i, scenario, plan, &drive, &over, &failure)?;
            threads.extend(ends);
            continue;
        }
        let socket = Arc::new(OnceLock::<TcpStream>::new());
        let probe = Arc::clone(&socket);
        #[cfg(feature = "bpf")]
        let senders = match &xrc {
            Some(loaded) if task.controller == XRC => Some(loaded.senders()?),
            _ => None,
        };
        #[cfg(feature = "bpf")]
        let beside = match &ebb {
            Some(loaded) if base(&task.controller) == EBB => {
                drive.set_ports(own_reports());
                Some(loaded.senders())
            }
            _ => None,
        };
        drive.probe(
            FlowId(i as u32),
            Box::new(move |out| {
                let stream = probe.get()?;
                #[cfg(feature = "bpf")]
                if let Some(senders) = &senders {
                    senders.internals(stream.as_fd(), out);
                }
                #[cfg(feature = "bpf")]
                if let Some(beside) = &beside {
                    beside.internals(stream.as_fd(), out);
                }
                #[cfg(not(feature = "bpf"))]
                out.clear();
                sample(stream).ok()
            }),
        );
        threads.extend(start(task, plan, &drive, &socket, &over, &failure)?);
    }
    let realtime = sys::realtime(PRIORITY).is_ok();
    let end = Instant::ZERO + scenario.duration;
    let code = drive.run(since, Some(scenario.duration), &mut || {
        let failed = failure.lock().is_ok_and(|f| f.is_some());
        // No command is there that would end by itself.
        let signalled = sys::signals() != since;
        signalled
            .then(sys::signal_code)
            .or_else(|| failed.then_some(1))
    })?;
    sys::ordinary();
    over.store(true, Ordering::Relaxed);
    let ended = drive.now();
    // Threads that wait for packets see their sockets end with the devices.
    let outcome = drive.conclude(scenario, code, realtime, end.min(ended));
    for thread in threads {
        // One that panicked has left its message.
        let _ignored = thread.join();
    }
    let failed = failure.lock().ok().and_then(|mut f| f.take());
    match failed {
        Some(what) => Err(LiveError::Usage(what)),
        None if code > 128 => Err(LiveError::Interrupted { code }),
        None => Ok(outcome),
    }
}

/// Each sender has a port of its own for the reports of its flow.
fn own_reports() -> Ports {
    Ports {
        reports: Some(quic::REPORTS),
        by_flow: true,
        ..Ports::default()
    }
}

/// `ebb` for connections that choose it, at the servers or in the UEs' `spaces`, where one of `tasks` does; gone with what is returned.
#[cfg(feature = "bpf")]
fn load_ebb(
    tasks: &[tasks::Task],
    spaces: &[Namespace],
) -> Result<Option<crate::bpf::LoadedEbb>, LiveError> {
    use std::net::{Ipv4Addr, SocketAddr};

    use crate::bpf::{LoadedEbb, Scope, report_sockets};

    let senders = || {
        let numbered = tasks.iter().enumerate();
        numbered.filter(|(_, t)| base(&t.controller) == EBB && !t.quic)
    };
    let Some((_, first)) = senders().next() else {
        return Ok(None);
    };
    if let Some((_, other)) = senders().find(|(_, t)| t.controller != first.controller) {
        return Err(LiveError::Usage(format!(
            "found {:?} beside {:?}, expected the same parameters for all flows of the kernel's ebb",
            other.controller, first.controller
        )));
    }
    let mut sockets = Vec::new();
    for (i, task) in senders() {
        let port = quic::REPORTS + i as u16;
        let address = [SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)];
        let own = if task.up {
            spaces[task.ue as usize].inside(|| report_sockets(&address, None))?
        } else {
            report_sockets(&address, None)?
        };
        sockets.extend(own);
    }
    let priority = Some(hosts::HOST_PRIORITY);
    LoadedEbb::new(
        &Scope::ChosenAnywhere,
        &first.controller,
        sockets,
        None,
        priority,
    )
    .map(Some)
}

/// XRC for connections of this namespace that choose it; gone with what is returned.
#[cfg(feature = "bpf")]
fn load_xrc() -> Result<crate::bpf::Loaded, LiveError> {
    use crate::bpf::{Loaded, Profile, Scope};
    let here = Scope::Chosen("/proc/thread-self/ns/net".into());
    Loaded::new(&here, Profile::Default)
}
