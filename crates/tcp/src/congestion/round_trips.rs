//! Round trips cut out of the stream of ACKs, with the round-trip times measured in each: what algorithms that go by
//! delays decide upon once a round trip (Vegas, Illinois, YeAH, Compound, CDG).

use units::{Duration, Seq};

use super::AckSample;

/// The round-trip times measured in a round trip; there is one at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    /// The shortest.
    pub least: Duration,
    /// The longest.
    pub longest: Duration,
    /// Number of round trips.
    pub samples: u64,
    sum: Duration,
}

impl RoundTrips {
    /// One of this length.
    pub const fn of(rtt: Duration) -> Self {
        Self { least: rtt, longest: rtt, samples: 1, sum: rtt }
    }

    /// One more.
    pub fn add(&mut self, rtt: Duration) {
        self.least = self.least.min(rtt);
        self.longest = self.longest.max(rtt);
        self.samples += 1;
        self.sum += rtt;
    }

    /// Their mean.
    pub fn mean(&self) -> Duration {
        self.sum / self.samples
    }
}

/// Finds the end of a round trip: with the ACK of data that was sent after it began.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// SND.NXT when the present round trip began; none before the first ACK.
    began: Option<Seq>,
    measured: Option<RoundTrips>,
}

impl Rounds {
    /// An ACK of new data; the times of the round trip that it ends, if it ends one in which any was measured.
    pub fn on_ack(&mut self, ack: &AckSample) -> Option<RoundTrips> {
        self.on_sample(ack, ack.rtt)
    }

    /// An ACK of new data for algorithms with a round-trip time of their own choice (`AckSample::newest_rtt`).
    pub fn on_sample(&mut self, ack: &AckSample, rtt: Option<Duration>) -> Option<RoundTrips> {
        if let Some(rtt) = rtt {
            match &mut self.measured {
                Some(measured) => measured.add(rtt),
                None => self.measured = Some(RoundTrips::of(rtt)),
            }
        }
        if self.began.is_some_and(|began| !ack.number.after(began)) {
            return None;
        }
        let is_first = self.began.replace(ack.nxt).is_none();
        self.measured.take().filter(|_| !is_first)
    }

    /// The shortest of the present round trip.
    pub fn least(&self) -> Option<Duration> {
        self.measured.map(|measured| measured.least)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack_sample};
    use super::*;

    #[test]
    fn a_round_trip_ends_with_the_ack_of_what_was_sent_after_it_began() {
        let mut rounds = Rounds::default();
        let millis = |rtt: Duration| (rtt.as_secs_f64() * 1000.0).round();
        let mut ack = |number: u32, nxt: u32, rtt: Option<u64>| {
            let rtt = rtt.map(Duration::from_millis);
            let (number, nxt) = (Seq(number), Seq(nxt));
            let ended = rounds.on_ack(&AckSample { number, nxt, rtt, ..ack_sample(SMSS, SMSS) });
            ended.map(|round| (millis(round.least), millis(round.mean()), round.samples))
        };
        assert_eq!(ack(1000, 4000, Some(90)), None, "the first only begins one");
        assert_eq!(ack(3000, 5000, Some(100)), None);
        assert_eq!(ack(4000, 6000, None), None);
        assert_eq!(ack(5000, 7000, Some(120)), Some((100.0, 110.0, 2)));
        assert_eq!(ack(8000, 9000, None), None, "nothing was measured");
    }
}
