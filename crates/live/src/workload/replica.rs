//! A copy of a program whose hosts are on two machines, at the side of one of them.
//!
//! Both copies draw the same numbers, are woken at the same times by the clock of the run, and give commands to the
//! host of their own side. A copy gets the events of its own side at once, and those of the other side by messages,
//! with the times at which they happened. In every workload over connections, what a side does follows from its own
//! clock and its own host (a server answers what it has read, a user asks when the time has come), so the path between
//! the machines delays nothing that crosses the links.
//!
//! A program with feedback (TFRC) lets its two sides share what their packets carry. It has one copy, at `from`, which
//! gets what arrives at `to` and sends from there, one round trip of the control stream later.
//!
//! A replica does no input or output. The host at its side may be the sockets of a kernel (`thread.rs`) or a stack in
//! this process (`stack_replicas.rs`).

use units::{Instant, NodeId, PerSide, Side};
use workload::{Command, HostTable, Program, ProgramHost, ProgramOutcome, Runner};

use super::message::{Envelope, PeerEvent};
use super::remote_host::RemoteHost;
use super::{GRACE, ProgramSpec};

/// A copy that runs.
///
/// Order of calls: [`Replica::advance`] at [`Replica::poll_timeout`] and after each input of the host,
/// [`Replica::handle_message`] for a message of the other copy; after either, [`Replica::poll_message`] until there is
/// none.
#[derive(Debug)]
pub(crate) struct Replica {
    side: Side,
    runner: Runner,
    remote: RemoteHost,
    /// The time of the run, as of the latest call.
    now: Instant,
    has_finished: bool,
}

impl Replica {
    pub(super) fn new(spec: &ProgramSpec) -> Self {
        let (side, setup) = (spec.side(), &spec.setup);
        let runs_here = side == Side::From || !setup.feedback;
        let runner = if runs_here { spec.runner() } else { Runner::new(Box::new(Absent), setup.clone()) };
        let remote = RemoteHost::new(setup.nodes[side.other()], setup.flow, setup.feedback);
        Self { side, runner, remote, now: Instant::START, has_finished: false }
    }

    /// Wakes the program if it is due, and handles the events of both hosts. Returns whether there was anything.
    pub(super) fn advance(&mut self, now: Instant, host: &mut dyn ProgramHost) -> bool {
        self.now = now;
        let mut did = false;
        let (side, flow) = (self.side, self.runner.setup().flow);
        loop {
            // Earlier timers are handled before an event, and the local host before the remote host.
            did |= self
                .runner
                .wake(now, &mut Pair::new(side, self.runner.setup().nodes, host, &mut self.remote));
            let own =
                host.poll_event(now, &|wanted| wanted == flow).inspect(|event| self.remote.forward(event));
            let event = own.map(|event| (side, event));
            let next = event.or_else(|| Some((side.other(), self.remote.poll_event(now, &|_| true)?)));
            let Some((at_side, event)) = next else { break };
            let mut pair = Pair::new(side, self.runner.setup().nodes, host, &mut self.remote);
            self.runner.handle_event(now, at_side, event, &mut pair);
            did = true;
        }
        self.finish_program();
        did
    }

    /// A message of the other copy has arrived.
    pub(super) fn handle_message(&mut self, now: Instant, event: PeerEvent, host: &mut dyn ProgramHost) {
        if let PeerEvent::Send { size } = event {
            let mut pair = Pair::new(self.side, self.runner.setup().nodes, host, &mut self.remote);
            self.runner.send_datagram(now, self.side, size, &mut pair);
        } else {
            self.remote.receive(now, event);
        }
        self.advance(now, host);
    }

    /// The next message to the other copy.
    pub(super) fn poll_message(&mut self) -> Option<Envelope> {
        self.remote.poll_message()
    }

    /// Time at which to call [`Replica::advance`]; until it is known to be done (`is_open`), also when it will be.
    pub(super) fn poll_timeout(&self, is_open: bool) -> Instant {
        let given_up = self.awaited_until().filter(|_| is_open).map_or(Instant::NEVER, |at| at.max(self.now));
        self.runner.poll_timeout().min(given_up)
    }

    /// Whether the program is done, its connections are closed at this side, and its datagrams have arrived or are
    /// lost.
    pub(super) fn is_done(&self) -> bool {
        let is_finished = self.side == Side::From || self.remote.finished().is_some();
        self.runner.is_closed() && is_finished && self.awaited_until().is_none()
    }

    /// Ends the run.
    pub(super) fn finish(mut self, now: Instant, host: &mut dyn ProgramHost) -> ProgramOutcome {
        self.now = now;
        let is_done = self.is_done();
        let mut pair = Pair::new(self.side, self.runner.setup().nodes, host, &mut self.remote);
        ProgramOutcome { is_done, ..self.runner.finish(now, &mut pair) }
    }

    /// Until when datagrams of the other side are waited for, if any are.
    fn awaited_until(&self) -> Option<Instant> {
        let (sent, since) = self.remote.finished()?;
        let until = self.runner.last_datagram().max(since) + GRACE;
        let is_awaited = (self.runner.log().arrived().len() as u64) < sent && self.now < until;
        is_awaited.then_some(until)
    }

    /// Reports once to the other copy that the program is done.
    fn finish_program(&mut self) {
        if self.side == Side::From && self.runner.program_is_done() && !self.has_finished {
            self.has_finished = true;
            self.remote.finish(self.runner.log().sent().len() as u64);
        }
    }
}

/// The host here and the proxy for the other, by node.
struct Pair<'a> {
    nodes: PerSide<NodeId>,
    side: Side,
    host: &'a mut dyn ProgramHost,
    remote: &'a mut RemoteHost,
}

impl<'a> Pair<'a> {
    fn new(
        side: Side,
        nodes: PerSide<NodeId>,
        host: &'a mut dyn ProgramHost,
        remote: &'a mut RemoteHost,
    ) -> Self {
        Self { nodes, side, host, remote }
    }
}

impl HostTable for Pair<'_> {
    fn host(&mut self, node: NodeId) -> Option<&mut dyn ProgramHost> {
        let side = self.nodes.side_of(&node)?;
        Some(if side == self.side { self.host } else { self.remote })
    }
}

/// Placeholder for a program whose only copy runs on the other machine.
#[derive(Debug)]
struct Absent;

impl Program for Absent {
    fn poll_timeout(&self) -> Instant {
        Instant::NEVER
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_command(&mut self) -> Option<Command> {
        None
    }

    fn is_done(&self) -> bool {
        true
    }
}
