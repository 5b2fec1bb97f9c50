//! Flows of one kind share a link equally, whatever queue stands before it.

use std::path::Path;

use lasthop_scenario::{Search, load};
use sim::World;

/// The throughputs of the flows of `three-cubic` through one discipline with one congestion control, and their
/// retransmissions and timeouts.
fn three_cubic(discipline: &str, congestion: &str, seconds: u64, seed: u64) -> (Vec<f64>, u64, u64) {
    let search = Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")]);
    let overrides = [
        format!("links.access.down.queue.discipline=\"{discipline}\""),
        format!("flows.download.until=\"{seconds} s\""),
        format!("hosts.server={{ profile = \"cubic\", tcp = {{ congestion = {congestion} }} }}"),
        "record.tables=[]".to_owned(),
    ];
    let resolved =
        load("three-cubic", &overrides, Some(seed), &search).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(resolved.to_spec().unwrap()).unwrap();
    world.run().unwrap();
    let flows = world.finish().summary.flows;
    let rates = flows.iter().map(|flow| flow.throughput_bps.unwrap_or_default()).collect();
    let total = |of: fn(&sim::FlowSummary) -> u64| flows.iter().map(of).sum();
    (rates, total(|flow| flow.retransmissions), total(|flow| flow.timeouts))
}

/// Jain, Chiu and Hawe 1984: 1 where all have the same, 1/n where one has all.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    sum * sum / (squares * rates.len() as f64)
}

/// Checks three seeds; `most` retransmissions are allowed.
fn check(discipline: &str, congestion: &str, seconds: u64, most: u64) {
    for seed in 1..=3 {
        let (rates, retransmissions, _) = three_cubic(discipline, congestion, seconds, seed);
        let (index, total) = (jain(&rates), rates.iter().sum::<f64>() * 8.0);
        assert!(index > 0.9, "{discipline}, seed {seed}: {rates:?}");
        assert!(total > 0.9 * 80e6, "{discipline}, seed {seed}: {total} bit/s");
        assert!(retransmissions < most, "{discipline}, seed {seed}: {retransmissions} retransmissions");
    }
}

#[test]
fn three_cubic_flows_share_the_link_equally() {
    check("codel", CUBIC, 30, 200);
    check("fq-codel", CUBIC, 30, 200);
    // The first slow start fills the queue while PIE still lets its burst pass, or with FIFO always, and loses most of
    // a window; with what is sent again needlessly after a timeout, a second window.
    check("pie", CUBIC, 30, 2 * WINDOW);
    // A loss in a window of 1267 segments takes CUBIC 10 s to make good (RFC 9438 equation 2), and unequal flows come
    // nearer by three tenths of their distance with each.
    check("tail-drop", CUBIC, 300, 2 * WINDOW);
}

#[test]
fn the_losses_of_pie_and_fifo_are_the_overshoot_of_slow_start() {
    for discipline in ["pie", "tail-drop"] {
        for seed in 1..=3 {
            let (_, retransmissions, timeouts) = three_cubic(discipline, LIMITED_SLOW_START, 30, seed);
            assert!(retransmissions < 200, "{discipline}, seed {seed}: {retransmissions} retransmissions");
            assert_eq!(timeouts, 0, "{discipline}, seed {seed}");
        }
    }
}

const CUBIC: &str = "\"cubic\"";
/// RFC 3742: above 100 segments slow start adds at most 50 in a round trip.
const LIMITED_SLOW_START: &str = "{ limited-slow-start = { over = \"cubic\" } }";
/// Segments that the queue and 40 ms of the link hold.
const WINDOW: u64 = 1000 + 267;
