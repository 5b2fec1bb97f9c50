//! Ports of the ends that connect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use units::FlowId;

use crate::program::SocketId;

/// The choice of a port for an end that connects. A capture that is searched for a connection finds one only, because
/// each connection of a run has a port of its own, as long as there are enough.
#[derive(Clone, Debug)]
pub enum PortChoice {
    /// The next port of all connections of this process.
    Next(Arc<ClientPorts>),
    /// A port that follows from the flow and the connection: two processes know it without a message. `flows` is the
    /// number of flows of the run.
    Agreed {
        /// The number of flows.
        flows: usize,
    },
}

impl PortChoice {
    /// The port of a connection.
    #[must_use]
    pub fn port(&self, flow: FlowId, socket: SocketId) -> u16 {
        match self {
            Self::Next(ports) => ports.take(),
            Self::Agreed { flows } => agreed(*flows, flow, socket),
        }
    }
}

/// Gives each connection of a process a port of its own.
#[derive(Debug)]
pub struct ClientPorts(AtomicU16);

impl ClientPorts {
    /// The ports after those of the flows.
    #[must_use]
    pub fn after(flows: usize) -> Self {
        let taken = u16::try_from(flows).unwrap_or(u16::MAX).min(LAST_CLIENT_PORT - FIRST_CLIENT_PORT);
        Self(AtomicU16::new(taken))
    }

    /// The next port. After the last comes the first again.
    #[must_use]
    pub fn take(&self) -> u16 {
        FIRST_CLIENT_PORT
            + self.0.fetch_add(1, Ordering::Relaxed) % (LAST_CLIENT_PORT - FIRST_CLIENT_PORT + 1)
    }
}

/// The port of a flow's connection that follows from both. After the last comes the first again.
fn agreed(flows: usize, flow: FlowId, connection: SocketId) -> u16 {
    let place = flows as u64 * (u64::from(connection.0) + 1) + flow.index() as u64;
    FIRST_CLIENT_PORT + (place % u64::from(LAST_CLIENT_PORT - FIRST_CLIENT_PORT + 1)) as u16
}

impl Default for ClientPorts {
    fn default() -> Self {
        Self::after(0)
    }
}

/// The first port of ends that connect; each flow takes the next. Kernels choose ports from 32768 on
/// (ip_local_port_range), so a user's program does not collide with these.
pub const FIRST_CLIENT_PORT: u16 = 20_001;
/// The last of them.
pub const LAST_CLIENT_PORT: u16 = 32_767;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_flows_come_first_and_the_last_is_followed_by_the_first() {
        assert_eq!(ClientPorts::after(3).take(), 20_004);
        let last = ClientPorts::after(usize::MAX);
        assert_eq!([last.take(), last.take()], [LAST_CLIENT_PORT, FIRST_CLIENT_PORT]);
    }

    #[test]
    fn agreed_ports_come_after_those_of_the_flows_and_differ() {
        let port = |flow, socket| PortChoice::Agreed { flows: 3 }.port(FlowId::new(flow), SocketId(socket));
        assert_eq!([0, 1, 2].map(|flow| port(flow, 0)), [20_004, 20_005, 20_006]);
        assert_eq!(port(0, 1), 20_007);
        assert!(port(2, u32::MAX) <= LAST_CLIENT_PORT);
    }
}
