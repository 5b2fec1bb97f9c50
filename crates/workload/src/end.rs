//! One end of a program's connection, over a stack.

use units::Instant;
use wire::Payload;

use crate::stack::{Phase, SocketId, Stack};
use crate::transfer::{PIECE, right_bytes};

/// One end. What its program writes before the connection is open waits.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) socket: SocketId,
    /// Bytes that the stack has taken, and bytes that it is yet to take.
    written: u64,
    unwritten: u64,
    /// Whether as much is written as the stack takes.
    is_unlimited: bool,
    /// Whether the program has closed it, and whether the stack knows.
    is_closing: bool,
    has_closed: bool,
    /// Bytes read and checked.
    pub(crate) read: u64,
    notify_at: Option<u64>,
    /// Whether the other end's stream has ended.
    has_ended: bool,
    /// Whether its end was told.
    is_over: bool,
}

/// What has become of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advance {
    /// Whether anything was read, written or closed.
    pub(crate) did: bool,
    /// How far the program has read, if it is to be notified.
    pub(crate) read: Option<u64>,
    /// How the connection has ended at this end, if it has now: closed or broken.
    pub(crate) over: Option<Phase>,
}

/// A byte is not the one that was sent, at this place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongByte(pub(crate) u64);

impl End {
    pub(crate) const fn new(socket: SocketId) -> Self {
        Self {
            socket,
            written: 0,
            unwritten: 0,
            is_unlimited: false,
            is_closing: false,
            has_closed: false,
            read: 0,
            notify_at: None,
            has_ended: false,
            is_over: false,
        }
    }

    /// Writes more bytes, as soon as there is room.
    pub(crate) const fn write(&mut self, bytes: u64) {
        self.unwritten = self.unwritten.saturating_add(bytes);
    }

    /// Writes as much as there is room for, from now on.
    pub(crate) const fn write_unlimited(&mut self) {
        self.is_unlimited = true;
    }

    /// Closes behind the last byte that is to be written.
    pub(crate) const fn close(&mut self) {
        (self.is_closing, self.is_unlimited) = (true, false);
    }

    /// Notifies when the end has read up to `position`.
    pub(crate) const fn notify_at(&mut self, position: u64) {
        self.notify_at = Some(position);
    }

    /// Does what the stack allows.
    pub(crate) fn advance(&mut self, now: Instant, stack: &mut dyn Stack) -> Result<Advance, WrongByte> {
        let has_read = self.receive(stack)?;
        // A program that has read to the end of the stream closes its side.
        if self.has_ended && !self.is_closing {
            self.close();
        }
        let has_written = self.send(now, stack);
        Ok(Advance {
            did: has_read || has_written,
            read: self.take_notification(),
            over: self.take_over(stack),
        })
    }

    /// Writes what there is room for. Returns whether anything was written or closed.
    fn send(&mut self, now: Instant, stack: &mut dyn Stack) -> bool {
        if stack.phase(self.socket) != Phase::Open || self.has_closed {
            return false;
        }
        let before = self.written;
        while self.unwritten > 0 || self.is_unlimited {
            let len = if self.is_unlimited { PIECE } else { self.unwritten.min(PIECE) } as u32;
            let taken = stack.write(self.socket, &Payload::Pattern { offset: self.written, len });
            self.written += u64::from(taken);
            self.unwritten = self.unwritten.saturating_sub(u64::from(taken));
            if taken < len {
                return self.written > before;
            }
        }
        if self.is_closing {
            stack.close(now, self.socket);
            self.has_closed = true;
        }
        self.has_closed || self.written > before
    }

    /// Reads all that there is. Returns whether there was anything, or the end of the stream.
    fn receive(&mut self, stack: &mut dyn Stack) -> Result<bool, WrongByte> {
        if self.has_ended {
            return Ok(false);
        }
        let mut read = Vec::new();
        self.has_ended = stack.read(self.socket, &mut read);
        self.check(&read)?;
        Ok(self.has_ended || !read.is_empty())
    }

    /// Compares what was read with what was written in that place.
    fn check(&mut self, read: &[u8]) -> Result<(), WrongByte> {
        let right = right_bytes(self.read, read);
        self.read += right as u64;
        if right == read.len() { Ok(()) } else { Err(WrongByte(self.read)) }
    }

    /// How far the end has read, if the program is to be notified; that is so once.
    fn take_notification(&mut self) -> Option<u64> {
        self.notify_at.take_if(|position| self.read >= *position).map(|_| self.read)
    }

    /// How the connection has ended here, once.
    fn take_over(&mut self, stack: &dyn Stack) -> Option<Phase> {
        let phase = stack.phase(self.socket);
        if self.is_over || matches!(phase, Phase::Opening | Phase::Open) {
            return None;
        }
        self.is_over = true;
        Some(phase)
    }
}
