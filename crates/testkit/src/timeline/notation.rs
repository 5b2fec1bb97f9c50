//! Segments as a timeline writes them, after tcpdump:
//!
//! ```text
//! P. 1:1001(1000) ack 1 win 65535 <sack 2001:3001,ts 10:20>
//! ```
//!
//! Flags (`.` is ACK), then `first:next(length)`, all relative to the initial sequence number of their side: the SYN
//! has number 0, the first byte 1. `(3x1000)` means three consecutive segments. The window is the field in the header,
//! not scaled.

use std::fmt;

use units::{Seq, SeqRange};
use wire::{AckRate, AckScheme, Ecn, FastOpenCookie, Flags, Options, Payload, Segment, Timestamps};

/// A segment with relative numbers; `None` means unspecified.
#[derive(Clone, Debug, Default)]
pub struct Notation {
    /// The control bits.
    pub flags: Flags,
    /// First number.
    pub start: u32,
    /// Bytes of payload.
    pub len: u32,
    /// Acknowledgment number.
    pub ack: Option<u32>,
    /// Window field.
    pub window: Option<u16>,
    /// The ECN field, if specified: `ect` or `ce` after the window.
    pub ecn: Option<Ecn>,
    /// Options, if the list is there.
    pub options: Option<OptionList>,
    /// The purpose of the segment, in square brackets after it.
    pub kind: Option<String>,
}

/// A list of options between angle brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionList {
    /// `mss 1460`.
    pub mss: Option<u16>,
    /// `wscale 7`.
    pub window_scale: Option<u8>,
    /// `sackOK`.
    pub sack_permitted: bool,
    /// `ecn`: in a handshake, the flags of RFC 3168 §6.1.1.
    pub ecn: bool,
    /// `polls`: in a handshake, the poll bit.
    pub polls: bool,
    /// `dummies`: in a handshake, the bit of dummy segments.
    pub dummies: bool,
    /// `ts 10:20`, `ts` for any, `no-ts` for none.
    pub timestamps: Stamp,
    /// `sack 1001:2001 3001:4001`.
    pub sack: Vec<(u32, u32)>,
    /// `fo 0102030405060708`: a Fast Open cookie; `fo` asks for one.
    pub fast_open: Option<FastOpenCookie>,
    /// `tarr` or `ackcc` on a SYN, `tarr 4` or `ackcc 4` on data: the rate of ACKs.
    pub ack_rate: Option<AckRate>,
}

/// The expectation on timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamp {
    /// Nothing.
    #[default]
    Unsaid,
    /// There is none.
    Absent,
    /// A timestamp with any value.
    Any,
    /// There is this one.
    Exactly(u32, u32),
}

/// The numbers from which the two sides count.
#[derive(Clone, Copy, Debug)]
pub struct Origins {
    /// Initial sequence number of the side that sends the segment.
    pub sender: Seq,
    /// Initial sequence number of the other side.
    pub receiver: Seq,
}

impl Notation {
    /// Reads the notation; `(3x1000)` gives three of them, and `x3` at the end the same one three times.
    ///
    /// # Errors
    /// Says what cannot be read.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let (text, kind) = take_bracketed(text, '[', ']');
        let (text, options) = take_bracketed(&text, '<', '>');
        let mut words = text.split_whitespace();
        let flags = parse_flags(words.next().unwrap_or_default())?;
        let (start, pieces) = parse_numbers(words.next().unwrap_or_default())?;
        let options = options.map(|list| OptionList::parse(&list)).transpose()?;
        let mut one = Self { flags, start, options, kind, ..Self::default() };
        let mut times = 1;
        while let Some(word) = words.next() {
            match word {
                "ack" => one.ack = Some(number(words.next())?),
                "win" => one.window = Some(number(words.next())?),
                "ect" => one.ecn = Some(Ecn::Capable),
                "ect1" => one.ecn = Some(Ecn::Capable1),
                "ce" => one.ecn = Some(Ecn::Experienced),
                "not-ect" => one.ecn = Some(Ecn::NotCapable),
                _ => times = number(word.strip_prefix('x'))?,
            }
        }
        if flags.contains(Flags::ACK) != one.ack.is_some() {
            return Err("an ack number goes with the flag \".\", and the flag with a number".to_owned());
        }
        Ok((0..times).flat_map(|_| one.cut(&pieces)).collect())
    }

    fn cut(&self, pieces: &[u32]) -> Vec<Self> {
        let mut start = self.start;
        let piece = |len: &u32| {
            let piece = Self { start, len: *len, ..self.clone() };
            start = start.wrapping_add(*len);
            piece
        };
        pieces.iter().map(piece).collect()
    }

    /// The segment that it describes; `window` is the default of its window.
    #[must_use]
    pub fn segment(&self, origins: Origins, window: u16, ports: (u16, u16)) -> Segment {
        let options = self.options.as_ref().map(|list| list.options(origins.receiver)).unwrap_or_default();
        Segment {
            source_port: ports.0,
            destination_port: ports.1,
            seq: origins.sender + self.start,
            ack: self.ack.map_or(Seq::default(), |ack| origins.receiver + ack),
            flags: self.flags,
            window: self.window.unwrap_or(window),
            options,
            ecn: self.ecn.unwrap_or_default(),
            // The byte after the SYN is the first of the stream.
            payload: Payload::Pattern {
                offset: u64::from(
                    self.start.wrapping_add(u32::from(self.flags.contains(Flags::SYN))).wrapping_sub(1),
                ),
                len: self.len,
            },
        }
    }

    /// The first difference of `segment` from this notation, if any.
    #[must_use]
    pub fn difference(&self, segment: &Segment, origins: Origins) -> Option<String> {
        let said = |what: &str, expected: &dyn fmt::Display, came: &dyn fmt::Display| {
            Some(format!("{what} should be {expected} and is {came}"))
        };
        let flags =
            if self.flags.contains(Flags::PSH) { segment.flags } else { segment.flags.without(Flags::PSH) };
        if flags != self.flags {
            return said("flags", &self.flags, &flags);
        }
        let start = segment.seq.since(origins.sender);
        if start != self.start {
            return said("seq", &self.start, &start);
        }
        if segment.payload.len() != self.len {
            return said("length", &self.len, &segment.payload.len());
        }
        let ack = segment.ack.since(origins.receiver);
        if self.ack.is_some_and(|expected| expected != ack) {
            return said("ack", &self.ack.unwrap_or(0), &ack);
        }
        if self.window.is_some_and(|expected| expected != segment.window) {
            return said("win", &self.window.unwrap_or(0), &segment.window);
        }
        if self.ecn.is_some_and(|expected| expected != segment.ecn) {
            return said("ECN", &ecn_word(self.ecn.unwrap_or_default()), &ecn_word(segment.ecn));
        }
        self.option_difference(segment, origins)
    }

    /// Where no list is given, a SYN may have any options, and other segments no SACK blocks.
    fn option_difference(&self, segment: &Segment, origins: Origins) -> Option<String> {
        if self.options.is_none() && segment.flags.contains(Flags::SYN) {
            return None;
        }
        let expected = self.options.clone().unwrap_or_default();
        let came = OptionList::of(&segment.options, origins.receiver);
        let stamps = match (expected.timestamps, came.timestamps) {
            (Stamp::Unsaid, _) => true,
            (Stamp::Any, came) => came != Stamp::Absent,
            (expected, came) => expected == came,
        };
        let others = OptionList { timestamps: came.timestamps, ..expected.clone() } == came;
        (!stamps || !others).then(|| format!("options should be <{expected}> and are <{came}>"))
    }
}

impl OptionList {
    /// Reads the text between the angle brackets.
    ///
    /// # Errors
    /// Says what cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut list = Self::default();
        for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once(' ').unwrap_or((option, ""));
            match name {
                "mss" => list.mss = Some(number(Some(value))?),
                "wscale" => list.window_scale = Some(number(Some(value))?),
                "sackOK" => list.sack_permitted = true,
                "ecn" => list.ecn = true,
                "polls" => list.polls = true,
                "dummies" => list.dummies = true,
                "no-ts" => list.timestamps = Stamp::Absent,
                "ts" if value.is_empty() => list.timestamps = Stamp::Any,
                "ts" => list.timestamps = pair(value).map(|(value, echo)| Stamp::Exactly(value, echo))?,
                "sack" => list.sack = value.split_whitespace().map(pair).collect::<Result<_, _>>()?,
                "fo" => list.fast_open = Some(cookie(value)?),
                "tarr" => list.ack_rate = Some(ack_rate(AckScheme::Tarr, value)?),
                "ackcc" => list.ack_rate = Some(ack_rate(AckScheme::AckCc, value)?),
                _ => {
                    return Err(format!(
                        "there is no option \"{name}\": mss, wscale, sackOK, ts, no-ts, sack, fo, tarr, ackcc, ecn, polls, dummies"
                    ));
                }
            }
        }
        Ok(list)
    }

    fn of(options: &Options, origin: Seq) -> Self {
        let relative = |block: &SeqRange| (block.start.since(origin), block.end.since(origin));
        let stamp = |stamps: Timestamps| Stamp::Exactly(stamps.value, stamps.echo);
        Self {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps.map_or(Stamp::Absent, stamp),
            sack: options.sack.as_slice().iter().map(relative).collect(),
            fast_open: options.fast_open,
            ack_rate: options.ack_rate,
            ..Self::default()
        }
    }

    fn options(&self, origin: Seq) -> Options {
        let mut options = Options {
            mss: self.mss,
            window_scale: self.window_scale,
            sack_permitted: self.sack_permitted,
            fast_open: self.fast_open,
            ack_rate: self.ack_rate,
            ..Options::default()
        };
        if let Stamp::Exactly(value, echo) = self.timestamps {
            options.timestamps = Some(Timestamps { value, echo });
        }
        for (start, end) in &self.sack {
            options.sack.push(SeqRange { start: origin + *start, end: origin + *end });
        }
        options
    }
}

/// A segment in this notation.
#[must_use]
pub fn written(segment: &Segment, origins: Origins) -> String {
    let start = segment.seq.since(origins.sender);
    let len = segment.payload.len();
    let mut text = format!("{} {start}:{}({len})", segment.flags, start.wrapping_add(len));
    if segment.flags.contains(Flags::ACK) {
        text += &format!(" ack {}", segment.ack.since(origins.receiver));
    }
    text += &format!(" win {}", segment.window);
    if segment.ecn != Ecn::NotCapable {
        text += &format!(" {}", ecn_word(segment.ecn));
    }
    let options = OptionList::of(&segment.options, origins.receiver).to_string();
    if options.is_empty() { text } else { text + " <" + &options + ">" }
}

const fn ecn_word(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotCapable => "not-ect",
        Ecn::Capable1 => "ect1",
        Ecn::Capable => "ect",
        Ecn::Experienced => "ce",
    }
}

impl fmt::Display for OptionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![];
        parts.extend(self.mss.map(|mss| format!("mss {mss}")));
        parts.extend(self.sack_permitted.then(|| "sackOK".to_owned()));
        parts.extend(self.window_scale.map(|shift| format!("wscale {shift}")));
        match self.timestamps {
            Stamp::Exactly(value, echo) => parts.push(format!("ts {value}:{echo}")),
            Stamp::Any => parts.push("ts".to_owned()),
            Stamp::Unsaid | Stamp::Absent => {}
        }
        if !self.sack.is_empty() {
            let blocks = self.sack.iter().map(|(start, end)| format!(" {start}:{end}"));
            parts.push(format!("sack{}", blocks.collect::<String>()));
        }
        parts.extend(self.fast_open.map(|cookie| format!("fo {cookie}").trim_end().to_owned()));
        parts.extend(self.ack_rate.map(|AckRate { scheme, ratio }| {
            let name = if scheme == AckScheme::Tarr { "tarr" } else { "ackcc" };
            ratio.map_or_else(|| name.to_owned(), |ratio| format!("{name} {ratio}"))
        }));
        f.write_str(&parts.join(","))
    }
}

/// The text without the last part in these brackets, and that part.
fn take_bracketed(text: &str, open: char, close: char) -> (String, Option<String>) {
    match (text.find(open), text.rfind(close)) {
        (Some(from), Some(to)) if from < to => {
            let inside = text[from + 1..to].trim().to_owned();
            (format!("{} {}", &text[..from], &text[to + 1..]), Some(inside))
        }
        _ => (text.to_owned(), None),
    }
}

fn parse_flags(text: &str) -> Result<Flags, String> {
    let letter = |flags: Flags, letter: char| {
        let flag = match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            'e' => Flags::AE,
            'Q' => Flags::POLL,
            'D' => Flags::DUMMY,
            '-' => Flags::empty(),
            _ => {
                return Err(format!(
                    "\"{letter}\" is not a flag: S F R P . E W, e for AE, Q for a poll, D for a dummy, or - for none"
                ));
            }
        };
        Ok(flags.with(flag))
    };
    if text.is_empty() {
        return Err("a segment begins with its flags, like \"P.\"".to_owned());
    }
    text.chars().try_fold(Flags::empty(), letter)
}

/// `1:3001(3x1000)`: the first number, and the lengths.
fn parse_numbers(text: &str) -> Result<(u32, Vec<u32>), String> {
    let wrong = || format!("\"{text}\" should be first:next(length), like 1:1001(1000)");
    let (range, length) = text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(wrong)?;
    let (start, end) = pair(range)?;
    let (times, len) = length.split_once('x').unwrap_or(("1", length));
    let (times, len): (u32, u32) = (number(Some(times))?, number(Some(len))?);
    if start.wrapping_add(times * len) != end {
        return Err(format!("\"{text}\": {start} and {times} times {len} do not make {end}"));
    }
    Ok((start, vec![len; times as usize]))
}

fn pair(text: &str) -> Result<(u32, u32), String> {
    let (first, second) =
        text.split_once(':').ok_or_else(|| format!("\"{text}\" should be two numbers, 1:2"))?;
    Ok((number(Some(first))?, number(Some(second))?))
}

/// A Fast Open cookie in hexadecimal digits, or the request for one.
pub(super) fn cookie(digits: &str) -> Result<FastOpenCookie, String> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    bytes
        .filter(|_| digits.len().is_multiple_of(2))
        .and_then(|bytes| FastOpenCookie::new(&bytes))
        .ok_or_else(|| format!("\"{digits}\" should be the 4 to 16 bytes of a cookie, in hexadecimal digits"))
}

/// The option about the rate of ACKs, with a ratio or without.
fn ack_rate(scheme: AckScheme, value: &str) -> Result<AckRate, String> {
    let ratio = if value.is_empty() { None } else { Some(number(Some(value))?) };
    Ok(AckRate { scheme, ratio })
}

/// Negative numbers wrap, so that numbers before the first can be written.
fn number<T: TryFrom<i64>>(text: Option<&str>) -> Result<T, String> {
    let text = text.ok_or("a number is missing")?;
    let value: i64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    T::try_from(value)
        .or_else(|_| T::try_from(value & i64::from(u32::MAX)))
        .map_err(|_| format!("{text} is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINS: Origins = Origins { sender: Seq(1000), receiver: Seq(5000) };

    fn one(text: &str) -> Notation {
        Notation::parse(text).unwrap().remove(0)
    }

    #[test]
    fn what_is_read_is_what_is_written() {
        for text in [
            "S 0:0(0) win 65535 <mss 1460,sackOK,wscale 7>",
            "P. 1:1001(1000) ack 1 win 500",
            ". 1:1(0) ack 1001 win 9 <ts 10:20,sack 2001:3001 4001:5001>",
            "R 7:7(0) win 0",
            "S 0:100(100) win 9 <mss 1460,fo 0102030405060708>",
            "S 0:0(0) win 9 <fo>",
            "S 0:0(0) win 9 <tarr>",
            ". 1:9(8) ack 1 win 9 <ackcc 4>",
        ] {
            assert_eq!(written(&one(text).segment(ORIGINS, 0, (1, 2)), ORIGINS), text);
        }
    }

    #[test]
    fn several_segments_in_a_row_are_cut_apart() {
        let starts: Vec<u32> =
            Notation::parse(". 1:3001(3x1000) ack 1").unwrap().iter().map(|one| one.start).collect();
        assert_eq!(starts, [1, 1001, 2001]);
        assert_eq!(Notation::parse(". 1:1(0) ack 5 x3").unwrap().len(), 3);
    }

    #[test]
    fn every_part_that_is_said_is_compared() {
        let segment = one("P. 1:1001(1000) ack 1 win 500").segment(ORIGINS, 0, (1, 2));
        assert_eq!(one(". 1:1001(1000) ack 1").difference(&segment, ORIGINS), None);
        for wrong in [
            "F. 1:1001(1000) ack 1",
            ". 2:1002(1000) ack 1",
            ". 1:1002(1001) ack 1",
            ". 1:1001(1000) ack 2",
            ". 1:1001(1000) ack 1 win 501",
            ". 1:1001(1000) ack 1 <sack 3:4>",
            ". 1:1001(1000) ack 1 <ts>",
        ] {
            assert!(one(wrong).difference(&segment, ORIGINS).is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_refused() {
        for wrong in
            ["", "Z 1:1(0)", ". 1:2(0) ack 1", ". 1:1(0)", "S 1:1(0) ack 4", ". 1:1(0) ack 1 <mmm 4>"]
        {
            assert!(Notation::parse(wrong).is_err(), "{wrong}");
        }
    }
}
