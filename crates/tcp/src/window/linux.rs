//! The receive buffer as Linux accounts for it: bytes that wait beyond a gap take room like any others,
//! and only a share of the free room is offered, the rest being kept for the overhead of buffers.
//!
//! The difference from `fixed` shows in a long recovery: the more arrives beyond the gap, the less the
//! right edge of the window moves, until only the missing segments may be sent (Sarolahti 2000, the
//! first fast recovery with the large router buffer).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{Held, Window};
use crate::registry::{Entry, refusal};

/// Parameters of the Linux buffer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The socket's receive buffer. Sarolahti 2000, C.1.5: 64 KB.
    pub buffer: Bytes,
    /// Of the free room, one part in 2^`overhead_shift` is not offered (`tcp_adv_win_scale`). 1: half, so
    /// that 64 KB of buffer give the 32 KB of window that Sarolahti 2000, C.1.5 states.
    #[schemars(range(min = 1, max = 14))]
    pub overhead_shift: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self { buffer: Bytes(64 << 10), overhead_shift: 1 }
    }
}

#[derive(Debug)]
struct Linux(Params);

impl Linux {
    /// `tcp_win_from_space`.
    fn share_of(&self, free: Bytes) -> Bytes {
        free - Bytes(free.0 >> self.0.overhead_shift)
    }
}

impl Window for Linux {
    fn room(&mut self, held: &Held) -> Bytes {
        self.share_of(self.0.buffer.saturating_sub(held.unread + held.out_of_order))
    }

    fn greatest(&self) -> Bytes {
        self.share_of(self.0.buffer)
    }
}

/// This policy in the registry.
pub const ENTRY: Entry<dyn Window> = Entry {
    id: "linux",
    summary: "a share of the free buffer, with what waits beyond a gap counted as used",
    source: "Linux tcp_win_from_space; Sarolahti 2000 C.1.5",
    parse: |value| {
        let params: Params = Entry::<dyn Window>::read(value)?;
        if !(1..=14).contains(&params.overhead_shift) {
            let wrong = format!("overhead_shift is {}", params.overhead_shift);
            return Err(refusal(wrong, "from 1 to 14; 1 keeps half of the buffer back"));
        }
        Ok(Arc::new(move || Box::new(Linux(params.clone()))))
    },
    schema: Entry::<dyn Window>::describe::<Params>,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_behind_a_gap_narrows_the_window() {
        let mut window = Linux(Params::default());
        let mut room =
            |out_of_order| window.room(&Held { out_of_order: Bytes(out_of_order), ..Held::default() });
        assert_eq!(room(0), Bytes(32 << 10));
        assert_eq!(room(16 << 10), Bytes(24 << 10));
        assert_eq!(room(1 << 20), Bytes::ZERO);
    }
}
