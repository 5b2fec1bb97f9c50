//! TCP options as bytes. On a SYN their order is a choice ([`OptionLayout`]). Otherwise timestamps and SACK blocks
//! each follow two NOPs, so that every option except the 16-bit ones is aligned to four bytes (RFC 7323 appendix A).
//! An AccECN option, which has an odd length, may take the place of such NOPs.

use units::{Seq, SeqRange};

use crate::{
    AccEcn, AccEcnOrder, AckRate, AckScheme, FastOpenCookie, OptionLayout, Options, SackBlocks, Timestamps,
};

/// Appends `options`: exactly [`Options::wire_len`] bytes.
pub(super) fn encode(options: &Options, out: &mut Vec<u8>) {
    let start = out.len();
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    match options.layout {
        OptionLayout::Linux => {
            encode_sack_permitted_and_timestamps(options, out);
            encode_window_scale(options, out);
        }
        OptionLayout::FreeBsd | OptionLayout::Windows | OptionLayout::Darwin => {
            encode_window_scale(options, out);
            encode_sack_permitted_and_timestamps(options, out);
        }
    }
    if !options.sack.is_empty() {
        out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * options.sack.len() as u8]);
        for block in options.sack.as_slice() {
            out.extend_from_slice(&block.start.0.to_be_bytes());
            out.extend_from_slice(&block.end.0.to_be_bytes());
        }
    }
    if let Some(accecn) = &options.accecn {
        insert_accecn(accecn, options, start, out);
    }
    if let Some(rate) = &options.ack_rate {
        encode_ack_rate(*rate, out);
    }
    encode_tail(options, out);
}

/// SACK-permitted replaces the two NOPs before the timestamps if both are present, unless it comes at the end.
fn encode_sack_permitted_and_timestamps(options: &Options, out: &mut Vec<u8>) {
    let timestamps = options.timestamps;
    let permitted = options.sack_permitted && !options.layout.ends_with_sack_permitted(timestamps.is_some());
    match (permitted, timestamps) {
        (true, Some(_)) => out.extend_from_slice(&[SACK_PERMITTED, 2]),
        (false, Some(_)) => out.extend_from_slice(&[NOP, NOP]),
        (true, None) => out.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]),
        (false, None) => {}
    }
    if let Some(timestamps) = timestamps {
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
}

fn encode_window_scale(options: &Options, out: &mut Vec<u8>) {
    if let Some(shift) = options.window_scale {
        out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, shift]);
    }
}

/// The options at the end, and the padding of the last word.
fn encode_tail(options: &Options, out: &mut Vec<u8>) {
    let start = out.len();
    let layout = options.layout;
    if options.sack_permitted && layout.ends_with_sack_permitted(options.timestamps.is_some()) {
        out.extend_from_slice(&[SACK_PERMITTED, 2]);
    }
    if let Some(cookie) = &options.fast_open {
        out.extend_from_slice(&[FAST_OPEN, cookie.option_len() as u8]);
        out.extend_from_slice(cookie.as_bytes());
    }
    let padding = if layout.ends_with_zeros() { END } else { NOP };
    out.resize(start + (out.len() - start).next_multiple_of(4), padding);
}

/// Puts the option where Linux has it (`tcp_options_write`): after the segment size and the timestamps, before all
/// others. Its last bytes take the place of the NOPs of the option after it, if they fit there; else NOPs fill its
/// last word.
fn insert_accecn(accecn: &AccEcn, options: &Options, start: usize, out: &mut Vec<u8>) {
    let kind = if accecn.order() == AccEcnOrder::Ect0First { ACCECN0 } else { ACCECN1 };
    let mut option = vec![kind, 2 + 3 * accecn.fields().len() as u8];
    accecn.fields().iter().for_each(|field| option.extend_from_slice(field));
    let place = match options.layout {
        OptionLayout::Linux => start + options.len_before_accecn() as usize,
        _ => out.len(),
    };
    let in_their_place = option.len() % 4;
    if options.nops_after_accecn() as usize >= in_their_place {
        out.splice(place..place + in_their_place, option);
    } else {
        option.resize(option.len().next_multiple_of(4), NOP);
        out.splice(place..place, option);
    }
}

/// NOPs before the option fill its last word.
fn encode_ack_rate(rate: AckRate, out: &mut Vec<u8>) {
    let len = rate.option_len() as usize;
    out.resize(out.len() + len.next_multiple_of(4) - len, NOP);
    out.extend_from_slice(&[EXPERIMENT, len as u8]);
    out.extend_from_slice(&rate.scheme.experiment().to_be_bytes());
    out.extend(rate.ratio.map(|ratio| AckRate::byte(rate.scheme, ratio)));
}

/// The options in `bytes`, and whether they could be read to their end. An option of a wrong length, or an unknown one,
/// is ignored.
pub(super) fn decode(bytes: &[u8]) -> (Options, bool) {
    let mut options = Options::default();
    let mut rest = bytes;
    loop {
        match rest {
            [] | [END, ..] => return (options, true),
            [NOP, after @ ..] => rest = after,
            [kind, len, ..] if (2..=rest.len()).contains(&usize::from(*len)) => {
                let (option, after) = rest.split_at(usize::from(*len));
                take(&mut options, *kind, &option[2..]);
                rest = after;
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
        (FAST_OPEN, _) => options.fast_open = FastOpenCookie::new(value).or(options.fast_open),
        (ACCECN0, _) => options.accecn = accecn(AccEcnOrder::Ect0First, value).or(options.accecn),
        (OTHER_EXPERIMENT | EXPERIMENT, _) => options.ack_rate = ack_rate(value).or(options.ack_rate),
        (ACCECN1, _) => options.accecn = accecn(AccEcnOrder::Ect1First, value).or(options.accecn),
        _ => {}
    }
}

fn timestamps(value: &[u8]) -> Option<Timestamps> {
    let (&[value, echo], []) = value.as_chunks::<4>() else { return None };
    Some(Timestamps { value: u32::from_be_bytes(value), echo: u32::from_be_bytes(echo) })
}

fn blocks(value: &[u8]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    let (edges, _) = value.as_chunks::<4>();
    let (pairs, _) = edges.as_chunks::<2>();
    for pair in pairs {
        let [start, end] = pair.map(|edge| Seq(u32::from_be_bytes(edge)));
        blocks.push(SeqRange { start, end });
    }
    blocks
}

/// RFC 9768 §3.2.3: one with a length other than of 0 to 3 counters is passed over.
fn accecn(order: AccEcnOrder, value: &[u8]) -> Option<AccEcn> {
    let (fields, rest) = value.as_chunks::<3>();
    (rest.is_empty() && fields.len() <= 3).then(|| AccEcn::from_fields(order, fields))
}

/// The option with an experiment identifier, if it is one of the rate of ACKs.
fn ack_rate(value: &[u8]) -> Option<AckRate> {
    let (experiment, rest) = value.split_first_chunk::<2>()?;
    let scheme = AckScheme::of(u16::from_be_bytes(*experiment))?;
    match rest {
        [] => Some(AckRate { scheme, ratio: None }),
        [byte] => Some(AckRate { scheme, ratio: Some(AckRate::ratio_of(scheme, *byte)) }),
        _ => None,
    }
}

// Kinds: RFC 9293 §3.1, RFC 2018 §2 and §3, RFC 7323 §2.2 and §3.2, RFC 7413 §4.1.1, RFC 9768 §3.2.3, RFC 4727 §3.1.
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;
const ACCECN0: u8 = 172;
const ACCECN1: u8 = 174;
const OTHER_EXPERIMENT: u8 = 253;
const EXPERIMENT: u8 = 254;

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
    fn each_layout_of_a_syn_is_laid_out_byte_for_byte() {
        let mss = [2, 4, 0x05, 0xb4];
        let (scale, permitted) = ([1, 3, 3, 7], [4, 2]);
        let clock = [8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
        let layouts: [(OptionLayout, &[&[u8]]); 4] = [
            (OptionLayout::Linux, &[&mss, &permitted, &clock, &scale]),
            (OptionLayout::FreeBsd, &[&mss, &scale, &permitted, &clock]),
            (OptionLayout::Windows, &[&mss, &scale, &permitted, &clock]),
            (OptionLayout::Darwin, &[&mss, &scale, &[1, 1], &clock, &permitted, &[0, 0]]),
        ];
        for (layout, parts) in layouts {
            let options = Options {
                mss: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: 1, echo: 0 }),
                layout,
                ..Options::default()
            };
            assert_laid_out(&options, &parts.concat());
        }
        let without_clock: [(OptionLayout, &[&[u8]]); 4] = [
            (OptionLayout::Linux, &[&mss, &[1, 1], &permitted, &scale]),
            (OptionLayout::FreeBsd, &[&mss, &scale, &permitted, &[0, 0]]),
            (OptionLayout::Windows, &[&mss, &scale, &[1, 1], &permitted]),
            (OptionLayout::Darwin, &[&mss, &scale, &permitted, &[0, 0]]),
        ];
        for (layout, parts) in without_clock {
            let (mss, window_scale) = (Some(1460), Some(7));
            let options = Options { mss, window_scale, sack_permitted: true, layout, ..Options::default() };
            assert_laid_out(&options, &parts.concat());
        }
    }

    fn assert_laid_out(options: &Options, expected: &[u8]) {
        let mut out = Vec::new();
        encode(options, &mut out);
        assert_eq!(out, expected, "{:?}", options.layout);
        assert_eq!(out.len() as u32, options.wire_len());
        assert_eq!(decode(&out), (Options { layout: OptionLayout::Linux, ..*options }, true));
    }

    #[test]
    fn a_fast_open_cookie_comes_back_behind_the_other_options() {
        let cookie = FastOpenCookie::new(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let options = Options { mss: Some(1460), fast_open: cookie, ..Options::default() };
        assert_laid_out(&options, &[2, 4, 0x05, 0xb4, 34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1]);
        let request = Options { fast_open: Some(FastOpenCookie::REQUEST), ..Options::default() };
        assert_laid_out(&request, &[34, 2, 1, 1]);
        assert_eq!(
            decode(&[34, 5, 1, 2, 3, 0]).0.fast_open,
            None,
            "RFC 7413 §4.1.1: an odd length is no cookie"
        );
    }

    #[test]
    fn accecn_options_come_back_and_stand_on_a_word_boundary() {
        for (order, kind) in [(AccEcnOrder::Ect0First, 172), (AccEcnOrder::Ect1First, 174)] {
            for count in 0..=3 {
                let accecn = Some(AccEcn::new(order, 1, 0xff_fffe, 0x01_0203, count));
                let options = Options { accecn, ..Options::default() };
                let mut out = Vec::new();
                encode(&options, &mut out);
                assert_eq!(out.len() as u32, options.wire_len());
                assert!(out.contains(&kind) && decode(&out) == (options, true), "{out:?}");
            }
        }
    }

    // Linux `tcp_options_fit_accecn` with `tcp_options_write`.
    #[test]
    fn an_accecn_option_takes_the_place_of_nops_where_it_fits_there() {
        let permitted = Options { mss: Some(1460), sack_permitted: true, ..Options::default() };
        let clock = Options { timestamps: Some(Timestamps { value: 1, echo: 0 }), ..permitted };
        let scaled = Options { window_scale: Some(8), ..clock };
        let clock_bytes = [4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
        let mss = [2, 4, 0x05, 0xb4];
        let cases: [(Options, u8, &[&[u8]]); 4] = [
            (permitted, 3, &[&mss, &[174, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1], &[1, 1, 4, 2]]),
            (scaled, 3, &[&mss, &clock_bytes, &[174, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1], &[1, 3, 3, 8]]),
            (scaled, 1, &[&mss, &clock_bytes, &[174, 5, 0, 0, 1], &[3, 3, 8]]),
            (permitted, 0, &[&mss, &[174, 2], &[4, 2]]),
        ];
        for (options, count, expected) in cases {
            let accecn = Some(AccEcn::new(AccEcnOrder::Ect1First, 1, 0, 1, count));
            assert_laid_out(&Options { accecn, ..options }, &expected.concat());
        }
        let mut sack = SackBlocks::default();
        sack.push(SeqRange::new(Seq(1), 1));
        let accecn = Some(AccEcn::new(AccEcnOrder::Ect1First, 1, 0, 1, 2));
        let expected = [174, 8, 0, 0, 1, 0, 0, 0, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_laid_out(&Options { accecn, sack, ..Options::default() }, &expected);
    }

    #[test]
    fn an_accecn_option_of_an_odd_length_is_passed_over() {
        let (options, sound) = decode(&[172, 4, 9, 9]);
        assert_eq!((options.accecn, sound), (None, true));
    }

    #[test]
    fn requests_for_a_rate_of_acks_are_laid_out_byte_for_byte() {
        for (scheme, ratio, bytes) in [
            (AckScheme::Tarr, None, &[254, 4, 0x00, 0xac][..]),
            (AckScheme::Tarr, Some(4), &[1, 1, 1, 254, 5, 0x00, 0xac, 4 << 1]),
            (AckScheme::AckCc, None, &[254, 4, 0x16, 0x3a]),
            (AckScheme::AckCc, Some(200), &[1, 1, 1, 254, 5, 0x16, 0x3a, 200]),
        ] {
            let ack_rate = Some(AckRate { scheme, ratio });
            assert_laid_out(&Options { ack_rate, ..Options::default() }, bytes);
        }
        let (other, sound) = decode(&[253, 5, 0x00, 0xac, 9]);
        assert_eq!(
            (other.ack_rate, sound),
            (Some(AckRate { scheme: AckScheme::Tarr, ratio: Some(4) }), true)
        );
        let (unknown, sound) = decode(&[254, 4, 0xf9, 0x89, 253, 3, 0, 1]);
        assert_eq!(
            (unknown.ack_rate, sound),
            (None, true),
            "another experiment, and one without its identifier"
        );
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
