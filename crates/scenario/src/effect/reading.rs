//! What a run reads of a resolved scenario.

use link::config::{Overflow, Queue};
use serde_json::Value;

use crate::file::{Live, Stack, Table};
use crate::resolved::{Host, Resolved};

/// The clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Virtual time: stacks in the process.
    Virtual,
    /// Real time: kernels, programs, machines.
    Real,
}

impl Clock {
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

/// The resolved scenario without what a run under `clock` does not read. Equal readings give equal runs.
#[must_use]
pub fn of(resolved: &Resolved, clock: Clock) -> Value {
    let mut read = resolved.clone();
    if clock == Clock::Virtual {
        read.live = Live::default();
        read.hosts.iter_mut().for_each(|host| host.at = None);
        read.links.iter_mut().for_each(|link| link.at = None);
    }
    read.hosts.iter_mut().for_each(host);
    for tcp in read.flows.iter_mut().filter_map(|flow| flow.tcp.as_mut()) {
        // The keys of its TCP say the same.
        tcp.profile = None;
        [&mut tcp.sender, &mut tcp.receiver].into_iter().for_each(options);
    }
    for link in &mut read.links {
        [&mut link.down.queue, &mut link.up.queue].into_iter().for_each(queue);
    }
    records(&mut read);
    classes(&mut read);
    read.to_value()
}

/// A host with our TCP or a kernel's follows the keys of its profile, whatever its name. Another stack has its own TCP.
fn host(host: &mut Host) {
    host.profile.clear();
    match host.stack {
        None | Some(Stack::Lasthop | Stack::Kernel) => options(&mut host.tcp),
        Some(Stack::Quinn) => host.tcp = host.tcp.get("ack").cloned().unwrap_or_default(),
        Some(Stack::Smoltcp | Stack::Program | Stack::Dccp) => host.tcp = Value::Null,
    }
}

/// What belongs to an option of TCP that is off.
const OF_OPTIONS: [(&str, &[&str]); 2] = [
    ("keep_alive", &["keep_alive_idle", "keep_alive_interval", "keep_alive_probes"]),
    ("timestamps", &["paws", "timestamps_required"]),
];

/// The keys of a TCP without those of options that are off.
fn options(tcp: &mut Value) {
    let Value::Object(keys) = tcp else { return };
    for (option, of_it) in OF_OPTIONS {
        if keys.get(option) == Some(&Value::Bool(false)) {
            of_it.iter().for_each(|key| drop(keys.remove(*key)));
        }
    }
}

/// A queue without a limit is never at it.
fn queue(queue: &mut Queue) {
    if queue.limit.is_none() && queue.limit_bytes.is_none() {
        queue.overflow = Overflow::default();
        queue.counts_transmission = false;
    }
}

/// Samples need their table, and only captures keep payload.
fn records(read: &mut Resolved) {
    if !read.record.tables.contains(&Table::Progress) {
        read.measure.sample = None;
    }
    read.record.payload &= !read.record.captures.is_empty();
}

/// Only some queues go by a packet's traffic class. Captures have it in the IP header.
fn classes(read: &mut Resolved) {
    let mut queues = read.links.iter().flat_map(|link| [&link.down.queue, &link.up.queue]);
    if read.record.captures.is_empty() && !queues.any(Queue::reads_classes) {
        read.flows.iter_mut().for_each(|flow| flow.class = 0);
    }
}
