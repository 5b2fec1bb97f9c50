//! Whether a segment that fills a gap was overtaken on its way, or sent again.
//!
//! A copy is sent after the data above it: its timestamp is not older (RFC 7323 §4.3), and an identification that
//! counts (RFC 6864 §3) is newer. Where the headers decide nothing, time does: what shows a loss to the sender passes
//! the point of observation with the data above the gap, so that a copy comes a whole round trip after them.

use units::{Duration, Instant};
use wire::Segment;

/// The marks of one packet that grow from packet to packet of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    identification: Option<u16>,
    timestamp: Option<u32>,
}

/// The order in which two packets of one sender were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Before,
    After,
}

impl Marks {
    /// Those of a segment in an IPv4 packet with this identification.
    pub(super) fn of(segment: &Segment, identification: Option<u16>) -> Self {
        let timestamp = segment.options.timestamps.map(|stamps| stamps.value);
        Self { identification, timestamp }
    }

    /// Whether the packet was sent before the packet with the marks `latest`, of data above it that passed `gap`
    /// earlier on a path with this shortest round trip.
    pub(super) fn was_overtaken(
        self,
        latest: Self,
        gap: Option<Duration>,
        round_trip: Option<Duration>,
    ) -> bool {
        let by_headers = self.stamped(latest).or_else(|| self.counted(latest));
        let shortest = round_trip.map_or(UNKNOWN_ROUND_TRIP, |shortest| shortest * 3 / 4);
        by_headers.map_or_else(|| gap.is_some_and(|gap| gap < shortest), |order| order == Order::Before)
    }

    fn stamped(self, latest: Self) -> Option<Order> {
        let difference = self.timestamp?.wrapping_sub(latest.timestamp?) as i32;
        match difference {
            0 => None,
            ..0 => Some(Order::Before),
            _ => Some(Order::After),
        }
    }

    fn counted(self, latest: Self) -> Option<Order> {
        let difference = self.identification?.wrapping_sub(latest.identification?) as i16;
        match difference {
            0 => None,
            _ if difference.unsigned_abs() > NEAR => None,
            ..0 => Some(Order::Before),
            _ => Some(Order::After),
        }
    }
}

/// The time from `earlier` to `at`.
pub(super) fn gap_since(earlier: Option<Instant>, at: Instant) -> Option<Duration> {
    earlier.map(|earlier| at.saturating_since(earlier))
}

/// Largest difference of identifications that are taken for a count.
const NEAR: u16 = 256;
/// Where no round trip is known: paths of the Internet are longer, queues that swap neighbours are shorter.
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(3);

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Option<Duration> = Some(Duration::from_millis(80));

    fn marks(identification: u16, timestamp: Option<u32>) -> Marks {
        Marks { identification: Some(identification), timestamp }
    }

    fn overtaken(packet: Marks, latest: Marks, gap_ms: u64) -> bool {
        packet.was_overtaken(latest, Some(Duration::from_millis(gap_ms)), ROUND_TRIP)
    }

    #[test]
    fn an_older_timestamp_shows_an_overtaken_packet_however_late_it_comes() {
        assert!(overtaken(marks(0, Some(u32::MAX)), marks(0, Some(2)), 500));
        assert!(!overtaken(marks(0, Some(3)), marks(0, Some(2)), 1));
    }

    #[test]
    fn identifications_that_count_show_the_order_across_their_wrap() {
        assert!(overtaken(marks(65_535, None), marks(1, None), 500));
        assert!(!overtaken(marks(2, None), marks(1, None), 1));
    }

    #[test]
    fn without_marks_a_copy_takes_a_round_trip() {
        assert!(overtaken(marks(0, None), marks(0, None), 50));
        assert!(!overtaken(marks(0, None), marks(0, None), 80));
        assert!(!overtaken(marks(40_000, None), marks(1, None), 80));
    }
}
