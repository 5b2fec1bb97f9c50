//! Whether servers are up: how many sockets of a namespace listen.

use std::fs;
use std::time::Duration;

use crate::stop::Stop;

/// Returns how many TCP sockets listen in this thread's namespace.
pub(crate) fn listeners() -> usize {
    const LISTEN: &str = "0A";
    let tables = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
    let lines = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
    let listens = |line: &&str| line.split_whitespace().nth(3) == Some(LISTEN);
    lines.iter().map(|table| table.lines().filter(listens).count()).sum()
}

/// Waits until more than `before` sockets listen, until `is_over`, until the run is stopped, or for [`LONGEST_START`].
pub(crate) fn wait_for_listener(before: usize, stop: &Stop, mut is_over: impl FnMut() -> bool) {
    for _ in 0..LONGEST_START.as_millis() / INTERVAL.as_millis() {
        if listeners() > before || is_over() || !stop.wait_for(INTERVAL) {
            return;
        }
    }
}

/// How long a server may take until it listens.
const LONGEST_START: Duration = Duration::from_secs(3);
const INTERVAL: Duration = Duration::from_millis(20);
