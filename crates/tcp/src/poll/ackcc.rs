//! ACK congestion control, its sender (RFC 5690 §4.4 and §4.5): sends the receiver the ACK ratio R, doubles it for a
//! window of data with lost or marked ACKs, and decreases it by one after cwnd/(SMSS·(R² − R)) windows without.
//!
//! An ACK that acknowledges more than R segments shows that an ACK was lost. From the three ways that §4.4 leaves open,
//! the sender here detects nothing from a change of R until the segment that carried it is acknowledged, which also
//! keeps changes a round trip apart; nor while data are missing or a loss is being repaired (§4.4.1). ACKs that
//! overtake one another count as lost (§5.4 leaves it open). R is between two and half of the window in segments, and
//! two after a timeout (§4.5, rule 2 and §4.5.1). §4.7 wants bytes to be counted and bursts to be paced, which the
//! profile has to set. The kinds of the two options were never assigned: they are written with the experimental kind
//! 254 and the identifier 5690 (RFC 6994). Each segment leaves room for the option.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use wire::AckScheme;

use super::requested::Requested;
use super::{Acked, Outgoing, Poll};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of ACKs in a window that the ratio leaves: K of RFC 5690 §4.5, rule 2. Default: 2.
    #[schemars(range(min = 1))]
    pub least_per_window: u32,
    /// Greatest ratio, whatever the window: J of RFC 5690 §4.5. Default: 255, as much as the option can say.
    #[schemars(range(min = 2, max = 255))]
    pub most: u8,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { least_per_window: 2, most: 255 }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.least_per_window == 0 {
            return Err(refusal("least_per_window is 0, and the sender would get no ACK", "1 or more"));
        }
        if self.most < LEAST {
            return Err(refusal(format!("most is {}, below the first ratio", self.most), "from 2 to 255"));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct AckCc {
    parameters: Parameters,
    requested: Requested,
    /// Data still to be acknowledged without a lost ACK before the ratio decreases.
    quiet: Bytes,
}

impl AckCc {
    const fn new(parameters: Parameters) -> Self {
        Self { parameters, requested: Requested::known(LEAST), quiet: Bytes::ZERO }
    }

    /// §4.5, rules 2 and 3.
    fn greatest(&self, ack: &Acked) -> u8 {
        let share = ack.cwnd.0.div_ceil(u64::from(self.parameters.least_per_window) * ack.smss.0);
        share.clamp(u64::from(LEAST), u64::from(self.parameters.most)) as u8
    }

    fn set(&mut self, ratio: u8, ack: &Acked) {
        self.requested.set(ratio);
        // cwnd/(SMSS·(R² − R)) windows, at least one. §4.5: determined right after the event.
        let ratio = u64::from(ratio);
        let windows = ack.cwnd.whole(ack.smss) as f64 / (ratio * ratio - ratio) as f64;
        self.quiet = Bytes((ack.cwnd.0 as f64 * windows.max(1.0)) as u64);
    }
}

impl Poll for AckCc {
    fn asks(&mut self, _: &Outgoing) -> bool {
        false
    }

    fn is_on(&self) -> bool {
        false
    }

    fn scheme(&self) -> Option<AckScheme> {
        Some(AckScheme::AckCc)
    }

    fn request(&mut self, outgoing: &Outgoing) -> Option<u8> {
        self.requested.request(outgoing)
    }

    fn on_ack(&mut self, ack: &Acked) {
        let known = self.requested.is_known();
        self.requested.on_ack(ack.number);
        let (ratio, greatest) = (self.requested.ratio(), self.greatest(ack));
        if ratio > greatest {
            return self.set(greatest, ack);
        }
        if !known || ack.repairing {
            return;
        }
        if ack.marked || ack.len > ack.smss * u64::from(ratio) {
            return self.set(ratio.saturating_mul(2).min(greatest), ack);
        }
        self.quiet = self.quiet.saturating_sub(ack.len);
        if self.quiet.is_zero() && ratio > LEAST {
            self.set(ratio - 1, ack);
        }
    }

    /// §4.5.1: at most two.
    fn on_timeout(&mut self) {
        self.requested.set(LEAST);
    }
}

/// The first ratio (§4.1), and the least: §4.5 permits one for windows of three segments, and a sender to leave it out.
const LEAST: u8 = 2;

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Poll> = Algorithm::checked(
    "ackcc",
    "ACK congestion control: an ACK ratio that doubles when ACKs are lost or marked; with ack = \"ackcc\"",
    "RFC 5690",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(AckCc::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use units::Seq;

    use super::*;

    const SMSS: Bytes = Bytes(1000);

    fn ack(number: u32, segments: u64, window: u64) -> Acked {
        let (number, len, cwnd) = (Seq(number * 1000), SMSS * segments, SMSS * window);
        Acked { number, len, marked: false, repairing: false, cwnd, smss: SMSS }
    }

    fn request(policy: &mut AckCc, number: u32) -> Option<u8> {
        let (end, window) = (Seq(number * 1000), SMSS * 40);
        policy.request(&Outgoing { len: SMSS, end, window, smss: SMSS, again: false, last: false })
    }

    /// A policy whose receiver applies `ratio` in a window of 40 segments.
    fn with_ratio(ratio: u8) -> AckCc {
        let mut policy = AckCc::new(Parameters::default());
        policy.set(ratio, &ack(0, 0, 40));
        policy.requested = Requested::known(ratio);
        policy
    }

    #[test]
    fn a_lost_or_marked_ack_doubles_the_ratio_once_in_a_round_trip() {
        let mut policy = AckCc::new(Parameters::default());
        policy.on_ack(&ack(2, 2, 40));
        assert_eq!(request(&mut policy, 50), None);
        policy.on_ack(&ack(6, 4, 40));
        policy.on_ack(&ack(10, 4, 40));
        assert_eq!(request(&mut policy, 51), Some(4));
        policy.on_ack(&ack(16, 6, 40));
        assert_eq!(request(&mut policy, 52), None, "the last change is not known to have arrived");
        policy.on_ack(&ack(51, 6, 40));
        policy.on_ack(&Acked { marked: true, ..ack(55, 4, 40) });
        assert_eq!(request(&mut policy, 60), Some(8));
    }

    #[test]
    fn the_ratio_leaves_two_acks_in_a_window_and_follows_one_that_shrinks() {
        let mut policy = with_ratio(16);
        policy.on_ack(&ack(32, 32, 40));
        assert_eq!(request(&mut policy, 33), Some(20));
        policy.on_ack(&ack(33, 1, 40));
        policy.on_ack(&ack(40, 7, 19));
        assert_eq!(request(&mut policy, 41), Some(10));
    }

    #[test]
    fn windows_without_lost_acks_decrease_the_ratio_by_one() {
        let mut policy = with_ratio(4);
        // 40/(16 - 4) windows of 40 segments are 133 of them.
        for number in 1..=33 {
            policy.on_ack(&ack(4 * number, 4, 40));
            assert_eq!(request(&mut policy, 200), None, "{number}");
        }
        policy.on_ack(&ack(136, 4, 40));
        assert_eq!(request(&mut policy, 200), Some(3));
    }

    #[test]
    fn nothing_is_detected_while_a_loss_is_repaired_and_a_timeout_starts_over() {
        let mut policy = with_ratio(8);
        policy.on_ack(&Acked { repairing: true, ..ack(30, 30, 40) });
        assert_eq!(request(&mut policy, 40), None);
        policy.on_timeout();
        assert_eq!(request(&mut policy, 41), Some(2));
    }
}
