//! The copies of programs at a host with a stack in this process. The driver of that host drives them with it.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use linux::channel::ReportReceiver;
use linux::tcp_info::KernelCounts;
use nix::poll::{PollFd, PollFlags};
use units::{FlowId, Instant, Side};

use super::message::PeerEvent;
use super::message_bus::MessageBus;
use super::replica::Replica;
use super::{ProgramReport, ProgramSpec};
use crate::LiveError;

/// The copies at one host.
///
/// Order of calls: [`StackReplicas::advance`] at [`StackReplicas::poll_timeout`], when a descriptor is readable, and
/// after each call of the host, until it returns `false`; the host may have something to send each time that it
/// returned `true`.
#[derive(Debug, Default)]
pub(crate) struct StackReplicas {
    replicas: Vec<StackReplica>,
    bus: Arc<MessageBus>,
}

#[derive(Debug)]
struct StackReplica {
    flow: FlowId,
    side: Side,
    replica: Replica,
    inbox: ReportReceiver<PeerEvent>,
}

impl StackReplicas {
    /// The copies at a host, which keeps packets for their connections until these are opened.
    pub(crate) fn new(
        specs: &[ProgramSpec],
        host: &mut stacks::Host,
        bus: &Arc<MessageBus>,
    ) -> Result<Self, LiveError> {
        let mut replicas = Vec::new();
        for spec in specs {
            let no_inbox = || spec.failed("get messages of the other host")(io::ErrorKind::NotFound.into());
            let inbox = bus.take_inbox(spec).ok_or_else(no_inbox)?;
            host.keep_early(spec.listening());
            let (flow, side) = (spec.setup.flow, spec.side());
            replicas.push(StackReplica { flow, side, replica: Replica::new(spec), inbox });
        }
        Ok(Self { replicas, bus: Arc::clone(bus) })
    }

    /// Delivers messages to the copies, and lets them act. Returns whether there was a message or an action.
    pub(crate) fn advance(&mut self, now: Instant, host: &mut stacks::Host) -> bool {
        let mut did = false;
        for StackReplica { replica, inbox, .. } in &mut self.replicas {
            while let Some(event) = inbox.try_recv() {
                replica.handle_message(now, event, host);
                did = true;
            }
            did |= replica.advance(now, host);
            self.bus.deliver_from(replica);
        }
        did
    }

    /// Time at which to call [`StackReplicas::advance`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let due = self.replicas.iter().map(|one| one.replica.poll_timeout(true)).min();
        due.filter(|due| *due < Instant::NEVER)
    }

    /// The descriptors that are readable when a message has arrived.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.replicas.iter().map(|one| PollFd::new(one.inbox.as_fd(), PollFlags::POLLIN))
    }

    /// Whether every copy is done at this side.
    pub(crate) fn is_done(&self) -> bool {
        self.replicas.iter().all(|one| one.replica.is_done())
    }

    /// Ends the run.
    pub(crate) fn finish(self, now: Instant, host: &mut stacks::Host) -> Vec<ProgramReport> {
        let finish = |StackReplica { flow, side, replica, .. }| {
            let outcome = Some(replica.finish(now, host));
            ProgramReport { flow, side, outcome, read: 0, counts: KernelCounts::default() }
        };
        self.replicas.into_iter().map(finish).collect()
    }
}
