use serde_json::{Value, json};
use units::{Bytes, Duration};

use super::*;

const SMSS: Bytes = Bytes(1000);

fn policy(id: &str, parameters: Value) -> Box<dyn DupThresh> {
    let entry = ENTRIES.iter().find(|entry| entry.id == id).expect("it is listed");
    entry.choice(parameters).expect("the parameters are right").build()
}

fn view(cwnd: u64, flight: u64, advertised: u64) -> View {
    View {
        flight: SMSS * flight,
        cwnd: SMSS * cwnd,
        advertised: SMSS * advertised,
        unsent: Bytes(1 << 40),
        smss: SMSS,
        srtt: None,
        rto: Duration::from_secs(1),
    }
}

fn reordering(extent: u32, retransmitted: bool) -> Reordering {
    Reordering { extent, retransmitted, view: view(100, 100, 1000) }
}

const WIDE: fn() -> View = || view(100, 100, 1000);

#[test]
fn winthresh_of_the_worked_example_is_five() {
    // Landström 2008 §4.4, Figure 4.2: cwnd 4, room for 10 segments at the receiver, so 6 are usable.
    assert_eq!(policy("winthresh", json!({})).segments(&view(4, 4, 10)), 5);
    // One more for each segment of room, one less for each of flight and of the room that it takes.
    assert_eq!(policy("winthresh", json!({ "windows": 9 })).segments(&view(4, 4, 13)), 8);
    assert_eq!(policy("winthresh", json!({ "windows": 9 })).segments(&view(5, 5, 14)), 7);
}

#[test]
fn winthresh_is_bounded_by_r_windows_and_never_below_three_but_for_r() {
    assert_eq!(policy("winthresh", json!({ "windows": 10 })).segments(&view(20, 20, 1000)), 200);
    assert_eq!(policy("winthresh", json!({})).segments(&view(20, 20, 1000)), 40);
    assert_eq!(policy("winthresh", json!({})).segments(&view(8, 10, 10)), 3);
    assert_eq!(policy("winthresh", json!({})).segments(&view(1, 1, 10)), 2);
}

#[test]
fn winthresh_counts_on_no_duplicates_that_nothing_is_left_to_draw() {
    let ending = View { unsent: SMSS * 9, ..view(6, 6, 1000) };
    assert_eq!(policy("winthresh", json!({})).segments(&ending), 6);
}

#[test]
fn a_share_of_the_window_counts_from_four_hundred_segments_on() {
    let policy = policy("window-share", json!({}));
    for (window, threshold) in [(10, 3), (399, 3), (400, 4), (1250, 12)] {
        assert_eq!(policy.segments(&view(window, window, 5000)), threshold, "{window}");
    }
}

#[test]
fn the_constant_increase_follows_needless_fast_retransmits_and_a_timeout_ends_it() {
    let mut policy = policy("constant-increase", json!({ "segments": 2 }));
    assert_eq!(policy.segments(&WIDE()), 3);
    policy.on_reordering(&reordering(50, true));
    policy.on_reordering(&reordering(50, false));
    assert_eq!(policy.segments(&WIDE()), 5);
    policy.on_reordering(&reordering(4, true));
    assert_eq!(policy.segments(&WIDE()), 7);
    policy.on_timeout();
    assert_eq!(policy.segments(&WIDE()), 3);
}

#[test]
fn the_average_goes_half_way_to_each_length() {
    let mut policy = policy("average", json!({}));
    policy.on_reordering(&reordering(13, true));
    assert_eq!(policy.segments(&WIDE()), 8);
    policy.on_reordering(&reordering(13, true));
    assert_eq!(policy.segments(&WIDE()), 11);
    policy.on_reordering(&reordering(90, false));
    assert_eq!(policy.segments(&WIDE()), 11);
    policy.on_timeout();
    assert_eq!(policy.segments(&WIDE()), 3);
}

#[test]
fn the_moving_average_weighs_each_length_by_its_gain() {
    let mut policy = policy("ewma", json!({}));
    policy.on_reordering(&reordering(11, true));
    assert_eq!(policy.segments(&WIDE()), 5);
    policy.on_reordering(&reordering(11, false));
    // 3/4 · 5 + 1/4 · 11 = 6.5, rounded up.
    assert_eq!(policy.segments(&WIDE()), 7);
    policy.on_timeout();
    assert_eq!(policy.segments(&WIDE()), 3);
}

// RFC 6298 §2 with a gain of 1/4 for both: mean 3 + 8/4 = 5, deviation 8/4 = 2, and four deviations; then mean 6.5,
// deviation 2.25 (3/4 · 2 + 1/4 · 6 = 3).
#[test]
fn the_mean_deviation_adds_to_the_mean_and_a_timeout_halves_both() {
    let mut policy = policy("mean-deviation", json!({}));
    policy.on_reordering(&reordering(11, false));
    assert_eq!(policy.segments(&WIDE()), 13);
    policy.on_reordering(&reordering(11, false));
    assert_eq!(policy.segments(&WIDE()), 19);
    policy.on_timeout();
    assert_eq!(policy.segments(&WIDE()), 10);
    policy.on_timeout();
    assert_eq!(policy.segments(&WIDE()), 5);
}

// cwnd · (RTO − SRTT) / SRTT: 20 segments, a round trip of 100 ms.
#[test]
fn the_timer_bounds_the_threshold_of_mean_and_deviation() {
    let mut policy = policy("mean-deviation", json!({}));
    for _ in 0..20 {
        policy.on_reordering(&reordering(500, false));
    }
    let timed = |rto| View {
        srtt: Some(Duration::from_millis(100)),
        rto: Duration::from_millis(rto),
        ..view(20, 20, 1000)
    };
    assert_eq!([100, 110, 200, 350].map(|rto| policy.segments(&timed(rto))), [3, 3, 20, 50]);
}

#[test]
fn no_estimate_exceeds_nine_tenths_of_the_window() {
    for id in ["constant-increase", "average", "ewma", "mean-deviation"] {
        let mut policy = policy(id, json!({}));
        for _ in 0..100 {
            policy.on_reordering(&reordering(500, true));
        }
        assert_eq!(policy.segments(&view(20, 20, 1000)), 18, "{id}");
        assert_eq!(policy.segments(&view(2, 2, 1000)), 3, "{id}");
    }
}

#[test]
fn the_threshold_of_rr_lies_above_a_share_of_all_lengths() {
    let mut policy = policy("rr", json!({ "initial_percent": 90, "step_percent": 0 }));
    for extent in 1..=10 {
        policy.on_reordering(&reordering(extent, false));
    }
    assert_eq!(policy.segments(&WIDE()), 10);
}

#[test]
fn rr_avoids_more_after_a_needless_fast_retransmit_and_less_after_a_timeout() {
    let mut policy = policy("rr", json!({ "initial_percent": 50, "step_percent": 10, "timeout_cost": 2 }));
    for extent in 1..=9 {
        policy.on_reordering(&reordering(extent, false));
    }
    assert_eq!(policy.segments(&WIDE()), 6);
    policy.on_reordering(&reordering(10, true));
    assert_eq!(policy.segments(&WIDE()), 7);
    policy.on_timeout();
    assert_eq!(policy.segments(&WIDE()), 5);
}

#[test]
fn the_share_of_rr_ends_at_the_whole_whatever_the_step() {
    let mut policy =
        policy("rr", json!({ "initial_percent": 100, "step_percent": 100, "timeout_cost": 255 }));
    policy.on_reordering(&reordering(9, true));
    assert_eq!(policy.segments(&WIDE()), 10);
    policy.on_timeout();
    assert_eq!(policy.segments(&WIDE()), 3);
    let refused =
        ENTRIES.iter().find(|entry| entry.id == "rr").map(|rr| rr.choice(json!({ "step_percent": 101 })));
    assert!(refused.is_some_and(|refused| refused.is_err()));
}

#[test]
fn rr_forgets_what_was_long_ago() {
    let mut policy = policy("rr", json!({ "initial_percent": 100, "events": 3 }));
    for extent in [50, 4, 5, 6] {
        policy.on_reordering(&reordering(extent, false));
    }
    assert_eq!(policy.segments(&WIDE()), 7);
}
