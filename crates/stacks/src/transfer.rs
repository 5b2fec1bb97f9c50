//! Bulk transfers over a stack: the sender and the receiver of a flow. Over a stack with datagrams the receiver counts
//! the bytes that arrive.

use units::{FlowId, Instant};
use wire::Payload;
use workload::{Amount, Ends, PIECE, right_bytes};

use crate::stack::{Corrupted, Phase, Stack, StackSocket};

/// One end of a bulk transfer.
#[derive(Debug)]
pub(crate) struct TransferEnd {
    pub(crate) flow: FlowId,
    pub(crate) ends: Ends,
    pub(crate) socket: Option<StackSocket>,
    role: Role,
    /// Bytes written, or bytes read and checked.
    bytes: u64,
    /// Whether our stream was ended.
    is_closing: bool,
    /// Whether the peer's stream has ended.
    has_ended: bool,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    /// Connects at a time, writes and closes.
    Sender { start: Instant, amount: Amount },
    /// Accepts, reads, and closes when the stream ends.
    Receiver,
}

impl TransferEnd {
    pub(crate) const fn sender(flow: FlowId, ends: Ends, start: Instant, amount: Amount) -> Self {
        Self::new(flow, ends, Role::Sender { start, amount })
    }

    pub(crate) const fn receiver(flow: FlowId, ends: Ends) -> Self {
        Self::new(flow, ends, Role::Receiver)
    }

    const fn new(flow: FlowId, ends: Ends, role: Role) -> Self {
        Self { flow, ends, socket: None, role, bytes: 0, is_closing: false, has_ended: false }
    }

    /// Whether it sends the flow's data.
    pub(crate) const fn is_sender(&self) -> bool {
        matches!(self.role, Role::Sender { .. })
    }

    /// Bytes that the sender wrote, or that the receiver read (and checked, of a stream).
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the connection is closed or given up.
    pub(crate) fn is_over(&self, stack: &dyn Stack) -> bool {
        self.socket.is_some_and(|socket| matches!(stack.phase(socket), Phase::Closed | Phase::Broken(_)))
    }

    /// Time at which it is next to be driven.
    pub(crate) fn poll_timeout(&self, stack: &dyn Stack) -> Option<Instant> {
        match (self.role, self.socket) {
            (Role::Sender { start, .. }, None) => Some(start),
            (Role::Sender { amount: Amount::Until(end), .. }, Some(socket)) => {
                let sends = !self.is_closing && stack.phase(socket) == Phase::Open;
                sends.then_some(Instant::START + end)
            }
            _ => None,
        }
    }

    /// Opens, writes, reads and closes as far as the stack allows. Returns whether anything was done.
    pub(crate) fn drive(&mut self, now: Instant, stack: &mut dyn Stack) -> Result<bool, Corrupted> {
        match (self.role, self.socket) {
            (Role::Sender { start, .. }, None) if now >= start => {
                self.socket = Some(stack.connect(now, self.ends));
                Ok(true)
            }
            (Role::Sender { amount, .. }, Some(socket)) => Ok(self.send(now, stack, socket, amount)),
            (Role::Receiver, Some(socket)) => self.receive(now, stack, socket),
            (_, None) => Ok(false),
        }
    }

    fn send(&mut self, now: Instant, stack: &mut dyn Stack, socket: StackSocket, amount: Amount) -> bool {
        if self.is_closing || stack.phase(socket) != Phase::Open {
            // The stream of a peer that closes is read to its end, so that the connection can end.
            self.has_ended = self.has_ended || stack.read(socket, &mut Vec::new());
            return false;
        }
        let before = self.bytes;
        while let Some(len) = self.next_piece(now, amount) {
            let taken = stack.write(socket, &Payload::Pattern { offset: self.bytes, len });
            self.bytes += u64::from(taken);
            if taken < len {
                return self.bytes > before;
            }
        }
        stack.close(now, socket);
        self.is_closing = true;
        true
    }

    /// The length of the next write; `None` at the end.
    fn next_piece(&self, now: Instant, amount: Amount) -> Option<u32> {
        let left = match amount {
            Amount::Bytes(bytes) => bytes.0 - self.bytes,
            Amount::Until(end) if now < Instant::START + end => u64::MAX,
            Amount::Until(_) => 0,
        };
        (left > 0).then(|| left.min(PIECE) as u32)
    }

    fn receive(
        &mut self,
        now: Instant,
        stack: &mut dyn Stack,
        socket: StackSocket,
    ) -> Result<bool, Corrupted> {
        if self.has_ended {
            return Ok(false);
        }
        let mut read = Vec::new();
        if stack.carries_datagrams() {
            read.extend(std::iter::from_fn(|| stack.read_datagram(socket)).flatten());
            self.bytes += read.len() as u64;
            self.has_ended = stack.read(socket, &mut Vec::new());
        } else {
            self.has_ended = stack.read(socket, &mut read);
            self.check(&read)?;
        }
        if self.has_ended {
            stack.close(now, socket);
            self.is_closing = true;
        }
        Ok(self.has_ended || !read.is_empty())
    }

    /// Compares what was read with the pattern.
    fn check(&mut self, read: &[u8]) -> Result<(), Corrupted> {
        let right = right_bytes(self.bytes, read);
        self.bytes += right as u64;
        if right == read.len() { Ok(()) } else { Err(Corrupted { flow: self.flow, position: self.bytes }) }
    }
}
