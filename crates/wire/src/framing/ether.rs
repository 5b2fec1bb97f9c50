//! Ethernet and everything that has an EtherType: VLAN tags, PPPoE, MPLS, and logical link control.

use super::field::{after, field};
use super::{NotIp, ppp};

/// The IP packet of an Ethernet frame.
pub(super) fn frame(frame: &[u8]) -> Result<&[u8], NotIp> {
    protocol(field(frame, 12)?, after(frame, 14)?)
}

/// The IP packet in `payload`, whose protocol has this EtherType, or this length if it is small (IEEE 802.3 §3.2.6).
pub(super) fn protocol(mut ether_type: u16, mut payload: &[u8]) -> Result<&[u8], NotIp> {
    while let VLAN | SERVICE_VLAN | OLD_SERVICE_VLAN = ether_type {
        (ether_type, payload) = (field(payload, 2)?, after(payload, 4)?);
    }
    match ether_type {
        IPV4 | IPV6 => Ok(payload),
        0..=LONGEST_LENGTH | JUMBO => logical_link(payload),
        PPPOE_SESSION => ppp::session(payload),
        MPLS | MPLS_MULTICAST => labelled(payload),
        BRIDGED => frame(payload),
        MACSEC => Err(NotIp::Encrypted),
        other => Err(NotIp::EtherType(other)),
    }
}

/// Logical link control with SNAP (IEEE 802.2; RFC 1042).
pub(super) fn logical_link(bytes: &[u8]) -> Result<&[u8], NotIp> {
    match bytes {
        [0xaa, 0xaa, 0x03, _, _, _, high, low, payload @ ..] => {
            protocol(u16::from_be_bytes([*high, *low]), payload)
        }
        // The access point of IP itself (RFC 1042 §2 mentions it; old routers use it).
        [0x06, 0x06, 0x03, payload @ ..] => Ok(payload),
        [point, _, _, ..] => Err(NotIp::AccessPoint(*point)),
        _ => Err(NotIp::CutOff),
    }
}

/// The packet after a stack of labels (RFC 3032 §2.1). Without a label for its kind, the first four bits decide (RFC
/// 4928 §3): an IP version, or 0 for the control word of a pseudowire, which carries Ethernet (RFC 4448 §4.3).
fn labelled(mut bytes: &[u8]) -> Result<&[u8], NotIp> {
    loop {
        let last = bytes.get(2).ok_or(NotIp::CutOff)? & 1 == 1;
        bytes = after(bytes, 4)?;
        if last {
            break;
        }
    }
    match bytes.first().map(|byte| byte >> 4) {
        Some(0) => frame(after(bytes, 4)?),
        _ => Ok(bytes),
    }
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
/// EtherType of service tags before IEEE 802.1ad.
const OLD_SERVICE_VLAN: u16 = 0x9100;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
/// Transparent Ethernet bridging (RFC 1701).
const BRIDGED: u16 = 0x6558;
/// LLC in a frame that is longer than 1,500 bytes.
const JUMBO: u16 = 0x8870;
const MACSEC: u16 = 0x88e5;
const LONGEST_LENGTH: u16 = 1500;
