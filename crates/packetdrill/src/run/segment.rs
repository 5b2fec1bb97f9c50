//! Segments of a script as the endpoint takes them, and segments of the endpoint as a script writes them.
//!
//! A script counts from each side's initial number, except in segments with SYN ([`Notation`]). Our initial number is
//! 0, and that of the peer is the script's. Clock values do not agree. The script's were recorded once by packetdrill,
//! so that the runner learns which of ours each of them represents.

use std::collections::BTreeMap;

use units::{Bytes, Duration, Seq, SeqRange};
use wire::{AccEcn, AccEcnOrder, Ecn, FastOpenCookie, Payload, Segment, Timestamps};

use crate::script::{
    AccurateEcnCounter, Action, Direction, EcnField, Event, Flags, Options, Packet, TcpOption,
};

/// The meaning of the script's clock values (`--tcp_ts_tick_usecs`).
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    /// A tick of the script's clock, if its values are to be compared.
    pub tick: Option<Duration>,
    /// The first value that went out: the script's and ours.
    first: Option<(u32, u32)>,
    /// Our value for each that the script expected.
    ours: BTreeMap<u32, u32>,
}

/// A tick of our clock (RFC 7323 §5.4).
const OUR_TICK: Duration = Duration::from_millis(1);

impl Clocks {
    /// The script expects `script` where we sent `ours`; whether that is within `tolerance`.
    pub(super) fn agree(&mut self, script: u32, ours: u32, tolerance: Duration) -> bool {
        let (first_script, first_ours) = *self.first.get_or_insert((script, ours));
        self.ours.insert(script, ours);
        let Some(tick) = self.tick else { return true };
        let expected = u64::from(script.wrapping_sub(first_script)) * tick.as_nanos();
        let got = u64::from(ours.wrapping_sub(first_ours)) * OUR_TICK.as_nanos();
        expected.abs_diff(got) <= tolerance.as_nanos()
    }

    /// Our clock value that the peer of the script echoes.
    fn echoed(&self, script: u32) -> u32 {
        match (self.ours.get(&script), self.first, self.tick) {
            (Some(ours), ..) => *ours,
            (None, Some((first_script, first_ours)), tick) => {
                let tick = tick.unwrap_or(OUR_TICK).as_nanos();
                let after = u64::from(script.wrapping_sub(first_script)) * tick / OUR_TICK.as_nanos();
                first_ours.wrapping_add(after as u32)
            }
            (None, None, _) => script,
        }
    }
}

/// How a script writes the segments of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notation {
    /// Our initial sequence number in the script, which only segments with SYN show.
    pub ours: u32,
    /// The peer's initial sequence number, once its SYN has come in.
    pub theirs: u32,
    /// Fast Open has the experimental option (RFC 7413, appendix A.1.2).
    pub experimental: bool,
}

impl Notation {
    /// Learns from a SYN that comes in.
    pub(super) fn take_syn(&mut self, packet: &Packet) {
        self.theirs = packet.start;
        if let Options::Exactly(options) = &packet.options {
            for option in options {
                if let TcpOption::FastOpen { experimental, .. } = option {
                    self.experimental = *experimental;
                }
            }
        }
    }

    /// The value that the script's number of the peer has.
    const fn their_number(self, number: u32, syn: bool) -> Seq {
        Seq(if syn { number } else { number.wrapping_add(self.theirs) })
    }

    /// The value that the script's number of ours has.
    pub(super) const fn our_number(self, number: u32, syn: bool) -> Seq {
        Seq(if syn { number.wrapping_sub(self.ours) } else { number })
    }
}

/// The segment that a script lets come in, between these ports.
pub(super) fn inbound(packet: &Packet, ports: tcp::Ports, clocks: &Clocks, notation: Notation) -> Segment {
    let syn = packet.flags.syn;
    let mut segment = Segment {
        source_port: ports.remote,
        destination_port: ports.local,
        seq: notation.their_number(packet.start, syn),
        ack: packet.ack.map_or(Seq(0), |ack| notation.our_number(ack, syn)),
        flags: wire_flags(packet.flags),
        window: packet.window.unwrap_or(0),
        ecn: wire_ecn(packet.ecn),
        payload: Payload::Pattern { offset: u64::from(packet.start), len: packet.payload },
        ..Segment::default()
    };
    if let Options::Exactly(options) = &packet.options {
        options.iter().for_each(|option| add(&mut segment, option, clocks));
    }
    segment
}

/// The segment size that a SYN announces.
pub(super) fn mss_of(packet: &Packet) -> Option<Bytes> {
    let Options::Exactly(options) = &packet.options else { return None };
    options.iter().find_map(|option| match option {
        TcpOption::Mss(size) => Some(Bytes(u64::from(*size))),
        _ => None,
    })
}

/// The bytes of a blob in hexadecimal digits.
pub(super) fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(std::str::from_utf8);
    pairs.map(|pair| u8::from_str_radix(pair.ok()?, 16).ok()).collect()
}

fn add(segment: &mut Segment, option: &TcpOption, clocks: &Clocks) {
    let options = &mut segment.options;
    match option {
        TcpOption::Mss(size) => options.mss = Some(*size),
        TcpOption::WindowScale(shift) => options.window_scale = Some(*shift),
        TcpOption::SackPermitted => options.sack_permitted = true,
        TcpOption::Sack(blocks) => {
            for (start, end) in blocks {
                options.sack.push(SeqRange { start: Seq(*start), end: Seq(*end) });
            }
        }
        TcpOption::Timestamps { value, echo } => {
            let (value, echo) = (value.unwrap_or_default(), echo.unwrap_or_default());
            let echo = if segment.flags.contains(wire::Flags::ACK) { clocks.echoed(echo) } else { echo };
            options.timestamps = Some(Timestamps { value, echo });
        }
        // The option belongs to the handshake (RFC 7413 §4.1.1).
        TcpOption::FastOpen { cookie: digits, .. } if segment.flags.contains(wire::Flags::SYN) => {
            options.fast_open = cookie(digits);
        }
        TcpOption::FastOpen { .. } => {}
        TcpOption::AccurateEcn(counters) => options.accecn = Some(accurate_ecn(counters)),
        TcpOption::Nop | TcpOption::Eol | TcpOption::Other(_) => {}
    }
}

/// The option of Accurate ECN; the first counter gives the order of all.
fn accurate_ecn(counters: &[(AccurateEcnCounter, u32)]) -> AccEcn {
    let bytes_of =
        |wanted| counters.iter().find(|(counter, _)| *counter == wanted).map_or(0, |found| found.1);
    let order = match counters.first() {
        Some((AccurateEcnCounter::Ect1, _)) => AccEcnOrder::Ect1First,
        _ => AccEcnOrder::Ect0First,
    };
    let [ect0, ce, ect1] =
        [AccurateEcnCounter::Ect0, AccurateEcnCounter::Ce, AccurateEcnCounter::Ect1].map(bytes_of);
    AccEcn::new(order, ect0, ce, ect1, counters.len().min(3) as u8)
}

/// The counters of an option of Accurate ECN, in their order.
fn accurate_ecn_counters(option: &AccEcn) -> Vec<(AccurateEcnCounter, u32)> {
    use AccurateEcnCounter::{Ce, Ect0, Ect1};
    let counters = match option.order() {
        AccEcnOrder::Ect0First => [(Ect0, option.ect0()), (Ce, option.ce()), (Ect1, option.ect1())],
        AccEcnOrder::Ect1First => [(Ect1, option.ect1()), (Ce, option.ce()), (Ect0, option.ect0())],
    };
    counters.iter().map_while(|(counter, bytes)| bytes.map(|bytes| (*counter, bytes))).collect()
}

/// A Fast Open cookie of the script; `None` if it has a length that no cookie has.
pub(super) fn cookie(digits: &str) -> Option<FastOpenCookie> {
    FastOpenCookie::new(&bytes_of(digits)?)
}

/// The cookie that the script expects from the server: that of a SYN-ACK, otherwise the first in a SYN. A kernel's
/// depends on addresses and on a key.
pub(super) fn server_cookie(events: &[Event]) -> Option<FastOpenCookie> {
    let cookies = |direction: Direction| {
        let packets = events.iter().filter_map(move |event| match &event.action {
            Action::Packet(packet) if packet.direction == direction && packet.flags.syn => Some(packet),
            _ => None,
        });
        let of_packet = |packet: &Packet| match &packet.options {
            Options::Exactly(options) => options.iter().find_map(|option| match option {
                TcpOption::FastOpen { cookie: digits, .. } => {
                    cookie(digits).filter(|cookie| !cookie.is_request())
                }
                _ => None,
            }),
            Options::Any => None,
        };
        packets.filter_map(of_packet).next()
    };
    cookies(Direction::Outbound).or_else(|| cookies(Direction::Inbound))
}

fn wire_flags(flags: Flags) -> wire::Flags {
    use wire::Flags as F;
    let Flags { fin, syn, rst, psh, ack, urg, ece, cwr, ae } = flags;
    let pairs = [
        (fin, F::FIN),
        (syn, F::SYN),
        (rst, F::RST),
        (psh, F::PSH),
        (ack, F::ACK),
        (urg, F::URG),
        (ece, F::ECE),
        (cwr, F::CWR),
        (ae, F::AE),
    ];
    pairs.iter().filter(|(set, _)| *set).fold(F::empty(), |all, (_, flag)| all.with(*flag))
}

const fn wire_ecn(ecn: Option<EcnField>) -> Ecn {
    match ecn {
        None | Some(EcnField::NotCapable) => Ecn::NotCapable,
        Some(EcnField::Ect0 | EcnField::Ect01) => Ecn::Capable,
        Some(EcnField::Ect1) => Ecn::Capable1,
        Some(EcnField::CongestionExperienced) => Ecn::Experienced,
    }
}

/// A segment that went out, as a script writes it.
pub(super) fn outbound(segment: &Segment, notation: Notation) -> Packet {
    let has = |flag| segment.flags.contains(flag);
    let syn = has(wire::Flags::SYN);
    let start = segment.seq + if syn { notation.ours } else { 0 };
    let theirs = if syn { 0 } else { notation.theirs };
    Packet {
        direction: Direction::Outbound,
        ecn: Some(match segment.ecn {
            Ecn::NotCapable => EcnField::NotCapable,
            Ecn::Capable => EcnField::Ect0,
            Ecn::Capable1 => EcnField::Ect1,
            Ecn::Experienced => EcnField::CongestionExperienced,
        }),
        flags: Flags {
            fin: has(wire::Flags::FIN),
            syn: has(wire::Flags::SYN),
            rst: has(wire::Flags::RST),
            psh: has(wire::Flags::PSH),
            ack: has(wire::Flags::ACK),
            urg: has(wire::Flags::URG),
            ece: has(wire::Flags::ECE),
            cwr: has(wire::Flags::CWR),
            ae: has(wire::Flags::AE),
        },
        start: start.0,
        // packetdrill counts payload alone: a FIN is at 1:1(0).
        end: (start + segment.payload.len()).0,
        payload: segment.payload.len(),
        ack: has(wire::Flags::ACK).then_some(segment.ack.0.wrapping_sub(theirs)),
        window: Some(segment.window),
        urgent: None,
        options: Options::Exactly(options_of(segment, theirs, notation.experimental)),
    }
}

/// The options in the order of their bytes in the header; SACK blocks count from `theirs`.
fn options_of(segment: &Segment, theirs: u32, experimental: bool) -> Vec<TcpOption> {
    let bytes = wire::tcp::option_bytes(&segment.options);
    let mut rest = bytes.as_slice();
    let mut options = Vec::new();
    while let [kind, after @ ..] = rest {
        match kind {
            0 => {
                options.push(TcpOption::Eol);
                break;
            }
            1 => {
                options.push(TcpOption::Nop);
                rest = after;
            }
            _ => {
                let len = usize::from(*after.first().unwrap_or(&2)).clamp(2, rest.len());
                options.push(option_of(*kind, &segment.options, &rest[2..len], theirs));
                rest = &rest[len..];
            }
        }
    }
    if experimental { with_experimental_option(options) } else { options }
}

/// The options with Fast Open in the form of experiments: the runner's hosts have the option of RFC 7413 only, which is
/// two bytes shorter. NOPs after it fill up the last word.
fn with_experimental_option(mut options: Vec<TcpOption>) -> Vec<TcpOption> {
    let found = options.iter().position(|option| matches!(option, TcpOption::FastOpen { .. }));
    let Some(TcpOption::FastOpen { cookie, experimental }) = found.map(|index| &mut options[index]) else {
        return options;
    };
    *experimental = true;
    let padding = if (cookie.len() / 2).is_multiple_of(4) { 0 } else { 2 };
    let after = found.unwrap_or(0) + 1;
    let nops = options[after..].iter().take_while(|option| **option == TcpOption::Nop).count();
    options.splice(after..after + nops, vec![TcpOption::Nop; padding]);
    options
}

fn option_of(kind: u8, options: &wire::Options, value: &[u8], theirs: u32) -> TcpOption {
    let relative = |number: Seq| number.0.wrapping_sub(theirs);
    let blocks =
        || options.sack.as_slice().iter().map(|block| (relative(block.start), relative(block.end))).collect();
    match (kind, options.timestamps) {
        (2, _) => TcpOption::Mss(options.mss.unwrap_or(0)),
        (3, _) => TcpOption::WindowScale(options.window_scale.unwrap_or(0)),
        (4, _) => TcpOption::SackPermitted,
        (5, _) => TcpOption::Sack(blocks()),
        (8, Some(clock)) => TcpOption::Timestamps { value: Some(clock.value), echo: Some(clock.echo) },
        (172 | 174, _) => {
            TcpOption::AccurateEcn(options.accecn.as_ref().map_or(Vec::new(), accurate_ecn_counters))
        }
        (34, _) => TcpOption::FastOpen {
            cookie: options.fast_open.unwrap_or_default().to_string(),
            experimental: false,
        },
        _ => TcpOption::Other(
            value.iter().fold(format!("option {kind}"), |text, byte| format!("{text} {byte:02x}")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_value_of_the_script_stands_for_the_one_that_was_sent() {
        let mut clocks = Clocks::default();
        assert!(clocks.agree(100, 5_000, Duration::ZERO));
        assert!(clocks.agree(150, 9_000, Duration::ZERO), "without a tick any value will do");
        assert_eq!([clocks.echoed(100), clocks.echoed(150), clocks.echoed(120)], [5_000, 9_000, 5_020]);
    }

    #[test]
    fn with_a_tick_clock_values_are_compared() {
        let mut clocks = Clocks { tick: Some(Duration::from_millis(1)), ..Clocks::default() };
        let tolerance = Duration::from_millis(4);
        assert!(clocks.agree(100, 5_000, tolerance));
        assert!(clocks.agree(1_200, 6_103, tolerance));
        assert!(!clocks.agree(1_200, 6_105, tolerance));
    }
}
