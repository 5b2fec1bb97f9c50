//! The error queue of a socket: completions of writes without a copy, and the times at which data left and were
//! acknowledged (`SO_TIMESTAMPING`).

use std::collections::VecDeque;

use units::{Bytes, Instant};

use super::arguments::Unsupported;
use crate::script::Expression;

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
pub(super) struct Stamp {
    pub at: Instant,
    pub kind: &'static str,
    /// The number of the last byte of the write.
    pub key: u64,
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
    pub(super) fn add(&mut self, end: Bytes, flags: i64) {
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

    /// Takes the oldest time.
    pub(super) fn pop(&mut self) -> Option<Stamp> {
        self.queue.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

fn pop_reached(writes: &mut VecDeque<(Bytes, i64)>, position: Bytes) -> Option<(Bytes, i64)> {
    let reached = writes.front().is_some_and(|(end, _)| *end <= position);
    if reached { writes.pop_front() } else { None }
}
