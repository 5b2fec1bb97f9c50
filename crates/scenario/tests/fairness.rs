//! Flows of one kind share a link equally, whatever queue stands before it.

use std::path::Path;

use lasthop_scenario::{Search, load};
use sim::World;

/// The throughputs of the flows of `three-cubic` through one discipline, and their retransmissions.
fn three_cubic(discipline: &str, seconds: u64, seed: u64) -> (Vec<f64>, u64) {
    let search = Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")]);
    let overrides = [
        format!("links.access.down.queue.discipline=\"{discipline}\""),
        format!("flows.download.until=\"{seconds} s\""),
        "record.tables=[]".to_owned(),
    ];
    let resolved =
        load("three-cubic", &overrides, Some(seed), &search).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(resolved.to_spec().unwrap()).unwrap();
    world.run().unwrap();
    let flows = world.finish().summary.flows;
    let rates = flows.iter().map(|flow| flow.throughput_bps.unwrap_or_default()).collect();
    (rates, flows.iter().map(|flow| flow.retransmissions).sum())
}

/// Jain, Chiu and Hawe 1984: 1 where all have the same, 1/n where one has all.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    sum * sum / (squares * rates.len() as f64)
}

#[test]
fn three_cubic_flows_share_the_link_equally() {
    // A queue that controls the delay drops early and seldom. A deep FIFO fills, loses most of a slow start's last
    // window, and then CUBIC takes minutes to come from unequal windows to equal ones.
    for (discipline, seconds, most) in
        [("codel", 30, 200), ("fq-codel", 30, 200), ("pie", 30, 2_500), ("tail-drop", 300, 2_500)]
    {
        for seed in 1..=3 {
            let (rates, retransmissions) = three_cubic(discipline, seconds, seed);
            let (index, total) = (jain(&rates), rates.iter().sum::<f64>() * 8.0);
            assert!(index > 0.9, "{discipline}, seed {seed}: {rates:?}");
            assert!(total > 0.9 * 80e6, "{discipline}, seed {seed}: {total} bit/s");
            assert!(retransmissions < most, "{discipline}, seed {seed}: {retransmissions} retransmissions");
        }
    }
}
