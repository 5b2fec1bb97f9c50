//! The datagrams of a tunnel: a header, then an IP packet.
//!
//! All numbers are in network byte order: magic (4 bytes), kind (2), host (2), token (16), number (8), time of sending
//! (8).

use std::fs::File;
use std::io::{self, Read};

use units::Instant;

/// Bytes of the header.
pub(crate) const HEADER_LEN: usize = 40;

/// A random number that only this run's processes know. Datagrams without it are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u128);

/// Kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet of a host.
    Packet,
    /// A request for the time.
    Ping,
    /// An answer to a ping, with two times: when the ping was sent, and when it arrived.
    Pong,
}

/// The header before the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// The place of the host among all remote hosts.
    pub(crate) host: u16,
    pub(crate) token: Token,
    /// The number of the packet in its direction, from 0.
    pub(crate) number: u64,
    /// The time of sending, by the sender's clock.
    pub(crate) sent: Instant,
}

impl Token {
    /// Draws one from the system's generator.
    pub(crate) fn draw() -> io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }

    /// Returns it as text.
    pub(crate) fn text(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Reads what [`Token::text`] wrote.
    pub(crate) fn read(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

impl Header {
    /// Appends the header to a datagram.
    pub(crate) fn write_to(self, datagram: &mut Vec<u8>) {
        datagram.extend(MAGIC);
        datagram.extend((self.kind as u16).to_be_bytes());
        datagram.extend(self.host.to_be_bytes());
        datagram.extend(self.token.0.to_be_bytes());
        datagram.extend(self.number.to_be_bytes());
        datagram.extend(self.sent.as_nanos().to_be_bytes());
    }

    /// Reads the header of a datagram; `None` if it is not one of ours.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let kind = match u16::from_be_bytes(bytes(datagram, 4)?) {
            0 => Kind::Packet,
            1 => Kind::Ping,
            2 => Kind::Pong,
            _ => return None,
        };
        (bytes::<4>(datagram, 0)? == MAGIC).then_some(())?;
        Some(Self {
            kind,
            host: u16::from_be_bytes(bytes(datagram, 6)?),
            token: Token(u128::from_be_bytes(bytes(datagram, 8)?)),
            number: u64::from_be_bytes(bytes(datagram, 24)?),
            sent: time(datagram, 32)?,
        })
    }
}

/// Reads a time at a place of a datagram.
pub(crate) fn time(datagram: &[u8], at: usize) -> Option<Instant> {
    bytes(datagram, at).map(u64::from_be_bytes).map(Instant::from_nanos)
}

fn bytes<const N: usize>(datagram: &[u8], at: usize) -> Option<[u8; N]> {
    datagram.get(at..at + N)?.try_into().ok()
}

/// "lasthop tunnel", version 1.
const MAGIC: [u8; 4] = *b"lht1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_anything_else_is_none() {
        let header = Header {
            kind: Kind::Pong,
            host: 3,
            token: Token::draw().unwrap(),
            number: 1 << 40,
            sent: Instant::from_nanos(77),
        };
        let mut datagram = Vec::new();
        header.write_to(&mut datagram);
        assert_eq!(datagram.len(), HEADER_LEN);
        assert_eq!(Header::read(&datagram), Some(header));
        assert_eq!(Header::read(&datagram[..HEADER_LEN - 1]), None);
        datagram[0] ^= 1;
        assert_eq!(Header::read(&datagram), None);
    }

    #[test]
    fn a_token_survives_as_text() {
        let token = Token::draw().unwrap();
        assert_eq!(Token::read(&token.text()), Some(token));
        assert_ne!(Token::draw().unwrap(), token);
        assert_eq!(Token::read("what"), None);
    }
}
