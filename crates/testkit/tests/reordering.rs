//! The cost of late segments: one flow at 60 ms × 1 Mbit/s, a buffer of one bandwidth-delay product, and
//! a link that delivers some segments 40 or 120 ms late and out of order (Landström 2008 §4.6.2).

use rand::RngExt;
use serde_json::{Value, json};
use testkit::fate::{Fate, Fates};
use testkit::pair::{Pair, Reads, Side, User};
use testkit::profile::{config, named, overridden};
use units::{Duration, Instant, Streams};

/// Table 4.1 and §4.5: 1000-byte segments, 30 ms each way, 8 ms for a segment, 7.5 segments of buffer.
const RUN: Duration = Duration::from_secs(200);
const ONE_WAY: Duration = Duration::from_millis(30);
const TRANSMISSION: Duration = Duration::from_millis(8);
const BUFFER: Duration = Duration::from_millis(60);

/// A bottleneck with a drop-tail buffer, after which `late` segments in a thousand are late.
fn bottleneck(seed: u64, late: u32, by: Duration, transmission: Duration) -> Fates {
    let mut draws = Streams::new(seed).stream("late");
    let mut free = Instant::START;
    Box::new(move |packet| {
        if packet.from == Side::Server || packet.segment.payload.is_empty() {
            return Fate::Deliver;
        }
        let waits = free.saturating_since(packet.at);
        if waits > BUFFER {
            return Fate::Drop;
        }
        free = packet.at + waits + transmission;
        let is_late = draws.random_range(0..1000) < late;
        Fate::Delay(waits + transmission + if is_late { by } else { Duration::ZERO })
    })
}

/// Segments of the stream that arrive in the time of a run.
fn throughput(profile: &Value, seed: u64, late: u32, by: Duration) -> u64 {
    arrivals(profile, bottleneck(seed, late, by, TRANSMISSION), RUN)
}

fn arrivals(profile: &Value, fates: Fates, run: Duration) -> u64 {
    let receiver = config(&overridden(profile, &json!({ "ack": "every-segment" }))).unwrap();
    let sender = config(profile).unwrap();
    let listens = User { reads: Reads::Discards, ..User::listens() };
    let mut pair = Pair::new(&sender, &receiver)
        .users(User::sends_pattern(100_000_000), listens)
        .delays(ONE_WAY, ONE_WAY)
        .fates(fates);
    pair.run(run);
    pair.host(Side::Server).endpoint.received().0 / 1000
}

fn profile(name: &str) -> Value {
    let keys = json!({ "mss": "1000 bytes", "window": { "fixed": { "size": "1 MiB" } },
        "initial_window": "2 segments", "congestion": { "reno": { "validate": true } } });
    overridden(&named(name).unwrap(), &keys)
}

/// The share of the throughput without late segments when three in a hundred are late, over three seeds.
fn share(name: &str, by: u64) -> f64 {
    let profile = profile(name);
    let sum =
        |late| (1..=3).map(|seed| throughput(&profile, seed, late, Duration::from_millis(by))).sum::<u64>();
    sum(30) as f64 / sum(0) as f64
}

#[test]
fn forty_milliseconds_cost_the_robust_ones_little_and_standard_tcp_much() {
    for name in ["aix", "ncr-aggressive", "ncr-careful", "dcr", "pr"] {
        assert!(share(name, 40) > 0.95, "{name}: {:.3}", share(name, 40));
    }
    assert!(share("sack-6675", 40) < 0.85, "{:.3}", share("sack-6675", 40));
}

/// Landström 2008 §4.6.2, claim 4: two round trips are too much for TCP-NCR.
#[test]
fn twice_the_round_trip_leaves_aix_its_throughput_and_takes_it_from_ncr_and_standard_tcp() {
    let aix = share("aix", 120);
    assert!(aix >= 0.92, "{aix:.3}");
    for name in ["ncr-aggressive", "ncr-careful", "sack-6675"] {
        assert!(share(name, 120) < 0.8, "{name}: {:.3}", share(name, 120));
    }
}

/// Claims 5 and 8 of Landström 2008 §4.6.2, at 100 Mbit/s: the window is larger than the buffer that a program keeps
/// filled, there is always a gap, and repairs overtake late segments.
#[test]
fn at_high_rates_aix_fills_the_link_though_gap_follows_gap() {
    let fast = Duration::from_micros(80);
    // There are 100,000 segments. Slow start with gaps takes some four seconds, and, with a counted pipe, the repair of
    // its overshoot six more.
    for (repair, run) in [("sack-6675", 12), ("sack1", 20)] {
        let aix = overridden(
            &named("landstrom-aix").unwrap(),
            &json!({ "recovery": { "aix": { "repair": repair } } }),
        );
        for by in [40, 120].map(Duration::from_millis) {
            let [aix, ncr] = [&aix, &named("landstrom-ncr").unwrap()]
                .map(|profile| arrivals(profile, bottleneck(1, 80, by, fast), Duration::from_secs(run)));
            assert!(aix > 75_000 && aix > 2 * ncr, "{repair}, {by:?}: {aix} with Aix, {ncr} with NCR");
        }
    }
}

#[test]
fn without_late_segments_aix_is_standard_tcp() {
    let by = Duration::ZERO;
    let [aix, standard] = ["aix", "sack-6675"].map(|name| throughput(&profile(name), 1, 0, by));
    assert!(aix.abs_diff(standard) < standard / 100, "{aix} and {standard}");
}
