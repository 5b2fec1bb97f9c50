//! The loop: wait for the clock or for a packet, whichever is first, and let the network react.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant};

use crate::clock::Clock;
use crate::lateness::Releases;
use crate::tun::Tun;

/// What lies between the hosts. Hosts are numbered in the order of their devices.
///
/// Order of calls: `handle_packet` and `handle_timeout` with a time that never runs back, then
/// `poll_delivery` until there is nothing, then `poll_timeout`.
pub(crate) trait Network {
    /// A host sent a packet.
    fn handle_packet(&mut self, now: Instant, host: usize, packet: &[u8]);
    /// A time that `poll_timeout` gave has come.
    fn handle_timeout(&mut self, now: Instant);
    /// The next packet that reaches a host now.
    fn poll_delivery(&mut self) -> Option<(usize, Vec<u8>)>;
    /// When something happens next.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// Sees every packet at the hosts' boundaries.
pub(crate) trait Tap {
    /// The host's kernel sent it.
    fn sent(&mut self, now: Instant, host: usize, packet: &[u8]);
    /// The host's kernel got it.
    fn received(&mut self, now: Instant, host: usize, packet: &[u8]);
}

/// Drives a network between devices.
pub(crate) struct Driver<'a, N, T> {
    pub(crate) network: N,
    pub(crate) tap: T,
    pub(crate) releases: Releases,
    clock: Clock,
    tuns: Vec<&'a Tun>,
    buffer: Vec<u8>,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    ByDevice,
    ByBell,
    ByClock,
}

impl<'a, N: Network, T: Tap> Driver<'a, N, T> {
    /// A driver that has not begun.
    pub(crate) fn new(network: N, tap: T, clock: Clock, tuns: Vec<&'a Tun>) -> Self {
        Self { network, tap, releases: Releases::new(), clock, tuns, buffer: vec![0; LARGEST_PACKET] }
    }

    /// Drives until `end`, or until the bell rings.
    pub(crate) fn run(&mut self, bell: impl AsFd, end: Instant) -> io::Result<()> {
        loop {
            self.react()?;
            if self.clock.now() >= end {
                return Ok(());
            }
            let next = self.network.poll_timeout().unwrap_or(Instant::NEVER).min(end);
            if self.wait(&bell, next)? == Woken::ByBell {
                return Ok(());
            }
        }
    }

    /// Drives until nothing is under way any more, in the network or from the hosts, or until `end`.
    pub(crate) fn drain(&mut self, bell: impl AsFd, end: Instant) -> io::Result<()> {
        loop {
            self.react()?;
            let quiet = self.clock.now() + QUIET;
            let next = self.network.poll_timeout().unwrap_or(quiet).min(end);
            let woken = self.wait(&bell, next)?;
            let idle = self.network.poll_timeout().is_none() && woken == Woken::ByClock;
            if idle || self.clock.now() >= end {
                return Ok(());
            }
        }
    }

    /// Takes in what the hosts sent, and does what is due.
    fn react(&mut self) -> io::Result<()> {
        self.catch_up()?;
        for host in 0..self.tuns.len() {
            self.take_in(host)?;
        }
        Ok(())
    }

    /// Takes a batch of packets from a device, each at the time when it is read.
    fn take_in(&mut self, host: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            let Some(length) = self.tuns[host].receive(&mut self.buffer)? else { break };
            let now = self.catch_up()?;
            let packet = &self.buffer[..length];
            self.tap.sent(now, host, packet);
            self.network.handle_packet(now, host, packet);
            self.release(now)?;
        }
        Ok(())
    }

    /// Lets everything happen that was due by now, each at its own time; returns the time.
    fn catch_up(&mut self) -> io::Result<Instant> {
        loop {
            let now = self.clock.now();
            match self.network.poll_timeout() {
                Some(due) if due <= now => {
                    self.network.handle_timeout(due);
                    self.release(due)?;
                }
                _ => return Ok(now),
            }
        }
    }

    /// Hands the hosts the packets that reach them at `planned`.
    fn release(&mut self, planned: Instant) -> io::Result<()> {
        while let Some((host, packet)) = self.network.poll_delivery() {
            self.tuns[host].send(&packet)?;
            let actual = self.clock.now();
            self.releases.record(planned, actual);
            self.tap.received(actual, host, &packet);
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
                return Ok(Woken::ByClock);
            }
            let sleep = left.saturating_sub(SPIN);
            if let Some(woken) = sleep_on(&mut entries, sleep)? {
                return Ok(woken);
            }
        }
    }

    fn entries<'b>(&'b self, bell: &'b impl AsFd) -> Vec<PollFd<'b>> {
        let devices = self.tuns.iter().map(|tun| tun.as_fd());
        std::iter::once(bell.as_fd()).chain(devices).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect()
    }
}

/// Waits for a descriptor, no longer than `length`; the first descriptor is the bell.
fn sleep_on(entries: &mut [PollFd<'_>], length: Duration) -> io::Result<Option<Woken>> {
    let length =
        TimeSpec::from(std::time::Duration::from_nanos(length.as_nanos().min(LONGEST_SLEEP.as_nanos())));
    match ppoll(entries, Some(length), None) {
        Ok(0) | Err(Errno::EINTR) => Ok(None),
        Ok(_) if entries[0].any().unwrap_or(false) => Ok(Some(Woken::ByBell)),
        Ok(_) => Ok(Some(Woken::ByDevice)),
        Err(error) => Err(error.into()),
    }
}

/// Largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: usize = 65_535;
/// Packets read from one device before the other has its turn.
const BATCH: usize = 64;
/// How long before its time a wait turns from sleeping to watching. Sleepers with a timer slack of
/// 1 ns are woken 20 to 80 µs late on the machines that we measured (benches/lateness.rs).
const SPIN: Duration = Duration::from_micros(100);
/// The longest sleep that is asked of the kernel at once.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);
/// Hosts that send nothing for so long, with nothing under way between them, are done: delayed
/// acknowledgments come within 40 ms on Linux (TCP_DELACK_MIN).
const QUIET: Duration = Duration::from_millis(50);
