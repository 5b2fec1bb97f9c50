//! One flow over one link: what the summary says of it.

use crate::support::*;
use lasthop_sim::{Amount, Workload, World};
use serde_json::json;
use units::{Bytes, Duration, Instant};

#[test]
fn a_bulk_transfer_completes_at_about_the_rate_of_the_link() {
    let outcome = run(pair(slow(), 1_000_000));
    let flow = &outcome.summary.flows[0];
    println!("{}", serde_json::to_string_pretty(&outcome.summary).unwrap());
    assert!(flow.completed);
    assert_eq!(flow.bytes, 1_000_000);
    // 1460 of 1500 bytes are payload: 4.11 s of sending, and round trips of 0.1 s at both ends.
    let elapsed = flow.elapsed_s.unwrap();
    assert!((4.2..5.5).contains(&elapsed), "{elapsed} s");
    assert_eq!(outcome.summary.stopped_by, "every flow closed");
}

#[test]
fn milestones_are_reported_in_the_order_of_the_specification() {
    let mut spec = pair(slow(), 100_000);
    spec.flows[0].milestones = vec![Bytes(50_000), Bytes(10_240), Bytes(100_000), Bytes(200_000)];
    let outcome = run(spec);
    let flow = &outcome.summary.flows[0];
    let reached: Vec<Option<f64>> = flow.milestones.iter().map(|milestone| milestone.elapsed_s).collect();
    assert!(reached[1] < reached[0] && reached[0] < reached[2], "{reached:?}");
    assert!(reached[2] <= flow.elapsed_s);
    assert_eq!(reached[3], None);
}

#[test]
fn a_flow_until_a_time_stops_writing_then_and_completes() {
    let mut spec = pair(slow(), 0);
    spec.flows[0].workload = Workload::Bulk(Amount::Until(SECOND * 10));
    let outcome = run(spec);
    let flow = &outcome.summary.flows[0];
    assert!(flow.completed, "{flow:?}");
    let elapsed = flow.elapsed_s.unwrap();
    assert!((10.0..11.5).contains(&elapsed), "{elapsed} s");
    assert!(flow.bytes > 2_000_000, "{} bytes", flow.bytes);
}

#[test]
fn the_stop_time_ends_a_run_whose_flow_has_not_completed() {
    let mut spec = pair(slow(), 10_000_000);
    spec.stop = Some(SECOND * 3);
    let outcome = run(spec);
    let flow = &outcome.summary.flows[0];
    assert!(!flow.completed);
    assert!(flow.bytes > 0 && flow.bytes < 10_000_000);
    assert_eq!((outcome.summary.stopped_s, outcome.summary.stopped_by.as_str()), (3.0, "stop time"));
    assert!(flow.elapsed_s.unwrap() <= 3.0);
}

#[test]
fn a_flow_that_nobody_answers_is_given_up() {
    let dead = config(json!({ "errors": { "probability": 1.0, "effect": "drop" } }));
    let outcome = run(pair(dead, 1000));
    let flow = &outcome.summary.flows[0];
    assert!(!flow.completed);
    assert_eq!((flow.elapsed_s, flow.throughput_bps, flow.bytes), (None, None, 0));
    assert!(flow.retransmissions >= 3, "{flow:?}");
    assert_eq!(flow.unnecessary_retransmissions, 0);
    assert_eq!(outcome.summary.stopped_by, "every flow closed");
}

#[test]
fn a_flow_that_never_gives_up_is_not_waited_for_for_ever() {
    let dead = config(json!({ "errors": { "probability": 1.0, "effect": "drop" } }));
    let mut spec = pair(dead, 1000);
    spec.flows[0].sender = tcp(json!({ "syn_retries": 1_000_000 }));
    let summary = run(spec).summary;
    assert_eq!(summary.stopped_by, "nothing had arrived for an hour");
    assert!((3600.0..3800.0).contains(&summary.stopped_s), "{} s", summary.stopped_s);
}

#[test]
fn a_flow_whose_timers_are_long_is_waited_for_longer() {
    let dead = config(json!({ "errors": { "probability": 1.0, "effect": "drop" } }));
    let mut spec = pair(dead, 1000);
    spec.flows[0].sender = tcp(json!({ "rto": { "rfc6298": { "max": "1 h" } }, "syn_retries": 12 }));
    let summary = run(spec).summary;
    assert_eq!(summary.stopped_by, "every flow closed");
    assert!(summary.stopped_s > 3600.0, "{} s", summary.stopped_s);
}

#[test]
fn a_world_in_which_nothing_happens_ends_when_the_last_thing_has() {
    let empty_world = run(empty("void")).summary;
    assert_eq!((empty_world.stopped_s, empty_world.stopped_by.as_str()), (0.0, "nothing left to happen"));
    let mut world = World::new(empty("void")).unwrap();
    world.run_until(Instant::START + SECOND).unwrap();
    world.run().unwrap();
    assert_eq!(world.finish().summary, empty_world);
}

#[test]
fn running_step_by_step_is_running_at_once() {
    let spec = pair(slow(), 300_000);
    let at_once = run(spec.clone()).summary;
    let mut world = World::new(spec).unwrap();
    while let Some(next) = world.next_event() {
        world.run_until(next).unwrap();
        assert_eq!(world.now(), next);
        // Looking again changes nothing.
        world.run_until(next).unwrap();
    }
    assert!(world.is_over());
    assert_eq!(world.finish().summary, at_once);
}

#[test]
fn a_start_with_jitter_comes_within_it_and_differs_by_flow_and_seed() {
    let start = |name: &str, seed| {
        let mut spec = pair(slow(), 1000);
        spec.seed = seed;
        spec.flows[0].name = name.to_owned();
        spec.flows[0].start = SECOND;
        spec.flows[0].start_jitter = Some(Duration::from_millis(100));
        World::new(spec).unwrap().next_event().unwrap()
    };
    let starts = [start("a", 1), start("b", 1), start("a", 2)];
    for start in starts {
        assert!((Instant::START + SECOND..=Instant::START + Duration::from_millis(1100)).contains(&start));
    }
    assert!(starts[0] != starts[1] && starts[0] != starts[2]);
}
