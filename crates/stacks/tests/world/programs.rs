//! Workloads over every two stacks that speak the same, over a link that loses, in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use lasthop_stacks::{Programs, StackId};
use serde_json::{Value, json};
use sim::{Outcome, RecordSpec, Spec, World};
use units::{Duration, FlowId, Instant, NodeId, Side};
use workload::{
    ClientPorts, EndEvent, Ends, HostEvent, HostTable, Key, OutgoingDatagram, ProgramHost, Remains,
    SocketCall, SocketId,
};

use crate::support::{config, flow, lossy, pair, pairs, program, stacks};

/// A link that loses 1 % of the packets, and a workload of 20 s.
fn spec(workload: Value) -> Spec {
    let pair = pair(["left", "right"], [lossy(0.01), lossy(0.01)], flow("f", program(workload, 20)));
    let record = RecordSpec { transfers: true, ..RecordSpec::default() };
    Spec { stop: Some(Duration::from_secs(300)), record, ..pair }
}

fn outcome(spec: &Spec, names: [&str; 2]) -> Outcome {
    crate::support::outcome(spec, &stacks(&names))
}

fn of_connections() -> [Value; 4] {
    let line = json!({ "rate": "2 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    [
        json!({ "web": {} }),
        json!({ "web": { "connection": "persistent" } }),
        json!({ "interactive": {} }),
        json!({ "background": { "share": 0.3, "reverse": 0.2, "of": "lasthop.down", "lines": [line, line] } }),
    ]
}

#[test]
fn programs_over_connections_get_what_they_ask_for_and_close() {
    for names in pairs() {
        for workload in of_connections() {
            let outcome = outcome(&spec(workload.clone()), names);
            let flow = &outcome.summary.flows[0];
            assert!(flow.completed && flow.received > 0, "{names:?} {workload}: {flow:?}");
            assert!(flow.measures.transfers > 3, "{names:?} {workload}: {flow:?}");
            assert_eq!(outcome.summary.stopped_by, "every flow closed", "{names:?} {workload}");
        }
    }
}

#[test]
fn datagrams_go_whatever_the_stacks_are() {
    for names in pairs().into_iter().chain([["smoltcp", "quinn"]]) {
        for workload in [json!({ "voip": {} }), json!({ "tfrc": {} })] {
            let outcome = outcome(&spec(workload.clone()), names);
            let flow = &outcome.summary.flows[0];
            assert!(flow.completed && flow.measures.packets_lost > 0, "{names:?} {workload}: {flow:?}");
            assert!(flow.segments_sent > 100, "{names:?} {workload}: {flow:?}");
        }
    }
}

#[test]
fn datagrams_wait_where_the_link_holds_them_back() {
    let mut spec = spec(json!({ "constant-rate": { "rate": "100 kbit/s", "packet": "500 bytes" } }));
    let slow = config(json!({
        "rate": "50 kbit/s", "queue": { "limit": "2 packets", "overflow": "flow-control" },
    }));
    spec.links[0].down = slow;
    let outcome = outcome(&spec, ["smoltcp", "quinn"]);
    let flow = &outcome.summary.flows[0];
    // 20 s of 25 packets a second, of which each takes two twenty-fifths of a second.
    assert_eq!((flow.segments_sent, flow.measures.packets_lost, flow.completed), (500, 0, true), "{flow:?}");
    assert!(flow.elapsed_s.is_some_and(|elapsed| (39.0..41.0).contains(&elapsed)), "{flow:?}");
}

#[test]
fn a_run_repeats_to_the_bit() {
    for names in pairs() {
        let spec = spec(json!({ "web": {} }));
        let [first, second] = [(); 2].map(|()| outcome(&spec, names));
        assert_eq!(first.summary, second.summary, "{names:?}");
        assert!(first.tables.iter().zip(&second.tables).all(|(one, other)| one == other), "{names:?}");
    }
}

#[test]
fn datagrams_fare_as_in_the_world() {
    let spec = spec(json!({ "voip": {} }));
    let mut world = World::new(spec.clone()).unwrap();
    world.run().unwrap();
    let in_world = world.finish().summary.flows.remove(0);
    let in_bytes = outcome(&spec, ["smoltcp", "smoltcp"]).summary.flows.remove(0);
    let numbers = |flow: &sim::FlowSummary| {
        (flow.segments_sent, flow.bytes, flow.elapsed_s, flow.measures.packets_lost)
    };
    assert_eq!(numbers(&in_bytes), numbers(&in_world));
}

/// A host that notes which ends are opened, with events to report.
#[derive(Default)]
struct Noting {
    opened: Vec<(Ends, bool)>,
    events: VecDeque<HostEvent>,
}

impl ProgramHost for Noting {
    fn open(&mut self, _: Instant, _: Key, ends: Ends, connects: bool) {
        self.opened.push((ends, connects));
    }

    fn call(&mut self, _: Instant, _: Key, _: SocketCall) {}

    fn remove(&mut self, _: Instant, _: Key) -> Remains {
        Remains::default()
    }

    fn send_datagram(&mut self, _: FlowId, _: OutgoingDatagram) {}

    fn poll_event(&mut self, _: Instant, _: &dyn Fn(FlowId) -> bool) -> Option<HostEvent> {
        self.events.pop_front()
    }
}

struct Two([Noting; 2]);

impl HostTable for Two {
    fn host(&mut self, node: NodeId) -> Option<&mut dyn ProgramHost> {
        self.0.get_mut(node.index()).map(|host| host as &mut dyn ProgramHost)
    }
}

#[test]
fn where_an_end_connects_from_another_port_the_other_host_waits_for_that() {
    let spec = spec(json!({ "web": {} }));
    let stacks = BTreeMap::from([(NodeId::new(0), StackId::LASTHOP)]);
    let mut programs =
        Programs::new(&spec, &spec.flows, &stacks, &|_| true, &Arc::new(ClientPorts::after(1)));
    let mut hosts = Two(Default::default());
    let now = programs.poll_timeout().expect("a page is asked for");
    programs.advance(now, &mut hosts);
    // The user is at `to`, and connects to the server at `from`.
    let (user, connects) = hosts.0[1].opened[0];
    assert!(connects && hosts.0[0].opened == [(Ends { local: user.remote, remote: user.local }, false)]);
    let port = user.local.port() + 1000;
    hosts.0[1].events.push_back(HostEvent {
        at: now,
        late_by: Duration::ZERO,
        flow: FlowId::new(0),
        event: EndEvent::OtherPort { socket: SocketId::FIRST, port },
    });
    programs.advance(now, &mut hosts);
    let (waits, connects) = hosts.0[0].opened[1];
    assert!(!connects && waits.local == user.remote);
    assert_eq!((*waits.remote.ip(), waits.remote.port()), (*user.local.ip(), port));
    let ended = programs.finish(now, FlowId::new(0), &mut hosts).expect("it ran");
    let opened = ended.connections[0].ends[Side::To];
    assert_eq!(opened.port(), port, "captures are searched for the connection that there was");
}
