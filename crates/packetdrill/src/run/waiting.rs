//! System calls in time: a call that blocks is tried again after each event, and its result is held against the script.

use units::{Duration, Instant};

use super::ids::START;
use super::reply::Reply;
use super::{Blocked, ScriptRun, Stop, refused};
use crate::script::{Call, Event, EventTime, Expression};
use crate::text::seconds;

impl ScriptRun {
    pub(super) fn issue(&mut self, event: &Event, call: &Call) -> Result<(), Stop> {
        if let Some(blocked) = &self.blocked {
            let got = format!("{} of line {} still blocks", blocked.call.name, blocked.line);
            return Err(self.failure(event.line, call.to_string(), got));
        }
        self.host.timeline.add(self.host.now, Some(event.line), &call.to_string());
        let before = self.host.now;
        match self.call(call).map_err(|reason| refused(event.line, reason))? {
            Reply::Blocks => {
                let until = call.until.map(|until| match (until, event.time) {
                    (EventTime::Absolute(at) | EventTime::Relative(at), EventTime::Relative(after)) => {
                        Instant::from_nanos(before.as_nanos() - after.as_nanos()) + at
                    }
                    (EventTime::Absolute(at), _) => START + at,
                    (_, _) => before,
                });
                self.blocked = Some(Blocked { call: call.clone(), line: event.line, until });
                Ok(())
            }
            reply => self.check(event.line, call, &reply),
        }
    }

    /// Something has happened: a call that blocks may return now.
    pub(super) fn retry_blocked(&mut self) -> Result<(), Stop> {
        let Some(blocked) = self.blocked.clone() else { return Ok(()) };
        let reply = self.call(&blocked.call).map_err(|reason| refused(blocked.line, reason))?;
        if reply == Reply::Blocks {
            return Ok(());
        }
        self.blocked = None;
        self.host.timeline.add(self.host.now, Some(blocked.line), &format!("{} returns", blocked.call.name));
        let (now, tolerance) = (self.host.now, self.tolerance);
        let at = |time: Instant| seconds(time.saturating_since(START));
        if let Some(until) = blocked.until.filter(|until| apart(now, *until) > tolerance) {
            let expected = format!("{} to return at {} s", blocked.call.name, at(until));
            return Err(self.failure(blocked.line, expected, format!("it returns at {} s", at(now))));
        }
        self.check(blocked.line, &blocked.call, &reply)
    }

    /// Compares the result of a call with the expected one.
    pub(super) fn check(&self, line: u32, call: &Call, reply: &Reply) -> Result<(), Stop> {
        let got = match reply {
            Reply::Value(value) => value.to_string(),
            Reply::Error(error) => format!("-1 {error}"),
            Reply::Differs { expected, got } => {
                return Err(self.failure(line, format!("{call} with {expected}"), got.clone()));
            }
            Reply::Blocks => "it blocks".to_owned(),
        };
        let expected = match &call.errno {
            Some(error) => format!("-1 {error}"),
            None => call.result.to_string(),
        };
        let any_error = call.errno.is_none() && call.result == Expression::Integer(-1);
        let any = call.result == Expression::Any || (any_error && matches!(reply, Reply::Error(_)));
        if any || expected == got { Ok(()) } else { Err(self.failure(line, call.to_string(), got)) }
    }

    /// The script is over, except for a call that blocks.
    pub(super) fn finish(&mut self) -> Result<(), Stop> {
        let Some(Blocked { until, .. }) = self.blocked else { return Ok(()) };
        let tolerance = self.tolerance;
        self.advance(until.unwrap_or(self.host.now) + tolerance)?;
        match self.blocked.take() {
            None => Ok(()),
            Some(blocked) => {
                Err(self.failure(blocked.line, blocked.call.to_string(), "it blocks for ever".to_owned()))
            }
        }
    }
}

/// Time between two instants, whichever is first.
fn apart(a: Instant, b: Instant) -> Duration {
    a.saturating_since(b).max(b.saturating_since(a))
}
