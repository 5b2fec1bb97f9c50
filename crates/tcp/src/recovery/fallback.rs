//! The recoveries that replace others where the peer does not offer the options that these need.

use super::after_timeout::Style;
use super::traits::WithoutSack;
use super::{Recovery, new_reno, new_reno_linux, sack_6675};

/// The recovery for a peer that does not permit SACK.
#[must_use]
pub fn without_sack(choice: WithoutSack) -> Box<dyn Recovery> {
    match choice {
        WithoutSack::NewReno => new_reno::standard(),
        WithoutSack::Linux => new_reno_linux::linux(),
    }
}

/// The recovery for a peer that permits SACK but gives no timestamps.
#[must_use]
pub fn without_timestamps() -> Box<dyn Recovery> {
    Box::new(sack_6675::composed(Style::default()))
}
