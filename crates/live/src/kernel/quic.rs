//! A flow over QUIC: a server with one of our controllers, and a client in the UE's namespace.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration as Wall, Instant};

use slackwater_core::Duration;
use slackwater_scenario::Scenario;

use super::hosts::{Failure, HOST_PRIORITY, PATIENCE, fail};
use super::tasks::Task;
use crate::LiveError;
use crate::emulate::Drive;
use crate::emulate::plan::Plan;
use crate::quinn::get::{self, Wanted};
use crate::quinn::serve;
use crate::sys;

/// The senders' ports for the cell's reports: this one and up, by flow. Above those of the flows themselves (`tasks::PORT`).
pub(super) const REPORTS: u16 = 7000;
/// More than any run takes: 2^60 bytes.
const ENDLESS: u64 = 1 << 60;
/// A server is there within this, or never.
const START: Wall = Wall::from_secs(10);

/// Starts server and client of `task`, the server on the side that sends, where it hears reports at the port `reports`.
pub(super) fn start(
    task: &Task,
    scenario: &Scenario,
    reports: u16,
    plan: Plan,
    drive: &Drive,
    over: &Arc<AtomicBool>,
    failure: &Failure,
) -> Result<[JoinHandle<()>; 2], LiveError> {
    let space = drive.space(task.ue).share()?;
    let host = if task.up {
        plan.ue(task.ue)
    } else {
        plan.server()
    };
    let address = SocketAddr::new(host.into(), task.port);
    let (up, own) = (task.up, drive.space(task.ue).share()?);
    let options = serve::Options {
        listen: address,
        root: None,
        controller: task.controller.clone(),
        controllers: scenario.plugins().controllers().clone(),
        reports: Some(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), reports)),
        key: None,
        transfers: None,
        spin: true,
        ecn: None,
        limits: serve::Limits::default(),
        seed: scenario.seed,
    };
    let (tell, told) = mpsc::channel();
    let server = std::thread::spawn({
        let (over, failure) = (Arc::clone(over), Arc::clone(failure));
        move || {
            let _ignored = sys::realtime(HOST_PRIORITY);
            let started = |_: &serve::Listening| {
                // The one who waits may have given up.
                let _ignored = tell.send(());
            };
            let serve = || serve::serve(&options, started, |_| {}, &over);
            let served = if up { own.inside(serve) } else { serve() };
            if let Err(e) = served {
                fail(&failure, format!("QUIC server at {address}: {e}"));
            }
        }
    });
    if told.recv_timeout(START).is_err() {
        over.store(true, Ordering::Relaxed);
        let _ignored = server.join();
        let why = failure.lock().ok().and_then(|mut f| f.take());
        let why = why.unwrap_or_else(|| format!("no QUIC server at {address}"));
        return Err(LiveError::Usage(why));
    }
    let wall = |d: Duration| Wall::from_nanos(d.as_nanos());
    let (begins, ends) = (wall(task.start), wall(task.stop));
    let begun = Instant::now();
    let client = std::thread::spawn({
        let (over, failure) = (Arc::clone(over), Arc::clone(failure));
        move || {
            let _ignored = sys::realtime(HOST_PRIORITY);
            std::thread::sleep(begins.saturating_sub(begun.elapsed()));
            let options = get::Options {
                server: address,
                wanted: Wanted::Zeros(ENDLESS),
                fingerprint: None,
                relay: None,
                limit: Some(ends.saturating_sub(begins)),
                spin: true,
            };
            let get = || get::get(&options, |_, _| {}, &over);
            let got = if up { get() } else { space.inside(get) };
            // At the end of a run the devices go first.
            std::thread::sleep(PATIENCE);
            if let Err(e) = got
                && !over.load(Ordering::Relaxed)
            {
                fail(&failure, format!("QUIC client of {address}: {e}"));
            }
        }
    });
    Ok([server, client])
}
