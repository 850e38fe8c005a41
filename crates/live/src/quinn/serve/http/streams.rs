//! quinn's streams as `h3` takes them, with a bound on what a client makes it hold.
//!
//! `h3` 0.0.8 keeps a frame until all of it is there, and a frame says its own length (RFC 9114, 7.1): one that never ends takes all
//! memory. h3-quinn has no bound for it, and does not tell when the last byte of a stream is acknowledged. So these streams are ours.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf as _, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{Connection, ConnectionError, ReadError, StoppedError, VarInt, WriteError};

/// What a client may send on a stream of a request: its header section and its body, of which nobody reads more than the first piece.
pub(super) const REQUEST: usize = 16 << 10;
/// What it may send on a stream of one direction: settings, and priorities of some thousand requests.
const CONTROL: usize = 64 << 10;
/// The most that is read at once.
const PIECE: usize = 2048;

/// How a stream that we send on ends: `None` where all of it is acknowledged, else the client's error code.
pub(super) type End =
    Pin<Box<dyn Future<Output = Result<Option<VarInt>, StoppedError>> + Send + Sync>>;

/// A stream that is to come.
type Coming<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>;

/// A connection's streams.
pub(super) struct Streams {
    connection: Connection,
    /// The client's next request.
    request: Option<Coming<(quinn::SendStream, quinn::RecvStream)>>,
    /// Its next stream of one direction.
    uni: Option<Coming<quinn::RecvStream>>,
    /// Ours of one direction, until the client allows it.
    opening: Option<Coming<quinn::SendStream>>,
    /// The end of the request's stream that came last.
    last: Last,
}

/// The end of the answer to the request that was accepted last.
#[derive(Clone, Default)]
pub(super) struct Last(Arc<Mutex<Option<End>>>);

impl Last {
    /// It, once.
    pub(super) fn take(&self) -> Option<End> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, end: End) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }
}

impl Streams {
    /// Those of `connection`.
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            request: None,
            uni: None,
            opening: None,
            last: Last::default(),
        }
    }

    /// Where the end of each answer is found once its request was accepted.
    pub(super) fn last(&self) -> Last {
        self.last.clone()
    }

    fn recv(&self, stream: quinn::RecvStream, left: usize) -> Inward {
        Inward {
            stream,
            connection: self.connection.clone(),
            left,
        }
    }
}

/// Waits for what `coming` holds, which `start` makes where it holds nothing.
fn poll<T, F>(
    coming: &mut Option<Coming<T>>,
    start: impl FnOnce() -> F,
    cx: &mut Context<'_>,
) -> Poll<Result<T, ConnectionError>>
where
    F: Future<Output = Result<T, ConnectionError>> + Send + Sync + 'static,
{
    let future = coming.get_or_insert_with(|| Box::pin(start()));
    let came = ready!(future.as_mut().poll(cx));
    *coming = None;
    Poll::Ready(came)
}

impl quic::Connection<Bytes> for Streams {
    type RecvStream = Inward;
    type OpenStreams = Self;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Inward, ConnectionErrorIncoming>> {
        let connection = self.connection.clone();
        let start = || async move { connection.accept_uni().await };
        let came = ready!(poll(&mut self.uni, start, cx)).map_err(lost)?;
        Poll::Ready(Ok(self.recv(came, CONTROL)))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Both, ConnectionErrorIncoming>> {
        let connection = self.connection.clone();
        let start = || async move { connection.accept_bi().await };
        let (send, recv) = ready!(poll(&mut self.request, start, cx)).map_err(lost)?;
        self.last.set(Box::pin(send.stopped()));
        Poll::Ready(Ok(Both {
            send: Outward::new(send),
            recv: self.recv(recv, REQUEST),
        }))
    }

    fn opener(&self) -> Self {
        Self::new(self.connection.clone())
    }
}

impl quic::OpenStreams<Bytes> for Streams {
    type BidiStream = Both;
    type SendStream = Outward;

    fn poll_open_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<Both, StreamErrorIncoming>> {
        // A server of HTTP/3 opens none (RFC 9114, 6.1).
        let why = "a server opens no stream of both directions";
        Poll::Ready(Err(StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: ConnectionErrorIncoming::InternalError(why.to_owned()),
        }))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Outward, StreamErrorIncoming>> {
        let connection = self.connection.clone();
        let start = || async move { connection.open_uni().await };
        let opened = ready!(poll(&mut self.opening, start, cx));
        Poll::Ready(opened.map(Outward::new).map_err(gone))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(number(code.value()), reason);
    }
}

/// A stream that a client sends on.
pub(super) struct Inward {
    stream: quinn::RecvStream,
    connection: Connection,
    /// Bytes that it may bring yet.
    left: usize,
}

impl quic::RecvStream for Inward {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut piece = [0; PIECE];
        let count = ready!(self.stream.poll_read(cx, &mut piece)).map_err(unread)?;
        let Some(left) = self.left.checked_sub(count) else {
            // RFC 9114, 8.1 and 10.5: a peer that makes us hold too much.
            let code = number(Code::H3_EXCESSIVE_LOAD.value());
            self.connection.close(code, b"too much on one stream");
            return Poll::Ready(Err(gone(ConnectionError::LocallyClosed)));
        };
        self.left = left;
        let piece = (count > 0).then(|| Bytes::copy_from_slice(&piece[..count]));
        Poll::Ready(Ok(piece))
    }

    fn stop_sending(&mut self, error_code: u64) {
        // Refused where the client has ended it already.
        let _ignored = self.stream.stop(number(error_code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

/// A stream that we send on.
pub(super) struct Outward {
    stream: quinn::SendStream,
    /// What quinn has not taken yet.
    rest: Option<WriteBuf<Bytes>>,
}

impl Outward {
    const fn new(stream: quinn::SendStream) -> Self {
        Self { stream, rest: None }
    }
}

impl quic::SendStream<Bytes> for Outward {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(rest) = &mut self.rest
            && rest.has_remaining()
        {
            let stream = Pin::new(&mut self.stream);
            let count = ready!(stream.poll_write(cx, rest.chunk())).map_err(unwritten)?;
            rest.advance(count);
        }
        self.rest = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        // `h3` waits for `poll_ready` before each piece.
        debug_assert!(self.rest.is_none(), "two pieces at once");
        self.rest = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|e| StreamErrorIncoming::Unknown(Box::new(e))))
    }

    fn reset(&mut self, reset_code: u64) {
        // Refused where it has ended already.
        let _ignored = self.stream.reset(number(reset_code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

/// The stream of a request and its answer.
pub(super) struct Both {
    send: Outward,
    recv: Inward,
}

impl quic::RecvStream for Both {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

impl quic::SendStream<Bytes> for Both {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

/// An error code; those of QUIC have 62 bits.
fn number(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn id(stream: quinn::StreamId) -> StreamId {
    let number = VarInt::from(stream).into_inner();
    StreamId::try_from(number).expect("both have 62 bits")
}

fn lost(e: ConnectionError) -> ConnectionErrorIncoming {
    match e {
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        ConnectionError::ApplicationClosed(why) => ConnectionErrorIncoming::ApplicationClose {
            error_code: why.error_code.into_inner(),
        },
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn gone(e: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: lost(e),
    }
}

fn unread(e: ReadError) -> StreamErrorIncoming {
    match e {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        ReadError::ConnectionLost(e) => gone(e),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn unwritten(e: WriteError) -> StreamErrorIncoming {
    match e {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        WriteError::ConnectionLost(e) => gone(e),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
