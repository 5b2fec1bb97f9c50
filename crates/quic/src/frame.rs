//! Frames (RFC 9000 §19; RFC 9221 for DATAGRAM).

use std::ops::RangeInclusive;

use crate::bytes::Bytes;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// PADDING, as many of it as follow each other.
    Padding(u64),
    /// PING.
    Ping,
    /// ACK.
    Ack(Ack),
    /// RESET_STREAM.
    ResetStream {
        /// Its stream.
        stream: u64,
        /// The code of the application.
        code: u64,
        /// Bytes of the stream.
        final_size: u64,
    },
    /// STOP_SENDING.
    StopSending {
        /// Its stream.
        stream: u64,
        /// The code of the application.
        code: u64,
    },
    /// CRYPTO.
    Crypto {
        /// Position of its first byte.
        offset: u64,
        /// Its bytes.
        data: &'a [u8],
    },
    /// NEW_TOKEN, by the length of the token.
    NewToken(usize),
    /// STREAM.
    Stream {
        /// Its stream.
        stream: u64,
        /// Position of its first byte.
        offset: u64,
        /// Number of its bytes.
        len: u64,
        /// Whether the stream ends with it.
        fin: bool,
    },
    /// MAX_DATA.
    MaxData(u64),
    /// MAX_STREAM_DATA: stream and limit.
    MaxStreamData(u64, u64),
    /// MAX_STREAMS of both kinds of streams.
    MaxStreams(u64),
    /// DATA_BLOCKED.
    DataBlocked(u64),
    /// STREAM_DATA_BLOCKED: stream and limit.
    StreamDataBlocked(u64, u64),
    /// STREAMS_BLOCKED of both kinds of streams.
    StreamsBlocked(u64),
    /// NEW_CONNECTION_ID.
    NewConnectionId {
        /// Its sequence number.
        sequence: u64,
        /// The ID.
        id: &'a [u8],
    },
    /// RETIRE_CONNECTION_ID.
    RetireConnectionId(u64),
    /// PATH_CHALLENGE.
    PathChallenge,
    /// PATH_RESPONSE.
    PathResponse,
    /// CONNECTION_CLOSE.
    ConnectionClose {
        /// Whether the application, and not QUIC, closes.
        by_application: bool,
        /// The code.
        code: u64,
        /// The reason in words.
        reason: &'a [u8],
    },
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// DATAGRAM, by the number of its bytes.
    Datagram(u64),
    /// IMMEDIATE_ACK (draft-ietf-quic-ack-frequency).
    ImmediateAck,
    /// ACK_FREQUENCY (draft-ietf-quic-ack-frequency).
    AckFrequency,
}

/// An ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// As it stands in the frame: in the unit of the end that sent it.
    pub delay: u64,
    /// The acknowledged numbers, the largest first. There is at least one range.
    pub ranges: Vec<RangeInclusive<u64>>,
    /// Number of packets that arrived with ECT(0), ECT(1) and CE.
    pub ecn: Option<[u64; 3]>,
}

/// The frames of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames<'a> {
    /// The frames that could be read.
    pub read: Vec<Frame<'a>>,
    /// The type of the frame that could not be read, which ends the reading.
    pub unknown: Option<u64>,
}

impl Ack {
    /// The largest acknowledged number.
    #[must_use]
    pub fn largest(&self) -> u64 {
        *self.ranges[0].end()
    }

    fn read(rest: &mut Bytes<'_>, with_ecn: bool) -> Option<Self> {
        let (mut largest, delay) = (rest.variable()?, rest.variable()?);
        let further = rest.variable()?;
        let mut smallest = largest.checked_sub(rest.variable()?)?;
        let mut ranges = vec![smallest..=largest];
        for _ in 0..further {
            // RFC 9000 §19.3.1: a gap of 0 is one packet.
            largest = smallest.checked_sub(rest.variable()?.checked_add(2)?)?;
            smallest = largest.checked_sub(rest.variable()?)?;
            ranges.push(smallest..=largest);
        }
        let ecn = if with_ecn { Some([rest.variable()?, rest.variable()?, rest.variable()?]) } else { None };
        Some(Self { delay, ranges, ecn })
    }
}

impl<'a> Frames<'a> {
    /// Reads a payload.
    #[must_use]
    pub fn of(payload: &'a [u8]) -> Self {
        let mut rest = Bytes(payload);
        let mut read = Vec::new();
        while !rest.is_empty() {
            let kind = Bytes(rest.0).variable();
            let Some(frame) = Frame::read(&mut rest) else {
                return Self { read, unknown: Some(kind.unwrap_or_default()) };
            };
            read.push(frame);
        }
        Self { read, unknown: None }
    }
}

impl<'a> Frame<'a> {
    /// Its name in tables: that of RFC 9000 in small letters.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Padding(_) => "padding",
            Self::Ping => "ping",
            Self::Ack(_) => "ack",
            Self::ResetStream { .. } => "reset_stream",
            Self::StopSending { .. } => "stop_sending",
            Self::Crypto { .. } => "crypto",
            Self::NewToken(_) => "new_token",
            Self::Stream { .. } => "stream",
            Self::MaxData(_) => "max_data",
            Self::MaxStreamData(..) => "max_stream_data",
            Self::MaxStreams(_) => "max_streams",
            Self::DataBlocked(_) => "data_blocked",
            Self::StreamDataBlocked(..) => "stream_data_blocked",
            Self::StreamsBlocked(_) => "streams_blocked",
            Self::NewConnectionId { .. } => "new_connection_id",
            Self::RetireConnectionId(_) => "retire_connection_id",
            Self::PathChallenge => "path_challenge",
            Self::PathResponse => "path_response",
            Self::ConnectionClose { .. } => "connection_close",
            Self::HandshakeDone => "handshake_done",
            Self::Datagram(_) => "datagram",
            Self::ImmediateAck => "immediate_ack",
            Self::AckFrequency => "ack_frequency",
        }
    }

    /// Whether it elicits an acknowledgment (RFC 9002 §2).
    #[must_use]
    pub const fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Self::Padding(_) | Self::Ack(_) | Self::ConnectionClose { .. })
    }

    fn read(rest: &mut Bytes<'a>) -> Option<Self> {
        let kind = rest.variable()?;
        Some(match kind {
            0x00 => Self::padding(rest),
            0x01 => Self::Ping,
            0x02 | 0x03 => Self::Ack(Ack::read(rest, kind == 0x03)?),
            0x04 => {
                let (stream, code) = (rest.variable()?, rest.variable()?);
                Self::ResetStream { stream, code, final_size: rest.variable()? }
            }
            0x05 => Self::StopSending { stream: rest.variable()?, code: rest.variable()? },
            0x06 => Self::Crypto { offset: rest.variable()?, data: rest.counted()? },
            0x07 => Self::NewToken(rest.counted()?.len()),
            0x08..=0x0f => Self::stream(kind, rest)?,
            0x10 => Self::MaxData(rest.variable()?),
            0x11 => Self::MaxStreamData(rest.variable()?, rest.variable()?),
            0x12 | 0x13 => Self::MaxStreams(rest.variable()?),
            0x14 => Self::DataBlocked(rest.variable()?),
            0x15 => Self::StreamDataBlocked(rest.variable()?, rest.variable()?),
            0x16 | 0x17 => Self::StreamsBlocked(rest.variable()?),
            0x18 => Self::new_connection_id(rest)?,
            0x19 => Self::RetireConnectionId(rest.variable()?),
            0x1a => rest.take(8).map(|_| Self::PathChallenge)?,
            0x1b => rest.take(8).map(|_| Self::PathResponse)?,
            0x1c | 0x1d => Self::connection_close(kind == 0x1d, rest)?,
            0x1e => Self::HandshakeDone,
            0x1f => Self::ImmediateAck,
            0x30 => Self::Datagram(rest.rest().len() as u64),
            0x31 => Self::Datagram(rest.counted()?.len() as u64),
            0xaf => {
                (0..4).try_for_each(|_| rest.variable().map(drop))?;
                Self::AckFrequency
            }
            _ => return None,
        })
    }

    /// The padding whose first byte has been read.
    fn padding(rest: &mut Bytes<'a>) -> Self {
        let more = rest.0.iter().take_while(|byte| **byte == 0).count();
        rest.0 = &rest.0[more..];
        Self::Padding(1 + more as u64)
    }

    fn stream(kind: u64, rest: &mut Bytes<'a>) -> Option<Self> {
        let stream = rest.variable()?;
        let offset = if kind & 4 != 0 { rest.variable()? } else { 0 };
        let data = if kind & 2 != 0 { rest.counted()? } else { rest.rest() };
        let len = data.len() as u64;
        Some(Self::Stream { stream, offset, len, fin: kind & 1 != 0 })
    }

    fn new_connection_id(rest: &mut Bytes<'a>) -> Option<Self> {
        let sequence = rest.variable()?;
        rest.variable()?;
        let id = rest.vector(1)?.0;
        rest.take(16)?;
        Some(Self::NewConnectionId { sequence, id })
    }

    fn connection_close(by_application: bool, rest: &mut Bytes<'a>) -> Option<Self> {
        let code = rest.variable()?;
        if !by_application {
            rest.variable()?;
        }
        Some(Self::ConnectionClose { by_application, code, reason: rest.counted()? })
    }
}

/// The acknowledged ranges as tables have them, the largest first: "9-12 3".
#[must_use]
pub fn ranges_text(ranges: &[RangeInclusive<u64>]) -> String {
    let one = |range: &RangeInclusive<u64>| match (range.start(), range.end()) {
        (start, end) if start == end => start.to_string(),
        (start, end) => format!("{start}-{end}"),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ack_ranges_are_those_of_the_gaps() {
        let frames = Frames::of(&[3, 12, 5, 1, 3, 4, 2, 7, 0, 1]);
        let ack = Ack { delay: 5, ranges: vec![9..=12, 1..=3], ecn: Some([7, 0, 1]) };
        assert_eq!(frames, Frames { read: vec![Frame::Ack(ack.clone())], unknown: None });
        assert_eq!(ranges_text(&ack.ranges), "9-12 1-3");
    }

    #[test]
    fn a_range_below_zero_is_no_frame() {
        assert_eq!(Frames::of(&[1, 2, 3, 0, 0, 4]).unknown, Some(2));
        assert_eq!(Frames::of(&[2, 3, 0, 1, 0, 2, 0]).read, []);
    }

    #[test]
    fn frames_follow_each_other_and_padding_is_one() {
        let payload =
            [&[0, 0, 6, 4, 2, 8, 9, 0x1e, 0x0b, 4, 1, 5][..], &[0x1d, 7, 2, b'o', b'k', 0x0f, 4, 1, 0]]
                .concat();
        let expected = vec![
            Frame::Padding(2),
            Frame::Crypto { offset: 4, data: &[8, 9] },
            Frame::HandshakeDone,
            Frame::Stream { stream: 4, offset: 0, len: 1, fin: true },
            Frame::ConnectionClose { by_application: true, code: 7, reason: b"ok" },
            Frame::Stream { stream: 4, offset: 1, len: 0, fin: true },
        ];
        assert_eq!(Frames::of(&payload), Frames { read: expected, unknown: None });
    }

    #[test]
    fn an_unknown_frame_ends_the_reading() {
        let frames = Frames::of(&[1, 0x40, 0x66, 1]);
        assert_eq!(frames, Frames { read: vec![Frame::Ping], unknown: Some(0x66) });
    }
}
