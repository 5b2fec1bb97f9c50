//! Reads a script from its text.
//!
//! `lexer.rs` divides the text into tokens with their lines; each other file reads the construct that it is named
//! after.

mod error;
mod expression;
mod icmp;
mod lexer;
mod packet;
mod time;

pub use error::ParseError;
pub use lexer::Definitions;
use lexer::{Token, TokenKind};

use crate::script::{Action, Call, Command, Event, Script, ScriptOption};

/// Reads a script.
///
/// # Errors
/// The first line that is not of the language, and a text without any event.
pub fn parse(text: &str, definitions: &Definitions) -> Result<Script, ParseError> {
    let (options, rest, first_line) = head(text)?;
    let tokens = lexer::tokens(rest, first_line, definitions)?;
    let mut parser = Parser { tokens: &tokens, next: 0 };
    let init = parser.command();
    let mut events = Vec::new();
    let mut cleanup = None;
    while !parser.is_at_end() {
        if let Some(command) = parser.command() {
            cleanup = Some(command);
            break;
        }
        events.push(parser.event()?);
    }
    if let Some(token) = parser.peek() {
        return Err(token.error("nothing follows the commands at the end of a script"));
    }
    if events.is_empty() {
        let message =
            "it has no event, so nothing is tested; write one, such as 0 socket(..., SOCK_STREAM, 0) = 3";
        return Err(ParseError { line: 1, message: message.to_owned() });
    }
    Ok(Script { options, init, events, cleanup })
}

/// The options, each on a separate line at the beginning, and the text after them.
fn head(text: &str) -> Result<(Vec<ScriptOption>, &str, u32), ParseError> {
    let mut options = Vec::new();
    let (mut rest, mut line) = (text, 1);
    loop {
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let trimmed = rest[..end].trim();
        let is_blank = trimmed.is_empty() || trimmed.starts_with("//") || trimmed.starts_with('#');
        if let Some(option) = trimmed.strip_prefix("--") {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            options.push(ScriptOption { line, name: name.trim().to_owned(), value: value.trim().to_owned() });
        } else if !is_blank || end == 0 {
            return Ok((options, rest, line));
        }
        rest = &rest[end..];
        line += 1;
    }
}

/// Tokens, and how far they are read.
struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
}

impl<'a> Parser<'a> {
    fn is_at_end(&self) -> bool {
        self.next == self.tokens.len()
    }

    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    fn peek_kind(&self, ahead: usize) -> Option<&'a TokenKind> {
        self.tokens.get(self.next + ahead).map(|token| &token.kind)
    }

    fn take(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.next)?;
        self.next += 1;
        Some(token)
    }

    /// Takes the next token if it is this sign.
    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek_kind(0), Some(TokenKind::Sign(found)) if *found == sign);
        self.next += usize::from(is);
        is
    }

    /// Takes the next token if it is this word.
    fn takes_word(&mut self, word: &str) -> bool {
        let is = matches!(self.peek_kind(0), Some(TokenKind::Word(found)) if found == word);
        self.next += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &str, meaning: &str) -> Result<(), ParseError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("\"{sign}\" {meaning}"))) }
    }

    fn integer(&mut self, meaning: &str) -> Result<i64, ParseError> {
        if let Some(TokenKind::Integer(value)) = self.peek_kind(0) {
            self.next += 1;
            return Ok(*value);
        }
        Err(self.unexpected(meaning))
    }

    /// An integer that fits its place.
    fn number<T: TryFrom<i64>>(&mut self, meaning: &str) -> Result<T, ParseError> {
        let at = self.next;
        let value = self.integer(meaning)?;
        T::try_from(value)
            .map_err(|_| self.tokens[at].error(&format!("{value} is no {meaning}; it does not fit")))
    }

    fn word(&mut self, meaning: &str) -> Result<&'a str, ParseError> {
        if let Some(TokenKind::Word(word)) = self.peek_kind(0) {
            self.next += 1;
            return Ok(word);
        }
        Err(self.unexpected(meaning))
    }

    fn unexpected(&self, wanted: &str) -> ParseError {
        match self.peek() {
            Some(token) => token.error(&format!("found {}; write {wanted}", token.kind)),
            None => {
                let line = self.tokens.last().map_or(1, |last| last.line);
                ParseError { line, message: format!("the script ends here; write {wanted}") }
            }
        }
    }

    fn command(&mut self) -> Option<Command> {
        let token = self.peek()?;
        let TokenKind::Command(text) = &token.kind else { return None };
        self.next += 1;
        Some(Command { line: token.line, text: text.clone() })
    }

    fn event(&mut self) -> Result<Event, ParseError> {
        let line = self.peek().map_or(0, |token| token.line);
        let time = self.event_time()?;
        let action = match self.peek_kind(0) {
            _ if self.is_icmp() => Action::Icmp(self.icmp()?),
            Some(TokenKind::Sign("<" | ">")) => Action::Packet(self.packet()?),
            Some(TokenKind::Command(text)) => {
                self.next += 1;
                Action::Command(text.clone())
            }
            Some(TokenKind::Code(text)) => {
                self.next += 1;
                Action::Code(text.clone())
            }
            _ => Action::Call(self.call()?),
        };
        Ok(Event { line, time, action })
    }

    fn call(&mut self) -> Result<Call, ParseError> {
        let until = if self.takes("...") { Some(self.end_time()?) } else { None };
        let name =
            self.word("a segment (\"<\", \">\"), a system call, a `command` or %{ code }%")?.to_owned();
        self.expect("(", "after the name of a system call")?;
        let arguments = self.expressions(")")?;
        self.expect("=", "and the value that the system call returns")?;
        let result = self.expression()?;
        let errno = self.errno();
        self.skip_note();
        Ok(Call { until, name, arguments, result, errno })
    }

    fn errno(&mut self) -> Option<String> {
        let Some(TokenKind::Word(word)) = self.peek_kind(0) else { return None };
        self.next += 1;
        Some(word.clone())
    }

    /// A remark in brackets after the result, for human readers.
    fn skip_note(&mut self) {
        if self.takes("(") {
            while !self.takes(")") && self.take().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests;
