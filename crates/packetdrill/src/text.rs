//! Events as packetdrill writes them, for messages and timelines.

use std::fmt;

use units::Duration;

use crate::script::{
    AccurateEcnCounter, Call, Direction, EcnField, EventTime, Expression, Flags, IcmpKind, IcmpMessage,
    Options, Packet, TcpOption,
};

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.direction == Direction::Inbound { "< " } else { "> " })?;
        if let Some(ecn) = self.ecn {
            write!(f, "[{}] ", ecn.word())?;
        }
        write!(f, "{} {}:{}({})", self.flags, self.start, self.end, self.payload)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            Options::Any => f.write_str(" <...>"),
            Options::Exactly(options) if options.is_empty() => Ok(()),
            Options::Exactly(options) => {
                let texts: Vec<String> = options.iter().map(ToString::to_string).collect();
                write!(f, " <{}>", texts.join(","))
            }
        }
    }
}

impl fmt::Display for IcmpMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            IcmpKind::TooBig(mtu) => write!(f, "< icmp unreachable frag_needed mtu {mtu}"),
            IcmpKind::Unreachable(error) => write!(f, "< icmp unreachable ({error})"),
        }
    }
}

impl EcnField {
    const fn word(self) -> &'static str {
        match self {
            Self::NotCapable => "noecn",
            Self::Ect0 => "ect0",
            Self::Ect1 => "ect1",
            Self::Ect01 => "ect01",
            Self::CongestionExperienced => "ce",
        }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.fin, "F"),
            (self.syn, "S"),
            (self.rst, "R"),
            (self.psh, "P"),
            (self.urg, "U"),
            (self.ece, "E"),
            (self.cwr, "W"),
            (self.ae, "A"),
            (self.ack, "."),
        ];
        if letters.iter().all(|(set, _)| !set) {
            return f.write_str("-");
        }
        letters.iter().filter(|(set, _)| *set).try_for_each(|(_, letter)| f.write_str(letter))
    }
}

impl AccurateEcnCounter {
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, counter)| *counter == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nop => f.write_str("nop"),
            Self::Eol => f.write_str("eol"),
            Self::Mss(size) => write!(f, "mss {size}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            Self::Timestamps { value, echo } => {
                let text =
                    |number: &Option<u32>| number.map_or("...".to_owned(), |number| number.to_string());
                write!(f, "TS val {} ecr {}", text(value), text(echo))
            }
            Self::FastOpen { cookie, experimental } => {
                let name = if *experimental { "FOEXP" } else { "FO" };
                if cookie.is_empty() { f.write_str(name) } else { write!(f, "{name} {cookie}") }
            }
            Self::AccurateEcn(counters) => {
                f.write_str("ECN")?;
                counters.iter().try_for_each(|(counter, bytes)| write!(f, " {} {bytes}", counter.name()))
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
        write!(f, "{}({}) = {}", self.name, arguments.join(", "), self.result)?;
        self.errno.as_ref().map_or(Ok(()), |errno| write!(f, " {errno}"))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |values: &[Self]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Any => f.write_str("..."),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Name(name) => f.write_str(name),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Or(left, right) => write!(f, "{left}|{right}"),
            Self::Field(name, value) => write!(f, "{name}={value}"),
            Self::List(values) => write!(f, "[{}]", joined(values)),
            Self::Record(values) => write!(f, "{{{}}}", joined(values)),
        }
    }
}

impl fmt::Display for EventTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute(at) => f.write_str(&seconds(*at)),
            Self::Relative(after) => write!(f, "+{}", seconds(*after)),
            Self::Any => f.write_str("*"),
            Self::AbsoluteRange(from, to) => write!(f, "{}~{}", seconds(*from), seconds(*to)),
            Self::RelativeRange(from, to) => write!(f, "+{}~+{}", seconds(*from), seconds(*to)),
        }
    }
}

/// Seconds to the microsecond.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.6}", time.as_secs_f64())
}
