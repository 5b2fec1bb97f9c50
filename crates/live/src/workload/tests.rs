//! Programs over the sockets of this machine's loopback: no right is needed.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::Duration as StdDuration;

use serde_json::json;
use sim::workload::Application;
use sim::{FlowSummary, ObservedFlow, Workload};
use units::Instant;

use super::*;

pub(super) fn spec(workload: serde_json::Value, until: Duration) -> WorkloadSpec {
    let application: Application = serde_json::from_value(workload).expect("a workload that the test means");
    let tcp = Arc::new(tcp::Config::from_profile(&json!({})).expect("the default profile is right"));
    let flow = FlowSpec {
        name: "f".to_owned(),
        from: 0,
        to: 1,
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
    WorkloadSpec {
        flow,
        seed: 1,
        peer: "there".to_owned(),
        ends: [free(1), free(2)],
        options: Default::default(),
        ports: Arc::new(ClientPorts::behind(usize::from(std::process::id() as u16 % 10_000))),
    }
}

/// Runs a program to its end.
fn ran(spec: &WorkloadSpec) -> Ran {
    let stop = Stop::default();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            spec.run(Clock::start(), &stop, Places::here(), || tell.send(()).expect("somebody waits"))
        });
        let done = told.recv_timeout(StdDuration::from_secs(60));
        stop.stop();
        done.expect("the program is done");
        running.join().expect("no panic").expect("no error")
    })
}

/// The flow's summary, its lost datagrams being `lost`, and its transfers.
fn told(ran: Ran, lost: u64) -> ObservedFlow {
    let summary = FlowSummary::default();
    let mut flow = ObservedFlow { summary, connections: Vec::new(), transfers: Vec::new() };
    ran.program.tell(lost, ran.is_done, &mut flow);
    flow
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

#[test]
fn pages_are_loaded_over_connections_of_their_own_or_over_one() {
    for (connection, many) in [("new", true), ("persistent", false)] {
        let web = json!({ "web": { "connection": connection, "think": "20 ms", "size": "100 kB" } });
        let ran = ran(&spec(web, HALF_A_SECOND));
        assert!(ran.is_done && ran.all_closed && ran.broken.is_none(), "{ran:?}");
        let (opened, received) = (ran.connections.len(), ran.received);
        let flow = told(ran, 0);
        let pages = flow.transfers.len();
        assert!(pages > 2, "{pages}");
        assert_eq!(opened, if many { pages } else { 1 });
        assert_eq!(received, 100_000 * pages as u64);
        assert!(flow.transfers.iter().all(|page| page.end > page.start && page.start >= Instant::START));
    }
}

#[test]
fn keystrokes_are_echoed() {
    let typed = json!({ "interactive": { "gap": "20 ms", "size": "3 bytes" } });
    let ran = ran(&spec(typed, HALF_A_SECOND));
    assert!(ran.is_done && ran.all_closed, "{ran:?}");
    assert_eq!(ran.connections.len(), 1);
    // From 5 ms on every 20 ms, before 500 ms: however late the thread is woken.
    assert_eq!(ran.received, 3 * 25);
    assert!(told(ran, 0).summary.measures.transfers > 0);
}

#[test]
fn both_sides_open_connections() {
    let line = json!({ "rate": "10 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    let lines = json!([line, line]);
    let background = json!({ "background": {
        "share": 0.5, "reverse": 0.5, "of": "lasthop.down", "lines": lines, "short": "10 kB", "medium": "20 kB",
    } });
    let ran = ran(&spec(background, HALF_A_SECOND));
    assert!(ran.is_done && ran.all_closed, "{ran:?}");
    let listening: std::collections::BTreeSet<bool> =
        ran.connections.iter().map(|one| one.ends[0].port() < one.ends[1].port()).collect();
    assert_eq!(listening.len(), 2, "{:?}", ran.connections);
}

#[test]
fn datagrams_come_as_often_as_in_virtual_time_and_their_sizes_are_those_of_packets() {
    for size in [30, 40, 200] {
        let rate = format!("{} bit/s", size * 8 * 100);
        let even = json!({ "constant-rate": { "rate": rate, "packet": format!("{size} bytes") } });
        let ran = ran(&spec(even, HALF_A_SECOND));
        assert!(ran.is_done && ran.connections.is_empty(), "{ran:?}");
        let summary = told(ran, 0).summary;
        // Every 10 ms from 5 ms on, before 500 ms.
        assert_eq!((summary.segments_sent, summary.bytes, summary.completed), (50, 50 * size, true));
        assert_eq!(summary.measures.packets_lost, 0);
        assert!(summary.measures.delay_mean_s.is_some_and(|delay| delay < 0.1), "{summary:?}");
    }
}

#[test]
fn tfrc_hears_its_feedback() {
    let ran = ran(&spec(json!({ "tfrc": { "packet": "1000 bytes" } }), HALF_A_SECOND));
    let summary = told(ran, 0).summary;
    // Without feedback it would stay at two packets a second or fewer.
    assert!(summary.segments_sent > 20, "{summary:?}");
}

#[test]
fn the_end_of_the_run_ends_a_program_that_is_not_done() {
    let spec = spec(json!({ "voip": {} }), Duration::from_secs(3_600));
    let stop = Stop::default();
    thread::scope(|scope| {
        let running = scope.spawn(|| spec.run(Clock::start(), &stop, Places::here(), || unreachable!()));
        stop.wait_for(StdDuration::from_millis(50));
        stop.stop();
        assert!(!running.join().expect("no panic").expect("no error").is_done);
    });
}
