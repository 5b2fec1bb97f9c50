//! Segmentation offload: data leave as bursts, which the network card cuts into segments, and a sender that may send
//! less than a burst waits for more ACKs first (Linux `tcp_tso_autosize`, `tcp_tso_should_defer`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::pacing::{PacedSender, PhasedPacing};
use crate::congestion::{LARGEST_OFFLOAD, quantum};

/// Sizes of bursts, and when a sender waits for one; the defaults are Linux'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentationOffload {
    /// Fewest segments of a burst: 2 (`net.ipv4.tcp_min_tso_segs`). At rates that carry more than that in 1/1024 of a
    /// second, a burst has the data of 1/1024 of a second, and more over a round trip of a few milliseconds
    /// (`net.ipv4.tcp_tso_rtt_log`).
    #[schemars(range(min = 1))]
    pub least_segments: u64,
    /// A sender does not wait where it may send this part of its window: 3, a third (`net.ipv4.tcp_tso_win_divisor`).
    #[schemars(range(min = 1))]
    pub window_parts: u64,
    /// Nor where it has sent nothing for this time: 1 ms.
    pub longest_wait: Duration,
    /// Nor where the next ACK is expected later than this, or than half a round trip: 1 ms. Before version 6.18 Linux
    /// waited for half a round trip.
    pub ack_within: Duration,
}

impl Default for SegmentationOffload {
    fn default() -> Self {
        Self { least_segments: 2, window_parts: 3, longest_wait: MILLISECOND, ack_within: MILLISECOND }
    }
}

impl SegmentationOffload {
    /// A key that leaves no burst at all.
    pub(crate) const fn key_of_zero(&self) -> Option<&'static str> {
        match (self.least_segments, self.window_parts) {
            (0, _) => Some("least_segments"),
            (_, 0) => Some("window_parts"),
            _ => None,
        }
    }

    /// The size of a burst at the sender's rate, in whole segments.
    pub(super) fn burst(&self, sender: &PacedSender, min_rtt: Option<Duration>) -> Bytes {
        let least = sender.smss * self.least_segments;
        let pace = sender.pace.or_else(|| PhasedPacing::default().pace(sender));
        let by_rate = pace.map_or(LARGEST_OFFLOAD, |pace| quantum(pace.rate, least));
        let more = min_rtt.map_or(Bytes::ZERO, near);
        sender.smss * (by_rate + more).min(LARGEST_OFFLOAD).whole(sender.smss).max(self.least_segments)
    }
}

/// The addition over a short round trip: the largest burst, halved for each 512 µs (`tcp_tso_rtt_log` = 9).
fn near(min_rtt: Duration) -> Bytes {
    let halvings = min_rtt.as_nanos() / 512_000;
    if halvings < 64 { Bytes(LARGEST_OFFLOAD.0 >> halvings) } else { Bytes::ZERO }
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// The sender as the rule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub now: Instant,
    /// The new data that both windows permit now.
    pub room: Bytes,
    /// The smaller of the two windows.
    pub window: Bytes,
    /// The size of a burst.
    pub burst: Bytes,
    /// Time at which the oldest outstanding segment was last sent.
    pub oldest_sent: Option<Instant>,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
}

/// The present burst.
#[derive(Debug)]
pub(super) struct Bursts {
    offload: Option<SegmentationOffload>,
    /// Time of the present burst, and the data that may still leave with it.
    begun: Instant,
    left: Bytes,
    /// Size of a burst when the rule was last asked.
    size: Bytes,
    last_sent: Option<Instant>,
}

impl Bursts {
    pub(super) const fn new(offload: Option<SegmentationOffload>) -> Self {
        Self { offload, begun: Instant::START, left: Bytes::ZERO, size: Bytes::ZERO, last_sent: None }
    }

    /// The rule, where data leave as bursts.
    #[inline]
    pub(super) const fn rule(&self) -> Option<&SegmentationOffload> {
        self.offload.as_ref()
    }

    /// Whether more of the present burst may leave at this time.
    pub(super) fn continues(&self, now: Instant) -> bool {
        self.begun == now && !self.left.is_zero()
    }

    /// Begins a burst, unless it is better to wait for a larger one; returns whether it has begun.
    pub(super) fn begin(&mut self, rule: SegmentationOffload, moment: &Moment) -> bool {
        self.size = moment.burst;
        let begins = moment.room >= moment.burst
            || moment.room >= moment.window / rule.window_parts
            || self.last_sent.is_none_or(|sent| moment.now.saturating_since(sent) > rule.longest_wait)
            || moment.next_ack_is_far(rule.ack_within);
        if begins {
            (self.begun, self.left) = (moment.now, moment.room.min(moment.burst));
        }
        begins
    }

    /// Whether this much room is left for more ACKs to add to, so that the window counts as full (`is_cwnd_limited`).
    pub(super) fn leaves_unused(&self, room: Bytes) -> bool {
        room < self.size
    }

    /// A segment of `len` bytes leaves.
    pub(super) fn on_sent(&mut self, now: Instant, len: Bytes) {
        self.last_sent = Some(now);
        self.left = if self.begun == now { self.left.saturating_sub(len) } else { Bytes::ZERO };
    }
}

impl Moment {
    /// Whether the ACK of the oldest segment, a round trip after it, is further away than `near` or half a round trip.
    fn next_ack_is_far(&self, near: Duration) -> bool {
        let (Some(sent), Some(srtt)) = (self.oldest_sent, self.srtt) else { return true };
        (sent + srtt).saturating_since(self.now) > near.min(srtt / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: Bytes = Bytes(1000);
    const RULE: SegmentationOffload = SegmentationOffload {
        least_segments: 2,
        window_parts: 3,
        longest_wait: MILLISECOND,
        ack_within: MILLISECOND,
    };

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_millis(100) + Duration::from_micros(micros)
    }

    /// A window of 60 segments and bursts of five; the oldest segment is a round trip old.
    fn moment(micros: u64, segments: u64) -> Moment {
        Moment {
            now: at(micros),
            room: SMSS * segments,
            window: SMSS * 60,
            burst: SMSS * 5,
            oldest_sent: Some(Instant::START + Duration::from_millis(80)),
            srtt: Some(Duration::from_millis(20)),
        }
    }

    fn bursts() -> Bursts {
        let mut bursts = Bursts::new(Some(RULE));
        bursts.on_sent(at(0), SMSS);
        bursts
    }

    #[test]
    fn less_than_a_burst_waits_for_a_millisecond_after_the_last_segment() {
        let mut bursts = bursts();
        assert!(!bursts.begin(RULE, &moment(480, 2)));
        assert!(!bursts.begin(RULE, &moment(1000, 4)));
        assert!(bursts.begin(RULE, &moment(1001, 4)));
    }

    #[test]
    fn a_whole_burst_or_a_third_of_the_window_leaves_at_once() {
        assert!(bursts().begin(RULE, &moment(10, 5)));
        let small = Moment { window: SMSS * 9, ..moment(10, 3) };
        assert!(bursts().begin(RULE, &small));
    }

    #[test]
    fn a_sender_does_not_wait_for_an_ack_that_is_far_away() {
        let in_two_ms =
            Moment { oldest_sent: Some(Instant::START + Duration::from_millis(82)), ..moment(10, 2) };
        let older = SegmentationOffload { ack_within: Duration::MAX, ..RULE };
        assert!(bursts().begin(RULE, &in_two_ms));
        assert!(!bursts().begin(older, &in_two_ms));
        let in_eleven =
            Moment { oldest_sent: Some(Instant::START + Duration::from_millis(91)), ..moment(10, 2) };
        assert!(bursts().begin(older, &in_eleven), "more than half a round trip");
        assert!(bursts().begin(RULE, &Moment { oldest_sent: None, ..moment(10, 2) }));
    }

    #[test]
    fn a_burst_ends_at_its_size_and_the_rest_waits() {
        let mut bursts = bursts();
        assert!(bursts.begin(RULE, &moment(10, 7)));
        for _ in 0..5 {
            assert!(bursts.continues(at(10)));
            bursts.on_sent(at(10), SMSS);
        }
        assert!(!bursts.continues(at(10)));
        assert!(!bursts.begin(RULE, &moment(10, 2)));
    }
}
