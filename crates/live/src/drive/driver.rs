//! The event loop in real time: waits for the next event of the network or for a packet, and handles it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use linux::tun::Buffers;
use nix::poll::{PollFd, PollFlags};
use stacks::{HostCaptures, Programs};
use units::{Duration, FlowId, Instant, NodeId};
use workload::ProgramOutcome;

use crate::clock::Clock;
use crate::drive::attachment::{Attached, Attachment, Device};
use crate::drive::lateness::LatenessRecorder;
use crate::drive::network::Network;
use crate::drive::outgoing::{Outgoing, together};
use crate::drive::waiting::{ArrivalTimes, Spent, Stalls, Step, Waiting};
use crate::workload::{GRACE, KernelHosts, ProgramReport, StackReplicas};

/// Drives the network between the hosts: kernels' devices, and stacks in this process. Hosts are numbered in the order
/// of the network.
pub(crate) struct Driver<'a> {
    pub(crate) network: Network,
    pub(crate) captures: HostCaptures,
    pub(crate) lateness: LatenessRecorder,
    pub(crate) attachments: Vec<Attachment<'a>>,
    /// The programs of flows over stacks in this process.
    pub(crate) programs: Programs,
    /// The kernels at the other ends of some of these programs.
    pub(crate) kernel_hosts: KernelHosts,
    /// The copies of programs over stacks in this process, by the places of their hosts.
    replicas: BTreeMap<usize, StackReplicas>,
    clock: Clock,
    /// Whether a stack has more to send than a batch, or a program more to do.
    stacks_have_more: bool,
    waiting: Waiting,
    arrivals: ArrivalTimes,
    buffers: Buffers,
    /// Packets that have arrived and are not yet given to kernels.
    outgoing: Vec<Outgoing>,
}

/// Event that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeReason {
    /// A device has a packet.
    Packet,
    /// An event has happened at the other end of a program.
    Program,
    /// A host's thread has sent a report.
    Report,
    /// The time was reached.
    Timeout,
}

impl<'a> Driver<'a> {
    /// Makes a driver that has not handled anything.
    pub(crate) fn new(
        network: Network,
        captures: HostCaptures,
        clock: Clock,
        attachments: Vec<Attachment<'a>>,
        lateness: LatenessRecorder,
    ) -> Self {
        Self {
            network,
            captures,
            lateness,
            attachments,
            programs: Programs::default(),
            kernel_hosts: KernelHosts::default(),
            replicas: BTreeMap::new(),
            clock,
            stacks_have_more: false,
            waiting: Waiting::new(clock, 1),
            arrivals: ArrivalTimes::default(),
            buffers: Buffers::default(),
            outgoing: Vec::new(),
        }
    }

    /// Drives until `end`, until `reports` is readable, until the stacks in this process become done, or until a link
    /// stops the run.
    pub(crate) fn run(&mut self, reports: impl AsFd, end: Instant) -> io::Result<()> {
        let were_done = self.stacks_are_done();
        loop {
            self.react()?;
            if self.clock.now() >= end || self.network.is_over() || self.stacks_are_done() != were_done {
                return Ok(());
            }
            let next = self.poll_timeout().unwrap_or(Instant::NEVER).min(end);
            if self.wait(&reports, next)? == WakeReason::Report {
                return Ok(());
            }
        }
    }

    /// Drives until no packet is in transit and the hosts have been silent for [`QUIET`], or until `end`.
    pub(crate) fn drain(&mut self, reports: impl AsFd, end: Instant) -> io::Result<()> {
        let mut quiet_since = self.clock.now();
        loop {
            let received = self.react()?;
            let now = self.clock.now();
            if received > 0 || self.network.packets_under_way() > 0 {
                quiet_since = now;
            }
            let quiet = quiet_since + QUIET;
            if now >= quiet.min(end) || self.network.is_over() {
                return Ok(());
            }
            let next = self.poll_timeout().unwrap_or(Instant::NEVER);
            self.wait(&reports, next.min(quiet).min(end))?;
        }
    }

    /// Returns whether the flows of all stacks in this process are over.
    pub(crate) fn stacks_are_done(&self) -> bool {
        let now = self.clock.now();
        self.attachments.iter().filter_map(Attachment::stack).all(stacks::Host::is_done)
            && self.programs.is_done(&|last| now.saturating_since(last) > GRACE)
            && self.replicas.values().all(StackReplicas::is_done)
    }

    /// Drives copies of programs with their hosts, by the nodes of these.
    pub(crate) fn add_replicas(&mut self, replicas: BTreeMap<NodeId, StackReplicas>) {
        let place = |node| self.network.nodes().iter().position(|known| *known == node);
        self.replicas = replicas.into_iter().filter_map(|(node, one)| Some((place(node)?, one))).collect();
    }

    /// Ends these copies, and returns their reports.
    pub(crate) fn finish_replicas(&mut self) -> Vec<ProgramReport> {
        let now = self.clock.now();
        let mut reports = Vec::new();
        for (place, replicas) in std::mem::take(&mut self.replicas) {
            if let Attachment::Stack(host) = &mut self.attachments[place] {
                reports.extend(replicas.finish(now, host));
            }
        }
        reports
    }

    /// Ends the programs of flows, and returns their outcomes.
    pub(crate) fn finish_programs(&mut self) -> BTreeMap<FlowId, ProgramOutcome> {
        let now = self.clock.now();
        let programs = std::mem::take(&mut self.programs);
        programs.finish_all(now, &mut self.attached().1)
    }

    /// The programs of flows, and the hosts at their ends.
    fn attached(&mut self) -> (&mut Programs, Attached<'_, 'a>) {
        let hosts = Attached {
            nodes: self.network.nodes(),
            attachments: &mut self.attachments,
            kernels: &mut self.kernel_hosts,
        };
        (&mut self.programs, hosts)
    }

    /// Returns the stalls of the driver so far, and how it has spent its time.
    pub(crate) fn account(&self) -> (Stalls, Spent) {
        self.waiting.account()
    }

    /// Returns the first wrong byte that a stack in this process has read.
    pub(crate) fn corrupted(&self) -> Option<stacks::Corrupted> {
        self.attachments.iter().filter_map(Attachment::stack).find_map(stacks::Host::failure)
    }

    /// Returns the time at which work is due next: now if a stack has more to send.
    fn poll_timeout(&mut self) -> Option<Instant> {
        let now = self.clock.now();
        if self.stacks_have_more {
            return Some(now);
        }
        let of_stacks = self.attachments.iter_mut().filter_map(|attachment| attachment.poll_timeout(now));
        let of_replicas = self.replicas.values().filter_map(StackReplicas::poll_timeout);
        of_stacks
            .chain(self.network.poll_timeout())
            .chain(self.programs.poll_timeout())
            .chain(of_replicas)
            .min()
    }

    /// Handles the events that are due and the packets that the hosts sent. Returns the number of these packets.
    fn react(&mut self) -> io::Result<usize> {
        self.catch_up()?;
        self.stacks_have_more = false;
        let mut hosts = 0..self.attachments.len();
        let received = hosts.try_fold(0, |received, host| Ok(received + self.receive(host)?));
        self.arrivals.forget();
        self.kernel_hosts.collect();
        let now = self.catch_up()?;
        self.run_programs(now);
        self.waiting.step(Step::Programs);
        self.deliver()?;
        received
    }

    /// Lets the programs of flows act, then lets the stacks send their packets.
    fn run_programs(&mut self, now: Instant) {
        let advance =
            |(programs, mut hosts): (&mut Programs, Attached<'_, '_>)| programs.advance(now, &mut hosts);
        for _ in 0..BATCH {
            let did = advance(self.attached());
            if !self.advance_replicas(now) && !did {
                return;
            }
            for host in 0..self.attachments.len() {
                if self.attachments[host].stack().is_some() {
                    self.send_from_stack(host, now);
                }
            }
        }
        self.stacks_have_more = true;
    }

    /// Lets the copies of programs act. Returns whether one did.
    fn advance_replicas(&mut self, now: Instant) -> bool {
        let mut did = false;
        for (place, replicas) in &mut self.replicas {
            if let Attachment::Stack(host) = &mut self.attachments[*place] {
                did |= replicas.advance(now, host);
            }
        }
        did
    }

    /// Wakes the stack of a host if it is due, and takes the packets that the host sends.
    fn receive(&mut self, host: usize) -> io::Result<usize> {
        match self.attachments[host] {
            Attachment::Device(device) => self.receive_from_device(host, device),
            Attachment::Stack(_) | Attachment::Programs(_) => self.receive_from_stack(host),
            Attachment::Nothing => Ok(0),
        }
    }

    /// Lets a stack handle its due timers, and takes a batch of its packets.
    fn receive_from_stack(&mut self, host: usize) -> io::Result<usize> {
        let now = self.catch_up()?;
        self.attachments[host].handle_timeout(now);
        let sent = self.send_from_stack(host, now);
        self.deliver()?;
        Ok(sent)
    }

    /// Lets a stack send a batch of packets while its link accepts them. Returns their number.
    fn send_from_stack(&mut self, host: usize, now: Instant) -> usize {
        for sent in 0..BATCH {
            if !self.network.accepts(host) {
                return sent;
            }
            let Some(packet) = self.attachments[host].poll_transmit(now) else { return sent };
            if let Some(id) = self.network.handle_packet(now, host, packet.clone().into()) {
                self.captures.handle_sent(now, host, id, &packet);
            }
        }
        self.stacks_have_more = true;
        BATCH
    }

    /// Reads a batch of packets from a device. Each enters the network at its arrival time if that is known, and
    /// otherwise at the time of its reading.
    fn receive_from_device(&mut self, host: usize, device: Device<'_>) -> io::Result<usize> {
        let (mut received, mut reads) = (0, 0);
        while received < BATCH && self.network.accepts(host) {
            let Some(packets) = device.receive(&mut self.buffers)? else { break };
            let now = self.arrivals.take(host).unwrap_or_else(|| self.clock.now());
            for packet in packets {
                received += 1;
                if let Some(id) = self.network.handle_packet(now, host, packet.clone()) {
                    self.captures.handle_sent(now, host, id, &packet.to_headers());
                }
            }
            self.waiting.step(Step::Read);
            reads += 1;
            if reads % FEW == 0 {
                self.deliver()?;
            }
        }
        self.deliver()?;
        Ok(received)
    }

    /// Handles every event that is due by now, each at its own time. Returns the time.
    fn catch_up(&mut self) -> io::Result<Instant> {
        loop {
            let now = self.clock.now();
            match self.network.poll_timeout() {
                Some(due) if due <= now => {
                    self.network.handle_timeout(now);
                    self.waiting.step(Step::Links);
                    self.deliver()?;
                    self.waiting.keep_to_budget();
                }
                _ => return Ok(now),
            }
        }
    }

    /// Gives the packets that have arrived to the hosts, and captures drops and delays of others.
    fn deliver(&mut self) -> io::Result<()> {
        while let Some((host, packet)) = self.network.poll_delivery() {
            let now = self.clock.now();
            match &mut self.attachments[host] {
                Attachment::Device(_) => {
                    self.outgoing.push((host, packet));
                    continue;
                }
                Attachment::Stack(stack) => stack.handle_packet(now, &packet.bytes.to_bytes()),
                Attachment::Programs(bridge) => bridge.handle_packet(now, &packet.bytes.to_bytes()),
                Attachment::Nothing => {}
            }
            // The packets of a host are captured in order.
            self.arrivals.forget_wait();
            self.lateness.record(packet.due, now);
            self.captures.handle_received(now, host, &packet);
            // A stack answers each packet before the next is handled.
            self.send_from_stack(host, now);
            self.run_programs(now);
        }
        self.give_to_kernels()?;
        while let Some(event) = self.network.poll_event() {
            self.captures.handle_event(&event);
        }
        Ok(())
    }

    fn give_to_kernels(&mut self) -> io::Result<()> {
        let device = |host: usize| match self.attachments[host] {
            Attachment::Device(device) => Some(device),
            _ => None,
        };
        let takes_trains = |host| device(host).is_some_and(Device::takes_trains);
        for (host, coalesced, packets) in together(&self.outgoing, takes_trains) {
            let Some(device) = device(host) else { continue };
            let began = self.clock.now();
            device.send(coalesced)?;
            let now = self.clock.now();
            self.waiting.delivered(began, now);
            self.arrivals.forget_wait();
            self.arrivals.given_to(host, now);
            for (_, packet) in packets {
                self.lateness.record(packet.due, now);
                self.captures.handle_received(now, host, packet);
            }
        }
        self.outgoing.drain(..).for_each(|(_, packet)| self.buffers.recycle(packet.bytes));
        Ok(())
    }

    /// Waits until `time` and handles the events that are due then, or until a descriptor is readable.
    fn wait(&mut self, reports: &impl AsFd, time: Instant) -> io::Result<WakeReason> {
        let mut descriptors = descriptors(reports, &self.attachments, &self.network);
        // After all others: if there is a packet too, the packet ended the wait.
        let packets = descriptors.len();
        descriptors.extend(self.kernel_hosts.descriptor().map(|one| PollFd::new(one, PollFlags::POLLIN)));
        descriptors.extend(self.replicas.values().flat_map(StackReplicas::descriptors));
        let Some(ready) = self.waiting.wait(&mut descriptors, time)? else {
            drop(descriptors);
            self.network.handle_timeout(time);
            self.waiting.step(Step::Links);
            self.deliver()?;
            return Ok(WakeReason::Timeout);
        };
        if ready.descriptor == 0 {
            return Ok(WakeReason::Report);
        }
        if ready.descriptor >= packets {
            return Ok(WakeReason::Program);
        }
        self.arrivals.wait_ended(ready.since);
        Ok(WakeReason::Packet)
    }
}

/// The descriptors to wait for; the first is that of the reports.
fn descriptors<'b>(
    reports: &'b impl AsFd,
    attachments: &'b [Attachment<'_>],
    network: &Network,
) -> Vec<PollFd<'b>> {
    // A host whose first link accepts nothing is not read from: flow control by the device's queue.
    let attached = attachments.iter().enumerate();
    let waited_for = attached.flat_map(|(host, attachment)| attachment.descriptors(network.accepts(host)));
    std::iter::once(PollFd::new(reports.as_fd(), PollFlags::POLLIN)).chain(waited_for).collect()
}

/// Number of packets read from one device before the next is served, and of turns of programs before the network is
/// served.
const BATCH: usize = 64;
/// Number of reads before packets that are due are delivered: consecutive reads, and consecutive writes, are faster
/// than alternating ones.
const FEW: usize = 8;
/// Silence of the hosts after which a run is drained if no packet is in transit: Linux delays acknowledgments by 40 ms
/// (TCP_DELACK_MIN).
const QUIET: Duration = Duration::from_millis(50);
