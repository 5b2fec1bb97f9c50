//! Both ends against each other, and headers that the tests write.

mod rohc;
mod vj;

use units::{Bytes, Duration, Instant, PacketId};

use super::headers::{ACK, finish_ip_checksum, put16, put32};
use super::*;
use crate::packet::Packet;

/// A TCP segment over IPv4.
#[derive(Clone, Debug)]
struct Segment {
    port: u16,
    id: u16,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    urgent: u16,
    payload: u16,
    options: Vec<u8>,
}

impl Default for Segment {
    fn default() -> Self {
        Self {
            port: 2000,
            id: 100,
            seq: 1_000_000,
            ack: 7_000_000,
            flags: ACK,
            window: 8192,
            urgent: 0,
            payload: 0,
            options: Vec::new(),
        }
    }
}

impl Segment {
    fn headers(&self) -> Vec<u8> {
        let length = 40 + self.options.len();
        let mut bytes = vec![0; length];
        (bytes[0], bytes[8], bytes[9]) = (0x45, 64, 6);
        put16(&mut bytes, 2, length as u16 + self.payload);
        put16(&mut bytes, 4, self.id);
        bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        finish_ip_checksum(&mut bytes[..20]);
        put16(&mut bytes, 20, self.port);
        put16(&mut bytes, 22, 80);
        put32(&mut bytes, 24, self.seq);
        put32(&mut bytes, 28, self.ack);
        (bytes[32], bytes[33]) = (((length as u8 - 20) / 4) << 4, self.flags);
        put16(&mut bytes, 34, self.window);
        // Any checksum will do: it is carried as it is.
        put16(&mut bytes, 36, (self.seq ^ self.ack) as u16 | 1);
        put16(&mut bytes, 38, self.urgent);
        bytes[40..].copy_from_slice(&self.options);
        bytes
    }
}

fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(value.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options
}

/// A packet with these headers.
struct Whole(u64, Vec<u8>);

impl Packet for Whole {
    fn id(&self) -> PacketId {
        PacketId(self.0)
    }

    fn size(&self) -> Bytes {
        Bytes(u64::from(super::headers::be16(&self.1, 2)))
    }

    fn corrupt(&mut self) {}

    fn flow_key(&self) -> u64 {
        self.1.get(20..22).map_or(0, |port| u64::from(super::headers::be16(port, 0)))
    }

    fn headers(&self, bytes: &mut Vec<u8>) {
        bytes.extend(&self.1);
    }
}

/// A link with a compressor, packet by packet, a millisecond apart.
struct Link {
    ends: HeaderCompression,
    sent: u64,
}

/// What came of a packet: the form and the length of its headers, and the packet since which they were wrong, if so.
type Fate = (HeaderKind, u32, Option<u64>);

impl Link {
    fn new(config: &Compression) -> Self {
        config.check().expect("the test's parameters are right");
        Self { ends: HeaderCompression::new(config, Duration::from_millis(5)), sent: 0 }
    }

    fn compress(&mut self, headers: Vec<u8>) -> CompressedPacket {
        self.sent += 1;
        self.ends.compress(self.now(), &Whole(self.sent, headers))
    }

    fn now(&self) -> Instant {
        Instant::START + Duration::from_millis(self.sent)
    }

    fn carry(&mut self, headers: Vec<u8>) -> Fate {
        let packet = self.compress(headers);
        let since = self.ends.decompress(self.now(), &packet).err();
        (packet.encoded.kind, packet.encoded.length, since.map(|packet| packet.0))
    }

    fn lose(&mut self, headers: Vec<u8>) {
        let packet = self.compress(headers);
        self.ends.on_lost(&packet, false);
    }
}

#[test]
fn a_packet_without_headers_that_can_be_read_passes_as_it_is() {
    let ping = {
        let mut bytes = Segment::default().headers();
        bytes[9] = 1;
        bytes
    };
    let fragment = {
        let mut bytes = Segment::default().headers();
        bytes[6] = 0x20;
        bytes
    };
    for config in [Compression::Vj(Default::default()), Compression::Rohc(Default::default())] {
        for bytes in [vec![], vec![0x45], vec![0x60; 60], ping.clone(), fragment.clone()] {
            let length = bytes.len() as u32;
            assert_eq!(Link::new(&config).compress(bytes).encoded.kind, HeaderKind::Plain, "{length}");
        }
    }
}
