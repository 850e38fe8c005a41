//! What a server lets its clients hold.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration as Wall;

use ::quinn::{Incoming, TransportConfig};
use slackwater_quinn::control::Shared;

use crate::quinn::{LINE, WINDOW};

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
    /// Bytes that a client is given on one connection; `None` as many as it wants.
    pub bytes: Option<u64>,
    /// Bytes that all connections together may hold: handed to quinn and not acknowledged.
    pub memory: u64,
    /// A connection that wants nothing for so long is closed, and so is one of whose answer nothing is acknowledged.
    pub patience: Wall,
}

impl Default for Limits {
    /// 64 connections of 16 MiB each: 100 Mbit/s for 1.3 s.
    fn default() -> Self {
        Self {
            connections: 64,
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
            .receive_window((LINE as u32 * STREAMS).into())
            .datagram_receive_buffer_size(Some(DATAGRAMS))
            // Whoever says nothing is gone after the idle timeout. A ping's acknowledgment would also look like progress.
            .keep_alive_interval(None);
    }
}

/// The connections that are there.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    taken: Arc<AtomicUsize>,
    most: usize,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Seats {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            taken: Arc::default(),
            most: limits.connections,
        }
    }

    /// A seat for `incoming`, or `None` where it was sent away: all seats are taken, or half of them are and its address is not
    /// shown to be its own. Then it has to come again with a token (RFC 9000, 8.1.2), which who forges an address cannot.
    pub(super) fn admit(&self, incoming: Incoming) -> Option<(Incoming, Seat)> {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken >= self.most {
            incoming.refuse();
            return None;
        }
        if 2 * taken >= self.most && !incoming.remote_address_validated() {
            // quinn allows a Retry where the address is not validated.
            let _ignored = incoming.retry();
            return None;
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some((incoming, Seat(Arc::clone(&self.taken))))
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
