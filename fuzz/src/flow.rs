//! Sound segments between two ends in any order, as a capture point sees them.

use std::net::Ipv4Addr;

use trace::capture::Capture;
use units::{Duration, Instant, PacketId, Seq, SeqRange};
use wire::{Ecn, Flags, Options, Payload, Segment, emit_ipv4};

/// Bytes of the input that make one packet.
const STEP: usize = 12;
const ENDS: [(Ipv4Addr, u16); 2] = [(Ipv4Addr::new(10, 0, 0, 1), 1), (Ipv4Addr::new(10, 0, 0, 2), 2)];

/// Captures a packet, which may then be reported as lost, for each twelve bytes; diagnoses the flow.
pub fn run(bytes: &[u8]) {
    let mut capture = Capture::new();
    let mut now = Instant::START;
    for (step, place) in bytes.as_chunks::<STEP>().0.iter().zip(0..) {
        let (from, to) = if step[0] & 1 == 0 { (ENDS[0], ENDS[1]) } else { (ENDS[1], ENDS[0]) };
        now += Duration::from_micros(u64::from(step[8]).pow(3));
        let packet = emit_ipv4(from.0, to.0, 0, &segment(step, from.1, to.1));
        capture.handle_packet(now, PacketId(place), &packet).expect("a sound packet");
        if step[11] > 200 {
            capture.handle_loss(now, PacketId(place), &packet, "fuzz");
        }
    }
    for flow in capture.flows() {
        let half = flow.half(flow.bulk_sender());
        let _ = half.diagnosis();
        let _ = (half.acked(), half.fin_acked(), flow.elapsed(flow.bulk_sender()));
    }
}

fn segment(step: &[u8; STEP], source_port: u16, destination_port: u16) -> Segment {
    let mut options = Options::default();
    if step[9] > 0 {
        options.sack.push(SeqRange::new(Seq(u32::from(step[9]) * 100), u32::from(step[10])));
    }
    Segment {
        source_port,
        destination_port,
        seq: number(step[0] & step[1], step[2]),
        ack: number(step[0] & step[3], step[4]),
        flags: Flags::from_bits(u16::from(step[5])),
        window: u16::from(step[6]),
        options,
        ecn: Ecn::NotCapable,
        payload: Payload::Pattern { offset: 0, len: u32::from(step[7]) * 10 },
    }
}

/// A sequence number, mostly near the others.
fn number(far: u8, near: u8) -> Seq {
    Seq(u32::from_be_bytes([far, far, 0, near]).wrapping_mul(100))
}
