//! The end of a run, for threads that block in sockets or wait for a time.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use nix::sys::eventfd::EventFd;
use units::Instant;

use crate::clock::Clock;

/// The stop signal that the run and the threads of its hosts share. Threads register their sockets before they block;
/// stopping shuts the sockets down, which wakes the threads.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    sockets: Vec<TcpStream>,
    events: Vec<Arc<EventFd>>,
}

impl Stop {
    /// Ends the run: every wait returns, now and later.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for socket in state.sockets.drain(..) {
            // A socket that is no longer connected blocks no thread.
            let _ = socket.shutdown(Shutdown::Both);
        }
        for event in &state.events {
            let _ = event.write(1);
        }
        self.changed.notify_all();
    }

    /// Registers an event for the end of the run, for a thread that waits for descriptors.
    pub(crate) fn wake(&self, event: Arc<EventFd>) {
        let mut state = self.lock();
        if state.stopped {
            let _ = event.write(1);
        }
        // It is kept even then, so that its descriptor remains open.
        state.events.push(event);
    }

    /// Returns whether the run is over.
    pub(crate) fn stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Registers a socket to be shut down. A listener's socket is passed as a stream too: shutting it down ends
    /// `accept`.
    pub(crate) fn watch(&self, socket: TcpStream) {
        let mut state = self.lock();
        if state.stopped {
            let _ = socket.shutdown(Shutdown::Both);
        } else {
            state.sockets.push(socket);
        }
    }

    /// Waits for a time of the run. Returns whether it was reached before the end of the run.
    pub(crate) fn wait_until(&self, clock: Clock, time: Instant) -> bool {
        let mut state = self.lock();
        while !state.stopped {
            let left = time.saturating_since(clock.now());
            if left.as_nanos() == 0 {
                return true;
            }
            let left = StdDuration::from_nanos(left.as_nanos());
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Waits for a span of time. Returns whether it passed before the end of the run.
    pub(crate) fn wait_for(&self, length: StdDuration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, length, |state| !state.stopped)
            .unwrap_or_else(PoisonError::into_inner);
        !state.stopped
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn stopping_wakes_a_thread_that_waits_for_a_connection() {
        let stop = Arc::new(Stop::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        stop.watch(TcpStream::from(OwnedFd::from(listener.try_clone().unwrap())));
        let waiting = thread::spawn(move || listener.accept().is_err());
        stop.stop();
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn stopping_wakes_a_thread_that_waits_for_a_time() {
        let stop = Arc::new(Stop::default());
        let same = Arc::clone(&stop);
        let waiting = thread::spawn(move || same.wait_until(Clock::start(), Instant::NEVER));
        stop.stop();
        assert!(!waiting.join().unwrap());
        assert!(!stop.wait_until(Clock::start(), Instant::START));
    }
}
