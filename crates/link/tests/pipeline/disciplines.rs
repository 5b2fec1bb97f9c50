//! The queue's disciplines at work in a link.

use link::{Ecn, Event};
use serde_json::{Value, json};
use units::Instant;

use crate::support::{Driver, TestPacket, config, ms};

/// A link of one byte per millisecond with this queue.
fn driver(queue: Value) -> Driver {
    Driver::new(&config(json!({ "rate": "8 kbit/s", "queue": queue })), 1)
}

fn ids(driver: &Driver) -> Vec<u64> {
    driver.out.iter().map(|(_, packet)| packet.id).collect()
}

fn of(who: u64, size: u64) -> TestPacket {
    TestPacket { who, ..TestPacket::new(0, size) }
}

fn class(class: u8, size: u64) -> TestPacket {
    TestPacket { class, ..TestPacket::new(0, size) }
}

/// Bytes delivered to each user, among the `first` packets.
fn bytes_of(driver: &Driver, who: u64, first: usize) -> u64 {
    let packets = driver.out.iter().take(first).map(|(_, packet)| packet);
    packets.filter(|packet| packet.who == who).map(|packet| packet.size).sum()
}

#[test]
fn front_drop_takes_the_oldest_and_lets_the_new_one_in() {
    let mut driver = driver(json!({ "limit": "3 packets", "discipline": "front-drop" }));
    driver.send_many(Instant::START, 100, 6);
    driver.run();
    assert_eq!(driver.who("queue_drop"), [2, 3]);
    assert_eq!(ids(&driver), [1, 4, 5, 6]);
}

#[test]
fn front_drop_takes_as_many_as_the_new_one_needs() {
    let mut driver = driver(json!({ "limit": "250 bytes", "discipline": "front-drop" }));
    driver.send_many(Instant::START, 100, 3);
    driver.send(Instant::START, 200);
    driver.send(Instant::START, 300);
    driver.run();
    // 5 is larger than the queue: no removal would make room, but all packets were removed before that was known.
    assert_eq!(driver.who("queue_drop"), [2, 3, 4, 5]);
}

#[test]
fn an_infinite_queue_takes_everything_and_no_limit() {
    let mut driver = driver(json!({ "discipline": "infinite" }));
    driver.send_many(Instant::START, 1, 5_000);
    driver.run();
    assert_eq!(driver.out.len(), 5_000);
    let limited = config(json!({ "queue": { "discipline": "infinite", "limit": "3 packets" } }));
    assert_eq!(limited.validate().expect_err("no").path, "queue.limit");
}

#[test]
fn pdpc_discards_the_oldest_if_configured_so() {
    let pdpc =
        json!({ "pdpc": { "min": "2 packets", "max": "8 packets", "prevention": 10, "discard": "oldest" } });
    let mut driver = driver(json!({ "discipline": pdpc }));
    driver.send_many(Instant::START, 100, 6);
    driver.run();
    assert_eq!(driver.who("queue_drop"), [2], "the fifth finds three waiting, more than two");
    assert_eq!(ids(&driver), [1, 3, 4, 5, 6]);
}

#[test]
fn codel_keeps_the_stay_of_packets_short_without_the_queue_running_empty() {
    // Twelve packets for ten that leave, until the drops catch up with them.
    let mut driver = driver(json!({ "discipline": { "codel": { "target": "50 ms", "interval": "1 s" } } }));
    for packet in 0..12_000 {
        driver.send(ms(packet * 10), 12);
    }
    driver.run();
    let stays = driver.journal.0.iter().filter_map(|entry| match entry.2 {
        Event::LeftQueue { waited, .. } if entry.0 > ms(90_000) => Some(waited.as_secs_f64()),
        _ => None,
    });
    let longest = stays.fold(0.0, f64::max);
    // The load does not answer to drops, and CoDel's rate of drops grows only with a square root.
    assert!(longest < 2.0, "{longest} s; without drops it would be 20 s");
    assert!(driver.journal.0.iter().all(|entry| match entry.2 {
        Event::QueueDropped { rule, .. } => rule.id() == "codel",
        _ => true,
    }));
}

// An unresponsive load of 120 %: the drop probability must settle at 1 − 1/1.2 and the delay at 15 ms.
#[test]
fn pie_steers_the_delay_to_its_target_and_drops_what_is_too_much() {
    let table = json!({ "rate": "100 Mbit/s", "queue": { "discipline": "pie" } });
    let mut driver = Driver::new(&config(table), 1);
    for packet in 0..400_000_u64 {
        driver.send(Instant::from_nanos(packet * 100_000), 1_500);
    }
    let second_half = |entry: &&(Instant, u64, Event)| entry.0 > ms(20_000);
    let stays: Vec<f64> = driver
        .journal
        .0
        .iter()
        .filter(second_half)
        .filter_map(|entry| match entry.2 {
            Event::LeftQueue { waited, .. } => Some(waited.as_secs_f64() * 1e3),
            _ => None,
        })
        .collect();
    let mean = stays.iter().sum::<f64>() / stays.len() as f64;
    assert!((mean - 15.0).abs() < 0.75, "a mean stay of {mean} ms");
    let dropped = driver.journal.0.iter().filter(second_half).filter(|entry| entry.2.id() == "queue_drop");
    let share = dropped.count() as f64 / 200_000.0;
    assert!((share - 1.0 / 6.0).abs() < 0.003, "{share} dropped");
}

#[test]
fn capable_packets_are_marked_where_others_are_dropped() {
    for discipline in [
        json!({ "red": { "min": "2 packets", "max": "50 packets", "weight": 1, "max_probability": 0.5, "ecn": true } }),
        json!({ "codel": { "target": "50 ms", "interval": "1 s", "ecn": true } }),
        json!({ "fq-codel": { "target": "50 ms", "interval": "1 s", "ecn": true } }),
    ] {
        let mut driver = driver(json!({ "discipline": discipline }));
        for packet in 0..300 {
            driver.hand(ms(packet * 10), TestPacket { ecn: Ecn::Capable, ..TestPacket::new(0, 11) });
        }
        driver.run();
        let marked = driver.who("marked");
        let carried = driver.out.iter().filter(|(_, packet)| packet.ecn == Ecn::CongestionExperienced);
        assert!(!marked.is_empty(), "{discipline}");
        assert_eq!(carried.map(|(_, packet)| packet.id).collect::<Vec<_>>(), marked, "{discipline}");
        assert_eq!(driver.link.counters().marked, marked.len() as u64);
        assert_eq!(driver.who("queue_drop"), [0; 0], "{discipline}");
    }
}

#[test]
fn a_higher_class_leaves_first_and_each_class_in_order() {
    let mut driver = driver(json!({ "discipline": "priority" }));
    for wanted in [0, 0, 3, 1, 3, 0, 7] {
        driver.hand(Instant::START, class(wanted, 10));
    }
    driver.run();
    assert_eq!(ids(&driver), [1, 7, 3, 5, 4, 2, 6]);
}

#[test]
fn acks_leave_first_and_make_room_for_themselves() {
    let mut driver = driver(json!({ "limit": "3 packets", "discipline": "acks-first" }));
    for is_ack in [false, false, true, false, true, false, true, true] {
        driver.hand(Instant::START, TestPacket { is_ack, ..class(0, 10) });
    }
    driver.run();
    // The first goes straight on. At the limit ACKs replace data, and neither data nor a fourth ACK find room.
    assert_eq!(driver.who("queue_drop"), [2, 6, 4, 8]);
    assert_eq!(ids(&driver), [1, 3, 5, 7]);
}

#[test]
fn classes_are_served_by_turns_in_the_proportion_of_their_weights() {
    let mut driver = driver(json!({ "discipline": { "weighted-round-robin": { "weights": [1, 4] } } }));
    for packet in 0..100 {
        driver.hand(Instant::START, class(packet % 2, 10));
    }
    driver.run();
    let served: Vec<u8> = driver.out.iter().map(|(_, packet)| packet.class).collect();
    assert_eq!(served[1..11], [1, 1, 1, 1, 0, 1, 1, 1, 1, 0]);
    assert_eq!(served.iter().filter(|class| **class == 1).count(), 50);
}

#[test]
fn at_the_shared_limit_the_oldest_of_the_lowest_class_makes_room_for_a_higher_one() {
    let mut driver = driver(json!({ "limit": "2 packets", "discipline": "priority" }));
    for wanted in [0, 0, 1, 7, 0, 7, 7] {
        driver.hand(Instant::START, class(wanted, 10));
    }
    // The first goes straight on. The last finds only its own class.
    assert_eq!(driver.who("queue_drop"), [2, 5, 3, 7]);
}

#[test]
fn at_the_shared_limit_the_class_makes_room_that_has_most_waiting_for_its_weight() {
    let weights = json!({ "weighted-round-robin": { "weights": [1, 4] } });
    let mut driver = driver(json!({ "limit": "3 packets", "discipline": weights }));
    for wanted in [0, 0, 0, 0, 1, 1, 1, 0] {
        driver.hand(Instant::START, class(wanted, 10));
    }
    // Three of class 0 wait when the first of class 1 comes, then two, then one, which counts as four; then none.
    assert_eq!(driver.who("queue_drop"), [2, 3, 4, 5]);
}

#[test]
fn each_user_has_a_queue_of_its_own_and_a_turn() {
    let separate = json!({ "separate": { "by": "destination", "limit": "2 packets" } });
    let mut driver = driver(json!({ "discipline": separate }));
    for who in [5, 5, 5, 5, 9, 9, 9] {
        driver.hand(Instant::START, of(who, 10));
    }
    driver.run();
    // One goes straight on; two of each wait.
    assert_eq!(driver.who("queue_drop"), [4, 7]);
    let served: Vec<u64> = driver.out.iter().map(|(_, packet)| packet.who).collect();
    assert_eq!(served, [5, 9, 5, 9, 5]);
}

#[test]
fn a_user_more_moves_no_draws_of_the_others() {
    let drops = |others: bool| {
        let red =
            json!({ "red": { "min": "1 packet", "max": "30 packets", "weight": 1, "max_probability": 0.5 } });
        let separate = json!({ "separate": { "by": "flow", "discipline": red } });
        let mut driver = driver(json!({ "discipline": separate }));
        driver.hand(Instant::START, of(7, 10_000));
        for _ in 0..200 {
            driver.hand(Instant::START, of(1, 10));
            if others {
                driver.hand(Instant::START, of(2, 10));
            }
        }
        let mine = |id: &u64| !others || id.is_multiple_of(2);
        let place = |id: u64| if others { id / 2 } else { id - 1 };
        driver.who("queue_drop").into_iter().filter(mine).map(place).collect::<Vec<u64>>()
    };
    assert!(drops(false).len() > 20);
    assert_eq!(drops(false), drops(true));
}

#[test]
fn a_queue_with_lanes_in_a_queue_with_lanes_is_refused() {
    let nested = json!({ "separate": { "by": "flow", "discipline": "priority" } });
    let error = config(json!({ "queue": { "discipline": nested } })).validate().expect_err("no");
    assert_eq!(error.path, "queue.discipline.separate.discipline");
}

// RFC 8290 §1.3: flows share the bytes, whatever the sizes of their packets.
#[test]
fn fq_codel_shares_bytes_among_backlogged_flows() {
    let fq = json!({ "fq-codel": { "target": "1000 s", "interval": "2000 s" } });
    let mut driver = driver(json!({ "discipline": fq }));
    for _ in 0..400 {
        driver.hand(Instant::START, of(1, 1500));
        driver.hand(Instant::START, of(2, 500));
        driver.hand(Instant::START, of(2, 250));
        driver.hand(Instant::START, of(3, 750));
    }
    driver.run();
    let [one, two, three] = [1, 2, 3].map(|who| bytes_of(&driver, who, 800) as f64);
    assert!((one / two - 1.0).abs() < 0.02 && (one / three - 1.0).abs() < 0.02, "{one} {two} {three}");
}

#[test]
fn fq_codel_serves_a_new_flow_before_those_that_have_a_backlog() {
    let mut driver = driver(json!({ "discipline": "fq-codel" }));
    for _ in 0..50 {
        driver.hand(Instant::START, of(1, 1500));
    }
    // One packet of 1500 bytes leaves the flow 14 bytes of its first turn, so it sends one more.
    let thin = driver.hand(ms(10), of(2, 100));
    driver.run();
    assert_eq!(ids(&driver)[2], thin);
}

#[test]
fn fq_codel_at_its_limit_drops_from_the_head_of_the_fattest_flow() {
    let mut driver = driver(json!({ "limit": "20 packets", "discipline": "fq-codel" }));
    for _ in 0..19 {
        driver.hand(Instant::START, of(1, 1500));
    }
    driver.hand(Instant::START, of(2, 100));
    driver.hand(Instant::START, of(2, 100));
    assert_eq!(driver.who("queue_drop"), [0; 0]);
    let last = driver.hand(Instant::START, of(2, 100));
    // Half of the 18 that wait; the first is in transmission.
    assert_eq!(driver.who("queue_drop"), (2..=10).collect::<Vec<u64>>());
    assert!(driver.who("queued").contains(&last));
}

#[test]
fn fq_codel_drops_only_the_flow_that_stays_too_long() {
    let fq = json!({ "fq-codel": { "target": "50 ms", "interval": "1 s", "quantum": "20 bytes" } });
    let mut driver = driver(json!({ "discipline": fq }));
    for packet in 0..5_000 {
        driver.hand(ms(packet * 20), of(1, 20));
        driver.hand(ms(packet * 20), of(2, 5));
    }
    driver.run();
    let dropped = driver.who("queue_drop");
    assert!(dropped.len() > 50 && dropped.iter().all(|id| id % 2 == 1), "{} drops", dropped.len());
}
