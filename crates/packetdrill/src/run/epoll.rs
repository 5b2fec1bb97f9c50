//! `epoll`: a descriptor that watches others.

use std::collections::BTreeMap;

use units::Bytes;

/// The descriptors that an epoll instance watches.
#[derive(Clone, Debug, Default)]
pub(super) struct EpollInstance {
    pub(super) watched: BTreeMap<i64, Watch>,
}

/// What an epoll instance has noticed of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noticed {
    pub(super) received: Bytes,
    pub(super) completed: usize,
    pub(super) ends: bool,
    pub(super) connected: bool,
}

/// The watch on one descriptor.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// The events that are asked for, as `poll` names them.
    pub(super) events: Vec<String>,
    /// A report is due only after something has happened (`EPOLLET`).
    pub(super) edge: bool,
    /// One report switches the watch off (`EPOLLONESHOT`).
    pub(super) oneshot: bool,
    /// Something has happened since the last report.
    pub(super) woken: bool,
}
