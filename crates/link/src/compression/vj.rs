//! Van Jacobson's compression of TCP/IP headers (RFC 1144), in its bytes.
//!
//! Both ends keep the last header of each connection in a slot. A header is sent as a mask of the fields that changed
//! and their differences to the last one: 3 bytes or some more for 40. Only a packet with all its fields sets a slot
//! anew, and the compressor sends one where a difference does not fit, and where a packet looks like a retransmission
//! (§3.2.3). After a loss the decompressor adds the next differences to the wrong header; TCP's checksum, which is sent
//! as it is, shows the receiver the error (§4.2).
//!
//! The options of a header must be those of the one before: with timestamps that change, every packet is sent with all
//! its fields (RFC 6846 §3.1).
//!
//! Departure, in docs/spec/link.md: a change of TCP's bits of ECN, which are newer than this RFC, has all fields
//! sent, because no difference encodes it.

use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::headers::{
    ACK, FIN, Headers, PSH, RST, SYN, URG, be16, be32, finish_ip_checksum, ip, put16, put32, tcp,
};
use super::{Codec, CompressionParameters, Encoded, Form, HeaderKind};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "vj",
    "Van Jacobson: TCP/IP headers as differences, from 3 bytes on; a lost packet costs the next ones",
    "RFC 1144; over PPP RFC 1332 §4",
)
.written("{ vj = { slots = 16 } }");

/// Parameters of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Connections that both ends remember, 1 to 256; with more, the least recently used one gives up its slot.
    /// Default: 16 (RFC 1144 §3.2.2).
    #[schemars(range(min = 1, max = 256))]
    pub slots: u16,
    /// Whether a packet of the same connection as the one before leaves the number of its slot out. Default: true
    /// (RFC 1332 §4, Comp-Slot-Id).
    pub compress_slot_id: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { slots: 16, compress_slot_id: true }
    }
}

impl CompressionParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if (1..=256).contains(&self.slots) {
            return Ok(());
        }
        let message =
            format!("the number of a slot is one byte, and {} slots have no such numbers", self.slots);
        Err(ConfigError::new("slots", message, "write 1 to 256"))
    }

    fn codec(&self, _back: Duration) -> Box<dyn Codec> {
        Box::new(Vj { compressor: Compressor::new(*self), decompressor: Decompressor::new(self.slots) })
    }
}

#[derive(Debug)]
struct Vj {
    compressor: Compressor,
    decompressor: Decompressor,
}

impl Codec for Vj {
    fn compress(&mut self, _now: Instant, headers: &[u8]) -> Encoded {
        self.compressor.compress(headers)
    }

    fn decompress(&mut self, _now: Instant, encoded: &Encoded, headers: &[u8]) -> bool {
        match &encoded.form {
            Form::VjFull { slot } => self.decompressor.remember(*slot, headers),
            Form::VjDelta(bytes) => {
                let length = be16(headers, ip::LENGTH) as usize;
                let payload = length.saturating_sub(headers.len());
                return self.decompressor.restore(bytes, payload as u16).as_deref() == Some(headers);
            }
            Form::Plain | Form::Rohc(_) => {}
        }
        true
    }

    fn on_line_error(&mut self) {
        self.decompressor.tosses = true;
    }
}

/// The sending end (RFC 1144 §3.2.3, appendix A.2).
#[derive(Debug)]
pub(super) struct Compressor {
    parameters: Parameters,
    slots: Vec<Slot>,
    /// Slot of the last packet that had one.
    last: Option<u8>,
    packets: u64,
}

/// The last header of a connection, and the number of its packet.
#[derive(Debug)]
struct Slot {
    headers: Vec<u8>,
    used: u64,
}

impl Compressor {
    pub(super) const fn new(parameters: Parameters) -> Self {
        Self { parameters, slots: Vec::new(), last: None, packets: 0 }
    }

    pub(super) fn compress(&mut self, bytes: &[u8]) -> Encoded {
        let Some(headers) = Headers::read(bytes).filter(|headers| is_compressible(*headers)) else {
            return Encoded::plain(bytes);
        };
        let bytes = &bytes[..headers.len()];
        let connection = headers.addresses_and_ports();
        let known = self.slots.iter().position(|slot| {
            Headers::read(&slot.headers).is_some_and(|old| old.addresses_and_ports() == connection)
        });
        self.packets += 1;
        let place = known.unwrap_or_else(|| self.free_slot());
        let delta = known.and_then(|place| differences(Headers::read(&self.slots[place].headers)?, headers));
        let slot = &mut self.slots[place];
        slot.used = self.packets;
        slot.headers.clear();
        slot.headers.extend_from_slice(bytes);
        self.encode(place as u8, delta, headers)
    }

    fn encode(&mut self, slot: u8, delta: Option<Delta>, headers: Headers<'_>) -> Encoded {
        let is_implied = self.parameters.compress_slot_id && self.last == Some(slot);
        self.last = Some(slot);
        let Some(delta) = delta else {
            let length = headers.len() as u32;
            return Encoded { kind: HeaderKind::Full, length, form: Form::VjFull { slot } };
        };
        let mut bytes = vec![delta.changes | if is_implied { 0 } else { NEW_C }];
        bytes.extend((!is_implied).then_some(slot));
        bytes.extend(headers.tcp16(tcp::CHECKSUM).to_be_bytes());
        bytes.extend(delta.fields);
        Encoded { kind: HeaderKind::Compressed, length: bytes.len() as u32, form: Form::VjDelta(bytes) }
    }

    /// An unused slot, or the least recently used one.
    fn free_slot(&mut self) -> usize {
        if self.slots.len() < usize::from(self.parameters.slots) {
            self.slots.push(Slot { headers: Vec::new(), used: 0 });
            return self.slots.len() - 1;
        }
        let oldest = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.used);
        oldest.map_or(0, |(place, _)| place)
    }
}

/// The change mask and the differences that follow it.
#[derive(Debug, Default)]
struct Delta {
    changes: u8,
    fields: Vec<u8>,
}

impl Delta {
    /// A difference of 1 to 65,535: one byte, or a zero and two (RFC 1144 §3.2.2).
    fn push(&mut self, change: u8, value: u16) {
        self.changes |= change;
        match u8::try_from(value) {
            Ok(byte) if byte > 0 => self.fields.push(byte),
            _ => self.fields.extend([0, (value >> 8) as u8, value as u8]),
        }
    }
}

/// A segment of an established connection: with an ACK, and without SYN, FIN or RST.
fn is_compressible(headers: Headers<'_>) -> bool {
    headers.is_tcp() && headers.flags() & (SYN | FIN | RST | ACK) == ACK
}

/// The differences of a header to the last of its connection; none if all its fields must be sent.
fn differences(old: Headers<'_>, new: Headers<'_>) -> Option<Delta> {
    if !is_same_but_for_numbers(old, new) {
        return None;
    }
    let mut delta = Delta::default();
    if new.flags() & URG != 0 {
        delta.push(NEW_U, new.tcp16(tcp::URGENT));
    } else if new.tcp16(tcp::URGENT) != old.tcp16(tcp::URGENT) {
        return None;
    }
    let window = new.tcp16(tcp::WINDOW).wrapping_sub(old.tcp16(tcp::WINDOW));
    let ack = difference(old, new, tcp::ACK)?;
    let seq = difference(old, new, tcp::SEQ)?;
    for (change, value) in [(NEW_W, window), (NEW_A, ack), (NEW_S, seq)] {
        if value > 0 {
            delta.push(change, value);
        }
    }
    let mut delta = shortened(delta, old, [seq, ack], new.payload())?;
    let identification = new.ip16(ip::IDENTIFICATION).wrapping_sub(old.ip16(ip::IDENTIFICATION));
    if identification != 1 {
        delta.push(NEW_I, identification);
    }
    delta.changes |= if new.flags() & PSH != 0 { PUSH } else { 0 };
    Some(delta)
}

/// The special cases (RFC 1144 §3.2.3): masks that no header needs otherwise stand for echoed terminal traffic and for
/// data in one direction. A header without any change, or with just one of these masks, is sent with all fields: it is
/// probably a retransmission, whose first copy the other end may have missed.
fn shortened(mut delta: Delta, old: Headers<'_>, [seq, ack]: [u16; 2], payload: u32) -> Option<Delta> {
    let last = old.payload();
    match delta.changes {
        0 if payload == 0 || last > 0 => return None,
        SPECIAL_I | SPECIAL_D => return None,
        ACKED_DATA if seq == ack && u32::from(seq) == last => delta.changes = SPECIAL_I,
        NEW_S if u32::from(seq) == last => delta.changes = SPECIAL_D,
        _ => return Some(delta),
    }
    delta.fields.clear();
    Some(delta)
}

/// The difference of a number of 32 bits, if 16 bits hold it.
fn difference(old: Headers<'_>, new: Headers<'_>, place: usize) -> Option<u16> {
    u16::try_from(new.tcp32(place).wrapping_sub(old.tcp32(place))).ok()
}

/// Whether only what is sent as a difference has changed: not the version, type of service, fragment bits, time to
/// live, header lengths or options.
fn is_same_but_for_numbers(old: Headers<'_>, new: Headers<'_>) -> bool {
    let [a, b] = [old, new].map(|headers| {
        let start = &headers.bytes[..2];
        let middle = &headers.bytes[ip::FRAGMENT..ip::CHECKSUM];
        let options = &headers.bytes[ip::ADDRESSES.end..headers.transport];
        let tcp_options = &headers.bytes[headers.transport + tcp::OPTIONS..headers.len()];
        let bits = (headers.tcp_byte(tcp::OFFSET), headers.flags() & !(PSH | URG));
        (start, middle, options, tcp_options, bits)
    });
    a == b
}

/// The receiving end (RFC 1144 §3.2.4, appendix A.3).
#[derive(Debug)]
pub(super) struct Decompressor {
    slots: Vec<Option<Vec<u8>>>,
    last: Option<usize>,
    /// Since a damaged frame, packets without the number of their slot are discarded (§4.1).
    tosses: bool,
}

impl Decompressor {
    pub(super) fn new(slots: u16) -> Self {
        Self { slots: vec![None; usize::from(slots)], last: None, tosses: true }
    }

    pub(super) fn remember(&mut self, slot: u8, headers: &[u8]) {
        let place = usize::from(slot);
        if let Some(slot) = self.slots.get_mut(place) {
            let length = Headers::read(headers).map_or(headers.len(), Headers::len);
            *slot = Some(headers[..length].to_vec());
            (self.last, self.tosses) = (Some(place), false);
        }
    }

    /// The headers that it makes of these bytes, right or wrong; none if it discards the packet.
    pub(super) fn restore(&mut self, bytes: &[u8], payload: u16) -> Option<Vec<u8>> {
        let mut input = Input(bytes);
        let changes = input.byte();
        if changes & NEW_C != 0 {
            (self.last, self.tosses) = (Some(usize::from(input.byte())), false);
        } else if self.tosses {
            return None;
        }
        let headers = self.slots.get_mut(self.last?)?.as_mut()?;
        let transport = 4 * usize::from(headers[0] & 0x0f);
        let last = be16(headers, ip::LENGTH).wrapping_sub(headers.len() as u16);
        let at = |place: usize| transport + place;
        put16(headers, at(tcp::CHECKSUM), input.two());
        set_bit(&mut headers[at(tcp::FLAGS)], PSH, changes & PUSH != 0);
        let add = |headers: &mut Vec<u8>, place: usize, value: u16| {
            let sum = be32(headers, at(place)).wrapping_add(u32::from(value));
            put32(headers, at(place), sum);
        };
        match changes & SPECIALS {
            SPECIAL_I => {
                add(headers, tcp::ACK, last);
                add(headers, tcp::SEQ, last);
            }
            SPECIAL_D => add(headers, tcp::SEQ, last),
            _ => {
                set_bit(&mut headers[at(tcp::FLAGS)], URG, changes & NEW_U != 0);
                if changes & NEW_U != 0 {
                    let urgent = input.number();
                    put16(headers, at(tcp::URGENT), urgent);
                }
                if changes & NEW_W != 0 {
                    let window = be16(headers, at(tcp::WINDOW)).wrapping_add(input.number());
                    put16(headers, at(tcp::WINDOW), window);
                }
                for (change, place) in [(NEW_A, tcp::ACK), (NEW_S, tcp::SEQ)] {
                    if changes & change != 0 {
                        let value = input.number();
                        add(headers, place, value);
                    }
                }
            }
        }
        let step = if changes & NEW_I != 0 { input.number() } else { 1 };
        let identification = be16(headers, ip::IDENTIFICATION).wrapping_add(step);
        put16(headers, ip::IDENTIFICATION, identification);
        let length = (headers.len() as u16).wrapping_add(payload);
        put16(headers, ip::LENGTH, length);
        finish_ip_checksum(&mut headers[..transport]);
        Some(headers.clone())
    }
}

fn set_bit(byte: &mut u8, bit: u8, value: bool) {
    *byte = if value { *byte | bit } else { *byte & !bit };
}

/// What is left of a compressed header; after its end, zeros.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn two(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn number(&mut self) -> u16 {
        match self.byte() {
            0 => self.two(),
            byte => u16::from(byte),
        }
    }
}

/// Bits of the change mask (RFC 1144 figure 5).
const NEW_C: u8 = 0x40;
const NEW_I: u8 = 0x20;
const PUSH: u8 = 0x10;
const NEW_S: u8 = 0x08;
const NEW_A: u8 = 0x04;
const NEW_W: u8 = 0x02;
const NEW_U: u8 = 0x01;
const ACKED_DATA: u8 = NEW_S | NEW_A;
const SPECIAL_I: u8 = NEW_S | NEW_W | NEW_U;
const SPECIAL_D: u8 = NEW_S | NEW_A | NEW_W | NEW_U;
const SPECIALS: u8 = SPECIAL_D;
