//! The limit of challenge ACKs (RFC 5961 §7).

use units::{Duration, Instant};

/// The challenge ACKs of the present interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Challenges {
    since: Instant,
    sent: u32,
}

impl Challenges {
    /// Whether another challenge ACK may be sent; it counts then.
    pub(super) fn permit(&mut self, now: Instant) -> bool {
        if now.saturating_since(self.since) >= INTERVAL {
            *self = Self { since: now, sent: 0 };
        }
        let permitted = self.sent < PER_INTERVAL;
        self.sent += u32::from(permitted);
        permitted
    }
}

/// RFC 5961 §7 suggests ten in five seconds.
const PER_INTERVAL: u32 = 10;
/// See [`PER_INTERVAL`].
const INTERVAL: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_are_sent_in_five_seconds() {
        let mut challenges = Challenges::default();
        let at = |s| Instant::START + Duration::from_secs(s);
        assert_eq!((0..20).filter(|_| challenges.permit(at(1))).count(), 10);
        assert!(!challenges.permit(at(4)) && challenges.permit(at(5)));
    }
}
