//! Ports of the ends that connect.

use std::sync::atomic::{AtomicU16, Ordering};

/// Gives each connection of a run a port of its own, as long as there are any: who asks a capture for a connection finds
/// that one alone.
#[derive(Debug)]
pub struct ClientPorts(AtomicU16);

impl ClientPorts {
    /// The ports behind those of the flows.
    #[must_use]
    pub fn behind(flows: usize) -> Self {
        let taken = u16::try_from(flows).unwrap_or(u16::MAX).min(LAST - FIRST);
        Self(AtomicU16::new(taken))
    }

    /// The port of a flow's connection, by the places of both, where two processes are to know it without a word between
    /// them. Behind the last comes the first again.
    #[must_use]
    pub fn agreed(flows: usize, flow: usize, connection: u32) -> u16 {
        let place = flows as u64 * (u64::from(connection) + 1) + flow as u64;
        FIRST + (place % u64::from(LAST - FIRST + 1)) as u16
    }

    /// The next port. Behind the last comes the first again.
    #[must_use]
    pub fn take(&self) -> u16 {
        FIRST + self.0.fetch_add(1, Ordering::Relaxed) % (LAST - FIRST + 1)
    }
}

impl Default for ClientPorts {
    fn default() -> Self {
        Self::behind(0)
    }
}

/// The first port of senders, and the last before those that kernels choose (ip_local_port_range).
const FIRST: u16 = crate::flows::FIRST_SENDER_PORT;
const LAST: u16 = 32_767;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_flows_come_first_and_the_last_is_followed_by_the_first() {
        assert_eq!(ClientPorts::behind(3).take(), 20_004);
        let last = ClientPorts::behind(usize::MAX);
        assert_eq!([last.take(), last.take()], [LAST, FIRST]);
        // Behind the ports of three flows come those of their first connections.
        assert_eq!([0, 1, 2].map(|flow| ClientPorts::agreed(3, flow, 0)), [20_004, 20_005, 20_006]);
        assert_eq!(ClientPorts::agreed(3, 0, 1), 20_007);
        assert!(ClientPorts::agreed(3, 2, u32::MAX) <= LAST);
    }
}
