//! BBRv3's model of the path: the largest delivery rate of two cycles, and the bounds that losses set to rate and
//! flight.
//!
//! Bounds of the short term last until the next probe for bandwidth, those of the long term until a probe shows that
//! more is safe. `None` is the draft's Infinity. Sections are those of draft-ietf-ccwg-bbr-06.

use units::{Bytes, Duration, Instant, Rate};

use super::super::DeliverySample;
use crate::windowed_max::WindowedMax;

/// Model of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// The bound of both: `BBR.bw`.
    pub bw: Rate,
    /// The largest rate of the cycle before and of the present one (§5.5.6: two slots are enough).
    max_bw: [Rate; 2],
    pub bounds: Bounds,
    latest: Latest,
    extra_acked: ExtraAcked,
    /// Packet-timed round trips (§5.5.1), and what had been delivered when the present one began.
    pub rounds: u64,
    next_round_delivered: Bytes,
    pub round_start: bool,
    /// The same for losses (§5.5.10.3).
    loss_round_delivered: Bytes,
    pub loss_round_start: bool,
    pub is_loss_in_round: bool,
}

/// The bounds that losses set, which an undo gives back (§5.5.11).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub bw_shortterm: Option<Rate>,
    pub inflight_shortterm: Option<Bytes>,
    pub inflight_longterm: Option<Bytes>,
}

/// The most of the present round trip (§5.5.10.3).
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    bw: Rate,
    inflight: Bytes,
}

/// Aggregation of ACKs (§5.5.9).
#[derive(Clone, Copy, Debug)]
struct ExtraAcked {
    interval_start: Instant,
    delivered: Bytes,
    most: WindowedMax<Bytes>,
}

impl Model {
    pub const fn new() -> Self {
        const NONE: Rate = Rate::from_bits_per_sec(0);
        Self {
            bw: NONE,
            max_bw: [NONE; 2],
            bounds: Bounds { bw_shortterm: None, inflight_shortterm: None, inflight_longterm: None },
            latest: Latest { bw: NONE, inflight: Bytes::ZERO },
            extra_acked: ExtraAcked {
                interval_start: Instant::START,
                delivered: Bytes::ZERO,
                most: WindowedMax::EMPTY,
            },
            rounds: 0,
            next_round_delivered: Bytes::ZERO,
            round_start: false,
            loss_round_delivered: Bytes::ZERO,
            loss_round_start: false,
            is_loss_in_round: false,
        }
    }

    pub fn max_bw(&self) -> Rate {
        self.max_bw[0].max(self.max_bw[1])
    }

    pub const fn inflight_latest(&self) -> Bytes {
        self.latest.inflight
    }

    /// Extra window beyond the bandwidth-delay product.
    pub fn extra_acked(&self) -> Bytes {
        self.extra_acked.most.get().unwrap_or_default()
    }

    /// A round trip begins: `StartRound`, with what is delivered so far.
    pub const fn start_round(&mut self, delivered: Bytes) {
        self.next_round_delivered = delivered;
    }

    /// The first loss of a round trip: whether it is (`NoteLoss`).
    pub const fn note_loss(&mut self, delivered: Bytes) -> bool {
        let first = !self.is_loss_in_round;
        if first {
            self.loss_round_delivered = delivered;
        }
        self.is_loss_in_round = true;
        first
    }

    /// `UpdateLatestDeliverySignals`.
    pub fn update_latest(&mut self, sample: &DeliverySample) {
        self.loss_round_start = false;
        let Some(rate) = sample.rate else { return };
        self.latest.bw = self.latest.bw.max(bandwidth_of(sample));
        self.latest.inflight = self.latest.inflight.max(rate.delivered);
        if rate.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = sample.delivered;
            self.loss_round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub fn advance_latest(&mut self, sample: &DeliverySample) {
        if self.loss_round_start
            && let Some(rate) = sample.rate
        {
            self.latest = Latest { bw: bandwidth_of(sample), inflight: rate.delivered };
        }
    }

    /// `ResetCongestionSignals`.
    pub fn reset_congestion_signals(&mut self) {
        (self.is_loss_in_round, self.latest) = (false, Latest::default());
    }

    /// `UpdateMaxBw`, `UpdateRound`; whether a round trip has begun.
    pub fn update_max_bw(&mut self, sample: &DeliverySample) -> bool {
        self.round_start = false;
        let Some(rate) = sample.rate else { return false };
        if rate.prior_delivered >= self.next_round_delivered {
            self.start_round(sample.delivered);
            (self.rounds, self.round_start) = (self.rounds + 1, true);
        }
        let bandwidth = bandwidth_of(sample);
        if bandwidth >= self.max_bw() || !rate.application_limited {
            self.max_bw[1] = self.max_bw[1].max(bandwidth);
        }
        self.round_start
    }

    /// `AdvanceMaxBwFilter`: a cycle is over. One without a sample does not count, as in Linux
    /// (`bbr_advance_max_bw_filter`).
    pub fn advance_max_bw(&mut self) {
        if self.max_bw[1] > Rate::default() {
            self.max_bw = [self.max_bw[1], Rate::default()];
        }
    }

    /// `AdaptLowerBoundsFromCongestion` where no bandwidth is probed for: once a round trip with losses, down to what
    /// was delivered in it, but by no more than 0.7.
    pub fn adapt_lower_bounds(&mut self, cwnd: Bytes, beta: f64) {
        let bw = self.bounds.bw_shortterm.unwrap_or_else(|| self.max_bw());
        let inflight = self.bounds.inflight_shortterm.unwrap_or(cwnd);
        self.bounds.bw_shortterm = Some(self.latest.bw.max(scaled(bw, beta)));
        self.bounds.inflight_shortterm = Some(self.latest.inflight.max(part(inflight, beta)));
    }

    /// `ResetShortTermModel`.
    pub const fn reset_short_term(&mut self) {
        (self.bounds.bw_shortterm, self.bounds.inflight_shortterm) = (None, None);
    }

    /// `BoundBWForModel`.
    pub fn bound_bw(&mut self) {
        self.bw = self.bounds.bw_shortterm.map_or(self.max_bw(), |bound| bound.min(self.max_bw()));
    }

    /// `UpdateACKAggregation`.
    pub fn update_extra_acked(&mut self, sample: &DeliverySample, cwnd: Bytes, window_rounds: u64) {
        let extra = &mut self.extra_acked;
        let interval = sample.now.saturating_since(extra.interval_start);
        let mut expected = carried(self.bw, interval);
        if extra.delivered <= expected {
            (extra.delivered, extra.interval_start, expected) = (Bytes::ZERO, sample.now, Bytes::ZERO);
        }
        extra.delivered += sample.newly_delivered;
        let beyond = extra.delivered.saturating_sub(expected).min(cwnd);
        extra.most.update(window_rounds, self.rounds, beyond);
    }

    /// A new interval begins after an idle time (§5.4.1).
    pub const fn restart_extra_acked(&mut self, now: Instant) {
        self.extra_acked.interval_start = now;
    }
}

impl Bounds {
    /// The looser of both, bound by bound.
    pub fn or_looser(&self, other: &Self) -> Self {
        fn looser<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.zip(other).map(|(one, other)| one.max(other))
        }
        Self {
            bw_shortterm: looser(self.bw_shortterm, other.bw_shortterm),
            inflight_shortterm: looser(self.inflight_shortterm, other.inflight_shortterm),
            inflight_longterm: looser(self.inflight_longterm, other.inflight_longterm),
        }
    }
}

/// The delivery rate of a sample, none where it has none.
pub(super) fn bandwidth_of(sample: &DeliverySample) -> Rate {
    let bytes_per_sec = sample.rate.and_then(|rate| rate.bytes_per_sec());
    bytes_per_sec.map_or_else(Rate::default, |rate| Rate::from_bits_per_sec((rate * 8.0) as u64))
}

pub(super) fn scaled(rate: Rate, by: f64) -> Rate {
    Rate::from_bits_per_sec((rate.bits_per_sec() as f64 * by) as u64)
}

pub(super) fn part(size: Bytes, by: f64) -> Bytes {
    Bytes((size.0 as f64 * by) as u64)
}

/// The data that a rate carries in some time.
pub(super) fn carried(rate: Rate, time: Duration) -> Bytes {
    Bytes((rate.bits_per_sec() as f64 / 8.0 * time.as_secs_f64()) as u64)
}
