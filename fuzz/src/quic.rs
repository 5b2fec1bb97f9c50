//! Any bytes as datagrams of QUIC, as a log of secrets, and as frames that two senders exchanged.

use quic::frame::Frames;
use quic::{Connection, Contents, KeyLog, Kind, Origin, Packet, Senders};
use units::{Duration, Instant};

const KINDS: [Kind; 4] = [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::OneRtt];

/// The first byte chooses what the others are.
pub fn run(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    match choice & 3 {
        0 => drop(KeyLog::parse(&String::from_utf8_lossy(rest))),
        1 => exchange(rest),
        _ => datagrams(rest),
    }
}

/// Datagrams, each after a byte that names its sender and two of length, with a log at the end.
fn datagrams(bytes: &[u8]) {
    let mut log = KeyLog::default();
    log.add_lines(&String::from_utf8_lossy(bytes));
    let (mut connection, mut senders) = (Connection::default(), Senders::default());
    for (place, (head, datagram)) in pieces(bytes).enumerate() {
        let delays = [0, 1].map(|side| connection.ack_delays(side));
        let side = usize::from(head & 1);
        connection.handle_datagram(origin(place), side, datagram, head & 2 != 0, &log, &mut |packet| {
            assert!(packet.size as usize <= bytes.len());
            senders.handle_packet(packet, delays, &mut |_| {});
        });
    }
    let _ = (connection.waiting(), connection.server_name(), senders.report(0));
}

/// Payloads of packets, each after a byte of side, space and distance of numbers, and two of length.
fn exchange(bytes: &[u8]) {
    let mut senders = Senders::default();
    let mut numbers = [0_u64; 2];
    for (place, (head, payload)) in pieces(bytes).enumerate() {
        let (side, kind) = (usize::from(head & 1), KINDS[usize::from(head >> 1 & 3)]);
        let frames = Frames::of(payload);
        let read = frames.read.len();
        assert!(read <= payload.len());
        let number = numbers[side];
        numbers[side] += u64::from(head >> 3);
        let contents = Contents { number, generation: 0, frames: frames.read, unknown_frame: frames.unknown };
        let size = payload.len() as u32;
        let packet = Packet { origin: origin(place), side, kind, size, contents: Ok(contents) };
        let passed = senders.handle_packet(&packet, [(3, 25), (20, 16_383)], &mut |_| {});
        let passed = passed.expect("the packet is opened");
        assert!(passed.retransmitted <= passed.data && passed.needless <= passed.data);
    }
    for side in [0, 1] {
        let report = senders.report(side);
        assert!(report.spurious_losses <= report.lost);
        assert!(report.retransmitted_bytes <= report.stream_bytes);
    }
}

fn origin(place: usize) -> Origin {
    Origin { at: Instant::START + Duration::from_millis(20 * place as u64), frame: place as u64 }
}

fn pieces(mut rest: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let [head, high, low, after @ ..] = rest else { return None };
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (piece, next) = after.split_at(len);
        rest = next;
        Some((*head, piece))
    })
}
