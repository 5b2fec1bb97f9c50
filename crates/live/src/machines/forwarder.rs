//! A thread that forwards a host's packets between its device and its tunnel.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wire::offload::Coalesced;

use super::device_capture::DeviceCapture;
use super::tunnel::{Counts, Tunnel};
use crate::scheduling::Priority;
use crate::tun::{Buffers, Tun};

/// The thread, until it is told to end.
#[derive(Debug)]
pub(crate) struct Forwarder {
    shared: Arc<Shared>,
    thread: JoinHandle<io::Result<Forwarded>>,
}

/// What both threads know.
#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    /// By how many nanoseconds the emulator's clock is ahead of this machine's.
    ahead: AtomicI64,
    /// For how many nanoseconds nothing of the emulator has come.
    silent: AtomicU64,
}

/// What was forwarded.
#[derive(Debug)]
pub(crate) struct Forwarded {
    pub(crate) counts: Counts,
    /// The capture at the device, if it was wanted.
    pub(crate) capture: Option<DeviceCapture>,
}

impl Forwarder {
    /// Starts the thread.
    pub(crate) fn start(tun: Tun, tunnel: Tunnel, capture: Option<DeviceCapture>) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let same = Arc::clone(&shared);
        let thread = Builder::new()
            .name("tunnel".to_owned())
            .spawn(move || Forwarding { tun, tunnel, capture, buffers: Buffers::new() }.run(&same))?;
        Ok(Self { shared, thread })
    }

    /// Says by how much the emulator's clock is ahead.
    pub(crate) fn set_ahead(&self, ahead: i64) {
        self.shared.ahead.store(ahead, Ordering::Relaxed);
    }

    /// Returns for how many nanoseconds nothing of the emulator has come.
    pub(crate) fn silent_for(&self) -> u64 {
        self.shared.silent.load(Ordering::Relaxed)
    }

    /// Returns whether the thread has ended though nobody told it to.
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
    buffers: Buffers,
}

impl Forwarding {
    fn run(mut self, shared: &Shared) -> io::Result<Forwarded> {
        let _priority = Priority::raise();
        while !shared.ended.load(Ordering::Relaxed) {
            self.tunnel.set_ahead(shared.ahead.load(Ordering::Relaxed));
            self.wait()?;
            self.up()?;
            self.down()?;
            shared.silent.store(self.tunnel.silent_for().as_nanos(), Ordering::Relaxed);
        }
        // What is still in the device was sent too late to matter to anybody.
        Ok(Forwarded { counts: self.tunnel.counts(), capture: self.capture })
    }

    fn wait(&self) -> io::Result<()> {
        let mut descriptors =
            [self.tun.as_fd(), self.tunnel.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut descriptors, PollTimeout::from(LONGEST_WAIT_MS)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
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

/// Packets in one direction before the other is looked at.
const BATCH: usize = 64;
/// After this the thread looks whether it is to end.
const LONGEST_WAIT_MS: u8 = 20;
