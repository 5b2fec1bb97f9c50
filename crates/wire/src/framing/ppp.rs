//! PPP (RFC 1661), and PPP over Ethernet (RFC 2516).

use super::NotIp;
use super::field::after;

/// The IP packet of a frame, with the address and control bytes of RFC 1662 §3.1 or without.
pub(super) fn frame(frame: &[u8]) -> Result<&[u8], NotIp> {
    let frame = frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame);
    // RFC 1661 §6.5: an odd byte is a protocol in compressed form.
    let (protocol, payload) = match frame {
        [low, payload @ ..] if low & 1 == 1 => (u16::from(*low), payload),
        [high, low, payload @ ..] => (u16::from_be_bytes([*high, *low]), payload),
        _ => return Err(NotIp::CutOff),
    };
    match protocol {
        IPV4 | IPV6 => Ok(payload),
        other => Err(NotIp::Ppp(other)),
    }
}

/// The IP packet of a session's packet, after six bytes of version, code, session and length (RFC 2516 §4).
pub(super) fn session(bytes: &[u8]) -> Result<&[u8], NotIp> {
    frame(after(bytes, 6)?)
}

const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;
