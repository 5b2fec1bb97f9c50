//! Tins: traffic classes with a threshold rate each. Up to it a tin has priority over lower ones; beyond it the tin
//! shares with them (Høiland-Jørgensen, Täht and Morton 2018 §III.D).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate};

use super::cobalt::Timing;
use super::flows::Flows;
use crate::queue::Keys;

/// Into which tins traffic classes go (tc-cake(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Diffserv {
    /// All into one.
    Besteffort,
    /// Bulk (CS1, LE), best effort, voice (CS6, CS7, EF, VA, and the low delay of RFC 1349).
    #[default]
    Diffserv3,
    /// Bulk (CS1, LE), best effort, video (AF4x, AF3x, CS3, AF2x, CS2), voice (CS7, CS6, EF, VA, CS5, CS4).
    Diffserv4,
}

/// The share of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Its threshold is the rate over two to this.
    shift: u32,
}

impl Share {
    /// The threshold of a tin of a shaper with this rate.
    pub(super) fn of(self, rate: Rate) -> Rate {
        Rate::from_bits_per_sec((rate.bits_per_sec() >> self.shift).max(1))
    }
}

/// Tins by their numbers: the higher, the higher the priority within the threshold.
const BEST_EFFORT: usize = 0;
const BULK: usize = 1;

impl Diffserv {
    /// Thresholds: all of the rate for best effort, a sixteenth for bulk, a half for video, a quarter for voice.
    pub(super) const fn shares(self) -> &'static [Share] {
        const ALL: Share = Share { shift: 0 };
        const SIXTEENTH: Share = Share { shift: 4 };
        const HALF: Share = Share { shift: 1 };
        const QUARTER: Share = Share { shift: 2 };
        match self {
            Self::Besteffort => &[ALL],
            Self::Diffserv3 => &[ALL, SIXTEENTH, QUARTER],
            Self::Diffserv4 => &[ALL, SIXTEENTH, HALF, QUARTER],
        }
    }

    /// The tin of a DSCP (RFC 2474, 2597, 3246, 5865, 8622; 4 is the low delay of RFC 1349).
    pub(super) const fn tin_of(self, dscp: u8) -> usize {
        match (self, dscp) {
            (Self::Besteffort, _) => BEST_EFFORT,
            (_, 1 | 8) => BULK,
            (Self::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            (Self::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            (Self::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            _ => BEST_EFFORT,
        }
    }
}

#[derive(Debug)]
pub(super) struct Tin {
    flows: Flows,
    rate: Option<Rate>,
    timing: Timing,
    /// The time that its sent packets would have taken at its threshold rate.
    pub next_packet: Instant,
    /// Bytes that it may still send in this round; used without a shaper.
    pub deficit: i64,
    /// Bytes that each round adds to the deficit.
    pub quantum: i64,
}

impl Tin {
    /// A tin with this threshold, if there is a shaper, for connections with this round trip.
    pub fn new(share: Share, rate: Option<Rate>, rtt: Duration, flows: Flows) -> Self {
        Self {
            flows,
            rate,
            timing: timing(rtt, rate),
            next_packet: Instant::START,
            deficit: 0,
            quantum: TIN_QUANTUM >> share.shift,
        }
    }

    pub const fn timing(&self) -> Timing {
        self.timing
    }

    pub fn is_active(&self) -> bool {
        self.flows.is_active()
    }

    pub fn classify(&mut self, keys: &Keys) -> usize {
        self.flows.classify(keys)
    }

    /// A packet comes: a silence saves nothing up.
    pub fn on_arrival(&mut self, now: Instant) {
        if !self.is_active() {
            self.next_packet = self.next_packet.max(now);
        }
    }

    pub fn on_queued(&mut self, flow: usize) {
        self.flows.on_queued(flow);
    }

    pub fn next(&mut self, is_empty: impl Fn(usize) -> bool) -> Option<usize> {
        self.flows.next(is_empty)
    }

    pub fn on_served(&mut self, flow: usize, size: Bytes) {
        self.flows.on_served(flow, size);
        self.deficit -= size.0 as i64;
    }

    /// A packet of this size on the following links leaves (Linux `cake_advance_shaper`).
    pub fn advance(&mut self, now: Instant, size: Bytes) {
        let Some(rate) = self.rate else { return };
        let time = rate.time_for(size);
        self.next_packet =
            if self.next_packet < now { self.next_packet + time } else { self.next_packet.max(now + time) };
    }
}

/// Bytes of a tin's turn before its weight (Linux `cake_config_diffserv4`).
const TIN_QUANTUM: i64 = 1024;
/// The largest packet of Ethernet, its header included.
const MTU: Bytes = Bytes(1514);

/// Bytes of a flow's turn: the amount that the rate carries in 1/4096 of a second, 300 to 1514 (Linux `cake_set_rate`).
pub(super) fn flow_quantum(rate: Option<Rate>) -> u64 {
    rate.map_or(MTU.0, |rate| (rate.bits_per_sec() / 8 / 4096).clamp(300, MTU.0))
}

/// Linux `cake_set_rate`: the target is a twentieth of the round trip, or the time of one and a half full packets.
fn timing(rtt: Duration, rate: Option<Rate>) -> Timing {
    let mtu_time = rate.map_or(Duration::ZERO, |rate| rate.time_for(MTU));
    let usual = rtt / 20;
    let target = usual.max(mtu_time * 3 / 2);
    let interval = (rtt + target.saturating_sub(usual)).max(target * 2);
    Timing { target, interval, mtu_time }
}
