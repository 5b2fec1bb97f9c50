//! HTTP/3 (RFC 9114) over a connection of quinn's, by the crate `h3`.
//!
//! h3 is written as futures, which here have no runtime: an end polls the one future of its connection whenever
//! something has happened to it ([`Session::advance`]), and that future polls those of the requests in their order.
//! `transport.rs` shows quinn's connection to h3; `message.rs` has the header fields. h3's frames at random ("grease")
//! are off, so that a run repeats to the bit.
//!
//! A socket of a program is a request. What the client writes at once is the size of its header fields, and the server
//! reads as many bytes; what the server writes are the DATA frames of its response. The first stream of a connection
//! stands for the connection, and carries nothing.

mod message;
mod transport;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use bytes::{Buf, Bytes, BytesMut};
use h3::client::SendRequest;
use h3::error::{ConnectionError, StreamError};
use h3::server::RequestResolver;
use quinn_proto::{Connection, VarInt};
use wire::Payload;

use self::transport::{Loan, Transport};

/// HTTP/3 at one end of a connection.
pub(super) struct Session {
    loan: Loan,
    exchanges: Shared,
    /// All that h3 does, until it fails.
    work: Option<Work<ConnectionError>>,
}

/// A future, which may fail.
type Work<E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send>>;

impl Session {
    pub(super) fn client() -> Self {
        Self::new(|transport, exchanges| Box::pin(ask_for_all(transport, exchanges)))
    }

    pub(super) fn server() -> Self {
        Self::new(|transport, exchanges| Box::pin(answer_all(transport, exchanges)))
    }

    fn new(work: impl FnOnce(Transport, Shared) -> Work<ConnectionError>) -> Self {
        let (loan, exchanges) = (Loan::default(), Shared::default());
        let work = Some(work(Transport(loan.clone()), exchanges.clone()));
        Self { loan, exchanges, work }
    }

    /// Lets h3 read from the connection and write to it. Returns the connection.
    pub(super) fn advance(&mut self, connection: Box<Connection>) -> Box<Connection> {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        self.loan.lend(connection);
        while let Some(work) = &mut self.work {
            if work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.work = None;
            } else if !woken.0.swap(false, Ordering::Relaxed) {
                break;
            }
        }
        self.loan.take_back()
    }

    /// The code with which the connection is to be closed, if h3 has failed.
    pub(super) fn failure(&self) -> Option<VarInt> {
        let unknown = || self.work.is_none().then_some(INTERNAL_ERROR);
        self.loan.closed().or_else(unknown)
    }

    /// Command of the client: asks for the object of a place, with header fields of this size.
    /// Returns that size: it takes all of it.
    pub(super) fn ask(&self, place: usize, size: u32) -> u32 {
        self.exchanges.with(place, |exchange| exchange.request = Some(size.into()));
        size
    }

    /// Command of the server: appends to the response of a place. Returns the number of bytes taken.
    pub(super) fn answer(&self, place: usize, bytes: &[u8]) -> usize {
        self.exchanges.with(place, |exchange| {
            let taken = bytes.len().min(LONGEST_PIECE - exchange.response.len());
            exchange.response.extend_from_slice(&bytes[..taken]);
            taken
        })
    }

    /// Command of the server: ends the response of a place.
    pub(super) fn finish(&self, place: usize) {
        self.exchanges.with(place, |exchange| exchange.has_ended = true);
    }

    /// Command of the server: appends the request of a place to `out`, once. Returns whether it has come.
    pub(super) fn read_request(&self, place: usize, out: &mut Vec<u8>) -> bool {
        self.exchanges.with(place, |exchange| {
            let Some(size) = exchange.request else { return false };
            if !std::mem::replace(&mut exchange.is_taken, true) {
                Payload::Pattern { offset: 0, len: size as u32 }.write_to(out);
            }
            true
        })
    }

    /// Command of the client: appends what has come of the response of a place to `out`. Returns whether that is all.
    pub(super) fn read_response(&self, place: usize, out: &mut Vec<u8>) -> bool {
        self.exchanges.with(place, |exchange| {
            out.extend_from_slice(&exchange.response);
            exchange.response.clear();
            exchange.has_ended
        })
    }

    /// Forgets what is left of the request of a place.
    pub(super) fn forget(&self, place: usize) {
        self.exchanges.lock().remove(&place);
    }

    /// The place whose request came in this stream.
    pub(super) fn place_of(&self, stream: u64) -> Option<usize> {
        let exchanges = self.exchanges.lock();
        exchanges.iter().find(|(_, exchange)| exchange.stream == Some(stream)).map(|(place, _)| *place)
    }
}

/// The requests and responses of a connection, by place, which its end and h3 share.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<BTreeMap<usize, Exchange>>>);

/// A request and its response, as far as one of the two has yet to take them from the other.
#[derive(Debug, Default)]
struct Exchange {
    /// Size of the header fields of the request, once there is one.
    request: Option<u64>,
    /// Whether h3 has sent it, or the program has read it.
    is_taken: bool,
    response: BytesMut,
    /// Whether nothing will follow in the response.
    has_ended: bool,
    /// The stream in which the request came.
    stream: Option<u64>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Exchange>> {
        self.0.lock().expect("no holder panics")
    }

    fn with<T>(&self, place: usize, act: impl FnOnce(&mut Exchange) -> T) -> T {
        act(self.lock().entry(place).or_default())
    }

    /// The next request that the client has yet to send: its place and its size.
    fn next_request(&self) -> Option<(usize, u64)> {
        let mut exchanges = self.lock();
        let mut unsent = exchanges.iter_mut().filter(|(_, exchange)| !exchange.is_taken);
        let (place, exchange) = unsent.find(|(_, exchange)| exchange.request.is_some())?;
        exchange.is_taken = true;
        Some((*place, exchange.request?))
    }

    /// The next piece of a response that the server has yet to send; none at its end.
    fn poll_piece(&self, place: usize) -> Poll<Option<Bytes>> {
        self.with(place, |exchange| match (exchange.response.is_empty(), exchange.has_ended) {
            (false, _) => Poll::Ready(Some(exchange.response.split().freeze())),
            (true, true) => Poll::Ready(None),
            (true, false) => Poll::Pending,
        })
    }
}

/// Futures that are polled together, in the order in which they were added.
#[derive(Default)]
struct Together(Vec<Work<StreamError>>);

impl Together {
    fn add(&mut self, one: impl Future<Output = Result<(), StreamError>> + Send + 'static) {
        self.0.push(Box::pin(one));
    }

    /// Polls all. A failed one is over: its stream was reset, or the connection fails as well.
    fn poll(&mut self, cx: &mut Context<'_>) {
        self.0.retain_mut(|one| one.as_mut().poll(cx).is_pending());
    }
}

/// The work of a client.
async fn ask_for_all(transport: Transport, exchanges: Shared) -> Result<(), ConnectionError> {
    let (mut connection, sender) = h3::client::builder().send_grease(false).build(transport).await?;
    let mut requests = Together::default();
    Err(poll_fn(|cx| {
        while let Some((place, size)) = exchanges.next_request() {
            requests.add(ask(sender.clone(), place, size, exchanges.clone()));
        }
        requests.poll(cx);
        connection.poll_close(cx)
    })
    .await)
}

async fn ask(
    mut sender: SendRequest<Transport, Bytes>,
    place: usize,
    size: u64,
    exchanges: Shared,
) -> Result<(), StreamError> {
    let mut stream = sender.send_request(message::request(place, size)).await?;
    stream.finish().await?;
    stream.recv_response().await?;
    while let Some(mut piece) = stream.recv_data().await? {
        let bytes = piece.copy_to_bytes(piece.remaining());
        exchanges.with(place, |exchange| exchange.response.extend_from_slice(&bytes));
    }
    exchanges.with(place, |exchange| exchange.has_ended = true);
    Ok(())
}

/// The work of a server.
async fn answer_all(transport: Transport, exchanges: Shared) -> Result<(), ConnectionError> {
    let mut connection = h3::server::builder().send_grease(false).build(transport).await?;
    let mut responses = Together::default();
    poll_fn(|cx| {
        loop {
            match pin!(connection.accept()).poll(cx) {
                Poll::Ready(Ok(Some(request))) => responses.add(answer(request, exchanges.clone())),
                Poll::Ready(Ok(None)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => break,
            }
        }
        responses.poll(cx);
        Poll::Pending
    })
    .await
}

async fn answer(request: RequestResolver<Transport, Bytes>, exchanges: Shared) -> Result<(), StreamError> {
    let (request, mut stream) = request.resolve_request().await?;
    while stream.recv_data().await?.is_some() {}
    let Some(place) = message::place_of(&request) else { return Ok(()) };
    exchanges.with(place, |exchange| {
        exchange.request = Some(message::size_of(&request));
        exchange.stream = Some(stream.id().into_inner());
    });
    let mut piece = poll_fn(|_| exchanges.poll_piece(place)).await;
    stream.send_response(message::response()).await?;
    while let Some(bytes) = piece {
        stream.send_data(bytes).await?;
        piece = poll_fn(|_| exchanges.poll_piece(place)).await;
    }
    stream.finish().await
}

/// Notes that a future wants to be polled again.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// RFC 9114 §8.1: the code of a connection that has done its work.
pub(super) const NO_ERROR: VarInt = VarInt::from_u32(0x100);
const INTERNAL_ERROR: VarInt = VarInt::from_u32(0x102);
/// The longest DATA frame: as much as a server reads of a file at once.
const LONGEST_PIECE: usize = 64 * 1024;
