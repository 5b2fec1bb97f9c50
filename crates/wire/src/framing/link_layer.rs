//! Link types (<https://www.tcpdump.org/linktypes.html>) whose frames may hold an IP packet.

use crate::frame::LinkType;

use super::NotIp;
use super::field::{after, field};
use super::{ether, ppp, wireless};

/// The outermost IP packet in `frame`.
pub(super) fn ip_packet(link_type: LinkType, frame: &[u8]) -> Result<&[u8], NotIp> {
    let packet = match link_type {
        // 12 and 14 are what BSDs wrote for raw IP before the number 101 was settled.
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => frame,
        LinkType::NULL | LinkType::LOOP => after(frame, 4)?,
        LinkType::ETHERNET => ether::frame(frame)?,
        LinkType::FDDI => ether::logical_link(after(frame, 13)?)?,
        LinkType::PPP | LinkType::PPP_SERIAL => ppp::frame(frame)?,
        LinkType::PPP_ETHER => ppp::session(frame)?,
        // One byte of direction, or of direction and of HDLC's address, before the frame.
        LinkType::PPP_WITH_DIRECTION => ppp::frame(after(frame, 1)?)?,
        LinkType::PPP_PPPD => ppp::frame(after(frame, 2)?)?,
        LinkType::CISCO_HDLC => cisco_hdlc(frame)?,
        LinkType::IEEE_802_11 => wireless::frame(frame, false)?,
        LinkType::RADIOTAP => wireless::radiotap(frame)?,
        LinkType::PRISM => wireless::frame(after(frame, PRISM_LEN)?, false)?,
        LinkType::ENC => after(frame, 12)?,
        LinkType::PFLOG => after(frame, PFLOG_LEN)?,
        LinkType::LINUX_SLL => ether::protocol(field(frame, 14)?, after(frame, 16)?)?,
        LinkType::LINUX_SLL2 => ether::protocol(field(frame, 0)?, after(frame, 20)?)?,
        LinkType::NFLOG => nflog(frame)?,
        other => return Err(NotIp::LinkType(other)),
    };
    match packet.first().map(|byte| byte >> 4) {
        Some(4 | 6) => Ok(packet),
        Some(version) => Err(NotIp::Version(version)),
        None => Err(NotIp::CutOff),
    }
}

/// Address, control and EtherType (RFC 1547 §4.3.1).
fn cisco_hdlc(frame: &[u8]) -> Result<&[u8], NotIp> {
    ether::protocol(field(frame, 2)?, after(frame, 4)?)
}

/// A record of the Linux packet filter's log: four bytes, then fields with length and type in the capturing host's byte
/// order. Hosts are little-endian unless that makes no sense.
fn nflog(frame: &[u8]) -> Result<&[u8], NotIp> {
    let fields = after(frame, 4)?;
    payload_of_log(fields, u16::from_le_bytes).or_else(|_| payload_of_log(fields, u16::from_be_bytes))
}

fn payload_of_log(mut fields: &[u8], number: fn([u8; 2]) -> u16) -> Result<&[u8], NotIp> {
    while let [a, b, c, d, ..] = *fields {
        let (len, kind) = (usize::from(number([a, b])), number([c, d]));
        if len < 4 {
            break;
        }
        if kind == NFLOG_PAYLOAD {
            return fields.get(4..len.min(fields.len())).ok_or(NotIp::CutOff);
        }
        fields = after(fields, len.next_multiple_of(4))?;
    }
    Err(NotIp::CutOff)
}

/// NFULA_PAYLOAD of the Linux kernel.
const NFLOG_PAYLOAD: u16 = 9;
/// The header of Prism cards.
const PRISM_LEN: usize = 144;
/// The header of OpenBSD's packet filter.
const PFLOG_LEN: usize = 48;
