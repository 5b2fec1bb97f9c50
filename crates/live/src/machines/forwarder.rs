//! A thread that forwards a host's packets between its device and its tunnel.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use linux::scheduling::{Priority, Rank};
use linux::tun::{Buffers, Tun};
use nix::poll::{PollFd, PollFlags};
use stacks::{Corrupted, TransferReport};
use units::{Duration, Instant};
use wire::offload::Coalesced;

use super::device_capture::DeviceCapture;
use super::tunnel::{Counts, Tunnel};
use crate::clock::Clock;
use crate::drive::waiting::Waiting;
use crate::workload::{ProgramReport, StackReplicas};

/// The thread, until it is ended.
#[derive(Debug)]
pub(crate) struct Forwarder {
    shared: Arc<Shared>,
    thread: JoinHandle<io::Result<Forwarded>>,
}

/// The state that the thread shares with its owner.
#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    /// The offset of the emulator's clock: that clock less this machine's, in nanoseconds.
    ahead: AtomicI64,
    /// Nanoseconds since the last datagram of the emulator.
    silent: AtomicU64,
    /// For a stack: the beginning of the run, in nanoseconds of this machine's clock; whether its flows are over; the
    /// first wrong byte that it has read.
    begins: AtomicU64,
    stack_is_done: AtomicBool,
    corrupted: OnceLock<Corrupted>,
    /// Number of such threads in this process, which share the budget of the real-time class.
    threads: u64,
}

/// The results of a forwarder.
#[derive(Debug)]
pub(crate) struct Forwarded {
    pub(crate) counts: Counts,
    /// The capture at the device, if it was wanted.
    pub(crate) capture: Option<DeviceCapture>,
    /// The report of the stack, if the host has one in this process.
    pub(crate) stack: Option<Vec<TransferReport>>,
    /// The reports of the copies of programs over it, by the run's time.
    pub(crate) programs: Vec<ProgramReport>,
}

impl Forwarder {
    /// Starts the thread, one of several of this process. `clock` is this machine's.
    pub(crate) fn start(
        tun: Tun,
        tunnel: Tunnel,
        capture: Option<DeviceCapture>,
        (clock, threads): (Clock, u64),
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { threads, ..Shared::default() });
        let same = Arc::clone(&shared);
        let run = move || Forwarding { tun, tunnel, capture, clock, buffers: Buffers::default() }.run(&same);
        let thread = Builder::new().name("tunnel".to_owned()).spawn(run)?;
        Ok(Self { shared, thread })
    }

    /// Starts the thread of a host with a stack in this process, and of the copies of programs there. Without a stack,
    /// packets to the host vanish. `clock` is this machine's.
    pub(crate) fn start_stack(
        stack: Option<(stacks::Host, StackReplicas)>,
        tunnel: Tunnel,
        capture: Option<DeviceCapture>,
        (clock, threads): (Clock, u64),
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { threads, ..Shared::default() });
        let same = Arc::clone(&shared);
        let run = move || {
            StackForwarding { stack, tunnel, capture, clock, buffer: vec![0; LARGEST_PACKET] }.run(&same)
        };
        let thread = Builder::new().name("tunnel".to_owned()).spawn(run)?;
        Ok(Self { shared, thread })
    }

    /// Sets the beginning of the run, by this machine's clock.
    pub(crate) fn set_begin(&self, at: Instant) {
        self.shared.begins.store(at.as_nanos().max(1), Ordering::Release);
    }

    /// Returns whether the flows of the stack are over.
    pub(crate) fn stack_is_done(&self) -> bool {
        self.shared.stack_is_done.load(Ordering::Acquire)
    }

    /// Returns the first wrong byte that the stack has read.
    pub(crate) fn corrupted(&self) -> Option<Corrupted> {
        self.shared.corrupted.get().copied()
    }

    /// Sets the offset of the emulator's clock.
    pub(crate) fn set_ahead(&self, ahead: i64) {
        self.shared.ahead.store(ahead, Ordering::Relaxed);
    }

    /// Returns the nanoseconds since the last datagram of the emulator.
    pub(crate) fn silent_for(&self) -> u64 {
        self.shared.silent.load(Ordering::Relaxed)
    }

    /// Returns whether the thread has ended without being stopped, which is a failure.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the thread.
    pub(crate) fn end(self) -> io::Result<Forwarded> {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
    }
}

struct Forwarding {
    tun: Tun,
    tunnel: Tunnel,
    capture: Option<DeviceCapture>,
    clock: Clock,
    buffers: Buffers,
}

impl Forwarding {
    fn run(mut self, shared: &Shared) -> io::Result<Forwarded> {
        let _priority = Priority::raise(Rank::Driver);
        let mut waiting = Waiting::new(self.clock, shared.threads);
        while !shared.ended.load(Ordering::Relaxed) {
            self.tunnel.set_ahead(shared.ahead.load(Ordering::Relaxed));
            self.wait(&mut waiting)?;
            self.up()?;
            self.down()?;
            shared.silent.store(self.tunnel.silent_for().as_nanos(), Ordering::Relaxed);
        }
        // Packets that are still in the device were sent after the end of the run.
        Ok(Forwarded {
            counts: self.tunnel.counts(),
            capture: self.capture,
            stack: None,
            programs: Vec::new(),
        })
    }

    fn wait(&self, waiting: &mut Waiting) -> io::Result<()> {
        let mut descriptors =
            [self.tun.as_fd(), self.tunnel.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        waiting.wait(&mut descriptors, latest(self.clock)).map(drop)
    }

    fn up(&mut self) -> io::Result<()> {
        for _ in 0..BATCH {
            let Some(packets) = self.tun.receive(&mut self.buffers)? else { return Ok(()) };
            for packet in packets {
                let packet = packet.to_bytes();
                self.tunnel.send(&packet);
                if let Some(capture) = &mut self.capture {
                    capture.sent(&packet);
                }
            }
        }
        Ok(())
    }

    fn down(&mut self) -> io::Result<()> {
        for _ in 0..BATCH {
            let buffer = self.buffers.room();
            let Some(length) = self.tunnel.receive(buffer)? else { return Ok(()) };
            let packet = &buffer[..length];
            if let Some(capture) = &mut self.capture {
                capture.received(packet);
            }
            self.tun.send(Coalesced::new(&packet.to_vec().into()))?;
        }
        Ok(())
    }
}

/// The thread of a host with a stack in this process.
struct StackForwarding {
    stack: Option<(stacks::Host, StackReplicas)>,
    tunnel: Tunnel,
    capture: Option<DeviceCapture>,
    clock: Clock,
    buffer: Vec<u8>,
}

impl StackForwarding {
    fn run(mut self, shared: &Shared) -> io::Result<Forwarded> {
        let _priority = Priority::raise(Rank::Driver);
        let mut waiting = Waiting::new(self.clock, shared.threads);
        while !shared.ended.load(Ordering::Relaxed) {
            self.tunnel.set_ahead(shared.ahead.load(Ordering::Relaxed));
            let begin = Some(shared.begins.load(Ordering::Acquire)).filter(|begin| *begin > 0);
            self.wait(&mut waiting, begin)?;
            match begin.filter(|begin| self.clock.now() >= Instant::from_nanos(*begin)) {
                Some(begin) => self.drive(begin, shared)?,
                // Before the run, only pings arrive, which this call answers.
                None => while self.tunnel.receive(&mut self.buffer)?.is_some() {},
            }
            shared.silent.store(self.tunnel.silent_for().as_nanos(), Ordering::Relaxed);
        }
        let counts = self.tunnel.counts();
        let begin = shared.begins.load(Ordering::Acquire);
        let now = self.run_time(begin);
        let Some((mut stack, replicas)) = self.stack else {
            return Ok(Forwarded { counts, capture: self.capture, stack: None, programs: Vec::new() });
        };
        let programs = replicas.finish(now, &mut stack);
        Ok(Forwarded { counts, capture: self.capture, stack: Some(stack.report()), programs })
    }

    /// Waits for the tunnel, for the beginning of the run, and then for the next event of the stack.
    fn wait(&mut self, waiting: &mut Waiting, begin: Option<u64>) -> io::Result<()> {
        let now = self.clock.now();
        let begin = Instant::from_nanos(begin.unwrap_or(u64::MAX));
        let mut next = begin;
        if now >= begin {
            let run = self.run_time(begin.as_nanos());
            let due = self.stack.as_mut().and_then(|(stack, replicas)| {
                stack.poll_timeout(run).into_iter().chain(replicas.poll_timeout()).min()
            });
            next = due.map_or(Instant::NEVER, |due| begin + due.saturating_since(Instant::START));
        }
        let latest = latest(self.clock);
        let mut descriptors = vec![PollFd::new(self.tunnel.as_fd(), PollFlags::POLLIN)];
        // Messages that arrive before the run wait until it begins.
        let replicas = self.stack.iter().filter(|_| now >= begin).map(|(_, replicas)| replicas);
        descriptors.extend(replicas.flat_map(StackReplicas::descriptors));
        waiting.wait(&mut descriptors, next.min(latest)).map(drop)
    }

    /// The time of the run.
    fn run_time(&self, begin: u64) -> Instant {
        Instant::from_nanos(self.clock.now().as_nanos().saturating_sub(begin))
    }

    /// Advances the stack; it answers each packet before the next is read.
    fn drive(&mut self, begin: u64, shared: &Shared) -> io::Result<()> {
        let now = self.run_time(begin);
        if let Some((stack, _)) = &mut self.stack
            && stack.poll_timeout(now).is_some_and(|due| due <= now)
        {
            stack.handle_timeout(now);
        }
        self.send(begin);
        self.run_programs(begin);
        for _ in 0..BATCH {
            let Some(length) = self.tunnel.receive(&mut self.buffer)? else { break };
            let packet = &self.buffer[..length];
            if let Some(capture) = &mut self.capture {
                capture.received(packet);
            }
            let now = self.run_time(begin);
            if let Some((stack, _)) = &mut self.stack {
                stack.handle_packet(now, packet);
            }
            self.send(begin);
            self.run_programs(begin);
        }
        let Some((stack, replicas)) = &self.stack else { return Ok(()) };
        if let Some(wrong) = stack.failure() {
            let _ = shared.corrupted.set(wrong);
        }
        shared.stack_is_done.store(stack.is_done() && replicas.is_done(), Ordering::Release);
        Ok(())
    }

    /// Lets the copies of programs act, then lets the stack send its packets.
    fn run_programs(&mut self, begin: u64) {
        for _ in 0..BATCH {
            let now = self.run_time(begin);
            let did = self.stack.as_mut().is_some_and(|(stack, replicas)| replicas.advance(now, stack));
            if !did {
                return;
            }
            self.send(begin);
        }
    }

    fn send(&mut self, begin: u64) {
        for _ in 0..BATCH {
            let now = self.run_time(begin);
            let packet = self.stack.as_mut().and_then(|(stack, _)| stack.poll_transmit(now));
            let Some(packet) = packet else { return };
            self.tunnel.send(&packet);
            if let Some(capture) = &mut self.capture {
                capture.sent(&packet);
            }
        }
    }
}

/// Returns the end of a wait that nothing else ends.
fn latest(clock: Clock) -> Instant {
    clock.now() + LONGEST_WAIT
}

/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: usize = 65_535;
/// Number of packets forwarded in one direction before the other is served.
const BATCH: usize = 64;
/// The longest wait, after which the thread checks whether it is to end.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
