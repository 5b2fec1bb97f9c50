//! Octet stuffing of PPP in frames like HDLC's (RFC 1662 §4.2): octets that mean something to the line are escaped, and
//! become two. How many there are is a matter of the content: of the headers as they are sent, of a payload whose
//! content the configuration says, and of the frame check sequence.
//!
//! The content of a flow's stream is a function of the seed, the flow and the place in the stream, so that a
//! retransmission is as long as its original. The address, control and protocol fields count as part of the framing.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{PacketId, Streams};

use crate::compression::CompressedPacket;

/// Octet stuffing of PPP frames (RFC 1662 §4.2). The flag 0x7e, the escape 0x7d and the control characters of the map
/// are sent as two octets. It needs `framing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stuffing {
    /// Content of the payloads.
    pub content: Content,
    /// The asynchronous control character map: bit n has octet n escaped. Default: "0xffffffff", all 32 (RFC 1662
    /// §7.1); "0x000a0000" is XON and XOFF, "0x00000000" none.
    pub accm: Accm,
}

/// Content of the payloads on a link with stuffing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "StuffedContent")]
pub enum Content {
    /// Any octet is as likely as any other, as in compressed or encrypted files.
    #[default]
    Random,
    /// Lines of 72 printable characters and a carriage return and line feed; none of the characters is escaped.
    Text,
    /// Zeros, as in sparse files: escaped where the map has octet 0.
    Zeros,
    /// Flags: every octet is escaped.
    WorstCase,
}

/// An asynchronous control character map (RFC 1662 §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accm(pub u32);

impl Default for Accm {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl fmt::Display for Accm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

impl FromStr for Accm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let map =
            digits.filter(|digits| !digits.starts_with('+')).map(|digits| u32::from_str_radix(digits, 16));
        match map {
            Some(Ok(map)) => Ok(Self(map)),
            _ => Err(format!("`{text}` is no map of 32 control characters; write it like \"0x000a0000\"")),
        }
    }
}

impl Serialize for Accm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Accm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Accm {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Accm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^0[xX][0-9a-fA-F]{1,8}$",
            "description": "A map of 32 control characters (RFC 1662 §7.1), such as \"0x000a0000\"."
        })
    }
}

/// Counts the octets that are escaped.
#[derive(Debug)]
pub(crate) struct Stuffer {
    config: Stuffing,
    seed: u64,
}

impl Stuffer {
    pub(crate) fn new(config: Stuffing, streams: &Streams) -> Self {
        Self { config, seed: streams.number("stuffing") }
    }

    /// Octets that are escaped in a packet with these headers, as they are sent, and `payload` octets after them.
    pub(crate) fn escaped(
        &self,
        packet: &CompressedPacket,
        (id, flow): (PacketId, u64),
        payload: u64,
    ) -> u64 {
        let place = place_in_stream(&packet.headers).unwrap_or(id.0 << 16);
        let headers = match packet.encoded.bytes(&packet.headers) {
            Some(bytes) => bytes.iter().filter(|octet| self.is_escaped(**octet)).count() as u64,
            None => {
                let octets = u64::from(packet.encoded.length);
                self.count(octets, |at| self.random(flow ^ HEADERS, (id.0 << 8) + at))
            }
        };
        let payload = self.count(payload, |at| self.octet(flow, place + at));
        let check = self.count(CHECK_SEQUENCE, |at| self.random(flow ^ CHECK, (id.0 << 8) + at));
        headers + payload + check
    }

    fn count(&self, octets: u64, octet: impl Fn(u64) -> u8) -> u64 {
        (0..octets).map(|at| u64::from(self.is_escaped(octet(at)))).sum()
    }

    fn is_escaped(&self, octet: u8) -> bool {
        matches!(octet, FLAG | ESCAPE) || (octet < 32 && self.config.accm.0 >> octet & 1 == 1)
    }

    /// The octet at a place of a flow's stream.
    fn octet(&self, flow: u64, place: u64) -> u8 {
        match self.config.content {
            Content::Random => self.random(flow, place),
            Content::Zeros => 0,
            Content::WorstCase => FLAG,
            Content::Text => match place % LINE {
                CARRIAGE_RETURN_AT => b'\r',
                LINE_FEED_AT => b'\n',
                _ => b'x',
            },
        }
    }

    /// One octet of 64 random bits, which are those of eight octets in a row.
    fn random(&self, flow: u64, place: u64) -> u8 {
        let bits = mix(self.seed ^ mix(flow.wrapping_add(1)) ^ (place >> 3).wrapping_mul(GOLDEN));
        (bits >> (8 * (place & 7))) as u8
    }
}

/// The sequence number of a TCP segment over IPv4.
fn place_in_stream(headers: &[u8]) -> Option<u64> {
    let transport = 4 * usize::from(headers.first()? & 0x0f);
    let is_tcp = headers.get(9) == Some(&6);
    let number = headers.get(transport + 4..transport + 8).filter(|_| is_tcp)?;
    Some(number.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}

/// The output function of SplitMix64 (Steele, Lea and Flood 2014).
const fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(GOLDEN);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// RFC 1662 §4.2.
const FLAG: u8 = 0x7e;
const ESCAPE: u8 = 0x7d;
/// RFC 1662 §3.1: 16 bits.
const CHECK_SEQUENCE: u64 = 2;

/// A line of text: 72 characters (RFC 2223 §2) and its end.
const LINE: u64 = 74;
const CARRIAGE_RETURN_AT: u64 = 72;
const LINE_FEED_AT: u64 = 73;

/// Streams of their own for headers of which only the length is known, and for check sequences.
const HEADERS: u64 = 0x6865_6164;
const CHECK: u64 = 0x0066_6373;

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::packet::Packet;

    fn stuffer(content: Content, accm: u32) -> Stuffer {
        Stuffer::new(Stuffing { content, accm: Accm(accm) }, &Streams::new(7))
    }

    fn share(stuffer: &Stuffer) -> f64 {
        const OCTETS: u64 = 740_000;
        stuffer.count(OCTETS, |at| stuffer.octet(3, at)) as f64 / OCTETS as f64
    }

    #[test]
    fn random_octets_are_escaped_as_often_as_octets_of_the_map_and_two_more() {
        for (accm, octets) in [(0, 2.0), (0x000a_0000, 4.0), (u32::MAX, 34.0)] {
            let share = share(&stuffer(Content::Random, accm));
            assert!((share - octets / 256.0).abs() < 0.001, "{accm:#x}: {share}");
        }
    }

    #[test]
    fn text_costs_the_ends_of_its_lines_and_zeros_cost_where_the_map_has_them() {
        assert_eq!(
            [0, 1 << 13, u32::MAX].map(|accm| share(&stuffer(Content::Text, accm)) * 74.0),
            [0.0, 1.0, 2.0]
        );
        assert_eq!([0, 1, u32::MAX].map(|accm| share(&stuffer(Content::Zeros, accm))), [0.0, 1.0, 1.0]);
        assert!((share(&stuffer(Content::WorstCase, 0)) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn content_depends_on_the_place_in_the_stream_alone() {
        let [one, other] = [0, 5].map(|start| {
            let stuffer = stuffer(Content::Random, 0);
            (start..start + 1000).map(|place| stuffer.octet(1, place)).collect::<Vec<u8>>()
        });
        assert_eq!(one[5..], other[..995]);
    }

    /// A packet of these headers.
    struct Whole(Vec<u8>);

    impl Packet for Whole {
        fn id(&self) -> PacketId {
            PacketId(1)
        }

        fn size(&self) -> Bytes {
            Bytes(self.0.len() as u64)
        }

        fn corrupt(&mut self) {}

        fn flow_key(&self) -> u64 {
            1
        }

        fn headers(&self, bytes: &mut Vec<u8>) {
            bytes.extend(&self.0);
        }
    }

    /// IP and TCP headers of a segment with this sequence number, all other octets 1.
    fn headers(seq: u32) -> Vec<u8> {
        let mut bytes = vec![1; 40];
        (bytes[0], bytes[9]) = (0x45, 6);
        bytes[24..28].copy_from_slice(&seq.to_be_bytes());
        bytes
    }

    #[test]
    fn the_place_in_the_stream_is_the_sequence_number_of_tcp_alone() {
        assert_eq!(place_in_stream(&headers(0x0102_0304)), Some(0x0102_0304));
        let mut with_options = headers(0);
        with_options[0] = 0x46;
        with_options[28..32].copy_from_slice(&[0, 0, 0, 9]);
        assert_eq!(place_in_stream(&with_options), Some(9), "after the options of IP");
        let mut datagram = headers(7);
        datagram[9] = 17;
        assert_eq!(place_in_stream(&datagram), None);
        assert_eq!(place_in_stream(&headers(7)[..26]), None);
    }

    #[test]
    fn the_octets_of_headers_payload_and_check_sequence_are_added_up() {
        let stuffer = stuffer(Content::WorstCase, u32::MAX);
        let escaped = |id: u64, payload| {
            let packet = CompressedPacket::plain(&Whole(headers(0x2020_2020)));
            stuffer.escaped(&packet, (PacketId(id), 1), payload)
        };
        assert_eq!(escaped(1, 100) - escaped(1, 0), 100, "flags are escaped");
        // 40 octets of headers, of which the first and those of the sequence number are no control characters.
        let check: u64 = (0..1000).map(|id| escaped(id, 0) - (40 - 5)).sum();
        let share = check as f64 / 2000.0;
        assert!((share - 34.0 / 256.0).abs() < 0.03, "two octets of a check sequence: {share}");
    }

    #[test]
    fn a_map_is_written_in_hexadecimal() {
        assert_eq!("0x000A0000".parse(), Ok(Accm(0x000a_0000)));
        assert_eq!(Accm(0x000a_0000).to_string(), "0x000a0000");
        for wrong in ["000a0000", "0x", "0x1ffffffff", "0x+1", "all"] {
            assert!(wrong.parse::<Accm>().is_err(), "{wrong}");
        }
    }
}
