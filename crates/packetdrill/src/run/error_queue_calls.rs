//! Calls that read the error queue of a socket or write into it.

use super::ScriptRun;
use super::arguments::Arguments;
use super::error_queue::Stamp;
use super::ids::{ConnectionId, START, SocketId};
use super::reply::{CallResult, Reply};
use crate::script::Call;
use crate::text::seconds;

impl ScriptRun {
    /// Reads what waits in the error queue.
    pub(super) fn read_error_queue(&mut self, call: &Call) -> CallResult {
        let (_, id) = self.on_connection(call)?;
        let Some(id) = id else { return Ok(Reply::Error("EAGAIN")) };
        match self.host.connection(id).stamps.pop() {
            Some(stamp) => Ok(self.stamp_read(call, stamp)),
            None => Ok(self.read_completions(call, id)),
        }
    }

    /// A time, held against what the script expects.
    fn stamp_read(&self, call: &Call, stamp: Stamp) -> Reply {
        let number = |field: &str| call.control_field(1, field)?.integer();
        let differs = |expected: String, got: String| Reply::Differs { expected, got };
        if let (Some(whole), Some(nanos)) = (number("scm_sec"), number("scm_nsec")) {
            let expected = whole.unsigned_abs() * 1_000_000_000 + nanos.unsigned_abs();
            let got = stamp.at.saturating_since(START);
            if got.as_nanos().abs_diff(expected) > self.tolerance.as_nanos() {
                return differs(format!("scm_sec={whole},scm_nsec={nanos}"), format!("{} s", seconds(got)));
            }
        }
        let kind = call.control_field(1, "ee_info").map(|kind| kind.to_string());
        if kind.as_ref().is_some_and(|kind| kind != stamp.kind) {
            return differs(
                format!("ee_info={}", kind.unwrap_or_default()),
                format!("ee_info={}", stamp.kind),
            );
        }
        match number("ee_data") {
            Some(key) if u64::try_from(key) != Ok(stamp.key) => {
                differs(format!("ee_data={key}"), format!("ee_data={}", stamp.key))
            }
            _ => Reply::Value(0),
        }
    }

    /// The completions of writes without a copy (net/core/skbuff.c, `__msg_zerocopy_callback`): those in a row are one.
    /// In virtual time the data are always copied, as by a loopback device.
    fn read_completions(&mut self, call: &Call, id: ConnectionId) -> Reply {
        let connection = self.host.connection(id);
        let (read, done) = connection.completions();
        if read == done {
            return Reply::Error("EAGAIN");
        }
        connection.completions_read = done;
        let got = [("ee_info", read), ("ee_data", done - 1)];
        for (field, value) in got {
            let expected = call.control_field(1, field).and_then(|value| value.integer());
            if expected.is_some_and(|expected| u64::try_from(expected) != Ok(value as u64)) {
                let expected = format!("{field}={}", expected.unwrap_or(0));
                return Reply::Differs { expected, got: format!("{field}={value}") };
            }
        }
        Reply::Value(0)
    }

    /// A write of the bytes up to now asks for its times, or has a completion of its own (`MSG_ZEROCOPY`).
    pub(super) fn ask_for_reports(&mut self, call: &Call, socket: SocketId, id: ConnectionId) {
        let options = &self.sockets.get(socket).options;
        let zero_copy = call.has_flag("MSG_ZEROCOPY") && options.is_on("SO_ZEROCOPY");
        let stamped = options.get("SO_TIMESTAMPING").filter(|flags| *flags != 0);
        let now = self.host.now;
        let connection = self.host.connection(id);
        let end = connection.endpoint.acked() + connection.held_for_sending();
        if zero_copy {
            connection.zero_copies.push(end);
        }
        if let Some(flags) = stamped {
            connection.stamps.add(end, flags);
            connection.note_times(now);
        }
    }

    /// `SO_TIMESTAMPING` is set on a connection.
    pub(super) fn begin_timestamps(&mut self, id: ConnectionId) {
        let connection = self.host.connection(id);
        connection.stamps.count_from(connection.endpoint.acked() + connection.held_for_sending());
    }
}
