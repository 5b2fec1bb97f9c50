//! CAKE's shaper: a packet leaves when the ones before it would have been transmitted at the rate, counted with the
//! framing of the following links. Unlike a token bucket it passes no burst after an idle time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Rate};

/// The cells into which the following links divide packets (tc-cake(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// Into nothing.
    #[default]
    None,
    /// ATM: cells of 53 bytes, 48 of them payload, the last one padded (ADSL).
    Atm,
    /// PTM: a byte for each 64 (VDSL2).
    Ptm,
}

/// Size of a packet on the following links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overhead {
    pub bytes: i64,
    pub mpu: Bytes,
    pub cells: Cells,
}

impl Overhead {
    pub fn size(&self, packet: Bytes) -> Bytes {
        let framed = Bytes(packet.0.saturating_add_signed(self.bytes)).max(self.mpu);
        Bytes(match self.cells {
            Cells::None => framed.0,
            Cells::Atm => framed.0.div_ceil(48) * 53,
            Cells::Ptm => framed.0 + framed.0.div_ceil(64),
        })
    }
}

#[derive(Debug)]
pub(super) struct Shaper {
    rate: Option<Rate>,
    overhead: Overhead,
    /// Time at which the next packet may leave.
    next_packet: Instant,
}

impl Shaper {
    pub const fn new(rate: Option<Rate>, overhead: Overhead) -> Self {
        Self { rate, overhead, next_packet: Instant::START }
    }

    pub const fn is_unlimited(&self) -> bool {
        self.rate.is_none()
    }

    pub const fn ready_at(&self) -> Instant {
        self.next_packet
    }

    /// A packet comes to an empty queue: a silence saves nothing up.
    pub fn on_first_packet(&mut self, now: Instant) {
        self.next_packet = self.next_packet.max(now);
    }

    /// A packet leaves; returns its size on the following links.
    pub fn advance(&mut self, packet: Bytes) -> Bytes {
        let size = self.overhead.size(packet);
        if let Some(rate) = self.rate {
            self.next_packet += rate.time_for(size);
        }
        size
    }
}
