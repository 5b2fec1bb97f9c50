//! HTTP/3 over quinn: objects and pages as its requests.

use lasthop_stacks::{QuinnCongestion, QuinnSettings};
use serde_json::{Value, json};
use sim::Outcome;

use crate::quic_user::{ends, numbers, quinn, spec, texts};
use crate::support::outcome;

fn run(workload: Value, down: &Value) -> Outcome {
    outcome(&spec(workload, down), &quinn(QuinnSettings::DEFAULT))
}

/// Bytes of packets on the way up: of requests and acknowledgments.
fn sent_up(outcome: &Outcome) -> u64 {
    let (directions, sizes) = (texts(outcome, "packets", "direction"), numbers(outcome, "packets", "bytes"));
    directions.into_iter().zip(sizes).filter(|(direction, _)| *direction == "up").map(|(_, size)| size).sum()
}

/// A column of the table of requests.
fn column(outcome: &Outcome, name: &str) -> Vec<u64> {
    numbers(outcome, "transfers", name)
}

#[test]
fn objects_come_by_requests_of_one_connection_which_ends_without_an_error() {
    let outcome = run(json!({ "parallel": { "count": 5, "size": "100 kB", "over": "http3" } }), &json!({}));
    let flow = &outcome.summary.flows[0];
    assert_eq!((flow.connections, flow.received, flow.completed), (1, 500_000, true), "{flow:?}");
    assert_eq!(outcome.summary.stopped_by, "every flow closed");
    assert_eq!(column(&outcome, "bytes"), [100_000; 5]);
}

#[test]
fn what_is_lost_comes_again_and_every_byte_is_right() {
    let down = json!({ "errors": { "per": "packet", "probability": 0.03, "effect": "drop" } });
    for size in ["1 byte", "700 bytes", "200 kB"] {
        let outcome = run(json!({ "parallel": { "count": 20, "size": size, "over": "http3" } }), &down);
        let flow = &outcome.summary.flows[0];
        assert!(flow.completed && ends(&outcome).len() == 20, "{size}: {flow:?}");
    }
}

#[test]
fn the_fields_of_a_request_cross_the_link_compressed_and_count_there() {
    let up = |request: &str| {
        let parallel = json!({ "count": 20, "size": "1 kB", "over": "http3", "request": request });
        sent_up(&run(json!({ "parallel": parallel }), &json!({})))
    };
    let grown = up("1100 bytes") - up("100 bytes");
    // Letters and digits have 5 to 7 bits each in the Huffman code of QPACK, and in this cookie 5.7 on average.
    assert!(
        (20 * 600..20 * 900).contains(&grown),
        "20 requests of 1000 bytes more each have {grown} bytes more"
    );
}

#[test]
fn a_run_repeats_to_the_bit_whatever_the_congestion_control() {
    let web = json!({ "web": { "connection": "http3", "objects": 6, "object_size": "20 kB" } });
    for congestion in [QuinnCongestion::Cubic, QuinnCongestion::Bbr] {
        let settings = QuinnSettings { congestion, ..QuinnSettings::DEFAULT };
        let [first, second] = [(); 2].map(|()| outcome(&spec(web.clone(), &json!({})), &quinn(settings)));
        assert_eq!(first.summary, second.summary);
        assert!(first.tables.iter().zip(&second.tables).all(|(one, other)| one == other), "{congestion:?}");
    }
}

#[test]
fn pages_and_their_objects_share_a_connection_that_outlives_the_reading_times() {
    let sizes = json!({ "size": "10 kB", "think": "3 s", "objects": 4, "object_size": "5 kB" });
    let mut pages = Vec::new();
    for (kind, at_least) in [("http3", 1), ("persistent", 1), ("new", 25)] {
        let mut web = sizes.clone();
        web["connection"] = kind.into();
        let outcome = run(json!({ "web": web }), &json!({}));
        let (flow, sizes) = (&outcome.summary.flows[0], column(&outcome, "bytes"));
        assert!(flow.completed && flow.connections >= at_least, "{kind}: {flow:?}");
        assert_eq!(flow.connections == 1, kind != "new", "{kind}: {flow:?}");
        assert_eq!(sizes.iter().filter(|size| **size == 5_000).count(), sizes.len() / 5 * 4, "{kind}");
        assert!(sizes.len() >= 5 * 5, "{kind}: {} requests", sizes.len());
        let (start, end) = (column(&outcome, "start_ns"), column(&outcome, "end_ns"));
        pages.push((end[4] - start[0], start[1..5].iter().all(|asked| *asked == start[1])));
    }
    let [http3, persistent, new] = pages.try_into().unwrap();
    assert!(http3.1 && new.1 && !persistent.1, "all objects are asked for at once, but over HTTP/1.1");
    assert!(http3.0 < persistent.0, "{http3:?} is no shorter than {persistent:?}");
}

#[test]
fn with_zero_rtt_the_first_request_goes_with_the_hello() {
    let parallel = json!({ "parallel": { "count": 1, "size": "1 kB", "over": "http3" } });
    let early = QuinnSettings { zero_rtt: true, ..QuinnSettings::DEFAULT };
    let [without, with] = [QuinnSettings::DEFAULT, early].map(|settings| {
        let outcome = outcome(&spec(parallel.clone(), &json!({})), &quinn(settings));
        assert!(outcome.summary.flows[0].completed);
        ends(&outcome)[0]
    });
    assert!(with < without, "{with} ms with, {without} ms without");
}
