//! The client.

use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration as Wall, Instant};

use ::quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, Runtime as _,
    TokioRuntime, VarInt,
};
use bytes::Bytes;
use slackwater_control::EcnMode;
use slackwater_quinn::host::Marked;
use slackwater_signal::ReportBody;
use slackwater_wire::report::Datagram;

use super::{ALPN, Fingerprint, LINE, block_on, line, mbps, ms, tls, transport, usage};
use crate::LiveError;
use crate::counted::{Budget, CounterReport};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A file, and where it goes.
    File {
        /// Its name at the server.
        name: String,
        /// Where it goes; thrown away without a place.
        to: Option<PathBuf>,
    },
    /// So many zeros, thrown away.
    Zeros(u64),
}

/// How to get it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub server: SocketAddr,
    /// What.
    pub wanted: Wanted,
    /// The server's certificate; without one, any.
    pub fingerprint: Option<Fingerprint>,
    /// Where reports for the server come in on this side: they go on in DATAGRAM frames.
    pub relay: Option<SocketAddr>,
    /// It ends after this time, whatever is left.
    pub limit: Option<Wall>,
    /// The connection may show the spin bit.
    pub spin: bool,
}

/// A transfer, as its receiver saw it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Got {
    /// Stream bytes.
    pub bytes: u64,
    /// Bytes that the server announced.
    pub announced: u64,
    /// From the request to the last byte.
    pub seconds: f64,
    /// Of stream bytes.
    pub goodput_mbps: f64,
    /// Until the connection was there.
    pub handshake_ms: f64,
    /// From the request to the first byte of the answer.
    pub first_byte_ms: f64,
    /// quinn's round-trip time at the end.
    pub rtt_ms: f64,
    /// UDP datagrams received.
    pub datagrams: u64,
    /// Those of them with ECT(0).
    pub ect0: u64,
    /// Those with ECT(1).
    pub ect1: u64,
    /// Those marked CE on the path.
    pub ce: u64,
    /// Reports sent on in DATAGRAM frames.
    pub relayed: u64,
    /// Everything came; false where the time was up.
    pub complete: bool,
}

/// Gets it; tells `progress` of bytes so far and in all, ten times a second.
///
/// # Errors
/// Where the server does not answer, is not the one of the fingerprint, has not what is asked for or breaks off, or the
/// file cannot be written.
pub fn get(
    options: &Options,
    mut progress: impl FnMut(u64, u64),
    stop: &AtomicBool,
) -> Result<Got, LiveError> {
    block_on(async {
        let unspecified: IpAddr = match options.server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let wrong = |e| LiveError::kernel("cannot open a socket", e);
        let socket = super::bind(SocketAddr::new(unspecified, 0)).map_err(wrong)?;
        let socket = TokioRuntime.wrap_udp_socket(socket).map_err(wrong)?;
        let socket = Marked::new(socket, EcnMode::Classic);
        let arrived = socket.arrived();
        let mut endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            None,
            Arc::new(socket),
            Arc::new(TokioRuntime),
        )
        .map_err(wrong)?;
        let mut config = ClientConfig::new(tls::client(options.fingerprint, ALPN)?);
        config.transport_config(Arc::new(transport(options.spin)));
        endpoint.set_default_client_config(config);
        let begun = Instant::now();
        let connecting = endpoint
            .connect(options.server, "slackwater")
            .map_err(|e| usage(format!("cannot connect to {}: {e}", options.server)))?;
        let connection = connecting.await.map_err(|e| refused(options.server, &e))?;
        let handshake_ms = ms(begun.elapsed());
        let relayed = Arc::new(AtomicU64::new(0));
        if let Some(address) = options.relay {
            let wrong = |e| LiveError::kernel(format!("cannot hear reports at {address}"), e);
            let socket = tokio::net::UdpSocket::bind(address).await.map_err(wrong)?;
            tokio::spawn(relay(socket, connection.clone(), Arc::clone(&relayed)));
        }
        let got = transfer(options, &connection, &mut progress, stop).await;
        let mut got = got?;
        got.handshake_ms = handshake_ms;
        got.ect0 = arrived.ect0.load(Ordering::Relaxed);
        got.ect1 = arrived.ect1.load(Ordering::Relaxed);
        got.ce = arrived.ce.load(Ordering::Relaxed);
        got.relayed = relayed.load(Ordering::Relaxed);
        connection.close(VarInt::from_u32(0), b"done");
        let _ignored = tokio::time::timeout(Wall::from_millis(500), endpoint.wait_idle()).await;
        Ok(got)
    })
}

fn refused(server: SocketAddr, error: &ConnectionError) -> LiveError {
    usage(match error {
        ConnectionError::TimedOut => format!("no answer from {server}"),
        other => format!("{server}: {other}"),
    })
}

/// Sends on what comes to `socket`: a report's eight bytes, a whole [`Datagram`], of which the body goes on, or a base station's
/// counters, whole.
async fn relay(socket: tokio::net::UdpSocket, connection: Connection, count: Arc<AtomicU64>) {
    let mut buffer = [0; 512];
    let mut budget = Budget::new(Instant::now());
    while let Ok(length) = socket.recv(&mut buffer).await {
        let bytes = &buffer[..length];
        let counters = CounterReport::open(bytes, None).is_ok();
        let passed = if counters {
            Bytes::copy_from_slice(bytes)
        } else if let Some(body) = body(bytes) {
            Bytes::copy_from_slice(&body.0)
        } else {
            continue;
        };
        if !budget.take(Instant::now()) {
            continue;
        }
        // A full queue of datagrams drops its oldest, which a newer report has replaced.
        match connection.send_datagram(passed) {
            Ok(()) => {
                count.fetch_add(1, Ordering::Relaxed);
            }
            Err(::quinn::SendDatagramError::ConnectionLost(_)) => return,
            Err(_) => {}
        }
    }
}

pub(super) fn body(bytes: &[u8]) -> Option<ReportBody> {
    let body = match <[u8; 8]>::try_from(bytes) {
        Ok(plain) => ReportBody(plain),
        Err(_) => Datagram::decode(bytes).ok()?.body,
    };
    body.report().map(|_| body)
}

/// A file that is written, and takes its name when it is whole.
struct Target {
    file: File,
    part: PathBuf,
    to: PathBuf,
}

impl Target {
    fn new(to: &Path) -> Result<Self, LiveError> {
        let mut part = to.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part)
            .map_err(|e| LiveError::kernel(format!("cannot write {}", part.display()), e))?;
        Ok(Self {
            file,
            part,
            to: to.to_owned(),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), LiveError> {
        let wrong = |e| LiveError::kernel(format!("cannot write {}", self.part.display()), e);
        self.file.write_all(bytes).map_err(wrong)
    }

    fn keep(self) -> Result<(), LiveError> {
        std::fs::rename(&self.part, &self.to)
            .map_err(|e| LiveError::kernel(format!("cannot write {}", self.to.display()), e))
    }
}

async fn transfer(
    options: &Options,
    connection: &Connection,
    progress: &mut impl FnMut(u64, u64),
    stop: &AtomicBool,
) -> Result<Got, LiveError> {
    let lost = |e: &ConnectionError| refused(options.server, e);
    let (mut send, mut recv) = connection.open_bi().await.map_err(|e| lost(&e))?;
    let (request, mut target) = match &options.wanted {
        Wanted::Zeros(count) => (format!("ZEROS {count}\n"), None),
        Wanted::File { name, to } => {
            let target = to.as_deref().map(Target::new).transpose()?;
            (format!("FILE {name}\n"), target)
        }
    };
    let broke = |e: &dyn core::fmt::Display| usage(format!("{} broke off: {e}", options.server));
    let begun = Instant::now();
    send.write_all(request.as_bytes())
        .await
        .map_err(|e| broke(&e))?;
    let _ignored = send.finish();
    let mut got = Got {
        bytes: 0,
        announced: 0,
        seconds: 0.0,
        goodput_mbps: 0.0,
        handshake_ms: 0.0,
        first_byte_ms: 0.0,
        rtt_ms: 0.0,
        datagrams: 0,
        ect0: 0,
        ect1: 0,
        ce: 0,
        relayed: 0,
        complete: false,
    };
    let mut head: Option<Vec<u8>> = Some(Vec::new());
    let mut shown = begun;
    let late = |now: Instant| options.limit.is_some_and(|l| now - begun >= l);
    loop {
        let step = tokio::time::timeout(Wall::from_millis(100), recv.read_chunk(1 << 16, true));
        let step = step.await;
        let now = Instant::now();
        match step {
            Ok(Ok(Some(chunk))) => {
                let mut data = &chunk.bytes[..];
                let rest;
                if let Some(mut start) = head.take() {
                    if start.is_empty() {
                        got.first_byte_ms = ms(begun.elapsed());
                    }
                    start.extend_from_slice(data);
                    match line(&start) {
                        Some((text, after)) => {
                            got.announced = announced(text)?;
                            rest = after.to_vec();
                            data = &rest;
                        }
                        None if start.len() > LINE => return Err(usage("the answer is no answer")),
                        None => {
                            head = Some(start);
                            continue;
                        }
                    }
                }
                got.bytes += data.len() as u64;
                if let Some(target) = &mut target {
                    target.write(data)?;
                }
            }
            Ok(Ok(None)) => {
                got.complete = head.is_none() && got.bytes == got.announced;
                break;
            }
            Ok(Err(e)) => return Err(broke(&e)),
            // Nothing came for a while.
            Err(_) => {}
        }
        if now.duration_since(shown) >= Wall::from_millis(100) {
            shown = now;
            progress(got.bytes, got.announced);
        }
        if late(now) || stop.load(Ordering::Relaxed) {
            let _ignored = recv.stop(VarInt::from_u32(0));
            break;
        }
    }
    progress(got.bytes, got.announced);
    got.seconds = begun.elapsed().as_secs_f64();
    got.goodput_mbps = mbps(got.bytes, got.seconds);
    got.rtt_ms = ms(connection.rtt());
    got.datagrams = connection.stats().udp_rx.datagrams;
    if let Some(target) = target {
        if !got.complete {
            return Err(usage(format!(
                "found {} of {} bytes; what came is in {}",
                got.bytes,
                got.announced,
                target.part.display()
            )));
        }
        target.keep()?;
    }
    Ok(got)
}

/// The length that an answer announces.
fn announced(text: &str) -> Result<u64, LiveError> {
    match text.split_once(' ') {
        Some(("OK", count)) => count
            .parse()
            .map_err(|_| usage(format!("the server says {text:?}"))),
        Some(("ERROR", why)) => Err(usage(format!("the server says: {why}"))),
        _ => Err(usage(format!("the server says {text:?}"))),
    }
}
