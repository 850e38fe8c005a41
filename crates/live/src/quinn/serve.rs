//! The server.

mod limits;
mod source;

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration as Wall, Instant};

use ::quinn::{
    Connection, Endpoint, EndpointConfig, Incoming, RecvStream, Runtime as _, SendStream,
    ServerConfig, TokioRuntime, VarInt,
};
use slackwater_control::EcnMode;
use slackwater_control::registry::Registry;
use slackwater_core::Draw;
use slackwater_quinn::clock::Epoch;
use slackwater_quinn::control::{Adapter, Clock, Shared};
use slackwater_quinn::host::{Marked, drive};
use slackwater_quinn::session;
use slackwater_signal::{PathReport, ReportBody};

pub use self::limits::Limits;
use self::limits::{Allowance, Seat, Seats, while_it_moves};
use self::source::Source;
use super::reports::{self, Directory, Heard};
use super::{
    Fingerprint, Identity, LINE, SEGMENT, UNI_STREAMS, block_on, controller, line, mbps, transport,
    usage,
};
use crate::LiveError;
use crate::counted::{CounterReport, Key};

/// What a server offers.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The folder of its files; without one it has zeros alone.
    pub root: Option<PathBuf>,
    /// The controller of each connection, by name.
    pub controller: String,
    /// The controllers that it may be one of: the built-in ones and those that the program adds.
    pub controllers: Registry,
    /// Where reports come in beside the connections.
    pub reports: Option<SocketAddr>,
    /// The key of the base station's counters: those without its tag are passed over.
    pub key: Option<Key>,
    /// It ends after so many transfers.
    pub transfers: Option<u64>,
    /// Connections may show the spin bit (RFC 9000, 17.4); quinn keeps it dark on one in eight.
    pub spin: bool,
    /// How packets are marked; `None` as the controller wants it, else with ECT(0).
    pub ecn: Option<EcnMode>,
    /// What clients may hold.
    pub limits: Limits,
    /// Seed of the controllers' random draws.
    pub seed: u64,
}

/// A server that listens.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// Where.
    pub address: SocketAddr,
    /// Where reports come in.
    pub reports: Option<SocketAddr>,
    /// By what clients know it.
    pub fingerprint: Fingerprint,
}

/// A transfer, as its sender saw it. Times are ms.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Served {
    /// The client.
    pub client: SocketAddr,
    /// What it asked for.
    pub request: String,
    /// The controller.
    pub controller: String,
    /// Stream bytes handed to quinn.
    pub bytes: u64,
    /// Bytes of QUIC packets that were acknowledged meanwhile.
    pub acknowledged: u64,
    /// From the request to the last byte's acknowledgment.
    pub seconds: f64,
    /// Of stream bytes; of acknowledged packets where the client went before the end.
    pub goodput_mbps: f64,
    /// Least round-trip time.
    pub min_rtt_ms: f64,
    /// Median of the smoothed round-trip time, sampled every 10 ms.
    pub srtt_p50_ms: f64,
    /// The same, 95 of 100.
    pub srtt_p95_ms: f64,
    /// Mean window, bytes.
    pub window_bytes: f64,
    /// QUIC packets sent on the connection so far.
    pub packets: u64,
    /// Those that were lost.
    pub lost: u64,
    /// Congestion events: losses and marks.
    pub congestion_events: u64,
    /// Packets that the client counted by their mark on the connection so far, and among them those marked on the path.
    pub ect0: u64,
    /// The same, ECT(1).
    pub ect1: u64,
    /// The same, CE.
    pub ce: u64,
    /// Reports told to the controller from beside the connection, so far.
    pub reports_beside: u64,
    /// Reports told to the controller in DATAGRAM frames, so far.
    pub reports_inside: u64,
    /// All bytes were acknowledged.
    pub complete: bool,
}

/// What every connection needs.
struct Common {
    options: Options,
    directory: Directory,
    done: std::sync::mpsc::Sender<Served>,
    transfers: AtomicU64,
}

/// Serves until `stop`, or until as many transfers as wanted are done: tells of the socket to `started`, of each transfer
/// to `each`. What came to the reports' socket is returned.
///
/// # Errors
/// Where a socket cannot be had, the folder is none, or the controller is not known.
pub fn serve(
    options: &Options,
    started: impl FnOnce(&Listening),
    mut each: impl FnMut(&Served),
    stop: &AtomicBool,
) -> Result<Heard, LiveError> {
    let draw = Draw::new(options.seed);
    let (_, ecn) = controller(&options.controllers, &options.controller, options.ecn, draw)?;
    if let Some(root) = &options.root
        && !root.is_dir()
    {
        return Err(usage(format!("{}: expected a folder", root.display())));
    }
    let identity = Identity::new()?;
    block_on(async {
        let directory = Directory::of_key(options.key.clone());
        let mut listening = Listening {
            address: options.listen,
            reports: None,
            fingerprint: identity.fingerprint(),
        };
        if let Some(address) = options.reports {
            let wrong = |e| LiveError::kernel(format!("cannot hear reports at {address}"), e);
            let socket = tokio::net::UdpSocket::bind(address).await.map_err(wrong)?;
            listening.reports = socket.local_addr().ok();
            tokio::spawn(reports::listen(socket, directory.clone()));
        }
        let wrong = |e| LiveError::kernel(format!("cannot serve at {}", options.listen), e);
        let socket = UdpSocket::bind(options.listen).map_err(wrong)?;
        let socket = TokioRuntime.wrap_udp_socket(socket).map_err(wrong)?;
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            Some(ServerConfig::with_crypto(identity.crypto())),
            Arc::new(Marked::new(socket, ecn)),
            Arc::new(TokioRuntime),
        )
        .map_err(wrong)?;
        listening.address = endpoint.local_addr().map_err(wrong)?;
        started(&listening);
        let (done, finished) = std::sync::mpsc::channel();
        let common = Arc::new(Common {
            options: options.clone(),
            directory: directory.clone(),
            done,
            transfers: AtomicU64::new(0),
        });
        let seats = Seats::new(&options.limits);
        let mut count = 0;
        loop {
            for served in finished.try_iter() {
                each(&served);
                count += 1;
            }
            let enough = options.transfers.is_some_and(|n| count >= n);
            if enough || stop.load(Ordering::Relaxed) {
                break;
            }
            // Handshakes are for tasks; this one looks up now and then.
            let next = tokio::time::timeout(Wall::from_millis(50), endpoint.accept());
            if let Ok(Some(incoming)) = next.await {
                let Some((incoming, seat)) = seats.admit(incoming) else {
                    continue;
                };
                let number = common.transfers.fetch_add(1, Ordering::Relaxed);
                let common = Arc::clone(&common);
                let crypto = identity.crypto();
                tokio::spawn(
                    async move { connection(incoming, seat, crypto, number, common).await },
                );
            }
        }
        endpoint.close(VarInt::from_u32(0), b"the server ends");
        // Lets the words go out; a client that does not hear them times out.
        let _ignored = tokio::time::timeout(Wall::from_millis(500), endpoint.wait_idle()).await;
        Ok(directory.heard())
    })
}

async fn connection(
    incoming: Incoming,
    _seat: Seat,
    crypto: Arc<::quinn::crypto::rustls::QuicServerConfig>,
    number: u64,
    common: Arc<Common>,
) {
    let options = &common.options;
    let draw = Draw::new(options.seed).fork(number, 0);
    let (cc, ecn) = controller(&options.controllers, &options.controller, options.ecn, draw)
        .expect("the name was checked at the start");
    let clock = Clock::Read(Instant::now);
    let control = Shared::new(Epoch::new(), cc, SEGMENT, Some(ecn), clock);
    let mut config = transport(options.spin);
    options.limits.bound(&mut config);
    config.congestion_controller_factory(Arc::new(Adapter(control.clone())));
    let mut server = ServerConfig::with_crypto(session::server(crypto, control.clone()));
    server.transport_config(Arc::new(config));
    let Ok(connecting) = incoming.accept_with(Arc::new(server)) else {
        return;
    };
    // One that never finishes its handshake is nobody's transfer.
    let Ok(connection) = connecting.await else {
        return;
    };
    let client = connection.remote_address();
    common.directory.add(client, control.clone());
    let inside = Arc::new(AtomicU64::new(0));
    let helpers = [
        tokio::spawn(drive(
            connection.clone(),
            control.clone(),
            Arc::new(TokioRuntime),
            UNI_STREAMS.into(),
        )),
        tokio::spawn(datagrams(
            connection.clone(),
            control.clone(),
            Arc::clone(&inside),
            common.options.key.is_some(),
        )),
    ];
    let allowance = Arc::new(Allowance::new(&options.limits));
    loop {
        match tokio::time::timeout(options.limits.patience, connection.accept_bi()).await {
            Ok(Ok((send, recv))) => {
                let busy = allowance.begin();
                let (connection, control) = (connection.clone(), control.clone());
                let (common, inside) = (Arc::clone(&common), Arc::clone(&inside));
                let allowance = Arc::clone(&allowance);
                tokio::spawn(async move {
                    let streams = (send, recv);
                    transfer(streams, &connection, &control, &inside, &allowance, &common).await;
                    drop(busy);
                });
            }
            Ok(Err(_)) => break,
            Err(_) if allowance.idle() => {
                connection.close(VarInt::from_u32(0), b"nothing was wanted");
                break;
            }
            Err(_) => {}
        }
    }
    common.directory.remove(client);
    for helper in helpers {
        helper.abort();
    }
}

/// Hears reports from the client.
async fn datagrams(connection: Connection, control: Shared, heard: Arc<AtomicU64>, keyed: bool) {
    while let Ok(datagram) = connection.read_datagram().await {
        // A report's eight octets, or a base station's counters with the head that names their flow: the connection is it. Where
        // there is a key, counters count only where it has signed them, and the client has none.
        let body = <[u8; 8]>::try_from(&datagram[..]).ok().map(ReportBody);
        let counters = || {
            let report = CounterReport::open(&datagram, None).ok()?;
            (!keyed).then_some(())?;
            Some(PathReport::Counters(report.counters))
        };
        if let Some(report) = body.and_then(ReportBody::report).or_else(counters) {
            heard.fetch_add(1, Ordering::Relaxed);
            reports::tell(&control, &report);
        }
    }
}

async fn transfer(
    (mut send, mut recv): (SendStream, RecvStream),
    connection: &Connection,
    control: &Shared,
    inside: &AtomicU64,
    allowance: &Allowance,
    common: &Common,
) {
    let patience = common.options.limits.patience;
    let Ok(Ok(request)) = tokio::time::timeout(patience, recv.read_to_end(LINE)).await else {
        return;
    };
    let request = line(&request).map_or(String::new(), |(text, _)| text.to_owned());
    let found = Source::find(request.clone(), common.options.root.clone()).await;
    let found = found.and_then(|source| allowance.take(source.length()).map(|()| source));
    let mut source = match found {
        Ok(source) => source,
        Err(why) => {
            // The client may be gone already.
            let _ignored = send.write_all(format!("ERROR {why}\n").as_bytes()).await;
            let _ignored = send.finish();
            return;
        }
    };
    let begun = Instant::now();
    let before = control.get().delivered().0;
    let samples = Arc::new(std::sync::Mutex::new(Samples::default()));
    let sampler = tokio::spawn(sample(control.clone(), Arc::clone(&samples)));
    let mut bytes = 0;
    let complete = write(&mut send, &mut source, control, patience, &mut bytes).await;
    let seconds = begun.elapsed().as_secs_f64();
    sampler.abort();
    // A short transfer ends before the first sample.
    look(control, &samples);
    let stats = connection.stats().path;
    let samples = core::mem::take(&mut *samples.lock().expect("no holder panics"));
    let min_rtt = control.get().sample().min_rtt;
    let counted = control.get().counted();
    let acknowledged = control.get().delivered().0 - before;
    let client = connection.remote_address();
    let served = Served {
        client,
        request,
        controller: common.options.controller.clone(),
        bytes,
        acknowledged,
        seconds,
        goodput_mbps: mbps(if complete { bytes } else { acknowledged }, seconds),
        min_rtt_ms: min_rtt.as_millis_f64(),
        srtt_p50_ms: samples.srtt(0.5),
        srtt_p95_ms: samples.srtt(0.95),
        window_bytes: samples.window(),
        packets: stats.sent_packets,
        lost: stats.lost_packets,
        congestion_events: stats.congestion_events,
        ect0: counted.ect0,
        ect1: counted.ect1,
        ce: counted.ce,
        reports_beside: common.directory.told(client),
        reports_inside: inside.load(Ordering::Relaxed),
        complete,
    };
    // Nobody listens any more where the server has ended.
    let _ignored = common.done.send(served);
}

/// Writes everything and waits until it is acknowledged; false where the client went before, or takes nothing for `patience`.
async fn write(
    send: &mut SendStream,
    source: &mut Source,
    control: &Shared,
    patience: Wall,
    bytes: &mut u64,
) -> bool {
    let head = format!("OK {}\n", source.length());
    let done = while_it_moves(control, patience, send.write_all(head.as_bytes())).await;
    if !matches!(done, Some(Ok(()))) {
        return false;
    }
    loop {
        let piece = match source.piece().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            // The file has shrunk: the stream ends short, and the client says so.
            Err(_) => {
                let _ignored = send.reset(VarInt::from_u32(1));
                return false;
            }
        };
        let mut rest = piece;
        while !rest.is_empty() {
            match while_it_moves(control, patience, send.write(&rest)).await {
                Some(Ok(n)) => {
                    *bytes += n as u64;
                    rest = rest.slice(n..);
                }
                // The client stopped it, or is gone.
                Some(Err(_)) => return false,
                None => {
                    let _ignored = send.reset(VarInt::from_u32(1));
                    return false;
                }
            }
        }
    }
    if send.finish().is_err() {
        return false;
    }
    let stopped = while_it_moves(control, patience, send.stopped()).await;
    matches!(stopped, Some(Ok(None)))
}

/// What the sender saw every 10 ms.
#[derive(Debug, Default)]
struct Samples {
    srtt: Vec<f64>,
    window: f64,
}

impl Samples {
    fn srtt(&self, quantile: f64) -> f64 {
        let mut all = self.srtt.clone();
        all.sort_by(f64::total_cmp);
        let at = (all.len() as f64 * quantile) as usize;
        all.get(at.min(all.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    }

    fn window(&self) -> f64 {
        self.window / (self.srtt.len() as f64).max(1.0)
    }
}

async fn sample(control: Shared, samples: Arc<std::sync::Mutex<Samples>>) {
    loop {
        tokio::time::sleep(Wall::from_millis(10)).await;
        look(&control, &samples);
    }
}

fn look(control: &Shared, samples: &std::sync::Mutex<Samples>) {
    let sample = control.get().sample();
    let mut samples = samples.lock().expect("no holder panics");
    samples.srtt.push(sample.srtt.as_millis_f64());
    samples.window += sample.cwnd.0 as f64;
}
