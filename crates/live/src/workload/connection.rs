//! A connection of a flow, with the sockets of both its ends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};

use sim::workload::Side;
use wire::Payload;

/// A connection. What its program writes at an end before that is connected waits.
#[derive(Debug)]
pub(super) struct Connection {
    /// The side that opened it.
    pub(super) opener: Side,
    /// The addresses of `from`'s end, then of `to`'s.
    pub(super) addresses: [SocketAddrV4; 2],
    pub(super) ends: [End; 2],
}

/// One end.
#[derive(Debug, Default)]
pub(super) struct End {
    /// None at the listening side until the connection is accepted.
    pub(super) stream: Option<TcpStream>,
    is_connected: bool,
    /// Bytes that the kernel has taken, and bytes that it is yet to take.
    written: u64,
    unwritten: u64,
    /// Whether as much is written as the kernel takes.
    is_unlimited: bool,
    /// Whether the program has closed it, and whether the kernel knows.
    is_closing: bool,
    has_closed: bool,
    /// Bytes read and checked.
    pub(super) read: u64,
    notify_at: Option<u64>,
    /// Whether the other end's stream has ended.
    has_ended: bool,
}

/// Why an end cannot go on.
#[derive(Debug)]
pub(super) enum Failure {
    /// A byte is not the one that was sent.
    WrongByte {
        /// Its place in the stream.
        position: u64,
    },
    /// The kernel gave the connection up.
    Lost(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

impl Connection {
    /// A connection that `opener` is opening.
    pub(super) fn new(opener: Side, addresses: [SocketAddrV4; 2]) -> Self {
        Self { opener, addresses, ends: Default::default() }
    }

    pub(super) fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }

    /// Whether both streams have ended.
    pub(super) fn is_over(&self) -> bool {
        self.ends.iter().all(End::is_over)
    }
}

impl End {
    /// Writes more bytes, as soon as there is room.
    pub(super) fn write(&mut self, bytes: u64) -> Result<(), Failure> {
        self.unwritten = self.unwritten.saturating_add(bytes);
        self.send()
    }

    /// Writes as much as there is room for, from now on.
    pub(super) fn write_unlimited(&mut self) -> Result<(), Failure> {
        self.is_unlimited = true;
        self.send()
    }

    /// Closes behind the last byte that is to be written.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        (self.is_closing, self.is_unlimited) = (true, false);
        self.send()
    }

    /// Notifies when the end has read up to `position`. Returns whether it has already.
    pub(super) fn notify_at(&mut self, position: u64) -> bool {
        self.notify_at = Some(position);
        self.is_notified()
    }

    /// The socket is connected: accepted, or the handshake is done.
    pub(super) const fn connected(&mut self) {
        self.is_connected = true;
    }

    /// Whether both streams have ended here.
    pub(super) const fn is_over(&self) -> bool {
        self.has_closed && self.has_ended
    }

    /// Does what the socket allows. Returns whether the program is to be notified of what was read.
    pub(super) fn advance(&mut self) -> Result<bool, Failure> {
        if !self.is_connected && !self.finish_connecting()? {
            return Ok(false);
        }
        let notify = self.receive()?;
        // A program that has read to the end of the stream closes its side.
        if self.has_ended && !self.is_closing {
            self.close()?;
        }
        self.send()?;
        Ok(notify)
    }

    /// Asks whether connecting has ended; an error if in vain.
    fn finish_connecting(&mut self) -> Result<bool, Failure> {
        let Some(stream) = &self.stream else { return Ok(false) };
        if let Some(error) = stream.take_error()? {
            return Err(Failure::Lost(error));
        }
        self.is_connected = stream.peer_addr().is_ok();
        Ok(self.is_connected)
    }

    fn send(&mut self) -> Result<(), Failure> {
        let Some(stream) = self.stream.as_mut().filter(|_| self.is_connected) else { return Ok(()) };
        let mut chunk = Vec::new();
        while self.unwritten > 0 || self.is_unlimited {
            let len = if self.is_unlimited { CHUNK } else { self.unwritten.min(CHUNK) };
            chunk.clear();
            Payload::Pattern { offset: self.written, len: len as u32 }.write_to(&mut chunk);
            match stream.write(&chunk) {
                Ok(count) => {
                    self.written += count as u64;
                    self.unwritten = self.unwritten.saturating_sub(count as u64);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.is_closing && !self.has_closed {
            stream.shutdown(Shutdown::Write)?;
            self.has_closed = true;
        }
        Ok(())
    }

    /// Reads all that there is. Returns whether the program is to be notified.
    fn receive(&mut self) -> Result<bool, Failure> {
        let mut chunk = [0; CHUNK as usize];
        while let (Some(stream), false) = (&mut self.stream, self.has_ended) {
            match stream.read(&mut chunk) {
                Ok(0) => self.has_ended = true,
                Ok(count) => self.check(&chunk[..count])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.is_notified())
    }

    /// Compares what was read with what was written in that place.
    fn check(&mut self, read: &[u8]) -> Result<(), Failure> {
        let pairs = (self.read..).zip(read);
        let right = pairs.take_while(|(place, byte)| Payload::pattern_byte(*place) == **byte).count();
        self.read += right as u64;
        if right == read.len() { Ok(()) } else { Err(Failure::WrongByte { position: self.read }) }
    }

    /// Whether the program is to be notified; that is so once.
    fn is_notified(&mut self) -> bool {
        self.notify_at.take_if(|position| self.read >= *position).is_some()
    }
}

/// Bytes read or written at once: many segments.
const CHUNK: u64 = 64 * 1024;
