//! Waiting until a server listens.

use std::time::Duration;

use linux::listening::listeners;

use crate::stop::Stop;

/// Waits until more than `before` sockets of this thread's namespace listen, until `is_over`, until the run is stopped,
/// or for [`LONGEST_START`].
pub(crate) fn wait_for_listener(before: usize, stop: &Stop, mut is_over: impl FnMut() -> bool) {
    for _ in 0..LONGEST_START.as_millis() / INTERVAL.as_millis() {
        if listeners() > before || is_over() || !stop.wait_for(INTERVAL) {
            return;
        }
    }
}

/// The longest time that a server may take until it listens.
const LONGEST_START: Duration = Duration::from_secs(3);
const INTERVAL: Duration = Duration::from_millis(20);
