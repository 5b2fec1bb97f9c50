//! The tables and columns that views and explanations read.

use crate::table::{TableError, Tables};

/// A table, the columns that it must have, and those that older results, captures and kernels may lack.
type Read = (&'static str, &'static [&'static str], &'static [&'static str]);

const READ: [Read; 6] = [
    (
        "segments",
        &[
            "time_ns",
            "flow",
            "host",
            "direction",
            "kind",
            "seq",
            "ack",
            "len",
            "window",
            "packet",
            "retransmission",
        ],
        &["connection", "cause", "needless", "why", "explanation", "sack", crate::delivery::MEASURED],
    ),
    ("flows", &["flow"], &[]),
    (
        "tcp",
        &[
            "time_ns", "flow", "host", "event", "reason", "cwnd", "ssthresh", "srtt_ns", "rto_ns", "phase",
            "flight",
        ],
        &["connection", "len", "pipe", "advertised", "pacing_rate_Bps", "bandwidth_Bps", crate::flow::STATE],
    ),
    (
        "packets",
        &[
            "flow",
            "packet",
            "link",
            "direction",
            "kind",
            "entered_ns",
            "delivered_ns",
            "fate",
            "seq",
            "len",
            "bytes",
        ],
        &["transmitted_ns", "behind", "rule", "delay_ns", "delay_cause", "ack", "retransmission"],
    ),
    ("queue", &["time_ns", "link", "direction", "packets", "bytes"], &[]),
    ("proxies", &["time_ns", "proxy", "flow", "event", "connection"], &["seq", "len"]),
];

/// The columns that are read of a table; none of a table that is not read.
#[must_use]
pub fn columns(table: &str) -> Vec<&'static str> {
    let read = READ.iter().filter(|(name, ..)| *name == table);
    read.flat_map(|(_, needed, others)| needed.iter().chain(*others)).copied().collect()
}

/// The tables that are read.
pub fn names() -> impl Iterator<Item = &'static str> {
    READ.iter().map(|(name, ..)| *name)
}

/// Checks that the tables which are there have what is read of them.
pub(crate) fn check(tables: &Tables) -> Result<(), TableError> {
    let mut there = READ.iter().filter_map(|(name, needed, _)| Some((name, tables.get(*name)?, needed)));
    there.try_for_each(|(name, table, needed)| table.require(name, needed))
}
