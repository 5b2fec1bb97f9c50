//! Puts the fragments of IP packets together (RFC 791 §3.2, RFC 8200 §4.5).

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::ip::{self, Decoded, Protocol};

/// The packets of which some fragments were seen. The oldest is given up when there are too many.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    open: VecDeque<Incomplete>,
}

/// The fragments of one packet.
#[derive(Clone, Debug)]
struct Incomplete {
    key: Key,
    /// Parts in the order of their offsets: offset, length as sent, and the captured bytes.
    parts: Vec<(usize, usize, Vec<u8>)>,
    /// The length of the payload, known from the last fragment.
    total: Option<usize>,
}

/// Common key of the fragments of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    protocol: Protocol,
    identification: u32,
}

impl Fragments {
    /// Adds a fragment, whose header is decoded. Returns the packet that it completes: a header without options, and
    /// the payload up to the first byte that was not captured.
    pub(super) fn add(&mut self, packet: &[u8], decoded: &Decoded<ip::Header>) -> Option<Vec<u8>> {
        let part = decoded.header.fragment()?;
        let key = Key::of(&decoded.header, packet)?;
        let bytes = packet.get(decoded.payload.clone())?;
        let place = self.open.iter().position(|packet| packet.key == key).unwrap_or_else(|| self.begin(key));
        let found = &mut self.open[place];
        let len = bytes.len() + decoded.missing as usize;
        found.insert(usize::from(part.offset), len, bytes);
        if !part.more {
            found.total = Some(usize::from(part.offset) + len);
        }
        let payload_len = found.total.filter(|total| found.covers(*total))?;
        let payload = self.open.remove(place)?.payload();
        whole(&decoded.header, payload_len, &payload)
    }

    fn begin(&mut self, key: Key) -> usize {
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Incomplete { key, parts: Vec::new(), total: None });
        self.open.len() - 1
    }
}

impl Incomplete {
    /// Adds a part; of two for the same offset the first counts.
    fn insert(&mut self, offset: usize, len: usize, bytes: &[u8]) {
        let place = self.parts.partition_point(|part| part.0 < offset);
        let there = self.parts.get(place).is_some_and(|part| part.0 == offset);
        if !there && self.parts.len() < MOST_PARTS {
            self.parts.insert(place, (offset, len, bytes.to_vec()));
        }
    }

    fn covers(&self, total: usize) -> bool {
        let end = self
            .parts
            .iter()
            .try_fold(0, |end, (offset, len, _)| (*offset <= end).then(|| end.max(offset + len)));
        end.is_some_and(|end| end >= total)
    }

    /// The payload up to the first byte that was not captured.
    fn payload(self) -> Vec<u8> {
        let mut payload = Vec::new();
        for (offset, _, bytes) in self.parts {
            let Some(skipped) = payload.len().checked_sub(offset) else { break };
            payload.extend_from_slice(bytes.get(skipped..).unwrap_or_default());
        }
        payload
    }
}

impl Key {
    fn of(header: &ip::Header, packet: &[u8]) -> Option<Self> {
        let (protocol, identification) = match header {
            ip::Header::V4(header) => (header.protocol, u32::from(header.identification)),
            // Only the first fragment shows the protocol (RFC 8200 §4.5).
            ip::Header::V6(_) => (Protocol::FRAGMENT, ip::v6::fragment_identification(packet)?),
        };
        Some(Self { source: header.source(), destination: header.destination(), protocol, identification })
    }
}

/// The packet that was in fragments, with the length that it had; `None` if it would be longer than any packet.
fn whole(header: &ip::Header, len: usize, payload: &[u8]) -> Option<Vec<u8>> {
    let header_len = match header {
        ip::Header::V4(_) => ip::v4::HEADER_LEN,
        ip::Header::V6(_) => 0,
    };
    u16::try_from(header_len + len).ok()?;
    let mut packet = Vec::with_capacity(ip::v6::HEADER_LEN + payload.len());
    match header {
        ip::Header::V4(header) => ip::v4::Header { fragment: None, ..*header }.encode(len, &mut packet),
        ip::Header::V6(header) => ip::v6::Header { fragment: None, ..*header }.encode(len, &mut packet),
    }
    packet.extend_from_slice(&payload[..payload.len().min(len)]);
    Some(packet)
}

/// Bounds the memory for any capture: each packet has at most 64 KiB.
const MOST_OPEN: usize = 256;
/// A packet of 64 KiB has fewer on every link (RFC 791 §3.2: 68 bytes is the least MTU), but for those made to harm.
const MOST_PARTS: usize = 1024;
