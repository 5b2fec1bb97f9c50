//! Sound segments in any order: twelve bytes of input make one, of a flow between two ends.
#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use trace::capture::Capture;
use units::{Instant, PacketId, Seq, SeqRange};
use wire::{Flags, Options, Payload, Segment, emit_ipv4};

const ENDS: [(Ipv4Addr, u16); 2] = [(Ipv4Addr::new(10, 0, 0, 1), 1), (Ipv4Addr::new(10, 0, 0, 2), 2)];

fuzz_target!(|bytes: &[u8]| {
    let mut capture = Capture::new();
    let mut now = Instant::START;
    for (place, piece) in bytes.as_chunks::<12>().0.iter().enumerate() {
        let (from, to) = if piece[0] & 1 == 0 { (ENDS[0], ENDS[1]) } else { (ENDS[1], ENDS[0]) };
        let mut options = Options::default();
        if piece[9] > 0 {
            options.sack.push(SeqRange::new(Seq(u32::from(piece[9]) * 100), u32::from(piece[10])));
        }
        let segment = Segment {
            source_port: from.1,
            destination_port: to.1,
            seq: number(piece[0] & piece[1], piece[2]),
            ack: number(piece[0] & piece[3], piece[4]),
            flags: Flags::from_bits(piece[5]),
            window: u16::from(piece[6]),
            options,
            payload: Payload::Pattern { offset: 0, len: u32::from(piece[7]) * 10 },
        };
        now = now + units::Duration::from_micros(u64::from(piece[8]).pow(3));
        let packet = emit_ipv4(from.0, to.0, 0, &segment);
        capture.handle_packet(now, PacketId(place as u64), &packet).expect("a sound packet");
        if piece[11] > 200 {
            capture.handle_loss(now, PacketId(place as u64), &packet, "fuzz");
        }
    }
    for flow in capture.flows() {
        let half = flow.half(flow.bulk_sender());
        let _ = half.diagnosis();
        let _ = (half.acked(), half.fin_acked(), flow.elapsed(flow.bulk_sender()));
    }
});

/// A sequence number, mostly near the others.
fn number(far: u8, near: u8) -> Seq {
    Seq(u32::from_be_bytes([far, far, 0, near]).wrapping_mul(100))
}
