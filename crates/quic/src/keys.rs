//! Keys of packets and of headers (RFC 9001 §5; RFC 9369 §3.3 for version 2).

use ring::aead::quic::HeaderProtectionKey;
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{self, KeyType, Prk, Salt};
use serde::Serialize;

/// A cipher suite of TLS 1.3 that QUIC uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Suite {
    /// TLS_AES_128_GCM_SHA256.
    #[serde(rename = "AES-128-GCM")]
    Aes128,
    /// TLS_AES_256_GCM_SHA384.
    #[serde(rename = "AES-256-GCM")]
    Aes256,
    /// TLS_CHACHA20_POLY1305_SHA256.
    #[serde(rename = "ChaCha20-Poly1305")]
    ChaCha20,
}

/// Keys of one direction and level.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) header: HeaderKey,
    pub(crate) packet: PacketKey,
}

/// The key that removes the protection of headers (RFC 9001 §5.4).
pub(crate) struct HeaderKey(HeaderProtectionKey);

/// The key of one generation that opens packets.
pub(crate) struct PacketKey {
    suite: Suite,
    version: u32,
    secret: Vec<u8>,
    key: LessSafeKey,
    iv: [u8; IV_LEN],
}

impl Suite {
    /// The suite of a code of TLS (RFC 8446 §B.4).
    pub(crate) const fn of_tls(code: u16) -> Option<Self> {
        match code {
            0x1301 => Some(Self::Aes128),
            0x1302 => Some(Self::Aes256),
            0x1303 => Some(Self::ChaCha20),
            _ => None,
        }
    }

    fn hash(self) -> hkdf::Algorithm {
        match self {
            Self::Aes256 => hkdf::HKDF_SHA384,
            Self::Aes128 | Self::ChaCha20 => hkdf::HKDF_SHA256,
        }
    }

    fn cipher(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128 => &aead::AES_128_GCM,
            Self::Aes256 => &aead::AES_256_GCM,
            Self::ChaCha20 => &aead::CHACHA20_POLY1305,
        }
    }

    fn header_cipher(self) -> &'static aead::quic::Algorithm {
        match self {
            Self::Aes128 => &aead::quic::AES_128,
            Self::Aes256 => &aead::quic::AES_256,
            Self::ChaCha20 => &aead::quic::CHACHA20,
        }
    }

    /// Length of its secrets in bytes.
    pub(crate) fn secret_len(self) -> usize {
        self.hash().hmac_algorithm().digest_algorithm().output_len()
    }
}

impl Keys {
    /// The keys that follow from a secret; `None` if it has a length that is not the suite's.
    pub(crate) fn new(suite: Suite, version: u32, secret: &[u8]) -> Option<Self> {
        if secret.len() != suite.secret_len() {
            return None;
        }
        let cipher = suite.header_cipher();
        let bytes = expanded(suite, secret, label(version, Part::Header), cipher.key_len())?;
        let header = HeaderKey(HeaderProtectionKey::new(cipher, &bytes).ok()?);
        Some(Self { header, packet: PacketKey::new(suite, version, secret)? })
    }

    /// The client's and the server's keys of Initial packets (RFC 9001 §5.2).
    pub(crate) fn initial(version: u32, destination: &[u8]) -> Option<[Self; 2]> {
        let prk = Salt::new(hkdf::HKDF_SHA256, initial_salt(version)?).extract(destination);
        let of = |name: &[u8]| {
            let secret = expanded_of(&prk, name, Suite::Aes128.secret_len())?;
            Self::new(Suite::Aes128, version, &secret)
        };
        Some([of(b"client in")?, of(b"server in")?])
    }
}

impl HeaderKey {
    /// Removes the protection of the header at the front of a packet, whose number is at `number_at`. Returns the
    /// length of the header and the truncated number with its length in bytes.
    pub(crate) fn unmask(&self, packet: &mut [u8], number_at: usize) -> Option<(usize, u64, usize)> {
        // RFC 9001 §5.4.2: the sample begins four bytes after the start of the number.
        let sample = packet.get(number_at + 4..number_at + 4 + SAMPLE_LEN)?;
        let mask = self.0.new_mask(sample).ok()?;
        let protected = if packet[0] & crate::header::LONG == 0 { 0x1f } else { 0x0f };
        packet[0] ^= mask[0] & protected;
        let number_len = 1 + usize::from(packet[0] & 3);
        let bytes = &mut packet[number_at..number_at + number_len];
        bytes.iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        let number = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Some((number_at + number_len, number, number_len))
    }
}

impl PacketKey {
    fn new(suite: Suite, version: u32, secret: &[u8]) -> Option<Self> {
        let bytes = expanded(suite, secret, label(version, Part::Key), suite.cipher().key_len())?;
        let key = LessSafeKey::new(UnboundKey::new(suite.cipher(), &bytes).ok()?);
        let iv = expanded(suite, secret, label(version, Part::Iv), IV_LEN)?.try_into().ok()?;
        Some(Self { suite, version, secret: secret.to_vec(), key, iv })
    }

    /// The key of the next generation (RFC 9001 §6.1).
    pub(crate) fn next(&self) -> Option<Self> {
        let secret =
            expanded(self.suite, &self.secret, label(self.version, Part::Update), self.secret.len())?;
        Self::new(self.suite, self.version, &secret)
    }

    /// Opens a packet: `sealed` follows the header, and becomes the payload.
    pub(crate) fn open<'a>(&self, number: u64, header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
        let opened = self.key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(header), sealed);
        opened.ok().map(|payload| &*payload)
    }
}

impl std::fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HeaderKey")
    }
}

impl std::fmt::Debug for PacketKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PacketKey({:?})", self.suite)
    }
}

/// What is derived from a secret.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Iv,
    Header,
    Update,
}

const fn label(version: u32, part: Part) -> &'static [u8] {
    match (version == VERSION_2, part) {
        (false, Part::Key) => b"quic key",
        (false, Part::Iv) => b"quic iv",
        (false, Part::Header) => b"quic hp",
        (false, Part::Update) => b"quic ku",
        (true, Part::Key) => b"quicv2 key",
        (true, Part::Iv) => b"quicv2 iv",
        (true, Part::Header) => b"quicv2 hp",
        (true, Part::Update) => b"quicv2 ku",
    }
}

/// HKDF-Expand-Label of a secret without a context (RFC 8446 §7.1).
fn expanded(suite: Suite, secret: &[u8], label: &[u8], len: usize) -> Option<Vec<u8>> {
    expanded_of(&Prk::new_less_safe(suite.hash(), secret), label, len)
}

fn expanded_of(prk: &Prk, label: &[u8], len: usize) -> Option<Vec<u8>> {
    struct Len(usize);
    impl KeyType for Len {
        fn len(&self) -> usize {
            self.0
        }
    }
    let head = [&(len as u16).to_be_bytes()[..], &[PREFIX.len() as u8 + label.len() as u8]].concat();
    let info = [&head, PREFIX, label, &[0]];
    let mut out = vec![0; len];
    prk.expand(&info, Len(len)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// RFC 9001 §5.2; RFC 9369 §3.3.1; draft-ietf-quic-tls-29 §5.2.
const fn initial_salt(version: u32) -> Option<&'static [u8]> {
    Some(match version {
        1 | 0xff00_0021..=0xff00_0022 => {
            b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"
        }
        VERSION_2 => b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
        0xff00_001d..=0xff00_0020 => {
            b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99"
        }
        _ => return None,
    })
}

/// RFC 9369 §3.1.
pub(crate) const VERSION_2: u32 = 0x6b33_43cf;
/// RFC 8446 §7.1.
const PREFIX: &[u8] = b"tls13 ";
/// RFC 9001 §5.3: the nonce of each of these ciphers.
const IV_LEN: usize = 12;
/// RFC 9001 §5.4.2.
const SAMPLE_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            text.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    #[test]
    fn initial_secrets_are_those_of_rfc_9001_appendix_a_1() {
        let prk = Salt::new(hkdf::HKDF_SHA256, initial_salt(1).unwrap()).extract(&hex("8394c8f03e515708"));
        let secret = expanded_of(&prk, b"client in", 32).unwrap();
        assert_eq!(secret, hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea"));
        let part = |part, len| expanded(Suite::Aes128, &secret, label(1, part), len).unwrap();
        assert_eq!(part(Part::Key, 16), hex("1f369613dd76d5467730efcbe3b1a22d"));
        assert_eq!(part(Part::Iv, 12), hex("fa044b2f42a3fd3b46fb255c"));
        assert_eq!(part(Part::Header, 16), hex("9f50449e04a0e810283a1e9933adedd2"));
    }

    #[test]
    fn initial_secrets_of_version_2_are_those_of_rfc_9369_appendix_a_1() {
        let prk =
            Salt::new(hkdf::HKDF_SHA256, initial_salt(VERSION_2).unwrap()).extract(&hex("8394c8f03e515708"));
        let secret = expanded_of(&prk, b"client in", 32).unwrap();
        let part = |part, len| expanded(Suite::Aes128, &secret, label(VERSION_2, part), len).unwrap();
        assert_eq!(part(Part::Key, 16), hex("8b1a0bc121284290a29e0971b5cd045d"));
        assert_eq!(part(Part::Iv, 12), hex("91f73e2351d8fa91660e909f"));
        assert_eq!(part(Part::Header, 16), hex("45b95e15235d6f45a6b19cbcb0294ba9"));
    }

    #[test]
    fn the_server_s_initial_of_rfc_9001_appendix_a_3_opens() {
        let mut packet = hex(
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb3
             8cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84
             022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
        );
        let [_, server] = Keys::initial(1, &hex("8394c8f03e515708")).unwrap();
        let (len, number, _) = server.header.unmask(&mut packet, 18).unwrap();
        assert_eq!((packet[0], number), (0xc1, 1));
        let (header, sealed) = packet.split_at_mut(len);
        let payload = server.packet.open(1, header, sealed).expect("it is authentic");
        assert_eq!(payload[..6], hex("020000000006"));
        assert_eq!(payload.len(), 99);
    }

    #[test]
    fn the_chacha20_packet_of_rfc_9001_appendix_a_5_opens_and_its_keys_update() {
        let secret = hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let keys = Keys::new(Suite::ChaCha20, 1, &secret).unwrap();
        let mut packet = hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        let (len, number, number_len) = keys.header.unmask(&mut packet, 1).unwrap();
        assert_eq!((number, number_len), (49_140, 3));
        let (header, sealed) = packet.split_at_mut(len);
        assert_eq!(keys.packet.open(654_360_564, header, sealed), Some(&[1][..]));
        let next = keys.packet.next().unwrap();
        assert_eq!(next.secret, hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
    }

    #[test]
    fn a_damaged_packet_and_a_short_sample_do_not_open() {
        let [client, _] = Keys::initial(1, &[1; 8]).unwrap();
        assert!(client.header.unmask(&mut [0xc0; 30], 12).is_none());
        assert!(client.packet.open(0, &[], &mut [0; 40]).is_none());
        assert!(client.packet.open(0, &[], &mut []).is_none());
        assert!(Keys::new(Suite::Aes256, 1, &[0; 32]).is_none());
    }
}
