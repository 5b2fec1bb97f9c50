//! A kernel's TCP socket as an end of a connection uses it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use linux::tcp_info::KernelCounts;
use wire::Payload;
use workload::{Ending, PIECE, Reading, Socket};

/// A socket that does not block. An error of the kernel ends the connection.
#[derive(Debug, Default)]
pub(super) struct KernelSocket {
    /// None at the listening side until the connection is accepted.
    stream: Option<TcpStream>,
    is_connected: bool,
    has_closed: bool,
    has_ended: bool,
    broken: Option<String>,
}

impl KernelSocket {
    /// Takes a stream that is connecting.
    pub(super) fn connecting(&mut self, stream: TcpStream) {
        self.stream = Some(stream);
    }

    /// Takes a stream that was accepted.
    pub(super) fn accepted(&mut self, stream: TcpStream) {
        (self.stream, self.is_connected) = (Some(stream), true);
    }

    /// Aborts the connection.
    pub(super) fn fail(&mut self, error: &io::Error) {
        self.broken.get_or_insert_with(|| error.to_string());
    }

    /// Asks the kernel whether the connection is open now, or could not be opened.
    pub(super) fn finish_connecting(&mut self) {
        let Some(stream) = self.stream.as_ref().filter(|_| !self.is_connected) else { return };
        match stream.take_error() {
            Ok(None) => self.is_connected = stream.peer_addr().is_ok(),
            Ok(Some(error)) | Err(error) => self.fail(&error),
        }
    }

    /// The kernel's counters of the connection.
    pub(super) fn counts(&self) -> Option<KernelCounts> {
        KernelCounts::of(self.stream.as_ref()?).ok()
    }

    /// Makes a call on the stream, again if a signal interrupts it. Returns `None` if it would block or has failed.
    fn try_io<T>(&mut self, mut call: impl FnMut(&mut TcpStream) -> io::Result<T>) -> Option<T> {
        let stream = self.stream.as_mut().filter(|_| self.is_connected && self.broken.is_none())?;
        loop {
            match call(stream) {
                Ok(value) => return Some(value),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => {
                    self.fail(&error);
                    return None;
                }
            }
        }
    }
}

impl Socket for KernelSocket {
    fn is_open(&self) -> bool {
        self.is_connected && self.broken.is_none()
    }

    fn write(&mut self, payload: &Payload) -> u32 {
        let mut bytes = Vec::new();
        payload.write_to(&mut bytes);
        let mut taken = 0;
        while taken < bytes.len() {
            match self.try_io(|stream| stream.write(&bytes[taken..])) {
                Some(count) => taken += count,
                None => break,
            }
        }
        taken as u32
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Reading {
        let before = out.len();
        out.resize(before + PIECE as usize, 0);
        let read = self.try_io(|stream| stream.read(&mut out[before..]));
        out.truncate(before + read.unwrap_or(0));
        self.has_ended |= read == Some(0);
        match read {
            Some(0) => Reading::Ended,
            Some(_) => Reading::More,
            None => Reading::Drained,
        }
    }

    fn close(&mut self) {
        self.has_closed = true;
        self.try_io(|stream| stream.shutdown(Shutdown::Write));
    }

    fn ending(&self) -> Option<Ending> {
        let closed = (self.has_closed && self.has_ended).then_some(Ending::Closed);
        self.broken.clone().map(Ending::Broken).or(closed)
    }
}
