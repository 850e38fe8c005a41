//! QUIC on sockets: a file server and a client on quinn, with our controllers behind quinn's interface.
//!
//! The adapter is the simulator's own ([`slackwater_quinn`]), with counts of CE, ECT(1) and our pacer. A
//! server gives each connection a controller and tells it of reports, which come to it in two ways: beside the connection,
//! to a UDP socket ([`reports`]), since an agent of the network cannot write into encrypted packets; and inside of it, in
//! DATAGRAM frames (RFC 9221), from a client that heard them on its side ([`get`]).
//!
//! The protocol is a line each way on a bidirectional stream: `FILE name` or `ZEROS count`, then `OK count` and the
//! bytes, or `ERROR words`. A server speaks HTTP/3 too.

pub mod get;
pub mod reports;
pub mod serve;
#[cfg(test)]
mod tests;
mod tls;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration as Wall;

use ::quinn::TransportConfig;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, SndBuf};
pub use slackwater_control::EcnMode;
use slackwater_control::registry::{Config, Registry};
use slackwater_control::{AnyController, Controller as _};
use slackwater_core::Draw;

use crate::LiveError;

pub use tls::{Fingerprint, Identity, KeyHash};

/// The protocol's name in TLS (RFC 7301).
const ALPN: &[u8] = b"slackwater-file/1";
/// The port of servers that name none.
pub const PORT: u16 = 4433;
/// What controllers call a segment: the UDP payload that quinn's path MTU discovery looks for (quinn's default). The first
/// packets, of 1,200 bytes, are counted by their bytes.
const SEGMENT: u16 = 1452;
/// A peer that says nothing for so long is gone.
const IDLE: Wall = Wall::from_secs(10);
/// Streams of one direction that a peer may open: HTTP/3 has three (RFC 9114, 6.2), and others that mean nothing may come.
const UNI_STREAMS: u32 = 8;
/// The longest request or answer line.
const LINE: usize = 4096;
/// Threads that read files.
const READERS: usize = 16;
/// Room for data in flight and reordered: 100 Mbit/s for 2.5 s.
const WINDOW: u32 = 32 << 20;

/// Room in the kernel for packets that come while this process waits for a processor: 30 ms at 1 Gbit/s. Linux' default holds some 90.
const SOCKET_BUFFER: usize = 4 << 20;

/// A socket at `address` with room for bursts.
fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    // More room is a gain, and no condition: without rights the system bounds it (net.core.rmem_max).
    let room = setsockopt(&socket, RcvBufForce, &SOCKET_BUFFER);
    let _room = room.or_else(|_| setsockopt(&socket, RcvBuf, &SOCKET_BUFFER));
    let _room = setsockopt(&socket, SndBuf, &SOCKET_BUFFER);
    Ok(socket)
}

fn usage(text: impl Into<String>) -> LiveError {
    LiveError::Usage(text.into())
}

/// Runs `work` on a runtime of this thread.
fn block_on<T>(work: impl Future<Output = Result<T, LiveError>>) -> Result<T, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Files that do not answer hold so many threads at most.
        .max_blocking_threads(READERS)
        .build()
        .map_err(|e| LiveError::kernel("cannot start the runtime of QUIC's sockets", e))?;
    runtime.block_on(work)
}

/// What both ends agree on.
fn transport(spin: bool) -> TransportConfig {
    let mut t = TransportConfig::default();
    t.allow_spin(spin)
        .max_concurrent_uni_streams(UNI_STREAMS.into())
        .max_idle_timeout(IDLE.try_into().ok())
        .keep_alive_interval(Some(IDLE / 4))
        .send_window(u64::from(WINDOW))
        .receive_window(WINDOW.into())
        .stream_receive_window(WINDOW.into())
        // Our pacer counts each datagram before the next one.
        .enable_segmentation_offload(false);
    t
}

/// The controller called `name` among those `known`, for one connection, and how its packets are marked: as `asked`, else as
/// it wants, else as quinn does, with ECT(0).
///
/// # Errors
/// Where there is none of that name, it has a rate alone, or its answer to marks is not what the mark promises.
pub(crate) fn controller(
    known: &Registry,
    name: &str,
    asked: Option<EcnMode>,
    draw: Draw,
) -> Result<(AnyController, EcnMode), LiveError> {
    let config = Config::new(u32::from(SEGMENT), draw);
    let cc = known
        .build(name, &config)
        .map_err(|e| usage(format!("--cc: {e}")))?;
    if cc.intent().window.is_none() {
        return Err(usage(format!(
            "--cc: found \"{name}\", which has a rate alone, expected a controller with a window (docs/quic.md)"
        )));
    }
    let own = cc.intent().ecn;
    let wrong = |why| Err(usage(format!("--ecn: found {why} (docs/quic.md)")));
    match asked {
        None if own == EcnMode::Off => Ok((cc, EcnMode::Classic)),
        None => Ok((cc, own)),
        // RFC 9331, 4.3: ECT(1) promises an answer in proportion.
        Some(EcnMode::L4s) if own != EcnMode::L4s => wrong(format!(
            "l4s with \"{name}\", expected a controller that answers marks in proportion, such as prague"
        )),
        Some(EcnMode::Classic) if own.is_proportional() => wrong(format!(
            "classic with \"{name}\", expected l4s or off: its answer to a mark is less than to a loss"
        )),
        Some(mode) => Ok((cc, mode)),
    }
}

/// `name` is one of those `known` that a server can use with marks as `asked`.
///
/// # Errors
/// As [`LiveError::Usage`], with what was found and expected.
pub fn check_controller(
    known: &Registry,
    name: &str,
    asked: Option<EcnMode>,
) -> Result<(), LiveError> {
    controller(known, name, asked, Draw::new(0)).map(drop)
}

/// The line at the start of `bytes`, once it is whole.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let text = core::str::from_utf8(&bytes[..end]).ok()?;
    Some((text, &bytes[end + 1..]))
}

/// Milliseconds.
fn ms(d: Wall) -> f64 {
    d.as_secs_f64() * 1e3
}

/// Mbit/s of `bytes` in `seconds`.
fn mbps(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds / 1e6
    } else {
        0.0
    }
}

/// Shared by the certificate's maker and its checker.
fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
