//! Infinite: drops no packet. A limit beside it is refused, as it would have no effect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::{Entry, Service, Setting, Victim};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "infinite",
    summary: "first in, first out, without limit",
    example: "\"infinite\"",
    source: "the dedicated buffer of an analysis",
};

/// It has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn service(&self, _: Stream) -> Service {
        Service::Plain(Victim::Arriving)
    }

    fn is_unlimited(&self) -> bool {
        true
    }
}
