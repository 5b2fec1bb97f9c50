//! A member of a registry.

/// A member of a registry, as files, lists, schemas and suites know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<M: 'static = ()> {
    /// Name in files.
    pub id: &'static str,
    /// Summary of the member, in one line.
    pub summary: &'static str,
    /// RFC, paper or program that defines it.
    pub source: &'static str,
    /// A choice of the member as written in a file; empty if the name alone is a choice.
    example: &'static str,
    /// Additional data of the registry on each member.
    pub member: M,
}

impl Entry {
    /// A member with its name, its summary and the RFC or paper that defines it.
    #[must_use]
    pub const fn new(id: &'static str, summary: &'static str, source: &'static str) -> Self {
        Self { id, summary, source, example: "", member: () }
    }

    /// The entry with an example, which a member needs if its name alone is no choice.
    #[must_use]
    pub const fn written(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    /// The entry with what its registry keeps of each member.
    #[must_use]
    pub const fn with<M>(self, member: M) -> Entry<M> {
        let Self { id, summary, source, example, member: () } = self;
        Entry { id, summary, source, example, member }
    }
}

impl<M> Entry<M> {
    /// A choice of the member as written in a file.
    #[must_use]
    pub fn example(&self) -> String {
        if self.example.is_empty() { format!("\"{}\"", self.id) } else { self.example.to_owned() }
    }

    /// The member as lists and forms show it.
    #[must_use]
    pub const fn info(&self) -> Entry {
        Entry { id: self.id, summary: self.summary, source: self.source, example: self.example, member: () }
    }
}
