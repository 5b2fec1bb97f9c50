//! The loop: wait for the clock or for a packet, whichever is first, and let the network react.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant};

use crate::between::Between;
use crate::clock::Clock;
use crate::lateness::Releases;
use crate::sightings::Sightings;
use crate::tun::Tun;

/// Drives what lies between the hosts' devices. Hosts are numbered in the order of their devices.
pub(crate) struct Driver<'a> {
    pub(crate) between: Between,
    pub(crate) sightings: Sightings,
    pub(crate) releases: Releases,
    clock: Clock,
    tuns: Vec<&'a Tun>,
    buffer: Vec<u8>,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Device,
    Bell,
    Clock,
}

impl<'a> Driver<'a> {
    /// A driver that has not begun.
    pub(crate) fn new(between: Between, sightings: Sightings, clock: Clock, tuns: Vec<&'a Tun>) -> Self {
        Self { between, sightings, releases: Releases::new(), clock, tuns, buffer: vec![0; LARGEST_PACKET] }
    }

    /// Drives until `end`, until the bell rings, or until a link stops the run.
    pub(crate) fn run(&mut self, bell: impl AsFd, end: Instant) -> io::Result<()> {
        loop {
            self.react()?;
            if self.clock.now() >= end || self.between.is_over() {
                return Ok(());
            }
            let next = self.between.poll_timeout().unwrap_or(Instant::NEVER).min(end);
            if self.wait(&bell, next)? == Woken::Bell {
                return Ok(());
            }
        }
    }

    /// Drives until nothing is under way any more, between the hosts or from them, or until `end`.
    pub(crate) fn drain(&mut self, bell: impl AsFd, end: Instant) -> io::Result<()> {
        let mut quiet_since = self.clock.now();
        loop {
            let came = self.react()?;
            let now = self.clock.now();
            if came > 0 || self.between.packets_under_way() > 0 {
                quiet_since = now;
            }
            let quiet = quiet_since + QUIET;
            if now >= quiet.min(end) || self.between.is_over() {
                return Ok(());
            }
            let next = self.between.poll_timeout().unwrap_or(Instant::NEVER);
            self.wait(&bell, next.min(quiet).min(end))?;
        }
    }

    /// Takes in what the hosts sent, and does what is due. Gives how many packets came.
    fn react(&mut self) -> io::Result<usize> {
        self.catch_up()?;
        (0..self.tuns.len()).try_fold(0, |came, host| Ok(came + self.take_in(host)?))
    }

    /// Takes a batch of packets from a device, each at the time when it is read.
    fn take_in(&mut self, host: usize) -> io::Result<usize> {
        for came in 0..BATCH {
            if !self.between.accepts(host) {
                return Ok(came);
            }
            let Some(length) = self.tuns[host].receive(&mut self.buffer)? else { return Ok(came) };
            let now = self.catch_up()?;
            let packet = &self.buffer[..length];
            if let Some(id) = self.between.handle_packet(now, host, packet) {
                self.sightings.sent(now, host, id, packet);
            }
            self.release(now)?;
        }
        Ok(BATCH)
    }

    /// Lets everything happen that was due by now, each at its own time; returns the time.
    fn catch_up(&mut self) -> io::Result<Instant> {
        loop {
            let now = self.clock.now();
            match self.between.poll_timeout() {
                Some(due) if due <= now => {
                    self.between.handle_timeout(due);
                    self.release(due)?;
                }
                _ => return Ok(now),
            }
        }
    }

    /// Hands the hosts the packets that reach them at `planned`, and notes what became of others.
    fn release(&mut self, planned: Instant) -> io::Result<()> {
        while let Some((host, packet)) = self.between.poll_delivery() {
            self.tuns[host].send(&packet.bytes)?;
            let actual = self.clock.now();
            self.releases.record(planned, actual);
            self.sightings.received(actual, host, packet.id, &packet.bytes);
        }
        while let Some(event) = self.between.poll_event() {
            self.sightings.told(&event);
        }
        Ok(())
    }

    /// Sleeps until shortly before `time`, then watches the clock: a sleeper is woken tens of
    /// microseconds late, and the later the deeper the processor slept.
    fn wait(&self, bell: &impl AsFd, time: Instant) -> io::Result<Woken> {
        let mut entries = self.entries(bell);
        loop {
            let left = time.saturating_since(self.clock.now());
            if left == Duration::ZERO {
                return Ok(Woken::Clock);
            }
            let sleep = left.saturating_sub(SPIN);
            if let Some(woken) = sleep_on(&mut entries, sleep)? {
                return Ok(woken);
            }
        }
    }

    fn entries<'b>(&'b self, bell: &'b impl AsFd) -> Vec<PollFd<'b>> {
        // A host whose first link takes nothing now is left to wait: that is flow control.
        let open = self.tuns.iter().enumerate().filter(|(host, _)| self.between.accepts(*host));
        let devices = open.map(|(_, tun)| tun.as_fd());
        std::iter::once(bell.as_fd()).chain(devices).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect()
    }
}

/// Waits for a descriptor, no longer than `length`; the first descriptor is the bell.
fn sleep_on(entries: &mut [PollFd<'_>], length: Duration) -> io::Result<Option<Woken>> {
    let length =
        TimeSpec::from(std::time::Duration::from_nanos(length.as_nanos().min(LONGEST_SLEEP.as_nanos())));
    match ppoll(entries, Some(length), None) {
        Ok(0) | Err(Errno::EINTR) => Ok(None),
        Ok(_) if entries[0].any().unwrap_or(false) => Ok(Some(Woken::Bell)),
        Ok(_) => Ok(Some(Woken::Device)),
        Err(error) => Err(error.into()),
    }
}

/// Largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: usize = 65_535;
/// Packets read from one device before the other has its turn.
const BATCH: usize = 64;
/// How long before its time a wait turns from sleeping to watching. With a timer slack of 1 ns and
/// SCHED_FIFO, sleepers of 1 to 5 ms were woken 30 to 40 µs late in the median and 60 to 110 µs in
/// the 99th percentile on the virtual machine where this was written.
const SPIN: Duration = Duration::from_micros(100);
/// The longest sleep that is asked of the kernel at once.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);
/// Hosts that send nothing for so long, with nothing under way between them, are done: delayed
/// acknowledgments come within 40 ms on Linux (TCP_DELACK_MIN).
const QUIET: Duration = Duration::from_millis(50);
