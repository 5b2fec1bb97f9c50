//! The contents of a frame without an IP packet.

use std::fmt;

use crate::frame::LinkType;

/// Why a frame gives no IP packet. Its text names the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotIp {
    /// The link type is not known.
    LinkType(LinkType),
    /// Another EtherType (IEEE 802.3).
    EtherType(u16),
    /// Another service access point of logical link control (IEEE 802.2).
    AccessPoint(u8),
    /// Another protocol of PPP (RFC 1661 §2).
    Ppp(u16),
    /// A management or control frame of IEEE 802.11, or one without data.
    WirelessControl,
    /// Data that IEEE 802.11 or MACsec has encrypted.
    Encrypted,
    /// Several packets in one frame of IEEE 802.11 (A-MSDU).
    Aggregate,
    /// A fragment, of a packet that no frame so far completes.
    Fragment,
    /// Something else in place of an IP header.
    Version(u8),
    /// The capture ends inside the headers before the packet.
    CutOff,
}

impl fmt::Display for NotIp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(LinkType(number)) => match link_type_name(*number) {
                Some(name) => write!(out, "link type {number} ({name}), which is not read"),
                None => write!(out, "link type {number}, which is not known"),
            },
            Self::EtherType(number) => match ether_type_name(*number) {
                Some(name) => out.write_str(name),
                None => write!(out, "EtherType 0x{number:04x}"),
            },
            Self::AccessPoint(0x42) => out.write_str("spanning tree"),
            Self::AccessPoint(number) => write!(out, "LLC of access point 0x{number:02x}"),
            Self::Ppp(number) => write!(out, "PPP protocol 0x{number:04x}"),
            Self::WirelessControl => out.write_str("802.11 management, control or null"),
            Self::Encrypted => out.write_str("encrypted"),
            Self::Aggregate => out.write_str("802.11 aggregate (A-MSDU), which is not read"),
            Self::Fragment => out.write_str("fragment of an incomplete IP packet"),
            Self::Version(number) => write!(out, "version {number} in place of IP's"),
            Self::CutOff => out.write_str("cut off before the IP packet"),
        }
    }
}

/// Names of link types that captures often have and that carry no IP, or are not read
/// (<https://www.tcpdump.org/linktypes.html>).
const fn link_type_name(number: u16) -> Option<&'static str> {
    Some(match number {
        6 => "token ring",
        11 | 123 => "ATM",
        107 => "frame relay",
        122 => "IP over Fibre Channel",
        138 => "IP over FireWire",
        143 => "DOCSIS",
        144 => "IrDA",
        147..=162 => "private use",
        187 | 201 => "Bluetooth HCI",
        189 | 220 => "USB",
        195 | 230 | 283 => "IEEE 802.15.4",
        227 => "CAN",
        249 => "USBPcap",
        251 | 256 => "Bluetooth low energy",
        _ => return None,
    })
}

/// Names of EtherTypes (IEEE 802 numbers, IANA).
const fn ether_type_name(number: u16) -> Option<&'static str> {
    Some(match number {
        0x0806 => "ARP",
        0x8035 => "RARP",
        0x8137 | 0x8138 => "IPX",
        0x8808 => "Ethernet flow control",
        0x8809 => "LACP",
        0x8863 => "PPPoE discovery",
        0x888e => "EAPOL",
        0x88cc => "LLDP",
        0x88f7 => "PTP",
        0x8902 => "802.1ag",
        _ => return None,
    })
}
