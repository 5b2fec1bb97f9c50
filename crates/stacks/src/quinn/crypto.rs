//! Substitute for TLS 1.3 and AEAD in quinn's packets: messages and tags of the usual sizes, without secrets.
//!
//! quinn takes its cryptography from a trait, so this is its own way to do without. Nothing here is random, so a run
//! repeats to the bit; nothing hides anything either, which no study of retransmissions needs. The handshake has the
//! messages and levels of TLS 1.3 (RFC 9001 §4), in sizes of one with X25519 and a certificate chain of 1200 bytes.
//! Each packet ends in a tag of 16 bytes, as AEAD's: a checksum of header and payload under the key's number, so that
//! damage and packets of another level are refused. Payload and header are not encrypted. Wireshark, which knows the
//! keys of Initial packets, cannot read such a connection.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};

/// An end's configuration.
pub(super) struct Plain {
    /// Whether its connections have 0-RTT keys, as TLS has after an earlier connection: a client offers them, a server
    /// takes them from a client that does.
    pub(super) zero_rtt: bool,
}

/// One end of a handshake.
struct Handshake {
    side: Side,
    /// Our transport parameters, as bytes.
    parameters: Vec<u8>,
    /// Received part of an incomplete message.
    partial: Vec<u8>,
    peer: Option<Vec<u8>>,
    /// Message to be written next.
    next: Step,
    is_done: bool,
    /// Whether this end has 0-RTT keys, and at a client whether the server took them.
    zero_rtt: bool,
    is_resumed: bool,
    /// The last generation of 1-RTT keys.
    generation: u64,
}

/// Messages of an end, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client's first message.
    ClientHello,
    /// The server's answer, which lets both have handshake keys.
    ServerHello,
    /// The client has the server's hello: its handshake keys.
    HandshakeKeys,
    /// The server's certificate and finish, or the client's finish, with which 1-RTT keys come.
    Finish,
    /// Nothing until a message comes.
    Wait,
}

/// Types of TLS messages (RFC 8446 §4); that of the server's last flight stands for all of it.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_FLIGHT: u8 = 8;
const FINISHED: u8 = 20;

/// Sizes of messages without transport parameters, in bytes: the hellos with one X25519 share, a name and a protocol;
/// the server's extensions, certificates, signature and finish; the client's finish (SHA-256).
const CLIENT_HELLO_LEN: usize = 250;
const SERVER_HELLO_LEN: usize = 86;
const SERVER_FLIGHT_LEN: usize = 20 + 1200 + 80 + 32;
const FINISHED_LEN: usize = 32;

/// The same of a resumed connection (RFC 8446 §2.2): the client's hello has a ticket, as long as rustls makes them, and
/// its binder; the server sends its extensions and finish alone.
const RESUMING_HELLO_LEN: usize = CLIENT_HELLO_LEN + 180 + 40;
const RESUMED_FLIGHT_LEN: usize = 20 + 32;

/// RFC 8446 §4: type and length.
const MESSAGE_HEADER: usize = 4;

impl ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, parameters, Step::ClientHello, self.zero_rtt)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(INITIAL, Side::Server))
    }

    fn retry_tag(&self, _: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        tag(RETRY, 0, &[orig_dst_cid, packet])
    }

    fn start_session(self: Arc<Self>, _: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, parameters, Step::Wait, self.zero_rtt))
    }
}

impl Handshake {
    fn new(side: Side, parameters: &TransportParameters, next: Step, zero_rtt: bool) -> Self {
        let mut bytes = Vec::new();
        parameters.write(&mut bytes);
        let (partial, peer) = (Vec::new(), None);
        let (is_done, is_resumed) = (false, false);
        Self { side, parameters: bytes, partial, peer, next, is_done, zero_rtt, is_resumed, generation: 0 }
    }

    /// Takes the first whole message out of what has come.
    fn next_message(&mut self) -> Option<(u8, Vec<u8>)> {
        let header: [u8; MESSAGE_HEADER] = *self.partial.first_chunk()?;
        let len = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
        if self.partial.len() < MESSAGE_HEADER + len {
            return None;
        }
        let body = self.partial[MESSAGE_HEADER..MESSAGE_HEADER + len].to_vec();
        self.partial.drain(..MESSAGE_HEADER + len);
        Some((header[0], body))
    }

    /// Handles a message. Returns whether it belongs here.
    fn hear(&mut self, kind: u8, body: Vec<u8>) -> bool {
        match (self.side, kind) {
            (Side::Server, CLIENT_HELLO) => {
                self.peer = parameters_in(&body);
                self.is_resumed = self.zero_rtt && says_resumed(&body);
                self.next = Step::ServerHello;
            }
            (Side::Client, SERVER_HELLO) => self.next = Step::HandshakeKeys,
            (Side::Client, SERVER_FLIGHT) => {
                self.peer = parameters_in(&body);
                self.is_resumed = says_resumed(&body);
                self.next = Step::Finish;
                self.is_done = true;
            }
            (Side::Server, FINISHED) => self.is_done = true,
            _ => return false,
        }
        true
    }
}

/// Appends a message of `len` bytes and, in front of them, transport parameters; the first of the bytes says whether
/// the connection resumes an earlier one.
fn write_message(out: &mut Vec<u8>, kind: u8, parameters: &[u8], len: usize, resumes: bool) {
    let parameters_len = u16::try_from(parameters.len()).expect("transport parameters are short");
    let body = 2 + parameters.len() + len;
    out.push(kind);
    out.extend_from_slice(&(body as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&parameters_len.to_be_bytes());
    out.extend_from_slice(parameters);
    let filler = out.len();
    out.resize(filler + len, 0);
    out[filler] = u8::from(resumes);
}

/// Whether a message is of a connection that resumes an earlier one.
fn says_resumed(body: &[u8]) -> bool {
    parameters_in(body).and_then(|parameters| body.get(2 + parameters.len()).copied()) == Some(1)
}

/// The transport parameters at the beginning of a message.
fn parameters_in(body: &[u8]) -> Option<Vec<u8>> {
    let len = usize::from(u16::from_be_bytes(*body.first_chunk()?));
    body.get(2..2 + len).map(<[u8]>::to_vec)
}

impl Session for Handshake {
    fn initial_keys(&self, _: &ConnectionId, side: Side) -> Keys {
        keys(INITIAL, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let key = Key::new(EARLY, Side::Client);
        let has_keys = if self.side.is_client() { self.zero_rtt } else { self.is_resumed };
        has_keys.then(|| -> (Box<dyn HeaderKey>, Box<dyn PacketKey>) { (Box::new(key), Box::new(key)) })
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.zero_rtt.then_some(self.is_resumed)
    }

    fn is_handshaking(&self) -> bool {
        !self.is_done
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend_from_slice(bytes);
        while let Some((kind, body)) = self.next_message() {
            if !self.hear(kind, body) {
                return Err(TransportError::from(TransportErrorCode::PROTOCOL_VIOLATION));
            }
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        // Before the server's come, those that it had in the earlier connection: the same as ours, for both have
        // quinn's.
        let remembered = (self.side.is_client() && self.zero_rtt).then_some(&self.parameters);
        let Some(bytes) = self.peer.as_ref().or(remembered) else { return Ok(None) };
        Ok(Some(TransportParameters::read(self.side, &mut &bytes[..])?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let step = std::mem::replace(&mut self.next, Step::Wait);
        match (step, self.side) {
            (Step::ClientHello, _) => {
                let len = if self.zero_rtt { RESUMING_HELLO_LEN } else { CLIENT_HELLO_LEN };
                write_message(out, CLIENT_HELLO, &self.parameters, len, self.zero_rtt);
                None
            }
            (Step::ServerHello, side) => {
                write_message(out, SERVER_HELLO, &[], SERVER_HELLO_LEN, self.is_resumed);
                self.next = Step::Finish;
                Some(keys(HANDSHAKE, side))
            }
            (Step::HandshakeKeys, side) => Some(keys(HANDSHAKE, side)),
            (Step::Finish, Side::Server) => {
                let len = if self.is_resumed { RESUMED_FLIGHT_LEN } else { SERVER_FLIGHT_LEN };
                write_message(out, SERVER_FLIGHT, &self.parameters, len, self.is_resumed);
                Some(keys(ONE_RTT, Side::Server))
            }
            (Step::Finish, Side::Client) => {
                write_message(out, FINISHED, &[], FINISHED_LEN, false);
                Some(keys(ONE_RTT, Side::Client))
            }
            (Step::Wait, _) => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation += 1;
        Some(keys(ONE_RTT + self.generation, self.side).packet)
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some((payload, found)) = payload.split_last_chunk::<TAG_LEN>() else { return false };
        let packet = [header, payload].concat();
        *found == tag(RETRY, 0, &[orig_dst_cid, &packet])
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// A key is a number: of its level, and of who sends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

/// Number of the levels; each generation of 1-RTT keys has the next number after them.
const INITIAL: u64 = 0;
const HANDSHAKE: u64 = 1;
const RETRY: u64 = 2;
const RESET: u64 = 3;
const ONE_RTT: u64 = 4;
/// Of 0-RTT packets: a number that no generation of 1-RTT keys reaches.
const EARLY: u64 = 1 << 32;

fn keys(level: u64, side: Side) -> Keys {
    let (local, remote) = (Key::new(level, side), Key::new(level, !side));
    Keys {
        header: KeyPair { local: Box::new(local), remote: Box::new(remote) },
        packet: KeyPair { local: Box::new(local), remote: Box::new(remote) },
    }
}

impl Key {
    /// The key of an end for 1-RTT packets after `generation` key updates (RFC 9001 §6), for code that reads and writes
    /// packets as quinn does.
    pub(super) const fn one_rtt(side: Side, generation: u64) -> Self {
        Self::new(ONE_RTT + generation, side)
    }

    /// The generation of a key of 1-RTT packets.
    pub(super) const fn generation(self) -> u64 {
        self.0 / 2 - ONE_RTT
    }

    const fn new(level: u64, side: Side) -> Self {
        Self(2 * level + matches!(side, Side::Server) as u64)
    }
}

impl PacketKey for Key {
    fn encrypt(&self, packet: u64, buffer: &mut [u8], header_len: usize) {
        let (text, end) = buffer.split_at_mut(buffer.len() - TAG_LEN);
        let (header, payload) = text.split_at(header_len);
        end.copy_from_slice(&tag(self.0, packet, &[header, payload]));
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let (text, found) = payload.split_last_chunk::<TAG_LEN>().ok_or(CryptoError)?;
        if *found != tag(self.0, packet, &[header, text]) {
            return Err(CryptoError);
        }
        payload.truncate(payload.len() - TAG_LEN);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Key {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE_LEN
    }
}

/// The key of stateless resets and tokens.
pub(super) struct NumberKey(pub(super) u64);

impl HmacKey for NumberKey {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.copy_from_slice(&self.signature(data));
    }

    fn signature_len(&self) -> usize {
        2 * TAG_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if signature == self.signature(data) { Ok(()) } else { Err(CryptoError) }
    }
}

impl NumberKey {
    /// As long as one of HMAC-SHA-256.
    fn signature(&self, data: &[u8]) -> [u8; 2 * TAG_LEN] {
        let mut signature = [0; 2 * TAG_LEN];
        let halves = signature.chunks_exact_mut(TAG_LEN);
        (0..).zip(halves).for_each(|(half, out)| {
            out.copy_from_slice(&tag(RESET, self.0.wrapping_add(half), &[data]));
        });
        signature
    }
}

impl HandshakeTokenKey for NumberKey {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        let [first, ..] = tag(RESET, self.0, &[random_bytes]);
        Box::new(Key(ONE_RTT + u64::from(first)))
    }
}

impl AeadKey for Key {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        let end = tag(self.0, 0, &[additional_data, data]);
        data.extend_from_slice(&end);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let (text, found) = data.split_last_chunk_mut::<TAG_LEN>().ok_or(CryptoError)?;
        if *found == tag(self.0, 0, &[additional_data, text]) { Ok(text) } else { Err(CryptoError) }
    }
}

/// A checksum of some parts under a key and a packet's number: two of FNV-1a (RFC 9923), over words.
fn tag(key: u64, packet: u64, parts: &[&[u8]]) -> [u8; TAG_LEN] {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(23);
    let mut hash = step(step(OFFSET_BASIS, key), packet);
    for part in parts {
        hash = step(hash, part.len() as u64);
        for word in part.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            hash = step(hash, u64::from_le_bytes(bytes));
        }
    }
    let mut tag = [0; TAG_LEN];
    tag[..8].copy_from_slice(&hash.to_be_bytes());
    tag[8..].copy_from_slice(&step(hash, packet).to_be_bytes());
    tag
}

/// RFC 9001 §5.3: the tags of all AEADs of TLS 1.3 that QUIC uses.
const TAG_LEN: usize = 16;

/// RFC 9001 §5.4.2: the sample of header protection, which decides how short a packet may be.
const SAMPLE_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_another_number_and_another_key_are_refused() {
        let mut packet = b"header and some payload".to_vec();
        packet.resize(packet.len() + TAG_LEN, 0);
        PacketKey::encrypt(&Key(4), 7, &mut packet, 6);
        let opens = |key: u64, number: u64, bytes: &[u8]| {
            let mut payload = BytesMut::from(&bytes[6..]);
            PacketKey::decrypt(&Key(key), number, &bytes[..6], &mut payload).is_ok()
        };
        assert!(opens(4, 7, &packet));
        assert!(!opens(5, 7, &packet) && !opens(4, 8, &packet));
        for place in 0..packet.len() {
            let mut damaged = packet.clone();
            damaged[place] ^= 0x20;
            assert!(!opens(4, 7, &damaged), "byte {place}");
        }
    }

    #[test]
    fn a_message_may_come_in_parts() {
        let mut bytes = Vec::new();
        write_message(&mut bytes, CLIENT_HELLO, b"parameters", 100, false);
        let next = Step::Wait;
        let mut server = Handshake {
            side: Side::Server,
            parameters: Vec::new(),
            partial: Vec::new(),
            peer: None,
            next,
            is_done: false,
            zero_rtt: false,
            is_resumed: false,
            generation: 0,
        };
        server.read_handshake(&bytes[..50]).unwrap();
        assert_eq!(server.next, Step::Wait);
        server.read_handshake(&bytes[50..]).unwrap();
        assert_eq!((server.next, server.peer.as_deref()), (Step::ServerHello, Some(&b"parameters"[..])));
    }
}
