//! One end of a program's connection, over any socket.

use units::Bytes;
use wire::Payload;

use crate::program::SocketCall;

/// A socket as an end uses it. No method blocks.
pub trait Socket {
    /// Whether the connection is open for data.
    fn is_open(&self) -> bool;

    /// Appends to the stream. Returns the number of bytes taken: fewer than the payload has where a buffer is full.
    fn write(&mut self, payload: &Payload) -> u32;

    /// Appends bytes that have arrived in order to `out`.
    fn read(&mut self, out: &mut Vec<u8>) -> Reading;

    /// Ends our stream.
    fn close(&mut self);

    /// Kind of end of the connection, if it has ended.
    fn ending(&self) -> Option<Ending>;
}

/// State of a socket after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// There may be more.
    More,
    /// Nothing for now.
    Drained,
    /// Nothing: the peer's stream has ended.
    Ended,
}

/// Kind of end of a connection, at one end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both streams have ended.
    Closed,
    /// It was given up, for this reason.
    Broken(String),
}

impl Ending {
    /// Why the connection broke, if it did.
    #[must_use]
    pub fn broken(self) -> Option<String> {
        match self {
            Self::Closed => None,
            Self::Broken(reason) => Some(reason),
        }
    }
}

/// One end. It holds back what its program writes before the connection is open.
#[derive(Debug, Default)]
pub struct End {
    /// Bytes that the socket has taken, and bytes that it has yet to take.
    written: u64,
    unwritten: u64,
    /// Whether the program writes as much as the socket takes.
    is_unlimited: bool,
    /// Whether the program has closed its side, and whether the socket was closed.
    is_closing: bool,
    has_closed: bool,
    /// Bytes read and checked.
    read: u64,
    notify_at: Option<u64>,
    /// Whether the peer's stream has ended.
    has_ended: bool,
    /// Whether the end of the connection was reported.
    is_over: bool,
}

/// Actions of an end in one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advance {
    /// Whether it read, wrote or closed.
    pub did: bool,
    /// The position up to which it has read, if the program has asked for that.
    pub read: Option<u64>,
    /// Kind of end of the connection at this end, if it has just ended.
    pub over: Option<Ending>,
}

/// A byte that was read is not the byte that was sent, at this place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongByte(pub u64);

impl End {
    /// Bytes that were read and checked.
    #[must_use]
    pub const fn read(&self) -> u64 {
        self.read
    }

    /// Whether the end of the connection was reported.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes a call of the program. It has its effect in the next [`End::advance`].
    pub const fn call(&mut self, call: SocketCall) {
        match call {
            SocketCall::Write(Bytes(bytes)) => self.unwritten = self.unwritten.saturating_add(bytes),
            SocketCall::WriteUnlimited => self.is_unlimited = true,
            SocketCall::Close => (self.is_closing, self.is_unlimited) = (true, false),
            SocketCall::NotifyRead(position) => self.notify_at = Some(position),
        }
    }

    /// Reads, writes and closes as far as the socket allows.
    ///
    /// # Errors
    /// If a byte differs from the byte sent.
    pub fn advance(&mut self, socket: &mut impl Socket) -> Result<Advance, WrongByte> {
        let has_read = self.receive(socket)?;
        // A program that has read to the end of the stream closes its side.
        if self.has_ended && !self.is_closing {
            self.call(SocketCall::Close);
        }
        let has_written = self.send(socket);
        let read = self.take_notification();
        Ok(Advance { did: has_read || has_written, read, over: self.take_ending(socket) })
    }

    /// Writes what the socket takes. Returns whether anything was written or closed.
    fn send(&mut self, socket: &mut impl Socket) -> bool {
        if !socket.is_open() || self.has_closed {
            return false;
        }
        let before = self.written;
        while self.unwritten > 0 || self.is_unlimited {
            let len = if self.is_unlimited { PIECE } else { self.unwritten.min(PIECE) } as u32;
            let taken = socket.write(&Payload::Pattern { offset: self.written, len });
            self.written += u64::from(taken);
            self.unwritten = self.unwritten.saturating_sub(u64::from(taken));
            if taken < len {
                return self.written > before;
            }
        }
        if self.is_closing {
            socket.close();
            self.has_closed = true;
        }
        self.has_closed || self.written > before
    }

    /// Reads everything that has arrived. Returns whether there was anything, or the end of the stream.
    fn receive(&mut self, socket: &mut impl Socket) -> Result<bool, WrongByte> {
        let before = (self.read, self.has_ended);
        let mut read = Vec::new();
        let mut reading = if self.has_ended { Reading::Ended } else { Reading::More };
        while reading == Reading::More {
            read.clear();
            reading = socket.read(&mut read);
            self.check(&read)?;
        }
        self.has_ended = reading == Reading::Ended;
        Ok((self.read, self.has_ended) != before)
    }

    /// Compares what was read with what was written in that place.
    fn check(&mut self, read: &[u8]) -> Result<(), WrongByte> {
        let right = right_bytes(self.read, read);
        self.read += right as u64;
        if right == read.len() { Ok(()) } else { Err(WrongByte(self.read)) }
    }

    /// The position up to which the end has read, once after each notification that the program has asked for.
    fn take_notification(&mut self) -> Option<u64> {
        self.notify_at.take_if(|position| self.read >= *position).map(|_| self.read)
    }

    /// Kind of end of the connection at this end, reported once.
    fn take_ending(&mut self, socket: &impl Socket) -> Option<Ending> {
        let ending = socket.ending().filter(|_| !self.is_over);
        self.is_over |= ending.is_some();
        ending
    }
}

/// The number of bytes, from the first on, that are those which were written at a place of a stream.
#[must_use]
pub fn right_bytes(place: u64, read: &[u8]) -> usize {
    (place..).zip(read).take_while(|(place, byte)| Payload::pattern_byte(*place) == **byte).count()
}

/// Bytes written at once: many segments, so that the program does not limit the flow.
pub const PIECE: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that takes some bytes, and has others to read.
    #[derive(Default)]
    struct Scripted {
        is_open: bool,
        room: u32,
        incoming: Vec<u8>,
        peer_has_closed: bool,
        has_closed: bool,
    }

    impl Socket for Scripted {
        fn is_open(&self) -> bool {
            self.is_open
        }

        fn write(&mut self, payload: &Payload) -> u32 {
            let taken = payload.len().min(self.room);
            self.room -= taken;
            taken
        }

        fn read(&mut self, out: &mut Vec<u8>) -> Reading {
            out.append(&mut self.incoming);
            if self.peer_has_closed { Reading::Ended } else { Reading::Drained }
        }

        fn close(&mut self) {
            self.has_closed = true;
        }

        fn ending(&self) -> Option<Ending> {
            (self.has_closed && self.peer_has_closed).then_some(Ending::Closed)
        }
    }

    fn pattern(offset: u64, len: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        Payload::Pattern { offset, len }.write_to(&mut bytes);
        bytes
    }

    #[test]
    fn what_was_written_early_goes_out_when_the_connection_is_open_and_is_followed_by_the_close() {
        let (mut end, mut socket) = (End::default(), Scripted::default());
        end.call(SocketCall::Write(Bytes(100)));
        end.call(SocketCall::Close);
        assert_eq!(end.advance(&mut socket), Ok(Advance::default()));
        (socket.is_open, socket.room) = (true, 60);
        assert!(end.advance(&mut socket).unwrap().did && !socket.has_closed);
        socket.room = 60;
        assert!(end.advance(&mut socket).unwrap().did && socket.has_closed);
        assert_eq!(socket.room, 20);
    }

    #[test]
    fn an_end_notifies_once_closes_after_its_peer_and_reports_the_end_once() {
        let incoming = pattern(0, 50);
        let mut socket = Scripted { is_open: true, incoming, ..Scripted::default() };
        let mut end = End::default();
        end.call(SocketCall::NotifyRead(40));
        assert_eq!(end.advance(&mut socket), Ok(Advance { did: true, read: Some(50), over: None }));
        socket.incoming = pattern(50, 10);
        socket.peer_has_closed = true;
        let over = Some(Ending::Closed);
        assert_eq!(end.advance(&mut socket), Ok(Advance { did: true, read: None, over }));
        assert_eq!(end.advance(&mut socket), Ok(Advance::default()));
        assert!(end.is_over() && end.read() == 60);
    }

    #[test]
    fn a_wrong_byte_is_found_at_its_place() {
        let mut socket = Scripted { is_open: true, incoming: pattern(0, 50), ..Scripted::default() };
        socket.incoming[42] ^= 1;
        assert_eq!(End::default().advance(&mut socket), Err(WrongByte(42)));
    }
}
