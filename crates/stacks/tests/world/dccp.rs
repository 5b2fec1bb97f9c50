//! DCCP over links that lose, mark and delay, in virtual time: its share, its equation, and what results say of it.

use lasthop_stacks::{Assignment, Ccid, DccpSettings, Refusal, Run, SetupError, StackId};
use serde_json::{Value, json};
use sim::{Amount, CapturePoint, Outcome, RecordSpec, Spec, Workload};
use units::{Bytes, Duration, NodeId};
use workload::workloads::tfrc::equation;

use crate::support::{assigned, config, flow, named, only_flow, program};

fn bulk(seconds: u64) -> Workload {
    Workload::Bulk(Amount::Until(Duration::from_secs(seconds)))
}

fn pair(down: Value, workload: Workload) -> Spec {
    let up = json!({ "rate": "100 Mbit/s", "propagation": "50 ms" });
    crate::support::pair(["left", "right"], [down, up].map(config), flow("film", workload))
}

/// 100 Mbit/s, 50 ms, and this share of packets lost.
fn lossy(probability: f64) -> Value {
    json!({
        "rate": "100 Mbit/s", "propagation": "50 ms",
        "errors": { "per": "packet", "probability": probability, "effect": "drop" },
    })
}

fn stacks(settings: [Option<DccpSettings>; 2]) -> Assignment {
    let dccp = named("dccp");
    assigned(settings.map(|settings| settings.map_or(StackId::LASTHOP, |settings| dccp.with_dccp(settings))))
}

fn with(ccid: Ccid) -> DccpSettings {
    DccpSettings { ccid, ..DccpSettings::DEFAULT }
}

fn outcome(spec: &Spec, ccid: Ccid) -> Outcome {
    crate::support::outcome(spec, &stacks([Some(with(ccid)), Some(DccpSettings::DEFAULT)]))
}

const BOTH: [Ccid; 2] = [Ccid::TcpLike, Ccid::Tfrc];

#[test]
fn what_is_lost_stays_lost_and_the_rest_is_counted() {
    for ccid in BOTH {
        let outcome = outcome(&pair(lossy(0.02), bulk(20)), ccid);
        let flow = only_flow(&outcome);
        assert!(flow.completed && flow.retransmissions == 0 && flow.fast_retransmits == 0, "{flow:?}");
        let lost = flow.measures.packets_lost;
        assert_eq!(flow.received, (flow.segments_sent - lost) * 1436, "{flow:?}");
        assert_eq!(flow.bytes, flow.received);
        // Errors also take packets without data.
        assert!(lost > 10 && lost <= outcome.summary.links[0].error_drops, "{flow:?}");
        let events = flow.measures.loss_event_rate.expect("DCCP has one");
        assert!((0.005..0.025).contains(&events), "{events}");
        assert_eq!(outcome.summary.stopped_by, "every flow closed");
    }
}

#[test]
fn the_mean_rate_of_ccid_3_is_that_of_the_equation_over_random_losses() {
    for (loss, seconds) in [(0.001, 200), (0.01, 120), (0.1, 120)] {
        let outcome = outcome(&pair(lossy(loss), bulk(seconds)), Ccid::Tfrc);
        let flow = only_flow(&outcome);
        let p = flow.measures.loss_event_rate.expect("DCCP has one");
        let rate = flow.segments_sent as f64 / seconds as f64;
        let expected = equation::rate(1.0, Duration::from_millis(100), p);
        // RFC 5348 gives no tolerance; Floyd et al. 2000 have TFRC within a factor of two of TCP.
        assert!((0.5..2.0).contains(&(rate / expected)), "{loss}: {rate} of {expected} packets a second");
    }
}

#[test]
fn marks_of_a_queue_are_congestion_and_lose_nothing() {
    // CoDel marks and never drops; RED drops where its average exceeds the maximum, as after a slow start.
    let marking = json!({
        "rate": "4 Mbit/s", "propagation": "50 ms",
        "queue": { "limit": "1000 packets", "discipline": { "codel": { "ecn": true } } },
    });
    for ccid in BOTH {
        let outcome = outcome(&pair(marking.clone(), bulk(30)), ccid);
        let flow = only_flow(&outcome);
        assert_eq!((flow.measures.packets_lost, outcome.summary.links[0].queue_drops), (0, 0), "{flow:?}");
        assert!(flow.measures.loss_event_rate.is_some_and(|rate| rate > 0.001), "{flow:?}");
        assert!(flow.throughput_bps.is_some_and(|rate| rate > 350_000.0), "{flow:?}");
    }
}

#[test]
fn a_run_repeats_to_the_bit_and_its_records_say_datagrams() {
    for ccid in BOTH {
        let mut spec = pair(lossy(0.02), bulk(5));
        spec.record = RecordSpec {
            packets: true,
            tcp: true,
            segments: true,
            captures: vec![CapturePoint::Node(NodeId::new(0))],
            ..RecordSpec::default()
        };
        let [first, second] = [(); 2].map(|()| outcome(&spec, ccid));
        assert_eq!((&first.summary, &first.captures), (&second.summary, &second.captures));
        let column = |table: &str, name: &str| {
            let (_, table) =
                first.tables.iter().find(|(known, _)| *known == table).expect("it was asked for");
            let texts = arrow_array::cast::as_string_array(table.column_by_name(name).expect("it is there"));
            texts.iter().flatten().map(str::to_owned).collect::<Vec<_>>()
        };
        let kinds = column("packets", "kind");
        assert!(kinds.iter().filter(|kind| *kind == "datagram").count() > 100, "{kinds:?}");
        assert!(!kinds.contains(&"retransmission".to_owned()));
        let events = column("tcp", "event");
        assert!(events.contains(&"congestion".to_owned()) && !events.contains(&"fast_retransmit".to_owned()));
    }
}

#[test]
fn programs_send_their_datagrams_over_it_and_a_full_queue_refuses() {
    for ccid in BOTH {
        let calm = outcome(&pair(lossy(0.0), program(json!({ "voip": {} }), 20)), ccid);
        let call = only_flow(&calm);
        // The first frames find the queue full, until the handshake is done and the window has grown.
        assert!(call.completed && call.segments_sent > 100, "{call:?}");
        assert!(call.measures.packets_lost < 40, "{call:?}");
        let narrow =
            json!({ "rate": "100 kbit/s", "propagation": "50 ms", "queue": { "limit": "10 packets" } });
        let rate = json!({ "constant-rate": { "rate": "400 kbit/s", "packet": "1000 bytes" } });
        let tight = outcome(&pair(narrow, program(rate, 20)), ccid);
        let source = only_flow(&tight);
        // Most of it never leaves the host: the link drops far less than is lost.
        assert!(source.measures.packets_lost > 600, "{source:?}");
        assert!(tight.summary.links[0].queue_drops < 150, "{:?}", tight.summary.links[0]);
    }
}

#[test]
fn what_dccp_does_not_do_is_refused_with_what_to_write_instead() {
    let refused = |workload: Workload, dccp: [bool; 2]| {
        let settings = dccp.map(|dccp| dccp.then_some(DccpSettings::DEFAULT));
        match Run::new(pair(lossy(0.0), workload), &stacks(settings)) {
            Err(SetupError::Refused(refusal)) => refusal.to_string(),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it should be refused"),
        }
    };
    let both = [true; 2];
    assert!(refused(Workload::Bulk(Amount::Bytes(Bytes(1000))), both).contains("write until"));
    assert!(refused(program(json!({ "web": {} }), 9), both).contains("the workload web is one of reliable"));
    assert!(refused(program(json!({ "tfrc": {} }), 9), both).contains("ccid = 3"));
    let large = program(json!({ "constant-rate": { "rate": "1 Mbit/s" } }), 9);
    assert!(refused(large, both).contains("write packet = \"1464 bytes\" or less"));
    let mixed = refused(bulk(9), [true, false]);
    assert!(mixed.contains("left (dccp) speaks DCCP and right (lasthop) speaks TCP"), "{mixed}");
    let call = refused(program(json!({ "voip": {} }), 9), [false, true]);
    assert!(call.contains("right (dccp) speaks DCCP"), "{call}");
    let live = stacks([Some(DccpSettings::DEFAULT), None]).check_no_dccp(&pair(lossy(0.0), bulk(1)));
    assert!(matches!(live, Err(Refusal::DccpLive { host }) if host == "left"));
}
