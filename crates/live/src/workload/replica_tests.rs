//! Both copies of programs over this machine's loopback, whose messages are late.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread as threads;
use std::time::Duration as StdDuration;

use serde_json::json;
use sim::{FlowSummary, ObservedFlow};
use units::Instant;
use workload::{PortChoice, SocketId, entries};

use super::tests::spec;
use super::*;
use crate::clock::Clock;
use crate::stop::Stop;

/// Every workload but bulk transfers, which have senders and receivers of their own.
pub(super) fn workloads() -> BTreeMap<&'static str, serde_json::Value> {
    let line = json!({ "rate": "10 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    BTreeMap::from([
        ("web", json!({ "think": "20 ms", "size": "100 kB" })),
        ("interactive", json!({ "gap": "20 ms" })),
        ("parallel", json!({ "count": 3, "size": "20 kB" })),
        ("both-ways", json!({ "there": "100 kB", "back": "50 kB" })),
        ("arrivals", json!({ "size": "10 kB", "gap": "30 ms" })),
        ("background", json!({ "share": 0.3, "reverse": 0.3, "of": "lasthop.down", "lines": [line, line] })),
        ("on-off", json!({ "rate": "200 kbit/s", "on": "50 ms", "off": "20 ms" })),
        ("voip", json!({ "talk": "100 ms", "silence": "20 ms" })),
        ("push-to-talk", json!({ "talk": "200 ms", "pause": "20 ms", "frames": 2 })),
        (
            "streaming",
            json!({ "rates": ["400 kbit/s"], "chunk": "50 ms", "startup": "50 ms", "buffer": "200 ms" }),
        ),
        ("constant-rate", json!({ "rate": "200 kbit/s" })),
        ("poisson", json!({ "rate": "200 kbit/s" })),
        ("tfrc", json!({ "packet": "1000 bytes" })),
    ])
}

/// The workloads above are all that there are.
pub(super) fn check_workloads(tested: &BTreeMap<&'static str, serde_json::Value>) {
    let listed: Vec<&str> = entries().map(|entry| entry.id).filter(|id| *id != "bulk").collect();
    let missing: Vec<_> = listed.into_iter().filter(|id| !tested.contains_key(id)).collect();
    assert!(missing.is_empty(), "give {missing:?} parameters that end soon in `workloads()` of this file");
}

/// The least number of transfers and datagrams of a workload: one for each direction, or more than that.
pub(super) fn least(id: &str) -> u64 {
    if id == "both-ways" { 2 } else { 3 }
}

/// Delivers messages to a bus, each `late` after it was sent, until the end of the run.
fn deliver_late(messages: &Messages, clock: Clock, late: Duration, bus: &MessageBus, stop: &Stop) {
    while !stop.stopped() {
        if let Ok((sent, message)) = messages.recv_timeout(StdDuration::from_millis(10)) {
            stop.wait_until(clock, sent + late);
            bus.deliver(message);
        }
    }
}

type Messages = Receiver<(Instant, Envelope)>;

/// A number of flows that differs between processes: a test that runs alongside this one has other ports.
fn flows() -> usize {
    usize::from(std::process::id() as u16 % 10_000)
}

/// The copies of a program at both sides.
pub(super) fn copies(spec: &ProgramSpec, flows: usize) -> PerSide<ProgramSpec> {
    let ports = PortChoice::Agreed { flows };
    let setup = RunnerSetup { ports, is_split: true, ..spec.setup.clone() };
    PerSide::from_fn(|side| ProgramSpec {
        setup: setup.clone(),
        placement: Placement::Split { side },
        ..spec.clone()
    })
}

/// Runs both copies to their end, with messages that are `late`. Returns their outcomes.
fn ran(spec: &ProgramSpec, late: Duration) -> PerSide<ProgramOutcome> {
    let copies = copies(spec, flows());
    let bus = |copy| MessageBus::new(std::iter::once(copy)).expect("descriptors are left");
    let buses = copies.each_ref().map(bus);
    let opened = copies.each_ref().map(|copy| copy.open().expect("free ports"));
    let (stop, clock, namespaces) = (Stop::default(), Clock::start(), BTreeMap::new());
    let (finished, done) = channel();
    let reports = threads::scope(|scope| {
        for side in Side::BOTH {
            let (write, messages) = channel();
            buses[side].set_remote(move |message| drop(write.send((clock.now(), message))));
            let (bus, stop) = (&buses[side.other()], &stop);
            scope.spawn(move || deliver_late(&messages, clock, late, bus, stop));
        }
        let [from, to] = opened.into_array();
        let running = [(from, Side::From), (to, Side::To)].map(|(copy, side)| {
            let running = Running { clock, stop: &stop, bus: &buses[side], namespaces: &namespaces };
            let finished = finished.clone();
            scope.spawn(move || copy.run(running, &mut || finished.send(()).expect("the test waits")))
        });
        let done = [0, 1].map(|_| done.recv_timeout(StdDuration::from_secs(60)));
        stop.stop();
        let ended = running.map(|copy| copy.join().expect("no panic").expect("no error"));
        assert!(done.iter().all(Result::is_ok), "both copies are done: {ended:?}");
        ended
    });
    let [from, to] = reports.map(|report| report.outcome.expect("a copy ran"));
    PerSide::new(from, to)
}

/// The transfers of a copy in the order of their starts. Ends at two sides are reported in two orders.
pub(super) fn transfers(outcome: &ProgramOutcome) -> Vec<workload::Transfer> {
    let mut transfers = outcome.log.transfers().to_vec();
    transfers.sort_unstable();
    transfers
}

/// The connections of a copy: which side opened each, and from which port.
pub(super) fn opened(outcome: &ProgramOutcome) -> BTreeMap<SocketId, (Side, u16)> {
    let connections = outcome.connections.iter();
    connections.map(|one| (one.socket, (one.opener, one.ends[one.opener].port()))).collect()
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

#[test]
fn copies_of_every_workload_do_the_same_however_late_their_messages_are() {
    let workloads = workloads();
    check_workloads(&workloads);
    for (id, parameters) in workloads {
        for late in [0, 40] {
            let spec = spec(json!({ id: parameters }), HALF_A_SECOND);
            let [from, to] = ran(&spec, Duration::from_millis(late)).into_array();
            assert!(from.is_done && to.is_done && from.broken.is_none(), "{id}: {from:?}");
            assert!(from.all_closed, "{id}");
            assert_eq!(opened(&from), opened(&to), "{id}");
            if id != "tfrc" {
                assert_eq!(transfers(&from), transfers(&to), "{id}, {late} ms late: the copies differ");
            }
            let at_least = Duration::from_millis(late);
            assert!(from.heard_late_by >= at_least || from.connections.is_empty(), "{id}");
            let joined = ProgramOutcome::join(from, to);
            assert!(joined.is_done && joined.all_closed, "{id}: {joined:?}");
            let mut observed = ObservedFlow {
                summary: FlowSummary { completed: true, ..FlowSummary::default() },
                connections: Vec::new(),
                transfers: Vec::new(),
                samples: Vec::new(),
            };
            observed.add_program(&joined.log, spec.flow.workload.service(), 0, joined.is_done);
            let count = observed.transfers.len() as u64 + observed.summary.segments_sent;
            assert!(count >= least(id) && observed.summary.completed, "{id}: {observed:?}");
        }
    }
}

#[test]
fn an_echo_does_not_wait_for_the_path_between_the_machines() {
    let late = Duration::from_millis(400);
    let spec = spec(json!({ "interactive": { "gap": "20 ms" } }), HALF_A_SECOND);
    let [from, to] = ran(&spec, late).into_array();
    let fastest = from.log.transfers().iter().map(|transfer| transfer.end - transfer.start).min();
    assert!(fastest.is_some_and(|fastest| fastest < late), "{fastest:?}");
    assert_eq!(to.received, 25, "every key has arrived");
}

#[test]
fn both_copies_continue_with_another_port_where_the_agreed_one_is_in_use() {
    let spec = spec(json!({ "web": { "connection": "persistent", "think": "20 ms" } }), HALF_A_SECOND);
    let agreed = PortChoice::Agreed { flows: flows() }.port(spec.setup.flow, SocketId::FIRST);
    // A page is asked for by the side `to`.
    let address = SocketAddrV4::new(*spec.setup.ends[Side::To].ip(), agreed);
    let taken = TcpListener::bind(address).expect("it is free until now");
    for late in [0, 40] {
        let [from, to] = ran(&spec, Duration::from_millis(late)).into_array();
        assert!(from.is_done && to.is_done && from.broken.is_none(), "{from:?}");
        let opened = opened(&from);
        assert_eq!(opened, self::opened(&to));
        assert!(opened.len() == 1 && opened[&SocketId::FIRST].1 != agreed, "{from:?}");
        assert!(to.received > 0);
    }
    drop(taken);
}
