//! The socket of reports that travel beside the connections: [`slackwater_wire::report::Datagram`], keyed by the addresses
//! of a connection.
//!
//! Nothing authenticates a report (docs/xrc.md), and anyone may write to a socket. What one may do is bounded: it is
//! read in constant time, it counts only where its key is that of an open connection, controllers bound what they make of
//! it, and beyond 50,000 in a second reports are thrown away unread.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use slackwater_core::Instant as Simulated;
use slackwater_quinn::control::Shared;
use slackwater_signal::PathReport;
use tokio::net::UdpSocket;

use crate::counted::{Budget, Heard, Key, Serials};

/// The open connections, by the client's address.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    open: BTreeMap<SocketAddr, (Shared, u64)>,
    heard: Heard,
    key: Option<Key>,
    serials: Serials<SocketAddr>,
}

impl Directory {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().expect("no holder panics")
    }

    /// Counters count where `key` has signed them.
    pub(super) fn of_key(key: Option<Key>) -> Self {
        let directory = Self::default();
        directory.inner().key = key;
        directory
    }

    pub(super) fn add(&self, client: SocketAddr, control: Shared) {
        let mut inner = self.inner();
        inner.serials.open(plain(client));
        inner.open.insert(plain(client), (control, 0));
    }

    /// Forgets `client`; how many reports it was told.
    pub(super) fn remove(&self, client: SocketAddr) -> u64 {
        let mut inner = self.inner();
        inner.serials.close(plain(client));
        let gone = inner.open.remove(&plain(client));
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
        let inner = &mut *self.inner();
        let Some((client, read)) = inner.heard.open(bytes, inner.key.as_ref()) else {
            return;
        };
        let Some((control, told)) = inner.open.get_mut(&plain(client)) else {
            inner.heard.strangers += 1;
            return;
        };
        if !inner.serials.pass(plain(client), read.serial) {
            inner.heard.forged += 1;
            return;
        }
        *told += 1;
        tell(control, &read.body);
        inner.heard.told += 1;
    }
}

/// Tells a controller, at the time of the machine.
pub(super) fn tell(control: &Shared, report: &PathReport) {
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
