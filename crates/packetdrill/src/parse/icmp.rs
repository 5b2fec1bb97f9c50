//! ICMP messages.

use super::lexer::TokenKind;
use super::{ParseError, Parser};
use crate::script::{IcmpKind, IcmpMessage};

impl Parser<'_> {
    /// Whether an ICMP message comes in: `< icmp unreachable …`.
    pub(super) fn is_icmp(&self) -> bool {
        let is_inbound = matches!(self.peek_kind(0), Some(TokenKind::Sign("<")));
        let is_icmp = matches!(self.peek_kind(1), Some(TokenKind::Word(word)) if word == "icmp");
        is_inbound && is_icmp
    }

    /// `< icmp unreachable frag_needed mtu 840 [0:1000(1000)]`
    pub(super) fn icmp(&mut self) -> Result<IcmpMessage, ParseError> {
        self.next += 2;
        let kind = match self.word("unreachable or packet_too_big")? {
            "packet_too_big" => self.too_big()?,
            "unreachable" if self.takes_word("frag_needed") => self.too_big()?,
            "unreachable" => self.unreachable()?,
            _ => {
                self.next -= 1;
                return Err(self.unexpected("unreachable or packet_too_big"));
            }
        };
        let quoted = if self.takes("[") { Some(self.quoted()?) } else { None };
        Ok(IcmpMessage { kind, quoted })
    }

    fn too_big(&mut self) -> Result<IcmpKind, ParseError> {
        if self.takes_word("mtu") {
            return self.number("MTU").map(IcmpKind::TooBig);
        }
        Err(self.unexpected("\"mtu\" and the size of a packet"))
    }

    /// A code, if one is written; the error of a program is that of Linux (net/ipv4/icmp.c, `icmp_err_convert`).
    fn unreachable(&mut self) -> Result<IcmpKind, ParseError> {
        let Some(TokenKind::Word(word)) = self.peek_kind(0) else {
            return Ok(IcmpKind::Unreachable("ENETUNREACH"));
        };
        let Some((_, error)) = CODES.iter().find(|(code, _)| code == word) else {
            let known: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
            return Err(self.unexpected(&format!("a code out of {}", known.join(", "))));
        };
        self.next += 1;
        Ok(IcmpKind::Unreachable(error))
    }

    /// The first sequence number of the segment that the message quotes.
    fn quoted(&mut self) -> Result<u32, ParseError> {
        let start = self.number("sequence number")?;
        while !self.takes("]") {
            if self.take().is_none() {
                return Err(self.unexpected("\"]\" after the quoted segment"));
            }
        }
        Ok(start)
    }
}

/// Codes of unreachable destinations, and their errors.
const CODES: &[(&str, &str)] = &[
    ("net_unreachable", "ENETUNREACH"),
    ("host_unreachable", "EHOSTUNREACH"),
    ("protocol_unreachable", "ENOPROTOOPT"),
    ("port_unreachable", "ECONNREFUSED"),
    ("source_route_failed", "EOPNOTSUPP"),
    ("net_unknown", "ENETUNREACH"),
    ("host_unknown", "EHOSTDOWN"),
    ("source_host_isolated", "ENONET"),
    ("net_prohibited", "ENETUNREACH"),
    ("host_prohibited", "EHOSTUNREACH"),
    ("net_unreachable_for_tos", "ENETUNREACH"),
    ("host_unreachable_for_tos", "EHOSTUNREACH"),
    ("packet_filtered", "EHOSTUNREACH"),
    ("communication_prohibited", "EHOSTUNREACH"),
];
