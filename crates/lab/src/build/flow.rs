//! Flows of a scenario.

use slackwater_control::EcnMode;
use slackwater_control::registry::Config as ControllerConfig;
use slackwater_core::{Bytes, Direction, Draw, Instant};
use slackwater_sim::{Carrier, FlowConfig, HopConfig};
use slackwater_transport::app::{
    AppConfig, CbrConfig, FrameClock, FramesConfig, PageConfig, TransfersConfig, VideoConfig,
};
use slackwater_transport::tcp::{Config as TcpConfig, DelayedAck};

use super::controller;
use crate::scenario::flow::{self, App, Tcp, TcpEcn, Way};
use crate::scenario::{FlowInstance, Scenario};

pub(super) fn is_up(flow: &FlowInstance<'_>) -> bool {
    flow.spec.direction == Way::Up
}

/// The controller's name; empty for datagrams.
pub(super) fn controller_name<'a>(flow: &FlowInstance<'a>) -> &'a str {
    match flow.spec.app.carrier() {
        flow::Carrier::Tcp => &flow.spec.controller,
        flow::Carrier::Udp => "",
    }
}

/// The flow, or why its controller cannot be had.
pub(super) fn config(
    scenario: &Scenario,
    flow: &FlowInstance<'_>,
    down: Vec<HopConfig>,
    up: Vec<HopConfig>,
    draw: Draw,
) -> Result<FlowConfig, String> {
    let spec = flow.spec;
    let carrier = match (spec.app.carrier(), &spec.app) {
        (flow::Carrier::Tcp, _) => {
            let config = ControllerConfig::new(u32::from(spec.tcp.mss), draw)
                .with_initial_window(spec.tcp.initial_window)
                .with_initial_ssthresh(spec.tcp.initial_ssthresh);
            let controller = controller::in_scenario(&spec.controller, &config, scenario)
                .map_err(|e| e.to_string())?;
            Carrier::Tcp {
                config: Box::new(tcp(&spec.tcp)),
                controller: Box::new(controller),
            }
        }
        (flow::Carrier::Udp, App::Vr(vr)) => Carrier::Udp { packet: vr.packet },
        (flow::Carrier::Udp, App::Cbr(cbr)) => Carrier::Udp { packet: cbr.packet },
        (flow::Carrier::Udp, _) => return Err("this application needs TCP".to_owned()),
    };
    Ok(FlowConfig {
        direction: if is_up(flow) {
            Direction::Up
        } else {
            Direction::Down
        },
        carrier,
        app: app(&spec.app),
        start: Instant::ZERO + flow.start,
        stop: Instant::ZERO + flow.stop,
        down,
        up,
    })
}

/// The flow's packets come from outside, from a sender that reads what `simulated` would have read.
pub(super) fn external(simulated: &Carrier) -> Carrier {
    use slackwater_control::Controller as _;
    Carrier::External {
        takes_reports: match simulated {
            Carrier::Tcp { controller, .. } => controller.takes_reports(),
            Carrier::Udp { .. } => false,
            Carrier::External { takes_reports } => *takes_reports,
        },
    }
}

fn tcp(config: &Tcp) -> TcpConfig {
    let window = config.recv_buffer.get();
    // The smallest scale that lets the 16-bit field name the whole buffer (RFC 7323, 2.3).
    let smallest = (0..=14).find(|s| window >> s <= 65_535).unwrap_or(14);
    let window_scale = config.window_scale.unwrap_or(smallest);
    TcpConfig {
        mss: config.mss,
        timestamps: config.timestamps,
        sack: config.sack,
        window_scale,
        send_buffer: config.send_buffer,
        recv_buffer: config.recv_buffer,
        delayed_ack: DelayedAck {
            segments: u16::from(config.ack_every),
            timeout: config.delayed_ack,
            ..DelayedAck::default()
        },
        min_rto: config.min_rto,
        ecn: match config.ecn {
            // Unless the controller asks for it.
            TcpEcn::Off => None,
            TcpEcn::Classic => Some(EcnMode::Classic),
            TcpEcn::Accurate => Some(EcnMode::L4s),
        },
        pacing: config.pacing,
        ..TcpConfig::default()
    }
}

fn app(config: &App) -> AppConfig {
    match config {
        App::Bulk(_) => AppConfig::Bulk,
        App::Transfers(t) => AppConfig::Transfers(TransfersConfig {
            min: t.min,
            max: t.max,
            gap: t.gap,
            count: t.count,
            reconnect: t.reconnect,
        }),
        App::Page(p) => AppConfig::Page(PageConfig {
            connections: p.connections,
            objects: p.objects,
            size: p.size,
            document: p.document,
            sigma: p.spread,
            request: p.request,
            multiplexed: p.multiplexed,
            gap: p.gap,
            count: p.count,
        }),
        App::Video(v) => AppConfig::Video(VideoConfig {
            rate: v.rate,
            on: v.on,
            period: v.period,
            burst: v.burst,
        }),
        App::Vr(v) => AppConfig::Frames(FramesConfig {
            fps: v.fps,
            rate: v.rate,
            size_cv: v.size_cv.fraction(),
            interval_sigma: v.interval_sigma,
            clock: match v.clock {
                flow::VrClock::Gaps => FrameClock::Gaps,
                flow::VrClock::Grid => FrameClock::Grid,
            },
            lead: v.lead,
            random_phase: v.random_phase,
        }),
        App::Cbr(c) => AppConfig::Cbr(CbrConfig {
            rate: c.rate,
            piece: Bytes(u64::from(c.packet) - 28),
        }),
    }
}
