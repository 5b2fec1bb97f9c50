//! h3's `quic` traits over a connection of quinn-proto.
//!
//! h3 keeps handles of the connection and of its streams. The connection belongs to its end, which lends it for each
//! poll ([`Loan`]); a handle that is used at another time, such as one that is being dropped, does nothing. What cannot
//! be done now is tried again in the next poll.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use quinn_proto::{Connection, Dir, ReadError, StreamId, VarInt, WriteError};

/// A connection, while it is lent.
#[derive(Clone, Default)]
pub(super) struct Loan(Arc<Mutex<Lent>>);

#[derive(Default)]
struct Lent {
    connection: Option<Box<Connection>>,
    /// The code with which h3 closes the connection, if it does.
    closed: Option<VarInt>,
}

impl Loan {
    pub(super) fn lend(&self, connection: Box<Connection>) {
        self.lent().connection = Some(connection);
    }

    pub(super) fn take_back(&self) -> Box<Connection> {
        self.lent().connection.take().expect("it was lent before this poll")
    }

    /// The code with which h3 closes the connection, if it does.
    pub(super) fn closed(&self) -> Option<VarInt> {
        self.lent().closed
    }

    fn lent(&self) -> MutexGuard<'_, Lent> {
        self.0.lock().expect("no holder panics")
    }

    /// Calls `act` with the connection, if it is lent.
    fn with<T>(&self, act: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        self.lent().connection.as_deref_mut().map(act)
    }
}

/// A connection, as h3 sees it.
#[derive(Clone)]
pub(super) struct Transport(pub(super) Loan);

impl Transport {
    fn open(&self, dir: Dir) -> Poll<StreamId> {
        pending_unless(self.0.with(|connection| connection.streams().open(dir)).flatten())
    }

    fn accept(&self, dir: Dir) -> Poll<StreamId> {
        pending_unless(self.0.with(|connection| connection.streams().accept(dir)).flatten())
    }

    fn sending(&self, id: StreamId) -> Sending {
        Sending { loan: self.0.clone(), id, writing: None }
    }

    fn receiving(&self, id: StreamId) -> Receiving {
        Receiving { loan: self.0.clone(), id }
    }

    fn both_ways(&self, id: StreamId) -> BothWays {
        BothWays { sending: self.sending(id), receiving: self.receiving(id) }
    }
}

impl quic::OpenStreams<Bytes> for Transport {
    type BidiStream = BothWays;
    type SendStream = Sending;

    fn poll_open_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<BothWays, StreamErrorIncoming>> {
        self.open(Dir::Bi).map(|id| Ok(self.both_ways(id)))
    }

    fn poll_open_send(&mut self, _: &mut Context<'_>) -> Poll<Result<Sending, StreamErrorIncoming>> {
        self.open(Dir::Uni).map(|id| Ok(self.sending(id)))
    }

    fn close(&mut self, code: Code, _reason: &[u8]) {
        self.0.lent().closed.get_or_insert(variable(code.value()));
    }
}

impl quic::Connection<Bytes> for Transport {
    type RecvStream = Receiving;
    type OpenStreams = Self;

    fn poll_accept_recv(&mut self, _: &mut Context<'_>) -> Poll<Result<Receiving, ConnectionErrorIncoming>> {
        self.accept(Dir::Uni).map(|id| Ok(self.receiving(id)))
    }

    fn poll_accept_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<BothWays, ConnectionErrorIncoming>> {
        self.accept(Dir::Bi).map(|id| Ok(self.both_ways(id)))
    }

    fn opener(&self) -> Self {
        self.clone()
    }
}

/// The sending half of a stream.
pub(super) struct Sending {
    loan: Loan,
    id: StreamId,
    /// What the stream has yet to take.
    writing: Option<WriteBuf<Bytes>>,
}

impl quic::SendStream<Bytes> for Sending {
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self.writing.as_mut().filter(|data| data.has_remaining()) {
            match self.loan.with(|connection| connection.send_stream(self.id).write(data.chunk())) {
                None | Some(Err(WriteError::Blocked)) => return Poll::Pending,
                Some(Ok(taken)) => data.advance(taken),
                Some(Err(WriteError::Stopped(code))) => return Poll::Ready(Err(terminated(code))),
                Some(Err(error)) => return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(error)))),
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        assert!(self.writing.is_none(), "h3 waits until a stream is ready");
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        match self.loan.with(|connection| connection.send_stream(self.id).finish()) {
            None => Poll::Pending,
            Some(Ok(())) => Poll::Ready(Ok(())),
            Some(Err(error)) => Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(error)))),
        }
    }

    fn reset(&mut self, code: u64) {
        // It fails where the stream is closed, which is what a reset is for.
        self.loan.with(|connection| connection.send_stream(self.id).reset(variable(code)).ok());
    }

    fn send_id(&self) -> quic::StreamId {
        number(self.id)
    }
}

/// The receiving half of a stream.
pub(super) struct Receiving {
    loan: Loan,
    id: StreamId,
}

impl quic::RecvStream for Receiving {
    type Buf = Bytes;

    fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let read = self.loan.with(|connection| {
            let mut stream = connection.recv_stream(self.id);
            let Ok(mut chunks) = stream.read(true) else { return Ok(None) };
            let chunk = chunks.next(usize::MAX);
            // Whether anything is to be sent because of it, `poll_transmit` finds out.
            let _ = chunks.finalize();
            chunk
        });
        match read {
            None | Some(Err(ReadError::Blocked)) => Poll::Pending,
            Some(Ok(chunk)) => Poll::Ready(Ok(chunk.map(|chunk| chunk.bytes))),
            Some(Err(ReadError::Reset(code))) => Poll::Ready(Err(terminated(code))),
        }
    }

    fn stop_sending(&mut self, code: u64) {
        // It fails where the stream is closed, which is what a stop is for.
        self.loan.with(|connection| connection.recv_stream(self.id).stop(variable(code)).ok());
    }

    fn recv_id(&self) -> quic::StreamId {
        number(self.id)
    }
}

/// A stream in both directions.
pub(super) struct BothWays {
    sending: Sending,
    receiving: Receiving,
}

impl quic::SendStream<Bytes> for BothWays {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.sending.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.sending.reset(code);
    }

    fn send_id(&self) -> quic::StreamId {
        self.sending.send_id()
    }
}

impl quic::RecvStream for BothWays {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiving.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receiving.stop_sending(code);
    }

    fn recv_id(&self) -> quic::StreamId {
        self.receiving.recv_id()
    }
}

fn pending_unless<T>(value: Option<T>) -> Poll<T> {
    value.map_or(Poll::Pending, Poll::Ready)
}

const fn terminated(code: VarInt) -> StreamErrorIncoming {
    StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
}

fn variable(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn number(id: StreamId) -> quic::StreamId {
    u64::from(id).try_into().expect("quinn's streams have numbers of QUIC")
}
