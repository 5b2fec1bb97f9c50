//! What became of a half of a program, and of both together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddrV4;

use serde::{Deserialize, Serialize};
use sim::workload::{Side, Transfer};
use sim::{FlowSpec, ObservedProgram};
use units::{Bytes, Duration, Instant};

use crate::socket::KernelCounts;

use super::Ran;

/// What became of a half. Times are in nanoseconds of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The numbers of those that arrived.
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
            broken: None,
            woken_late_ns: 0,
            heard_late_ns: 0,
            sent: Vec::new(),
            arrived: Vec::new(),
            refused: Vec::new(),
            transfers: Vec::new(),
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
pub(crate) fn join(flow: &FlowSpec, seed: u64, ends: [SocketAddrV4; 2], from: HalfRan, to: HalfRan) -> Ran {
    let listening = ends[1].port();
    let addresses = |(socket, own): (&u32, &(bool, u16))| {
        // The side that opens a connection knows the port from which it has.
        let (by_from, port) = if own.0 { own } else { to.opened.get(socket).unwrap_or(own) };
        let ports = if *by_from { [*port, listening] } else { [listening, *port] };
        [SocketAddrV4::new(*ends[0].ip(), ports[0]), SocketAddrV4::new(*ends[1].ip(), ports[1])]
    };
    Ran {
        flow: flow.name.clone(),
        program: observed(flow, seed, &from, &to),
        is_done: from.is_done && to.is_done,
        connections: from.opened.iter().map(addresses).collect(),
        all_closed: from.closed == from.opened.len(),
        received: to.received,
        counts: from.counts,
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
