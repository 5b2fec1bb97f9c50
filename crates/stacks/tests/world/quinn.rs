//! Settings of quinn: its congestion controls, its first window, 0-RTT.

use lasthop_stacks::{Assignment, QuinnCongestion, QuinnSettings, Refusal, StackId};
use serde_json::json;
use sim::{FlowSummary, Outcome, RecordSpec, Spec};
use units::{Bytes, Duration};

use crate::support::{assigned, bulk, config, named, only_flow, pair};

/// A download over 4 Mbit/s and 30 ms each way, with room for 30 packets.
fn download(bytes: u64) -> Spec {
    let direction = json!({ "rate": "4 Mbit/s", "propagation": "30 ms", "queue": { "limit": "30 packets" } });
    let direction = config(direction);
    let flow = crate::support::flow("download", bulk(bytes));
    let pair = pair(["server", "phone"], [direction.clone(), direction], flow);
    let record = RecordSpec { tcp: true, ..RecordSpec::default() };
    Spec { stop: Some(Duration::from_secs(60)), record, ..pair }
}

/// quinn at both hosts, with these settings.
fn quinns(settings: [QuinnSettings; 2]) -> Assignment {
    assigned(settings.map(|settings| named("quinn").with_quinn(settings)))
}

fn outcome(bytes: u64, settings: QuinnSettings) -> Outcome {
    crate::support::outcome(&download(bytes), &quinns([settings, settings]))
}

fn flow(outcome: &Outcome) -> &FlowSummary {
    let flow = only_flow(outcome);
    assert!(flow.completed && flow.received == flow.bytes, "{flow:?}");
    flow
}

fn controlled_by(congestion: QuinnCongestion) -> QuinnSettings {
    QuinnSettings { congestion, ..QuinnSettings::DEFAULT }
}

#[test]
fn each_congestion_control_gives_a_run_of_its_own_that_repeats_to_the_bit() {
    let controls = [QuinnCongestion::Cubic, QuinnCongestion::NewReno, QuinnCongestion::Bbr];
    let runs = controls.map(|control| {
        let [first, second] = [(); 2].map(|()| outcome(2_000_000, controlled_by(control)));
        assert_eq!(first.summary, second.summary, "{control:?}");
        assert!(first.tables.iter().zip(&second.tables).all(|(one, other)| one == other), "{control:?}");
        flow(&first).clone()
    });
    let [cubic, new_reno, bbr] = &runs;
    assert_ne!((cubic.elapsed_s, cubic.segments_sent), (new_reno.elapsed_s, new_reno.segments_sent));
    assert_ne!((cubic.elapsed_s, cubic.segments_sent), (bbr.elapsed_s, bbr.segments_sent));
}

#[test]
fn a_first_window_of_one_packet_takes_longer_than_quinns_own() {
    let small = QuinnSettings { initial_window: Some(Bytes(2400)), ..QuinnSettings::DEFAULT };
    assert!(
        flow(&outcome(30_000, small)).elapsed_s > flow(&outcome(30_000, QuinnSettings::DEFAULT)).elapsed_s
    );
}

#[test]
fn with_zero_rtt_a_short_transfer_takes_a_round_trip_less() {
    let early = QuinnSettings { zero_rtt: true, ..QuinnSettings::DEFAULT };
    let [with, without] = [early, QuinnSettings::DEFAULT].map(|settings| {
        let outcome = outcome(2_000, settings);
        flow(&outcome).elapsed_s.unwrap()
    });
    let saved = without - with;
    assert!((0.055..0.1).contains(&saved), "{with} s with, {without} s without");
}

#[test]
fn zero_rtt_at_one_host_is_refused() {
    let early = QuinnSettings { zero_rtt: true, ..QuinnSettings::DEFAULT };
    let spec = download(1_000);
    for stacks in [quinns([early, QuinnSettings::DEFAULT]), quinns([QuinnSettings::DEFAULT, early])] {
        let refused = stacks.check(&spec, &spec.flows, StackId::LASTHOP);
        assert!(matches!(refused, Err(Refusal::ZeroRtt { .. })), "{refused:?}");
    }
}
