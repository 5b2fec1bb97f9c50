//! The event loop of traffic between two devices: waits for the next event of the links or for a packet, and handles it.
//!
//! It is what `driver.rs` is for a scenario's hosts, without captures: a shell or a router may run for days, so nothing
//! is kept of a packet that has passed.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant};

use crate::clock::Clock;
use crate::lateness::LatenessRecorder;
use crate::passage::Passage;
use crate::tun::Tun;

/// Forwards packets between two devices through the links of a [`Passage`].
pub(crate) struct Forwarder {
    pub(crate) passage: Passage,
    pub(crate) lateness: LatenessRecorder,
    /// Packets that a device did not take.
    pub(crate) refused: u64,
    pub(crate) clock: Clock,
    tuns: [Tun; 2],
    buffer: Vec<u8>,
}

impl Forwarder {
    pub(crate) fn new(passage: Passage, clock: Clock, tuns: [Tun; 2], lateness: LatenessRecorder) -> Self {
        Self { passage, lateness, refused: 0, clock, tuns, buffer: vec![0; LARGEST_PACKET] }
    }

    /// Forwards until `end`, until `wake` is readable, or until a link stops the run.
    pub(crate) fn run(&mut self, wake: &impl AsFd, end: Instant) -> io::Result<()> {
        loop {
            self.react()?;
            if self.clock.now() >= end || self.passage.is_over() {
                return Ok(());
            }
            let next = self.passage.poll_timeout().unwrap_or(Instant::NEVER).min(end);
            if self.wait(wake, next)? {
                return Ok(());
            }
        }
    }

    /// Handles what is due and a batch of packets of each device.
    fn react(&mut self) -> io::Result<()> {
        self.catch_up();
        (0..self.tuns.len()).try_for_each(|end| self.receive(end))
    }

    fn receive(&mut self, end: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            if !self.passage.accepts(end) {
                return Ok(());
            }
            let Some(length) = self.tuns[end].receive(&mut self.buffer)? else { return Ok(()) };
            let now = self.catch_up();
            if is_ipv4(&self.buffer[..length]) {
                self.passage.handle_packet(now, end, &self.buffer[..length]);
                self.deliver(now);
            }
        }
        Ok(())
    }

    /// Handles every event that is due by now, each at its own time. Returns the time.
    fn catch_up(&mut self) -> Instant {
        loop {
            let now = self.clock.now();
            match self.passage.poll_timeout() {
                Some(due) if due <= now => {
                    self.passage.handle_timeout(due);
                    self.deliver(due);
                }
                _ => return now,
            }
        }
    }

    fn deliver(&mut self, planned: Instant) {
        while let Some((end, packet)) = self.passage.poll_delivery() {
            // A device that its owner has taken down refuses packets; one that is damaged is refused too.
            self.refused += u64::from(self.tuns[end].send(&packet.bytes).is_err());
            self.lateness.record(planned, self.clock.now());
        }
    }

    /// Sleeps until [`SPIN`] before `time`, then polls the clock. Returns whether `wake` is readable.
    fn wait(&self, wake: &impl AsFd, time: Instant) -> io::Result<bool> {
        let open = self.tuns.iter().enumerate().filter(|(end, _)| self.passage.accepts(*end));
        let devices = open.map(|(_, tun)| tun.as_fd());
        let mut descriptors: Vec<PollFd<'_>> = std::iter::once(wake.as_fd())
            .chain(devices)
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        loop {
            let left = time.saturating_since(self.clock.now());
            if left == Duration::ZERO {
                return Ok(false);
            }
            let sleep = left.saturating_sub(SPIN).as_nanos().min(LONGEST_SLEEP.as_nanos());
            match ppoll(&mut descriptors, Some(TimeSpec::from(std::time::Duration::from_nanos(sleep))), None)
            {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(descriptors[0].any().unwrap_or(false)),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether these are the bytes of an IPv4 packet: a device also sees the kernel's own IPv6 multicast, which no link here
/// carries.
fn is_ipv4(packet: &[u8]) -> bool {
    packet.first().is_some_and(|byte| byte >> 4 == 4)
}

/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: usize = 65_535;
/// Packets read from one device before the other is served.
const BATCH: usize = 64;
/// How long before its end a wait changes from sleeping to polling the clock; see `driver.rs`.
const SPIN: Duration = Duration::from_micros(100);
/// The longest single sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);
