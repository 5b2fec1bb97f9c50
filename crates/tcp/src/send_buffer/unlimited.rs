//! No limit: what may be sent has been written.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::SendBuffer;
use crate::registry::Entry;

/// It has no parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

#[derive(Debug)]
struct Unlimited;

impl SendBuffer for Unlimited {
    fn size(&self) -> Bytes {
        Bytes::MAX
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn SendBuffer> = Entry {
    id: "unlimited",
    summary: "whatever the windows let go has been written",
    source: "RFC 9293 §3.9.1.2",
    parse: |value| {
        let Params {} = Entry::<dyn SendBuffer>::read(value)?;
        Ok(Arc::new(|| Box::new(Unlimited)))
    },
    schema: Entry::<dyn SendBuffer>::describe::<Params>,
};
