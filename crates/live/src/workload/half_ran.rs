//! What became of a half of a program, and of both together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddrV4;

use linux::tcp_info::KernelCounts;
use serde::{Deserialize, Serialize};
use sim::workload::{Side, Transfer};
use sim::{FlowSpec, ObservedProgram, ObservedRecord};
use stacks::{Counters, ProgramConnection, Remains};
use units::{Bytes, Duration, Instant};

use super::Ran;

/// What became of a half. Times are in nanoseconds of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HalfRan {
    pub(crate) flow: String,
    /// Whether it is the half at `from`.
    pub(crate) is_from: bool,
    pub(crate) is_done: bool,
    /// The connections by number: whether `from` opened it, and the port of the end that connected.
    pub(crate) opened: BTreeMap<u32, (bool, u16)>,
    /// Connections that were closed at both ends.
    pub(crate) closed: usize,
    /// Bytes that were read and checked, at `to`.
    pub(crate) received: u64,
    /// The kernel's counters at `from`.
    pub(crate) counts: KernelCounts,
    /// The counts of the stack at `from`, if it has any.
    #[serde(with = "as_line")]
    pub(crate) counters: Option<Counters>,
    pub(crate) broken: Option<String>,
    pub(crate) woken_late_ns: u64,
    /// How late it heard of the other half at most.
    pub(crate) heard_late_ns: u64,
    /// Datagrams that were sent here: time and size.
    pub(crate) sent: Vec<(u64, u64)>,
    /// Datagrams that arrived here: time, number and size.
    pub(crate) arrived: Vec<(u64, u64, u64)>,
    /// Numbers of those that the socket refused.
    pub(crate) refused: Vec<u64>,
    /// Transfers that the program reported: start, end and size.
    pub(crate) transfers: Vec<(u64, u64, u64)>,
    /// The decisions of the stack here, by connection; those of another machine are not told.
    #[serde(skip)]
    records: BTreeMap<u32, Vec<ObservedRecord>>,
    /// The numbers of the datagrams that arrived.
    #[serde(skip)]
    numbers: BTreeSet<u64>,
}

impl HalfRan {
    pub(super) fn new(flow: &str, side: Side) -> Self {
        Self {
            flow: flow.to_owned(),
            is_from: side == Side::From,
            is_done: false,
            opened: BTreeMap::new(),
            closed: 0,
            received: 0,
            counts: KernelCounts::default(),
            counters: None,
            broken: None,
            woken_late_ns: 0,
            heard_late_ns: 0,
            sent: Vec::new(),
            arrived: Vec::new(),
            refused: Vec::new(),
            transfers: Vec::new(),
            records: BTreeMap::new(),
            numbers: BTreeSet::new(),
        }
    }

    pub(super) fn report(&mut self, transfer: Transfer) {
        self.transfers.push((transfer.start.as_nanos(), transfer.end.as_nanos(), transfer.bytes.0));
    }

    /// A datagram has arrived. Returns whether it is no copy.
    pub(super) fn arrive(&mut self, at: Instant, number: u64, size: Bytes) -> bool {
        let is_new = self.numbers.insert(number);
        if is_new {
            self.arrived.push((at.as_nanos(), number, size.0));
        }
        is_new
    }

    /// What is left of an end that is over, or was open at the end of the run.
    pub(super) fn count(&mut self, socket: u32, remains: Remains) {
        if self.is_from {
            if let Some(counters) = remains.counters {
                self.counters.get_or_insert_default().add(&counters);
            }
        } else {
            self.received += remains.read;
        }
        if !remains.records.is_empty() {
            self.records.insert(socket, remains.records);
        }
    }

    /// How many datagrams have arrived, without copies.
    pub(super) fn distinct(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Brings the times of its datagrams to another clock.
    pub(crate) fn correct(&mut self, correct: impl Fn(Instant) -> Instant) {
        let times = self.sent.iter_mut().map(|(at, _)| at);
        for at in times.chain(self.arrived.iter_mut().map(|(at, ..)| at)) {
            *at = correct(Instant::from_nanos(*at)).as_nanos();
        }
    }
}

/// Joins the halves of a flow's program at `from` and at `to`; `ends` are the ends of its datagrams.
pub(crate) fn join(
    flow: &FlowSpec,
    seed: u64,
    ends: [SocketAddrV4; 2],
    mut from: HalfRan,
    mut to: HalfRan,
) -> Ran {
    let listening = ends[1].port();
    let mut records = [&mut from, &mut to].map(|half| std::mem::take(&mut half.records));
    let connection = |(socket, own): (&u32, &(bool, u16))| {
        // The side that opens a connection knows the port from which it has.
        let (by_from, port) = if own.0 { own } else { to.opened.get(socket).unwrap_or(own) };
        let ports = if *by_from { [*port, listening] } else { [listening, *port] };
        let ends = [0, 1].map(|side| SocketAddrV4::new(*ends[side].ip(), ports[side]));
        ProgramConnection {
            ends,
            records: records.each_mut().map(|side| side.remove(socket).unwrap_or_default()),
        }
    };
    let connections = from.opened.iter().map(connection).collect();
    Ran {
        flow: flow.name.clone(),
        program: observed(flow, seed, &from, &to),
        is_done: from.is_done && to.is_done,
        connections,
        all_closed: from.closed == from.opened.len(),
        received: to.received,
        counts: from.counts,
        counters: from.counters,
        woken_late_by: Duration::from_nanos(from.woken_late_ns.max(to.woken_late_ns)),
        heard_late_by: Some(Duration::from_nanos(from.heard_late_ns.max(to.heard_late_ns))),
        broken: from.broken.or(to.broken),
    }
}

/// What the program did, as if one had seen both ends: all that was sent, then all that arrived.
fn observed(flow: &FlowSpec, seed: u64, from: &HalfRan, to: &HalfRan) -> ObservedProgram {
    let mut program = ObservedProgram::new(flow.program(seed).1);
    let at = Instant::from_nanos;
    for (sent, size) in &from.sent {
        program.send_datagram(at(*sent), Side::From, Bytes(*size));
    }
    from.refused.iter().for_each(|number| program.lose_datagram(*number));
    for (arrived, number, size) in &to.arrived {
        let sent = usize::try_from(*number).ok().and_then(|place| from.sent.get(place));
        // Clocks of two machines agree within half a round trip, and nothing arrives before it was sent.
        let arrived = sent.map_or(*arrived, |(sent, _)| (*arrived).max(*sent));
        program.receive_datagram(at(arrived), Side::From, *number, Bytes(*size));
    }
    // Each copy reports the same; the one that was behind at the end of the run may lack the last.
    let most = if to.transfers.len() > from.transfers.len() { to } else { from };
    let mut transfers: Vec<_> = most.transfers.iter().collect();
    transfers.sort_by_key(|(start, end, _)| (end, start));
    for (start, end, bytes) in transfers {
        program.report(Transfer { start: at(*start), end: at((*end).max(*start)), bytes: Bytes(*bytes) });
    }
    program
}

/// [`Counters`] as a line: packets, lost, probe timeouts, congestion events; first sent and last heard, in nanoseconds of the
/// run.
pub(crate) type CountersLine = ([u64; 4], [Option<u64>; 2]);

/// Returns a stack's counts as a line.
pub(crate) fn counters_line(counters: Counters) -> CountersLine {
    let Counters { packets, lost, probe_timeouts, congestion_events, first_sent, last_heard } = counters;
    let times = [first_sent, last_heard].map(|time| time.map(Instant::as_nanos));
    ([packets, lost, probe_timeouts, congestion_events], times)
}

/// Returns the counts of a line.
pub(crate) fn counters_of((counts, times): CountersLine) -> Counters {
    let [packets, lost, probe_timeouts, congestion_events] = counts;
    let [first_sent, last_heard] = times.map(|time| time.map(Instant::from_nanos));
    Counters { packets, lost, probe_timeouts, congestion_events, first_sent, last_heard }
}

/// A stack's counts as a line of the control stream.
mod as_line {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use stacks::Counters;

    use super::{CountersLine, counters_line, counters_of};

    pub(super) fn serialize<S: Serializer>(counters: &Option<Counters>, to: S) -> Result<S::Ok, S::Error> {
        counters.map(counters_line).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Counters>, D::Error> {
        Ok(Option::<CountersLine>::deserialize(from)?.map(counters_of))
    }
}
