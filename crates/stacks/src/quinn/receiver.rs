//! Receivers of QUIC that misbehave, as the ACK policies of TCP do (Savage et al. 1999).
//!
//! A layer between quinn and the network. quinn is made to acknowledge every packet at once, and each ACK becomes what
//! the policy of the host's profile wants (`tcp.ack`): a segment of TCP is a packet here.
//!
//! | policy | in QUIC |
//! |---|---|
//! | `ack-division` | one ACK for each packet, of which there are never more than `parts` at once: a packet is the least that can be acknowledged (RFC 9000 §13.2) |
//! | `dupack-spoofing` | each ACK, and `copies` of its frame in packets of their own |
//! | `optimistic` | each ACK acknowledges also the packets that come next, `ahead` of them (RFC 9000 §21.4) |
//!
//! Packets that the layer adds need numbers, so it numbers all 1-RTT packets anew, and gives back to quinn the ACKs of
//! those that are quinn's. What is missing stays missing in an ACK: a number may have been skipped.

use quinn_proto::Side;
use tcp::Arrival;
use tcp::ack::{AckPolicy, Data, Series, When};
use units::{Bytes, Instant};

use super::crypto::Key;
use super::packet::{Ack, Frames, IMMEDIATE_ACK, OneRtt, one_rtt_start};

/// The layer at one connection.
pub(super) struct Receiver {
    policy: Box<dyn AckPolicy>,
    /// ACKs that the policy requests.
    wanted: When,
    /// The number that quinn gave to each packet, by its number on the way; none of packets that the layer has added.
    sent: Vec<Option<u64>>,
    /// Position of quinn's own packets.
    ours: Progress,
    /// Position of the peer's packets.
    peers: Progress,
    /// The packet after the last packet that was acknowledged to the peer.
    next_to_acknowledge: u64,
    /// The number after the largest that the peer has acknowledged.
    acknowledged: u64,
}

impl Receiver {
    /// The layer at a server, if its policy misbehaves.
    pub(super) fn new(policy: Box<dyn AckPolicy>) -> Option<Self> {
        policy.traits().misbehaves.then(|| Self {
            policy,
            wanted: When::Now,
            sent: Vec::new(),
            ours: Progress::of(Side::Server),
            peers: Progress::of(Side::Client),
            next_to_acknowledge: 0,
            acknowledged: 0,
        })
    }

    /// Part of an arrived datagram that is passed to quinn.
    pub(super) fn handle_datagram(&mut self, now: Instant, datagram: Vec<u8>) -> Vec<u8> {
        let Some(at) = one_rtt_start(&datagram) else { return datagram };
        let expected = self.peers.next;
        let Some(packet) = self.peers.read(&datagram[at..]) else { return datagram };
        let payload = self.received(now, &packet);
        let written = packet.with(packet.number, payload).write(expected.min(packet.number));
        [&datagram[..at], &written].concat()
    }

    /// The frames of a packet for quinn: with its own numbers, and a wish for an ACK at once.
    fn received(&mut self, now: Instant, packet: &OneRtt) -> Vec<u8> {
        let mut frames = Frames::read(&packet.payload);
        if let Some(ack) = frames.ack.take() {
            self.acknowledged = self.acknowledged.max(ack.largest() + 1);
            let known = ack.numbers().take_while(|number| *number < self.sent.len() as u64);
            frames.ack = ack.of(known.filter_map(|number| self.sent[number as usize]));
        }
        if !frames.is_ack_eliciting() {
            return frames.write();
        }
        self.wanted = self.policy.on_data(&data(now));
        let mut payload = vec![IMMEDIATE_ACK];
        payload.extend(frames.write());
        payload
    }

    /// Datagrams to send instead of a datagram of quinn's, in order.
    pub(super) fn handle_transmit(&mut self, datagram: Vec<u8>) -> Vec<Vec<u8>> {
        let Some(at) = one_rtt_start(&datagram) else { return vec![datagram] };
        let Some(packet) = self.ours.read(&datagram[at..]) else { return vec![datagram] };
        let frames = Frames::read(&packet.payload);
        let Some(ack) = &frames.ack else {
            let renumbered = self.number(&packet, Some(packet.number), packet.payload.clone());
            return vec![[&datagram[..at], &renumbered].concat()];
        };
        let Answer { before, ack: own, after } = self.answer(ack);
        self.policy.on_ack_sent();
        let mut datagrams: Vec<_> = before.iter().map(|ack| self.alone(&packet, ack)).collect();
        let payload = Frames { ack: Some(own), ..frames.clone() }.write();
        let renumbered = self.number(&packet, Some(packet.number), payload);
        datagrams.push([&datagram[..at], &renumbered].concat());
        datagrams.extend(after.iter().map(|ack| self.alone(&packet, ack)));
        datagrams
    }

    /// The ACKs that the policy makes of one.
    fn answer(&mut self, ack: &Ack) -> Answer {
        let next_to_acknowledge = self.next_to_acknowledge;
        self.next_to_acknowledge = next_to_acknowledge.max(ack.largest() + 1);
        let honest = Answer { before: Vec::new(), ack: ack.clone(), after: Vec::new() };
        match self.wanted {
            When::Now | When::Within(_) => honest,
            When::Series(Series::Divided { parts }) => {
                Answer { before: divided(ack, next_to_acknowledge, parts), ..honest }
            }
            When::Series(Series::Repeated { copies }) => {
                Answer { after: vec![ack.clone(); copies as usize], ..honest }
            }
            When::Series(Series::Ahead { by }) => Answer { ack: ahead(ack, by.0), ..honest },
        }
    }

    /// A packet of our own that has only this frame.
    fn alone(&mut self, like: &OneRtt, ack: &Ack) -> Vec<u8> {
        let mut payload = Vec::new();
        ack.write(&mut payload);
        self.number(like, None, payload)
    }

    /// A packet with the next number: quinn's packet `own`, or a packet that this layer adds.
    fn number(&mut self, like: &OneRtt, own: Option<u64>, payload: Vec<u8>) -> Vec<u8> {
        let number = self.sent.len() as u64;
        self.sent.push(own);
        like.with(number, payload).write(self.acknowledged)
    }
}

/// Progress of the 1-RTT packets of one end.
struct Progress {
    side: Side,
    /// The number after the largest.
    next: u64,
    /// The last generation of keys. quinn renews them once soon, at a random packet, to see that its peer can.
    generation: u64,
}

impl Progress {
    const fn of(side: Side) -> Self {
        Self { side, next: 0, generation: 0 }
    }

    /// Reads the next packet, or an earlier packet that arrives late.
    fn read(&mut self, bytes: &[u8]) -> Option<OneRtt> {
        let Self { side, next, generation } = *self;
        let generations = [generation, generation + 1, generation.saturating_sub(1)];
        let packet = OneRtt::read(bytes, next, generations.map(|generation| Key::one_rtt(side, generation)))?;
        self.next = next.max(packet.number + 1);
        self.generation = generation.max(packet.key.generation());
        Some(packet)
    }
}

/// Replacement of an ACK of quinn's: packets before its own, the frame in its own, and packets after it.
struct Answer {
    before: Vec<Ack>,
    ack: Ack,
    after: Vec<Ack>,
}

/// The ACKs that precede one, each with an equal share of the packets from `next_to_acknowledge` on that it
/// acknowledges, and with one packet at least.
fn divided(ack: &Ack, next_to_acknowledge: u64, parts: u32) -> Vec<Ack> {
    let news: Vec<u64> = ack.numbers().filter(|number| *number >= next_to_acknowledge).collect();
    let parts = news.len().min(parts as usize);
    let upto = |part: usize| {
        let share = news.len() * part / parts;
        let fewer = ack.of(ack.numbers().filter(|number| *number <= news[share - 1]))?;
        let ecn = ack.ecn.map(|[zero, one, ce]| [zero.saturating_sub((news.len() - share) as u64), one, ce]);
        Some(Ack { ecn, ..fewer })
    };
    (1..parts).filter_map(upto).collect()
}

/// An ACK that is `by` packets ahead. It counts them as arrived with ECT(0), as quinn sends them: a sender that
/// misses them there marks no more packets (RFC 9000 §13.4.2.1), and knows that something is wrong.
fn ahead(ack: &Ack, by: u64) -> Ack {
    let largest = ack.largest();
    let mut ack = ack.clone();
    ack.ranges[0] = *ack.ranges[0].start()..=largest + by;
    ack.ecn = ack.ecn.map(|[zero, one, ce]| [zero + by, one, ce]);
    ack
}

/// A packet that has arrived, as a policy of TCP sees it: in order, and with a length of 1, so that packets are
/// counted.
const fn data(now: Instant) -> Data {
    Data {
        now,
        len: Bytes(1),
        arrival: Arrival::InOrder,
        gap: false,
        scattered: false,
        full: Bytes(1),
        polled: false,
        rtt: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK frame of packets that all came with ECT(0).
    fn ack(numbers: impl Iterator<Item = u64> + Clone) -> Ack {
        let ecn = Some([numbers.clone().count() as u64, 0, 0]);
        let one = Ack { delay: 0, ranges: vec![0..=0], ecn };
        one.of(numbers).expect("there are some")
    }

    #[test]
    fn a_divided_ack_reports_one_packet_at_a_time() {
        let whole = ack((1..=3).chain(5..=8));
        let parts = [ack((1..=3).chain(5..=6)), ack((1..=3).chain(5..=7))];
        assert_eq!(divided(&whole, 6, 10), parts);
        assert_eq!(divided(&whole, 6, 2), parts[..1]);
        assert!(divided(&whole, 6, 1).is_empty() && divided(&whole, 8, 10).is_empty());
        assert!(divided(&whole, 9, 10).is_empty());
    }

    #[test]
    fn an_ack_that_is_ahead_leaves_gaps_and_counts_what_it_is_ahead_of() {
        assert_eq!(ahead(&ack((1..=3).chain(5..=8)), 4), ack((1..=3).chain(5..=12)));
    }

    #[test]
    fn a_receiver_whose_policy_is_honest_needs_no_layer() {
        assert!(Receiver::new(tcp::ack::without_polls()).is_none());
    }
}
