//! The window counter (RFC 4342 §8.1): four bits in each data packet, by which its receiver knows how many quarters of
//! a round trip have passed at the sender.

use units::{Duration, Instant};

/// The sender's counter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowCounter {
    value: u8,
    last: Option<Instant>,
}

impl WindowCounter {
    /// The value in a packet that is sent now, of a sender that knows this round trip, or none.
    pub(super) fn at(&mut self, now: Instant, rtt: Duration) -> u8 {
        let Some(last) = self.last.filter(|_| !rtt.is_zero()) else {
            self.last = Some(now);
            return self.value;
        };
        let quarter = (rtt.as_nanos() / 4).max(1);
        let passed = now.saturating_since(last).as_nanos() / quarter;
        if passed > 0 {
            self.value = (self.value + passed.min(MOST) as u8) % MODULUS;
            self.last = Some(now);
        }
        self.value
    }
}

/// The receiver's count: the counters that it has heard, without their wrapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quarters {
    count: u64,
}

impl Quarters {
    pub(super) const fn new(ccval: u8) -> Self {
        Self { count: ccval as u64 }
    }

    pub(super) const fn get(self) -> u64 {
        self.count
    }

    /// A packet that was sent after all that arrived before. Returns the quarters since the one before it.
    pub(super) const fn advance(&mut self, ccval: u8) -> u64 {
        let step = (ccval as u64 + (MODULUS as u64) - self.count % (MODULUS as u64)) % (MODULUS as u64);
        self.count += step;
        step
    }
}

/// The counter has four bits.
const MODULUS: u8 = 16;
/// It advances by five at most, so that a pause is never taken for less than a round trip, nor for a wrap.
pub(super) const MOST: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_advances_by_quarters_of_a_round_trip_and_by_five_at_most() {
        let mut counter = WindowCounter::default();
        let rtt = Duration::from_millis(100);
        let mut at = |millis| counter.at(Instant::START + Duration::from_millis(millis), rtt);
        let values: Vec<u8> = [0, 10, 25, 30, 76, 1000, 1125, 1250].into_iter().map(&mut at).collect();
        assert_eq!(values, [0, 0, 1, 1, 3, 8, 13, 2]);
    }

    #[test]
    fn the_receiver_counts_on_where_the_counter_wraps() {
        let mut quarters = Quarters::new(14);
        assert_eq!([15, 15, 3, 8].map(|ccval| quarters.advance(ccval)), [1, 0, 4, 5]);
        assert_eq!(quarters.get(), 24);
    }
}
