//! Tail loss probes (RFC 8985 §7): when the last segments of a flight are lost, no later segment draws an ACK that
//! reports it. After two round trips of silence a probe, one new segment or the last one again, draws such an ACK, long
//! before the retransmission timer expires.
//!
//! The probe timer replaces the retransmission timer while it runs (§7.2), as in Linux.

use units::{Duration, Instant, Seq};

use crate::recovery::{AckEvent, TailProbes};

/// The probing of the tail; names in brackets are those of RFC 8985 §7.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailLossProbe {
    /// Method of probing; `None` if the tail is not probed.
    probes: Option<TailProbes>,
    /// The retransmission timer stands for the probe timer.
    armed: bool,
    /// Time at which the retransmission timer that the probe timer replaced last would have expired.
    expiry: Option<Instant>,
    /// A probe is due.
    due: bool,
    /// The probe that was not answered yet.
    outstanding: Option<Probe>,
}

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT when it was sent (`TLP.end_seq`).
    end: Seq,
    /// Whether it repeats the last segment (`TLP.is_retrans`).
    again: bool,
}

/// §7.2: wait for a probe before the first round-trip sample.
const WITHOUT_SAMPLE: Duration = Duration::from_secs(1);

impl TailLossProbe {
    /// The handshake is done, which decides whether the tail is probed.
    pub(super) fn settle(&mut self, probes: Option<TailProbes>) {
        *self = Self { probes, ..Self::default() };
    }

    /// Whether the tail is probed.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.probes.is_some()
    }

    /// Whether the retransmission timer stands for the probe timer.
    #[inline]
    pub(super) const fn is_armed(&self) -> bool {
        self.armed
    }

    /// Whether a probe is due.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// Whether an ACK may be the answer to a probe.
    #[inline]
    pub(super) const fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// The retransmission timer is set as such.
    #[inline]
    pub(super) const fn disarm(&mut self) {
        self.armed = false;
    }

    /// A loss was found, and no probe is needed any more.
    pub(super) const fn end(&mut self) {
        (self.armed, self.due, self.outstanding) = (false, false, None);
    }

    /// Time to wait for an ACK before a probe, where `alone` says that one segment is in flight; `None` where no
    /// further probe may be scheduled.
    pub(super) fn wait(&self, srtt: Option<Duration>, alone: bool) -> Option<Duration> {
        let probes = self.probes.filter(|_| self.outstanding.is_none())?;
        let extra = if alone { probes.max_ack_delay } else { probes.slack };
        Some(srtt.map_or(WITHOUT_SAMPLE, |srtt| srtt * 2 + extra))
    }

    /// Time at which the replaced retransmission timer would expire, while the probe timer runs.
    pub(super) const fn replaced(&self) -> Option<Instant> {
        if self.armed { self.expiry } else { None }
    }

    /// Time at which the retransmission timer that was replaced last would have expired.
    pub(super) const fn expiry(&self) -> Option<Instant> {
        self.expiry
    }

    /// The probe timer replaces a retransmission timer that would expire at `expiry`.
    pub(super) const fn arm(&mut self, expiry: Instant) {
        self.armed = true;
        self.expiry = Some(expiry);
    }

    /// The probe timer has expired (§7.3): returns whether a probe is due. One probe may be unanswered at a time.
    pub(super) const fn begin_probe(&mut self) -> bool {
        self.armed = false;
        self.due = self.outstanding.is_none() || self.due;
        self.outstanding.is_none()
    }

    /// The probe that was due cannot be sent.
    pub(super) const fn cancel(&mut self) {
        self.due = false;
    }

    /// The probe leaves; SND.NXT is then `end`. `again`: it repeats the last segment.
    pub(super) const fn sent(&mut self, end: Seq, again: bool) {
        self.due = false;
        self.outstanding = Some(Probe { end, again });
    }

    /// An ACK arrived: what it says of the probe.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Answer {
        let answer = self.outstanding.map_or(Answer::None, |probe| probe.answered_by(ack));
        if answer != Answer::None {
            self.outstanding = None;
        }
        answer
    }
}

/// Result of an ACK for the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing yet.
    None,
    /// Nothing was lost.
    NothingLost,
    /// The probe has repaired a loss, which is one like any other for congestion control.
    Repaired,
}

impl Probe {
    /// `TLP_process_ack()` of §7.4.2.
    fn answered_by(&self, ack: &AckEvent) -> Answer {
        if ack.number.before(self.end) {
            return Answer::None;
        }
        let twice = ack.dsack.is_some_and(|twice| twice.end == self.end);
        let mere_duplicate = !ack.advances && ack.newly_sacked.is_zero();
        if !self.again || twice {
            Answer::NothingLost
        } else if ack.number.after(self.end) {
            Answer::Repaired
        } else if mere_duplicate {
            Answer::NothingLost
        } else {
            Answer::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probing() -> TailLossProbe {
        let probes =
            TailProbes { max_ack_delay: Duration::from_millis(200), slack: Duration::from_millis(2) };
        let mut probe = TailLossProbe::default();
        probe.settle(Some(probes));
        probe
    }

    #[test]
    fn a_lone_segment_leaves_time_for_a_delayed_ack() {
        let srtt = Some(Duration::from_millis(50));
        assert_eq!(probing().wait(srtt, false), Some(Duration::from_millis(102)));
        assert_eq!(probing().wait(srtt, true), Some(Duration::from_millis(300)));
        assert_eq!(probing().wait(None, true), Some(WITHOUT_SAMPLE));
    }

    #[test]
    fn one_probe_is_unanswered_at_a_time() {
        let mut probe = probing();
        assert!(probe.begin_probe() && probe.is_due());
        probe.sent(Seq(1000), true);
        assert_eq!((probe.is_due(), probe.wait(None, true)), (false, None));
        assert!(!probe.begin_probe() && !probe.is_due());
    }

    #[test]
    fn an_ack_beyond_a_repeated_segment_shows_that_it_repaired_a_loss() {
        let ack = |number| AckEvent { number: Seq(number), advances: true, ..AckEvent::default() };
        let mut probe = probing();
        probe.sent(Seq(1000), true);
        assert_eq!(probe.on_ack(&ack(500)), Answer::None);
        assert_eq!((probe.on_ack(&ack(2000)), probe.is_outstanding()), (Answer::Repaired, false));
    }
}
