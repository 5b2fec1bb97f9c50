//! Datagrams of one sender to one receiver, as a kernel takes them at once.

use std::ops::Range;

use super::super_packet::{IP_IDENTIFICATION, IP_PROTOCOL, IP_SOURCE, UDP_CHECKSUM, finish_headers, get};
use super::virtio::{ChecksumPlace, Gso, GsoKind, VirtioNetHeader};
use super::{Form, RawPacket, TRAFFIC_CLASS};
use crate::ip::{Protocol, v4};
use crate::udp;

/// Consecutive datagrams of equal length, except that the last may be shorter. Their checksums are unfinished, so that
/// they can be sent under one header.
#[derive(Clone, Debug)]
pub(super) struct Train<'a> {
    /// Without options in the IP header, all of them.
    datagrams: Vec<&'a [u8]>,
    /// Bytes of payload of all but the last.
    size: usize,
    /// Bytes of payload together.
    payload: usize,
}

impl<'a> Train<'a> {
    /// A train of one; none where the packet is no datagram that could be joined with others.
    pub(super) fn of(packet: &'a RawPacket) -> Option<Self> {
        let Form::Whole { bytes, checksum: Some(UNFINISHED) } = &packet.0 else { return None };
        let is_datagram = bytes.len() > HEADERS_LEN
            && bytes[0] == WITHOUT_OPTIONS
            && bytes[IP_PROTOCOL] == Protocol::UDP.0
            && get(bytes, FRAGMENT) & !DONT_FRAGMENT == 0;
        let size = bytes.len().saturating_sub(HEADERS_LEN);
        is_datagram.then(|| Self { datagrams: vec![bytes], size, payload: size })
    }

    /// Adds a datagram, unless it is another's, or does not follow. Returns whether it was added.
    pub(super) fn push(&mut self, packet: &'a RawPacket) -> bool {
        let follows = Self::of(packet).filter(|next| self.is_followed_by(next));
        if let Some(next) = &follows {
            self.payload += next.size;
            self.datagrams.extend(&next.datagrams);
        }
        follows.is_some()
    }

    fn is_followed_by(&self, next: &Self) -> bool {
        let last = self.datagrams[self.datagrams.len() - 1];
        let bytes = next.datagrams[0];
        // A datagram that is never fragmented needs no identification (RFC 6864 §4.1); otherwise the kernel increments
        // it for each datagram.
        let in_order = get(last, FRAGMENT) == DONT_FRAGMENT
            || get(bytes, IP_IDENTIFICATION) == get(last, IP_IDENTIFICATION).wrapping_add(1);
        let same = |range: Range<usize>| last[range.clone()] == bytes[range];
        last.len() == HEADERS_LEN + self.size
            && next.size <= self.size
            && self.datagrams.len() < MOST
            && HEADERS_LEN + self.payload + next.size <= usize::from(u16::MAX)
            && in_order
            && same(TRAFFIC_CLASS..TRAFFIC_CLASS + 1)
            && same(FRAGMENT..IP_PROTOCOL)
            && same(ADDRESSES_AND_PORTS)
    }

    /// Number of datagrams.
    pub(super) fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// The datagrams, one by one.
    pub(super) fn packets(&self) -> impl Iterator<Item = RawPacket> {
        let whole =
            |bytes: &&[u8]| RawPacket(Form::Whole { bytes: bytes.to_vec(), checksum: Some(UNFINISHED) });
        self.datagrams.iter().map(whole)
    }

    /// Appends virtio's header and one packet that represents all.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let gso = Gso { kind: GsoKind::Udp, size: self.size as u16 };
        let headers_len = HEADERS_LEN as u16;
        VirtioNetHeader { checksum: Some(UNFINISHED), gso: Some(gso), headers_len }.write(out);
        let start = out.len();
        out.extend_from_slice(&self.datagrams[0][..HEADERS_LEN]);
        let (ip, transport) = out[start..].split_at_mut(v4::HEADER_LEN);
        finish_headers(GsoKind::Udp, ip, transport, udp::HEADER_LEN + self.payload);
        self.datagrams.iter().for_each(|datagram| out.extend_from_slice(&datagram[HEADERS_LEN..]));
    }
}

/// Bytes of the headers of IP, without options, and of UDP.
const HEADERS_LEN: usize = v4::HEADER_LEN + udp::HEADER_LEN;
/// Version 4, five words of header (RFC 791 §3.1).
const WITHOUT_OPTIONS: u8 = 0x45;
/// Places in the header.
const FRAGMENT: usize = 6;
const ADDRESSES_AND_PORTS: Range<usize> = IP_SOURCE..v4::HEADER_LEN + 4;
const DONT_FRAGMENT: u16 = 1 << 14;
/// The position of UDP's checksum after a header without options.
const UNFINISHED: ChecksumPlace = ChecksumPlace { start: v4::HEADER_LEN as u16, offset: UDP_CHECKSUM };
/// UDP_MAX_SEGMENTS of Linux before 6.9; later it is 128.
const MOST: usize = 64;
