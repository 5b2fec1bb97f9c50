//! TCP Fast Open (RFC 7413): data with the SYN, for a client that has proved its address in an earlier connection.
//!
//! The proof is a cookie that the server grants on request. An endpoint knows no addresses: its user keeps the cookies
//! of a host, gives each client its cookie ([`Endpoint::use_fast_open_cookie`]) and sets for each server the cookie
//! that its peer must show ([`Endpoint::expect_fast_open_cookie`]).
//!
//! [`Endpoint::use_fast_open_cookie`]: crate::Endpoint::use_fast_open_cookie
//! [`Endpoint::expect_fast_open_cookie`]: crate::Endpoint::expect_fast_open_cookie

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use units::text::REMEDY;
use units::{Bytes, Seq};
use wire::{FastOpenCookie, Segment};

use crate::options::DEFAULT_MSS;

/// Role of an end in Fast Open.
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

/// State that a client keeps about a server (RFC 7413 §4.1.3).
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
    /// The cookie of the server, at a client.
    known: Option<CachedCookie>,
    /// The cookie that a server expects of its client.
    expected: Option<FastOpenCookie>,
    /// The cookie that the server's SYN-ACK gives.
    given: Option<FastOpenCookie>,
    /// The cookie that the server has granted.
    learned: Option<CachedCookie>,
    /// The segment size that the server has announced.
    learned_mss: Option<Bytes>,
    /// No cookie is needed: a client sends data at once, a server takes them from anyone.
    needs_none: bool,
    /// The segment size of the server, at a client that needs no cookie.
    known_mss: Option<Bytes>,
    /// A client shows its cookie without data too.
    always_shows: bool,
    /// End of the data that went with the SYN.
    sent_to: Option<Seq>,
    /// A server has accepted a cookie: the connection carries data before the handshake is done.
    accepted: bool,
    /// The SYN with data had to be sent again without them.
    refused: bool,
    /// The SYN-ACK has not acknowledged all data of the SYN.
    resent: bool,
    /// The data of the peer's SYN were taken.
    taken: bool,
}

impl FastOpen {
    /// A client knows the cookie of its server.
    pub(crate) const fn know(&mut self, known: CachedCookie) {
        self.known = Some(known);
    }

    /// A server expects its client to show this cookie.
    pub(crate) const fn expect(&mut self, cookie: FastOpenCookie) {
        self.expected = Some(cookie);
    }

    /// No cookie is needed; at a client the server's segments are `mss` long, as far as it knows.
    pub(crate) const fn need_none(&mut self, mss: Option<Bytes>) {
        self.needs_none = true;
        self.known_mss = mss;
    }

    /// A client shows its cookie also where no data leave with the SYN.
    pub(crate) const fn show_always(&mut self) {
        self.always_shows = true;
    }

    /// A listener waits for another peer, of which it expects the same cookie.
    pub(crate) fn forget_peer(&mut self) {
        *self = Self { expected: self.expected, needs_none: self.needs_none, ..Self::default() };
    }

    /// Room for data in a client's SYN, where a segment is `mss` at most.
    pub(crate) fn room(&self, mss: Bytes) -> Bytes {
        let theirs = match self.known {
            _ if self.needs_none => self.known_mss.unwrap_or(mss),
            Some(known) => known.mss,
            None => Bytes::ZERO,
        };
        theirs.min(mss).saturating_sub(OPTION_SPACE)
    }

    /// The option of a client's first SYN. A cookie without data is of no use, though Linux shows it.
    pub(crate) fn request(&self, has_data: bool) -> Option<FastOpenCookie> {
        match self.known {
            _ if self.needs_none => None,
            Some(known) => (has_data || self.always_shows).then_some(known.cookie),
            None => Some(FastOpenCookie::REQUEST),
        }
    }

    /// Whether data have left with our SYN, and the handshake has not been repeated without them.
    pub(crate) const fn has_sent_data(&self) -> bool {
        self.sent_to.is_some() && !self.refused
    }

    /// The option of a server's SYN-ACK.
    pub(crate) const fn grant(&self) -> Option<FastOpenCookie> {
        self.given
    }

    /// Data up to `end` leave with our SYN.
    pub(crate) const fn on_data_sent(&mut self, end: Seq) {
        self.sent_to = Some(end);
    }

    /// The timer of our SYN has expired.
    pub(crate) const fn on_syn_timeout(&mut self) {
        self.refused |= self.sent_to.is_some();
    }

    /// Whether a SYN with data had no answer.
    pub(crate) const fn is_refused(&self) -> bool {
        self.refused
    }

    /// A listener judges the cookie of a SYN (RFC 7413 §4.2.1); returns whether it is valid. Another one is granted
    /// where it is not.
    pub(crate) fn judge(&mut self, syn: &Segment) -> bool {
        if self.needs_none {
            self.accepted = !syn.payload.is_empty() || syn.options.fast_open.is_some();
            return self.accepted;
        }
        let (Some(expected), Some(shown)) = (self.expected, syn.options.fast_open) else { return false };
        self.accepted = shown == expected;
        if !self.accepted {
            self.given = Some(expected);
        }
        self.accepted
    }

    /// Whether a server has accepted a cookie: the connection carries data before the handshake is done.
    #[inline]
    pub(crate) const fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// The SYN-ACK has arrived at a client (RFC 7413 §4.2.2): keeps the cookie that it grants; returns whether it
    /// leaves data of the SYN unacknowledged.
    pub(crate) fn on_syn_ack(&mut self, syn_ack: &Segment) -> bool {
        let given = syn_ack.options.fast_open.filter(|cookie| !cookie.is_request());
        let mss = Bytes(u64::from(syn_ack.options.mss.unwrap_or(DEFAULT_MSS)));
        self.learned_mss = Some(mss);
        if let Some(cookie) = given {
            self.learned = Some(CachedCookie { cookie, mss });
        }
        self.resent = self.sent_to.is_some_and(|end| syn_ack.ack.before(end));
        self.resent
    }

    /// A server has taken the data of a SYN.
    pub(crate) const fn on_data_taken(&mut self) {
        self.taken = true;
    }

    /// The cookie that the server has granted.
    pub(crate) const fn learned(&self) -> Option<CachedCookie> {
        self.learned
    }

    /// The segment size that the server has announced.
    pub(crate) const fn learned_mss(&self) -> Option<Bytes> {
        self.learned_mss
    }

    /// Whether the data of a SYN were taken: those of the peer by a server, or ours by a server that has acknowledged
    /// them up to `una`.
    pub(crate) fn data_taken(&self, una: Seq) -> bool {
        self.taken || (!self.resent && self.sent_to.is_some_and(|end| !una.before(end)))
    }
}

/// Room that a SYN with data leaves for options (RFC 9293 §3.1): the most that a header holds, as in Linux.
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
