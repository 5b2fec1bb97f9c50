//! A channel whose receiver can be polled together with devices: one `ppoll` waits for packets and for reports of other
//! threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// The sending end. Each thread has a clone.
#[derive(Debug)]
pub struct ReportSender<T> {
    sender: Sender<T>,
    event: Arc<EventFd>,
}

/// The receiving end. Its descriptor is readable while a report may be waiting.
#[derive(Debug)]
pub struct ReportReceiver<T> {
    receiver: Receiver<T>,
    event: Arc<EventFd>,
}

/// Makes both ends of a channel.
///
/// # Errors
/// If the kernel refuses an eventfd(2).
pub fn report_channel<T>() -> io::Result<(ReportSender<T>, ReportReceiver<T>)> {
    let event = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
    let (sender, receiver) = channel();
    Ok((ReportSender { sender, event: Arc::clone(&event) }, ReportReceiver { receiver, event }))
}

impl<T> ReportSender<T> {
    /// Sends a report and wakes the receiver. It is no error if the receiver no longer exists: the run is over.
    pub fn send(&self, report: T) {
        let _ = self.sender.send(report);
        let _ = self.event.write(1);
    }
}

impl<T> Clone for ReportSender<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), event: Arc::clone(&self.event) }
    }
}

impl<T> ReportReceiver<T> {
    /// Returns the next report if there is one, and makes the descriptor unreadable until the next `send`.
    #[must_use]
    pub fn try_recv(&self) -> Option<T> {
        // The event is cleared first: a report that is sent in between sets it again.
        let _ = self.event.read();
        self.receiver.try_recv().ok()
    }
}

impl<T> AsFd for ReportReceiver<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    #[test]
    fn a_report_makes_the_receiver_readable_until_it_is_received() {
        let (sender, receiver) = report_channel().unwrap();
        let is_readable = || {
            let mut descriptors = [PollFd::new(receiver.as_fd(), PollFlags::POLLIN)];
            poll(&mut descriptors, PollTimeout::ZERO).unwrap() > 0
        };
        assert!(!is_readable());
        sender.clone().send(7);
        assert!(is_readable());
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Some(7), None));
        assert!(!is_readable());
    }
}
