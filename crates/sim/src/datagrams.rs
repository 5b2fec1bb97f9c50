//! Datagrams of a flow: which of them arrived, and which of those too late.

use std::collections::VecDeque;

use units::{Bytes, Duration, Instant};

use crate::ids::Side;
use crate::measure::FlowReading;

/// A datagram under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    /// The side that sent it. Those of the receiving side are feedback, and do not count as the flow's.
    pub(crate) by: Side,
    /// Its number among the datagrams of that side.
    pub(crate) number: u64,
    /// Time of transmission.
    pub(crate) sent: Instant,
    /// Its header of RTP, if it has one.
    pub(crate) rtp: Option<Rtp>,
}

/// Fields of an RTP header (RFC 3550 §5.1) that change from packet to packet, besides the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rtp {
    /// The number of samples, 8000 a second, since the first packet.
    pub(crate) timestamp: u32,
    /// Whether it is the first after a silence (RFC 3551 §4.1).
    pub(crate) marker: bool,
}

/// The fates of a flow's datagrams.
#[derive(Debug)]
pub(crate) struct Datagrams {
    budget: Option<Duration>,
    /// Time from one packet of RTP to the next.
    rtp: Option<Duration>,
    last_sent: Option<Instant>,
    /// The fate of each datagram from `first` on; all before have arrived or are lost.
    fates: VecDeque<Fate>,
    first: u64,
    /// Datagrams that the receiving side has sent.
    feedback: u64,
    sent: Totals,
    received: Totals,
    late: u64,
    lost: u64,
    /// Runs of consecutive datagrams that were lost or late, among those before `first`.
    loss_bursts: u64,
    /// Whether the datagram before `first` was one of them.
    in_burst: bool,
    span: [Option<Instant>; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    packets: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Not arrived and not lost; how many there are of it, copies made by links included.
    UnderWay(u32),
    Lost,
    Late,
    Received,
}

impl Totals {
    fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size.0;
    }
}

impl Datagrams {
    /// `rtp` is the time from one packet to the next, if they have headers of RTP.
    pub(crate) fn new(budget: Option<Duration>, rtp: Option<Duration>) -> Self {
        Self {
            budget,
            rtp,
            last_sent: None,
            fates: VecDeque::new(),
            first: 0,
            feedback: 0,
            sent: Totals::default(),
            received: Totals::default(),
            late: 0,
            lost: 0,
            loss_bursts: 0,
            in_burst: false,
            span: [None; 2],
        }
    }

    /// A side sends a datagram of `size` bytes.
    pub(crate) fn send(&mut self, now: Instant, by: Side, size: Bytes) -> Datagram {
        match by {
            Side::From => self.send_data(now, size),
            Side::To => self.send_feedback(now),
        }
    }

    fn send_data(&mut self, now: Instant, size: Bytes) -> Datagram {
        let number = self.first + self.fates.len() as u64;
        self.fates.push_back(Fate::UnderWay(1));
        self.sent.add(size);
        let first = *self.span[0].get_or_insert(now);
        let last = self.last_sent.replace(now);
        let rtp = self.rtp.map(|gap| rtp_header(gap, [first, now], last));
        Datagram { by: Side::From, number, sent: now, rtp }
    }

    const fn send_feedback(&mut self, now: Instant) -> Datagram {
        let number = self.feedback;
        self.feedback += 1;
        Datagram { by: Side::To, number, sent: now, rtp: None }
    }

    /// A datagram has arrived. Returns its one-way delay, or nothing for a copy of an earlier arrival.
    pub(crate) fn on_received(&mut self, now: Instant, datagram: Datagram, size: Bytes) -> Option<Duration> {
        let delay = now - datagram.sent;
        let late = self.budget.is_some_and(|budget| delay > budget);
        let fate = self.fate(datagram).filter(|fate| matches!(fate, Fate::UnderWay(_)))?;
        *fate = if late { Fate::Late } else { Fate::Received };
        self.received.add(size);
        self.late += u64::from(late);
        self.span[1] = Some(now);
        self.forget();
        Some(delay)
    }

    /// A link has copied a datagram.
    pub(crate) fn on_copied(&mut self, datagram: Datagram) {
        if let Some(Fate::UnderWay(copies)) = self.fate(datagram) {
            *copies += 1;
        }
    }

    /// A datagram, or a copy of it, was lost. It counts as lost when the last copy is, so that the count never
    /// falls.
    pub(crate) fn on_lost(&mut self, datagram: Datagram) {
        match self.fate(datagram) {
            Some(Fate::UnderWay(copies @ 2..)) => *copies -= 1,
            Some(fate @ Fate::UnderWay(_)) => {
                *fate = Fate::Lost;
                self.lost += 1;
                self.forget();
            }
            _ => {}
        }
    }

    /// Datagrams that have neither arrived nor been lost.
    pub(crate) fn outstanding(&self) -> u64 {
        self.sent.packets - self.received.packets - self.lost
    }

    /// Time at which the first was sent and the last arrived.
    pub(crate) const fn span(&self) -> [Option<Instant>; 2] {
        self.span
    }

    /// Adds the totals to a reading. A sender of datagrams does not learn of their arrival, so `acked` is the
    /// receiver's count.
    pub(crate) fn fill(&self, reading: &mut FlowReading) {
        reading.sent = self.sent.bytes;
        reading.segments = self.sent.packets;
        (reading.acked, reading.received) = (self.received.bytes, self.received.bytes);
        reading.datagrams_received = self.received.packets;
        reading.datagrams_late = self.late;
        reading.datagrams_lost = self.lost;
        reading.loss_bursts = self.loss_bursts;
    }

    /// The fate of a datagram of the sending side that has not been forgotten.
    fn fate(&mut self, datagram: Datagram) -> Option<&mut Fate> {
        let place = datagram.number.checked_sub(self.first).filter(|_| datagram.by == Side::From)?;
        self.fates.get_mut(usize::try_from(place).ok()?)
    }

    fn forget(&mut self) {
        let is_known = |fate: &Fate| !matches!(fate, Fate::UnderWay(_));
        while let Some(fate) = self.fates.front().copied().filter(is_known) {
            self.fates.pop_front();
            let is_missed = fate != Fate::Received;
            self.loss_bursts += u64::from(is_missed && !self.in_burst);
            self.in_burst = is_missed;
            self.first += 1;
        }
    }
}

/// The header of the packet that is sent at the second time, the first of its flow having been sent at the first. The
/// codec's clock continues in silence: timestamps are whole numbers of frames.
fn rtp_header(gap: Duration, [first, now]: [Instant; 2], last: Option<Instant>) -> Rtp {
    let frames = ((now - first).as_nanos() + gap.as_nanos() / 2) / gap.as_nanos();
    let samples = gap.as_nanos() / (NANOS_PER_SEC / SAMPLES_PER_SEC);
    let marker = last.is_none_or(|last| now - last > gap + gap / 2);
    Rtp { timestamp: (frames * samples) as u32, marker }
}

const NANOS_PER_SEC: u64 = 1_000_000_000;
/// The clock of speech (RFC 3551 §4.5).
const SAMPLES_PER_SEC: u64 = 8000;

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    #[test]
    fn late_lost_and_doubled_datagrams_are_distinguished() {
        let mut datagrams = Datagrams::new(Some(Duration::from_millis(50)), None);
        let sent: Vec<Datagram> = (0..4).map(|n| datagrams.send(at(20 * n), Side::From, SIZE)).collect();
        datagrams.on_received(at(30), sent[0], SIZE);
        assert_eq!(datagrams.on_received(at(31), sent[0], SIZE), None);
        assert_eq!(datagrams.on_received(at(71), sent[1], SIZE), Some(Duration::from_millis(51)));
        datagrams.on_lost(sent[2]);
        assert_eq!(datagrams.outstanding(), 1);
        let mut reading = FlowReading::default();
        datagrams.fill(&mut reading);
        assert_eq!((reading.datagrams_received, reading.datagrams_late, reading.datagrams_lost), (2, 1, 1));
    }

    #[test]
    fn datagrams_that_are_lost_or_late_one_after_the_other_are_one_burst() {
        let mut datagrams = Datagrams::new(Some(Duration::from_millis(50)), None);
        let sent: Vec<Datagram> = (0..7).map(|n| datagrams.send(at(20 * n), Side::From, SIZE)).collect();
        [2, 0].into_iter().for_each(|number| datagrams.on_lost(sent[number]));
        datagrams.on_received(at(100), sent[1], SIZE);
        [3, 5, 6].into_iter().for_each(|number| {
            datagrams.on_received(sent[number].sent + Duration::from_millis(30), sent[number], SIZE);
        });
        assert_eq!(datagrams.loss_bursts, 1, "the fifth is under way");
        datagrams.on_lost(sent[4]);
        assert_eq!((datagrams.loss_bursts, datagrams.lost, datagrams.late), (2, 3, 1));
    }

    #[test]
    fn a_datagram_is_lost_with_the_last_of_its_copies_and_not_before() {
        let mut datagrams = Datagrams::new(None, None);
        let [first, second] = [0, 20].map(|ms| datagrams.send(at(ms), Side::From, SIZE));
        [first, second].into_iter().for_each(|datagram| datagrams.on_copied(datagram));
        datagrams.on_lost(first);
        datagrams.on_lost(second);
        assert_eq!((datagrams.lost, datagrams.outstanding()), (0, 2));
        assert_eq!(datagrams.on_received(at(40), first, SIZE), Some(Duration::from_millis(40)));
        datagrams.on_lost(second);
        assert_eq!((datagrams.lost, datagrams.outstanding()), (1, 0));
        assert_eq!(datagrams.on_received(at(60), second, SIZE), None);
    }

    #[test]
    fn timestamps_of_rtp_count_samples_and_the_first_packet_after_a_silence_is_marked() {
        let mut datagrams = Datagrams::new(None, Some(Duration::from_millis(20)));
        let sent = [0, 20, 40, 1_047, 1_067].map(|ms| datagrams.send(at(ms), Side::From, SIZE).rtp);
        let headers = sent.map(|rtp| rtp.map(|rtp| (rtp.timestamp, rtp.marker)));
        let expected = [(0, true), (160, false), (320, false), (52 * 160, true), (53 * 160, false)];
        assert_eq!(headers, expected.map(Some));
    }
}
