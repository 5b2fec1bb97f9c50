//! TFRC (RFC 5348): datagrams at the rate that a TCP would have under the same losses and round trips, but steadily.
//! For calls and films that are to be fair to TCP; TFRC-SP (RFC 4828) is its variant for small packets.
//!
//! CCID 3 of DCCP (RFC 4342), of the crate `stacks`, has the same sender and loss history.
//!
//! `equation.rs` is the throughput of a TCP, `loss_history.rs` what counts as a loss event, `receiver.rs` and
//! `sender.rs` are the two ends. The program is both, and what a packet would carry it keeps until the packet arrives.

pub mod equation;
mod loss_history;
mod parameters;
mod receiver;
mod sender;

use std::collections::VecDeque;

use link::ConfigError;
use registry::Entry;
use units::{Bytes, Instant, Rate, Side, Streams};

pub use self::loss_history::{LossHistory, NewEvent};
pub use self::parameters::Parameters;
pub use self::receiver::Feedback;
use self::receiver::{Header, Receiver};
pub use self::sender::Sender;
use super::{BULK_PORT, Service, WorkloadParameters, check_packets};
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId};

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "tfrc",
    "datagrams at the smoothed rate of a TCP",
    "TFRC (RFC 5348); small packets: TFRC-SP (RFC 4828)",
)
.written("{ tfrc = {} }");

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        check_packets(Rate::from_bits_per_sec(1), self.packet)
    }

    fn service(&self) -> Service {
        Service { feedback: true, ..Service::datagrams(BULK_PORT, self.budget) }
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(self.packet)
    }

    fn program(&self, _: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        Box::new(Tfrc {
            size: self.packet,
            start,
            until,
            sender: Sender::new(self.clone(), start),
            receiver: Receiver::new(self.segment(), self.small_packets),
            headers: VecDeque::new(),
            first: 0,
            feedback: VecDeque::new(),
            feedback_sent: 0,
            commands: CommandQueue::default(),
            is_over: false,
        })
    }
}

/// Both ends of a flow, and what their packets under way carry.
#[derive(Debug)]
struct Tfrc {
    size: Bytes,
    start: Instant,
    until: Instant,
    sender: Sender,
    receiver: Receiver,
    /// Headers of packets from number `first` on.
    headers: VecDeque<Header>,
    first: u64,
    /// Feedback under way, with its numbers.
    feedback: VecDeque<(u64, Feedback)>,
    feedback_sent: u64,
    commands: CommandQueue,
    is_over: bool,
}

impl Tfrc {
    fn send(&mut self, now: Instant) {
        self.headers.push_back(Header { sent: now, rtt: self.sender.rtt() });
        self.commands.push(Command::SendDatagram { by: Side::From, size: self.size });
        self.sender.on_sent(now);
    }

    fn send_feedback(&mut self, feedback: Option<Feedback>) {
        let Some(feedback) = feedback else { return };
        self.feedback.push_back((self.feedback_sent, feedback));
        self.feedback_sent += 1;
        self.commands.push(Command::SendDatagram { by: Side::To, size: FEEDBACK });
    }

    fn on_data(&mut self, now: Instant, number: u64, size: Bytes) {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let Some(header) = place.and_then(|place| self.headers.get(place)).copied() else { return };
        // Packets that come more than this late are as good as lost.
        while number - self.first > REORDERING {
            self.headers.pop_front();
            self.first += 1;
        }
        let feedback = self.receiver.on_packet(now, number, size, header);
        self.send_feedback(feedback);
    }

    fn on_feedback(&mut self, now: Instant, number: u64) {
        while let Some((acked, feedback)) = self.feedback.front().copied() {
            if acked > number {
                return;
            }
            self.feedback.pop_front();
            if acked == number {
                self.sender.on_feedback(now, &feedback);
            }
        }
    }
}

impl Program for Tfrc {
    fn poll_timeout(&self) -> Instant {
        if self.is_over {
            return Instant::NEVER;
        }
        self.sender.poll_timeout().min(self.receiver.timer()).min(self.until).max(self.start)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.until {
            self.is_over = true;
            return;
        }
        if self.receiver.timer() <= now {
            let feedback = self.receiver.on_timer(now);
            self.send_feedback(feedback);
        }
        if self.sender.lacks_feedback(now) {
            self.sender.on_nofeedback(now);
        }
        if self.sender.is_due(now) {
            self.send(now);
        }
    }

    fn handle_event(&mut self, now: Instant, _: SocketId, event: SocketEvent) {
        match event {
            SocketEvent::DatagramReceived { .. } if self.is_over => {}
            SocketEvent::DatagramReceived { by: Side::From, number, size } => self.on_data(now, number, size),
            SocketEvent::DatagramReceived { by: Side::To, number, .. } => self.on_feedback(now, number),
            _ => {}
        }
    }

    fn poll_command(&mut self) -> Option<Command> {
        self.commands.poll()
    }

    fn is_done(&self) -> bool {
        self.is_over
    }
}

/// Feedback: a timestamp, a delay and two rates of four bytes each (RFC 5348 §3.2.2), with the headers of IPv4 and UDP.
const FEEDBACK: Bytes = Bytes(44);
/// Packets by which one may come late and still count as arrived.
const REORDERING: u64 = 1000;
