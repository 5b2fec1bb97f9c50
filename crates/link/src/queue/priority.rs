//! Priority: of the packets that wait, those of the highest traffic class leave first, however long
//! the others have been waiting. They share the queue's limit; who finds it reached takes the place of the
//! oldest packet of the lowest class that waits, and is dropped where that is not below its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Stream};

use super::{Entry, Keys, Lane, Policy, Scheduler, Service, Setting, tail_drop};
use crate::config::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "priority",
    summary: "the highest traffic class first, each class in order",
    example: "\"priority\"",
    source: "RFC 2474 §4.2.2 (class selectors)",
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
        Service::Lanes(Box::new(Priority))
    }
}

/// A lane for each class.
#[derive(Debug)]
struct Priority;

impl Scheduler for Priority {
    fn lane_of(&mut self, keys: &Keys) -> usize {
        usize::from(keys.class)
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        tail_drop::policy()
    }

    fn next(&mut self, lanes: &[Lane]) -> Option<usize> {
        lanes.iter().rposition(|lane| !lane.is_empty())
    }

    fn on_served(&mut self, _: usize, _: Bytes) {}

    fn victims(&self, lanes: &[Lane], arriving: usize) -> Option<(usize, u32)> {
        let lowest = lanes.iter().position(|lane| !lane.is_empty())?;
        (lowest < arriving).then_some((lowest, 1))
    }
}
