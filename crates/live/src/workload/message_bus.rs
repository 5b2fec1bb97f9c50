//! The messages between the two copies of a program, and their delivery.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use linux::channel::{ReportReceiver, ReportSender, report_channel};
use serde::{Deserialize, Serialize};
use units::{Bytes, FlowId, Instant, NodeId};
use workload::SocketId;

use super::ProgramSpec;
use super::replica::Replica;

/// An event at the side of one copy, as a message to the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PeerEvent {
    /// A connection was opened from another port than the agreed one, which was in use.
    Opened {
        /// The connection.
        socket: SocketId,
        /// The port of the end that connects.
        port: u16,
    },
    /// An end has read up to the position that the program asked for.
    Read {
        /// The connection.
        socket: SocketId,
        /// Bytes since it was opened.
        position: u64,
        /// When.
        at: Instant,
    },
    /// Both streams of a connection have ended at this end.
    Over {
        /// The connection.
        socket: SocketId,
        /// When.
        at: Instant,
    },
    /// Both streams have ended at this end, and the other copy had reported the same of its own end.
    BothOver {
        /// The connection.
        socket: SocketId,
        /// When.
        at: Instant,
    },
    /// The kernel or the stack here gave a connection up.
    Broken {
        /// The connection.
        socket: SocketId,
        /// Why.
        why: String,
        /// When.
        at: Instant,
    },
    /// A datagram has arrived, of a program with feedback.
    Arrived {
        /// Its number.
        number: u64,
        /// The size of the packet, IP header included.
        size: Bytes,
        /// When.
        at: Instant,
    },
    /// The program, which runs at the sender of this message only, sends a datagram from the receiver's host.
    Send {
        /// The size of the packet, IP header included.
        size: Bytes,
    },
    /// The program is done at `from`.
    Finished {
        /// The number of datagrams that it has sent.
        datagrams: u64,
    },
}

impl PeerEvent {
    /// The connection that it is about.
    pub(super) const fn socket(&self) -> Option<SocketId> {
        match self {
            Self::Opened { socket, .. }
            | Self::Read { socket, .. }
            | Self::Over { socket, .. }
            | Self::BothOver { socket, .. }
            | Self::Broken { socket, .. } => Some(*socket),
            Self::Arrived { .. } | Self::Send { .. } | Self::Finished { .. } => None,
        }
    }

    /// When it happened.
    pub(super) const fn at(&self) -> Option<Instant> {
        match self {
            Self::Read { at, .. }
            | Self::Over { at, .. }
            | Self::BothOver { at, .. }
            | Self::Broken { at, .. }
            | Self::Arrived { at, .. } => Some(*at),
            Self::Opened { .. } | Self::Send { .. } | Self::Finished { .. } => None,
        }
    }
}

/// An event with the address of the copy that is to handle it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Envelope {
    /// The node of that copy.
    pub(crate) node: NodeId,
    /// The flow.
    pub(crate) flow: FlowId,
    /// The event.
    pub(crate) event: PeerEvent,
}

/// Delivers messages to the copies of programs in this process, and sends those for copies elsewhere there.
#[derive(Default)]
pub(crate) struct MessageBus {
    boxes: BTreeMap<Address, ReportSender<PeerEvent>>,
    inboxes: Mutex<BTreeMap<Address, ReportReceiver<PeerEvent>>>,
    remote: OnceLock<Remote>,
}

/// The node and the flow of a copy.
type Address = (NodeId, FlowId);

/// Sends a message to another process.
type Remote = Box<dyn Fn(Envelope) + Send + Sync>;

impl MessageBus {
    /// Inboxes for the copies of programs in this process.
    pub(crate) fn new<'a>(programs: impl Iterator<Item = &'a ProgramSpec>) -> io::Result<Self> {
        let mut bus = Self::default();
        for program in programs.filter(|program| program.setup.is_split) {
            let (sender, receiver) = report_channel()?;
            let address = (program.node(), program.setup.flow);
            bus.boxes.insert(address, sender);
            bus.inboxes.get_mut().unwrap_or_else(PoisonError::into_inner).insert(address, receiver);
        }
        Ok(bus)
    }

    /// Sets the function that sends messages to other processes.
    pub(crate) fn set_remote(&self, remote: impl Fn(Envelope) + Send + Sync + 'static) {
        // It is called once, before any copy runs.
        let _ = self.remote.set(Box::new(remote));
    }

    /// Takes the inbox of a copy here.
    pub(super) fn take_inbox(&self, program: &ProgramSpec) -> Option<ReportReceiver<PeerEvent>> {
        let address = (program.node(), program.setup.flow);
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner).remove(&address)
    }

    /// Delivers the messages of a copy.
    pub(super) fn deliver_from(&self, replica: &mut Replica) {
        while let Some(message) = replica.poll_message() {
            self.deliver(message);
        }
    }

    /// Delivers a message. A process elsewhere that has gone is noticed by its silence.
    pub(crate) fn deliver(&self, message: Envelope) {
        match (self.boxes.get(&(message.node, message.flow)), self.remote.get()) {
            (Some(inbox), _) => inbox.send(message.event),
            (None, Some(remote)) => remote(message),
            (None, None) => {}
        }
    }
}

impl std::fmt::Debug for MessageBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageBus").field("boxes", &self.boxes.keys()).finish_non_exhaustive()
    }
}
