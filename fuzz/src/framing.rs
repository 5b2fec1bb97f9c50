//! Any bytes as frames of any link type, as a compressed file, and as a filter of frames.

use std::io::Cursor;

use analysis::{Instruction, Program};
use wire::capture::LinkType;
use wire::framing::Unpacker;

/// Link types that are read, and an unknown one.
const LINK_TYPES: [u16; 24] = [
    0, 1, 9, 10, 12, 50, 51, 101, 104, 105, 108, 109, 113, 117, 119, 127, 147, 166, 204, 228, 229, 239, 276,
    14,
];
/// Most frames that are read of a compressed file.
const MOST_FRAMES: usize = 1000;

/// The first byte chooses what the others are.
pub fn run(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    match choice {
        0xff => decompress(rest),
        0xfe => filter(rest),
        _ => unpack(LinkType(LINK_TYPES[usize::from(*choice) % LINK_TYPES.len()]), rest),
    }
}

/// Frames, each after its length in two bytes. What is found inside is no longer than what was put in.
fn unpack(link_type: LinkType, mut rest: &[u8]) {
    let mut unpacker = Unpacker::default();
    let mut before = 0;
    while let [high, low, after @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (frame, next) = after.split_at(len);
        before += len;
        if let Ok(packet) = unpacker.unpack(link_type, frame) {
            let bytes = packet.bytes();
            assert!(bytes.len() <= before + 40, "{} bytes out of {before}", bytes.len());
            assert!(matches!(bytes.first().map(|byte| byte >> 4), Some(4 | 6)));
            assert_eq!(packet.parse_headers(), wire::parse_headers(bytes));
            let _ = wire::parse(bytes);
        }
        rest = next;
    }
}

fn decompress(bytes: &[u8]) {
    if let Ok(reader) = analysis::open(Cursor::new(bytes.to_vec())) {
        let _ = reader.take(MOST_FRAMES).count();
    }
}

/// A packet of 64 bytes, and instructions of eight.
fn filter(bytes: &[u8]) {
    let (packet, code) = bytes.split_at(bytes.len().min(64));
    let instructions = code.chunks_exact(8).map(|one| Instruction {
        code: u16::from_le_bytes([one[0], one[1]]),
        if_true: one[2],
        if_false: one[3],
        constant: u32::from_le_bytes([one[4], one[5], one[6], one[7]]),
    });
    if let Some(program) = Program::new(instructions.collect()) {
        let _ = program.matches(packet, 1500);
    }
}
