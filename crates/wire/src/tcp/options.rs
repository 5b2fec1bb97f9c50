//! TCP options as bytes, laid out as Linux does: MSS, then timestamps with SACK-permitted or two
//! NOPs before them, window scale behind a NOP, SACK blocks behind two. So every option but the
//! 16-bit ones stands on a four-byte boundary (RFC 7323 appendix A).

use units::{Seq, SeqRange};

use crate::{Options, SackBlocks, Timestamps};

/// Appends `options`: exactly [`Options::wire_len`] bytes.
pub(super) fn encode(options: &Options, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    match (options.sack_permitted, options.timestamps) {
        (true, Some(_)) => out.extend_from_slice(&[SACK_PERMITTED, 2]),
        (false, Some(_)) => out.extend_from_slice(&[NOP, NOP]),
        (true, None) => out.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]),
        (false, None) => {}
    }
    if let Some(timestamps) = options.timestamps {
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, shift]);
    }
    if !options.sack.is_empty() {
        out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * options.sack.len() as u8]);
        for block in options.sack.as_slice() {
            out.extend_from_slice(&block.start.0.to_be_bytes());
            out.extend_from_slice(&block.end.0.to_be_bytes());
        }
    }
}

/// The options in `bytes`, and whether they could be read to their end. An option of a wrong
/// length, or one that we do not know, is passed over.
pub(super) fn decode(bytes: &[u8]) -> (Options, bool) {
    let mut options = Options::default();
    let mut rest = bytes;
    loop {
        match rest {
            [] | [END, ..] => return (options, true),
            [NOP, behind @ ..] => rest = behind,
            [kind, len, ..] if (2..=rest.len()).contains(&usize::from(*len)) => {
                let (option, behind) = rest.split_at(usize::from(*len));
                take(&mut options, *kind, &option[2..]);
                rest = behind;
            }
            _ => return (options, false),
        }
    }
}

fn take(options: &mut Options, kind: u8, value: &[u8]) {
    match (kind, value) {
        (MSS, [high, low]) => options.mss = Some(u16::from_be_bytes([*high, *low])),
        (WINDOW_SCALE, [shift]) => options.window_scale = Some(*shift),
        (SACK_PERMITTED, []) => options.sack_permitted = true,
        (TIMESTAMPS, _) => options.timestamps = timestamps(value).or(options.timestamps),
        (SACK, _) if value.len().is_multiple_of(8) => options.sack = blocks(value),
        _ => {}
    }
}

fn timestamps(value: &[u8]) -> Option<Timestamps> {
    let [value, echo]: [u32; 2] = words(value).try_into().ok()?;
    Some(Timestamps { value, echo })
}

fn blocks(value: &[u8]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for pair in words(value).chunks_exact(2) {
        blocks.push(SeqRange { start: Seq(pair[0]), end: Seq(pair[1]) });
    }
    blocks
}

fn words(value: &[u8]) -> Vec<u32> {
    value.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect()
}

// Kinds: RFC 9293 §3.1, RFC 2018 §2 and §3, RFC 7323 §2.2 and §3.2.
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syn_of_a_current_linux_is_laid_out_byte_for_byte() {
        let options = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..Options::default()
        };
        let mut out = Vec::new();
        encode(&options, &mut out);
        let expected = [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(out, expected);
    }

    #[test]
    fn unknown_options_are_passed_over() {
        let (options, sound) = decode(&[30, 4, 9, 9, 1, 2, 4, 0x05, 0xb4, 0, 7]);
        assert_eq!((options.mss, sound), (Some(1460), true));
    }

    #[test]
    fn options_before_a_fault_still_count() {
        for fault in [[5, 0], [5, 1], [5, 10]] {
            let (options, sound) = decode(&[2, 4, 0x05, 0xb4, fault[0], fault[1]]);
            assert_eq!((options.mss, sound), (Some(1460), false), "fault {fault:?}");
        }
    }

    #[test]
    fn an_option_of_a_wrong_length_is_passed_over() {
        let (options, sound) = decode(&[2, 3, 5, 8, 4, 1, 1, 5, 5, 0, 0, 0, 3, 3, 2]);
        assert!(sound);
        assert_eq!(options, Options { window_scale: Some(2), ..Options::default() });
    }
}
