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
use slackwater_signal::PathReport;
use slackwater_wire::report::{Datagram, FlowKey};
use tokio::net::UdpSocket;

use crate::counted::{CounterReport, Key, Refusal};

/// What came to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Heard {
    /// Reports that a controller was told.
    pub told: u64,
    /// Datagrams that were no report.
    pub malformed: u64,
    /// Reports on connections that are not there.
    pub strangers: u64,
    /// Reports without the tag that the server's key gives, or that passed before.
    pub forged: u64,
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
    key: Option<Key>,
    serials: Serials,
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
        inner.serials.by_client.remove(&plain(client));
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
        let mut inner = self.inner();
        let read = if CounterReport::is_one(bytes) {
            let read = CounterReport::open(bytes, inner.key.as_ref());
            if matches!(read, Err(Refusal::Forged | Refusal::Form(_))) {
                inner.heard.forged += 1;
                return;
            }
            read.ok()
                .map(|r| (r.flow, PathReport::Counters(r.counters), r.serial))
        } else {
            let read = Datagram::decode(bytes).ok();
            read.and_then(|d| Some((d.flow, d.body.report()?, None)))
        };
        let Some((flow, report, serial)) = read else {
            inner.heard.malformed += 1;
            return;
        };
        let FlowKey::FiveTuple(tuple) = flow else {
            inner.heard.strangers += 1;
            return;
        };
        let client = SocketAddr::new(tuple.destination, tuple.destination_port);
        let inner = &mut *inner;
        let Some((control, told)) = inner.open.get_mut(&plain(client)) else {
            inner.heard.strangers += 1;
            return;
        };
        if !inner.serials.pass(plain(client), serial) {
            inner.heard.forged += 1;
            return;
        }
        *told += 1;
        tell(control, &report);
        inner.heard.told += 1;
    }
}

/// Which signed reports have passed.
#[derive(Debug, Default)]
struct Serials {
    /// The newest serial number of all that the key has signed.
    newest: u64,
    /// The same by connection: reports of one do not make those of another old.
    by_client: BTreeMap<SocketAddr, u64>,
}

impl Serials {
    /// A connection of `client` begins: what was signed before is none of it.
    fn open(&mut self, client: SocketAddr) {
        self.by_client.insert(client, self.newest);
    }

    /// True for a report that is newer than the last one, and for one without a number.
    fn pass(&mut self, client: SocketAddr, serial: Option<u64>) -> bool {
        let Some(serial) = serial else {
            return true;
        };
        let last = self.by_client.entry(client).or_default();
        let newer = serial > *last;
        *last = serial.max(*last);
        self.newest = self.newest.max(serial);
        newer
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_report_passes_once() {
        let mut serials = Serials::default();
        let [one, two] = [1, 2].map(|port| SocketAddr::from(([192, 0, 2, 1], port)));
        serials.open(one);
        serials.open(two);
        assert!(serials.pass(one, Some(10)) && serials.pass(one, Some(12)));
        // Doubled, overtaken, and of another connection, which has its own order.
        assert!(!serials.pass(one, Some(12)) && !serials.pass(one, Some(11)));
        assert!(serials.pass(two, Some(11)));
        // A connection at the same address and port does not hear the last one's again.
        serials.open(one);
        assert!(!serials.pass(one, Some(10)) && !serials.pass(one, Some(12)));
        assert!(serials.pass(one, Some(13)));
        // Without a key there are none.
        assert!(serials.pass(one, None));
    }
}
