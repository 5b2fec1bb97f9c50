//! No fast retransmit at all: only the timer finds losses, as in the TCPs before 1988 and in the
//! "Tahoe without fast retransmit" that simulations compare with (Fall and Floyd 1996).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::composed::{Composed, HalveAtOnce, LostFirst};
use super::duplicates::NoDetection;
use super::{AfterTimeout, Recovery, Style};
use crate::registry::Entry;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "timeout-only",
    summary: "Tahoe without fast retransmit: only the timer finds losses",
    source: "RFC 793; Fall and Floyd 1996",
    parse: |value| {
        let Params { after_timeout } = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || {
            let after_timeout = AfterTimeout::new(after_timeout);
            Box::new(Composed::new(NoDetection, LostFirst, HalveAtOnce, after_timeout))
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};
