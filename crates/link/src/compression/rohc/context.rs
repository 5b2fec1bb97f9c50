//! A compressor's state of one connection: the headers that the decompressor may have restored last, and the choice of
//! a format that restores the next one from any of them.

use std::collections::VecDeque;

use super::super::HeaderKind;
use super::fields::{
    ACKED, Fields, ID, Identification, NUMBERS, OPTIONS, Profile, RARE, SEQ, SN, TS_ECHO, TS_VALUE, WINDOW,
};
use super::formats::{self, Code, Format};

/// The form of a header on the wire.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Coding {
    /// IR: all fields.
    Full,
    /// IR-DYN: all fields that change.
    Dynamic,
    /// Any other.
    Compressed(Codes),
}

/// How the fields of a compressed header are sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Codes {
    numbers: [Code; NUMBERS],
    /// Whether changes of RST, SYN and FIN, of the options' structure and of the use of ECN are sent.
    carries_signs: bool,
    length: u32,
}

#[derive(Debug)]
pub(super) struct Context {
    connection: Fields,
    /// Headers sent, of which the decompressor has restored at least one, the oldest first.
    window: VecDeque<Fields>,
    /// The number of the next packet, where the packets have none of their own.
    next: u32,
    last_identification: Option<u32>,
    /// Grows with each large step of the identification, and shrinks with each small one.
    disorder: u32,
    uses_ecn: bool,
    /// Step of RTP's timestamp from packet to packet, once known (TS_STRIDE).
    stride: u32,
    last_timestamp: Option<(u32, u32)>,
}

impl Coding {
    pub(super) const fn kind(&self) -> HeaderKind {
        match self {
            Self::Full => HeaderKind::Full,
            Self::Dynamic => HeaderKind::Dynamic,
            Self::Compressed(_) => HeaderKind::Compressed,
        }
    }

    /// Its length, without the CID.
    pub(super) fn length(&self, fields: &Fields) -> u32 {
        let dynamic = fields.dynamic - omitted(fields);
        match self {
            Self::Full => IR + fields.statics_length() + dynamic,
            Self::Dynamic => IR + dynamic,
            Self::Compressed(codes) => codes.length,
        }
    }
}

/// Bytes of an identification that RFC 6846 does not send, as it is zero.
const fn omitted(fields: &Fields) -> u32 {
    match (fields.profile, fields.identification) {
        (Profile::Tcp, Identification::Zero) => 2,
        _ => 0,
    }
}

impl Codes {
    /// Whether a decompressor that has restored `known` restores `sent` from these codes.
    pub(super) fn restore(&self, known: &Fields, sent: &Fields) -> bool {
        let numbers = (0..NUMBERS).all(|place| self.numbers[place].restores(place, known, sent));
        let signs = |place: usize| known.signs[place] == sent.signs[place];
        numbers && signs(RARE) && (self.carries_signs || (0..RARE).all(signs))
    }
}

impl Context {
    pub(super) fn new(first: &Fields) -> Self {
        Self {
            connection: first.clone(),
            window: VecDeque::new(),
            next: 0,
            last_identification: None,
            disorder: 0,
            uses_ecn: false,
            stride: 0,
            last_timestamp: None,
        }
    }

    pub(super) fn is_of(&self, fields: &Fields) -> bool {
        self.connection.is_same_connection(fields)
    }

    /// Adds to the fields of the next header what follows from those before it: its number, the distance of its
    /// identification to that.
    pub(super) fn number(&mut self, mut fields: Fields) -> Fields {
        if fields.profile != Profile::Rtp {
            fields.numbers[SN] = self.next & 0xffff;
            self.next += 1;
        }
        let identification = fields.numbers[ID];
        fields.identification = self.identification(identification);
        fields.numbers[ID] = match fields.identification {
            Identification::Sequential => identification.wrapping_sub(fields.numbers[SN]) & 0xffff,
            Identification::Random | Identification::Zero => 0,
        };
        fields.signs[RARE] ^= (fields.identification as u32) << 30;
        if fields.profile == Profile::Tcp {
            self.uses_ecn |= fields.signs[super::fields::ECN] > 0;
            fields.signs[super::fields::ECN] = u32::from(self.uses_ecn);
        }
        if fields.profile == Profile::Rtp {
            self.scale_timestamp(&mut fields);
        }
        fields
    }

    /// Judges the identification by its last steps: after two of eight that are not small, it is random.
    fn identification(&mut self, next: u32) -> Identification {
        let step = self.last_identification.map(|last| next.wrapping_sub(last) & 0xffff);
        let was_zero = self.last_identification.is_none_or(|last| last == 0);
        self.last_identification = Some(next);
        if next == 0 && was_zero {
            return Identification::Zero;
        }
        let is_small = step.is_none_or(|step| (1..=SMALL_STEP).contains(&step));
        self.disorder = if is_small { self.disorder.saturating_sub(1) } else { (self.disorder + 4).min(12) };
        if self.disorder >= 8 { Identification::Random } else { Identification::Sequential }
    }

    /// RFC 3095 §4.5.3: the timestamp in units of its step, and what is left of it.
    fn scale_timestamp(&mut self, fields: &mut Fields) {
        let now = (fields.numbers[SN], fields.timestamp);
        if let Some((number, timestamp)) = self.last_timestamp.filter(|_| self.stride == 0) {
            let packets = now.0.wrapping_sub(number) & 0xffff;
            self.stride = now.1.wrapping_sub(timestamp).checked_div(packets).unwrap_or(0);
        }
        self.last_timestamp = Some(now);
        let stride = self.stride.max(1);
        fields.numbers[SEQ] = (now.1 / stride).wrapping_sub(now.0);
        fields.signs[OPTIONS] = now.1 % stride;
    }

    /// A header is sent; the window keeps the last ones.
    pub(super) fn push(&mut self, fields: Fields, keeps: usize) {
        self.window.push_back(fields);
        while self.window.len() > keeps {
            self.window.pop_front();
        }
    }

    /// The decompressor has restored the header with this number, and does not return to an earlier one.
    pub(super) fn acknowledge(&mut self, number: u32) {
        let place = self.window.iter().position(|fields| fields.number() == number);
        self.window.drain(..place.unwrap_or(0));
    }

    /// The shortest form that restores the header from every one in the window; none if only all fields do.
    pub(super) fn compressed(&self, fields: &Fields) -> Option<Codes> {
        let mut timestamps = [Code::Static; 2];
        let mut more = always(fields);
        let timestamps_length = self.timestamps(fields, &mut timestamps)?;
        let common = (fields.profile == Profile::Tcp).then(|| self.common(fields, timestamps)).flatten();
        let fits = |format: &&Format| {
            let codes = format.codes(timestamps);
            (format.carries_marker || !fields.marker) && self.restores(&codes, fields)
        };
        let format = formats::of(fields).iter().find(fits);
        let chosen = format.map(|format| format.codes(timestamps)).or(common)?;
        let is_new_list = chosen.carries_signs && !self.has_sign(fields, OPTIONS);
        more += if is_new_list { fields.options_list } else { fields.irregular_options + timestamps_length };
        Some(Codes { length: chosen.length + more, ..chosen })
    }

    fn restores(&self, codes: &Codes, fields: &Fields) -> bool {
        !self.window.is_empty() && self.window.iter().all(|known| codes.restore(known, fields))
    }

    fn has_sign(&self, fields: &Fields, place: usize) -> bool {
        self.window.iter().all(|known| known.signs[place] == fields.signs[place])
    }

    /// The codes of TCP's timestamps, and their length; none if they do not fit any.
    fn timestamps(&self, fields: &Fields, codes: &mut [Code; 2]) -> Option<u32> {
        if !fields.has_timestamps {
            return Some(0);
        }
        let mut length = 0;
        for (code, place) in codes.iter_mut().zip([TS_VALUE, TS_ECHO]) {
            let (bytes, chosen) = self.first_that_restores(fields, place, &formats::TIMESTAMP)?;
            *code = chosen;
            length += bytes;
        }
        Some(length)
    }

    fn first_that_restores(
        &self,
        fields: &Fields,
        place: usize,
        codes: &[(u32, Code)],
    ) -> Option<(u32, Code)> {
        let restores = |code: Code| self.window.iter().all(|known| code.restores(place, known, fields));
        codes.iter().copied().find(|(_, code)| restores(*code))
    }

    /// `co_common` of RFC 6846: every number as short as it may be.
    fn common(&self, fields: &Fields, [value, echo]: [Code; 2]) -> Option<Codes> {
        let mut numbers = [Code::Static; NUMBERS];
        numbers[SN] = formats::MSN;
        (numbers[TS_VALUE], numbers[TS_ECHO]) = (value, echo);
        let mut length = formats::COMMON;
        let choices: [(usize, &[(u32, Code)]); 4] = [
            (SEQ, &formats::VARIABLE_32),
            (ACKED, &formats::VARIABLE_32),
            (WINDOW, &formats::STATIC_OR_16),
            (
                ID,
                if fields.identification == Identification::Sequential {
                    &formats::LSB_OR_16
                } else {
                    &[(0, Code::Static)]
                },
            ),
        ];
        for (place, codes) in choices {
            let (bytes, code) = self.first_that_restores(fields, place, codes)?;
            numbers[place] = code;
            length += bytes;
        }
        let codes = Codes { numbers, carries_signs: true, length };
        self.restores(&codes, fields).then_some(codes)
    }
}

impl Format {
    fn codes(&self, [value, echo]: [Code; 2]) -> Codes {
        let mut numbers = [Code::Static; NUMBERS];
        for (place, code) in self.numbers {
            numbers[*place] = *code;
        }
        (numbers[TS_VALUE], numbers[TS_ECHO]) = (value, echo);
        Codes { numbers, carries_signs: self.carries_signs, length: self.length }
    }
}

/// Bytes that every compressed header has besides its format's: the checksum, an identification that is random, and
/// ECN's bits where they are used (the irregular chain of RFC 6846 §6.2; RFC 3095 §5.7).
fn always(fields: &Fields) -> u32 {
    let checksum = if fields.has_checksum { 2 } else { 0 };
    let identification = if fields.identification == Identification::Random { 2 } else { 0 };
    let ecn = if fields.profile == Profile::Tcp { fields.signs[super::fields::ECN] } else { 0 };
    checksum + identification + ecn
}

/// The type, the profile and the checksum of IR and IR-DYN (RFC 5795 §5.2.2).
const IR: u32 = 3;

/// Steps up to which an identification counts as sequential: eight bits encode them.
const SMALL_STEP: u32 = 0xff;
