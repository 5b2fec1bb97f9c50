//! TCP Fast Open (RFC 7413): data with the SYN, for a client that has proved its address in an earlier connection.
//!
//! The proof is a cookie that the server gives to whoever asks for one. An endpoint knows no addresses: whoever opens
//! connections keeps the cookies of a host, gives each client its cookie ([`Endpoint::use_fast_open_cookie`]) and tells each
//! server which one its peer must show ([`Endpoint::expect_fast_open_cookie`]).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use units::text::REMEDY;
use units::{Bytes, Instant, Seq, SeqRange};
use wire::{FastOpenCookie, Flags, Options, Segment};

use crate::endpoint::Endpoint;
use crate::scoreboard::New;
use crate::state::State;
use crate::{Cause, Decision};

/// Which part of Fast Open an end plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastOpenSetting {
    /// None: `false`.
    #[default]
    Off,
    /// It asks for cookies and sends data with its SYN: `"client"`.
    Client,
    /// It gives cookies and takes data with a SYN: `"server"`.
    Server,
    /// Both: `true`.
    Both,
}

impl FastOpenSetting {
    /// Whether an active open asks for a cookie, or shows one.
    #[must_use]
    pub const fn is_client(self) -> bool {
        matches!(self, Self::Client | Self::Both)
    }

    /// Whether a passive open gives cookies, and believes them.
    #[must_use]
    pub const fn is_server(self) -> bool {
        matches!(self, Self::Server | Self::Both)
    }
}

impl<'de> Deserialize<'de> for FastOpenSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) => Ok(Self::Off),
            (Some(true), _) => Ok(Self::Both),
            (_, Some("client")) => Ok(Self::Client),
            (_, Some("server")) => Ok(Self::Server),
            _ => Err(D::Error::custom(format!(
                "{value} is no part of Fast Open{REMEDY}false, true, \"client\" or \"server\""
            ))),
        }
    }
}

impl Serialize for FastOpenSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Both => serializer.serialize_bool(true),
            Self::Client => serializer.serialize_str("client"),
            Self::Server => serializer.serialize_str("server"),
        }
    }
}

impl JsonSchema for FastOpenSetting {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FastOpenSetting".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which part of TCP Fast Open (RFC 7413) an end plays: false, true, \"client\" or \"server\".",
            "anyOf": [{ "type": "boolean" }, { "enum": ["client", "server"] }],
        })
    }
}

/// What a client keeps of a server (RFC 7413 §4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedCookie {
    /// The cookie.
    pub cookie: FastOpenCookie,
    /// The segment size that the server has announced.
    pub mss: Bytes,
}

/// Fast Open on one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FastOpen {
    /// What a client knows of its server.
    known: Option<CachedCookie>,
    /// What a server expects its client to show.
    expected: Option<FastOpenCookie>,
    /// The cookie that the server's SYN-ACK gives.
    given: Option<FastOpenCookie>,
    /// What the server has given to the client.
    learned: Option<CachedCookie>,
    /// End of the data that went with the SYN.
    sent_to: Option<Seq>,
    /// A server has believed a cookie: the connection carries data before the handshake is done.
    accepted: bool,
    /// The SYN with data had to be sent again without them.
    refused: bool,
}

impl FastOpen {
    /// A listener waits for another peer, of which the same cookie is expected.
    pub(crate) fn forget_peer(&mut self) {
        *self = Self { expected: self.expected, ..Self::default() };
    }
}

impl Endpoint {
    /// Gives a client the cookie of its server: what is written before the first [`Endpoint::poll_transmit`] goes with the
    /// SYN, as far as it fits. Without a profile that plays the client it does nothing.
    pub fn use_fast_open_cookie(&mut self, known: CachedCookie) {
        if self.config.plain.fast_open.is_client() {
            self.fast_open.known = Some(known);
        }
    }

    /// Tells a server which cookie its peer must show, and is given if it does not. Without a profile that plays the server
    /// it does nothing.
    pub fn expect_fast_open_cookie(&mut self, cookie: FastOpenCookie) {
        if self.config.plain.fast_open.is_server() {
            self.fast_open.expected = Some(cookie);
        }
    }

    /// How much of what is written a client's SYN takes.
    #[must_use]
    pub fn fast_open_room(&self) -> Bytes {
        let known = self.fast_open.known.map_or(Bytes::ZERO, |known| known.mss);
        known.min(self.config.plain.mss).saturating_sub(OPTION_SPACE)
    }

    /// The cookie that the server has given to this client.
    #[must_use]
    pub const fn fast_open_cookie(&self) -> Option<CachedCookie> {
        self.fast_open.learned
    }

    /// Whether the SYN with data had no answer: the next connection had better try without (RFC 7413 §4.1.3.1).
    #[must_use]
    pub const fn fast_open_failed(&self) -> bool {
        self.fast_open.refused
    }

    /// Whether data may be sent: also before the handshake is done, by a server that has believed a cookie.
    #[inline]
    pub(crate) const fn may_send_data(&self) -> bool {
        self.state.sends_data() || (self.fast_open.accepted && matches!(self.state, State::SynReceived))
    }

    /// Whether a server has believed a cookie.
    pub(crate) const fn is_fast_open(&self) -> bool {
        self.fast_open.accepted
    }

    /// Adds Fast Open to the first SYN or SYN-ACK. One that is sent again goes without it, in case something on the way
    /// drops it (RFC 7413 §4.2.2, Linux `tcp_send_syn_data`).
    pub(crate) fn add_fast_open(&mut self, now: Instant, syn: &mut Segment) {
        if self.state == State::SynReceived {
            syn.options.fast_open = self.fast_open.given;
        } else if self.config.plain.fast_open.is_client() {
            syn.options.fast_open = match self.fast_open.known {
                // Of a cookie without data nobody has a use.
                Some(_) if self.sending.queue.is_empty() => None,
                Some(known) => Some(known.cookie),
                None => Some(FastOpenCookie::REQUEST),
            };
            self.add_data_to_syn(now, syn);
        }
    }

    /// Lets what is written go with the SYN, as far as it fits into a segment with all options that there may be.
    fn add_data_to_syn(&mut self, now: Instant, syn: &mut Segment) {
        let len = self.sending.sendable().min(self.fast_open_room());
        if len.is_zero() {
            return;
        }
        let payload = self.sending.queue.take(u32::try_from(len.0).expect("less than a segment"));
        let range = SeqRange::new(self.sending.nxt, payload.len());
        let data = New { range, payload: payload.clone(), syn: false, fin: false };
        self.sending.board.push(data, now, Bytes::ZERO);
        self.sending.nxt = range.end;
        self.fast_open.sent_to = Some(range.end);
        syn.payload = payload;
    }

    /// The timer of our SYN has run out.
    pub(crate) fn on_syn_timeout(&mut self) {
        self.fast_open.refused |= self.fast_open.sent_to.is_some();
    }

    /// A SYN has come to a listener: whether its cookie is believed, and what is to be given (RFC 7413 §4.2.1).
    pub(crate) fn judge_fast_open(&mut self, now: Instant, syn: &Segment) {
        let (Some(expected), Some(shown)) = (self.fast_open.expected, syn.options.fast_open) else { return };
        if shown != expected {
            self.fast_open.given = Some(expected);
            return;
        }
        self.fast_open.accepted = true;
        self.begin(now);
        if syn.payload.is_empty() {
            return;
        }
        self.receiving.open_for_syn();
        let data = Segment {
            seq: syn.seq + 1,
            flags: syn.flags.without(Flags::SYN.with(Flags::FIN)),
            options: Options::default(),
            payload: syn.payload.clone(),
            ..*syn
        };
        self.take_in(now, &data);
    }

    /// The SYN-ACK has come to a client: takes the cookie over, and sends the data again that it does not acknowledge
    /// (RFC 7413 §4.2.2).
    pub(crate) fn conclude_fast_open(&mut self, now: Instant, syn_ack: &Segment) {
        if !self.config.plain.fast_open.is_client() {
            return;
        }
        let given = syn_ack.options.fast_open.filter(|cookie| !cookie.is_request());
        if let Some(cookie) = given {
            let mss = Bytes(u64::from(syn_ack.options.mss.unwrap_or(crate::options::DEFAULT_MSS)));
            self.fast_open.learned = Some(CachedCookie { cookie, mss });
        }
        if self.fast_open.sent_to.is_some_and(|end| syn_ack.ack.before(end)) {
            self.note(now, Decision::Fallback, "the data of the SYN are not acknowledged", syn_ack.ack, 0);
            self.sending.board.mark_lost(0, Cause::Handshake);
        }
        if !self.sending.board.is_empty() {
            self.set_retransmission_timer(self.sending.rto_from(now));
        }
    }
}

/// The most that options take of a header (RFC 9293 §3.1): what a SYN with data leaves for them, as Linux does.
const OPTION_SPACE: Bytes = Bytes(40);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_setting_is_read_and_written_in_the_same_words() {
        for setting in [json!(false), json!(true), json!("client"), json!("server")] {
            let read: FastOpenSetting = serde_json::from_value(setting.clone()).expect("it is one");
            assert_eq!(serde_json::to_value(read).expect("it can be written"), setting);
        }
        let wrong = serde_json::from_value::<FastOpenSetting>(json!("both")).expect_err("there is none");
        assert!(wrong.to_string().contains("\"client\" or \"server\""), "{wrong}");
    }
}
