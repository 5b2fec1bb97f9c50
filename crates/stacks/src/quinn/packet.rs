//! 1-RTT packets of QUIC (RFC 9000 §17.3.1) and their ACK frames (§19.3), read and written as bytes.
//!
//! It reads what quinn writes: connection IDs of one length, no header protection ([`super::crypto`] has none), and ACK
//! frames in front of all others but those of a single byte.

use std::ops::RangeInclusive;

use bytes::{Buf, BytesMut};
use quinn_proto::VarInt;
use quinn_proto::coding::Codec;
use quinn_proto::crypto::PacketKey;

use super::crypto::Key;

/// A 1-RTT packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OneRtt {
    /// The first byte, and the connection ID.
    header: Vec<u8>,
    /// Encryption level.
    pub(super) key: Key,
    pub(super) number: u64,
    /// The frames.
    pub(super) payload: Vec<u8>,
}

impl OneRtt {
    /// Reads a packet whose number is near `expected`. `None` if it is not one under any of these keys.
    pub(super) fn read(bytes: &[u8], expected: u64, keys: impl IntoIterator<Item = Key>) -> Option<Self> {
        let flags = *bytes.first()?;
        let number_len = 1 + usize::from(flags & NUMBER_LEN);
        let (header, sealed) = bytes.split_at_checked(1 + ID_LEN + number_len)?;
        let (invariant, truncated) = header.split_at(1 + ID_LEN);
        let truncated = truncated.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let number = expand(truncated, 8 * number_len as u32, expected);
        keys.into_iter().find_map(|key| {
            let mut payload = BytesMut::from(sealed);
            PacketKey::decrypt(&key, number, header, &mut payload).ok()?;
            Some(Self { header: invariant.to_vec(), key, number, payload: payload.to_vec() })
        })
    }

    /// A packet with the header of this one, and another number and other frames.
    pub(super) fn with(&self, number: u64, payload: Vec<u8>) -> Self {
        Self { header: self.header.clone(), key: self.key, number, payload }
    }

    /// The packet as bytes, for a peer that has acknowledged packets below `acknowledged`.
    pub(super) fn write(&self, acknowledged: u64) -> Vec<u8> {
        let number_len = number_len(self.number, acknowledged);
        let mut bytes = self.header.clone();
        bytes[0] = bytes[0] & !NUMBER_LEN | (number_len - 1) as u8;
        bytes.extend_from_slice(&self.number.to_be_bytes()[8 - number_len..]);
        let header_len = bytes.len();
        bytes.extend_from_slice(&self.payload);
        // RFC 9001 §5.4.2: number and frames have at least four bytes, so that a sample follows them.
        bytes.resize(bytes.len().max(header_len - number_len + LEAST_LEN), PADDING);
        bytes.resize(bytes.len() + self.key.tag_len(), 0);
        PacketKey::encrypt(&self.key, self.number, &mut bytes, header_len);
        bytes
    }
}

/// Position of the 1-RTT packet of a datagram, after the packets with long headers (RFC 9000 §12.2).
pub(super) fn one_rtt_start(datagram: &[u8]) -> Option<usize> {
    let mut at = 0;
    while datagram.get(at)? & LONG_HEADER != 0 {
        at += long_len(&datagram[at..])?;
    }
    Some(at)
}

/// Length of the packet with a long header that comes first (RFC 9000 §17.2); none of one without a length of its own.
fn long_len(datagram: &[u8]) -> Option<usize> {
    let mut rest = datagram;
    let kind = rest.try_get_u8().ok()? >> 4 & 0b11;
    let version = rest.try_get_u32().ok()?;
    if version == 0 || kind == RETRY {
        return None;
    }
    for _ in 0..2 {
        let len = rest.try_get_u8().ok()?;
        skip(&mut rest, u64::from(len))?;
    }
    if kind == INITIAL {
        let len = variable(&mut rest)?;
        skip(&mut rest, len)?;
    }
    let len = variable(&mut rest)?;
    skip(&mut rest, len)?;
    Some(datagram.len() - rest.len())
}

/// The frames of a packet, around the ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frames<'a> {
    /// Frames of a single byte.
    pub(super) before: &'a [u8],
    pub(super) ack: Option<Ack>,
    pub(super) after: &'a [u8],
}

impl<'a> Frames<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Self {
        let single = |kind: &&u8| SINGLE.contains(kind);
        let (before, mut after) = payload.split_at(payload.iter().take_while(single).count());
        let ack = Ack::read(&mut after);
        Self { before, ack, after }
    }

    /// Whether the packet asks for an acknowledgment (RFC 9000 §13.2).
    pub(super) fn is_ack_eliciting(&self) -> bool {
        let first = |frames: &[u8]| frames.iter().copied().find(|kind| *kind != PADDING);
        first(self.before).or_else(|| first(self.after)).is_some_and(|kind| !CLOSE.contains(&kind))
    }

    /// The frames as bytes.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = self.before.to_vec();
        if let Some(ack) = &self.ack {
            ack.write(&mut bytes);
        }
        bytes.extend_from_slice(self.after);
        bytes
    }
}

/// An ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    /// As it stands in the frame: in the unit of the end that has sent it.
    pub(super) delay: u64,
    /// The packets that it acknowledges, the largest numbers first. There is one range at least.
    pub(super) ranges: Vec<RangeInclusive<u64>>,
    /// Number of packets that arrived with ECT(0), ECT(1) and CE.
    pub(super) ecn: Option<[u64; 3]>,
}

impl Ack {
    /// Reads the frame if it comes next.
    fn read(rest: &mut &[u8]) -> Option<Self> {
        let mut frame = *rest;
        let kind = frame.try_get_u8().ok().filter(|kind| *kind == ACK || *kind == ACK_ECN)?;
        let (mut largest, delay) = (variable(&mut frame)?, variable(&mut frame)?);
        let further = variable(&mut frame)?;
        let mut smallest = largest.checked_sub(variable(&mut frame)?)?;
        let mut ranges = vec![smallest..=largest];
        for _ in 0..further {
            // RFC 9000 §19.3.1: a gap of 0 is one packet.
            largest = smallest.checked_sub(variable(&mut frame)?.checked_add(2)?)?;
            smallest = largest.checked_sub(variable(&mut frame)?)?;
            ranges.push(smallest..=largest);
        }
        let ecn = (kind == ACK_ECN).then(|| [(); 3].map(|()| variable(&mut frame)));
        let ecn = ecn.map(|[zero, one, ce]| Some([zero?, one?, ce?]));
        if ecn == Some(None) {
            return None;
        }
        *rest = frame;
        Some(Self { delay, ranges, ecn: ecn.flatten() })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let (first, further) = self.ranges.split_first().expect("there is one range at least");
        out.push(if self.ecn.is_some() { ACK_ECN } else { ACK });
        let len = |range: &RangeInclusive<u64>| range.end() - range.start();
        for value in [*first.end(), self.delay, further.len() as u64, len(first)] {
            write_variable(value, out);
        }
        for (above, range) in self.ranges.iter().zip(further) {
            write_variable(above.start() - range.end() - 2, out);
            write_variable(len(range), out);
        }
        self.ecn.iter().flatten().for_each(|count| write_variable(*count, out));
    }

    /// The largest number.
    pub(super) fn largest(&self) -> u64 {
        *self.ranges[0].end()
    }

    /// The numbers, upwards.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().rev().cloned().flatten()
    }

    /// The same of other packets, whose numbers go upwards; none of no packet.
    pub(super) fn of(&self, numbers: impl Iterator<Item = u64>) -> Option<Self> {
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some(last) if last.end() + 1 == number => *last = *last.start()..=number,
                _ => ranges.push(number..=number),
            }
        }
        ranges.reverse();
        (!ranges.is_empty()).then_some(Self { ranges, ..*self })
    }
}

/// RFC 9000 §A.3: the number nearest to the expected number that ends in these bits.
fn expand(truncated: u64, bits: u32, expected: u64) -> u64 {
    let (window, half) = (1 << bits, 1 << (bits - 1));
    let candidate = expected & !(window - 1) | truncated;
    if candidate + half <= expected {
        candidate + window
    } else if candidate > expected + half && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// RFC 9000 §A.2: how many bytes of a number the peer needs, which waits for one from `acknowledged` on.
fn number_len(number: u64, acknowledged: u64) -> usize {
    let unacknowledged = 1 + number - acknowledged;
    (1..4).find(|len| 2 * unacknowledged < 1 << (8 * len)).unwrap_or(4)
}

fn variable(rest: &mut &[u8]) -> Option<u64> {
    VarInt::decode(rest).ok().map(VarInt::into_inner)
}

fn write_variable(value: u64, out: &mut Vec<u8>) {
    VarInt::from_u64(value).expect("packet numbers have 62 bits (RFC 9000 §12.3)").encode(out);
}

fn skip(rest: &mut &[u8], len: u64) -> Option<()> {
    *rest = rest.get(usize::try_from(len).ok()?..)?;
    Some(())
}

/// Length of connection IDs, as quinn's own generator makes them.
pub(super) const ID_LEN: usize = 8;

/// RFC 9000 §17.2, §17.3.1: bits of the first byte, and types of packets with long headers.
const LONG_HEADER: u8 = 0x80;
const NUMBER_LEN: u8 = 0b11;
const INITIAL: u8 = 0;
const RETRY: u8 = 3;

/// RFC 9001 §5.4.2: packet number and frames together.
const LEAST_LEN: usize = 4;

/// Types of frames (RFC 9000 §19).
const PADDING: u8 = 0x00;
const PING: u8 = 0x01;
const ACK: u8 = 0x02;
const ACK_ECN: u8 = 0x03;
const CLOSE: [u8; 2] = [0x1c, 0x1d];
const HANDSHAKE_DONE: u8 = 0x1e;
/// Asks for an ACK at once (draft-ietf-quic-ack-frequency).
pub(super) const IMMEDIATE_ACK: u8 = 0x1f;
/// Frames of one byte.
const SINGLE: [u8; 4] = [PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK];

#[cfg(test)]
mod tests {
    use quinn_proto::Side;

    use super::*;

    fn ack(ranges: &[RangeInclusive<u64>], ecn: Option<[u64; 3]>) -> Ack {
        Ack { delay: 3, ranges: ranges.to_vec(), ecn }
    }

    #[test]
    fn an_ack_frame_is_read_as_it_was_written() {
        for ranges in [&[0..=0][..], &[70..=900], &[20..=30, 18..=18, 0..=9]] {
            for ecn in [None, Some([700, 0, 2])] {
                let (mut bytes, expected) = (vec![PING, PADDING], ack(ranges, ecn));
                expected.write(&mut bytes);
                bytes.extend([0x08, 7]);
                let frames = Frames::read(&bytes);
                assert_eq!(frames.ack, Some(expected));
                assert_eq!(frames.after, [0x08, 7]);
                assert_eq!(frames.write(), bytes);
            }
        }
    }

    #[test]
    fn an_ack_frame_that_is_cut_short_is_none() {
        let mut bytes = Vec::new();
        ack(&[20..=30, 0..=9], Some([1, 2, 3])).write(&mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(Ack::read(&mut &bytes[..len]), None, "{len} bytes");
        }
    }

    #[test]
    fn numbers_become_ranges() {
        let found = ack(&[0..=0], None).of([1, 2, 3, 7, 9, 10].into_iter()).unwrap();
        assert_eq!(found.ranges, [9..=10, 7..=7, 1..=3]);
        assert_eq!(found.numbers().collect::<Vec<_>>(), [1, 2, 3, 7, 9, 10]);
        assert_eq!(found.of(std::iter::empty()), None);
    }

    #[test]
    fn only_frames_beside_acks_and_padding_ask_for_an_ack() {
        let mut alone = Vec::new();
        ack(&[0..=9], None).write(&mut alone);
        let with = |frames: &[u8]| [&alone[..], frames].concat();
        assert!(!Frames::read(&alone).is_ack_eliciting());
        assert!(!Frames::read(&with(&[PADDING; 9])).is_ack_eliciting());
        assert!(!Frames::read(&with(&[0x1c, 0])).is_ack_eliciting());
        assert!(Frames::read(&with(&[0x08, 0])).is_ack_eliciting());
        assert!(Frames::read(&[PADDING, PING]).is_ack_eliciting());
    }

    #[test]
    fn a_packet_is_read_under_its_key_as_it_was_written() {
        let keys = [0, 1, 2].map(|generation| Key::one_rtt(Side::Client, generation));
        let packet = OneRtt {
            header: vec![0x44; 1 + ID_LEN],
            key: keys[1],
            number: 70_000,
            payload: b"\x08frames".to_vec(),
        };
        for acknowledged in [0, 69_000, 69_990] {
            let bytes = packet.write(acknowledged);
            assert_eq!(OneRtt::read(&bytes, 70_000, [keys[0], keys[2]]), None);
            let read = OneRtt::read(&bytes, 70_000, keys).unwrap();
            assert_eq!((read.key.generation(), read.number, &read.payload), (1, 70_000, &packet.payload));
        }
    }

    #[test]
    fn numbers_are_as_short_as_appendix_a_has_them() {
        assert_eq!(
            [(100, 0), (127, 0), (0xac5c02, 0xabe8b4), (0xace8fe, 0xabe8b4)].map(|(n, a)| number_len(n, a)),
            [1, 2, 2, 3]
        );
        assert_eq!(expand(0x9b32, 16, 0xa82f30eb), 0xa82f9b32);
    }

    #[test]
    fn a_packet_behind_long_headers_is_found() {
        let id = [8; 9];
        let long = |kind: u8, token: &[u8]| {
            [&[0xc0 | kind << 4, 0, 0, 0, 1], &id[..], &id, token, &[3, 1, 2, 3]].concat()
        };
        let datagram = [long(INITIAL, &[1, 0]), long(2, &[]), vec![0x40; 30]].concat();
        assert_eq!(one_rtt_start(&datagram), Some(datagram.len() - 30));
        assert_eq!(one_rtt_start(&datagram[..datagram.len() - 30]), None);
        assert_eq!(one_rtt_start(&[0x40; 30]), Some(0));
    }
}
