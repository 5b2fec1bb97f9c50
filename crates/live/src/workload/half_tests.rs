//! Both halves of programs over this machine's loopback, which hear each other late.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration as StdDuration;

use serde_json::json;
use sim::workload::{Side, entries};
use sim::{FlowSummary, ObservedFlow};
use units::Instant;

use super::tests::spec;
use super::*;

/// Every workload but bulk transfers, which have senders and receivers of their own.
pub(super) fn workloads() -> BTreeMap<&'static str, serde_json::Value> {
    let line = json!({ "rate": "10 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    BTreeMap::from([
        ("web", json!({ "think": "20 ms", "size": "100 kB" })),
        ("interactive", json!({ "gap": "20 ms" })),
        ("arrivals", json!({ "size": "10 kB", "gap": "30 ms" })),
        ("background", json!({ "share": 0.3, "reverse": 0.3, "of": "lasthop.down", "lines": [line, line] })),
        ("on-off", json!({ "rate": "200 kbit/s", "on": "50 ms", "off": "20 ms" })),
        ("voip", json!({ "talk": "100 ms", "silence": "20 ms" })),
        ("constant-rate", json!({ "rate": "200 kbit/s" })),
        ("poisson", json!({ "rate": "200 kbit/s" })),
        ("tfrc", json!({ "packet": "1000 bytes" })),
    ])
}

/// Delivers messages to a bus, each so long after it came, until the end of the run.
fn deliver_late(messages: &Messages, clock: Clock, late: Duration, bus: &MessageBus, stop: &Stop) {
    while !stop.stopped() {
        if let Ok((sent, message)) = messages.recv_timeout(StdDuration::from_millis(10)) {
            stop.wait_until(clock, sent + late);
            bus.deliver(message);
        }
    }
}

type Messages = Receiver<(Instant, Envelope)>;

/// The flow's place, which is another in each process: what runs beside this has other ports.
fn index() -> usize {
    usize::from(std::process::id() as u16 % 10_000)
}

/// Runs both halves to their end, with so long a way between them. Returns them as they ended: `from`'s, then `to`'s.
fn ran(spec: &WorkloadSpec, late: Duration) -> [HalfRan; 2] {
    let sides = [Side::From, Side::To];
    let halves = sides.map(|side| HalfSpec { workload: spec.clone(), index: index(), flows: 1, side });
    let buses =
        [0, 1].map(|place| MessageBus::new(halves[place..=place].iter()).expect("descriptors are left"));
    let opened = halves.each_ref().map(|half| half.open().expect("free ports"));
    let (stop, clock) = (Stop::default(), Clock::start());
    let (tell, told) = channel();
    thread::scope(|scope| {
        for (own, other) in [(0, 1), (1, 0)] {
            let (write, messages) = channel();
            buses[own].set_remote(move |message| drop(write.send((clock.now(), message))));
            let (bus, stop) = (&buses[other], &stop);
            scope.spawn(move || deliver_late(&messages, clock, late, bus, stop));
        }
        let [from, to] = opened;
        let running = [(from, &buses[0]), (to, &buses[1])].map(|(half, bus)| {
            let (tell, stop) = (tell.clone(), &stop);
            scope.spawn(move || half.run(clock, stop, bus, || tell.send(()).expect("somebody waits")))
        });
        let done = [0, 1].map(|_| told.recv_timeout(StdDuration::from_secs(60)));
        stop.stop();
        let ended = running.map(|half| half.join().expect("no panic").expect("no error"));
        assert!(done.iter().all(Result::is_ok), "both halves are done: {ended:?}");
        ended
    })
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

#[test]
fn halves_of_every_workload_do_the_same_however_late_they_hear_of_each_other() {
    let workloads = workloads();
    let listed: Vec<&str> = entries().map(|entry| entry.id).filter(|id| *id != "bulk").collect();
    assert!(listed.iter().all(|id| workloads.contains_key(id)), "of {listed:?} one is not tested here");
    for (id, parameters) in workloads {
        for late in [0, 40] {
            let spec = spec(json!({ id: parameters }), HALF_A_SECOND);
            let [mut from, mut to] = ran(&spec, Duration::from_millis(late));
            // What ends at two sides is heard in two orders.
            [&mut from, &mut to].into_iter().for_each(|half| half.transfers.sort_unstable());
            assert!(from.is_done && to.is_done && from.broken.is_none(), "{id}: {from:?}");
            assert_eq!(from.closed, from.opened.len(), "{id}");
            assert_eq!(from.opened, to.opened, "{id}");
            if id != "tfrc" {
                assert_eq!(from.transfers, to.transfers, "{id}, {late} ms late: the copies differ");
            }
            assert!(from.heard_late_ns >= late * 1_000_000 || from.opened.is_empty(), "{id}");
            let ends = spec.ends;
            let joined = join(&spec.flow, spec.seed, ends, from, to);
            assert!(joined.is_done && joined.all_closed, "{id}: {joined:?}");
            let mut told = ObservedFlow {
                summary: FlowSummary { completed: true, ..FlowSummary::default() },
                connections: Vec::new(),
                transfers: Vec::new(),
            };
            joined.program.tell(0, joined.is_done, &mut told);
            let count = told.transfers.len() as u64 + told.summary.segments_sent;
            assert!(count > 2 && told.summary.completed, "{id}: {told:?}");
        }
    }
}

#[test]
fn an_echo_does_not_wait_for_the_way_between_the_machines() {
    let late = Duration::from_millis(400);
    let [from, to] = ran(&spec(json!({ "interactive": { "gap": "20 ms" } }), HALF_A_SECOND), late);
    let fastest = from.transfers.iter().map(|(start, end, _)| end - start).min();
    assert!(fastest.is_some_and(|fastest| fastest < late.as_nanos()), "{fastest:?}");
    assert_eq!(to.received, 25, "every key has come");
}

#[test]
fn both_halves_go_on_with_another_port_where_somebody_has_the_one_that_was_agreed() {
    let spec = spec(json!({ "web": { "connection": "persistent", "think": "20 ms" } }), HALF_A_SECOND);
    let agreed = ClientPorts::agreed(1, index(), 0);
    // A page is asked for by the side `to`.
    let taken =
        TcpListener::bind(SocketAddrV4::new(*spec.ends[1].ip(), agreed)).expect("it is free until now");
    for late in [0, 40] {
        let [from, to] = ran(&spec, Duration::from_millis(late));
        assert!(from.is_done && to.is_done && from.broken.is_none(), "{from:?}");
        assert_eq!(from.opened, to.opened);
        assert!(from.opened.len() == 1 && from.opened[&0].1 != agreed, "{from:?}");
        assert!(to.received > 0);
    }
    drop(taken);
}
