//! The algorithms that there are, by axis.

/// One axis on which TCPs vary.
pub struct Axis {
    /// Its key in a profile.
    pub name: &'static str,
    /// What it decides.
    pub summary: &'static str,
    /// Its algorithms.
    pub entries: Vec<EntryInfo>,
}

/// One algorithm.
pub struct EntryInfo {
    /// Its name in a profile.
    pub id: &'static str,
    /// One line.
    pub summary: &'static str,
    /// RFC or paper.
    pub source: &'static str,
}

/// Every axis with its algorithms.
#[must_use]
pub fn axes() -> Vec<Axis> {
    Vec::new()
}
