//! A send buffer of fixed size.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::SendBuffer;
use crate::registry::{Entry, refusal};

/// Parameters of the fixed buffer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The most that is written and not acknowledged, in bytes of data: 64 KiB, as `SO_SNDBUF` of many programs has it.
    pub size: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self { size: Bytes(64 << 10) }
    }
}

#[derive(Debug)]
struct Fixed(Bytes);

impl SendBuffer for Fixed {
    fn size(&self) -> Bytes {
        self.0
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn SendBuffer> = Entry {
    id: "fixed",
    summary: "a send buffer of constant size",
    source: "POSIX.1, SO_SNDBUF",
    parse: |value| {
        let Params { size } = Entry::<dyn SendBuffer>::read(value)?;
        if size.is_zero() {
            return Err(refusal("a send buffer of 0 sends nothing", "a size of 1 byte or more"));
        }
        Ok(Arc::new(move || Box::new(Fixed(size))))
    },
    schema: Entry::<dyn SendBuffer>::describe::<Params>,
};
