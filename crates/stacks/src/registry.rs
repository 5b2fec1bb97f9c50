//! The stacks that a host can have.

use crate::dccp_settings::DccpSettings;
use crate::entry::{Entry, Member, Transport};
use crate::migration::Migration;
use crate::quinn_settings::QuinnSettings;
use crate::stack::{Setup, Stack};

/// The stack of a host: its place in [`ENTRIES`], the host's settings for it, and the change of its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackId {
    place: usize,
    quinn: QuinnSettings,
    dccp: DccpSettings,
    migration: Option<Migration>,
}

/// All of them.
pub const ENTRIES: &[Entry] =
    &[crate::lasthop::ENTRY, KERNEL, crate::smoltcp::ENTRY, QUINN, PROGRAM, crate::dccp::ENTRY];

const KERNEL: Entry = ::registry::Entry::new(
    "kernel",
    "the machine's own TCP in a network namespace; in real time only",
    "the Linux kernel that runs here",
)
.with(Member { transport: Transport::Tcp, make: None });

const QUINN: Entry = ::registry::Entry::new(
    "quinn",
    "quinn's QUIC (quinn-proto 0.11): RFC 9000 and 9002 with CUBIC, NewReno or BBR, and pacing; without encryption",
    "the crate quinn-proto, https://github.com/quinn-rs/quinn; RFC 9000, RFC 9002",
)
.with(Member { transport: Transport::Quic, make: MAKE_QUINN });

#[cfg(not(target_family = "wasm"))]
const MAKE_QUINN: Option<fn(Setup) -> Box<dyn Stack>> = Some(crate::quinn::stack);

/// In a browser there is no quinn: for WebAssembly, quinn-proto depends on ring, which needs a C compiler for it.
#[cfg(target_family = "wasm")]
const MAKE_QUINN: Option<fn(Setup) -> Box<dyn Stack>> = None;

const PROGRAM: Entry = ::registry::Entry::new(
    "program",
    "a program of the user's, which gets the host's packets by a descriptor; in real time only",
    "lasthop show recipes/other-stacks",
)
.with(Member { transport: Transport::Any, make: None });

impl StackId {
    /// Our own TCP.
    pub const LASTHOP: Self = Self::at(0);

    /// The machine's kernel.
    pub const KERNEL: Self = Self::at(1);

    /// A program of the user's.
    pub const PROGRAM: Self = Self::at(4);

    const fn at(place: usize) -> Self {
        Self { place, quinn: QuinnSettings::DEFAULT, dccp: DccpSettings::DEFAULT, migration: None }
    }

    /// The stack that a file calls `id`.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        ENTRIES.iter().position(|entry| entry.id == id).map(Self::at)
    }

    /// The same stack, with a host's settings of quinn.
    #[must_use]
    pub const fn with_quinn(self, quinn: QuinnSettings) -> Self {
        Self { quinn, ..self }
    }

    /// The host's settings of quinn.
    #[must_use]
    pub const fn quinn(self) -> QuinnSettings {
        self.quinn
    }

    /// The same stack, with a host's settings of DCCP.
    #[must_use]
    pub const fn with_dccp(self, dccp: DccpSettings) -> Self {
        Self { dccp, ..self }
    }

    /// The host's settings of DCCP.
    #[must_use]
    pub const fn dccp(self) -> DccpSettings {
        self.dccp
    }

    /// The same stack, of a host that changes its address.
    #[must_use]
    pub const fn with_migration(self, migration: Option<Migration>) -> Self {
        Self { migration, ..self }
    }

    /// The change of the host's address.
    #[must_use]
    pub const fn migration(self) -> Option<Migration> {
        self.migration
    }

    /// Its entry.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        &ENTRIES[self.place]
    }

    /// Whether it runs in this process, and so in virtual time too.
    #[must_use]
    pub fn is_in_process(self) -> bool {
        self.entry().member.make.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_the_first_and_every_name_is_found() {
        assert_eq!((StackId::LASTHOP.entry().id, StackId::KERNEL.entry().id), ("lasthop", "kernel"));
        assert_eq!(StackId::PROGRAM.entry().id, "program");
        for entry in ENTRIES {
            assert_eq!(StackId::named(entry.id).map(|id| id.entry().id), Some(entry.id));
        }
        assert_eq!(StackId::named("lwip"), None);
    }
}
