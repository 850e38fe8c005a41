//! `slackwater rtc bench`: what a sender costs, and what it loses beside other work.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use slackwater_lab::control::registry::{Config, Encoder};
use slackwater_lab::core::{Draw, Duration, Rate};
use slackwater_live::rtc::bench::{Bench, Found, run};
use slackwater_live::rtc::{Receiver, RtpConfig, Sender};
use slackwater_scenario::Plugins;

use super::{codec, mbps};
use crate::say::say;

#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// The congestion controller, one for media of `slackwater list`; its rate is held at --rate
    #[arg(long, value_name = "NAME", default_value = "cl4s")]
    cc: String,
    /// The encoder's rate in Mbit/s
    #[arg(long, value_name = "MBPS", default_value_t = 50.0, value_parser = mbps)]
    rate: f64,
    /// Seconds to measure
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// Threads that take all the processor time they get, beside
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=256))]
    load: u16,
    /// Lateness that a packet's departure may make up for, in ms
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    late: u64,
    /// Without the real-time class, as a user without rights has it
    #[arg(long)]
    ordinary: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    encoder: codec::EncoderArgs,
}

/// Frames a second.
const FPS: f64 = 30.0;
/// A sender of so many Mbit/s may take so many percent of a core (docs/rtc.md, "Cost of a sender").
const GOAL: (f64, f64) = (50.0, 10.0);

#[derive(Debug, Serialize)]
struct Line {
    controller: String,
    wanted_mbps: f64,
    sent_mbps: f64,
    core_percent: f64,
    /// That over what a sender may take, at the rate of the goal alone.
    goal_ratio: Option<f64>,
    packet_us: f64,
    /// Processor time of the sender for each frame.
    frame_ms: f64,
    /// Processor time of the receiver for each picture that it decoded.
    decoded_ms: Option<f64>,
    decoded: u64,
    undecoded: u64,
    skipped: u64,
    late_p50_ms: f64,
    late_p95_ms: f64,
    late_p99_ms: f64,
    longest_wait_ms: f64,
    packets: u64,
    received: u64,
    realtime: bool,
}

pub(super) fn bench(args: &BenchArgs, plugins: &Plugins) -> Result<ExitCode> {
    let draw = Draw::new(1);
    let rate = Rate::from_bps((args.rate * 1e6) as u64);
    let mut config = RtpConfig::default();
    config.sender.source.fps = FPS;
    config.sender.source.start = rate;
    config.sender.source.least = rate;
    config.sender.source.most = rate;
    config.sender.late = Duration::from_millis(args.late);
    let encoder = Encoder {
        start: rate,
        least: rate,
        most: rate,
    };
    let built = Config::new(u32::from(config.payload()), draw).with_encoder(encoder);
    let controller = plugins.controllers().build_media(&args.cc, &built)?;
    let bench = Bench {
        config,
        seconds: args.seconds,
        load: usize::from(args.load),
        urgent: !args.ordinary,
    };
    let encoder = args.encoder.made(FPS, rate, rate)?;
    let decoder = codec::DecoderArgs::default().made()?;
    let sender =
        |now, address| Sender::with_encoder(now, address, config, controller, draw, encoder()?);
    let receiver = |now, address| Receiver::with_decoder(now, address, config, decoder()?);
    let found = run(&bench, sender, receiver)?;
    let line = line(args, &found);
    if args.json {
        say!("{}", serde_json::to_string(&line)?);
        return Ok(ExitCode::SUCCESS);
    }
    say!(
        "{} at {} Mbit/s for {} s beside {} busy threads, {}",
        line.controller,
        args.rate,
        args.seconds,
        args.load,
        if line.realtime {
            "real-time class"
        } else {
            "ordinary class"
        }
    );
    say!(
        "sent          {:.2} Mbit/s on the wire, {} packets",
        line.sent_mbps,
        line.packets
    );
    say!(
        "processor     {:.1} % of a core, {:.1} us a packet",
        line.core_percent,
        line.packet_us
    );
    if let Some(ratio) = line.goal_ratio {
        say!(
            "goal          below {} % of a core at {} Mbit/s: {ratio:.2} of it",
            GOAL.1,
            GOAL.0
        );
    }
    if let Some(decoded) = line.decoded_ms {
        say!(
            "a frame       {:.2} ms to send, {decoded:.2} ms to receive; {} decoded, {} not, {} left out",
            line.frame_ms,
            line.decoded,
            line.undecoded,
            line.skipped
        );
    }
    say!(
        "timers late   p50 {:.2}, p95 {:.2}, p99 {:.2} ms",
        line.late_p50_ms,
        line.late_p95_ms,
        line.late_p99_ms
    );
    say!(
        "longest wait  {:.1} ms, of a packet for the pacer",
        line.longest_wait_ms
    );
    Ok(ExitCode::SUCCESS)
}

fn line(args: &BenchArgs, found: &Found) -> Line {
    let spent = found.processor.as_secs_f64();
    let decoded = found.received.decoded;
    let late = |share| found.late.quantile(share).as_millis_f64();
    let core_percent = spent / found.wall.as_secs_f64() * 100.0;
    // A real encoder takes what it takes.
    let goal = (args.rate == GOAL.0 && !args.encoder.is_real()).then_some(GOAL.1);
    Line {
        controller: args.cc.clone(),
        wanted_mbps: args.rate,
        sent_mbps: found.bytes as f64 * 8e-6 / found.wall.as_secs_f64(),
        core_percent,
        goal_ratio: goal.map(|goal| core_percent / goal),
        packet_us: spent * 1e6 / found.packets.max(1) as f64,
        frame_ms: spent * 1e3 / (found.wall.as_secs_f64() * FPS),
        decoded_ms: (decoded.frames > 0)
            .then(|| found.receiver.as_millis_f64() / decoded.frames as f64),
        decoded: decoded.frames,
        undecoded: decoded.failed,
        skipped: found.sent.media.skipped,
        late_p50_ms: late(0.5),
        late_p95_ms: late(0.95),
        late_p99_ms: late(0.99),
        longest_wait_ms: found.sent.media.longest_wait.as_millis_f64(),
        packets: found.packets,
        received: found.received.media.packets,
        realtime: found.urgent,
    }
}
