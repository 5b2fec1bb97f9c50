//! The formats of compressed headers: RFC 6846 §8.2.4.2 for TCP, RFC 3095 §5.7 for RTP and §5.11 for UDP. Each list
//! goes from the shortest to the longest.

use super::fields::{ACKED, Fields, ID, Identification, Profile, SEQ, SN, WINDOW};

/// One format.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) length: u32,
    /// The numbers that it carries; the others are as they were.
    pub(super) numbers: &'static [(usize, Code)],
    /// Whether it carries changes of flags, of the options' structure and of the use of ECN.
    pub(super) carries_signs: bool,
    /// Whether it carries RTP's marker.
    pub(super) carries_marker: bool,
}

/// How a number is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// Not at all: it is as it was.
    Static,
    /// Its `.0` least significant bits, of which the interval begins `.1` before the value that was (RFC 3095 §4.5.1).
    Lsb(u32, i32),
    /// The same of TCP's sequence number in units of the packet's length, whose remainder is as it was.
    Scaled(u32, i32),
    /// All of it.
    Whole,
}

impl Code {
    /// Whether a number at this place is restored from the one in a header that is known.
    pub(super) fn restores(self, place: usize, known: &Fields, sent: &Fields) -> bool {
        let (old, new) = (known.numbers[place], sent.numbers[place]);
        match self {
            Self::Static => old == new,
            Self::Lsb(bits, before) => decode(old, new, (bits, before), width(place)) == new,
            Self::Scaled(bits, before) => {
                let unit = sent.payload;
                let is_steady = unit > 0 && known.payload == unit && old % unit == new % unit;
                is_steady && decode(old / unit, new / unit, (bits, before), 32) == new / unit
            }
            Self::Whole => true,
        }
    }
}

/// The value of `width` bits nearest after `old - before` that ends in the least significant bits of `new`.
fn decode(old: u32, new: u32, (bits, before): (u32, i32), width: u32) -> u32 {
    let mask = |bits: u32| if bits >= 32 { u32::MAX } else { (1 << bits) - 1 };
    let first = old.wrapping_sub(before as u32);
    first.wrapping_add(new.wrapping_sub(first) & mask(bits)) & mask(width)
}

const fn width(place: usize) -> u32 {
    match place {
        SN | ID | WINDOW => 16,
        _ => 32,
    }
}

/// The formats that may carry a header.
pub(super) fn of(fields: &Fields) -> &'static [Format] {
    match (fields.profile, fields.identification) {
        (Profile::Tcp, Identification::Sequential) => TCP_SEQUENTIAL,
        (Profile::Tcp, Identification::Random | Identification::Zero) => TCP_RANDOM,
        (Profile::Rtp, _) => RTP,
        (Profile::Udp, _) => UDP,
    }
}

const fn format(length: u32, numbers: &'static [(usize, Code)]) -> Format {
    Format { length, numbers, carries_signs: false, carries_marker: true }
}

/// The master sequence number in every format of RFC 6846.
pub(super) const MSN: Code = Code::Lsb(4, 4);

/// `seq_1` to `seq_8` of RFC 6846, all but `seq_4` with its scaled ACK number.
const TCP_SEQUENTIAL: &[Format] = &[
    format(3, &[(SN, MSN), (ID, Code::Lsb(7, 3)), (SEQ, Code::Scaled(4, 7))]),
    format(4, &[(SN, MSN), (ID, Code::Lsb(4, 3)), (SEQ, Code::Lsb(16, 32_767))]),
    format(4, &[(SN, MSN), (ID, Code::Lsb(4, 3)), (ACKED, Code::Lsb(16, 16_383))]),
    format(5, &[(SN, MSN), (ID, Code::Lsb(7, 3)), (SEQ, Code::Scaled(4, 7)), (ACKED, Code::Lsb(16, 16_383))]),
    format(
        6,
        &[(SN, MSN), (ID, Code::Lsb(4, 3)), (SEQ, Code::Lsb(16, 32_767)), (ACKED, Code::Lsb(16, 16_383))],
    ),
    format(
        6,
        &[(SN, MSN), (ID, Code::Lsb(5, 3)), (WINDOW, Code::Lsb(15, 16_383)), (ACKED, Code::Lsb(16, 32_767))],
    ),
    Format {
        length: 7,
        numbers: &[
            (SN, MSN),
            (ID, Code::Lsb(4, 3)),
            (SEQ, Code::Lsb(14, 8_191)),
            (ACKED, Code::Lsb(15, 8_191)),
        ],
        carries_signs: true,
        carries_marker: true,
    },
];

/// `rnd_1` to `rnd_8` of RFC 6846, all but `rnd_4` with its scaled ACK number.
const TCP_RANDOM: &[Format] = &[
    format(2, &[(SN, MSN), (SEQ, Code::Scaled(4, 7))]),
    format(3, &[(SN, MSN), (ACKED, Code::Lsb(15, 8_191))]),
    format(4, &[(SN, MSN), (SEQ, Code::Lsb(18, 65_535))]),
    format(4, &[(SN, MSN), (SEQ, Code::Scaled(4, 7)), (ACKED, Code::Lsb(16, 16_383))]),
    format(5, &[(SN, MSN), (SEQ, Code::Lsb(14, 8_191)), (ACKED, Code::Lsb(15, 8_191))]),
    format(6, &[(SN, MSN), (ACKED, Code::Lsb(18, 65_535)), (WINDOW, Code::Whole)]),
    Format {
        length: 7,
        numbers: &[(SN, MSN), (SEQ, Code::Lsb(16, 65_535)), (ACKED, Code::Lsb(16, 16_383))],
        carries_signs: true,
        carries_marker: true,
    },
];

/// `co_common` of RFC 6846 without what is optional in it.
pub(super) const COMMON: u32 = 5;
/// `variable_length_32_enc` of RFC 6846.
pub(super) const VARIABLE_32: [(u32, Code); 4] =
    [(0, Code::Static), (1, Code::Lsb(8, 63)), (2, Code::Lsb(16, 16_383)), (4, Code::Whole)];
/// `static_or_irreg` of 16 bits.
pub(super) const STATIC_OR_16: [(u32, Code); 2] = [(0, Code::Static), (2, Code::Whole)];
/// `optional_ip_id_lsb` of RFC 6846.
pub(super) const LSB_OR_16: [(u32, Code); 2] = [(1, Code::Lsb(8, 3)), (2, Code::Whole)];
/// A number of TCP's timestamps: `ts_lsb` of RFC 6846.
pub(super) const TIMESTAMP: [(u32, Code); 4] = [
    (1, Code::Lsb(7, -1)),
    (2, Code::Lsb(14, -1)),
    (3, Code::Lsb(21, 0x0004_0000)),
    (4, Code::Lsb(29, 0x0400_0000)),
];

/// UO-0, UO-1-TS, UO-1-ID, UOR-2-TS and UOR-2-ID, and UOR-2 with its extensions 0, 1 and 2.
const RTP: &[Format] = &[
    Format { length: 1, numbers: &[(SN, Code::Lsb(4, 1))], carries_signs: false, carries_marker: false },
    format(2, &[(SN, Code::Lsb(4, 1)), (SEQ, Code::Lsb(5, 7))]),
    Format {
        length: 2,
        numbers: &[(SN, Code::Lsb(4, 1)), (ID, Code::Lsb(5, 0))],
        carries_signs: false,
        carries_marker: false,
    },
    format(3, &[(SN, Code::Lsb(6, 1)), (SEQ, Code::Lsb(5, 7))]),
    format(3, &[(SN, Code::Lsb(6, 1)), (ID, Code::Lsb(5, 0))]),
    format(4, &[(SN, Code::Lsb(9, 15)), (SEQ, Code::Lsb(8, 63))]),
    format(4, &[(SN, Code::Lsb(9, 15)), (ID, Code::Lsb(8, 0))]),
    format(5, &[(SN, Code::Lsb(9, 15)), (SEQ, Code::Lsb(8, 63)), (ID, Code::Lsb(8, 0))]),
    format(6, &[(SN, Code::Lsb(9, 15)), (SEQ, Code::Lsb(16, 16_383)), (ID, Code::Lsb(8, 0))]),
];

/// UO-0, UO-1 and UOR-2, and UOR-2 with its extension 3 for the whole identification.
const UDP: &[Format] = &[
    format(1, &[(SN, Code::Lsb(4, 1))]),
    format(2, &[(SN, Code::Lsb(5, 0)), (ID, Code::Lsb(6, 0))]),
    format(3, &[(SN, Code::Lsb(8, 7)), (ID, Code::Lsb(5, 0))]),
    format(6, &[(SN, Code::Lsb(8, 7)), (ID, Code::Whole)]),
];

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_interval_of_a_number_begins_before_the_one_that_was_and_wraps() {
        // RFC 3095 §4.5.1: [v_ref - p, v_ref + 2^k - 1 - p].
        for (old, new, is_encoded) in [(100, 96, true), (100, 95, false), (100, 111, true), (100, 112, false)]
        {
            assert_eq!(decode(old, new, (4, 4), 16) == new, is_encoded, "{old} to {new}");
        }
        assert_eq!(decode(0xfffe, 3, (4, 4), 16), 3);
        assert_eq!(decode(5, 5, (7, -1), 32), 5 + 128, "a timestamp that stands needs more bits");
    }
}
