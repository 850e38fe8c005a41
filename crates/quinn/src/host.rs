//! For hosts of quinn: the two things of five that touch its sockets and timers.
//!
//! [`Marked`] is the socket that sets and counts ECN fields, [`drive`] the task that lets a connection send. Neither reads a clock: quinn's
//! runtime has one.

use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Connection, Runtime, UdpPoller, VarInt};
use slackwater_control::EcnMode;

use crate::control::Shared;

/// Datagrams that came, by their mark.
#[derive(Debug, Default)]
pub struct Arrived {
    /// With ECT(0).
    pub ect0: AtomicU64,
    /// With ECT(1).
    pub ect1: AtomicU64,
    /// With CE.
    pub ce: AtomicU64,
}

/// A socket whose datagrams leave with the mark of one mode where quinn marks them at all: it stops where the path or the peer
/// fails the check of RFC 9000, 13.4.2.
#[derive(Debug)]
pub struct Marked {
    inner: Arc<dyn AsyncUdpSocket>,
    ecn: EcnMode,
    arrived: Arc<Arrived>,
}

impl Marked {
    /// `inner`, whose datagrams leave as `ecn` says: for endpoints whose connections have controllers of that mode alone.
    pub fn new(inner: Arc<dyn AsyncUdpSocket>, ecn: EcnMode) -> Self {
        Self {
            inner,
            ecn,
            arrived: Arc::default(),
        }
    }

    /// What came.
    pub fn arrived(&self) -> Arc<Arrived> {
        Arc::clone(&self.arrived)
    }
}

impl AsyncUdpSocket for Marked {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let ecn = transmit.ecn.and(match self.ecn {
            EcnMode::Off => None,
            EcnMode::Classic | EcnMode::Dctcp => Some(EcnCodepoint::Ect0),
            EcnMode::L4s => Some(EcnCodepoint::Ect1),
        });
        self.inner.try_send(&Transmit {
            destination: transmit.destination,
            ecn,
            contents: transmit.contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.inner.poll_recv(cx, bufs, meta))?;
        for m in &meta[..count] {
            let counter = match m.ecn {
                None => continue,
                Some(EcnCodepoint::Ect0) => &self.arrived.ect0,
                Some(EcnCodepoint::Ect1) => &self.arrived.ect1,
                Some(EcnCodepoint::Ce) => &self.arrived.ce,
            };
            // The kernel joins datagrams of one mark alone (GRO).
            let datagrams = m.len.div_ceil(m.stride.max(1)) as u64;
            counter.fetch_add(datagrams, Ordering::Relaxed);
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

/// Lets quinn send on `connection` when the pacer or a report opens the window, and runs the controller's own timers, until the connection
/// is over. `streams` is the number of streams of one direction that the peer may open, as its `TransportConfig` has it.
pub async fn drive(
    connection: Connection,
    control: Shared,
    runtime: Arc<dyn Runtime>,
    streams: VarInt,
) {
    let mut timer = runtime.new_timer(runtime.now());
    let mut closed = core::pin::pin!(connection.closed());
    loop {
        let (due, open) = {
            let mut state = control.get();
            let now = state.epoch().simulated(runtime.now());
            state.on_timer(now);
            let departure = state.next_departure(now);
            let open = departure.is_some_and(|at| at <= now + control.slack());
            let pace = departure.filter(|_| !open).map(|at| at - control.slack());
            let next = [state.next_timer(), pace].into_iter().flatten().min();
            (next.map(|at| state.epoch().std(at)), open)
        };
        if open {
            // quinn looks for something to send whenever a limit is set anew; this one stays what it is.
            connection.set_max_concurrent_uni_streams(streams);
        }
        if let Some(due) = due {
            timer.as_mut().reset(due);
        }
        let over = core::future::poll_fn(|cx| {
            if closed.as_mut().poll(cx).is_ready() {
                return Poll::Ready(true);
            }
            let timed = due.is_some() && timer.as_mut().poll(cx).is_ready();
            if control.poll_news(cx).is_ready() || timed {
                return Poll::Ready(false);
            }
            Poll::Pending
        });
        if over.await {
            return;
        }
    }
}
