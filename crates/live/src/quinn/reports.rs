//! The socket of reports that travel beside the connections: [`slackwater_wire::report::Datagram`], keyed by the addresses
//! of a connection.
//!
//! Nothing authenticates a report (docs/xrc.md), and anyone may write to a socket. What one may do is bounded: it is
//! read in constant time, it counts only where its key is that of an open connection, controllers bound what they make of
//! it, and beyond 50,000 in a second reports are thrown away unread.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wall, Instant};

use slackwater_core::Instant as Simulated;
use slackwater_quinn::control::Shared;
use slackwater_wire::report::{Datagram, FlowKey};
use tokio::net::UdpSocket;

/// What came to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Heard {
    /// Reports that a controller was told.
    pub told: u64,
    /// Datagrams that were no report.
    pub malformed: u64,
    /// Reports on connections that are not there.
    pub strangers: u64,
    /// Datagrams beyond what is read in a second.
    pub flooded: u64,
}

/// The reports of a second.
#[derive(Debug)]
pub(super) struct Budget {
    since: Instant,
    used: u32,
}

impl Budget {
    /// An agent sends a report with each packet of a client: enough for 1 Gbit/s, acknowledged every second packet.
    pub(super) const MOST: u32 = 50_000;

    pub(super) const fn new(now: Instant) -> Self {
        Self {
            since: now,
            used: 0,
        }
    }

    /// One more at `now`; false where it is one too many.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= Wall::from_secs(1) {
            *self = Self::new(now);
        }
        self.used = self.used.saturating_add(1);
        self.used <= Self::MOST
    }
}

/// The open connections, by the client's address.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    open: BTreeMap<SocketAddr, (Shared, u64)>,
    heard: Heard,
}

impl Directory {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().expect("no holder panics")
    }

    pub(super) fn add(&self, client: SocketAddr, control: Shared) {
        self.inner().open.insert(plain(client), (control, 0));
    }

    /// Forgets `client`; how many reports it was told.
    pub(super) fn remove(&self, client: SocketAddr) -> u64 {
        let gone = self.inner().open.remove(&plain(client));
        gone.map_or(0, |(_, told)| told)
    }

    /// How many reports the controller of `client` was told.
    pub(super) fn told(&self, client: SocketAddr) -> u64 {
        let inner = self.inner();
        inner.open.get(&plain(client)).map_or(0, |o| o.1)
    }

    pub(super) fn heard(&self) -> Heard {
        self.inner().heard
    }

    /// A datagram came.
    pub(super) fn hear(&self, bytes: &[u8]) {
        let mut inner = self.inner();
        let Ok(datagram) = Datagram::decode(bytes) else {
            inner.heard.malformed += 1;
            return;
        };
        let Some(report) = datagram.body.report() else {
            inner.heard.malformed += 1;
            return;
        };
        let FlowKey::FiveTuple(tuple) = datagram.flow else {
            inner.heard.strangers += 1;
            return;
        };
        let client = SocketAddr::new(tuple.destination, tuple.destination_port);
        let Some((control, told)) = inner.open.get_mut(&plain(client)) else {
            inner.heard.strangers += 1;
            return;
        };
        *told += 1;
        tell(control, &report);
        inner.heard.told += 1;
    }
}

/// Tells a controller, at the time of the machine.
pub(super) fn tell(control: &Shared, report: &slackwater_control::PathReport) {
    let mut state = control.get();
    let now = now(&state);
    state.on_report(now, report);
    drop(state);
    // A window that the report opens is used at once.
    control.wake();
}

/// The machine's time on the controller's clock.
pub(super) fn now(state: &slackwater_quinn::state::State) -> Simulated {
    state.epoch().simulated(Instant::now())
}

/// A socket of both versions shows IPv4 addresses as mapped ones (RFC 4291, 2.5.5.2).
fn plain(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        ip @ IpAddr::V4(_) => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Hears `socket` until it is gone.
pub(super) async fn listen(socket: UdpSocket, directory: Directory) {
    let mut buffer = [0; 512];
    let mut budget = Budget::new(Instant::now());
    // An ICMP error about something sent is no reason to stop: nothing is sent.
    while let Ok(length) = socket.recv(&mut buffer).await {
        if budget.take(Instant::now()) {
            directory.hear(&buffer[..length]);
        } else {
            directory.inner().heard.flooded += 1;
        }
    }
}
