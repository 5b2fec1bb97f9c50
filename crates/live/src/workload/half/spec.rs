//! What a half is of, and what it opens before the run.

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;

use sim::workload::{Side, Transport};

use crate::LiveError;
use crate::workload::WorkloadSpec;
use crate::workload::sockets::{FlowEnd, SocketHost};

use super::OpenHalf;

/// The half of a flow's program at one side.
#[derive(Clone, Debug)]
pub(crate) struct HalfSpec {
    pub(crate) workload: WorkloadSpec,
    /// The flow's place among those that run, and how many there are.
    pub(crate) index: usize,
    pub(crate) flows: usize,
    /// The side that is here.
    pub(crate) side: Side,
}

impl HalfSpec {
    /// The node of a side.
    pub(crate) const fn node(&self, side: Side) -> usize {
        match side {
            Side::From => self.workload.flow.from,
            Side::To => self.workload.flow.to,
        }
    }

    /// Whether its side has a listener.
    pub(crate) fn listens(&self) -> bool {
        self.transport() == Transport::Tcp
    }

    /// Opens what must be open before the other half begins: the listener, or the socket for datagrams.
    pub(crate) fn open(&self) -> Result<OpenHalf, LiveError> {
        let end = FlowEnd {
            name: self.workload.flow.name.clone(),
            index: self.index,
            side: self.side,
            transport: self.transport(),
            ends: self.workload.ends,
            options: self.workload.options[self.side as usize].clone(),
            ports: Arc::clone(&self.workload.ports),
        };
        let sockets = SocketHost::open(end)?;
        Ok(OpenHalf::new(self.clone(), sockets))
    }

    fn transport(&self) -> Transport {
        self.workload.flow.program(self.workload.seed).1.transport
    }

    /// A side's end of the datagrams.
    pub(super) const fn end(&self, side: Side) -> SocketAddrV4 {
        self.workload.ends[side as usize]
    }

    /// Where a side listens.
    pub(super) const fn listening(&self, side: Side) -> SocketAddrV4 {
        SocketAddrV4::new(*self.end(side).ip(), self.workload.ends[1].port())
    }

    pub(super) fn failed(&self, step: &'static str, error: impl Into<io::Error>) -> LiveError {
        self.workload.failed(step, error)
    }
}
