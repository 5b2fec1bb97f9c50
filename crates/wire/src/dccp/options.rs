//! The options of DCCP (RFC 4340 §5.8) and of its CCID 3 (RFC 4342 §8).

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DccpOption {
    /// The next option must be understood (§5.8.2).
    Mandatory,
    /// A Change or Confirm of a feature (§6.1, §6.2).
    Feature(FeatureOption),
    /// The number of packets without data right before this one (§7.7).
    NdpCount(u64),
    /// Fates of packets from the acknowledged one downwards, run-length encoded (§11.4).
    AckVector {
        /// The ECN nonce, which RFC 8311 has made historic.
        nonce: bool,
        /// Bytes of a state in two bits and a length, less one, in six.
        vector: Vec<u8>,
    },
    /// Time since the acknowledged packet arrived, in units of 10 µs (§13.2).
    ElapsedTime(u32),
    /// The inverse of the loss event rate, rounded up; all ones for none (RFC 4342 §8.5).
    LossEventRate(u32),
    /// Bytes per second that arrived (RFC 4342 §8.3).
    ReceiveRate(u32),
    /// Another option.
    Other {
        /// Its type.
        kind: u8,
        /// Its data.
        data: Vec<u8>,
    },
}

/// A Change or Confirm option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureOption {
    /// Whether it confirms.
    pub confirms: bool,
    /// Whether the feature is located at the other end (R), or at the sender of the option (L).
    pub is_remote: bool,
    /// The feature.
    pub feature: Feature,
    /// Values in order of preference, or the one value of a number.
    pub value: Vec<u8>,
}

/// A feature, by its number (§6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature(pub u8);

impl Feature {
    /// The congestion control of a half-connection (§10).
    pub const CCID: Self = Self(1);
    /// Whether the sender may use short sequence numbers (§7.6.1).
    pub const ALLOW_SHORT: Self = Self(2);
    /// The width of the sequence window (§7.5.2).
    pub const SEQUENCE_WINDOW: Self = Self(3);
    /// Whether the end cannot read ECN (§12.1).
    pub const ECN_INCAPABLE: Self = Self(4);
    /// Data packets for an acknowledgment (§11.3).
    pub const ACK_RATIO: Self = Self(5);
    /// Whether acknowledgments have Ack Vectors (§11.5).
    pub const SEND_ACK_VECTOR: Self = Self(6);
    /// Whether packets have NDP Counts (§7.7.2).
    pub const SEND_NDP_COUNT: Self = Self(7);
    /// Whether acknowledgments have Loss Event Rates (RFC 4342 §8.4).
    pub const SEND_LOSS_EVENT_RATE: Self = Self(192);
}

const PADDING: u8 = 0;
const MANDATORY: u8 = 1;
/// Change L, Confirm L, Change R and Confirm R.
const CHANGE_L: u8 = 32;
const CONFIRM_R: u8 = 35;
const NDP_COUNT: u8 = 37;
const ACK_VECTOR: u8 = 38;
const ACK_VECTOR_WITH_NONCE: u8 = 39;
const ELAPSED_TIME: u8 = 43;
const LOSS_EVENT_RATE: u8 = 192;
const RECEIVE_RATE: u8 = 194;
/// Options below this type are of one byte (§5.8).
const FIRST_WITH_LENGTH: u8 = 32;

impl DccpOption {
    /// Bytes of the option.
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        match self {
            Self::Mandatory => 1,
            Self::Feature(option) => 3 + option.value.len() as u32,
            Self::NdpCount(count) => 2 + ndp_len(*count),
            Self::AckVector { vector, .. } => 2 + vector.len() as u32,
            Self::ElapsedTime(time) => 2 + if *time <= u32::from(u16::MAX) { 2 } else { 4 },
            Self::LossEventRate(_) | Self::ReceiveRate(_) => 6,
            Self::Other { kind, .. } if *kind < FIRST_WITH_LENGTH => 1,
            Self::Other { data, .. } => 2 + data.len() as u32,
        }
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Mandatory => MANDATORY,
            Self::Feature(option) => CHANGE_L + option.confirms as u8 + 2 * option.is_remote as u8,
            Self::NdpCount(_) => NDP_COUNT,
            Self::AckVector { nonce, .. } => ACK_VECTOR + *nonce as u8,
            Self::ElapsedTime(_) => ELAPSED_TIME,
            Self::LossEventRate(_) => LOSS_EVENT_RATE,
            Self::ReceiveRate(_) => RECEIVE_RATE,
            Self::Other { kind, .. } => *kind,
        }
    }

    /// Appends the option.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let kind = self.kind();
        out.push(kind);
        if kind < FIRST_WITH_LENGTH {
            return;
        }
        out.push(u8::try_from(self.wire_len()).expect("an option has at most 255 bytes"));
        match self {
            Self::Mandatory => {}
            Self::Feature(FeatureOption { feature, value, .. }) => {
                out.push(feature.0);
                out.extend_from_slice(value);
            }
            Self::NdpCount(count) => {
                out.extend_from_slice(&count.to_be_bytes()[8 - ndp_len(*count) as usize..]);
            }
            Self::AckVector { vector, .. } => out.extend_from_slice(vector),
            Self::ElapsedTime(time) => {
                let bytes = time.to_be_bytes();
                out.extend_from_slice(if *time <= u32::from(u16::MAX) { &bytes[2..] } else { &bytes });
            }
            Self::LossEventRate(value) | Self::ReceiveRate(value) => {
                out.extend_from_slice(&value.to_be_bytes())
            }
            Self::Other { data, .. } => out.extend_from_slice(data),
        }
    }

    /// An option of a type, with its data.
    fn decode(kind: u8, data: &[u8]) -> Self {
        let four =
            data.first_chunk::<4>().filter(|_| data.len() == 4).map(|bytes| u32::from_be_bytes(*bytes));
        match (kind, data, four) {
            (CHANGE_L..=CONFIRM_R, [feature, value @ ..], _) => Self::Feature(FeatureOption {
                confirms: (kind - CHANGE_L) % 2 == 1,
                is_remote: kind - CHANGE_L >= 2,
                feature: Feature(*feature),
                value: value.to_vec(),
            }),
            (NDP_COUNT, [_, ..], _) if data.len() <= 6 => {
                Self::NdpCount(data.iter().fold(0, |count, byte| count << 8 | u64::from(*byte)))
            }
            (ACK_VECTOR | ACK_VECTOR_WITH_NONCE, vector, _) => {
                Self::AckVector { nonce: kind == ACK_VECTOR_WITH_NONCE, vector: vector.to_vec() }
            }
            (ELAPSED_TIME, [high, low], _) => Self::ElapsedTime(u32::from(u16::from_be_bytes([*high, *low]))),
            (ELAPSED_TIME, _, Some(time)) => Self::ElapsedTime(time),
            (LOSS_EVENT_RATE, _, Some(rate)) => Self::LossEventRate(rate),
            (RECEIVE_RATE, _, Some(rate)) => Self::ReceiveRate(rate),
            _ => Self::Other { kind, data: data.to_vec() },
        }
    }
}

/// Bytes of an NDP Count, of which there are 1 to 6.
const fn ndp_len(count: u64) -> u32 {
    let bytes = (u64::BITS - count.leading_zeros()).div_ceil(8);
    if bytes == 0 {
        1
    } else if bytes > 6 {
        6
    } else {
        bytes
    }
}

/// The options in `bytes`, without padding, and whether they could be read to their end.
pub(super) fn decode_all(mut bytes: &[u8]) -> (Vec<DccpOption>, bool) {
    let mut options = Vec::new();
    while let [kind, rest @ ..] = bytes {
        if *kind < FIRST_WITH_LENGTH {
            match *kind {
                PADDING => {}
                MANDATORY => options.push(DccpOption::Mandatory),
                kind => options.push(DccpOption::Other { kind, data: Vec::new() }),
            }
            bytes = rest;
            continue;
        }
        let len = rest.first().copied().map_or(0, usize::from);
        let Some(data) = bytes.get(2..len) else { return (options, false) };
        options.push(DccpOption::decode(*kind, data));
        bytes = &bytes[len..];
    }
    (options, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_the_bytes_of_the_rfc() {
        // §6.5: Change L of the CCID to 2 is 32,4,1,2; Confirm R of it 35,5,1,2,2 (here with its list).
        let change = |confirms, is_remote, value: &[u8]| {
            let mut out = Vec::new();
            let option = FeatureOption { confirms, is_remote, feature: Feature::CCID, value: value.to_vec() };
            DccpOption::Feature(option).encode(&mut out);
            out
        };
        assert_eq!(change(false, false, &[2]), [32, 4, 1, 2]);
        assert_eq!(change(true, true, &[2, 2]), [35, 5, 1, 2, 2]);
        let mut out = Vec::new();
        DccpOption::NdpCount(0x1_0203).encode(&mut out);
        DccpOption::LossEventRate(u32::MAX).encode(&mut out);
        assert_eq!(out, [37, 5, 1, 2, 3, 192, 6, 255, 255, 255, 255]);
        assert_eq!(decode_all(&out).0, [DccpOption::NdpCount(0x1_0203), DccpOption::LossEventRate(u32::MAX)]);
    }

    #[test]
    fn an_option_that_reaches_past_the_end_ends_the_reading() {
        assert_eq!(decode_all(&[1, 0, 37, 9, 1]), (vec![DccpOption::Mandatory], false));
        assert_eq!(decode_all(&[0, 37]), (vec![], false));
        assert_eq!(decode_all(&[37, 1, 0]), (vec![], false));
        assert_eq!(decode_all(&[2]), (vec![DccpOption::Other { kind: 2, data: vec![] }], true));
    }
}
