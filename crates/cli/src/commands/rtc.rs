//! `slackwater rtc`: WebRTC on a socket, under a media controller of ours.

mod bench;
mod codec;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver as Queue, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as Wall;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use slackwater_lab::control::registry::{Config, Encoder};
use slackwater_lab::core::{Draw, Duration, Instant, Rate};
use slackwater_live::rtc::{
    self, Codec, End, Format, Key, Place, Port, Received, Receiver, RtcError, RtpConfig, Sender,
    Sent, Trouble, format_of,
};
use slackwater_scenario::Plugins;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::progress;
use crate::say::say;

/// Where signalling listens unless told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8090);
/// An offer is answered within this (ours).
const PATIENCE: Wall = Wall::from_secs(10);
/// What is wrong for so many seconds on end is said (ours): a drop of the rate marks all packets of one.
const LASTS: u32 = 3;
/// The longest offer; Chromium's have 6 kB.
const LONGEST: usize = 64 << 10;
/// The path that offers are posted to.
const OFFER: &str = "/offer";

/// `slackwater rtc`
#[derive(Debug, Args)]
pub(crate) struct RtcArgs {
    #[command(subcommand)]
    command: RtcCommand,
}

#[derive(Debug, Subcommand)]
enum RtcCommand {
    /// Send video of any rate to `slackwater rtc receive` or to a browser, until Ctrl-C
    Send(SendArgs),
    /// Receive video from `slackwater rtc send` or from a browser, until Ctrl-C
    Receive(ReceiveArgs),
    /// Measure what a sender costs and loses on this machine, over the loopback
    Bench(bench::BenchArgs),
}

/// How the two ends find each other.
#[derive(Debug, Args)]
struct Meeting {
    /// The other end's signalling server: http://HOST:PORT (default: be the server)
    #[arg(value_name = "URL", value_parser = place)]
    to: Option<Place>,
    /// Where the signalling server listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = LISTEN, conflicts_with = "to")]
    listen: SocketAddr,
    /// Where media come and go (default: the address on the way to the other end, any port)
    #[arg(long, value_name = "ADDRESS:PORT")]
    udp: Option<SocketAddr>,
    /// Reports of arrivals, where we offer: an answer takes what was offered
    #[arg(long, value_enum, default_value_t = Feedback::Ccfb)]
    feedback: Feedback,
    /// End after this many seconds of media; a sender waits one more for the last reports
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// Lose so many percent of media packets on purpose, to try what retransmissions make good
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    lose: f64,
    /// Print a line of JSON a second to standard output in place of the table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Feedback {
    /// RFC 8888, with ECN
    Ccfb,
    /// Transport-wide congestion control, without ECN
    Twcc,
}

#[derive(Debug, Args)]
struct SendArgs {
    #[command(flatten)]
    meeting: Meeting,
    /// The congestion controller, one for media of `slackwater list`
    #[arg(long, value_name = "NAME", default_value = "cl4s")]
    cc: String,
    /// Frames per second
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=240))]
    fps: u16,
    /// The encoder's first rate in Mbit/s
    #[arg(long, value_name = "MBPS", default_value_t = 1.0, value_parser = mbps)]
    start: f64,
    /// The encoder's greatest rate in Mbit/s
    #[arg(long, value_name = "MBPS", default_value_t = 20.0, value_parser = mbps)]
    most: f64,
    /// Seed of the sizes of synthetic frames
    #[arg(long, default_value_t = 1, value_parser = crate::seed())]
    seed: u64,
    /// Take a base station's reports there, as `slackwater emulate --edge ebb --reports PORT` sends them
    #[arg(long, value_name = "ADDRESS:PORT")]
    reports: Option<SocketAddr>,
    /// The key in this file signs counters, and others count for nothing
    #[arg(long, value_name = "FILE", requires = "reports")]
    report_key: Option<PathBuf>,
    #[command(flatten)]
    encoder: codec::EncoderArgs,
}

#[derive(Debug, Args)]
struct ReceiveArgs {
    #[command(flatten)]
    meeting: Meeting,
    #[command(flatten)]
    decoder: codec::DecoderArgs,
}

fn place(text: &str) -> Result<Place, String> {
    Place::parse(text, OFFER)
}

fn mbps(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|r| (0.3..=1000.0).contains(r));
    rate.ok_or_else(|| "expected Mbit/s from 0.3 to 1000".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|p| (0.0..=50.0).contains(p));
    share.ok_or_else(|| "expected percent from 0 to 50".to_owned())
}

impl Feedback {
    const fn format(self) -> Format {
        match self {
            Self::Ccfb => Format::Ccfb,
            Self::Twcc => Format::Twcc,
        }
    }
}

pub(crate) fn rtc(args: &RtcArgs, plugins: &Plugins) -> Result<ExitCode> {
    // A measurement has nothing to tell before its end: Ctrl-C ends it as it ends any program.
    if !matches!(args.command, RtcCommand::Bench(_)) {
        progress::catch_interrupts();
    }
    match &args.command {
        RtcCommand::Send(args) => send(args, plugins),
        RtcCommand::Receive(args) => receive(args),
        RtcCommand::Bench(args) => bench::bench(args, plugins),
    }
}

/// A second of a sender.
#[derive(Debug, Serialize)]
struct Sending {
    seconds: u64,
    controller: String,
    target_mbps: f64,
    sent_mbps: f64,
    rtt_ms: f64,
    marked: u64,
    lost: u64,
    /// NACKs that came.
    nacks: u64,
    /// Packets that were sent again.
    again: u64,
    reports: u64,
    /// Of a base station.
    reports_beside: u64,
    packets: u64,
    frames: u64,
    /// Of those, how many the encoder left out.
    skipped: u64,
    malformed: u64,
    codec: &'static str,
}

/// A second of a receiver.
#[derive(Debug, Serialize)]
struct Receiving {
    seconds: u64,
    received_mbps: f64,
    marked: u64,
    l4s: u64,
    packets: u64,
    frames: u64,
    shown: u64,
    freezes: u64,
    delay_ms: f64,
    /// Where the sender has answered for it.
    rtt_ms: Option<f64>,
    reports: u64,
    nacks: u64,
    /// Key frames that were requested.
    plis: u64,
    /// Pictures, where the command decodes what comes.
    decoded: u64,
    /// Frames without one.
    undecoded: u64,
    /// Mean from capture until the picture, by the two clocks.
    decoded_after_ms: Option<f64>,
    psnr_db: Option<f64>,
}

fn send(args: &SendArgs, plugins: &Plugins) -> Result<ExitCode> {
    let draw = Draw::new(args.seed);
    let rate = |mbps: f64| Rate::from_bps((mbps * 1e6) as u64);
    let mut config = RtpConfig::default();
    config.sender.source.fps = f64::from(args.fps);
    // Receivers report once a frame, ours and browsers.
    config.sender.unreported = Duration::from_secs_f64(1.0 / f64::from(args.fps));
    config.sender.source.start = rate(args.start);
    config.sender.source.most = rate(args.most.max(args.start));
    let encoder = Encoder {
        start: config.sender.source.start,
        least: config.sender.source.least,
        most: config.sender.source.most,
    };
    let built = Config::new(u32::from(config.payload()), draw).with_encoder(encoder);
    let controller = plugins.controllers().build_media(&args.cc, &built)?;
    let fps = f64::from(args.fps);
    let source = config.sender.source;
    let encoder = args.encoder.made(fps, source.start, source.most)?;
    let made = |now, address, format| {
        let mut config = config;
        config.format = format;
        Sender::with_encoder(now, address, config, controller.clone(), draw, encoder()?)
    };
    let header = "  s   target Mbit/s  sent Mbit/s  RTT ms   marks  lost  again  reports  frames";
    let mut before = Sent::default();
    let (mut seen, mut told) = (HashMap::new(), HashSet::new());
    let key = args.report_key.as_deref().map(Key::read).transpose()?;
    let reports = args.reports.map(|address| (address, key));
    run(
        &args.meeting,
        "receive",
        header,
        reports.as_ref(),
        made,
        |sender: &mut Sender, seconds| {
            let now = sender.stats();
            let found = Trouble::between(&before, &now, sender.format());
            seen.retain(|trouble, _| found.contains(trouble));
            for trouble in found {
                let times: &mut u32 = seen.entry(trouble).or_default();
                *times += 1;
                // Once each: a line a second would hide the table.
                if *times >= LASTS && told.insert(trouble) {
                    eprintln!("rtc: {trouble}");
                }
            }
            let sent = (now.media.bytes.0 - before.media.bytes.0) as f64 * 8.0 / 1e6;
            let line = Sending {
                seconds,
                controller: sender.controller().to_owned(),
                target_mbps: now.target.as_bps() as f64 / 1e6,
                sent_mbps: sent,
                rtt_ms: now.srtt.as_secs_f64() * 1e3,
                marked: now.media.marked,
                lost: now.media.lost,
                nacks: now.media.nacks,
                again: now.media.retransmits,
                reports: now.media.reports,
                reports_beside: now.reports_beside,
                packets: now.media.packets,
                frames: now.media.frames,
                skipped: now.media.skipped,
                malformed: now.malformed,
                codec: name(sender.codec()),
            };
            let text = format!(
                "{:>3} {:>15.2} {:>12.2} {:>7.1} {:>7} {:>5} {:>6} {:>8} {:>7}",
                seconds,
                line.target_mbps,
                sent,
                line.rtt_ms,
                now.media.marked - before.media.marked,
                now.media.lost - before.media.lost,
                now.media.retransmits - before.media.retransmits,
                now.media.reports - before.media.reports,
                now.media.frames - before.media.frames,
            );
            before = now;
            (text, serde_json::to_string(&line))
        },
    )
}

fn receive(args: &ReceiveArgs) -> Result<ExitCode> {
    let decoder = args.decoder.made()?;
    let decodes = cfg!(feature = "h264");
    let made = |now, address, format| {
        let config = RtpConfig {
            format,
            ..RtpConfig::default()
        };
        Receiver::with_decoder(now, address, config, decoder()?)
    };
    let mut header = "  s   Mbit/s   marks   ECT(1)  frames  freezes  delay ms  reports".to_owned();
    if decodes {
        header += "  decoded  not  PSNR dB";
    }
    let mut before = Received::default();
    let mut told = false;
    run(
        &args.meeting,
        "send",
        &header,
        None,
        made,
        |receiver: &mut Receiver, seconds| {
            let now = receiver.stats();
            let line = Receiving {
                seconds,
                received_mbps: (now.bytes.0 - before.bytes.0) as f64 * 8.0 / 1e6,
                marked: now.media.marked,
                l4s: now.l4s,
                packets: now.media.packets,
                frames: now.frames,
                shown: now.media.shown,
                freezes: now.media.freezes,
                delay_ms: now.delay.as_secs_f64() * 1e3,
                rtt_ms: now.rtt.map(Duration::as_millis_f64),
                reports: now.media.reports,
                nacks: now.media.nacks,
                plis: now.media.plis,
                decoded: now.decoded.frames,
                undecoded: now.decoded.failed,
                decoded_after_ms: (now.decoded.frames > 0)
                    .then(|| (now.decoded.delays / now.decoded.frames).as_millis_f64()),
                psnr_db: now.decoded.psnr,
            };
            if let Some(e) = receiver.failure().filter(|_| !told) {
                // Once: the next one is decoded, or has the same to say.
                eprintln!("rtc: {e}");
                told = true;
            }
            let mut text = format!(
                "{:>3} {:>8.2} {:>7} {:>8} {:>7} {:>8} {:>9.1} {:>8}",
                seconds,
                line.received_mbps,
                now.media.marked - before.media.marked,
                now.l4s - before.l4s,
                now.frames - before.frames,
                now.media.freezes - before.media.freezes,
                line.delay_ms,
                now.media.reports - before.media.reports,
            );
            if decodes {
                let psnr = now
                    .decoded
                    .psnr
                    .map_or("-".to_owned(), |q| format!("{q:.1}"));
                let _ = write!(
                    text,
                    " {:>8} {:>4} {psnr:>8}",
                    now.decoded.frames - before.decoded.frames,
                    now.decoded.failed - before.decoded.failed,
                );
            }
            before = now;
            (text, serde_json::to_string(&line))
        },
    )
}

/// What a line of JSON calls `codec`.
const fn name(codec: Codec) -> &'static str {
    match codec {
        Codec::H264 => "h264",
        // Ours is synthetic.
        _ => "vp8",
    }
}

/// What both ends have for signalling.
trait Signalled: End {
    fn offer(&mut self, now: Instant) -> Result<String, RtcError>;
    fn answer(&mut self, now: Instant, offer: &str) -> Result<String, RtcError>;
    fn accept(&mut self, now: Instant, answer: &str) -> Result<(), RtcError>;
    fn connected(&self) -> bool;
    /// Why the end ended the flow by itself.
    fn ended(&self) -> Option<String>;
    /// Its media end now; whether it waits for the last reports about them.
    fn finish(&mut self, now: Instant) -> bool;
}

macro_rules! signalled {
    ($end:ty, $ended:expr, $finish:expr) => {
        impl Signalled for $end {
            fn offer(&mut self, now: Instant) -> Result<String, RtcError> {
                Self::offer(self, now)
            }
            fn answer(&mut self, now: Instant, offer: &str) -> Result<String, RtcError> {
                Self::answer(self, now, offer)
            }
            fn accept(&mut self, now: Instant, answer: &str) -> Result<(), RtcError> {
                Self::accept(self, now, answer)
            }
            fn connected(&self) -> bool {
                Self::connected(self)
            }
            fn ended(&self) -> Option<String> {
                $ended(self)
            }
            fn finish(&mut self, now: Instant) -> bool {
                $finish(self, now)
            }
        }
    };
}
signalled!(
    Sender,
    |s: &Self| s.failure().map(ToString::to_string),
    |s: &mut Self, now| {
        s.finish(now);
        true
    }
);
// A picture that fails ends nothing.
signalled!(Receiver, |_: &Self| None, |_: &mut Self, _| false);

/// An offer that waits for its answer.
type Offer = (String, oneshot::Sender<Result<String, String>>);

/// Sets up a connection, drives it, and shows a line a second; `page`: what a browser does that opens the server.
fn run<E: Signalled>(
    meeting: &Meeting,
    page: &'static str,
    header: &str,
    reports: Option<&(SocketAddr, Option<Key>)>,
    made: impl Fn(Instant, SocketAddr, Format) -> Result<E, RtcError>,
    mut line: impl FnMut(&mut E, u64) -> (String, serde_json::Result<String>),
) -> Result<ExitCode> {
    let latest = Arc::new(Mutex::new("{}".to_owned()));
    let open = |address: IpAddr| -> Result<Port> {
        let mut port = Port::open(meeting.udp.unwrap_or(SocketAddr::new(address, 0)))?;
        if let Some((address, key)) = reports {
            let address = port.take_reports(*address, key.clone())?;
            eprintln!("rtc: reports at {address}");
        }
        Ok(port)
    };
    let (mut port, mut end) = if let Some(place) = &meeting.to {
        let address = rtc::own_address(Some(place.resolve()?.ip()));
        let port = open(address)?;
        let mut end = made(port.now(), port.address(), meeting.feedback.format())?;
        let offer = end.offer(port.now())?;
        let answer = rtc::post(place, &offer)?;
        end.accept(port.now(), &answer)?;
        (port, end)
    } else {
        let address = match meeting.listen.ip() {
            ip if ip.is_unspecified() => rtc::own_address(None),
            ip => ip,
        };
        let port = open(address)?;
        let offers = listen(meeting.listen, page, Arc::clone(&latest))?;
        let Some(end) = answered(&offers, &port, &made)? else {
            return Ok(ExitCode::from(130));
        };
        (port, end)
    };

    port.lose(meeting.lose / 100.0, Draw::new(1));
    // Where the machine does not allow it, packets leave late beside other work, which the docs say.
    let _urgent = Port::urgent();
    if !meeting.json {
        say!("{header}");
    }
    let mut wrong = None;
    let mut start = None;
    let stop = AtomicBool::new(false);
    let mut finished = false;
    port.drive(&mut end, &stop, |now, end, second| {
        if progress::interrupted() {
            return false;
        }
        if !end.connected() {
            return second < PATIENCE.as_secs() * 3;
        }
        let second = second - *start.get_or_insert(second - 1);
        let (text, json) = line(end, second);
        match json {
            Ok(json) => {
                say!("{}", if meeting.json { &json } else { &text });
                *latest.lock().unwrap_or_else(PoisonError::into_inner) = json;
            }
            Err(e) => wrong = Some(e),
        }
        if wrong.is_some() || finished {
            return false;
        }
        finished = meeting.seconds.is_some_and(|s| second >= s);
        !finished || end.finish(now)
    })?;
    if reports.is_some() {
        let heard = port.heard();
        eprintln!(
            "rtc: {} reports told, {} malformed, {} of no connection, {} forged or doubled, {} beyond the most in a second",
            heard.told, heard.malformed, heard.strangers, heard.forged, heard.flooded
        );
    }
    if let Some(e) = wrong {
        return Err(e.into());
    }
    if let Some(why) = end.ended() {
        bail!("{why}");
    }
    if !end.connected() {
        bail!("no connection: the other end's address cannot be reached, or it left");
    }
    Ok(if progress::interrupted() {
        ExitCode::from(130)
    } else {
        ExitCode::SUCCESS
    })
}

/// The end that answers the first offer that can be met; `None` after Ctrl-C.
fn answered<E: Signalled>(
    offers: &Queue<Offer>,
    port: &Port,
    made: &impl Fn(Instant, SocketAddr, Format) -> Result<E, RtcError>,
) -> Result<Option<E>> {
    while !progress::interrupted() {
        let (offer, reply) = match offers.recv_timeout(Wall::from_millis(50)) {
            Ok(offer) => offer,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => bail!("signalling ended"),
        };
        let now = port.now();
        let answered = made(now, port.address(), format_of(&offer)).and_then(|mut end| {
            let answer = end.answer(now, &offer)?;
            Ok((end, answer))
        });
        match answered {
            Ok((end, answer)) => {
                // Who posted and left: the connection's timers notice.
                let _ = reply.send(Ok(answer));
                return Ok(Some(end));
            }
            Err(e) => {
                eprintln!("rtc: an offer is refused: {e}");
                let _ = reply.send(Err(e.to_string()));
            }
        }
    }
    Ok(None)
}

/// What the signalling server knows.
#[derive(Clone)]
struct Known {
    offers: SyncSender<Offer>,
    page: &'static str,
    latest: Arc<Mutex<String>>,
}

/// Takes offers on a thread of its own.
fn listen(
    address: SocketAddr,
    page: &'static str,
    latest: Arc<Mutex<String>>,
) -> Result<Queue<Offer>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = runtime
        .block_on(TcpListener::bind(address))
        .with_context(|| format!("cannot listen at {address} (--listen)"))?;
    let address = listener.local_addr()?;
    // One connection: the offers that come after it find nobody who reads.
    let (offers, queue) = sync_channel(1);
    let routes = Router::new()
        .route("/", get(index))
        .route("/stats", get(stats))
        .route(OFFER, post(offered))
        .layer(DefaultBodyLimit::max(LONGEST))
        .with_state(Known {
            offers,
            page,
            latest,
        });
    std::thread::Builder::new()
        .name("signalling".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                if let Err(e) = axum::serve(listener, routes).await {
                    eprintln!("rtc: no more signalling: {e}");
                }
            });
        })?;
    eprintln!("rtc: open http://{address}/ in a browser, or give that address to the other end");
    Ok(queue)
}

async fn index(State(known): State<Known>) -> Html<String> {
    let page = include_str!("../../assets/rtc.html").replace("@END@", known.page);
    Html(page.replace("@SCRIPT@", include_str!("../../assets/built/rtc.js")))
}

async fn stats(State(known): State<Known>) -> Response {
    let latest = known.latest.lock().unwrap_or_else(PoisonError::into_inner);
    ([(header::CONTENT_TYPE, "application/json")], latest.clone()).into_response()
}

async fn offered(State(known): State<Known>, offer: String) -> Response {
    let (reply, replied) = oneshot::channel();
    if known.offers.try_send((offer, reply)).is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "one connection is all\n").into_response();
    }
    match tokio::time::timeout(PATIENCE, replied).await {
        Ok(Ok(Ok(answer))) => {
            let kind = [(header::CONTENT_TYPE, "application/sdp")];
            (StatusCode::CREATED, kind, answer).into_response()
        }
        Ok(Ok(Err(why))) => (StatusCode::BAD_REQUEST, why + "\n").into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "no answer\n").into_response(),
    }
}
