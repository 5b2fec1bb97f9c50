//! A receive buffer of fixed size: the room that unread bytes leave is offered. Bytes that wait beyond a gap lie inside
//! the window that was offered already, and take nothing off it (as in BSD).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{Held, Window};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters of the fixed buffer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The buffer's size. 4 MiB: above the bandwidth-delay product of any link that the presets name, so
    /// that the window is not what limits a transfer unless a file says so.
    pub size: Bytes,
    /// The largest buffer that a program of the host may ask for, which decides the window scale (FreeBSD:
    /// `kern.ipc.maxsockbuf`). Default: `size`.
    pub largest: Option<Bytes>,
    /// Whether the buffer is rounded up to whole segments once their size is agreed (FreeBSD `tcp_mss`).
    pub whole_segments: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { size: Bytes(4 << 20), largest: None, whole_segments: false }
    }
}

#[derive(Debug)]
struct Fixed(Parameters);

impl Window for Fixed {
    fn room(&mut self, held: &Held) -> Bytes {
        self.0.size.saturating_sub(held.unread)
    }

    fn greatest(&self) -> Bytes {
        self.0.largest.map_or(self.0.size, |largest| largest.max(self.0.size))
    }

    fn on_agreed(&mut self, segment: Bytes) {
        if self.0.whole_segments && self.0.size > segment {
            self.0.size = segment * self.0.size.0.div_ceil(segment.0.max(1));
        }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        match self.largest {
            Some(largest) if largest < self.size => {
                let wrong = format!("largest is {} bytes and size {}", largest.0, self.size.0);
                Err(refusal(wrong, "largest no smaller than size"))
            }
            _ => Ok(()),
        }
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Window> = Algorithm::checked(
    "fixed",
    "a receive buffer of constant size",
    "RFC 9293 §3.8.6",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Fixed(parameters.clone()))),
);
