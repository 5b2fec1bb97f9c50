//! The address from which an end of a connection sends, which may change.

use std::net::SocketAddrV4;

use units::{Duration, Instant};

use crate::addresses::rebound_port;
use crate::migration::Migration;

/// The address of an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalAddress {
    present: SocketAddrV4,
    rebinding: Option<Rebinding>,
    /// The change of the address, as long as it is to come.
    migration: Option<Migration>,
}

/// When the connection next continues from another port, and the next ports.
#[derive(Clone, Copy, Debug)]
struct Rebinding {
    every: Duration,
    next: Instant,
    ports: [u16; 2],
}

impl LocalAddress {
    /// An address that stays.
    pub(super) const fn fixed(address: SocketAddrV4) -> Self {
        Self { present: address, rebinding: None, migration: None }
    }

    /// One whose port or address changes.
    pub(super) fn changing(
        address: SocketAddrV4,
        now: Instant,
        rebind_every: Option<Duration>,
        migration: Option<Migration>,
    ) -> Self {
        let ports = [rebound_port(address.port()), address.port()];
        let rebinding = rebind_every.map(|every| Rebinding { every, next: now + every, ports });
        Self { present: address, rebinding, migration }
    }

    /// The address at present.
    pub(super) const fn present(&self) -> SocketAddrV4 {
        self.present
    }

    /// The time of the next change. RFC 9000 §9 has the address change only after the handshake.
    pub(super) fn poll_timeout(&self, may_migrate: bool) -> Option<Instant> {
        let rebinding = self.rebinding.map(|rebinding| rebinding.next);
        let migration = self.migration.filter(|_| may_migrate).map(|migration| migration.at);
        rebinding.into_iter().chain(migration).min()
    }

    /// Continues from another port, if it is time.
    pub(super) fn rebind(&mut self, now: Instant) {
        if let Some(rebinding) = self.rebinding.as_mut().filter(|rebinding| rebinding.next <= now) {
            self.present.set_port(rebinding.ports[0]);
            rebinding.ports.reverse();
            rebinding.next = now + rebinding.every;
        }
    }

    /// Continues from another address, if it is time. Returns whether it is.
    pub(super) fn migrate(&mut self, now: Instant) -> bool {
        let migration = self.migration.take_if(|migration| migration.at <= now);
        if let Some(migration) = migration {
            self.present.set_ip(migration.address);
        }
        migration.is_some()
    }
}
