//! Segments.

use super::lexer::TokenKind;
use super::{ParseError, Parser};
use crate::script::{AccurateEcnCounter, Direction, EcnField, Flags, Options, Packet, TcpOption};

impl Parser<'_> {
    /// `> P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`
    pub(super) fn packet(&mut self) -> Result<Packet, ParseError> {
        let direction = if self.takes("<") { Direction::Inbound } else { Direction::Outbound };
        if direction == Direction::Outbound {
            self.expect(">", "or \"<\" before a segment")?;
        }
        let ecn = self.ip_information()?;
        self.skip_ports()?;
        let flags = self.flags()?;
        let start = self.number("sequence number")?;
        self.expect(":", "between the sequence numbers")?;
        let end = self.number("sequence number")?;
        self.expect("(", "and the length of the payload")?;
        let payload = self.number("length of a payload")?;
        self.expect(")", "after the length of the payload")?;
        let ack = if self.takes_word("ack") { Some(self.number("acknowledgment number")?) } else { None };
        let window = if self.takes_word("win") { Some(self.number("window field")?) } else { None };
        let urgent = if self.takes_word("urg") { Some(self.number("urgent pointer")?) } else { None };
        let options = self.tcp_options()?;
        Ok(Packet { direction, ecn, flags, start, end, payload, ack, window, urgent, options })
    }

    /// `[ect0]`, `(tos 0x2)`, `[ttl 64]` and their like; of these only ECN matters here.
    fn ip_information(&mut self) -> Result<Option<EcnField>, ParseError> {
        let close = match self.peek_kind(0) {
            Some(TokenKind::Sign("[")) => "]",
            Some(TokenKind::Sign("(")) => ")",
            _ => return Ok(None),
        };
        self.next += 1;
        let mut ecn = None;
        while !self.takes(close) {
            let word = self.word("ect0, ect1, ect01, ce, noecn, tos, ttl or flowlabel")?;
            match word {
                "noecn" => ecn = Some(EcnField::NotCapable),
                "ect0" => ecn = Some(EcnField::Ect0),
                "ect1" => ecn = Some(EcnField::Ect1),
                "ect01" => ecn = Some(EcnField::Ect01),
                "ce" => ecn = Some(EcnField::CongestionExperienced),
                "tos" => ecn = Some(ecn_of(self.number("type of service")?)),
                "ttl" | "flowlabel" => drop(self.integer("number")?),
                _ => {
                    self.next -= 1;
                    return Err(self.unexpected("ect0, ect1, ect01, ce, noecn, tos, ttl or flowlabel"));
                }
            }
            self.takes(",");
        }
        Ok(ecn)
    }

    /// `8080 > 80` before the flags: ports are the runner's.
    fn skip_ports(&mut self) -> Result<(), ParseError> {
        if matches!(
            (self.peek_kind(0), self.peek_kind(1)),
            (Some(TokenKind::Integer(_)), Some(TokenKind::Sign(">")))
        ) {
            self.next += 2;
            self.number::<u16>("port")?;
        }
        Ok(())
    }

    /// Letters, with `.` for ACK and a digit for the ACE field: `P5.` or `P.5`; `-` for none.
    fn flags(&mut self) -> Result<Flags, ParseError> {
        let mut flags = Flags::default();
        if self.takes("-") {
            return Ok(flags);
        }
        let mut found = false;
        while let Some(letters) = self.flag_letters() {
            for letter in letters.chars() {
                if !set_flag(&mut flags, letter) {
                    self.next -= 1;
                    return Err(self.unexpected("flags out of F S R P U E W A, 0 to 7 and \".\""));
                }
            }
            found = true;
        }
        if found { Ok(flags) } else { Err(self.unexpected("flags like \"P.\", or \"-\" for none")) }
    }

    /// The text of the next token, if it belongs to the flags and not to the sequence numbers.
    fn flag_letters(&mut self) -> Option<String> {
        let letters = match self.peek_kind(0)? {
            TokenKind::Word(letters) | TokenKind::Decimal(letters) => letters.clone(),
            TokenKind::Sign(".") => ".".to_owned(),
            _ => return None,
        };
        self.next += 1;
        Some(letters)
    }

    fn tcp_options(&mut self) -> Result<Options, ParseError> {
        // An event may begin with "<" only after a time, so that this one belongs to the segment.
        if !self.takes("<") {
            return Ok(Options::Exactly(Vec::new()));
        }
        if self.takes("...") {
            self.expect(">", "after <...")?;
            return Ok(Options::Any);
        }
        let mut options = Vec::new();
        loop {
            options.push(self.tcp_option()?);
            if self.takes(">") {
                return Ok(Options::Exactly(options));
            }
            self.expect(",", "or \">\" after an option")?;
        }
    }

    fn tcp_option(&mut self) -> Result<TcpOption, ParseError> {
        let name = self.word("an option like mss 1460, nop, sackOK or TS val 1 ecr 0")?;
        Ok(match name {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::Eol,
            "mss" => TcpOption::Mss(self.number("segment size")?),
            "wscale" => TcpOption::WindowScale(self.number("window scale")?),
            "sackOK" => TcpOption::SackPermitted,
            "sack" => TcpOption::Sack(self.sack_blocks()?),
            "TS" => {
                self.expect_word("val")?;
                let value = self.timestamp()?;
                self.expect_word("ecr")?;
                TcpOption::Timestamps { value, echo: self.timestamp()? }
            }
            "FO" | "FOEXP" => TcpOption::FastOpen { cookie: self.cookie(), experimental: name == "FOEXP" },
            "ECN" => TcpOption::AccurateEcn(self.accurate_ecn_counters()?),
            _ => self.other_option(name),
        })
    }

    /// A number, or `...` for any.
    fn timestamp(&mut self) -> Result<Option<u32>, ParseError> {
        if self.takes("...") { Ok(None) } else { self.number("timestamp").map(Some) }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.takes_word(word) { Ok(()) } else { Err(self.unexpected(&format!("\"{word}\""))) }
    }

    /// `ECN e1b 1 ceb 0 e0b 1`
    fn accurate_ecn_counters(&mut self) -> Result<Vec<(AccurateEcnCounter, u32)>, ParseError> {
        let mut counters = Vec::new();
        while let Some(TokenKind::Word(word)) = self.peek_kind(0) {
            let known = AccurateEcnCounter::NAMES.iter().find(|(name, _)| name == word);
            let Some((_, counter)) = known else { return Err(self.unexpected("e0b, ceb or e1b")) };
            self.next += 1;
            counters.push((*counter, self.number("counter")?));
        }
        Ok(counters)
    }

    fn sack_blocks(&mut self) -> Result<Vec<(u32, u32)>, ParseError> {
        let mut blocks = Vec::new();
        while matches!(self.peek_kind(0), Some(TokenKind::Integer(_))) {
            let start = self.number("sequence number")?;
            self.expect(":", "between the ends of a SACK block")?;
            blocks.push((start, self.number("sequence number")?));
        }
        if blocks.is_empty() { Err(self.unexpected("a SACK block like 2001:3001")) } else { Ok(blocks) }
    }

    fn cookie(&mut self) -> String {
        match self.peek_kind(0) {
            Some(TokenKind::Word(digits)) => {
                self.next += 1;
                digits.clone()
            }
            Some(TokenKind::Integer(digits)) => {
                self.next += 1;
                digits.to_string()
            }
            _ => String::new(),
        }
    }

    /// An unknown option keeps its text up to the next comma.
    fn other_option(&mut self, name: &str) -> TcpOption {
        let mut text = name.to_owned();
        while let Some(kind) = self.peek_kind(0).filter(|kind| !matches!(kind, TokenKind::Sign("," | ">"))) {
            text.push_str(&format!(" {kind}"));
            self.next += 1;
        }
        TcpOption::Other(text)
    }
}

/// Sets the flag of a letter; returns whether there is one.
fn set_flag(flags: &mut Flags, letter: char) -> bool {
    match letter {
        'F' => flags.fin = true,
        'S' => flags.syn = true,
        'R' => flags.rst = true,
        'P' => flags.psh = true,
        'U' => flags.urg = true,
        'E' => flags.ece = true,
        'W' => flags.cwr = true,
        'A' => flags.ae = true,
        '.' => flags.ack = true,
        '0'..='7' => flags.set_ace(letter as u8 - b'0'),
        _ => return false,
    }
    true
}

/// The two bits of the ECN field in the type of service (RFC 3168 §5).
const fn ecn_of(type_of_service: u8) -> EcnField {
    match type_of_service & 0b11 {
        0b10 => EcnField::Ect0,
        0b01 => EcnField::Ect1,
        0b11 => EcnField::CongestionExperienced,
        _ => EcnField::NotCapable,
    }
}
