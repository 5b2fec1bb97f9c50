//! Cuts a script into tokens.

use std::collections::BTreeMap;
use std::fmt;

use super::error::ParseError;

/// Names that a script leaves to its user, and their texts (`-D NAME=TEXT` of packetdrill).
pub type Definitions = BTreeMap<String, String>;

/// A token and the line on which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub line: u32,
    pub kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Integer(i64),
    /// A number with a point, as written.
    Decimal(String),
    Word(String),
    Text(String),
    Sign(&'static str),
    /// Shell commands between back quotes.
    Command(String),
    /// Python between `%{` and `}%`.
    Code(String),
}

/// Signs, the longer ones before their prefixes.
const SIGNS: &[&str] = &[
    "...", "..", "<", ">", "(", ")", "[", "]", "{", "}", "=", ",", ":", "|", "+", "~", "*", "-", "&", ".",
    "/", "!",
];

impl Token {
    pub(super) fn error(&self, message: &str) -> ParseError {
        ParseError { line: self.line, message: message.to_owned() }
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Decimal(text) => f.write_str(text),
            Self::Word(word) => write!(f, "\"{word}\""),
            Self::Text(_) => f.write_str("a string"),
            Self::Sign(sign) => write!(f, "\"{sign}\""),
            Self::Command(_) => f.write_str("a `command`"),
            Self::Code(_) => f.write_str("%{ code }%"),
        }
    }
}

/// The tokens of a text; `first_line` is the number of its first line.
///
/// A word that `definitions` has is replaced by the tokens of its text.
pub(super) fn tokens(
    text: &str,
    first_line: u32,
    definitions: &Definitions,
) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { rest: text, line: first_line };
    let mut found = Vec::new();
    while let Some(token) = lexer.token()? {
        match &token.kind {
            TokenKind::Word(word) if definitions.contains_key(word) => {
                let replacement = tokens(&definitions[word], token.line, &Definitions::new())?;
                found.extend(replacement.into_iter().map(|part| Token { line: token.line, ..part }));
            }
            _ => found.push(token),
        }
    }
    Ok(found)
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    fn token(&mut self) -> Result<Option<Token>, ParseError> {
        self.skip_space()?;
        let line = self.line;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let kind = match first {
            '`' => TokenKind::Command(self.between("`", "`", "a command")?.to_owned()),
            '%' if self.rest.starts_with("%{") => {
                TokenKind::Code(self.between("%{", "}%", "code")?.to_owned())
            }
            '"' => TokenKind::Text(self.between("\"", "\"", "a string")?.to_owned()),
            '0'..='9' => self.number()?,
            '.' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number()?,
            _ if first.is_ascii_alphabetic() || first == '_' => TokenKind::Word(self.word().to_owned()),
            _ => self.sign()?,
        };
        Ok(Some(Token { line, kind }))
    }

    fn skip_space(&mut self) -> Result<(), ParseError> {
        loop {
            let trimmed = self.rest.trim_start();
            self.advance(self.rest.len() - trimmed.len());
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.advance(end);
            } else if self.rest.starts_with("/*") {
                self.between("/*", "*/", "a comment")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Advances by `bytes`, and counts lines.
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += u32::try_from(taken.matches('\n').count()).unwrap_or(u32::MAX);
        self.rest = rest;
        taken
    }

    fn between(&mut self, open: &str, close: &str, what: &str) -> Result<&'a str, ParseError> {
        let line = self.line;
        self.advance(open.len());
        let Some(end) = self.rest.find(close) else {
            return Err(ParseError {
                line,
                message: format!("{what} begins here and has no end; write {close}"),
            });
        };
        let inside = self.advance(end);
        self.advance(close.len());
        Ok(inside)
    }

    fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn number(&mut self) -> Result<TokenKind, ParseError> {
        let line = self.line;
        let bad = |text: &str| ParseError { line, message: format!("{text} is no number; write digits") };
        if let Some(hex) = self.rest.strip_prefix("0x") {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let text = self.advance(end + 2);
            return i64::from_str_radix(&text[2..], 16).map(TokenKind::Integer).map_err(|_| bad(text));
        }
        let whole = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let after = &self.rest[whole..];
        // "0...0.2" is a range: its first point does not belong to the number.
        let is_decimal = after.starts_with('.') && !after.starts_with("..");
        if !is_decimal {
            let text = self.advance(whole);
            // A blob of hexadecimal digits that begins with a decimal one, as cookies do.
            if self.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return Ok(TokenKind::Word(format!("{text}{}", self.word())));
            }
            // So is a number with leading zeros, or one of more digits than any other in a script.
            if (text.len() > 1 && text.starts_with('0')) || text.len() > 18 {
                return Ok(TokenKind::Word(text.to_owned()));
            }
            return text.parse().map(TokenKind::Integer).map_err(|_| bad(text));
        }
        let part = after[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len() - 1);
        Ok(TokenKind::Decimal(self.advance(whole + 1 + part).to_owned()))
    }

    fn sign(&mut self) -> Result<TokenKind, ParseError> {
        match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
            Some(sign) => {
                self.advance(sign.len());
                Ok(TokenKind::Sign(sign))
            }
            None => {
                let first = self.rest.chars().next().unwrap_or(' ');
                let message = format!("'{first}' begins nothing in this language; take it out");
                Err(ParseError { line: self.line, message })
            }
        }
    }
}
