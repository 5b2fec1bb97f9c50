//! No segment asks: when to acknowledge is the receiver's business alone (RFC 5681 §4.2).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Outgoing, Poll};
use crate::registry::Entry;

/// No parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

#[derive(Debug)]
pub(super) struct Silent;

impl Poll for Silent {
    fn asks(&mut self, _outgoing: &Outgoing) -> bool {
        false
    }

    fn is_on(&self) -> bool {
        false
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn Poll> = Entry {
    id: "none",
    summary: "the receiver alone decides when to acknowledge",
    source: "RFC 5681 §4.2",
    parse: |value| {
        let Params {} = Entry::<dyn Poll>::read(value)?;
        Ok(Arc::new(|| Box::new(Silent)))
    },
    schema: Entry::<dyn Poll>::describe::<Params>,
};
