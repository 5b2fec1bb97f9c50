//! The event loop of traffic between two devices: waits for the next event of the links or for a packet, and handles
//! it.
//!
//! It does for two devices what `drive/driver.rs` does for the hosts of a scenario, without captures: a shell or a
//! router may run for days, so it keeps nothing of a packet that has passed.

use std::io;
use std::os::fd::AsFd;

use linux::scheduling::Scheduling;
use linux::tun::{Buffers, Tun};
use nix::poll::{PollFd, PollFlags};
use units::Instant;
use wire::offload::RawPacket;

use crate::clock::Clock;
use crate::drive::account::DriverAccount;
use crate::drive::lateness::LatenessRecorder;
use crate::drive::outgoing::{Outgoing, together};
use crate::drive::waiting::{ArrivalTimes, Step, Waiting};
use crate::gateway::link_pair::LinkPair;

/// Forwards packets between two devices through the links of a [`LinkPair`].
pub(crate) struct GatewayDriver {
    pub(crate) links: LinkPair,
    pub(crate) lateness: LatenessRecorder,
    /// Number of packets that a device refused.
    pub(crate) refused: u64,
    pub(crate) clock: Clock,
    tuns: [Tun; 2],
    waiting: Waiting,
    arrivals: ArrivalTimes,
    buffers: Buffers,
    /// Packets that have arrived and are not yet given to devices.
    outgoing: Vec<Outgoing>,
}

impl GatewayDriver {
    pub(crate) fn new(links: LinkPair, clock: Clock, tuns: [Tun; 2], lateness: LatenessRecorder) -> Self {
        Self {
            links,
            lateness,
            refused: 0,
            clock,
            tuns,
            waiting: Waiting::new(clock, 1),
            arrivals: ArrivalTimes::default(),
            buffers: Buffers::default(),
            outgoing: Vec::new(),
        }
    }

    /// Forwards until `end`, until `wake` is readable, or until a link stops the run.
    pub(crate) fn run(&mut self, wake: &impl AsFd, end: Instant) -> io::Result<()> {
        loop {
            self.react()?;
            if self.clock.now() >= end || self.links.is_over() {
                return Ok(());
            }
            let next = self.links.poll_timeout().unwrap_or(Instant::NEVER).min(end);
            if self.wait(wake, next)? {
                return Ok(());
            }
        }
    }

    /// Returns how the driver has spent its time so far, in a scheduling class.
    pub(crate) fn account(&self, scheduling: Scheduling) -> DriverAccount {
        DriverAccount::new(self.waiting.account(), scheduling)
    }

    /// Handles what is due and a batch of packets of each device.
    fn react(&mut self) -> io::Result<()> {
        self.catch_up();
        (0..self.tuns.len()).try_for_each(|end| self.receive(end))?;
        self.arrivals.forget();
        Ok(())
    }

    /// Reads a batch of packets from a device, and delivers what is due a few of them at a time.
    fn receive(&mut self, end: usize) -> io::Result<()> {
        let (mut received, mut reads) = (0, 0);
        while received < BATCH && self.links.accepts(end) {
            let Some(packets) = self.tuns[end].receive(&mut self.buffers)? else { break };
            let now = self.arrivals.take(end).unwrap_or_else(|| self.clock.now());
            for packet in packets.inspect(|_| received += 1).filter(is_ipv4) {
                self.links.handle_packet(now, end, packet);
            }
            self.waiting.step(Step::Read);
            reads += 1;
            if reads % FEW == 0 {
                self.deliver();
            }
        }
        self.deliver();
        Ok(())
    }

    /// Handles every event that is due by now, each at its own time. Returns the time.
    fn catch_up(&mut self) -> Instant {
        loop {
            let now = self.clock.now();
            match self.links.poll_timeout() {
                Some(due) if due <= now => {
                    self.links.handle_timeout(now);
                    self.waiting.step(Step::Links);
                    self.deliver();
                    self.waiting.keep_to_budget();
                }
                _ => return now,
            }
        }
    }

    fn deliver(&mut self) {
        self.outgoing.extend(std::iter::from_fn(|| self.links.poll_delivery()));
        for (end, coalesced, packets) in together(&self.outgoing, |end| self.tuns[end].takes_trains()) {
            let count = coalesced.packets() as u64;
            // A device that its owner has set down refuses packets, and the kernel refuses damaged packets.
            let began = self.clock.now();
            self.refused += if self.tuns[end].send(coalesced).is_err() { count } else { 0 };
            let now = self.clock.now();
            self.waiting.delivered(began, now);
            self.arrivals.given_to(end, now);
            packets.iter().for_each(|(_, packet)| self.lateness.record(packet.due, now));
        }
        self.outgoing.drain(..).for_each(|(_, packet)| self.buffers.recycle(packet.bytes));
    }

    /// Waits until `time` and handles the events that are due then, or until a descriptor is readable. Returns whether
    /// `wake` is readable.
    fn wait(&mut self, wake: &impl AsFd, time: Instant) -> io::Result<bool> {
        let open = self.tuns.iter().enumerate().filter(|(end, _)| self.links.accepts(*end));
        let devices = open.map(|(_, tun)| tun.as_fd());
        let mut descriptors: Vec<PollFd<'_>> = std::iter::once(wake.as_fd())
            .chain(devices)
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        let Some(ready) = self.waiting.wait(&mut descriptors, time)? else {
            drop(descriptors);
            self.links.handle_timeout(time);
            self.deliver();
            return Ok(false);
        };
        self.arrivals.wait_ended(ready.since);
        Ok(ready.descriptor == 0)
    }
}

/// Returns whether these are the bytes of an IPv4 packet. A device also sees the kernel's own IPv6 multicast, which no
/// link carries.
fn is_ipv4(packet: &RawPacket) -> bool {
    packet.common_header().first().is_some_and(|byte| byte >> 4 == 4)
}

/// Number of packets read from one device before the other is served; the rest of a super-packet may exceed it.
const BATCH: usize = 64;
/// Number of reads before packets that are due are delivered: consecutive reads, and consecutive writes, are faster
/// than alternating ones.
const FEW: usize = 8;
