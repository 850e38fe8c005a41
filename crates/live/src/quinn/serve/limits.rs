//! What a server lets its clients hold.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration as Wall;

use ::quinn::{Incoming, TransportConfig};
use slackwater_quinn::control::Shared;

use crate::quinn::{LINE, UNI_STREAMS, WINDOW};

/// Streams that a client may have open on a connection: our own client opens one.
const STREAMS: u32 = 4;
/// DATAGRAM frames that wait to be read, bytes: reports have less than 512.
const DATAGRAMS: usize = 64 << 10;
/// The least that a connection may have in flight, however many there are: ten of quinn's packets (RFC 9002, 7.2) and room.
const LEAST: u64 = 256 << 10;

/// The bounds of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time, those in their handshake among them.
    pub connections: usize,
    /// Those of one client at a time, as its address tells clients apart: an IPv4 address or an IPv6 /64.
    pub per_address: usize,
    /// Bytes that a client is given on one connection; `None` as many as it wants.
    pub bytes: Option<u64>,
    /// Bytes that all connections together may hold: handed to quinn and not acknowledged.
    pub memory: u64,
    /// A connection that wants nothing for so long is closed, and so is one of whose answer nothing is acknowledged.
    pub patience: Wall,
}

impl Default for Limits {
    /// 64 connections of 16 MiB each: 100 Mbit/s for 1.3 s. One client may have half of them: hosts of a laboratory share an address.
    fn default() -> Self {
        Self {
            connections: 64,
            per_address: 32,
            bytes: None,
            memory: 1 << 30,
            patience: Wall::from_secs(30),
        }
    }
}

impl Limits {
    /// What a client may make quinn hold on its connection.
    pub(super) fn bound(&self, config: &mut TransportConfig) {
        let share = self.memory / self.connections.max(1) as u64;
        config
            .send_window(share.clamp(LEAST, u64::from(WINDOW)))
            .max_concurrent_bidi_streams(STREAMS.into())
            // Requests alone come in.
            .stream_receive_window((LINE as u32).into())
            .receive_window((LINE as u32 * (STREAMS + UNI_STREAMS)).into())
            .datagram_receive_buffer_size(Some(DATAGRAMS))
            // Whoever says nothing is gone after the idle timeout. A ping's acknowledgment would also look like progress.
            .keep_alive_interval(None);
    }
}

/// What tells clients apart: an IPv4 address, or the 64 bits of an IPv6 address that one subscriber has at least, with any number of
/// addresses in them (RFC 6177, 2; RFC 4291, 2.5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Prefix {
    V4([u8; 4]),
    V6([u16; 4]),
}

impl Prefix {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self::V4(v4.octets()),
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                Self::V6([a, b, c, d])
            }
        }
    }
}

/// The connections that are there.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    taken: Arc<Mutex<HashMap<Prefix, usize>>>,
    most: usize,
    most_of_one: usize,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    taken: Arc<Mutex<HashMap<Prefix, usize>>>,
    of: Prefix,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().expect("no holder panics");
        if let Entry::Occupied(mut seats) = taken.entry(self.of) {
            *seats.get_mut() -= 1;
            if *seats.get() == 0 {
                seats.remove();
            }
        }
    }
}

/// What becomes of a connection that comes.
#[derive(Debug)]
enum Verdict {
    Refused,
    /// Its address is to be proved first.
    Unproved,
    Admitted(Seat),
}

impl Seats {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            taken: Arc::default(),
            most: limits.connections,
            most_of_one: limits.per_address,
        }
    }

    /// A seat for `incoming`, or `None` where it was sent away: all seats are taken, or all that one client may have. From half of
    /// either on, an address is to be shown first to be the client's own. Then it has to come again with a token (RFC 9000, 8.1.2),
    /// which who forges an address cannot.
    pub(super) fn admit(&self, incoming: Incoming) -> Option<(Incoming, Seat)> {
        let proved = incoming.remote_address_validated();
        match self.seat(incoming.remote_address().ip(), proved) {
            Verdict::Refused => incoming.refuse(),
            Verdict::Unproved => {
                // quinn allows a Retry where the address is not validated.
                let _ignored = incoming.retry();
            }
            Verdict::Admitted(seat) => return Some((incoming, seat)),
        }
        None
    }

    fn seat(&self, address: IpAddr, proved: bool) -> Verdict {
        let of = Prefix::of(address);
        let mut taken = self.taken.lock().expect("no holder panics");
        let all: usize = taken.values().sum();
        let one = taken.get(&of).copied().unwrap_or(0);
        if all >= self.most || one >= self.most_of_one {
            return Verdict::Refused;
        }
        if !proved && (2 * all >= self.most || 2 * one >= self.most_of_one) {
            return Verdict::Unproved;
        }
        *taken.entry(of).or_default() += 1;
        Verdict::Admitted(Seat {
            taken: Arc::clone(&self.taken),
            of,
        })
    }
}

/// What a connection has open, and what it may still be given.
#[derive(Debug)]
pub(super) struct Allowance {
    /// Bytes left of [`Limits::bytes`].
    left: Mutex<Option<u64>>,
    /// Transfers under way.
    busy: AtomicU64,
}

impl Allowance {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            left: Mutex::new(limits.bytes),
            busy: AtomicU64::new(0),
        }
    }

    /// Takes `bytes`.
    ///
    /// # Errors
    /// Where less is left: what, in words for the client.
    pub(super) fn take(&self, bytes: u64) -> Result<(), String> {
        let mut left = self.left.lock().expect("no holder panics");
        let Some(some) = *left else {
            return Ok(());
        };
        let rest = some.checked_sub(bytes);
        let rest = rest.ok_or_else(|| {
            format!("found a wish for {bytes} bytes, expected at most {some} on this connection")
        })?;
        *left = Some(rest);
        Ok(())
    }

    /// A transfer is under way until what this returns is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    pub(super) fn idle(&self) -> bool {
        self.busy.load(Ordering::Relaxed) == 0
    }
}

/// A transfer under way.
#[derive(Debug)]
pub(super) struct Busy(Arc<Allowance>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What `work` gives; `None` where nothing of the connection was acknowledged for `patience` before it ended.
pub(super) async fn while_it_moves<T>(
    control: &Shared,
    patience: Wall,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    let mut before = control.get().delivered();
    loop {
        if let Ok(done) = tokio::time::timeout(patience, &mut work).await {
            return Some(done);
        }
        let now = control.get().delivered();
        if now == before {
            return None;
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(connections: usize, per_address: usize) -> Seats {
        Seats::new(&Limits {
            connections,
            per_address,
            ..Limits::default()
        })
    }

    fn seat(seats: &Seats, address: &str, proved: bool) -> Verdict {
        seats.seat(address.parse().expect("an address"), proved)
    }

    #[test]
    fn one_client_cannot_take_all_seats() {
        let seats = seats(8, 4);
        let mut held = Vec::new();
        for _ in 0..2 {
            match seat(&seats, "192.0.2.1", false) {
                Verdict::Admitted(seat) => held.push(seat),
                other => panic!("{other:?}"),
            }
        }
        // Who forges an address takes half of what its owner may have, and no more.
        let unproved = seat(&seats, "192.0.2.1", false);
        assert!(matches!(unproved, Verdict::Unproved), "{unproved:?}");
        for _ in 0..2 {
            match seat(&seats, "::ffff:192.0.2.1", true) {
                Verdict::Admitted(seat) => held.push(seat),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(seat(&seats, "192.0.2.1", true), Verdict::Refused));
        // Another one has its own.
        let other = seat(&seats, "192.0.2.2", true);
        assert!(matches!(other, Verdict::Admitted(_)), "{other:?}");
        drop(other);
        held.pop();
        assert!(matches!(
            seat(&seats, "192.0.2.1", true),
            Verdict::Admitted(_)
        ));
        drop(held);
        assert!(seats.taken.lock().expect("no holder panics").is_empty());
    }

    /// A subscriber has any number of addresses within its prefix.
    #[test]
    fn addresses_of_one_ipv6_prefix_are_one_client() {
        let seats = seats(8, 2);
        let of = |address: &str| seat(&seats, address, true);
        let held = [of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2")];
        assert!(held.iter().all(|v| matches!(v, Verdict::Admitted(_))));
        assert!(matches!(of("2001:db8:0:1::3"), Verdict::Refused));
        assert!(matches!(of("2001:db8:0:2::1"), Verdict::Admitted(_)));
    }
}
