//! Workloads in whole worlds: pages, echoes, voice, and who waits for what.

use lasthop_sim::{FlowSpec, Outcome, RecordSpec, Spec, WindowSpec, Workload};
use serde_json::{Value, json};
use units::Duration;

use crate::support::*;

fn working(name: &str, from: usize, to: usize, workload: Value, until: u64) -> FlowSpec {
    let application: workload::Application = serde_json::from_value(workload).unwrap();
    application.check().unwrap();
    let workload = Workload::Application { application, until: Some(SECOND * until) };
    FlowSpec { workload, ..flow(name, from, to, 0) }
}

/// Two hosts and one flow of this workload.
fn one(link: link::Config, workload: Value, until: u64) -> Spec {
    let mut spec = pair(link, 0);
    spec.flows = vec![working("work", 0, 1, workload, until)];
    spec
}

/// 10 Mbit/s and 20 ms each way, with room enough.
fn roomy() -> link::Config {
    config(json!({ "rate": "10 Mbit/s", "propagation": "20 ms", "queue": { "limit": "1000 packets" } }))
}

fn packets_by_fate(outcome: &Outcome) -> (u64, u64) {
    let down = &outcome.summary.links[0];
    (down.packets_in, down.packets_out + down.queue_drops + down.error_drops + down.packets_inside)
}

#[test]
fn a_page_over_a_new_connection_takes_two_round_trips_and_its_bytes() {
    let outcome = run(one(roomy(), json!({ "web": { "size": "1000 bytes", "think": "1 s" } }), 10));
    let flow = &outcome.summary.flows[0];
    assert!(flow.completed, "{flow:?}");
    // A page, and a second to read it: 10 s hold nine of them.
    assert_eq!((flow.connections, flow.measures.transfers, flow.received), (10, 10, 10_000));
    let time = flow.measures.transfer_mean_s.unwrap();
    assert!((0.080..0.083).contains(&time), "two round trips of 40 ms and a little: {time}");
}

#[test]
fn data_both_ways_carry_some_of_the_acks_of_each_other() {
    let outcome = run(one(roomy(), json!({ "both-ways": { "there": "1 MB", "back": "1 MB" } }), 60));
    let flow = &outcome.summary.flows[0];
    assert!(flow.completed, "{flow:?}");
    assert_eq!((flow.connections, flow.measures.transfers, flow.received), (1, 2, 1_000_000));
    let segments = 1_000_000_u64.div_ceil(1460);
    for link in &outcome.summary.links {
        // A receiver alone sends an ACK for every second segment. Data in clusters (Zhang, Shenker and Clark 1991,
        // two-way traffic) leave many of them: while one side's cluster arrives, the other may have nothing to send.
        let acks = link.packets_in - segments;
        assert!(acks < segments / 2 - segments / 20, "{link:?}");
    }
}

#[test]
fn a_direction_that_ends_first_leaves_the_other_to_its_end() {
    let lossy = config(json!({
        "rate": "2 Mbit/s", "propagation": "20 ms", "queue": { "limit": "30 packets" },
        "errors": { "probability": 0.02, "effect": "drop" },
    }));
    for (there, back) in [("10 kB", "500 kB"), ("500 kB", "10 kB")] {
        let outcome = run(one(lossy.clone(), json!({ "both-ways": { "there": there, "back": back } }), 600));
        let flow = &outcome.summary.flows[0];
        assert!(flow.completed && flow.measures.transfers == 2, "{there} {back}: {flow:?}");
    }
}

#[test]
fn a_call_beside_a_full_queue_has_a_lower_score() {
    let narrow = |limit: &str| {
        config(json!({ "rate": "1 Mbit/s", "propagation": "30 ms", "queue": { "limit": limit } }))
    };
    let score = |limit: &str| {
        let mut spec = one(narrow(limit), json!({ "voip": {} }), 60);
        spec.flows.push(flow("download", 0, 1, 2_000_000));
        run(spec).summary.flows[0].measures.mos.expect("a call has a score")
    };
    let (short, long) = (score("5 packets"), score("30 packets"));
    assert!(long < short && short < 4.5, "{short} {long}");
    let alone = run(one(narrow("30 packets"), json!({ "voip": {} }), 60)).summary.flows.remove(0).measures;
    assert_eq!(alone.frame_loss, Some(0.0));
    assert!(
        (4.1..4.3).contains(&alone.mos.unwrap()),
        "170 ms, and a codec with an impairment of 5: {alone:?}"
    );
    let download = run(one(narrow("30 packets"), json!({ "web": {} }), 60)).summary.flows.remove(0).measures;
    assert_eq!((download.r_factor, download.mos), (None, None));
}

#[test]
fn a_stream_stalls_where_the_link_is_slower_than_its_lowest_rate() {
    let stream = |link_rate: &str| {
        let link = config(json!({ "rate": link_rate, "propagation": "20 ms" }));
        run(one(link, json!({ "streaming": { "rates": ["1 Mbit/s"] } }), 60)).summary.flows.remove(0).measures
    };
    let fast = stream("4 Mbit/s");
    assert_eq!((fast.stalls, fast.stalled_s, fast.media_bit_rate), (Some(0), Some(0.0), Some(1e6)));
    assert!((1.0..1.5).contains(&fast.startup_s.unwrap()), "4 Mbit through 4 Mbit/s: {fast:?}");
    // A chunk of 4 s takes 8 s and its headers: after each, playback waits for 4 s more.
    let slow = stream("500 kbit/s");
    let (stalls, stalled) = (slow.stalls.unwrap(), slow.stalled_s.unwrap());
    assert_eq!(stalls, slow.transfers - 1, "{slow:?}");
    assert!((4.0..5.0).contains(&(stalled / stalls as f64)), "{slow:?}");
}

#[test]
fn a_stream_takes_the_highest_rate_that_keeps_its_buffer_filled() {
    let rates = ["500 kbit/s", "1 Mbit/s", "2 Mbit/s", "4 Mbit/s"];
    let media = |link_rate: &str| {
        let link =
            config(json!({ "rate": link_rate, "propagation": "20 ms", "queue": { "limit": "50 packets" } }));
        let flow = run(one(link, json!({ "streaming": { "rates": rates } }), 600)).summary.flows.remove(0);
        assert_eq!(flow.measures.stalls, Some(0), "{link_rate}: {flow:?}");
        flow.measures.media_bit_rate.unwrap()
    };
    assert!(media("10 Mbit/s") > 3.5e6);
    // Between 1 and 2 Mbit/s it goes up and down with its buffer.
    assert!((1.2e6..1.6e6).contains(&media("1.6 Mbit/s")));
}

#[test]
fn push_to_talk_sends_a_packet_for_every_eight_frames() {
    let talk = json!({ "push-to-talk": { "talk": "1.6 s", "pause": "400 ms" } });
    let flow = run(one(roomy(), talk, 20)).summary.flows.remove(0);
    // Ten bursts of 1.6 s, with a packet every 160 ms.
    assert_eq!((flow.segments_sent, flow.measures.packets_lost, flow.measures.packets_late), (100, 0, 0));
    assert_eq!(flow.measures.r_factor, None);
}

#[test]
fn with_fast_open_every_page_but_the_first_saves_a_round_trip() {
    let mut spec = one(roomy(), json!({ "web": { "size": "1000 bytes", "think": "1 s" } }), 10);
    spec.flows[0].sender = tcp(json!({ "fast_open": "server" }));
    spec.flows[0].receiver = tcp(json!({ "fast_open": "client" }));
    let flow = run(spec).summary.flows.remove(0);
    assert!(flow.completed, "{flow:?}");
    assert_eq!((flow.connections, flow.measures.transfers, flow.retransmissions), (10, 10, 0));
    let (mean, median) = (flow.measures.transfer_mean_s.unwrap(), flow.measures.transfer_p50_s.unwrap());
    assert!((0.040..0.043).contains(&median), "one round trip: {median}");
    assert!((0.044..0.047).contains(&mean), "but two for the first, which asks for the cookie: {mean}");
}

#[test]
fn fast_open_needs_both_ends() {
    for (sender, receiver) in [(json!(false), json!(true)), (json!(true), json!(false))] {
        let mut spec = one(roomy(), json!({ "web": { "size": "1000 bytes", "think": "1 s" } }), 10);
        spec.flows[0].sender = tcp(json!({ "fast_open": sender }));
        spec.flows[0].receiver = tcp(json!({ "fast_open": receiver }));
        let flow = run(spec).summary.flows.remove(0);
        assert!(flow.completed, "{flow:?}");
        let time = flow.measures.transfer_mean_s.unwrap();
        assert!((0.080..0.083).contains(&time), "two round trips: {time}");
    }
}

#[test]
fn fast_open_on_a_lossy_link_gets_all_pages_whole() {
    let lossy = config(json!({
        "rate": "2 Mbit/s", "propagation": "20 ms", "queue": { "limit": "30 packets" },
        "errors": { "probability": 0.1, "effect": "drop" },
    }));
    let mut spec = one(lossy, json!({ "web": {} }), 60);
    spec.flows = (0..5).map(|n| working(&format!("user-{n}"), 0, 1, json!({ "web": {} }), 60)).collect();
    for flow in &mut spec.flows {
        flow.sender = tcp(json!({ "fast_open": true }));
        flow.receiver = tcp(json!({ "fast_open": true }));
    }
    let outcome = run(spec);
    let (pages, complete) = (outcome.summary.flows.iter()).fold((0, true), |(pages, complete), flow| {
        (pages + flow.measures.transfers, complete && flow.completed)
    });
    assert!(complete && pages > 50, "{pages} pages, all complete: {complete}");
}

#[test]
fn pages_over_one_connection_save_the_handshake_after_the_first() {
    let web = json!({ "web": { "size": "1000 bytes", "think": "1 s", "connection": "persistent" } });
    let flow = run(one(roomy(), web, 10)).summary.flows.remove(0);
    assert!(flow.completed);
    assert_eq!((flow.connections, flow.measures.transfers), (1, 10));
    let time = flow.measures.transfer_p50_s.unwrap();
    assert!((0.040..0.043).contains(&time), "one round trip: {time}");
}

#[test]
fn users_on_a_lossy_link_get_all_their_pages_whole() {
    let lossy = config(json!({
        "rate": "2 Mbit/s", "propagation": "20 ms", "queue": { "limit": "30 packets" },
        "errors": { "probability": 0.03, "effect": "drop" },
    }));
    let mut spec = one(lossy, json!({ "web": {} }), 60);
    spec.flows = (0..5).map(|n| working(&format!("user-{n}"), 0, 1, json!({ "web": {} }), 60)).collect();
    spec.record = everything(&spec);
    let outcome = run(spec);
    for flow in &outcome.summary.flows {
        assert!(flow.completed && flow.measures.transfers > 10, "{flow:?}");
        assert!(flow.retransmissions > 0 && flow.connections == flow.measures.transfers);
    }
    let (came, went) = packets_by_fate(&outcome);
    assert_eq!(came, went);
}

#[test]
fn a_keystroke_comes_back_after_a_round_trip() {
    let flow = run(one(roomy(), json!({ "interactive": { "gap": "500 ms" } }), 10)).summary.flows.remove(0);
    assert!(flow.completed);
    assert_eq!(flow.measures.transfers, 20);
    let time = flow.measures.transfer_p50_s.unwrap();
    assert!((0.040..0.041).contains(&time), "{time}");
}

#[test]
fn every_keystroke_is_answered_though_segments_end_inside_of_them() {
    let far = config(json!({ "rate": "10 Mbit/s", "propagation": "400 ms" }));
    let typing = json!({ "interactive": { "gap": "100 ms", "size": "1400 bytes" } });
    let flow = run(one(far, typing, 3)).summary.flows.remove(0);
    assert!(flow.completed && flow.measures.transfers == 30, "{flow:?}");
}

#[test]
fn voice_on_a_link_with_room_loses_nothing_and_takes_as_long_as_the_link_does() {
    let flow = run(one(roomy(), json!({ "voip": {} }), 60)).summary.flows.remove(0);
    assert!(flow.completed && flow.segments_sent > 500, "{flow:?}");
    assert_eq!((flow.measures.packets_lost, flow.measures.frame_loss), (0, Some(0.0)));
    // 71 bytes at 10 Mbit/s and 20 ms.
    assert!((flow.measures.delay_mean_s.unwrap() - 0.020_056_8).abs() < 1e-9);
    assert_eq!(flow.measures.jitter_s, Some(0.0));
}

#[test]
fn frames_that_come_too_late_count_as_lost() {
    // A frame takes 59 ms of a link that has one every 20 ms: the queue of 20 delays all beyond 150 ms.
    let slow = config(json!({ "rate": "9600 bit/s", "queue": { "limit": "20 packets" } }));
    let flow = run(one(slow, json!({ "voip": { "talk": "60 s" } }), 60)).summary.flows.remove(0);
    let measures = &flow.measures;
    assert!(measures.packets_lost > 1_000 && measures.packets_late > 500, "{measures:?}");
    let known = flow.segments_sent as f64;
    let expected = (measures.packets_lost + measures.packets_late) as f64 / known;
    assert_eq!(measures.frame_loss, Some(expected));
    assert!(expected > 0.99);
}

#[test]
fn a_link_under_poisson_traffic_keeps_packets_as_long_as_an_m_d_1_queue_does() {
    // Load 0.7 of packets of one size: the wait is ρ / (2 (1 − ρ)) services (Pollaczek and Khinchine).
    let line = config(json!({ "rate": "1 Mbit/s", "queue": { "limit": "100000 packets" } }));
    let poisson = json!({ "poisson": { "rate": "700 kbit/s", "packet": "500 bytes" } });
    let flow = run(one(line, poisson, 4_000)).summary.flows.remove(0);
    let service = 0.004;
    let wait = flow.measures.delay_mean_s.unwrap() - service;
    let theory = service * 0.7 / (2.0 * 0.3);
    assert!((wait / theory - 1.0).abs() < 0.02, "{wait} for {theory}");
}

#[test]
fn doubled_datagrams_count_once_and_damaged_ones_as_lost() {
    let doubling = config(json!({
        "rate": "1 Mbit/s", "propagation": "5 ms", "queue": { "limit": "50 packets" },
        "errors": { "probability": 0.1, "effect": "corrupt" },
        "duplicates": { "probability": 0.2 },
    }));
    let rate = json!({ "constant-rate": { "rate": "100 kbit/s", "packet": "500 bytes" } });
    let flow = run(one(doubling, rate, 100)).summary.flows.remove(0);
    let (sent, lost) = (flow.segments_sent, flow.measures.packets_lost);
    assert_eq!(sent, 2_500);
    assert!((200..300).contains(&lost), "{lost}");
    assert_eq!(flow.received, (sent - lost) * 500);
}

/// Two hosts, and between them a link that copies every packet on its way down, then one that does this.
fn after_a_copier(down: Value, up: Value) -> Spec {
    let rate = |mut value: Value| {
        value["rate"] = json!("1 Mbit/s");
        config(value)
    };
    let mut copier = link("copier", [0, 1], rate(json!({})));
    copier.down = rate(json!({ "duplicates": { "probability": 1.0 } }));
    let mut then = link("then", [1, 2], rate(up));
    then.down = rate(down);
    Spec { nodes: vec![host(1), router("middle"), host(2)], links: vec![copier, then], ..empty("copies") }
}

#[test]
fn a_datagram_of_which_a_copy_arrives_is_not_lost() {
    let mut spec = after_a_copier(json!({ "errors": { "probability": 0.3, "effect": "drop" } }), json!({}));
    let rate = json!({ "constant-rate": { "rate": "100 kbit/s", "packet": "500 bytes" } });
    spec.flows = vec![working("work", 0, 2, rate, 40)];
    let flow = run(spec).summary.flows.remove(0);
    let (sent, lost) = (flow.segments_sent, flow.measures.packets_lost);
    assert_eq!((sent, flow.received), (1_000, (sent - lost) * 500));
    // Both of them are lost with 0.3²: 90 ± 4 standard deviations.
    assert!(lost.abs_diff(90) < 4 * 9, "{lost}");
}

#[test]
fn a_damaged_copy_of_a_segment_that_arrived_makes_no_timeout_genuine() {
    // The data's copy is the sixth packet; the acknowledgment of the data comes long after the timeout.
    let late = json!([{ "packet": 3, "effect": "delay", "delay": "20 s" }]);
    let damaged = json!([{ "packet": 6, "effect": "corrupt" }]);
    let mut spec = after_a_copier(json!({ "events": damaged }), json!({ "events": late }));
    spec.flows = vec![flow("download", 0, 2, 1_000)];
    let flow = run(spec).summary.flows.remove(0);
    assert!(flow.completed && flow.timeouts > 0 && flow.spurious_timeouts == flow.timeouts, "{flow:?}");
}

#[test]
fn another_user_changes_nobodys_pages() {
    let think = json!({ "web": { "size": "2 kB" } });
    let alone = run(one(roomy(), think.clone(), 20)).summary.flows.remove(0);
    let mut spec = one(roomy(), think, 20);
    spec.nodes.extend([host(8), host(9)]);
    spec.links.push(link("elsewhere", [2, 3], roomy()));
    spec.flows.insert(0, working("stranger", 2, 3, json!({ "web": {} }), 20));
    assert_eq!(run(spec).summary.flows[1], alone);
}

#[test]
fn what_is_recorded_of_many_connections_changes_nothing_and_distinguishes_them() {
    let web = json!({ "web": { "size": { "uniform": ["1 kB", "60 kB"] }, "think": "100 ms" } });
    let spec = one(slow(), web, 20);
    let bare = run(spec.clone());
    let recorded = run(Spec { record: everything(&spec), ..spec });
    assert_eq!(bare.summary, recorded.summary);
    let (_, segments) = recorded.tables.iter().find(|(name, _)| *name == "segments").unwrap();
    let numbers = segments["connection"].as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
    let most = numbers.values().iter().max().unwrap();
    assert_eq!(*most as u64, bare.summary.flows[0].connections);
    assert!(recorded.captures.iter().all(|(_, file)| file.len() > 1_000));
}

#[test]
fn a_user_on_a_bad_link_still_gets_page_after_page() {
    let broken = config(json!({
        "rate": "1 Mbit/s", "propagation": "20 ms", "queue": { "limit": "100 packets" },
        "errors": { "probability": 0.2, "effect": "drop" },
    }));
    let web = json!({ "web": { "size": "5 kB", "think": "200 ms" } });
    let mut spec = one(broken, web, 120);
    spec.stop = Some(Duration::from_secs(600));
    let flow = run(spec).summary.flows.remove(0);
    assert!(flow.measures.transfers > 5, "{flow:?}");
}

#[test]
fn transfers_are_a_table_when_asked_for() {
    let mut spec = one(roomy(), json!({ "web": { "think": "1 s" } }), 5);
    spec.record = RecordSpec { transfers: true, ..RecordSpec::default() };
    let outcome = run(spec);
    let (_, table) = outcome.tables.iter().find(|(name, _)| *name == "transfers").unwrap();
    assert_eq!(table.num_rows() as u64, outcome.summary.flows[0].measures.transfers);
}

/// The share of a direction's capacity that has left it over the run.
fn load(outcome: &Outcome, direction: usize, capacity: f64, seconds: f64) -> f64 {
    outcome.summary.links[direction].measures.bytes_out as f64 * 8.0 / capacity / seconds
}

/// Of sizes whose mean settles within some minutes.
fn background(share: f64, reverse: f64) -> Value {
    let medium = json!({ "exponential": { "mean": "50 kB" } });
    let line = |rate: &str| json!({ "rate": rate, "mtu": "1500 bytes", "framing": "0 bytes" });
    let lines = [line("20 Mbit/s"), line("5 Mbit/s")];
    let shares = json!({ "of": "lasthop.down", "share": share, "reverse": reverse, "lines": lines });
    let mut background = json!({ "background": shares });
    (background["background"]["short"], background["background"]["medium"]) = (json!("10 kB"), medium);
    background
}

#[test]
fn background_traffic_loads_the_link_by_its_share_either_way() {
    let seconds = 600;
    for (direction, shares, capacity) in [(0, (0.3, 0.0), 20e6), (1, (0.0, 0.5), 5e6)] {
        let mut spec = one(roomy(), background(shares.0, shares.1), seconds);
        spec.links[0].down.rate = Some(units::Rate::from_bits_per_sec(20_000_000));
        spec.links[0].up.rate = Some(units::Rate::from_bits_per_sec(5_000_000));
        let outcome = run(spec);
        let (load, share) = (load(&outcome, direction, capacity, seconds as f64), shares.0 + shares.1);
        assert!((load / share - 1.0).abs() < 0.05, "{load} for {share}");
        let flow = &outcome.summary.flows[0];
        assert!(flow.connections > 3_000 && flow.measures.transfers == flow.connections, "{flow:?}");
    }
}

#[test]
fn background_without_a_share_of_one_way_leaves_that_way_to_acknowledgments() {
    let outcome = run(one(roomy(), background(0.1, 0.0), 100));
    assert!(outcome.summary.flows[0].received > 1_000_000);
    assert!(load(&outcome, 1, 5e6, 100.0) < 0.03);
}

#[test]
fn background_of_a_link_that_the_flow_does_not_cross_is_refused() {
    let mut spec = one(roomy(), background(0.1, 0.0), 10);
    spec.links[0].name = "elsewhere".to_owned();
    let error = lasthop_sim::World::new(spec).err().expect("it is on another way");
    assert_eq!(
        error.to_string(),
        "flow work: the way from host-1 to host-2 does not lead over lasthop.down; name a link that it crosses"
    );
}

const HOUR: u64 = 3600;

#[test]
fn an_idle_connection_is_kept_alive_over_hours() {
    let sent = |keep_alive| {
        let mut spec = one(roomy(), json!({ "interactive": { "gap": "5 h" } }), 12 * HOUR);
        spec.flows[0].sender = tcp(json!({ "keep_alive": keep_alive }));
        let outcome = run(spec);
        let flow = &outcome.summary.flows[0];
        assert!(flow.completed, "{}: {flow:?}", outcome.summary.stopped_by);
        assert_eq!(flow.measures.transfers, 3);
        packets_by_fate(&outcome).0
    };
    // Typed after 0, 5 and 10 h; probed after each 2 h of silence.
    assert_eq!(sent(true) - sent(false), 4);
}

#[test]
fn a_loss_after_a_pause_of_two_hours_is_repaired() {
    let mut spec = one(roomy(), json!({ "interactive": { "gap": "2 h" } }), 3 * HOUR);
    let twice = json!([{ "packet": 5, "effect": "drop" }, { "packet": 6, "effect": "drop" }]);
    spec.links[0].down.events = serde_json::from_value(twice).unwrap();
    let outcome = run(spec);
    let flow = &outcome.summary.flows[0];
    assert!(flow.completed, "{}: {flow:?}", outcome.summary.stopped_by);
    assert_eq!((flow.timeouts, flow.measures.transfers), (2, 2));
}

/// TFRC at random losses of this probability over a round trip of 100 ms, on a link that is never full: its rate in
/// bytes a second after half a minute, and the loss event rate that the equation of RFC 5348 §3.1 would have for it.
fn tfrc_at(p: f64) -> f64 {
    let lossy = config(json!({
        "rate": "100 Mbit/s", "propagation": "50 ms", "queue": { "limit": "1000 packets" },
        "errors": { "probability": p, "effect": "drop" },
    }));
    let mut spec = one(lossy, json!({ "tfrc": {} }), 230);
    spec.record.measure.windows =
        vec![WindowSpec { name: "steady".to_owned(), from: SECOND * 30, to: Some(SECOND * 230) }];
    run(spec).summary.flows[0].windows[0].sent_bps.expect("it was measured")
}

#[test]
fn tfrc_has_the_rate_that_the_equation_gives_a_tcp_under_the_same_losses() {
    // Random losses at p are loss events at nearly p, as few packets are in a round trip.
    for (p, least, most) in [(0.01, 0.8, 1.25), (0.03, 0.8, 1.3)] {
        let q = f64::sqrt(2.0 * p / 3.0);
        let law = 1500.0 / (0.1 * q + 0.4 * 3.0 * f64::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p));
        let ratio = tfrc_at(p) / law;
        assert!((least..most).contains(&ratio), "{ratio} of the equation's rate at {p}");
    }
}

#[test]
fn tfrc_shares_a_queue_with_tcp() {
    let red = json!({ "red": { "min": "10 packets", "max": "40 packets", "weight": 0.002, "max_probability": 0.1, "gentle": true } });
    let queue = json!({ "discipline": red, "limit": "100 packets" });
    let shared = config(json!({ "rate": "10 Mbit/s", "propagation": "25 ms", "queue": queue }));
    let mut spec = pair(shared, 0);
    spec.flows = (0..2).map(|n| working(&format!("tfrc-{n}"), 0, 1, json!({ "tfrc": {} }), 120)).collect();
    spec.flows.extend((0..2).map(|n| {
        let until = Workload::Bulk(lasthop_sim::Amount::Until(SECOND * 120));
        FlowSpec { workload: until, ..flow(&format!("tcp-{n}"), 0, 1, 0) }
    }));
    spec.record.measure.windows =
        vec![WindowSpec { name: "steady".to_owned(), from: SECOND * 20, to: Some(SECOND * 120) }];
    let flows = run(spec).summary.flows;
    let rate = |flow: usize| flows[flow].windows[0].sent_bps.expect("it was measured");
    let ratio = (rate(0) + rate(1)) / (rate(2) + rate(3));
    // RFC 5348 §1: within a factor of two of a TCP under the same conditions.
    assert!((0.5..2.0).contains(&ratio), "{ratio}: {:?}", (0..4).map(rate).collect::<Vec<_>>());
}

#[test]
fn tfrc_stops_sending_when_no_feedback_comes() {
    let mut spec = one(roomy(), json!({ "tfrc": {} }), 60);
    spec.links[0].up =
        config(json!({ "rate": "10 Mbit/s", "errors": { "probability": 1.0, "effect": "drop" } }));
    let flow = run(spec).summary.flows.remove(0);
    // A packet a second, and half as many each time that the timer runs out, after 2, 6, 14 and 30 s: two or three each
    // time.
    assert!((8..=12).contains(&flow.segments_sent), "{}", flow.segments_sent);
}
