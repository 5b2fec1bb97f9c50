//! Times of events.

use units::Duration;

use super::lexer::TokenKind;
use super::{ParseError, Parser};
use crate::script::EventTime;

impl Parser<'_> {
    /// `0.1`, `+.1`, `*`, `0.1~0.2` or `+.1~+.2`.
    pub(super) fn event_time(&mut self) -> Result<EventTime, ParseError> {
        if self.takes("*") {
            return Ok(EventTime::Any);
        }
        let relative = self.takes("+");
        let from = self.time()?;
        if !self.takes("~") {
            return Ok(if relative { EventTime::Relative(from) } else { EventTime::Absolute(from) });
        }
        if relative != self.takes("+") {
            return Err(self.unexpected("both ends of a range of times with \"+\", or none"));
        }
        let to = self.time()?;
        Ok(if relative { EventTime::RelativeRange(from, to) } else { EventTime::AbsoluteRange(from, to) })
    }

    /// The end of a call that blocks: with a call at a relative time it counts from the same event.
    pub(super) fn end_time(&mut self) -> Result<EventTime, ParseError> {
        let relative = self.takes("+");
        let time = self.time()?;
        Ok(if relative { EventTime::Relative(time) } else { EventTime::Absolute(time) })
    }

    /// Seconds, with a point or without.
    fn time(&mut self) -> Result<Duration, ParseError> {
        let Some(token) = self.peek() else { return Err(self.unexpected("a time in seconds like +0.1")) };
        let text = match &token.kind {
            TokenKind::Integer(value) => value.to_string(),
            TokenKind::Decimal(text) => text.clone(),
            _ => return Err(self.unexpected("a time in seconds like +0.1")),
        };
        self.next += 1;
        nanoseconds(&text)
            .map(Duration::from_nanos)
            .ok_or_else(|| token.error(&format!("{text} s is too long a time")))
    }
}

/// Seconds in decimal digits as nanoseconds, exactly; digits beyond the ninth are cut off.
fn nanoseconds(seconds: &str) -> Option<u64> {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    whole.checked_mul(1_000_000_000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_exactly() {
        assert_eq!(nanoseconds(".01"), Some(10_000_000));
        assert_eq!(nanoseconds("3.250"), Some(3_250_000_000));
        assert_eq!(nanoseconds("2"), Some(2_000_000_000));
        assert_eq!(nanoseconds("0.0000000019"), Some(1));
        assert_eq!(nanoseconds("99999999999999999999"), None);
    }
}
