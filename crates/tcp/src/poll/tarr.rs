//! TCP ACK Rate Request, its sender (draft-ietf-tcpm-ack-rate-request): segments request, by an option, an ACK for
//! every R full-sized segments from then on, or one ACK at once (R = 0).
//!
//! The draft leaves to the sender which R it requests. Here it is the window divided by the number of ACKs that the
//! sender wants in it, and at least 1: a small window gets an ACK for each segment, which the draft names as a use. A
//! new request goes out only when R has changed and the last request is acknowledged, and so at most once in a round
//! trip. A retransmission repeats a request that is not acknowledged. The last segment before a pause requests an ACK
//! at once. Each segment leaves room for the option.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::AckScheme;

use super::requested::Requested;
use super::{Acked, Outgoing, Poll};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of ACKs that the sender wants in a window. Default: 4, as 4W of Landström 2008 §6.3; the draft has none.
    #[schemars(range(min = 1))]
    pub acks: u32,
    /// Greatest number of segments for an ACK. Default: 16, so that an ACK never releases more; the option says up to
    /// 127.
    #[schemars(range(min = 1, max = 127))]
    pub most: u8,
    /// Whether the last segment before a pause of the sender requests an ACK at once. Default: true.
    pub last_at_once: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { acks: 4, most: 16, last_at_once: true }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.acks == 0 {
            return Err(refusal("acks is 0, and the sender would get none", "1 or more"));
        }
        if !(1..=AckScheme::Tarr.greatest()).contains(&self.most) {
            return Err(refusal(format!("most is {}, which no request says", self.most), "from 1 to 127"));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Tarr {
    parameters: Parameters,
    requested: Requested,
}

impl Tarr {
    const fn new(parameters: Parameters) -> Self {
        Self { parameters, requested: Requested::known(STANDARD) }
    }

    fn wanted(&self, outgoing: &Outgoing) -> u8 {
        let share = outgoing.window.whole(outgoing.smss) / u64::from(self.parameters.acks);
        share.clamp(1, u64::from(self.parameters.most)) as u8
    }
}

impl Poll for Tarr {
    fn asks(&mut self, _: &Outgoing) -> bool {
        false
    }

    fn is_on(&self) -> bool {
        false
    }

    fn scheme(&self) -> Option<AckScheme> {
        Some(AckScheme::Tarr)
    }

    fn request(&mut self, outgoing: &Outgoing) -> Option<u8> {
        if outgoing.last && self.parameters.last_at_once {
            return Some(AT_ONCE);
        }
        if self.requested.is_known() {
            self.requested.set(self.wanted(outgoing));
        }
        self.requested.request(outgoing)
    }

    fn on_ack(&mut self, ack: &Acked) {
        self.requested.on_ack(ack.number);
    }
}

/// The ratio of a receiver without a request (RFC 5681 §4.2).
const STANDARD: u8 = 2;
/// The ratio that requests an ACK at once.
const AT_ONCE: u8 = 0;

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Poll> = Algorithm::checked(
    "tarr",
    "segments request an ACK for every R segments by an option, R by the window; with ack = \"tarr\"",
    "draft-ietf-tcpm-ack-rate-request",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Tarr::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use units::{Bytes, Seq};

    use super::*;

    const SMSS: Bytes = Bytes(1000);

    fn outgoing(number: u32, window: u64, again: bool) -> Outgoing {
        Outgoing { len: SMSS, end: Seq(number * 1000), window: SMSS * window, smss: SMSS, again, last: false }
    }

    fn acked(number: u32) -> Acked {
        let (number, len) = (Seq(number * 1000), SMSS);
        Acked { number, len, marked: false, repairing: false, cwnd: SMSS, smss: SMSS }
    }

    #[test]
    fn a_request_follows_the_window_and_waits_for_the_answer_to_the_one_before() {
        let mut tarr = Tarr::new(Parameters::default());
        assert_eq!(tarr.request(&outgoing(1, 3, false)), Some(1));
        assert_eq!(tarr.request(&outgoing(2, 40, false)), None, "not acknowledged yet");
        assert_eq!(tarr.request(&outgoing(1, 40, true)), Some(1), "sent again");
        tarr.on_ack(&acked(1));
        assert_eq!(tarr.request(&outgoing(3, 40, false)), Some(10));
        tarr.on_ack(&acked(3));
        assert_eq!(tarr.request(&outgoing(4, 41, false)), None, "the same as before");
        assert_eq!(tarr.request(&outgoing(5, 4000, false)), Some(16));
    }

    #[test]
    fn the_last_segment_requests_an_ack_at_once() {
        let mut tarr = Tarr::new(Parameters::default());
        assert_eq!(tarr.request(&Outgoing { last: true, ..outgoing(1, 40, false) }), Some(AT_ONCE));
    }
}
