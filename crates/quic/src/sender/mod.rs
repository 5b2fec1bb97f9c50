//! The history of both senders of a connection, by the acknowledgments that passed the point of observation.
//!
//! Losses are declared by the rules of RFC 9002 §6.1, at the times at which a sender at the point of observation would
//! declare them. Round trips are from the point to the peer and back. Probes are inferred: packets that repeat data, or
//! have a PING, after a probe timeout without any arrival.

mod ranges;
mod rtt;
mod space;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use units::{Duration, Instant};

use crate::connection::{Contents, Packet};
use crate::frame::{Ack, Frame};
use crate::header::{Kind, Space};
use crate::sender::ranges::Ranges;
use crate::sender::rtt::RoundTrips;
use crate::sender::space::{Lost, Sent, SpaceHistory};

pub use rtt::RoundTripReport;
pub use space::Rule;

/// The senders of a connection: the client and the server.
#[derive(Clone, Debug, Default)]
pub struct Senders([Sender; 2]);

/// What happened to a packet, as it became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was acknowledged for the first time.
    Acknowledged,
    /// It was declared lost.
    Lost(Rule),
    /// It was acknowledged after it had been declared lost.
    Spurious,
}

/// A fate with its packet and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its sender.
    pub side: usize,
    /// Space of its number.
    pub space: Space,
    /// Its number.
    pub number: u64,
    /// Number of its frame in the capture.
    pub frame: u64,
    /// Time of the fate.
    pub at: Instant,
    /// The fate.
    pub fate: Fate,
}

/// What the sender's history says of a packet when it passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Whether it asks for an acknowledgment.
    pub ack_eliciting: bool,
    /// Bytes of streams and of TLS in it.
    pub data: u64,
    /// Of these, bytes that had been sent before.
    pub retransmitted: u64,
    /// Of these, bytes that had been acknowledged before.
    pub needless: u64,
    /// Whether it looks like a probe.
    pub probe: bool,
    /// Round trip that its ACK frame measures, for the peer.
    pub round_trip: Option<Duration>,
    /// Bytes in flight after it, of its sender.
    pub flight: u64,
}

/// Counts of one sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SenderReport {
    /// Packets that were opened, by their kind.
    pub packets: BTreeMap<&'static str, u64>,
    /// Packets that ask for an acknowledgment.
    pub ack_eliciting: u64,
    /// Frames by their names; padding counts once in a packet.
    pub frames: BTreeMap<&'static str, u64>,
    /// Bytes of streams, each time that they were sent.
    pub stream_bytes: u64,
    /// Bytes of streams that had been sent before.
    pub retransmitted_bytes: u64,
    /// Bytes of streams that were acknowledged in more than one packet: one of the copies was needless.
    pub needless_bytes: u64,
    /// Packets with bytes, of streams or of TLS, that had been sent before.
    pub retransmissions: u64,
    /// Packets that were acknowledged.
    pub acknowledged: u64,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Of these, by the time threshold; the others by the packet threshold.
    pub lost_by_time: u64,
    /// Packets that were acknowledged after they had been declared lost.
    pub spurious_losses: u64,
    /// Packets that look like probes.
    pub probes: u64,
    /// Round trips to the peer.
    pub rtt: RoundTripReport,
    /// The longest delay that the peer stated in an ACK frame, in seconds.
    pub longest_ack_delay_s: f64,
    /// The largest amount in flight, in bytes.
    pub largest_flight: u64,
    /// Packets that arrived with ECT(0), ECT(1) and CE, as the peer counts them.
    pub ecn: Option<[u64; 3]>,
}

#[derive(Clone, Debug, Default)]
struct Sender {
    spaces: [SpaceHistory; 3],
    trips: RoundTrips,
    sent: BTreeMap<u64, Ranges>,
    acked: BTreeMap<u64, Ranges>,
    flight: u64,
    /// Time of the last packet that asks for an acknowledgment, and of the peer's last acknowledgment of news.
    last_eliciting: Option<Instant>,
    last_heard: Option<Instant>,
    backoff: u32,
    report: SenderReport,
}

impl Senders {
    /// A packet passed. `delays` are exponent and longest delay of each side's ACK frames
    /// ([`Connection::ack_delays`](crate::Connection::ack_delays)). Fates that become known go to `each`.
    pub fn handle_packet(
        &mut self,
        packet: &Packet<'_>,
        delays: [(u32, u64); 2],
        each: &mut impl FnMut(Event),
    ) -> Option<Passed> {
        let contents = packet.contents.as_ref().ok()?;
        let (side, space, at) = (packet.side, packet.kind.space()?, packet.origin.at);
        for (of, sender) in self.0.iter_mut().enumerate() {
            sender.detect(at, &mut |space, lost| each(event(of, space, lost)));
        }
        let mut round_trip = None;
        for frame in &contents.frames {
            match frame {
                Frame::Ack(ack) => {
                    let arrival = Arrival { at, space, delay: delay_of(ack, space, delays[side]) };
                    let peer = &mut self.0[1 - side];
                    round_trip = round_trip.or(peer.handle_ack(&arrival, ack, 1 - side, each));
                }
                Frame::HandshakeDone => self.discard(Space::Handshake),
                _ => {}
            }
        }
        if packet.kind == Kind::Handshake && side == 0 {
            self.discard(Space::Initial); // RFC 9001 §4.9.1.
        }
        let max_ack_delay =
            Duration::from_millis(if space == Space::Application { delays[1 - side].1 } else { 0 });
        let passed = self.0[side].handle_sent(packet, contents, space, max_ack_delay);
        Some(Passed { round_trip, ..passed })
    }

    /// The counts of a side.
    #[must_use]
    pub fn report(&self, side: usize) -> SenderReport {
        let sender = &self.0[side];
        SenderReport { rtt: sender.trips.report(), ..sender.report.clone() }
    }

    fn discard(&mut self, space: Space) {
        for sender in &mut self.0 {
            let bytes = sender.spaces[space as usize].discard();
            sender.flight = sender.flight.saturating_sub(bytes);
        }
    }
}

/// An acknowledgment when it passes.
struct Arrival {
    at: Instant,
    space: Space,
    delay: Duration,
}

impl Sender {
    fn handle_sent(
        &mut self,
        packet: &Packet<'_>,
        contents: &Contents<'_>,
        space: Space,
        max_ack_delay: Duration,
    ) -> Passed {
        let mut passed = Passed::default();
        let mut sent = Sent {
            at: packet.origin.at,
            frame: packet.origin.frame,
            size: packet.size,
            ack_eliciting: contents.frames.iter().any(Frame::is_ack_eliciting),
            in_flight: contents
                .frames
                .iter()
                .any(|frame| frame.is_ack_eliciting() || matches!(frame, Frame::Padding(_))),
            data: Vec::new(),
        };
        *self.report.packets.entry(packet.kind.id()).or_default() += 1;
        for frame in &contents.frames {
            *self.report.frames.entry(frame.id()).or_default() += 1;
            if let Some((stream, range)) = data_of(frame, space) {
                self.note_data(stream, &range, &mut passed);
                sent.data.push((stream, range));
            }
        }
        passed.ack_eliciting = sent.ack_eliciting;
        passed.probe = self.is_probe(contents, space, sent.at, passed.retransmitted > 0, max_ack_delay);
        self.backoff += u32::from(passed.probe);
        if sent.ack_eliciting {
            self.last_eliciting = Some(sent.at);
        }
        if sent.in_flight {
            self.flight += u64::from(sent.size);
        }
        passed.flight = self.flight;
        self.count(&passed);
        self.spaces[space as usize].on_sent(contents.number, sent);
        passed
    }

    fn count(&mut self, passed: &Passed) {
        let report = &mut self.report;
        report.ack_eliciting += u64::from(passed.ack_eliciting);
        report.retransmissions += u64::from(passed.retransmitted > 0);
        report.probes += u64::from(passed.probe);
        report.largest_flight = report.largest_flight.max(passed.flight);
    }

    fn note_data(&mut self, stream: u64, range: &Range<u64>, passed: &mut Passed) {
        let again = self.sent.entry(stream).or_default().add(range);
        passed.data += range.end - range.start;
        passed.retransmitted += again;
        passed.needless += self.acked.get(&stream).map_or(0, |acked| acked.overlap(range));
        if stream < TLS {
            self.report.stream_bytes += range.end - range.start;
            self.report.retransmitted_bytes += again;
        }
    }

    /// RFC 9002 §6.2: what is sent, although nothing was lost by an acknowledgment, after a probe timeout.
    fn is_probe(
        &self,
        contents: &Contents<'_>,
        space: Space,
        now: Instant,
        repeats: bool,
        max_ack_delay: Duration,
    ) -> bool {
        let repeats = repeats || contents.frames.contains(&Frame::Ping);
        let Some(last) = self.last_eliciting.max(self.last_heard) else { return false };
        let waited = now.saturating_since(last);
        let timeout = self
            .trips
            .probe_timeout(max_ack_delay)
            .map_or(LEAST_PROBE, |timeout| timeout.mul_f64(EARLY).doubled(self.backoff.min(MOST_BACKOFF)));
        repeats && self.spaces[space as usize].is_waiting() && waited >= timeout
    }

    /// Takes an acknowledgment of the peer. Returns the round trip that it measures.
    fn handle_ack(
        &mut self,
        arrival: &Arrival,
        ack: &Ack,
        side: usize,
        each: &mut impl FnMut(Event),
    ) -> Option<Duration> {
        let space = arrival.space;
        let (acked, late) = self.spaces[space as usize].acknowledge(&ack.ranges);
        self.report.ecn = ack.ecn.or(self.report.ecn);
        self.report.longest_ack_delay_s = self.report.longest_ack_delay_s.max(arrival.delay.as_secs_f64());
        let event = |number, frame, fate| Event { side, space, number, frame, at: arrival.at, fate };
        for lost in &late {
            self.report.spurious_losses += 1;
            self.note_delivered(&lost.sent);
            each(event(lost.number, lost.sent.frame, Fate::Spurious));
        }
        if acked.is_empty() {
            return None;
        }
        // RFC 9002 §5.1: the largest is news, and one of them asks for an acknowledgment.
        let largest = acked.last().filter(|(number, _)| *number == ack.largest());
        let eliciting = acked.iter().any(|(_, sent)| sent.ack_eliciting);
        let sample = largest.filter(|_| eliciting).map(|(_, sent)| arrival.at.saturating_since(sent.at));
        let round_trip = sample.map(|sample| self.trips.add(sample, arrival.delay));
        for (number, sent) in &acked {
            self.report.acknowledged += 1;
            self.leave(sent);
            self.note_delivered(sent);
            each(event(*number, sent.frame, Fate::Acknowledged));
        }
        self.last_heard = Some(arrival.at);
        self.backoff = 0;
        self.detect(arrival.at, &mut |space, lost| each(self::event(side, space, lost)));
        round_trip
    }

    /// Declares what is lost by now.
    fn detect(&mut self, now: Instant, each: &mut impl FnMut(Space, &Lost)) {
        for space in [Space::Initial, Space::Handshake, Space::Application] {
            for lost in self.spaces[space as usize].detect(now, &self.trips) {
                self.report.lost += 1;
                self.report.lost_by_time += u64::from(lost.rule == Rule::Time);
                self.leave(&lost.sent);
                each(space, &lost);
            }
        }
    }

    fn leave(&mut self, sent: &Sent) {
        if sent.in_flight {
            self.flight = self.flight.saturating_sub(u64::from(sent.size));
        }
    }

    fn note_delivered(&mut self, sent: &Sent) {
        for (stream, range) in &sent.data {
            let twice = self.acked.entry(*stream).or_default().add(range);
            if *stream < TLS {
                self.report.needless_bytes += twice;
            }
        }
    }
}

const fn event(side: usize, space: Space, lost: &Lost) -> Event {
    let (number, frame, at, fate) = (lost.number, lost.sent.frame, lost.at, Fate::Lost(lost.rule));
    Event { side, space, number, frame, at, fate }
}

/// RFC 9000 §19.3: only delays of 1-RTT packets count (RFC 9002 §5.3).
fn delay_of(ack: &Ack, space: Space, (exponent, most_ms): (u32, u64)) -> Duration {
    if space != Space::Application {
        return Duration::from_nanos(0);
    }
    let micros = ack.delay.checked_shl(exponent).filter(|micros| micros >> exponent == ack.delay);
    let most = Duration::from_millis(most_ms);
    micros.map_or(most, |micros| Duration::from_micros(micros.min(most_ms * 1000)))
}

/// The data of a frame: its stream, or TLS in a space, and its bytes.
fn data_of(frame: &Frame<'_>, space: Space) -> Option<(u64, Range<u64>)> {
    match frame {
        Frame::Stream { stream, offset, len, .. } => Some((*stream, *offset..offset.saturating_add(*len))),
        Frame::Crypto { offset, data } => {
            Some((TLS + space as u64, *offset..offset.saturating_add(data.len() as u64)))
        }
        _ => None,
    }
}

/// Numbers of streams are below 2^62 (RFC 9000 §16).
const TLS: u64 = 1 << 62;
/// Part of a probe timeout that counts as one: the sender's estimate differs from that at the point of observation.
const EARLY: f64 = 0.875;
/// Before the first round trip is known, nothing but a probe repeats data; shorter pauses are one burst.
const LEAST_PROBE: Duration = Duration::from_millis(10);
/// Bounds the backoff of probes: longer pauses than this are probes, too.
const MOST_BACKOFF: u32 = 6;
