//! From a link-layer frame to the IP packet inside.

use crate::frame::LinkType;

/// The IP packet in `frame`, or `None` where there is none: another protocol, an unknown link
/// type, or a frame that is cut off before it.
#[must_use]
pub fn ip_packet(link_type: LinkType, frame: &[u8]) -> Option<&[u8]> {
    match link_type {
        // 12 and 14 are what BSDs wrote for raw IP before the number 101 was settled.
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => Some(frame),
        LinkType::NULL | LinkType::LOOP => frame.get(4..),
        LinkType::ETHERNET => ethernet(frame.get(12..)?),
        LinkType::LINUX_SLL => by_ethertype(frame.get(14..16)?, frame.get(16..)?),
        LinkType::LINUX_SLL2 => by_ethertype(frame.get(0..2)?, frame.get(20..)?),
        LinkType::PPP => ppp(frame),
        _ => None,
    }
    .filter(|packet| matches!(packet.first().map(|byte| byte >> 4), Some(4 | 6)))
}

/// The IP packet of an Ethernet frame without its addresses, possibly after VLAN tags (IEEE 802.1Q).
fn ethernet(mut rest: &[u8]) -> Option<&[u8]> {
    while let [0x81, 0x00, _, _, behind @ ..] | [0x88, 0xa8, _, _, behind @ ..] = rest {
        rest = behind;
    }
    by_ethertype(rest.get(..2)?, rest.get(2..)?)
}

fn by_ethertype<'a>(ethertype: &[u8], payload: &'a [u8]) -> Option<&'a [u8]> {
    matches!(ethertype, [0x08, 0x00] | [0x86, 0xdd]).then_some(payload)
}

/// RFC 1661 §2, with the address and control bytes of RFC 1662 §3.1 or without.
fn ppp(frame: &[u8]) -> Option<&[u8]> {
    match frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame) {
        [0x00, 0x21 | 0x57, packet @ ..] | [0x21 | 0x57, packet @ ..] => Some(packet),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 2] = [0x45, 0];

    fn found(link_type: LinkType, before: &[u8]) -> bool {
        let frame = [before, &IP].concat();
        ip_packet(link_type, &frame) == Some(&IP)
    }

    #[test]
    fn the_packet_is_found_behind_every_known_framing() {
        assert!(found(LinkType::RAW, &[]));
        assert!(found(LinkType::NULL, &[2, 0, 0, 0]));
        assert!(found(LinkType::ETHERNET, &[&[0; 12][..], &[8, 0]].concat()));
        assert!(found(LinkType::ETHERNET, &[&[0; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat()));
        assert!(found(LinkType::LINUX_SLL, &[&[0; 14][..], &[8, 0]].concat()));
        assert!(found(LinkType::LINUX_SLL2, &[&[8, 0][..], &[0; 18]].concat()));
        assert!(found(LinkType::PPP, &[0xff, 3, 0, 0x21]));
        assert!(found(LinkType::PPP, &[0x21]));
    }

    #[test]
    fn what_is_not_ip_is_not_taken_for_it() {
        assert!(!found(LinkType::ETHERNET, &[&[0; 12][..], &[8, 6]].concat()));
        assert!(!found(LinkType(147), &[]));
        assert_eq!(ip_packet(LinkType::ETHERNET, &[0; 5]), None);
        assert_eq!(ip_packet(LinkType::RAW, &[0x15]), None);
    }
}
