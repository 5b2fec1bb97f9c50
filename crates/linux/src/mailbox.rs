//! A queue between two threads, of which the reader waits for descriptors.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// A queue. Once it is watched, its descriptor is readable while it is not empty.
#[derive(Debug)]
pub struct Mailbox<T> {
    waiting: Mutex<VecDeque<T>>,
    event: OnceLock<EventFd>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), event: OnceLock::new() }
    }
}

impl<T> Mailbox<T> {
    /// Appends an item.
    pub fn put(&self, item: T) {
        let mut waiting = self.lock();
        waiting.push_back(item);
        self.event.get().into_iter().for_each(wake);
    }

    /// Takes out all items.
    pub fn take(&self) -> VecDeque<T> {
        let mut waiting = self.lock();
        if let Some(event) = self.event.get().filter(|_| !waiting.is_empty()) {
            let _ = event.read();
        }
        std::mem::take(&mut waiting)
    }

    /// Returns the descriptor; the first call makes it.
    ///
    /// # Errors
    /// If the kernel refuses an eventfd(2).
    pub fn watch(&self) -> io::Result<BorrowedFd<'_>> {
        let waiting = self.lock();
        if self.event.get().is_none() {
            let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
            if !waiting.is_empty() {
                wake(&event);
            }
            // Only this function sets it, and the lock is held.
            let _ = self.event.set(event);
        }
        drop(waiting);
        self.event
            .get()
            .map(AsFd::as_fd)
            .ok_or_else(|| io::Error::other("an event that was just made is gone"))
    }

    /// Returns the descriptor, if the queue is watched.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.event.get().map(AsFd::as_fd)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the descriptor readable. It is no error if it is so already.
fn wake(event: &EventFd) {
    let _ = event.write(1);
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn is_readable(mailbox: &Mailbox<u8>) -> bool {
        let descriptor = mailbox.watch().unwrap();
        poll(&mut [PollFd::new(descriptor, PollFlags::POLLIN)], PollTimeout::ZERO).unwrap() > 0
    }

    #[test]
    fn the_descriptor_is_readable_while_the_queue_is_not_empty() {
        let mailbox = Mailbox::default();
        mailbox.put(1);
        assert!(is_readable(&mailbox));
        mailbox.put(2);
        assert_eq!(mailbox.take(), [1, 2]);
        assert!(!is_readable(&mailbox));
        assert!(mailbox.take().is_empty());
        mailbox.put(3);
        assert!(is_readable(&mailbox));
    }
}
