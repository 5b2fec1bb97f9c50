//! Bulk transfers through the kernel's sockets: sender and receiver of a flow.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration as StdDuration;

use linux::socket::{SocketOptions, connect_to};
use linux::tcp_info::KernelCounts;
use units::Instant;
use wire::Payload;

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::waiting::EndClass;
use crate::run::report::{ConnectionEnd, Received, Report, Sent};
use crate::stop::Stop;

/// The amount of data of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// The bytes that the path takes until a time of the run.
    Until(Instant),
}

/// The end of a flow that connects, sends and closes.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) flow: String,
    pub(crate) local: SocketAddrV4,
    pub(crate) remote: SocketAddrV4,
    pub(crate) start: Instant,
    pub(crate) amount: Amount,
    pub(crate) options: SocketOptions,
    /// Number of ends of bulk transfers in the run, which share the budget of the real-time class.
    pub(crate) ends: u64,
}

/// The end of a flow that accepts, reads, and closes when the stream ends.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) flow: String,
    pub(crate) local: SocketAddrV4,
    pub(crate) options: SocketOptions,
    /// Number of ends of bulk transfers in the run, which share the budget of the real-time class.
    pub(crate) ends: u64,
}

/// A host's end of a bulk transfer.
#[derive(Clone, Debug)]
pub(crate) enum BulkEnd {
    Sender(Sender),
    Receiver(Receiver),
}

/// The same, with its port open if it listens.
pub(crate) enum OpenBulkEnd {
    Sender(Sender),
    Receiver(ListeningReceiver),
}

impl BulkEnd {
    /// Whether it listens.
    pub(crate) const fn listens(&self) -> bool {
        matches!(self, Self::Receiver(_))
    }

    /// Opens its port, if it listens.
    pub(crate) fn open(self) -> Result<OpenBulkEnd, LiveError> {
        match self {
            Self::Sender(sender) => Ok(OpenBulkEnd::Sender(sender)),
            Self::Receiver(receiver) => Ok(OpenBulkEnd::Receiver(receiver.listen()?)),
        }
    }
}

impl OpenBulkEnd {
    /// Runs until the transfer or the run is over.
    pub(crate) fn run(self, clock: Clock, stop: &Stop) -> Result<Report, LiveError> {
        match self {
            Self::Sender(sender) => sender.run(clock, stop).map(Report::Sent),
            Self::Receiver(receiver) => receiver.run(clock, stop).map(Report::Received),
        }
    }
}

/// A receiver whose port is open. Ports are opened before the run starts, so that no SYN is refused.
#[derive(Debug)]
pub(crate) struct ListeningReceiver {
    flow: String,
    listener: TcpListener,
    ends: u64,
}

impl Sender {
    /// Connects at the start time, sends, closes, and waits until the receiver closes.
    pub(crate) fn run(self, clock: Clock, stop: &Stop) -> Result<Sent, LiveError> {
        let mut stream = self.options.open(self.local).map_err(failed(&self.flow, "open a socket"))?;
        stop.watch(stream.try_clone().map_err(failed(&self.flow, "open a socket"))?);
        let end = match stop.wait_until(clock, self.start) {
            true => end_of(self.transfer(&mut stream, clock), stop),
            false => ConnectionEnd::Stopped,
        };
        let counts = KernelCounts::of(&stream).map_err(failed(&self.flow, "read the kernel's counts"))?;
        Ok(Sent { flow: self.flow, end, counts })
    }

    fn transfer(&self, stream: &mut TcpStream, clock: Clock) -> io::Result<()> {
        connect_to(stream, self.remote)?;
        self.send(stream, clock)?;
        stream.shutdown(Shutdown::Write)?;
        await_end(stream)
    }

    fn send(&self, stream: &mut TcpStream, clock: Clock) -> io::Result<()> {
        let mut sent = 0;
        let mut chunk = Vec::with_capacity(CHUNK as usize);
        let mut class = EndClass::raise(clock, self.ends);
        while let Some(len) = self.next_chunk(stream, clock, sent)? {
            chunk.clear();
            Payload::Pattern { offset: sent, len }.write_to(&mut chunk);
            match stream.write(&chunk) {
                Ok(count) => sent += count as u64,
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
            class.keep_to_budget();
        }
        Ok(())
    }

    /// Returns how many bytes to write next, or `None` at the end. A write blocks at most until the end time.
    fn next_chunk(&self, stream: &TcpStream, clock: Clock, sent: u64) -> io::Result<Option<u32>> {
        match self.amount {
            Amount::Bytes(bytes) => Ok(chunk_of(bytes - sent)),
            Amount::Until(end) => {
                let left = end.saturating_since(clock.now()).as_nanos();
                if left == 0 {
                    return Ok(None);
                }
                stream.set_write_timeout(Some(StdDuration::from_nanos(left)))?;
                Ok(Some(CHUNK))
            }
        }
    }
}

impl Receiver {
    /// Opens the port.
    pub(crate) fn listen(self) -> Result<ListeningReceiver, LiveError> {
        let listener = self.options.listen(self.local).map_err(failed(&self.flow, "listen"))?;
        Ok(ListeningReceiver { flow: self.flow, listener, ends: self.ends })
    }
}

impl ListeningReceiver {
    /// Accepts one connection, reads it to its end and checks every byte.
    pub(crate) fn run(self, clock: Clock, stop: &Stop) -> Result<Received, LiveError> {
        let listener = self.listener.try_clone().map_err(failed(&self.flow, "listen"))?;
        stop.watch(TcpStream::from(OwnedFd::from(listener)));
        let (mut bytes, mut last_read_ns) = (0, 0);
        match self.receive(clock, stop, &mut bytes, &mut || last_read_ns = clock.now().as_nanos()) {
            Err(error) if error.get_ref().is_some_and(|cause| cause.is::<WrongByte>()) => {
                Err(LiveError::Corrupted { flow: self.flow, position: bytes })
            }
            // A broken connection is an outcome; the sender reports it.
            _ => Ok(Received { flow: self.flow, bytes, last_read_ns }),
        }
    }

    fn receive(
        &self,
        clock: Clock,
        stop: &Stop,
        bytes: &mut u64,
        on_read: &mut dyn FnMut(),
    ) -> io::Result<()> {
        let mut stream = self.listener.accept()?.0;
        stop.watch(stream.try_clone()?);
        let mut chunk = vec![0; CHUNK as usize];
        let mut class = EndClass::raise(clock, self.ends);
        loop {
            match stream.read(&mut chunk) {
                // Dropping the stream would not close the socket: `stop` holds a clone of it.
                Ok(0) => return stream.shutdown(Shutdown::Write),
                Ok(count) => {
                    on_read();
                    check(&chunk[..count], bytes)?;
                    class.keep_to_budget();
                }
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns how a connection ended, from the result of its transfer.
fn end_of(transfer: io::Result<()>, stop: &Stop) -> ConnectionEnd {
    match transfer {
        _ if stop.stopped() => ConnectionEnd::Stopped,
        Ok(()) => ConnectionEnd::Closed,
        Err(error) => ConnectionEnd::Broken(error.to_string()),
    }
}

/// A byte differs from the sender's byte at that position.
#[derive(Debug, thiserror::Error)]
#[error("a byte is not the one that was sent")]
struct WrongByte;

/// Compares what was read with the pattern from position `bytes` of the stream on, and adds the number of equal bytes
/// to `bytes`.
fn check(read: &[u8], bytes: &mut u64) -> io::Result<()> {
    let right = (*bytes..)
        .zip(read)
        .take_while(|(position, byte)| Payload::pattern_byte(*position) == **byte)
        .count();
    *bytes += right as u64;
    if right == read.len() { Ok(()) } else { Err(io::Error::other(WrongByte)) }
}

/// Reads until the receiver closes.
fn await_end(stream: &mut TcpStream) -> io::Result<()> {
    let mut rest = [0; 64];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether the call is to be repeated: it was interrupted, or its time limit expired. `TimedOut` is not among
/// these errors: TCP has given up then.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock)
}

fn chunk_of(left: u64) -> Option<u32> {
    (left > 0).then(|| u32::try_from(left).map_or(CHUNK, |left| left.min(CHUNK)))
}

fn failed(flow: &str, step: &'static str) -> impl FnOnce(io::Error) -> LiveError {
    move |source| LiveError::Flow { flow: flow.to_owned(), step, source }
}

/// Bytes written or read at once: many segments, so that the application does not limit the flow.
const CHUNK: u32 = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn local(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
    }

    fn listening() -> (ListeningReceiver, SocketAddrV4) {
        let options = SocketOptions::default();
        let receiver = Receiver { flow: "f".into(), local: local(0), options, ends: 2 };
        let listening = receiver.listen().unwrap();
        let port = listening.listener.local_addr().unwrap().port();
        (listening, local(port))
    }

    fn sender(remote: SocketAddrV4, amount: Amount) -> Sender {
        let options = SocketOptions::default();
        Sender { flow: "f".into(), local: local(0), remote, start: Instant::START, amount, options, ends: 2 }
    }

    #[test]
    fn every_byte_arrives_and_is_checked() {
        let (listening, remote) = listening();
        let receiving = thread::spawn(move || listening.run(Clock::start(), &Stop::default()).unwrap());
        let sent = sender(remote, Amount::Bytes(300_001)).run(Clock::start(), &Stop::default()).unwrap();
        assert_eq!(sent.end, ConnectionEnd::Closed);
        assert_eq!(receiving.join().unwrap().bytes, 300_001);
    }

    #[test]
    fn a_wrong_byte_is_found_at_its_place() {
        let (listening, remote) = listening();
        let receiving = thread::spawn(move || listening.run(Clock::start(), &Stop::default()).unwrap_err());
        let mut bytes = Vec::new();
        Payload::Pattern { offset: 0, len: 1000 }.write_to(&mut bytes);
        bytes[700] ^= 1;
        TcpStream::connect(remote).unwrap().write_all(&bytes).unwrap();
        let error = receiving.join().unwrap();
        assert!(matches!(error, LiveError::Corrupted { position: 700, .. }), "{error}");
    }

    #[test]
    fn a_transfer_until_a_time_ends_there_though_nobody_reads() {
        let (listening, remote) = listening();
        let (clock, end) = (Clock::start(), Instant::from_nanos(50_000_000));
        let (ended, outcome) = mpsc::channel();
        thread::spawn(move || {
            let mut stream = TcpStream::connect(remote).unwrap();
            let sent = sender(remote, Amount::Until(end)).send(&mut stream, clock);
            ended.send((sent.is_ok(), clock.now())).unwrap();
        });
        let _unread = listening.listener.accept().unwrap();
        // A sender that does not check the clock would block indefinitely, since the receiver does not read.
        let (ended_well, at) = outcome.recv_timeout(StdDuration::from_secs(60)).expect("it has to end");
        assert!(ended_well && at >= end, "{at}");
    }

    #[test]
    fn a_refused_connection_is_an_outcome() {
        let sent = sender(local(1), Amount::Bytes(1)).run(Clock::start(), &Stop::default()).unwrap();
        assert!(matches!(sent.end, ConnectionEnd::Broken(_)), "{sent:?}");
    }
}
