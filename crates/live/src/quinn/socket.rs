//! quinn's socket with our marks: what leaves is marked as wanted, what comes is counted by its mark.

use std::fmt::Debug;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use ::quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use ::quinn::{AsyncUdpSocket, UdpPoller};
use slackwater_control::EcnMode;

/// Datagrams that came, by their mark.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub(super) ect0: AtomicU64,
    pub(super) ect1: AtomicU64,
    pub(super) ce: AtomicU64,
}

/// A socket whose datagrams leave with the mark of `ecn` where quinn marks them at all: it stops where the path or the peer
/// fails the check of RFC 9000, 13.4.2.
#[derive(Debug)]
pub(super) struct Marked {
    inner: Arc<dyn AsyncUdpSocket>,
    ecn: EcnMode,
    arrived: Arc<Arrived>,
}

impl Marked {
    pub(super) fn new(inner: Arc<dyn AsyncUdpSocket>, ecn: EcnMode) -> Self {
        Self {
            inner,
            ecn,
            arrived: Arc::default(),
        }
    }

    pub(super) fn arrived(&self) -> Arc<Arrived> {
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
