//! The server.

pub(super) mod http;
mod limits;
mod source;
mod transfer;

use std::net::SocketAddr;
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
use self::source::{Source, Wish};
use self::transfer::Client;
pub use self::transfer::Served;
use super::reports::{self, Directory};
use super::{
    Fingerprint, Identity, KeyHash, LINE, SEGMENT, UNI_STREAMS, block_on, controller, line,
    transport, usage,
};
use crate::LiveError;
use crate::counted::{CounterReport, Heard, Key};

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
    /// By what Chromium knows it.
    pub key: KeyHash,
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
            key: identity.key(),
        };
        if let Some(address) = options.reports {
            let wrong = |e| LiveError::kernel(format!("cannot hear reports at {address}"), e);
            let socket = tokio::net::UdpSocket::bind(address).await.map_err(wrong)?;
            listening.reports = socket.local_addr().ok();
            tokio::spawn(reports::listen(socket, directory.clone()));
        }
        let wrong = |e| LiveError::kernel(format!("cannot serve at {}", options.listen), e);
        let socket = super::bind(options.listen).map_err(wrong)?;
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
    let address = connection.remote_address();
    common.directory.add(address, control.clone());
    let client = Client {
        connection,
        control,
        inside: Arc::default(),
        allowance: Arc::new(Allowance::new(&options.limits)),
        common: Arc::clone(&common),
    };
    let helpers = [
        tokio::spawn(drive(
            client.connection.clone(),
            client.control.clone(),
            Arc::new(TokioRuntime),
            UNI_STREAMS.into(),
        )),
        tokio::spawn(datagrams(
            client.connection.clone(),
            client.control.clone(),
            Arc::clone(&client.inside),
            common.options.key.is_some(),
        )),
    ];
    if client.protocol().as_deref() == Some(http::ALPN) {
        http::serve(&client).await;
    } else {
        lines(&client).await;
    }
    common.directory.remove(address);
    for helper in helpers {
        helper.abort();
    }
}

/// Answers the requests of our own protocol on one connection until it ends.
async fn lines(client: &Client) {
    let connection = &client.connection;
    let patience = client.common.options.limits.patience;
    loop {
        match tokio::time::timeout(patience, connection.accept_bi()).await {
            Ok(Ok(streams)) => {
                let busy = client.allowance.begin();
                let client = client.clone();
                tokio::spawn(async move {
                    answer(streams, &client).await;
                    drop(busy);
                });
            }
            Ok(Err(_)) => return,
            Err(_) if client.allowance.idle() => {
                connection.close(VarInt::from_u32(0), b"nothing was wanted");
                return;
            }
            Err(_) => {}
        }
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

async fn answer((mut send, mut recv): (SendStream, RecvStream), client: &Client) {
    let options = &client.common.options;
    let patience = options.limits.patience;
    let Ok(Ok(request)) = tokio::time::timeout(patience, recv.read_to_end(LINE)).await else {
        return;
    };
    let request = line(&request).map_or(String::new(), |(text, _)| text.to_owned());
    let found = match Wish::read(&request) {
        Ok(wish) => Source::find(wish, options.root.clone()).await,
        Err(why) => Err(why),
    };
    let found = found.and_then(|source| client.allowance.take(source.length()).map(|()| source));
    let mut source = match found {
        Ok(source) => source,
        Err(why) => {
            // The client may be gone already.
            let _ignored = send.write_all(format!("ERROR {why}\n").as_bytes()).await;
            let _ignored = send.finish();
            return;
        }
    };
    let mut transfer = client.begin(request);
    let bytes = &mut transfer.bytes;
    let complete = write(&mut send, &mut source, &client.control, patience, bytes).await;
    transfer.end(complete);
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
