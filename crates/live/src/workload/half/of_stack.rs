//! The halves of programs at a host with a stack in this process. Whoever drives that host drives them with it.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use linux::channel::ReportReceiver;
use nix::poll::{PollFd, PollFlags};
use units::Instant;

use crate::LiveError;
use crate::workload::HalfRan;
use crate::workload::message_bus::{MessageBus, PeerEvent};

use super::{Half, HalfSpec};

/// The halves at one host.
///
/// Order of calls: [`StackHalves::advance`] at [`StackHalves::poll_timeout`], where a descriptor is readable, and whenever
/// something was done with the host, until it does nothing; the host may have something to send each time that it did.
#[derive(Debug, Default)]
pub(crate) struct StackHalves {
    halves: Vec<(Half, ReportReceiver<PeerEvent>)>,
    bus: Arc<MessageBus>,
}

impl StackHalves {
    /// The halves at a host, which keeps what comes for their connections before these are opened.
    pub(crate) fn new(
        specs: Vec<HalfSpec>,
        host: &mut stacks::Host,
        bus: &Arc<MessageBus>,
    ) -> Result<Self, LiveError> {
        let mut halves = Vec::new();
        for spec in specs {
            let inbox = bus.take_inbox(spec.node(spec.side), spec.index);
            let inbox = inbox.ok_or_else(|| spec.failed("hear the other host", io::ErrorKind::NotFound))?;
            host.keep_early(spec.listening(spec.side));
            halves.push((Half::new(spec), inbox));
        }
        Ok(Self { halves, bus: Arc::clone(bus) })
    }

    /// Gives the halves their messages, and lets them do what they can. Returns whether there was anything.
    pub(crate) fn advance(&mut self, now: Instant, host: &mut stacks::Host) -> bool {
        let mut did = false;
        for (half, inbox) in &mut self.halves {
            while let Some(event) = inbox.try_recv() {
                half.handle_peer_event(now, event, host);
                did = true;
            }
            did |= half.advance(now, host);
            self.bus.deliver_from(half);
        }
        did
    }

    /// When to call [`StackHalves::advance`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let due = self.halves.iter().map(|(half, _)| half.poll_timeout(true)).min();
        due.filter(|due| *due < Instant::NEVER)
    }

    /// The descriptors that are readable when a message has come.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.halves.iter().map(|(_, inbox)| PollFd::new(inbox.as_fd(), PollFlags::POLLIN))
    }

    /// Whether there is nothing more to do at this side.
    pub(crate) fn is_done(&self) -> bool {
        self.halves.iter().all(|(half, _)| half.is_done())
    }

    /// The run is over.
    pub(crate) fn finish(self, now: Instant, host: &mut stacks::Host) -> Vec<HalfRan> {
        self.halves.into_iter().map(|(half, _)| half.finish(now, host)).collect()
    }
}
