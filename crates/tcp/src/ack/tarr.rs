//! TCP ACK Rate Request, its receiver (draft-ietf-tcpm-ack-rate-request): an ACK for as many full-sized segments as the
//! sender (`poll/tarr.rs`) has requested last, and at once for a segment that requests that.
//!
//! Until there is a request, and where the peer does not announce that it knows them, ACKs are delayed as of RFC 5681:
//! two segments, or a timeout. Data around a gap are acknowledged at once whatever is requested.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};
use wire::AckScheme;

use super::{AckPolicy, Data, Traits, When};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Greatest number of full-sized segments for an ACK with which it complies; a greater request counts as this one.
    /// Default: 127, the greatest that the option can say.
    #[schemars(range(min = 1, max = 127))]
    pub most: u8,
    /// Maximum delay of an ACK. Default: 200 ms; RFC 5681 §4.2: below 500 ms.
    pub timeout: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { most: 127, timeout: Duration::from_millis(200) }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if !(1..=AckScheme::Tarr.greatest()).contains(&self.most) {
            return Err(refusal(format!("most is {}, which no request says", self.most), "from 1 to 127"));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Tarr {
    parameters: Parameters,
    /// Segments for an ACK.
    ratio: u8,
    /// Bytes that wait for their acknowledgment.
    waiting: Bytes,
}

impl AckPolicy for Tarr {
    fn on_data(&mut self, data: &Data) -> When {
        self.waiting += data.len;
        if data.polled || data.around_a_gap() || self.waiting >= data.full * u64::from(self.ratio) {
            When::Now
        } else {
            When::Within(self.parameters.timeout)
        }
    }

    fn on_request(&mut self, ratio: u8) {
        self.ratio = ratio.min(self.parameters.most);
    }

    fn on_ack_sent(&mut self) {
        self.waiting = Bytes::ZERO;
    }

    fn traits(&self) -> Traits {
        Traits { complies: Some(AckScheme::Tarr), stretches: true, ..Traits::default() }
    }
}

/// RFC 5681 §4.2.
const STANDARD: u8 = 2;

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "tarr",
    "for as many segments as the sender requests (`poll`; for two if it does not), and at once around gaps",
    "draft-ietf-tcpm-ack-rate-request",
    &Checked(Parameters::check, |parameters: &Parameters| {
        Box::new(Tarr {
            parameters: parameters.clone(),
            ratio: STANDARD.min(parameters.most),
            waiting: Bytes::ZERO,
        })
    }),
);

#[cfg(test)]
mod tests {
    use super::super::testing::data;
    use super::*;
    use crate::reassembly::Arrival;

    fn policy(most: u8) -> Tarr {
        let parameters = Parameters { most, ..Parameters::default() };
        Tarr { parameters, ratio: STANDARD, waiting: Bytes::ZERO }
    }

    /// The numbers of those of `segments` segments that are acknowledged at once.
    fn acknowledged(policy: &mut Tarr, segments: u64) -> Vec<u64> {
        let at_once = |number: &u64| {
            let now = policy.on_data(&data(*number, Arrival::InOrder)) == When::Now;
            if now {
                policy.on_ack_sent();
            }
            now
        };
        (1..=segments).filter(at_once).collect()
    }

    #[test]
    fn it_complies_with_the_last_request_up_to_its_bound() {
        let mut policy = policy(5);
        assert_eq!(acknowledged(&mut policy, 6), [2, 4, 6]);
        policy.on_request(3);
        assert_eq!(acknowledged(&mut policy, 6), [3, 6]);
        policy.on_request(100);
        assert_eq!(acknowledged(&mut policy, 10), [5, 10]);
    }

    #[test]
    fn a_bound_that_no_request_says_is_refused() {
        for (most, fits) in [(0, false), (1, true), (127, true), (128, false)] {
            assert_eq!(Parameters { most, ..Parameters::default() }.check().is_ok(), fits, "{most}");
        }
    }
}
