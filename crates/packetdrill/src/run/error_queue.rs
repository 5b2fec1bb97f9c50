//! The error queue of a socket: completions of writes without a copy, and the times at which data left and were
//! acknowledged (`SO_TIMESTAMPING`).

use std::collections::VecDeque;

use units::{Bytes, Instant};

use super::ScriptRun;
use super::arguments::{Arguments, Unsupported};
use super::ids::{ConnectionId, START, SocketId};
use super::reply::{CallResult, Reply};
use crate::script::{Call, Expression};
use crate::text::seconds;

/// The flags of `SO_TIMESTAMPING` (include/uapi/linux/net_tstamp.h).
const FLAGS: &[(&str, i64)] = &[
    ("SOF_TIMESTAMPING_TX_SOFTWARE", TX_SOFTWARE),
    ("SOF_TIMESTAMPING_SOFTWARE", 1 << 4),
    ("SOF_TIMESTAMPING_OPT_ID", OPT_ID),
    ("SOF_TIMESTAMPING_TX_SCHED", TX_SCHED),
    ("SOF_TIMESTAMPING_TX_ACK", TX_ACK),
    ("SOF_TIMESTAMPING_OPT_CMSG", 1 << 10),
    ("SOF_TIMESTAMPING_OPT_TSONLY", 1 << 11),
];
const TX_SOFTWARE: i64 = 1 << 1;
const OPT_ID: i64 = 1 << 7;
const TX_SCHED: i64 = 1 << 8;
const TX_ACK: i64 = 1 << 9;

/// The value of `SO_TIMESTAMPING`: a number, or flags by their names.
pub(super) fn timestamping_flags(value: &Expression) -> Result<i64, Unsupported> {
    let flags = match value {
        Expression::List(values) if values.len() == 1 => &values[0],
        other => other,
    };
    if let Some(number) = flags.integer() {
        return Ok(number);
    }
    flags.names().iter().try_fold(0, |all, name| match FLAGS.iter().find(|(known, _)| known == name) {
        Some((_, bit)) => Ok(all | bit),
        None => Err(Unsupported {
            what: format!("the timestamps {name} are not modelled"),
            remedy: "use SOF_TIMESTAMPING_TX_SCHED, _TX_SOFTWARE, _TX_ACK, _SOFTWARE and _OPT_ID".to_owned(),
        }),
    })
}

/// A time in the error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    at: Instant,
    kind: &'static str,
    /// The number of the last byte of the write.
    key: u64,
}

/// The times of the writes of a connection: of the last byte of each.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    /// Ends of writes whose last byte has not left, or is not acknowledged, with the flags of their time.
    unsent: VecDeque<(Bytes, i64)>,
    unacked: VecDeque<(Bytes, i64)>,
    /// The byte of the stream from which keys count.
    origin: Bytes,
    queue: VecDeque<Stamp>,
}

impl Stamps {
    /// The option is set: keys count from the next byte that is written.
    pub(super) const fn count_from(&mut self, written: Bytes) {
        self.origin = written;
    }

    /// A write has handed over the bytes up to `end`.
    fn add(&mut self, end: Bytes, flags: i64) {
        self.unsent.push_back((end, flags));
        self.unacked.push_back((end, flags));
    }

    /// Bytes up to `sent` have left, and up to `acked` are acknowledged. The device takes a packet at once.
    pub(super) fn note(&mut self, now: Instant, sent: Bytes, acked: Bytes) {
        while let Some((end, flags)) = pop_reached(&mut self.unsent, sent) {
            self.push(now, end, flags, TX_SCHED, "SCM_TSTAMP_SCHED");
            self.push(now, end, flags, TX_SOFTWARE, "SCM_TSTAMP_SND");
        }
        while let Some((end, flags)) = pop_reached(&mut self.unacked, acked) {
            self.push(now, end, flags, TX_ACK, "SCM_TSTAMP_ACK");
        }
    }

    fn push(&mut self, at: Instant, end: Bytes, flags: i64, wanted: i64, kind: &'static str) {
        if flags & wanted != 0 {
            let key = if flags & OPT_ID != 0 { end.saturating_sub(self.origin + Bytes(1)).0 } else { 0 };
            self.queue.push_back(Stamp { at, kind, key });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

fn pop_reached(writes: &mut VecDeque<(Bytes, i64)>, position: Bytes) -> Option<(Bytes, i64)> {
    let reached = writes.front().is_some_and(|(end, _)| *end <= position);
    if reached { writes.pop_front() } else { None }
}

impl ScriptRun {
    /// Reads what waits in the error queue.
    pub(super) fn read_error_queue(&mut self, call: &Call) -> CallResult {
        let (_, id) = self.on_connection(call)?;
        let Some(id) = id else { return Ok(Reply::Error("EAGAIN")) };
        match self.host.connection(id).stamps.queue.pop_front() {
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
