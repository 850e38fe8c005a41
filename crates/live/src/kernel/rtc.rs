//! A media flow: a WebRTC sender and a receiver of this program, one on each side of the path.
//!
//! What each states of itself in signalling goes by memory, and so does what the network states of its marker.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use slackwater_control::PathView;
use slackwater_control::media::MediaController as _;
use slackwater_core::{Draw, Instant};
use slackwater_rtc::{Receiver, RtcError, Sender};
use slackwater_scenario::Scenario;
use slackwater_scenario::build::{marking_scheme, media_of};
use slackwater_signal::PathReport;
use slackwater_transport::rtp::SenderConfig;

use super::hosts::{Failure, fail};
use super::quic::REPORTS;
use super::tasks::Task;
use crate::LiveError;
use crate::emulate::Drive;
use crate::emulate::plan::Plan;
use crate::rtc::Port;

/// Starts both ends of `task`, the flow of number `index`. The sender takes the cell's reports at a port of its own.
pub(super) fn start(
    task: &Task,
    index: usize,
    scenario: &Scenario,
    plan: Plan,
    drive: &Drive,
    over: &Arc<AtomicBool>,
    failure: &Failure,
) -> Result<[JoinHandle<()>; 2], LiveError> {
    let flows = scenario.expanded_flows();
    let Some(media) = flows[index].spec.app.media() else {
        return Err(LiveError::Usage("found no media, expected some".to_owned()));
    };
    let draw = Draw::new(scenario.seed).fork(index as u64, 0);
    let (mut config, mut controller) =
        media_of(scenario, media, &task.controller, draw).map_err(LiveError::Usage)?;
    // A world's timers are never late; these are.
    config.sender.late = SenderConfig::default().late;

    // A world repeats this each second, as its datagrams may be lost; the thresholds do not change.
    if let Some(scheme) = marking_scheme(scenario, task.up).filter(|_| media.told) {
        let report = PathReport::MarkingScheme(scheme);
        controller.on_report(Instant::ZERO, &PathView::default(), &report);
    }

    let space = drive.space(task.ue).share()?;
    let server = SocketAddr::new(plan.server().into(), task.port);
    let ue = SocketAddr::new(plan.ue(task.ue).into(), task.port);
    let (from, to) = if task.up { (ue, server) } else { (server, ue) };
    let inside = space.inside(|| Port::open(ue))?;
    let outside = Port::open(server)?;
    let (mut near, mut far) = if task.up {
        (inside, outside)
    } else {
        (outside, inside)
    };
    let reports = SocketAddr::new(from.ip(), REPORTS + index as u16);
    let take = |port: &mut Port| port.take_reports(reports, None);
    if task.up {
        space.inside(|| take(&mut near))?;
    } else {
        take(&mut near)?;
    }
    let wrong = |e: RtcError| LiveError::Usage(format!("WebRTC from {from} to {to}: {e}"));
    let mut sender = Sender::new(near.now(), from, config, controller, draw).map_err(wrong)?;
    let mut receiver = Receiver::new(far.now(), to, config).map_err(wrong)?;
    let offer = sender.offer(near.now()).map_err(wrong)?;
    let answer = receiver.answer(far.now(), &offer).map_err(wrong)?;
    sender.accept(near.now(), &answer).map_err(wrong)?;

    let (stop, failed) = (Arc::clone(over), Arc::clone(failure));
    let sends = std::thread::spawn(move || {
        let _ordinary = Port::urgent();
        let done = near.drive(&mut sender, &stop, |_, _, _| true);
        if let Err(e) = done {
            fail(&failed, format!("WebRTC sender at {from}: {e}"));
        } else if !sender.connected() {
            fail(
                &failed,
                format!("WebRTC from {from} to {to}: found no connection"),
            );
        }
    });
    let (stop, failed) = (Arc::clone(over), Arc::clone(failure));
    let receives = std::thread::spawn(move || {
        let _ordinary = Port::urgent();
        if let Err(e) = far.drive(&mut receiver, &stop, |_, _, _| true) {
            fail(&failed, format!("WebRTC receiver at {to}: {e}"));
        }
    });
    Ok([sends, receives])
}
