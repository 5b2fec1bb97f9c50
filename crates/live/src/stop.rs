//! Ending what waits inside a socket: the run's end reaches every thread of every host.

use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use units::Instant;

use crate::clock::Clock;

/// Shared by the run and the threads in its hosts. Sockets are put in its care before they block;
/// at the end each is shut down, which wakes whoever waits in it.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    sockets: Vec<TcpStream>,
}

impl Stop {
    /// Ends all waiting, now and later.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for socket in state.sockets.drain(..) {
            // A socket that is not connected any more needs no waking.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    /// Whether the run is over.
    pub(crate) fn stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Takes a socket into care. A listener's is a stream too: shutting it down ends `accept`.
    pub(crate) fn watch(&self, socket: TcpStream) {
        let mut state = self.lock();
        if state.stopped {
            let _ = socket.shutdown(Shutdown::Both);
        } else {
            state.sockets.push(socket);
        }
    }

    /// Waits for a time of the run; returns whether it came before the run was over.
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

    /// Waits a while; returns whether it passed before the run was over.
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
    fn stopping_wakes_who_waits_for_a_connection() {
        let stop = Arc::new(Stop::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        stop.watch(TcpStream::from(OwnedFd::from(listener.try_clone().unwrap())));
        let waiting = thread::spawn(move || listener.accept().is_err());
        stop.stop();
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn stopping_wakes_who_waits_for_a_time() {
        let stop = Arc::new(Stop::default());
        let same = Arc::clone(&stop);
        let waiting = thread::spawn(move || same.wait_until(Clock::start(), Instant::NEVER));
        stop.stop();
        assert!(!waiting.join().unwrap());
        assert!(!stop.wait_until(Clock::start(), Instant::START));
    }
}
