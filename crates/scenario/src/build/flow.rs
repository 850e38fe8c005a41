//! Flows of a scenario.

use slackwater_control::registry::{Config as ControllerConfig, Encoder};
use slackwater_control::{AnyController, AnyMedia, Controller as _, EcnMode, MediaController as _};
use slackwater_core::{Bytes, Direction, Draw, Duration, Instant};
use slackwater_sim::{FlowConfig, HopConfig, Transport};
use slackwater_transport::app::{
    AppConfig, CbrConfig, FrameClock, FramesConfig, PageConfig, TransfersConfig, VideoConfig,
};
use slackwater_transport::quic::{AckRule, Config as QuicConfig, Spin};
use slackwater_transport::rtp::{
    Cadence, Format, Overflow, Playout, ReceiverConfig, RtpConfig, SenderConfig, Sizes,
    SourceConfig,
};
use slackwater_transport::tcp::{Config as TcpConfig, DelayedAck};

use super::controller;
use crate::flow::{self, App, Quic, QuicEcn, QuicSpin, Tcp, TcpEcn, Way};
use crate::media::{Frames, Media, MediaEcn, Report};
use crate::units::Percent;
use crate::{FlowInstance, Scenario};

pub(super) fn is_up(flow: &FlowInstance<'_>) -> bool {
    flow.spec.direction == Way::Up
}

/// The controller's name; empty for datagrams.
pub(super) fn controller_name<'a>(flow: &FlowInstance<'a>) -> &'a str {
    if flow.spec.protocol().is_controlled() {
        &flow.spec.controller
    } else {
        ""
    }
}

/// Why a flow cannot be built.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The key below `[[flow]]`.
    pub(super) key: &'static str,
    /// What is wrong with it.
    pub(super) reason: String,
}

impl Wrong {
    /// The controller cannot be had.
    const fn controller(reason: String) -> Self {
        let key = "controller";
        Self { key, reason }
    }
}

/// The flow, or why it cannot be built. A controller that is `given` stands in for a TCP flow's that is named.
pub(super) fn config(
    scenario: &Scenario,
    flow: &FlowInstance<'_>,
    down: Vec<HopConfig>,
    up: Vec<HopConfig>,
    draw: Draw,
    given: impl FnOnce(&ControllerConfig) -> Option<AnyController>,
) -> Result<FlowConfig, Wrong> {
    let spec = flow.spec;
    let controller = |window, ssthresh| {
        let config = ControllerConfig::new(u32::from(spec.mss()), draw)
            .with_initial_window(window)
            .with_initial_ssthresh(ssthresh);
        match given(&config) {
            Some(controller) => Ok(Box::new(controller)),
            None => controller::in_scenario(&spec.controller, &config, scenario)
                .map(Box::new)
                .map_err(|e| Wrong::controller(e.to_string())),
        }
    };
    let transport = match (spec.protocol(), &spec.app) {
        (flow::Protocol::Tcp, _) => Transport::Tcp {
            config: Box::new(tcp(&spec.tcp)),
            controller: controller(spec.tcp.initial_window, spec.tcp.initial_ssthresh)?,
        },
        (flow::Protocol::Quic, _) => Transport::Quic {
            config: Box::new(quic(&spec.quic)),
            controller: controller(spec.quic.initial_window, spec.quic.initial_ssthresh)?,
        },
        (flow::Protocol::Quinn, _) => Transport::Quinn {
            config: Box::new(quic(&spec.quic)),
            controller: controller(spec.quic.initial_window, spec.quic.initial_ssthresh)?,
        },
        (flow::Protocol::Udp, App::Vr(vr)) => Transport::Udp { packet: vr.packet },
        (flow::Protocol::Udp, App::Cbr(cbr)) => Transport::Udp { packet: cbr.packet },
        (flow::Protocol::Rtp, App::Media(media)) => {
            let (rtp, controller) =
                self::media(scenario, media, &spec.controller, draw).map_err(Wrong::controller)?;
            Transport::Rtp {
                config: Box::new(rtp),
                controller: Box::new(controller),
            }
        }
        (flow::Protocol::Udp | flow::Protocol::Rtp, _) => {
            return Err(Wrong {
                key: "app",
                reason: format!(
                    "found {:?} over packets of its own, expected TCP or QUIC",
                    spec.app.word()
                ),
            });
        }
    };
    Ok(FlowConfig {
        direction: if is_up(flow) {
            Direction::Up
        } else {
            Direction::Down
        },
        transport,
        app: app(&spec.app),
        start: Instant::ZERO + flow.start,
        stop: Instant::ZERO + flow.stop,
        down,
        up,
    })
}

/// The flow's packets come from outside, from a sender that reads what `simulated` would have read.
pub(super) fn external(simulated: &Transport) -> Transport {
    let (takes_reports, takes_blocks, takes_counters) = match simulated {
        Transport::Tcp { controller, .. }
        | Transport::Quic { controller, .. }
        | Transport::Quinn { controller, .. } => (
            controller.takes_reports(),
            controller.takes_blocks(),
            controller.takes_counters(),
        ),
        Transport::Rtp { controller, .. } => (
            controller.takes_reports(),
            false,
            controller.takes_counters(),
        ),
        Transport::Udp { .. } => (false, false, false),
        Transport::External {
            takes_reports,
            takes_blocks,
            takes_counters,
        } => (*takes_reports, *takes_blocks, *takes_counters),
    };
    Transport::External {
        takes_reports,
        takes_blocks,
        takes_counters,
    }
}

/// The ends of a media flow under the controller `name`, as a scenario describes them; the words say why its controller cannot be had.
///
/// # Errors
/// Where no media controller has this name.
pub fn media(
    scenario: &Scenario,
    media: &Media,
    name: &str,
    draw: Draw,
) -> Result<(RtpConfig, AnyMedia), String> {
    let rtp = rtp(media, name);
    let config = ControllerConfig::new(u32::from(rtp.payload()), draw)
        .with_encoder(Encoder {
            start: media.start,
            least: media.min,
            most: media.max,
        })
        .with_service(media.service);
    let known = scenario.plugins().controllers();
    let controller = known
        .build_media(name, &config)
        .map_err(|e| e.to_string())?;
    Ok((rtp, controller))
}

/// Media waits so long before it is thrown away (`kMaxRtpQueueDelay` of Ericsson's `ScreamTx.h`).
const CLEARED: Duration = Duration::from_millis(100);

/// libwebrtc's pacer sends what is due within this time at once (`TaskQueuePacedSender`, burst interval).
const CHROMIUM_BURST: Duration = Duration::from_millis(40);

fn rtp(config: &Media, controller: &str) -> RtpConfig {
    let every = config.every;
    let name = controller
        .split_once(':')
        .map_or(controller, |(name, _)| name);
    RtpConfig {
        format: match config.feedback {
            Report::Ccfb => Format::Ccfb,
            Report::Twcc => Format::Twcc,
        },
        sender: SenderConfig {
            source: SourceConfig {
                fps: config.fps,
                least: config.min,
                most: config.max,
                start: config.start,
                lag: config.lag,
                sizes: match config.frames {
                    Frames::Even => Sizes::Even(config.size_cv.map_or(0.05, Percent::fraction)),
                    Frames::Chromium => config
                        .size_cv
                        .map_or(Sizes::CHROMIUM, |cv| Sizes::Scenes(cv.fraction())),
                },
                key_interval: config.key_interval,
                key_scale: config.key_scale,
                random_phase: config.random_phase,
                pause: config
                    .pause
                    .map(|from| (Instant::ZERO + from, Instant::ZERO + config.resume)),
            },
            packet: config.packet,
            pacing: config.pacing,
            burst: config.burst.or(match config.frames {
                Frames::Even => None,
                Frames::Chromium => Some(CHROMIUM_BURST),
            }),
            // A world's timers are never late.
            late: Duration::ZERO,
            overflow: if config.discard.unwrap_or(name == "scream") {
                Overflow::Discard(config.longest_wait.unwrap_or(CLEARED))
            } else {
                Overflow::Hurry(config.longest_wait)
            },
            unreported: config.unreported.unwrap_or(Duration::ZERO),
            retransmit: config.nack,
            ecn: match config.ecn {
                MediaEcn::Controller => None,
                MediaEcn::Off => Some(EcnMode::Off),
                MediaEcn::Ect1 => Some(EcnMode::L4s),
            },
            ..SenderConfig::default()
        },
        receiver: ReceiverConfig {
            cadence: every.map_or(ReceiverConfig::default().cadence, Cadence::Interval),
            nack: config.nack,
            playout: config
                .playout
                .map_or(ReceiverConfig::default().playout, Playout::Fixed),
            deadline: config.late_after(),
            needs_key: config.needs_key,
            ..ReceiverConfig::default()
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
        receive_offload: config.receive_offload,
        ..TcpConfig::default()
    }
}

fn quic(config: &Quic) -> QuicConfig {
    QuicConfig {
        packet: config.packet,
        send_buffer: config.send_buffer,
        recv_window: config.recv_window,
        ack: AckRule {
            packets: u16::from(config.ack_every),
            delay: config.max_ack_delay,
            ..AckRule::default()
        },
        pacing: config.pacing,
        ecn: match config.ecn {
            // Unless the controller asks for it.
            QuicEcn::Off => None,
            QuicEcn::Classic => Some(EcnMode::Classic),
        },
        spin: match config.spin {
            QuicSpin::On => Spin::On,
            QuicSpin::Off => Spin::Off,
            QuicSpin::Rfc => Spin::Rfc,
        },
        mtu_discovery: config.mtu_discovery,
        timer_step: config.timer_step,
        ..QuicConfig::default()
    }
}

/// What the application of a flow sends, and when.
pub fn app(config: &App) -> AppConfig {
    match config {
        // Media's encoder is a part of the transport.
        App::Bulk(_) | App::Media(_) => AppConfig::Bulk,
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
