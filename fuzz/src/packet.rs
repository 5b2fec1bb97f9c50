//! Any bytes as an IP packet. A packet that parses without oddities can be written and read again.

use std::net::IpAddr;

use wire::{Transport, emit_ipv4, emit_ipv6, parse};

/// Parses the bytes; a sound TCP segment makes the way to bytes and back unchanged.
pub fn run(bytes: &[u8]) {
    let Ok(parsed) = parse(bytes) else { return };
    let Transport::Tcp(segment) = &parsed.transport else { return };
    // Repeated or unknown options may have been laid out shorter or longer than ours would be.
    if segment.options.wire_len() > 40 || segment.wire_len() > 60_000 {
        return;
    }
    let again = match (parsed.header.source(), parsed.header.destination()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => emit_ipv4(source, destination, 0, segment),
        (IpAddr::V6(source), IpAddr::V6(destination)) => emit_ipv6(source, destination, segment),
        _ => unreachable!("a packet has two addresses of one kind"),
    };
    let again = parse(&again).expect("our own packet");
    assert_eq!(again.segment(), Some(segment));
    assert!(again.oddities.is_empty());
}
