//! The packets of one connection, opened as far as there are keys.

use units::Instant;

use crate::crypto_stream::CryptoStream;
use crate::frame::{Frame, Frames};
use crate::header::{Header, Kind};
use crate::hello::{ClientHello, Parameters, suite_of};
use crate::keylog::{KeyLog, Label};
use crate::keys::{HeaderKey, Keys, PacketKey, Suite};
use crate::one_rtt::OneRttKeys;

/// A connection at a point of observation, between a client (side 0) and a server (side 1).
///
/// [`Connection::handle_datagram`] takes each datagram with the time, and calls its last argument with each packet: at
/// once, or when the keys are known that an earlier packet lacked.
#[derive(Debug, Default)]
pub struct Connection {
    /// The version of the last long header.
    version: u32,
    /// Initial keys, with the version and connection ID that they follow from.
    initial: Option<(u32, Vec<u8>, [Keys; 2])>,
    has_retry: bool,
    /// The connection ID of the client's first packet, or of the server's Retry.
    first_id: Option<Vec<u8>>,
    client_hello: Option<ClientHello>,
    /// What TLS sends in Initial packets, by side, and in the server's Handshake packets.
    hellos: [CryptoStream; 2],
    server_extensions: CryptoStream,
    parameters: [Parameters; 2],
    suite: Option<Suite>,
    has_other_suite: bool,
    early: Option<Keys>,
    handshake: [Option<Keys>; 2],
    one_rtt: [Option<OneRttKeys>; 2],
    /// The number after the largest that was opened, by side and space.
    next_number: [[u64; 3]; 2],
    /// Length of the connection IDs that each side chose.
    id_len: [Option<usize>; 2],
    waiting: Vec<Waiting>,
}

/// Time and frame of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Time at which it passed.
    pub at: Instant,
    /// Number of its frame in the capture.
    pub frame: u64,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Time and frame of its datagram.
    pub origin: Origin,
    /// Its sender: 0 for the client, 1 for the server.
    pub side: usize,
    /// Its kind.
    pub kind: Kind,
    /// Its bytes.
    pub size: u32,
    /// Its contents, or why they are not known.
    pub contents: Result<Contents<'a>, Unopened>,
}

/// The contents of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents<'a> {
    /// Its number.
    pub number: u64,
    /// Generation of its keys: the number of key updates before it.
    pub generation: u64,
    /// Its frames.
    pub frames: Vec<Frame<'a>>,
    /// The type of a frame that could not be read; what follows it was not read either.
    pub unknown_frame: Option<u64>,
}

/// Why a packet was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unopened {
    /// It has no number and no protection: Retry and Version Negotiation.
    Unprotected,
    /// The capture has only its front.
    Truncated,
    /// The key log has no secret of the connection.
    NoSecret,
    /// The capture lacks the hellos, from which keys follow.
    NoHello,
    /// TLS chose a cipher suite that is not known here.
    OtherSuite,
    /// It is not authentic under its keys: the secret is another's, or the packet is damaged.
    NotAuthentic,
}

/// A packet without keys so far.
#[derive(Debug)]
struct Waiting {
    origin: Origin,
    side: usize,
    packet: Vec<u8>,
}

impl Unopened {
    /// The reason in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unprotected => "without protection",
            Self::Truncated => "truncated by the capture",
            Self::NoSecret => "no secret in a key log",
            Self::NoHello => "handshake not in the capture",
            Self::OtherSuite => "another cipher suite",
            Self::NotAuthentic => "wrong secret, or damaged",
        }
    }
}

impl Connection {
    /// A datagram of `side` passed; `is_cut` if its end was not captured.
    pub fn handle_datagram(
        &mut self,
        origin: Origin,
        side: usize,
        datagram: &[u8],
        is_cut: bool,
        log: &KeyLog,
        each: &mut impl FnMut(&Packet<'_>),
    ) {
        let mut rest = datagram;
        while !rest.is_empty() {
            let Some(header) = Header::read(rest, self.id_len[1 - side]) else { return };
            let len = header.len.min(rest.len());
            // A short header has no length of its own.
            let whole = header.len <= rest.len() && !(is_cut && header.kind == Kind::OneRtt);
            self.note_header(side, &header);
            let packet = &rest[..len];
            if whole {
                self.handle_packet(origin, side, packet, log, each);
            } else {
                each(&unopened(origin, side, &header, packet.len(), Unopened::Truncated));
            }
            rest = &rest[len..];
        }
    }

    /// Number of packets that wait for hellos of which keys would follow.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The server's name in the client's hello.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.client_hello.as_ref()?.server_name.as_deref()
    }

    /// The cipher suite.
    #[must_use]
    pub const fn suite(&self) -> Option<Suite> {
        self.suite
    }

    /// Whether the server sent a Retry.
    #[must_use]
    pub const fn has_retry(&self) -> bool {
        self.has_retry
    }

    /// Number of key updates that packets of a side show.
    #[must_use]
    pub fn key_updates(&self, side: usize) -> u64 {
        self.one_rtt[side].as_ref().map_or(0, OneRttKeys::generation)
    }

    /// Unit of the delays in a side's ACK frames, as a power of two of microseconds, and the longest of its delays in
    /// milliseconds, as the side announced them (RFC 9000 §18.2).
    #[must_use]
    pub const fn ack_delays(&self, side: usize) -> (u32, u64) {
        (self.parameters[side].ack_delay_exponent, self.parameters[side].max_ack_delay_ms)
    }

    /// Bytes of all streams that the other side may send at first, as a side announced (RFC 9000 §18.2).
    #[must_use]
    pub const fn initial_max_data(&self, side: usize) -> u64 {
        self.parameters[side].initial_max_data
    }

    fn note_header(&mut self, side: usize, header: &Header<'_>) {
        if matches!(header.kind, Kind::OneRtt | Kind::VersionNegotiation) {
            return;
        }
        self.version = header.version;
        self.id_len[side] = Some(header.source.len());
        if side == 0 && header.kind == Kind::Initial && self.first_id.is_none() {
            self.first_id = Some(header.destination.to_vec());
        }
        if side == 1 && header.kind == Kind::Retry && !self.has_retry {
            // RFC 9001 §5.2: the keys follow from the ID that the server chose.
            self.has_retry = true;
            self.first_id = Some(header.source.to_vec());
        }
        if header.kind == Kind::Initial {
            self.derive_initial();
        }
    }

    fn derive_initial(&mut self) {
        let Some(id) = &self.first_id else { return };
        let known =
            self.initial.as_ref().is_some_and(|(version, of, _)| *version == self.version && of == id);
        if !known {
            let keys = Keys::initial(self.version, id);
            self.initial = keys.map(|keys| (self.version, id.clone(), keys));
        }
    }

    fn handle_packet(
        &mut self,
        origin: Origin,
        side: usize,
        packet: &[u8],
        log: &KeyLog,
        each: &mut impl FnMut(&Packet<'_>),
    ) {
        let Some(header) = Header::read(packet, self.id_len[1 - side]) else { return };
        if header.kind.space().is_none() {
            each(&unopened(origin, side, &header, packet.len(), Unopened::Unprotected));
            return;
        }
        if !self.has_keys(side, header.kind) {
            if self.waiting.len() < MOST_WAITING && self.may_come(log) {
                self.waiting.push(Waiting { origin, side, packet: packet.to_vec() });
            } else {
                each(&unopened(origin, side, &header, packet.len(), self.lacking(log)));
            }
            return;
        }
        let Some(opened) = self.open(side, &header, packet) else {
            each(&unopened(origin, side, &header, packet.len(), Unopened::NotAuthentic));
            return;
        };
        let frames = Frames::of(&opened.payload);
        let learnt = self.read_crypto(side, header.kind, &frames.read, log);
        each(&Packet {
            origin,
            side,
            kind: header.kind,
            size: packet.len() as u32,
            contents: Ok(Contents {
                number: opened.number,
                generation: opened.generation,
                frames: frames.read,
                unknown_frame: frames.unknown,
            }),
        });
        if learnt {
            for waiting in std::mem::take(&mut self.waiting) {
                self.handle_packet(waiting.origin, waiting.side, &waiting.packet, log, each);
            }
        }
    }

    fn has_keys(&self, side: usize, kind: Kind) -> bool {
        match kind {
            Kind::Initial => self.initial.is_some(),
            Kind::ZeroRtt => side == 0 && self.early.is_some(),
            Kind::Handshake => self.handshake[side].is_some(),
            Kind::OneRtt => self.one_rtt[side].is_some(),
            Kind::Retry | Kind::VersionNegotiation => false,
        }
    }

    /// Whether keys may follow from packets that are still to come.
    fn may_come(&self, log: &KeyLog) -> bool {
        let is_open = |hello: &ClientHello| self.suite.is_none() && log.knows(&hello.random);
        !self.has_other_suite && self.client_hello.as_ref().is_none_or(is_open)
    }

    /// What keys lack.
    fn lacking(&self, log: &KeyLog) -> Unopened {
        match &self.client_hello {
            None => Unopened::NoHello,
            Some(_) if self.has_other_suite => Unopened::OtherSuite,
            Some(hello) if log.knows(&hello.random) && self.suite.is_none() => Unopened::NoHello,
            Some(_) => Unopened::NoSecret,
        }
    }

    fn open(&mut self, side: usize, header: &Header<'_>, packet: &[u8]) -> Option<Opened> {
        let space = header.kind.space()? as usize;
        let expected = self.next_number[side][space];
        let sealed = Sealed { packet, number_at: header.number_at, expected };
        let opened = match header.kind {
            Kind::Initial => {
                let keys = &self.initial.as_ref()?.2[side];
                sealed.open_by(keys)
            }
            Kind::ZeroRtt => sealed.open_by(self.early.as_ref()?),
            Kind::Handshake => sealed.open_by(self.handshake[side].as_ref()?),
            Kind::OneRtt => sealed.open_one_rtt(self.one_rtt[side].as_mut()?),
            Kind::Retry | Kind::VersionNegotiation => None,
        }?;
        let next = &mut self.next_number[side][space];
        *next = (*next).max(opened.number + 1);
        Some(opened)
    }

    /// Reads what TLS sends. Returns whether keys follow that were not known.
    fn read_crypto(&mut self, side: usize, kind: Kind, frames: &[Frame<'_>], log: &KeyLog) -> bool {
        let stream = match (kind, side) {
            (Kind::Initial, _) => &mut self.hellos[side],
            (Kind::Handshake, 1) => &mut self.server_extensions,
            _ => return false,
        };
        let mut grew = false;
        for frame in frames {
            if let Frame::Crypto { offset, data } = frame {
                grew |= stream.add(*offset, data);
            }
        }
        if !grew {
            return false;
        }
        if kind == Kind::Handshake {
            let found = Parameters::of_server(self.server_extensions.in_order());
            self.parameters[1] = found.unwrap_or(self.parameters[1]);
            return false;
        }
        self.read_hellos(log)
    }

    fn read_hellos(&mut self, log: &KeyLog) -> bool {
        if self.client_hello.is_none() {
            self.client_hello = ClientHello::read(self.hellos[0].in_order());
            if let Some(hello) = &self.client_hello {
                self.parameters[0] = hello.parameters;
            }
        }
        if self.suite.is_none()
            && let Some(code) = suite_of(self.hellos[1].in_order())
        {
            self.suite = Suite::of_tls(code);
            self.has_other_suite = self.suite.is_none();
        }
        let before = self.key_count();
        self.derive(log);
        self.key_count() > before
    }

    fn key_count(&self) -> usize {
        let handshake = self.handshake.iter().flatten().count();
        handshake + self.one_rtt.iter().flatten().count() + usize::from(self.early.is_some())
    }

    fn derive(&mut self, log: &KeyLog) {
        let (Some(hello), Some(suite)) = (&self.client_hello, self.suite) else { return };
        let keys = |label| Keys::new(suite, self.version, log.secret(&hello.random, label)?);
        self.early = self.early.take().or_else(|| keys(Label::ClientEarly));
        let handshake = [Label::ClientHandshake, Label::ServerHandshake];
        let traffic = [Label::ClientTraffic, Label::ServerTraffic];
        for side in [0, 1] {
            self.handshake[side] = self.handshake[side].take().or_else(|| keys(handshake[side]));
            self.one_rtt[side] =
                self.one_rtt[side].take().or_else(|| keys(traffic[side]).map(OneRttKeys::new));
        }
    }
}

/// A packet that has not been opened.
struct Sealed<'a> {
    packet: &'a [u8],
    number_at: usize,
    expected: u64,
}

/// A packet that has been opened.
struct Opened {
    number: u64,
    generation: u64,
    payload: Vec<u8>,
}

impl Sealed<'_> {
    fn open_by(&self, keys: &Keys) -> Option<Opened> {
        let (number, mut packet, header_len) = self.unmask(&keys.header)?;
        let (header, sealed) = packet.split_at_mut(header_len);
        let payload = open(&keys.packet, number, header, sealed)?;
        Some(Opened { number, generation: 0, payload })
    }

    fn open_one_rtt(&self, keys: &mut OneRttKeys) -> Option<Opened> {
        let (number, packet, header_len) = self.unmask(&keys.header)?;
        let (header, sealed) = packet.split_at(header_len);
        let (payload, generation) = keys.open(number, header, sealed)?;
        Some(Opened { number, generation, payload })
    }

    /// The number, the packet without protection of its header, and the length of the header.
    fn unmask(&self, key: &HeaderKey) -> Option<(u64, Vec<u8>, usize)> {
        let mut packet = self.packet.to_vec();
        let (header_len, truncated, number_len) = key.unmask(&mut packet, self.number_at)?;
        Some((whole_number(truncated, 8 * number_len as u32, self.expected), packet, header_len))
    }
}

fn open(key: &PacketKey, number: u64, header: &[u8], sealed: &mut [u8]) -> Option<Vec<u8>> {
    key.open(number, header, sealed).map(<[u8]>::to_vec)
}

fn unopened(origin: Origin, side: usize, header: &Header<'_>, size: usize, why: Unopened) -> Packet<'static> {
    Packet { origin, side, kind: header.kind, size: size as u32, contents: Err(why) }
}

/// The number whose low bits are `truncated` and that is nearest to `expected` (RFC 9000 §A.3).
fn whole_number(truncated: u64, bits: u32, expected: u64) -> u64 {
    let (window, half) = (1 << bits, 1 << (bits - 1));
    let candidate = expected & !(window - 1) | truncated;
    if candidate + half <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + half && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// Packets that wait for keys: those of a first flight that overtook the hello.
const MOST_WAITING: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_number_is_the_nearest_as_in_rfc_9000_appendix_a_3() {
        assert_eq!(whole_number(0x9b32, 16, 0xa82f_30eb), 0xa82f_9b32);
        assert_eq!(whole_number(0xff, 8, 0x100), 0xff);
        assert_eq!(whole_number(0x00, 8, 0xff), 0x100);
        assert_eq!(whole_number(0xbff4, 16, 654_360_565), 654_360_564);
    }

    #[test]
    fn any_bytes_are_an_outcome() {
        let mut connection = Connection::default();
        let origin = Origin { at: Instant::START, frame: 1 };
        for len in 0..60 {
            for first in [0x40, 0xc0, 0xe0, 0xf0] {
                let mut datagram = vec![0; len];
                datagram.iter_mut().enumerate().for_each(|(place, byte)| *byte = place as u8);
                datagram.iter_mut().take(1).for_each(|byte| *byte = first);
                datagram.iter_mut().skip(1).take(4).zip([0, 0, 0, 1]).for_each(|(byte, value)| *byte = value);
                connection.handle_datagram(
                    origin,
                    len % 2,
                    &datagram,
                    false,
                    &KeyLog::default(),
                    &mut |_| {},
                );
            }
        }
        assert!(connection.waiting() <= MOST_WAITING);
    }
}
