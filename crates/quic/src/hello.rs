//! Messages of TLS 1.3 (RFC 8446 §4), as far as packets need them: random numbers, cipher suites, the name of the
//! server, and transport parameters (RFC 9000 §18).

use crate::bytes::Bytes;

/// A ClientHello.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientHello {
    pub(crate) random: [u8; 32],
    pub(crate) server_name: Option<String>,
    pub(crate) parameters: Parameters,
}

/// The transport parameters that times of acknowledgments and the limit of data need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Unit of the delays in its ACK frames, as a power of two of microseconds.
    pub(crate) ack_delay_exponent: u32,
    /// The longest time for which it delays acknowledgments, in milliseconds.
    pub(crate) max_ack_delay_ms: u64,
    /// Bytes of all streams that its peer may send before a MAX_DATA frame.
    pub(crate) initial_max_data: u64,
}

impl Default for Parameters {
    /// RFC 9000 §18.2.
    fn default() -> Self {
        Self { ack_delay_exponent: 3, max_ack_delay_ms: 25, initial_max_data: 0 }
    }
}

impl ClientHello {
    /// Reads the message with which the client's Initial packets begin, once it is complete.
    pub(crate) fn read(stream: &[u8]) -> Option<Self> {
        let mut message = messages(stream).find(|(kind, _)| *kind == CLIENT_HELLO)?.1;
        message.u16()?;
        let random = message.take(32)?.try_into().ok()?;
        message.vector(1)?;
        message.vector(2)?;
        message.vector(1)?;
        let mut hello = Self { random, ..Self::default() };
        for (kind, body) in extensions(message.vector(2)?) {
            match kind {
                SERVER_NAME => hello.server_name = server_name(body),
                TRANSPORT_PARAMETERS => hello.parameters = Parameters::read(body),
                _ => {}
            }
        }
        Some(hello)
    }
}

/// The code of the cipher suite that a server chose in its ServerHello, once it is complete.
pub(crate) fn suite_of(stream: &[u8]) -> Option<u16> {
    let mut message = messages(stream).find(|(kind, _)| *kind == SERVER_HELLO)?.1;
    message.take(2 + 32)?;
    message.vector(1)?;
    message.u16()
}

impl Parameters {
    /// Those of a server, in its EncryptedExtensions, once they are complete.
    pub(crate) fn of_server(stream: &[u8]) -> Option<Self> {
        let mut message = messages(stream).find(|(kind, _)| *kind == ENCRYPTED_EXTENSIONS)?.1;
        let found = extensions(message.vector(2)?).find(|(kind, _)| *kind == TRANSPORT_PARAMETERS)?;
        Some(Self::read(found.1))
    }

    fn read(mut body: Bytes<'_>) -> Self {
        let mut parameters = Self::default();
        while let (Some(id), Some(value)) = (body.variable(), body.counted()) {
            let number = Bytes(value).variable();
            match (id, number) {
                // RFC 9000 §18.2: values above 20, and of 2^14 or more, are invalid.
                (ACK_DELAY_EXPONENT, Some(number @ 0..=20)) => parameters.ack_delay_exponent = number as u32,
                (MAX_ACK_DELAY, Some(number @ 0..0x4000)) => parameters.max_ack_delay_ms = number,
                (INITIAL_MAX_DATA, Some(number)) => parameters.initial_max_data = number,
                _ => {}
            }
        }
        parameters
    }
}

/// The complete messages at the front of a stream.
fn messages(stream: &[u8]) -> impl Iterator<Item = (u8, Bytes<'_>)> {
    let mut rest = Bytes(stream);
    std::iter::from_fn(move || Some((rest.u8()?, rest.vector(3)?)))
}

fn extensions(mut rest: Bytes<'_>) -> impl Iterator<Item = (u16, Bytes<'_>)> {
    std::iter::from_fn(move || Some((rest.u16()?, rest.vector(2)?)))
}

/// The first name of the extension (RFC 6066 §3).
fn server_name(mut body: Bytes<'_>) -> Option<String> {
    let mut list = body.vector(2)?;
    let is_host = list.u8()? == 0;
    let name = list.vector(2)?.0;
    let is_plain = name.iter().all(|byte| byte.is_ascii_graphic());
    (is_host && is_plain).then(|| String::from_utf8_lossy(name).into_owned())
}

/// RFC 8446 §4.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
/// RFC 6066 §3; RFC 9001 §8.2.
const SERVER_NAME: u16 = 0;
const TRANSPORT_PARAMETERS: u16 = 0x39;
/// RFC 9000 §18.2.
const INITIAL_MAX_DATA: u64 = 0x04;
const ACK_DELAY_EXPONENT: u64 = 0x0a;
const MAX_ACK_DELAY: u64 = 0x0b;

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Vec<u8> {
        let name = b"\0\0\0\x09\0\x07\0\0\x04host";
        let parameters = b"\0\x39\0\x0b\x04\x02\x50\0\x0a\x01\x05\x0b\x02\x40\x64";
        let mut body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0]].concat();
        body.extend(((name.len() + parameters.len()) as u16).to_be_bytes());
        body.extend(name);
        body.extend(parameters);
        [&[1, 0, 0, body.len() as u8][..], &body].concat()
    }

    #[test]
    fn a_client_s_hello_gives_its_number_its_server_and_its_delays() {
        let found = ClientHello::read(&hello()).expect("it is whole");
        assert_eq!((found.random, found.server_name.as_deref()), ([7; 32], Some("host")));
        let expected = Parameters { ack_delay_exponent: 5, max_ack_delay_ms: 100, initial_max_data: 0x1000 };
        assert_eq!(found.parameters, expected);
    }

    #[test]
    fn an_incomplete_hello_gives_nothing() {
        let whole = hello();
        assert!((0..whole.len()).all(|len| ClientHello::read(&whole[..len]).is_none()));
        assert_eq!(suite_of(&whole), None);
    }

    #[test]
    fn a_server_s_hello_gives_the_suite() {
        let hello = [&[2, 0, 0, 40, 3, 3][..], &[9; 32], &[0, 0x13, 3, 0, 0, 0]].concat();
        assert_eq!(suite_of(&hello), Some(0x1303));
    }
}
