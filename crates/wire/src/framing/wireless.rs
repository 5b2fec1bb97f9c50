//! Frames of IEEE 802.11, with the radiotap header or without.

use super::field::after;
use super::{NotIp, ether};

/// The IP packet of a frame after a radiotap header (<https://www.radiotap.org/>).
pub(super) fn radiotap(bytes: &[u8]) -> Result<&[u8], NotIp> {
    let [0, _, low, high, ..] = bytes else { return Err(NotIp::CutOff) };
    let len = usize::from(u16::from_le_bytes([*low, *high]));
    let (header, rest) = bytes.split_at_checked(len).ok_or(NotIp::CutOff)?;
    let fields = header.get(4..).ok_or(NotIp::CutOff)?;
    frame(rest, radio_flags(fields) & PADDED != 0)
}

/// The field "flags", or 0 where the header has none. `fields` is what follows the version and the length.
fn radio_flags(fields: &[u8]) -> u8 {
    let words = fields.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    let count = words.clone().take_while(|word| word & ANOTHER_WORD != 0).count() + 1;
    let present = words.clone().next().unwrap_or(0);
    if present & FLAGS == 0 {
        return 0;
    }
    let begins = 4 * count;
    // The timer is aligned to eight bytes of the whole header, four of which precede the fields.
    let place = if present & TIMER == 0 { begins } else { (begins + 4).next_multiple_of(8) + 4 };
    fields.get(place).copied().unwrap_or(0)
}

/// The IP packet of a data frame (IEEE 802.11 §9.2.3); `padded` if its header is filled up to four bytes.
pub(super) fn frame(frame: &[u8], padded: bool) -> Result<&[u8], NotIp> {
    let [kind, flags, ..] = *frame else { return Err(NotIp::CutOff) };
    let (data, without_data, quality) = (kind >> 2 & 3 == 2, kind & 0x40 != 0, kind & 0x80 != 0);
    if !data || without_data {
        return Err(NotIp::WirelessControl);
    }
    if flags & PROTECTED != 0 {
        return Err(NotIp::Encrypted);
    }
    let between_stations = flags & BOTH_SYSTEMS == BOTH_SYSTEMS;
    let mut len = if between_stations { 30 } else { 24 };
    if quality {
        if frame.get(len).ok_or(NotIp::CutOff)? & AGGREGATE != 0 {
            return Err(NotIp::Aggregate);
        }
        len += if flags & ORDERED != 0 { 6 } else { 2 };
    }
    if padded {
        len = len.next_multiple_of(4);
    }
    ether::logical_link(after(frame, len)?)
}

/// Bits of the radiotap header's first word, and of its field "flags".
const TIMER: u32 = 1;
const FLAGS: u32 = 1 << 1;
const ANOTHER_WORD: u32 = 1 << 31;
const PADDED: u8 = 0x20;
/// Bits of the second byte of frame control: "to DS" and "from DS", "protected frame", "+HTC/order".
const BOTH_SYSTEMS: u8 = 0x03;
const PROTECTED: u8 = 0x40;
const ORDERED: u8 = 0x80;
/// A bit of QoS control: an A-MSDU is present.
const AGGREGATE: u8 = 0x80;
