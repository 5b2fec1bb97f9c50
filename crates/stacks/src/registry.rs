//! The stacks that a host can have.

use crate::entry::{Entry, Transport};

/// A place in [`ENTRIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackId(usize);

/// All of them.
pub const ENTRIES: &[Entry] =
    &[crate::lasthop::ENTRY, KERNEL, crate::smoltcp::ENTRY, crate::quinn::ENTRY, PROGRAM];

const KERNEL: Entry = Entry {
    id: "kernel",
    summary: "the machine's own TCP in a network namespace; in real time only",
    example: "stack = \"kernel\"",
    source: "the Linux kernel that runs here",
    transport: Transport::Tcp,
    make: None,
};

const PROGRAM: Entry = Entry {
    id: "program",
    summary: "a program of the user's, which gets the host's packets by a descriptor; in real time only",
    example: "stack = \"program\"",
    source: "docs/recipes/other-stacks.md",
    transport: Transport::Any,
    make: None,
};

impl StackId {
    /// Our own TCP.
    pub const LASTHOP: Self = Self(0);

    /// The machine's kernel.
    pub const KERNEL: Self = Self(1);

    /// A program of the user's.
    pub const PROGRAM: Self = Self(4);

    /// The stack that a file calls `id`.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        ENTRIES.iter().position(|entry| entry.id == id).map(Self)
    }

    /// Its entry.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        &ENTRIES[self.0]
    }

    /// Whether it runs in this process, and so in virtual time too.
    #[must_use]
    pub fn is_in_process(self) -> bool {
        self.entry().make.is_some()
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
