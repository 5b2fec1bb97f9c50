//! Programs over the sockets of this machine's loopback, which needs no privilege.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::thread as threads;
use std::time::Duration as StdDuration;

use serde_json::json;
use sim::{FlowSummary, ObservedFlow};
use units::Instant;
use workload::{Application, PortChoice, Workload};

use super::*;
use crate::clock::Clock;
use crate::stop::Stop;

/// A program between two kernels, both of which are this machine's.
pub(super) fn spec(workload: serde_json::Value, until: Duration) -> ProgramSpec {
    let application: Application = serde_json::from_value(workload).expect("a workload that the test means");
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).expect("the default profile is right"));
    let nodes = PerSide::new(NodeId::new(0), NodeId::new(1));
    let flow = FlowSpec {
        name: "f".to_owned(),
        from: nodes[Side::From],
        to: nodes[Side::To],
        start: Duration::from_millis(5),
        start_jitter: None,
        class: 0,
        workload: Workload::Application { application, until: Some(until) },
        sender: Arc::clone(&tcp),
        receiver: tcp,
        milestones: Vec::new(),
    };
    let address = |last| Ipv4Addr::new(127, 0, 0, last);
    let free = |last| {
        let socket = UdpSocket::bind((address(last), 0)).expect("a free port");
        SocketAddrV4::new(address(last), socket.local_addr().expect("it is bound").port())
    };
    let ports = Arc::new(ClientPorts::after(usize::from(std::process::id() as u16 % 10_000)));
    let setup = RunnerSetup {
        flow: FlowId::new(0),
        nodes,
        ends: PerSide::new(free(1), free(2)),
        ports: PortChoice::Next(Arc::clone(&ports)),
        feedback: flow.workload.service().feedback,
        is_split: false,
    };
    let placement = Placement::Kernels { peer: "there".to_owned() };
    ProgramSpec { flow, seed: 1, setup, options: PerSide::default(), spare_ports: ports, placement }
}

/// Runs a program until `until_stopped` returns. Returns its outcome.
fn run(spec: &ProgramSpec, until_stopped: impl FnOnce(&Stop, &mpsc::Receiver<()>)) -> ProgramOutcome {
    let (stop, bus, namespaces) = (Stop::default(), MessageBus::default(), BTreeMap::new());
    let (finished, done) = mpsc::channel();
    let running = Running { clock: Clock::start(), stop: &stop, bus: &bus, namespaces: &namespaces };
    let report = threads::scope(|scope| {
        let program = spec.open().expect("free ports");
        let thread =
            scope.spawn(move || program.run(running, &mut || finished.send(()).expect("the test waits")));
        until_stopped(&stop, &done);
        stop.stop();
        thread.join().expect("no panic").expect("no error")
    });
    report.outcome.expect("the program ran here")
}

/// Runs a program to its end.
fn ran(spec: &ProgramSpec) -> ProgramOutcome {
    run(spec, |_, done| done.recv_timeout(StdDuration::from_secs(60)).expect("the program is done"))
}

/// The results of a program's flow.
fn observed(spec: &ProgramSpec, outcome: &ProgramOutcome) -> ObservedFlow {
    let summary = FlowSummary::default();
    let mut flow =
        ObservedFlow { summary, connections: Vec::new(), transfers: Vec::new(), samples: Vec::new() };
    flow.add_program(&outcome.log, spec.flow.workload.service(), 0, outcome.is_done);
    flow
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

#[test]
fn pages_are_loaded_over_connections_of_their_own_or_over_one() {
    for (connection, many) in [("new", true), ("persistent", false)] {
        let web = json!({ "web": { "connection": connection, "think": "20 ms", "size": "100 kB" } });
        let spec = spec(web, HALF_A_SECOND);
        let outcome = ran(&spec);
        assert!(outcome.is_done && outcome.all_closed && outcome.broken.is_none(), "{outcome:?}");
        let flow = observed(&spec, &outcome);
        let pages = flow.transfers.len();
        assert!(pages > 2, "{pages}");
        assert_eq!(outcome.connections.len(), if many { pages } else { 1 });
        assert_eq!(outcome.received, 100_000 * pages as u64);
        assert!(flow.transfers.iter().all(|page| page.end > page.start && page.start >= Instant::START));
    }
}

#[test]
fn keystrokes_are_echoed() {
    let spec = spec(json!({ "interactive": { "gap": "20 ms", "size": "3 bytes" } }), HALF_A_SECOND);
    let outcome = ran(&spec);
    assert!(outcome.is_done && outcome.all_closed, "{outcome:?}");
    assert_eq!(outcome.connections.len(), 1);
    // From 5 ms on every 20 ms, before 500 ms: however late the thread is woken.
    assert_eq!(outcome.received, 3 * 25);
    assert!(observed(&spec, &outcome).summary.measures.transfers > 0);
}

#[test]
fn both_sides_open_connections() {
    let line = json!({ "rate": "10 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    let lines = json!([line, line]);
    let background = json!({ "background": {
        "share": 0.5, "reverse": 0.5, "of": "lasthop.down", "lines": lines, "short": "10 kB", "medium": "20 kB",
    } });
    let outcome = ran(&spec(background, HALF_A_SECOND));
    assert!(outcome.is_done && outcome.all_closed, "{outcome:?}");
    let opened_by = |side| outcome.connections.iter().filter(|one| one.opener == side).count();
    assert!(Side::BOTH.iter().all(|side| opened_by(*side) > 0), "{:?}", outcome.connections);
}

#[test]
fn datagrams_come_as_often_as_in_virtual_time_and_their_sizes_are_those_of_packets() {
    for size in [30, 40, 200] {
        let rate = format!("{} bit/s", size * 8 * 100);
        let even = json!({ "constant-rate": { "rate": rate, "packet": format!("{size} bytes") } });
        let spec = spec(even, HALF_A_SECOND);
        let outcome = ran(&spec);
        assert!(outcome.is_done && outcome.connections.is_empty(), "{outcome:?}");
        let summary = observed(&spec, &outcome).summary;
        // Every 10 ms from 5 ms on, before 500 ms.
        assert_eq!((summary.segments_sent, summary.bytes, summary.completed), (50, 50 * size, true));
        assert_eq!(summary.measures.packets_lost, 0);
        assert!(summary.measures.delay_mean_s.is_some_and(|delay| delay < 0.1), "{summary:?}");
    }
}

#[test]
fn tfrc_gets_its_feedback() {
    let spec = spec(json!({ "tfrc": { "packet": "1000 bytes" } }), HALF_A_SECOND);
    let summary = observed(&spec, &ran(&spec)).summary;
    // Without feedback it would stay at two packets a second or fewer.
    assert!(summary.segments_sent > 20, "{summary:?}");
}

#[test]
fn the_end_of_the_run_ends_a_program_that_is_not_done() {
    let spec = spec(json!({ "voip": {} }), Duration::from_secs(3_600));
    let outcome = run(&spec, |stop, done| {
        stop.wait_for(StdDuration::from_millis(50));
        assert!(done.try_recv().is_err(), "the program is not done");
    });
    assert!(!outcome.is_done);
}
