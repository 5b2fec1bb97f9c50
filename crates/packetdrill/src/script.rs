//! A packetdrill script as a value.

use units::Duration;

/// A script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Options at its head: `--tolerance_usecs=7000`.
    pub options: Vec<ScriptOption>,
    /// Shell commands that run before the first event.
    pub init: Option<Command>,
    /// The events, in order.
    pub events: Vec<Event>,
    /// Shell commands that run after the last event.
    pub cleanup: Option<Command>,
}

/// An option at the head of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Line in the file, from 1.
    pub line: u32,
    /// Its name without the dashes.
    pub name: String,
    /// Its value, as written.
    pub value: String,
}

/// Shell commands between back quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Line in the file, from 1.
    pub line: u32,
    /// The text between the quotes.
    pub text: String,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Line in the file, from 1.
    pub line: u32,
    /// Time of the event.
    pub time: EventTime,
    /// The action.
    pub action: Action,
}

/// Time at which an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// Time since the start of the script.
    Absolute(Duration),
    /// Time since the event before.
    Relative(Duration),
    /// At any time.
    Any,
    /// Between two times after the start of the script.
    AbsoluteRange(Duration, Duration),
    /// Between two times after the event before.
    RelativeRange(Duration, Duration),
}

/// An action of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A segment comes in, or is expected to go out.
    Packet(Packet),
    /// An ICMP message comes in.
    Icmp(IcmpMessage),
    /// The program makes a system call.
    Call(Call),
    /// Shell commands run.
    Command(String),
    /// Python code runs over the state of the connection.
    Code(String),
}

/// Direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `<`: it comes in.
    Inbound,
    /// `>`: it is expected to go out.
    Outbound,
}

/// A TCP segment; sequence numbers are relative to each side's initial one, as packetdrill counts them.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Direction of the segment.
    pub direction: Direction,
    /// The expectation on the ECN field.
    pub ecn: Option<EcnField>,
    /// Its flags.
    pub flags: Flags,
    /// First sequence number.
    pub start: u32,
    /// First sequence number after the last byte.
    pub end: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// Acknowledgment number.
    pub ack: Option<u32>,
    /// Window field, unscaled.
    pub window: Option<u16>,
    /// Urgent pointer (RFC 9293 §3.8.5), as the number of bytes up to the last urgent one.
    pub urgent: Option<u16>,
    /// Options; `<...>` means any.
    pub options: Options,
}

/// An ICMP message on a segment that the host has sent (RFC 792, RFC 4443).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcmpMessage {
    /// Its meaning.
    pub kind: IcmpKind,
    /// First sequence number of the quoted segment; that of the oldest unacknowledged one where none is written.
    pub quoted: Option<u32>,
}

/// The meaning of an ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpKind {
    /// The packet is longer than the next link carries, which is this many bytes.
    TooBig(u16),
    /// The destination cannot be reached; the error that a program sees.
    Unreachable(&'static str),
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// Not ECN-capable.
    NotCapable,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// ECT(0) or ECT(1).
    Ect01,
    /// Congestion experienced.
    CongestionExperienced,
}

/// TCP flags as a set, by the letters of packetdrill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `F`
    pub fin: bool,
    /// `S`
    pub syn: bool,
    /// `R`
    pub rst: bool,
    /// `P`
    pub psh: bool,
    /// `.`
    pub ack: bool,
    /// `U`
    pub urg: bool,
    /// `E`: ECN echo.
    pub ece: bool,
    /// `W`: congestion window reduced.
    pub cwr: bool,
    /// `A`: the flag that AccECN calls AE.
    pub ae: bool,
}

impl Flags {
    /// Sets the three flags of the ACE field to a number (draft-ietf-tcpm-accurate-ecn §2.2), which scripts write as a
    /// digit: `P5.`.
    pub const fn set_ace(&mut self, number: u8) {
        self.ae = number & 4 != 0;
        self.cwr = number & 2 != 0;
        self.ece = number & 1 != 0;
    }
}

/// The options of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Options {
    /// These, in this order; none where nothing is written.
    Exactly(Vec<TcpOption>),
    /// `<...>`: any.
    Any,
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Padding.
    Nop,
    /// End of the list.
    Eol,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks, each from its first sequence number to the first after it.
    Sack(Vec<(u32, u32)>),
    /// Timestamps: the sender's clock, and the echo.
    Timestamps {
        /// The sender's clock; `None` where any will do (`...`).
        value: Option<u32>,
        /// The echo, likewise.
        echo: Option<u32>,
    },
    /// Fast Open, with a cookie in hexadecimal digits.
    FastOpen {
        /// The cookie; empty where one is asked for.
        cookie: String,
        /// `FOEXP`: the experimental option of kind 254 (RFC 7413, appendix A.1.2).
        experimental: bool,
    },
    /// Counters of Accurate ECN (RFC 9768 §3.2.3), in their order.
    AccurateEcn(Vec<(AccurateEcnCounter, u32)>),
    /// Any other, by its name.
    Other(String),
}

/// A counter of the option of Accurate ECN: payload bytes by the ECN field with which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccurateEcnCounter {
    /// `e0b`: ECT(0).
    Ect0,
    /// `ceb`: congestion experienced.
    Ce,
    /// `e1b`: ECT(1).
    Ect1,
}

impl AccurateEcnCounter {
    /// All, by the names that scripts give them.
    pub(crate) const NAMES: [(&'static str, Self); 3] =
        [("e0b", Self::Ect0), ("ceb", Self::Ce), ("e1b", Self::Ect1)];
}

/// A system call and its expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// For a blocking call: when it ends, relative to its start.
    pub until: Option<EventTime>,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// The value that it returns.
    pub result: Expression,
    /// The error that it is expected to give: `EINPROGRESS`.
    pub errno: Option<String>,
}

/// A value in a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `...`: whatever it is.
    Any,
    /// An integer.
    Integer(i64),
    /// A constant by its name.
    Name(String),
    /// A string.
    Text(String),
    /// Two values joined by `|`.
    Or(Box<Expression>, Box<Expression>),
    /// A name and its value: `msg_flags=0`.
    Field(String, Box<Expression>),
    /// Values between square brackets.
    List(Vec<Expression>),
    /// Values between braces.
    Record(Vec<Expression>),
}

impl Expression {
    /// The integer, if it is one.
    #[must_use]
    pub const fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The names that are joined by `|`, if it is a name or several.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Name(name) => vec![name],
            Self::Or(left, right) => [left.names(), right.names()].concat(),
            _ => Vec::new(),
        }
    }

    /// The value of a field of this name, in a record or a list of fields.
    #[must_use]
    pub fn field(&self, wanted: &str) -> Option<&Self> {
        match self {
            Self::Record(values) => values.iter().find_map(|value| value.field(wanted)),
            Self::Field(name, value) if name == wanted => Some(value),
            _ => None,
        }
    }
}
