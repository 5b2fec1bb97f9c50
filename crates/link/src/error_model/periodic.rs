//! Periodic errors: every n-th packet is hit, or a burst of packets in a row. Nothing is drawn, so that another
//! simulator can be given the very same packets: those of the numbers `first`, `first + every`, … and, with a burst of
//! b, the b − 1 packets after each of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Stream};

use super::{ErrorParameters, Process};
use crate::error::ConfigError;
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "periodic",
    "every n-th packet, or a burst of packets in a row: the same ones in each run",
    "ns-2, ErrorModel/Periodic and ErrorModel/List",
)
.written("{ periodic = { first = 50, every = 100, burst = 2 } }");

/// Packets that are hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Number of the first packet that is hit, from 1 for the first at the error stage.
    pub first: u64,
    /// Packets from the beginning of one burst to that of the next.
    pub every: u64,
    /// Number of consecutive packets that are hit. Default: 1.
    #[serde(default = "one")]
    pub burst: u64,
}

const fn one() -> u64 {
    1
}

impl ErrorParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, number) in [("first", self.first), ("every", self.every), ("burst", self.burst)] {
            if number == 0 {
                return Err(ConfigError::new(key, "packets are counted from 1", "write 1 or more"));
            }
        }
        if self.burst > self.every {
            let message = format!("a burst of {} packets does not end before the next", self.burst);
            return Err(ConfigError::new("burst", message, format!("write {} or less", self.every)));
        }
        Ok(())
    }

    fn process(&self, _stream: Stream) -> Box<dyn Process> {
        Box::new(Periodic { parameters: *self, arrived: 0 })
    }
}

#[derive(Debug)]
struct Periodic {
    parameters: Parameters,
    /// Packets so far.
    arrived: u64,
}

impl Process for Periodic {
    fn hits(&mut self, _size: Bytes) -> bool {
        let Parameters { first, every, burst } = self.parameters;
        self.arrived += 1;
        self.arrived.checked_sub(first).is_some_and(|since| since % every < burst)
    }
}
