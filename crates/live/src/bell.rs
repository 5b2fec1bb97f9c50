//! How the hosts' threads tell the driver, which sleeps on its devices, that something ended.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// The end that rings: one for every thread.
#[derive(Debug)]
pub(crate) struct Ringer<T> {
    reports: Sender<T>,
    bell: Arc<EventFd>,
}

/// The end that listens.
#[derive(Debug)]
pub(crate) struct Reports<T> {
    reports: Receiver<T>,
    bell: Arc<EventFd>,
}

/// A bell, both ends.
pub(crate) fn bell<T>() -> io::Result<(Ringer<T>, Reports<T>)> {
    let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
    let (sender, receiver) = channel();
    Ok((Ringer { reports: sender, bell: Arc::clone(&bell) }, Reports { reports: receiver, bell }))
}

impl<T> Ringer<T> {
    /// Leaves a report and rings. Nobody may be listening any more, and that is no trouble.
    pub(crate) fn ring(&self, report: T) {
        let _ = self.reports.send(report);
        let _ = self.bell.write(1);
    }
}

impl<T> Clone for Ringer<T> {
    fn clone(&self) -> Self {
        Self { reports: self.reports.clone(), bell: Arc::clone(&self.bell) }
    }
}

impl<T> Reports<T> {
    /// The next report, if one is there; the bell is silent afterwards until it rings again.
    pub(crate) fn next(&self) -> Option<T> {
        // Read first: a report that comes in between rings anew.
        let _ = self.bell.read();
        self.reports.try_recv().ok()
    }
}

impl<T> AsFd for Reports<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
