//! Compares sent segments with the expected ones.
//!
//! Linux hands large segments to its device, and scripts expect those. Segments that have left one after the other at
//! one time are therefore joined, as far as the expected one goes, as packetdrill joins packets.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::Segment;

use super::ids::ConnectionId;
use super::segment::{Clocks, Notation, outbound};
use crate::script::{EcnField, Flags, Options, Packet, TcpOption};

/// A segment that went out.
#[derive(Clone, Debug)]
pub(super) struct SentSegment {
    /// When.
    pub at: Instant,
    /// The connection that sent it.
    pub connection: ConnectionId,
    /// Number of the event that caused it: equal for all segments of one event.
    pub send: u64,
    /// The segment.
    pub segment: Segment,
}

/// Removes the next segment alone. Whether a segment carries PSH that does not end the data of its event depends on
/// where Linux divides them, and is not modelled: either is right.
pub(super) fn take_one(
    outgoing: &mut VecDeque<SentSegment>,
    expected: &Packet,
    notation: Notation,
) -> Option<(Instant, Packet)> {
    let first = outgoing.pop_front()?;
    let mut packet = outbound(&first.segment, notation);
    let continues = outgoing.front().is_some_and(|next| next.send == first.send);
    packet.flags.psh |= expected.flags.psh && continues;
    Some((first.at, packet))
}

/// Removes the next segment, joined with the following ones of the same time, as far as the expected one goes.
pub(super) fn take(
    outgoing: &mut VecDeque<SentSegment>,
    expected: &Packet,
    notation: Notation,
) -> Option<(Instant, Packet)> {
    let first = outgoing.pop_front()?;
    let mut joined = outbound(&first.segment, notation);
    let length = joined.payload;
    while let Some(next) = outgoing.front().filter(|next| next.at == first.at) {
        let packet = outbound(&next.segment, notation);
        // All but the last have the same length.
        let whole = joined.payload.is_multiple_of(length.max(1)) && length > 0 && packet.payload <= length;
        if !whole || !continues(&joined, &packet) || joined.payload + packet.payload > expected.payload {
            break;
        }
        joined.end = packet.end;
        joined.payload += packet.payload;
        // Linux pushes each segment that it leaves to the device to cut (tcp_output.c, __tcp_transmit_skb). Into how
        // many it divides a send is not modelled, so that either is right for one that does not end the data.
        let psh = packet.flags.psh || expected.flags.psh;
        joined.flags = Flags { psh, fin: packet.flags.fin, ..joined.flags };
        outgoing.pop_front();
    }
    Some((first.at, joined))
}

/// Whether `next` follows `first` and has its headers.
fn continues(first: &Packet, next: &Packet) -> bool {
    let headers = |packet: &Packet| {
        let flags = Flags { psh: false, fin: false, ..packet.flags };
        (flags, packet.ack, packet.window, packet.options.clone(), packet.ecn)
    };
    next.payload > 0 && next.start == first.end && headers(first) == headers(next)
}

/// The first difference between `came` and `expected`; none if they agree.
pub(super) fn difference(
    expected: &Packet,
    came: &Packet,
    clocks: &mut Clocks,
    tolerance: Duration,
) -> Option<&'static str> {
    let mut options = || match (&expected.options, &came.options) {
        (Options::Any, _) | (_, Options::Any) => true,
        (Options::Exactly(script), Options::Exactly(ours)) => options_agree(script, ours, clocks, tolerance),
    };
    let ecn_agrees = match expected.ecn {
        None => true,
        Some(EcnField::Ect01) => matches!(came.ecn, Some(EcnField::Ect0 | EcnField::Ect1)),
        expected => came.ecn == expected,
    };
    if expected.flags != came.flags {
        Some("flags")
    } else if (expected.start, expected.end, expected.payload) != (came.start, came.end, came.payload) {
        Some("sequence numbers")
    } else if expected.ack.is_some_and(|ack| Some(ack) != came.ack) {
        Some("acknowledgment number")
    } else if expected.window.is_some_and(|window| Some(window) != came.window) {
        Some("window")
    } else if !ecn_agrees {
        Some("ECN field")
    } else if !options() {
        Some("options")
    } else {
        None
    }
}

fn options_agree(script: &[TcpOption], ours: &[TcpOption], clocks: &mut Clocks, tolerance: Duration) -> bool {
    script.len() == ours.len()
        && script.iter().zip(ours).all(|pair| match pair {
            (
                TcpOption::Timestamps { value, echo },
                TcpOption::Timestamps { value: our_value, echo: our_echo },
            ) => {
                let clock_agrees = match (value, our_value) {
                    (Some(value), Some(ours)) => clocks.agree(*value, *ours, tolerance),
                    _ => true,
                };
                clock_agrees && (echo.is_none() || echo == our_echo)
            }
            (script, ours) => script == ours,
        })
}

#[cfg(test)]
mod tests {
    use units::Seq;
    use wire::Payload;

    use super::*;

    fn sent(send: u64, seq: u32, len: u32) -> SentSegment {
        let payload = Payload::Pattern { offset: 0, len };
        let segment = Segment { seq: Seq(seq), flags: wire::Flags::ACK, payload, ..Segment::default() };
        SentSegment { at: Instant::START, connection: ConnectionId(0), send, segment }
    }

    fn joined(segments: &[SentSegment], payload: u32) -> Vec<(u32, u32, bool)> {
        let mut queue: VecDeque<SentSegment> = segments.iter().cloned().collect();
        let mut expected = outbound(&Segment::default(), Notation::default());
        (expected.payload, expected.flags.psh) = (payload, true);
        std::iter::from_fn(|| take(&mut queue, &expected, Notation::default()))
            .map(|(_, packet)| (packet.start, packet.payload, packet.flags.psh))
            .collect()
    }

    #[test]
    fn segments_of_one_send_are_joined_as_far_as_the_script_expects() {
        let three = [sent(1, 1, 1000), sent(1, 1001, 1000), sent(1, 2001, 400)];
        assert_eq!(joined(&three, 2400), [(1, 2400, true)]);
        assert_eq!(joined(&three, 2000), [(1, 2000, true), (2001, 400, false)]);
        assert_eq!(joined(&three, 1000), [(1, 1000, false), (1001, 1000, false), (2001, 400, false)]);
    }

    #[test]
    fn segments_of_two_times_and_those_behind_a_short_one_stay_alone() {
        let later = SentSegment { at: Instant::START + Duration::from_millis(1), ..sent(2, 1001, 1000) };
        assert_eq!(joined(&[sent(1, 1, 1000), sent(2, 1001, 1000)], 2000), [(1, 2000, true)]);
        assert_eq!(joined(&[sent(1, 1, 1000), later], 2000).len(), 2);
        assert_eq!(joined(&[sent(1, 1, 400), sent(1, 401, 1000)], 1400).len(), 2);
        assert_eq!(joined(&[sent(1, 1, 1000), sent(1, 2001, 1000)], 2000).len(), 2);
    }
}
