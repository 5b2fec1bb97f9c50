//! The messages between the two halves of a program, and how they get there.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use linux::channel::{ReportReceiver, ReportSender, report_channel};
use serde::{Deserialize, Serialize};
use units::Instant;

use super::half::{Half, HalfSpec};

/// Something that happened at a half, of which the other half hears. Times are those of the run, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PeerEvent {
    /// A connection was opened from another port than the one that both know, since somebody had that.
    Opened {
        /// The program's number for it.
        socket: u32,
        /// The port of the end that connects.
        port: u16,
    },
    /// The program's notice that an end has read so far.
    Read {
        /// The connection.
        socket: u32,
        /// Bytes since it was opened.
        position: u64,
        /// When.
        at_ns: u64,
    },
    /// Both streams of a connection have ended at this end.
    Over {
        /// The connection.
        socket: u32,
        /// When.
        at_ns: u64,
    },
    /// Both streams have ended at this end, and the other half has said so of its own end before.
    BothOver {
        /// The connection.
        socket: u32,
        /// When.
        at_ns: u64,
    },
    /// The kernel or the stack here gave a connection up.
    Broken {
        /// The connection.
        socket: u32,
        /// Why.
        why: String,
        /// When.
        at_ns: u64,
    },
    /// A datagram has arrived, of which the program wants to hear.
    Arrived {
        /// Its number.
        number: u64,
        /// The packet, IP header included.
        size: u64,
        /// When.
        at_ns: u64,
    },
    /// The program, of which there is no copy here, sends a datagram from here.
    Send {
        /// The packet, IP header included.
        size: u64,
    },
    /// The program is done at `from`, which has sent so many datagrams.
    Finished {
        /// How many.
        datagrams: u64,
    },
}

impl PeerEvent {
    /// The connection that it is about.
    pub(super) const fn socket(&self) -> Option<u32> {
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
    pub(super) fn at(&self) -> Option<Instant> {
        match self {
            Self::Read { at_ns, .. }
            | Self::Over { at_ns, .. }
            | Self::BothOver { at_ns, .. }
            | Self::Broken { at_ns, .. }
            | Self::Arrived { at_ns, .. } => Some(Instant::from_nanos(*at_ns)),
            Self::Opened { .. } | Self::Send { .. } | Self::Finished { .. } => None,
        }
    }
}

/// An event with the half that is to hear of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Envelope {
    /// The node of that half.
    pub(crate) node: usize,
    /// The flow.
    pub(crate) flow: usize,
    /// The event.
    pub(crate) event: PeerEvent,
}

/// Delivers messages to the halves of this process, and passes those for others on.
#[derive(Default)]
pub(crate) struct MessageBus {
    boxes: BTreeMap<Address, ReportSender<PeerEvent>>,
    inboxes: Mutex<BTreeMap<Address, ReportReceiver<PeerEvent>>>,
    out: OnceLock<Out>,
}

/// A half's node and flow.
type Address = (usize, usize);

/// What carries messages to other processes.
type Out = Box<dyn Fn(Envelope) + Send + Sync>;

impl MessageBus {
    /// Inboxes for halves of this process.
    pub(crate) fn new<'a>(halves: impl Iterator<Item = &'a HalfSpec>) -> io::Result<Self> {
        let mut bus = Self::default();
        for half in halves {
            let (sender, receiver) = report_channel()?;
            let address = (half.node(half.side), half.index);
            bus.boxes.insert(address, sender);
            bus.inboxes.get_mut().unwrap_or_else(PoisonError::into_inner).insert(address, receiver);
        }
        Ok(bus)
    }

    /// Says what takes messages to other processes.
    pub(crate) fn set_remote(&self, out: impl Fn(Envelope) + Send + Sync + 'static) {
        // It is called once, before any half runs.
        let _ = self.out.set(Box::new(out));
    }

    /// Takes the inbox of a half here.
    pub(crate) fn take_inbox(&self, node: usize, flow: usize) -> Option<ReportReceiver<PeerEvent>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner).remove(&(node, flow))
    }

    /// Delivers the messages of a half.
    pub(super) fn deliver_from(&self, half: &mut Half) {
        while let Some(message) = half.poll_message() {
            self.deliver(message);
        }
    }

    /// Delivers a message. A half elsewhere that is gone shows by its silence.
    pub(crate) fn deliver(&self, message: Envelope) {
        match (self.boxes.get(&(message.node, message.flow)), self.out.get()) {
            (Some(inbox), _) => inbox.send(message.event),
            (None, Some(out)) => out(message),
            (None, None) => {}
        }
    }
}

impl std::fmt::Debug for MessageBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageBus").field("boxes", &self.boxes.keys()).finish_non_exhaustive()
    }
}
