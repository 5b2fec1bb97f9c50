//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation, Linux' `tcp_rate.c`): how fast the network has
//! carried the data that an ACK reports.
//!
//! With each segment is kept what was delivered when it was sent. When the segment is delivered itself, cumulatively or
//! selectively, the difference was delivered in the time between: the longer of the time in which it was sent and the
//! time in which it was acknowledged, so that neither a burst of segments nor one of ACKs looks like a faster network.
//!
//! The [`Scoreboard`](crate::scoreboard::Scoreboard) has one where congestion control asks for it, and reports what is
//! sent, delivered and marked as lost. Without it nothing is kept.

use std::cmp::Reverse;
use std::collections::VecDeque;

use units::{Bytes, Duration, Instant, Seq};

use super::sent::Sent;
use crate::windowed_max::WindowedMax;

/// The state of a connection as far as samples need it; the draft's names, beginning with `C.`, in brackets.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    /// Data delivered so far (`C.delivered`).
    delivered: Bytes,
    /// Time at which that last grew (`C.delivered_time`).
    delivered_at: Instant,
    /// Time at which the segment was sent that was delivered last, which begins the sending time of the next sample
    /// (`C.first_sent_time`).
    first_sent: Instant,
    /// Data marked as lost so far.
    lost: Bytes,
    /// The part of both that samples have reported.
    delivered_reported: Bytes,
    lost_reported: Bytes,
    /// Delivered data up to which samples are limited by the application (`C.app_limited`).
    application_limited: Option<Bytes>,
    /// The shortest round trip of five minutes, in nanoseconds (Linux' `tcp_min_rtt_wlen`).
    min_rtt: WindowedMax<Reverse<u64>>,
    /// One for each segment on the board, in its order.
    snapshots: VecDeque<Snapshot>,
    /// The segment sent last of those which the present ACK delivers.
    newest: Option<Newest>,
    /// Amount marked as lost and not reported yet.
    lost_segments: Vec<LostSegment>,
}

/// State kept with a segment when it is sent; the draft's names begin with `P.`.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    delivered: Bytes,
    delivered_at: Instant,
    first_sent: Instant,
    lost: Bytes,
    in_flight: Bytes,
    application_limited: bool,
    /// The segment was delivered: it gives no other sample.
    counted: bool,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    snapshot: Snapshot,
    sent: Instant,
    end: Seq,
    retransmitted: bool,
}

/// The speed of the network as an ACK shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Data that was delivered since the newest segment that the ACK delivers was sent.
    pub delivered: Bytes,
    /// The time in which that was; `None` where it is shorter than the shortest round trip, and means nothing.
    pub interval: Option<Duration>,
    /// All data that were delivered when that segment was sent: a count of round trips in packets compares it.
    pub prior_delivered: Bytes,
    /// Data marked as lost since then.
    pub lost: Bytes,
    /// Data in the network when that segment was sent, with it.
    pub in_flight: Bytes,
    /// Whether the application had too little to send then, so that the path may be faster than the sample.
    pub application_limited: bool,
    /// Whether that segment was a retransmission.
    pub retransmitted: bool,
}

impl RateSample {
    /// The rate in bytes per second, where the sample has one.
    #[must_use]
    pub fn bytes_per_sec(&self) -> Option<f64> {
        let interval = self.interval.filter(|interval| !interval.is_zero())?;
        Some(self.delivered.0 as f64 / interval.as_secs_f64())
    }
}

/// A segment that was marked as lost, with the state of things when it was last sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its data.
    pub size: Bytes,
    /// Data in the network when it was sent, with it.
    pub in_flight: Bytes,
    /// Data marked as lost since it was sent, with it.
    pub lost: Bytes,
    /// All data that were delivered when it was sent.
    pub prior_delivered: Bytes,
    /// Whether the application had too little to send then.
    pub application_limited: bool,
}

impl Default for DeliveryRate {
    fn default() -> Self {
        Self {
            delivered: Bytes::ZERO,
            delivered_at: Instant::START,
            first_sent: Instant::START,
            lost: Bytes::ZERO,
            delivered_reported: Bytes::ZERO,
            lost_reported: Bytes::ZERO,
            // Linux: a connection is limited until something is delivered (`tcp_init_sock`).
            application_limited: Some(Bytes::ZERO),
            min_rtt: WindowedMax::EMPTY,
            snapshots: VecDeque::new(),
            newest: None,
            lost_segments: Vec::new(),
        }
    }
}

impl DeliveryRate {
    /// A new segment is sent; `pipe` is the data in the network with it.
    pub(crate) fn on_new(&mut self, now: Instant, pipe: Bytes) {
        if self.snapshots.is_empty() {
            // Nothing was in flight: the time without sending is not part of any sample.
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let snapshot = self.snapshot(pipe);
        self.snapshots.push_back(snapshot);
    }

    /// The segment at `index` is sent again.
    pub(crate) fn on_retransmitted(&mut self, index: usize, pipe: Bytes) {
        self.snapshots[index] = self.snapshot(pipe);
    }

    /// The segment at `index` is cut in two.
    pub(crate) fn on_split(&mut self, index: usize) {
        self.snapshots.insert(index + 1, self.snapshots[index]);
    }

    fn snapshot(&self, in_flight: Bytes) -> Snapshot {
        let Self { delivered, delivered_at, first_sent, lost, .. } = *self;
        let application_limited = self.application_limited.is_some();
        Snapshot { delivered, delivered_at, first_sent, lost, in_flight, application_limited, counted: false }
    }

    /// The first segment is acknowledged, and leaves the board.
    pub(crate) fn on_acknowledged(&mut self, sent: &Sent) {
        if let Some(snapshot) = self.snapshots.pop_front() {
            self.on_delivered(snapshot, sent);
        }
    }

    /// The segment at `index` is SACKed for the first time.
    pub(crate) fn on_sacked(&mut self, index: usize, sent: &Sent) {
        let snapshot = self.snapshots[index];
        self.snapshots[index].counted = true;
        self.on_delivered(snapshot, sent);
    }

    /// A part of the first segment is acknowledged; the rest stays.
    pub(crate) fn on_shortened(&mut self, part: Bytes) {
        if self.snapshots.front().is_some_and(|snapshot| !snapshot.counted) {
            self.delivered += part;
        }
    }

    fn on_delivered(&mut self, snapshot: Snapshot, sent: &Sent) {
        if snapshot.counted || sent.size().is_zero() {
            return;
        }
        // Whatever the board forgets of SACKs after a timeout: a segment is delivered once.
        self.delivered += sent.size();
        let is_newest = self.newest.is_none_or(|newest| {
            sent.last_sent > newest.sent
                || (sent.last_sent == newest.sent && sent.range.end.after(newest.end))
        });
        if is_newest {
            let retransmitted = sent.transmissions > 1;
            self.first_sent = sent.last_sent;
            self.newest = Some(Newest { snapshot, sent: sent.last_sent, end: sent.range.end, retransmitted });
        }
    }

    /// The segment at `index`, with `size` bytes of data, is marked as lost.
    pub(crate) fn on_lost(&mut self, index: usize, size: Bytes) {
        self.lost += size;
        let Snapshot { delivered, lost, in_flight, application_limited, .. } = self.snapshots[index];
        let lost = self.lost - lost;
        self.lost_segments.push(LostSegment {
            size,
            in_flight,
            lost,
            prior_delivered: delivered,
            application_limited,
        });
    }

    /// The user writes while less than a segment waits, nothing is to be sent again, and the window has room: what is
    /// in the network now, `pipe`, is all that there was to send (`CheckIfApplicationLimited`).
    pub(crate) fn on_application_limited(&mut self, pipe: Bytes) {
        self.application_limited = Some(self.delivered + pipe);
    }

    /// A round trip was measured.
    pub(crate) fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        self.min_rtt.update(MIN_RTT_WINDOW.as_nanos(), now.as_nanos(), Reverse(rtt.as_nanos()));
    }

    /// An ACK is entered on the board (`GenerateRateSample`): what it has newly delivered, and the sample, if a segment
    /// gives one.
    pub(crate) fn on_ack(&mut self, now: Instant) -> (Bytes, Option<RateSample>) {
        let newly_delivered = self.delivered - self.delivered_reported;
        self.delivered_reported = self.delivered;
        if self.application_limited.is_some_and(|until| self.delivered > until) {
            self.application_limited = None;
        }
        if !newly_delivered.is_zero() {
            self.delivered_at = now;
        }
        let sample = self.newest.take().map(|newest| self.sample(now, &newest));
        (newly_delivered, sample)
    }

    fn sample(&self, now: Instant, newest: &Newest) -> RateSample {
        let Newest { snapshot, sent, retransmitted, .. } = *newest;
        let sending = sent.saturating_since(snapshot.first_sent);
        let acknowledging = now.saturating_since(snapshot.delivered_at);
        let interval = sending.max(acknowledging);
        let shortest = self.min_rtt.get().map_or(Duration::ZERO, |Reverse(rtt)| Duration::from_nanos(rtt));
        RateSample {
            delivered: self.delivered - snapshot.delivered,
            interval: (interval >= shortest).then_some(interval),
            prior_delivered: snapshot.delivered,
            lost: self.lost - snapshot.lost,
            in_flight: snapshot.in_flight,
            application_limited: snapshot.application_limited,
            retransmitted,
        }
    }

    /// The time since the newest segment that the present ACK delivers was sent, if it was sent once.
    pub(crate) fn newest_rtt(&self, now: Instant) -> Option<Duration> {
        let newest = self.newest.filter(|newest| !newest.retransmitted)?;
        Some(now.saturating_since(newest.sent))
    }

    /// Data delivered so far.
    #[must_use]
    pub const fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Data marked as lost so far.
    #[must_use]
    pub const fn lost(&self) -> Bytes {
        self.lost
    }

    /// Whether the application has too little to send.
    #[must_use]
    pub const fn is_application_limited(&self) -> bool {
        self.application_limited.is_some()
    }

    /// Data marked as lost since the last call.
    pub(crate) fn take_newly_lost(&mut self) -> Bytes {
        let newly = self.lost - self.lost_reported;
        self.lost_reported = self.lost;
        newly
    }

    /// The segments marked as lost since [`DeliveryRate::forget_lost_segments`] was last called.
    pub(crate) fn lost_segments(&self) -> &[LostSegment] {
        &self.lost_segments
    }

    /// The segments marked as lost so far are reported.
    pub(crate) fn forget_lost_segments(&mut self) {
        self.lost_segments.clear();
    }
}

/// Linux: `sysctl net.ipv4.tcp_min_rtt_wlen`, 300 s.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use units::SeqRange;
    use wire::Payload;

    use super::*;
    use crate::scoreboard::{New, Scoreboard};

    const SMSS: u64 = 1000;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn board() -> Scoreboard {
        Scoreboard::with_delivery_rate(true)
    }

    /// Segment `number` is sent.
    fn send(board: &mut Scoreboard, number: u32, millis: u64) {
        let range = SeqRange::new(Seq(number * 1000), 1000);
        let payload = Payload::Pattern { offset: u64::from(range.start.0), len: 1000 };
        board.push(New { range, payload, syn: false, fin: false }, at(millis), Bytes::ZERO);
    }

    /// All before segment `number` is acknowledged.
    fn acknowledge(board: &mut Scoreboard, number: u32, millis: u64) -> Option<RateSample> {
        board.acknowledge(Seq(number * 1000));
        board.delivery_rate_mut().expect("it is kept").on_ack(at(millis)).1
    }

    fn sack(board: &mut Scoreboard, numbers: std::ops::Range<u32>, millis: u64) -> Option<RateSample> {
        let len = (numbers.end - numbers.start) * 1000;
        board.sack(SeqRange::new(Seq(numbers.start * 1000), len));
        board.delivery_rate_mut().expect("it is kept").on_ack(at(millis)).1
    }

    #[test]
    fn a_window_that_is_acknowledged_evenly_is_delivered_at_the_rate_of_its_acks() {
        let mut board = board();
        (0..4).for_each(|number| send(&mut board, number, u64::from(number) * 10));
        let first = acknowledge(&mut board, 1, 100).expect("a sample");
        assert_eq!((first.delivered, first.interval), (Bytes(SMSS), Some(Duration::from_millis(100))));
        // Segment 4 leaves when the first is acknowledged; until its own ACK three others come.
        send(&mut board, 4, 100);
        for number in 2..5 {
            acknowledge(&mut board, number, 90 + u64::from(number) * 10);
        }
        let sample = acknowledge(&mut board, 5, 200).expect("a sample");
        assert_eq!((sample.delivered, sample.prior_delivered), (Bytes(4 * SMSS), Bytes(SMSS)));
        assert_eq!(sample.interval, Some(Duration::from_millis(100)));
        assert_eq!(sample.bytes_per_sec(), Some(40_000.0));
    }

    #[test]
    fn acks_that_come_at_once_do_not_look_like_a_faster_network() {
        let mut board = board();
        (0..4).for_each(|number| send(&mut board, number, u64::from(number) * 30));
        acknowledge(&mut board, 1, 100);
        // The sending took 90 ms, the ACKs of the other three came in a burst.
        let sample = acknowledge(&mut board, 4, 101).expect("a sample");
        assert_eq!((sample.delivered, sample.interval), (Bytes(4 * SMSS), Some(Duration::from_millis(101))));
    }

    #[test]
    fn what_was_sacked_is_not_counted_again_and_losses_are_reported() {
        let mut board = board();
        (0..4).for_each(|number| send(&mut board, number, 0));
        let sample = sack(&mut board, 1..4, 100).expect("a sample");
        assert_eq!(sample.delivered, Bytes(3 * SMSS));
        board.mark_lost(0, crate::Cause::FastRetransmit);
        let rate = board.delivery_rate_mut().expect("it is kept");
        assert_eq!(rate.take_newly_lost(), Bytes(SMSS));
        assert_eq!(rate.take_newly_lost(), Bytes::ZERO);
        let lost: Vec<_> =
            rate.lost_segments().iter().map(|lost| (lost.size, lost.in_flight, lost.lost)).collect();
        assert_eq!(lost, [(Bytes(SMSS), Bytes(SMSS), Bytes(SMSS))]);
        board.on_retransmitted(0, at(100), Bytes::ZERO);
        let sample = acknowledge(&mut board, 4, 200).expect("a sample");
        assert_eq!((sample.delivered, sample.lost, sample.retransmitted), (Bytes(SMSS), Bytes::ZERO, true));
    }

    #[test]
    fn what_a_timeout_makes_the_board_forget_is_delivered_once() {
        let mut board = board();
        (0..4).for_each(|number| send(&mut board, number, 0));
        sack(&mut board, 1..4, 100);
        board.forget_sacks();
        board.on_retransmitted(0, at(300), Bytes::ZERO);
        let sample = acknowledge(&mut board, 4, 400).expect("a sample");
        assert_eq!(sample.delivered, Bytes(SMSS));
        assert_eq!(board.delivery_rate().map(DeliveryRate::delivered), Some(Bytes(4 * SMSS)));
    }

    #[test]
    fn a_sample_shorter_than_the_shortest_round_trip_has_no_rate() {
        let mut board = board();
        send(&mut board, 0, 0);
        board.delivery_rate_mut().expect("it is kept").on_rtt(at(0), Duration::from_millis(50));
        let sample = acknowledge(&mut board, 1, 40).expect("a sample");
        assert_eq!((sample.interval, sample.bytes_per_sec()), (None, None));
    }

    #[test]
    fn samples_are_limited_by_the_application_until_what_was_in_flight_is_delivered() {
        let mut board = board();
        send(&mut board, 0, 0);
        board.delivery_rate_mut().expect("it is kept").on_application_limited(Bytes(SMSS));
        send(&mut board, 1, 10);
        assert!(acknowledge(&mut board, 1, 100).expect("a sample").application_limited, "the first flight");
        assert!(acknowledge(&mut board, 2, 110).expect("a sample").application_limited);
        assert!(!board.delivery_rate_mut().expect("it is kept").is_application_limited());
    }
}
