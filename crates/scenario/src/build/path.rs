//! The hops between the two ends of a flow.

use slackwater_core::{Direction, Duration, NodeId, Qfi, UeId};
use slackwater_sim::{Detour, HopConfig, LaneConfig, Stalls};

use super::{Layout, flow, upf};
use crate::{FlowInstance, Scenario};

/// Where a flow enters the radio.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its UE.
    pub(super) ue: UeId,
    /// Its `QoS` flow.
    pub(super) qfi: Qfi,
    /// The same, where it has a guaranteed rate.
    pub(super) gbr_flow: Option<Qfi>,
    /// Length of a slot of the cell; zero for a link.
    pub(super) slot: Duration,
}

/// The paths of `flow`: to the UE and to the network.
pub(super) fn of(
    scenario: &Scenario,
    layout: &Layout,
    flow: &FlowInstance<'_>,
    place: Place,
) -> (Vec<HopConfig>, Vec<HopConfig>) {
    let Place { ue, gbr_flow, .. } = place;
    // Without jitter of about a slot, arrivals stay in phase with the cell's slots and lock flows out of a full buffer.
    let jitter = scenario.path.jitter.unwrap_or(place.slot);
    // The UPF stands between the servers' part of the way and its own to the cell.
    let n3 = scenario.upf.as_ref().map(|u| u.n3.min(flow.rtt / 2));
    let wide = |jitter, loss| {
        HopConfig::Lane(LaneConfig {
            delay: flow.rtt / 2 - n3.unwrap_or(Duration::ZERO),
            jitter,
            loss,
            ..LaneConfig::default()
        })
    };
    let near = n3.map(|delay| near(scenario, delay));
    let radio = |node| radio(layout, node, place);
    let (loss_down, loss_up) = losses(scenario, flow);

    let mut down = vec![wide(jitter, loss_down)];
    down.extend(layout.wired.map(HopConfig::Link));
    down.extend(upf::hops(&layout.upf, ue, gbr_flow, Direction::Down));
    down.extend(near);
    down.push(radio(layout.bottleneck));
    down.extend(pause(scenario, 0));

    // The cell is the way back too; a link has one where the way back can delay.
    let back = if layout.cell {
        Some(layout.bottleneck)
    } else {
        layout.up_node
    };
    let mut up: Vec<HopConfig> = back.map(radio).into_iter().collect();
    up.extend(pause(scenario, 1));
    up.extend(near);
    up.extend(upf::hops(&layout.upf, ue, gbr_flow, Direction::Up));
    if flow::is_up(flow) {
        up.extend(layout.wired_up.map(HopConfig::Link));
    }
    let jitter = if layout.cell { jitter } else { Duration::ZERO };
    up.push(wide(jitter, loss_up));
    (down, up)
}

/// Shares of packets that the wired part loses: towards the UE and towards the network.
fn losses(scenario: &Scenario, flow: &FlowInstance<'_>) -> (f64, f64) {
    let loss = scenario.path.loss.fraction();
    // Media's reports may also be lost on their own way.
    let rtcp = flow.spec.app.media().map(|m| m.feedback_loss.fraction());
    let back = 1.0 - (1.0 - loss) * (1.0 - rtcp.unwrap_or(0.0));
    if flow::is_up(flow) {
        (back, loss)
    } else {
        (loss, back)
    }
}

/// The way between the UPF and the base station.
fn near(scenario: &Scenario, delay: Duration) -> HopConfig {
    let detour = scenario.upf.as_ref().and_then(|u| {
        Some(Detour {
            period: u.detour.period,
            extra: u.detour.extra?,
        })
    });
    HopConfig::Lane(LaneConfig {
        delay,
        detour,
        ..LaneConfig::default()
    })
}

/// The pauses of an emulator's `host`, which hold up what the bottleneck has served, and the way back.
fn pause(scenario: &Scenario, host: u64) -> Option<HopConfig> {
    let stalls = scenario.path.stalls.as_ref()?;
    let stalls = Some(Stalls {
        every: stalls.every,
        longest: stalls.longest,
        host,
    });
    Some(HopConfig::Lane(LaneConfig {
        stalls,
        ..LaneConfig::default()
    }))
}

/// The bottleneck as a hop.
fn radio(layout: &Layout, node: NodeId, place: Place) -> HopConfig {
    if layout.cell {
        HopConfig::Cell {
            node,
            ue: place.ue,
            qfi: place.qfi,
        }
    } else {
        HopConfig::Link(node)
    }
}

/// Takes lanes without effect out of `path`, but for the last hop.
pub(super) fn skip_idle(path: &mut Vec<HopConfig>) {
    let idle = HopConfig::Lane(LaneConfig::default());
    while path.len() > 1
        && let Some(at) = path.iter().position(|hop| *hop == idle)
    {
        path.remove(at);
    }
}
