//! Events of links and endpoints that programs handle after the call.

use workload::{SocketEvent, SocketId};

use crate::ids::FlowId;

/// Something left to do after a call of a component.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pending {
    /// A flow's program has an event to handle.
    Event(FlowId, SocketId, SocketEvent),
    /// A flow may have nothing more to do.
    Conclusion(FlowId),
}
