//! Values in system calls.

use super::lexer::TokenKind;
use super::{ParseError, Parser};
use crate::script::Expression;

impl Parser<'_> {
    /// Values with commas between them, up to and with `close`.
    pub(super) fn expressions(&mut self, close: &str) -> Result<Vec<Expression>, ParseError> {
        let mut values = Vec::new();
        if self.takes(close) {
            return Ok(values);
        }
        loop {
            values.push(self.expression()?);
            if self.takes(close) {
                return Ok(values);
            }
            self.expect(",", &format!("or \"{close}\" after a value"))?;
        }
    }

    pub(super) fn expression(&mut self) -> Result<Expression, ParseError> {
        let first = self.single()?;
        if self.takes("|") {
            return Ok(Expression::Or(Box::new(first), Box::new(self.expression()?)));
        }
        Ok(first)
    }

    fn single(&mut self) -> Result<Expression, ParseError> {
        if self.takes("...") {
            return Ok(Expression::Any);
        }
        if self.takes("[") {
            return self.expressions("]").map(Expression::List);
        }
        if self.takes("{") {
            return self.expressions("}").map(Expression::Record);
        }
        if self.takes("-") {
            return self.integer("a number").map(|value| Expression::Integer(-value));
        }
        match self.peek_kind(0) {
            Some(TokenKind::Integer(value)) => {
                self.next += 1;
                Ok(Expression::Integer(*value))
            }
            Some(TokenKind::Text(text)) => {
                self.next += 1;
                // "text"... is a string with any continuation.
                self.takes("...");
                Ok(Expression::Text(text.clone()))
            }
            Some(TokenKind::Word(_)) => self.named(),
            _ => Err(self.unexpected("a value: a number, a name, a string, [ … ], { … } or ...")),
        }
    }

    /// A constant, a field (`msg_flags=0`), a counted field (`msg_iov(2)=[…]`) or a call like `htons(80)`.
    fn named(&mut self) -> Result<Expression, ParseError> {
        let name = self.word("a name")?.to_owned();
        if self.takes("(") {
            let inside = self.expressions(")")?;
            if self.takes("=") {
                return self.expression().map(|value| Expression::Field(name, Box::new(value)));
            }
            return Ok(Expression::Field(name, Box::new(Expression::List(inside))));
        }
        if self.takes("=") {
            return self.expression().map(|value| Expression::Field(name, Box::new(value)));
        }
        Ok(Expression::Name(name))
    }
}
