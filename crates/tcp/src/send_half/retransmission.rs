//! The retransmission timer's length as it is now: the estimator, the back-off, and how often it has run out
//! (RFC 6298 §5).

use units::{Duration, Instant, Seq};

use crate::rto::{Backoff, CountsFrom, Estimate, Rto, Sample};

/// The retransmission timer of a sender, apart from whether it is set.
#[derive(Debug)]
pub(crate) struct RetransmissionTimer {
    estimator: Box<dyn Rto>,
    /// The estimator's answers, kept: they are asked for with each segment and change with each sample only.
    estimate: Option<Estimate>,
    /// The shortest round trip, and when it was measured.
    min_rtt: Option<(Duration, Instant)>,
    length: Duration,
    longest: Duration,
    /// Number of doublings of the length.
    backoff: u32,
    backoff_lasts: Backoff,
    counts_from: CountsFrom,
    /// SND.NXT at the last timeout.
    timed_out: Seq,
    /// Number of expirations since the last progress.
    expirations: u32,
    timeouts: u64,
}

impl RetransmissionTimer {
    pub(crate) fn new(estimator: Box<dyn Rto>, iss: Seq) -> Self {
        Self {
            estimate: estimator.estimate(),
            min_rtt: None,
            length: estimator.length(),
            longest: estimator.longest(),
            backoff: 0,
            backoff_lasts: estimator.backoff(),
            counts_from: estimator.counts_from(),
            estimator,
            timed_out: iss,
            expirations: 0,
            timeouts: 0,
        }
    }

    /// A round trip was measured.
    pub(crate) fn on_sample(&mut self, sample: &Sample) {
        let rtt = sample.now - sample.sent;
        let outdated = |(least, at): (Duration, Instant)| rtt <= least || sample.now - at > MIN_RTT_LIFETIME;
        if self.min_rtt.is_none_or(outdated) {
            self.min_rtt = Some((rtt, sample.now));
        }
        self.estimator.on_sample(sample);
        self.keep();
    }

    /// Continues from an estimate.
    pub(crate) fn inherit(&mut self, estimate: Estimate) {
        self.estimator.inherit(estimate);
        self.keep();
    }

    /// The last timeout was spurious: the first round trip of data sent after it is `rtt`, of which a sample was given
    /// already, and the estimate before it was `earlier` (RFC 4015 §3.1, step 11).
    pub(crate) fn on_spurious_timeout(&mut self, rtt: Duration, earlier: Estimate) {
        self.inherit(earlier.after_spurious_timeout(rtt, self.estimator.granularity()));
    }

    /// The handshake has lost a SYN and so gave no sample.
    pub(crate) fn on_lost_syn(&mut self) {
        if self.estimate.is_none() && self.estimator.restarts_after_lost_syn() {
            self.backoff = 0;
            self.keep();
        }
    }

    fn keep(&mut self) {
        (self.estimate, self.length) = (self.estimator.estimate(), self.estimator.length());
    }

    /// An ACK of new data came, up to `number`, and gave a sample or not.
    pub(crate) fn on_new_ack(&mut self, number: Seq, sampled: bool) {
        self.expirations = 0;
        let ends_backoff = match self.backoff_lasts {
            // RFC 6298 §5, its last note.
            Backoff::UntilSample => sampled,
            Backoff::UntilNewAck => true,
            Backoff::UntilNewData => number.after(self.timed_out),
        };
        if ends_backoff {
            self.backoff = 0;
        }
    }

    /// The peer is there, though it acknowledges nothing new.
    pub(crate) const fn on_answer(&mut self) {
        self.expirations = 0;
    }

    /// RFC 6298 §5.5: the timer expired with data up to `nxt` outstanding, and is doubled.
    pub(crate) fn on_timeout(&mut self, nxt: Seq) {
        self.expirations += 1;
        self.timeouts += 1;
        self.backoff += 1;
        self.timed_out = nxt;
    }

    /// A probe of a closed window is due: it stands for a timeout until it is answered.
    pub(crate) fn on_probe(&mut self) {
        self.expirations += 1;
    }

    /// The back-off is over before its time.
    pub(crate) const fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// The round-trip estimate, once there is a sample.
    pub(crate) const fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// The smoothed round-trip time, once there is a sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|estimate| estimate.srtt)
    }

    /// The shortest round trip of the last minutes, once there is a sample.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.map(|(least, _)| least)
    }

    /// The length without back-off.
    pub(crate) const fn base_length(&self) -> Duration {
        self.length
    }

    /// The length, back-off included (RFC 6298 §5.5).
    #[inline]
    pub(crate) fn length(&self) -> Duration {
        if self.backoff == 0 {
            self.length.min(self.longest)
        } else {
            self.estimator.backed_off(self.backoff)
        }
    }

    /// The longest that it may become.
    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }

    /// Time at which a timer runs out that is started at `start`.
    pub(crate) fn runs_out_at(&self, start: Instant) -> Instant {
        self.estimator.runs_out_at(start, self.length())
    }

    /// Whether it counts from the last transmission of the oldest segment, and not from the last ACK.
    pub(crate) fn counts_from_oldest(&self) -> bool {
        self.counts_from == CountsFrom::OldestSent
    }

    /// Number of expirations since the last progress.
    pub(crate) const fn expirations(&self) -> u32 {
        self.expirations
    }

    /// Number of expirations.
    pub(crate) const fn timeouts(&self) -> u64 {
        self.timeouts
    }
}

/// A shortest round trip is forgotten after five minutes, as the path may have changed (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_LIFETIME: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn timer() -> RetransmissionTimer {
        let entry = crate::rto::ENTRIES.iter().find(|entry| entry.id == "rfc6298").expect("it is listed");
        RetransmissionTimer::new(entry.choice(json!({})).expect("defaults do").build(), Seq(0))
    }

    #[test]
    fn each_timeout_doubles_it_up_to_the_longest_until_a_sample_comes() {
        let mut timer = timer();
        let first = timer.length();
        timer.on_timeout(Seq(1000));
        assert_eq!(timer.length(), first * 2);
        (0..20).for_each(|_| timer.on_timeout(Seq(1000)));
        assert_eq!(timer.length(), timer.longest());
        timer.on_new_ack(Seq(1000), false);
        assert_eq!(timer.length(), timer.longest(), "RFC 6298 §5: Karn's rule gave no sample");
        timer.on_new_ack(Seq(2000), true);
        assert_eq!((timer.length(), timer.timeouts()), (first, 21));
    }

    #[test]
    fn what_is_kept_follows_each_sample() {
        let mut timer = timer();
        assert_eq!(timer.srtt(), None);
        let now = Instant::START + Duration::from_secs(9);
        timer.on_sample(&Sample { sent: Instant::START, now, cwnd: 1, flight: 1 });
        assert_eq!(
            (timer.srtt(), timer.base_length()),
            (Some(Duration::from_secs(9)), Duration::from_secs(27))
        );
    }
}
