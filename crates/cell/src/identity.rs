//! Identities of users, sectors and sites: indices in the lists of a [`crate::Layout`] and a [`crate::Cell`].

/// A user of the channel, by its place in the list of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub u32);

/// A sector, by its place: sector `3 s + k` is the k-th of site `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectorId(pub u32);

/// A site of three sectors, by its place: 0 is the centre of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// Sectors of a site: three antennas, 120° apart.
pub const SECTORS_PER_SITE: u32 = 3;

impl UserId {
    /// The place in a list of users.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl SectorId {
    /// The place in a list of sectors.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The site that carries its antenna.
    #[must_use]
    pub const fn site(self) -> SiteId {
        SiteId(self.0 / SECTORS_PER_SITE)
    }
}

impl SiteId {
    /// The place in a list of sites.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
