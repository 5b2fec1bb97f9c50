//! Delivery of messages between the two copies of a program.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use linux::channel::{ReportReceiver, ReportSender, report_channel};
use units::{FlowId, NodeId};

use super::ProgramSpec;
use super::message::{Envelope, PeerEvent};
use super::replica::Replica;

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
