//! CAKE against its paper and the settings of Linux.

use super::cobalt::Timing;
use super::flows::Flows;
use super::*;
use crate::packet::{Ecn, PureAck};
use crate::queue::classful::ClassfulQueue;
use crate::queue::{Arrival, QueuedPacket};
use crate::store::Handle;
use units::Streams;

fn at(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}

fn keys(flow: u64, source: u64, destination: u64) -> Keys {
    Keys { flow, source, destination, ..Keys::default() }
}

// tc-cake(8): 1500 bytes in ATM cells with the 40 bytes of PPPoE over LLC take 33 cells.
#[test]
fn packets_are_counted_as_the_links_behind_frame_them() {
    let size = |bytes, mpu, cells, packet| Overhead { bytes, mpu: Bytes(mpu), cells }.size(Bytes(packet)).0;
    assert_eq!(size(40, 0, Cells::Atm, 1500), 33 * 53);
    assert_eq!(size(0, 0, Cells::Ptm, 1500), 1500 + 24);
    assert_eq!(size(38, 84, Cells::None, 40), 84);
    assert_eq!(size(-14, 0, Cells::None, 1514), 1500);
}

#[test]
fn the_shaper_spaces_packets_at_its_rate_and_saves_nothing_up() {
    let rate = Some(Rate::from_bits_per_sec(12_000_000));
    let mut shaper = Shaper::new(rate, Overhead { bytes: 0, mpu: Bytes::ZERO, cells: Cells::None });
    for packet in 1..=3 {
        shaper.advance(Bytes(1500));
        assert_eq!(shaper.ready_at(), at(1_000 * packet));
    }
    shaper.on_first_packet(at(50_000));
    shaper.advance(Bytes(1500));
    assert_eq!(shaper.ready_at(), at(51_000));
}

// Linux diffserv3 and diffserv4.
#[test]
fn code_points_go_into_their_tins() {
    let tins = |diffserv: Diffserv| [0, 1, 8, 18, 34, 40, 46, 48].map(|dscp| diffserv.tin_of(dscp));
    assert_eq!(tins(Diffserv::Besteffort), [0; 8]);
    assert_eq!(tins(Diffserv::Diffserv3), [0, 1, 1, 0, 0, 0, 2, 2]);
    assert_eq!(tins(Diffserv::Diffserv4), [0, 1, 1, 2, 2, 3, 3, 3]);
}

/// Bytes that each flow may send in a number of turns, if all have unlimited packets of 1500 bytes.
fn served(isolation: Isolation, all: &[Keys], turns: u32) -> Vec<u64> {
    let mut flows = Flows::new(isolation, 1024, 1514, 7);
    let places = queued(&mut flows, all);
    serve(&mut flows, &places, turns, |_| false)
}

/// The places of flows with packets.
fn queued(flows: &mut Flows, all: &[Keys]) -> Vec<usize> {
    let places: Vec<usize> = all.iter().map(|keys| flows.classify(keys)).collect();
    places.iter().for_each(|place| flows.on_queued(*place));
    places
}

/// Bytes of each place in a number of turns, with packets of 1500 bytes where a place is not empty.
fn serve(flows: &mut Flows, places: &[usize], turns: u32, is_empty: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut bytes = vec![0; places.len()];
    for _ in 0..turns {
        let place = flows.next(&is_empty).expect("packets wait");
        flows.on_served(place, Bytes(1500));
        let flow = places.iter().position(|other| *other == place).expect("a known place");
        bytes[flow] += 1500;
    }
    bytes
}

/// One host with four flows, another with one.
fn two_hosts() -> Vec<Keys> {
    (0..5).map(|flow| keys(flow, 100, if flow < 4 { 1 } else { 2 })).collect()
}

fn share_of_second(isolation: Isolation) -> f64 {
    let bytes = served(isolation, &two_hosts(), 20_000);
    bytes[4] as f64 / bytes.iter().sum::<u64>() as f64
}

#[test]
fn hosts_share_the_link_and_flows_share_what_their_host_gets() {
    assert!((share_of_second(Isolation::Flows) - 0.2).abs() < 0.01);
    assert!((share_of_second(Isolation::DualDsthost) - 0.5).abs() < 0.02);
    assert!((share_of_second(Isolation::DualSrchost) - 0.2).abs() < 0.01, "they have one sender");
}

#[test]
fn a_flow_that_has_ended_leaves_its_hosts_share_to_the_others_of_the_host() {
    let mut flows = Flows::new(Isolation::DualDsthost, 1024, 1514, 7);
    let places = queued(&mut flows, &[keys(0, 100, 1), keys(1, 100, 1), keys(2, 100, 2)]);
    let both = serve(&mut flows, &places, 20_000, |_| false);
    assert!((both[2] as f64 / both[0] as f64 - 2.0).abs() < 0.05, "{both:?}");
    let alone = serve(&mut flows, &places, 20_000, |place| place == places[1]);
    assert!((alone[2] as f64 / alone[0] as f64 - 1.0).abs() < 0.05, "{alone:?}");
}

#[test]
fn triple_isolation_goes_by_the_busier_of_both_hosts() {
    // Two senders with one flow each to one receiver, and a third sender with two flows to another receiver.
    let all = [keys(0, 1, 10), keys(1, 2, 10), keys(2, 3, 11), keys(3, 3, 11)];
    let bytes = served(Isolation::TripleIsolate, &all, 20_000);
    let total = bytes.iter().sum::<u64>() as f64;
    assert!(bytes.iter().all(|bytes| (*bytes as f64 / total - 0.25).abs() < 0.01), "{bytes:?}");
}

#[test]
fn sets_of_eight_keep_flows_apart_where_a_plain_hash_would_mix_them() {
    let mut flows = Flows::new(Isolation::Flows, 128, 1514, 3);
    let mut places: Vec<usize> = (0..64)
        .map(|flow| {
            let place = flows.classify(&keys(flow, 0, 0));
            flows.on_queued(place);
            place
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    // With a plain hash 64 flows in 128 places leave about 50 of them apart.
    assert!(places.len() >= 62, "{} places", places.len());
}

const TIMING: Timing = Timing {
    target: Duration::from_millis(5),
    interval: Duration::from_millis(100),
    mtu_time: Duration::ZERO,
};

fn cobalt() -> Cobalt {
    Cobalt::new(TIMING, Streams::new(1).stream("cobalt"))
}

fn departure(millis: u64, waited: u64, ecn: Ecn) -> Departure {
    Departure {
        now: at(1_000 * millis),
        size: Bytes(1500),
        ecn,
        waited: Duration::from_millis(waited),
        left: 20,
        left_bytes: Bytes(30_000),
    }
}

#[test]
fn cobalt_drops_by_the_control_law_of_codel() {
    let mut cobalt = cobalt();
    let mut drops = Vec::new();
    for millis in 0..600 {
        while matches!(cobalt.on_departure(&departure(millis, 50, Ecn::NotCapable)), Decision::Drop(_)) {
            drops.push(millis);
        }
    }
    // An interval after the delay was first above the target; then interval/sqrt(count) apart, from count = 2 on.
    let mut due = 100.0_f64;
    let mut expected = vec![100];
    for count in 2..=drops.len() as u32 {
        due += 100.0 / f64::from(count).sqrt();
        expected.push(due.ceil() as u64);
    }
    assert_eq!(drops, expected);
}

#[test]
fn cobalt_takes_the_target_itself_and_the_time_of_four_full_packets_for_no_delay() {
    let mtu_time = Duration::from_millis(2);
    for (mtu_time, waited) in [(Duration::ZERO, 5), (mtu_time, 8)] {
        let mut cobalt = Cobalt::new(Timing { mtu_time, ..TIMING }, Streams::new(1).stream("cobalt"));
        let mut drops = |waited| {
            (0..1_000)
                .any(|at| cobalt.on_departure(&departure(at, waited, Ecn::NotCapable)) != Decision::Pass)
        };
        assert!(!drops(waited));
        assert!(drops(waited + 1));
    }
}

#[test]
fn cobalt_marks_what_is_capable_and_never_drops_the_last_packet() {
    let mut marking = cobalt();
    let decisions: Vec<_> =
        (0..300).map(|at| marking.on_departure(&departure(at, 50, Ecn::Capable))).collect();
    assert!(decisions.iter().any(|one| matches!(one, Decision::Mark(_))));
    assert!(!decisions.iter().any(|one| matches!(one, Decision::Drop(_))));
    let mut last = cobalt();
    let alone = |at| Departure { left: 0, left_bytes: Bytes::ZERO, ..departure(at, 50, Ecn::NotCapable) };
    assert!((0..1_000).all(|at| last.on_departure(&alone(at)) == Decision::Pass));
}

// Linux p_inc and p_dec: 1/256 for an overflow, 1/4096 for an empty queue, once in a target.
#[test]
fn blue_grows_with_overflows_and_shrinks_when_the_queue_is_empty() {
    let mut cobalt = cobalt();
    (0..10).for_each(|number| cobalt.on_removal(at(10_000 + 3_000 * number), 5));
    assert!((cobalt.p_drop - 5.0 / 256.0).abs() < 1e-12, "{}", cobalt.p_drop);
    for number in 0..3 {
        let empty = Departure { left: 0, ..departure(100 + 10 * number, 1, Ecn::NotCapable) };
        cobalt.on_departure(&empty);
    }
    assert!((cobalt.p_drop - (5.0 / 256.0 - 3.0 / 4096.0)).abs() < 1e-12, "{}", cobalt.p_drop);
}

fn filtered(filter: AckFilter, numbers: &[u32]) -> Vec<usize> {
    let mut acks = ack_filter::QueuedAcks::new(filter);
    let mut dropped = Vec::new();
    for number in numbers {
        let ack = Some(PureAck { number: *number, flags: 0x10 });
        acks.on_arrival(&Keys { ack, ..Keys::default() });
        acks.push(0);
        dropped.extend(acks.superseded(0));
    }
    dropped
}

#[test]
fn the_filter_drops_older_acks_and_keeps_repeated_ones() {
    assert_eq!(filtered(AckFilter::Off, &[1, 2, 3, 4]), [0; 0]);
    assert_eq!(filtered(AckFilter::Aggressive, &[1, 2, 3, 4]), [0, 0, 0]);
    assert_eq!(filtered(AckFilter::Conservative, &[1, 2, 3, 4]), [0, 0]);
    assert_eq!(filtered(AckFilter::Aggressive, &[4, 4, 4]), [0; 0]);
    assert_eq!(filtered(AckFilter::Aggressive, &[1, 2, 2]), [0], "what is dropped is not dropped again");
}

#[test]
fn the_filter_drops_no_ack_that_has_left() {
    let mut acks = ack_filter::QueuedAcks::new(AckFilter::Aggressive);
    let mut arrive = |number, leaves: bool| {
        acks.on_arrival(&Keys { ack: Some(PureAck { number, flags: 0x10 }), ..Keys::default() });
        acks.push(0);
        let dropped = acks.superseded(0);
        if leaves {
            acks.pop_front(0);
        }
        dropped
    };
    assert_eq!([arrive(1, true), arrive(2, false), arrive(3, false)], [None, None, Some(0)]);
}

fn cake(parameters: Parameters) -> Cake {
    Cake::new(parameters, Streams::new(1).stream("queue"))
}

#[test]
fn a_redundant_ack_leaves_the_queue_when_the_next_one_waits() {
    let parameters = Parameters { ack_filter: AckFilter::Aggressive, ..Parameters::default() };
    let mut queue = ClassfulQueue::new(Box::new(cake(parameters)));
    let size = Bytes(40);
    let arrival = Arrival {
        now: at(0),
        size,
        ecn: Ecn::NotCapable,
        queued: 0,
        queued_bytes: Bytes::ZERO,
        has_room: true,
        idle_since: None,
        rate: None,
    };
    let mut arrive = |number: u32| {
        queue.classify(&Keys { ack: Some(PureAck { number, flags: 0x10 }), ..Keys::default() });
        queue.on_arrival(&arrival);
        let handle = Handle::from_index(number);
        queue.push(QueuedPacket { handle, ecn: Ecn::NotCapable, size, arrived: at(0) });
        queue.take_superseded().map(|packet| packet.handle.index())
    };
    assert_eq!([arrive(1), arrive(2), arrive(2), arrive(3)], [None, Some(1), None, Some(2)]);
    let left: Vec<usize> =
        std::iter::from_fn(|| queue.pop(at(0)).map(|(packet, _)| packet.handle.index())).collect();
    assert_eq!(left, [2, 3]);
}

// Linux cake_dequeue: later tins have priority, also among tins that are ready at the same time.
#[test]
fn of_tins_beyond_their_thresholds_the_one_that_is_ready_first_is_served_and_the_last_of_equals() {
    let rate = Some(Rate::from_bits_per_sec(1_000_000));
    let chosen = |ready: [u64; 3]| {
        let mut cake = cake(Parameters { rate, ..Parameters::default() });
        for (tin, ready) in cake.tins.iter_mut().zip(ready) {
            let flow = tin.classify(&Keys::default());
            tin.on_queued(flow);
            tin.next_packet = at(ready);
        }
        cake.choose_tin(at(100))
    };
    assert_eq!(chosen([900, 700, 800]), Some(1));
    assert_eq!(chosen([700, 700, 800]), Some(1));
    assert_eq!(chosen([100, 50, 800]), Some(1), "within their thresholds the last goes first");
}

#[test]
fn a_slow_rate_lengthens_the_target_and_shortens_the_turns() {
    let parameters = Parameters { rate: Some(Rate::from_bits_per_sec(1_000_000)), ..Parameters::default() };
    let tin = tin(&parameters, Diffserv::Besteffort.shares()[0], 1);
    // 1514 bytes take 12.112 ms.
    assert_eq!(tin.timing().target, Duration::from_micros(18_168));
    assert_eq!(tin.timing().interval, Duration::from_micros(113_168));
}
