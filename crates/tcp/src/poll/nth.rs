//! Every n-th segment asks, but never fewer than two in a window: the strategies DAL2, A4L4 and A8L8 of
//! Landström 2008 §6.3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;

use super::{Outgoing, Pace, Poll};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of segments for each ACK. A4L4 of Landström 2008: 4.
    pub segments: Segments,
    /// Minimum number of ACKs in a window. Landström 2008 §6.3: 2.
    pub least_per_window: u32,
    /// Whether the acknowledgment fixes hold (Landström 2008 §6.4.3).
    pub fixes: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { segments: Segments(4), least_per_window: 2, fixes: false }
    }
}

#[derive(Debug)]
struct Nth {
    parameters: Parameters,
    pace: Pace,
}

impl Poll for Nth {
    fn asks(&mut self, outgoing: &Outgoing) -> bool {
        let share = outgoing.window / u64::from(self.parameters.least_per_window.max(1));
        self.pace.asks(outgoing, share.min(outgoing.smss * self.parameters.segments.0))
    }

    fn fixes(&self) -> bool {
        self.parameters.fixes
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.segments.0 == 0 {
            return Err(refusal(
                "segments is 0 segments, and none would ask",
                "\"1 segment\", which asks with each, or more",
            ));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Poll> = Algorithm::checked(
    "nth",
    "every n-th segment asks for an ACK, and at least two in a window",
    "Landström 2008 §6.3",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Nth { parameters: parameters.clone(), pace: Pace::default() })
    }),
);

#[cfg(test)]
mod tests {
    use units::{Bytes, Seq};

    use super::*;

    fn asking(policy: &mut Nth, window: u64, segments: u32) -> Vec<u32> {
        let smss = Bytes(1000);
        let sent = |number: u32| Outgoing {
            len: smss,
            end: Seq(number * 1000),
            window: smss * window,
            smss,
            again: false,
            last: false,
        };
        (1..=segments).filter(|number| policy.asks(&sent(*number))).collect()
    }

    #[test]
    fn every_fourth_segment_asks_in_a_large_window() {
        let mut policy = Nth { parameters: Parameters::default(), pace: Pace::default() };
        assert_eq!(asking(&mut policy, 20, 12), [4, 8, 12]);
    }

    #[test]
    fn a_small_window_has_two_that_ask() {
        let mut policy = Nth { parameters: Parameters::default(), pace: Pace::default() };
        assert_eq!(asking(&mut policy, 4, 6), [2, 4, 6]);
        assert_eq!(asking(&mut policy, 2, 3), [1, 2, 3]);
    }

    #[test]
    fn a_window_of_an_odd_number_has_no_fewer_than_two() {
        let new = || Nth { parameters: Parameters::default(), pace: Pace::default() };
        assert_eq!(asking(&mut new(), 3, 9), [2, 3, 5, 6, 8, 9]);
        assert_eq!(asking(&mut new(), 5, 10), [3, 5, 8, 10]);
    }
}
