//! The link as a queueing system: waiting times against their formulas.

use link::{Config, Event, Link, Observer};
use rand::Rng;
use serde_json::json;
use units::{Bytes, Duration, Instant, Rate, Streams};

use crate::support::{TestPacket, config};

/// Adds up the waiting times of packets in the queue.
#[derive(Default)]
struct Waits {
    sum: f64,
    count: f64,
}

impl Observer<TestPacket> for Waits {
    fn on_event(&mut self, _: Instant, _: &TestPacket, event: Event) {
        if let Event::LeftQueue { waited, .. } = event {
            self.sum += waited.as_secs_f64();
            self.count += 1.0;
        }
    }
}

/// An exponential number of mean 1.
fn exponential(stream: &mut units::Stream) -> f64 {
    let unit = (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    -(1.0 - unit).ln()
}

/// The mean time in the queue under Poisson arrivals at this load, in mean service times; the sizes
/// of packets come from `size`, with a mean of 10,000 bytes.
fn mean_wait(load: f64, size: impl Fn(&mut units::Stream) -> u64) -> f64 {
    const PACKETS: u32 = 3_000_000;
    let config: Config = config(json!({ "rate": "1 Gbit/s" }));
    let service = Rate::from_bits_per_sec(1_000_000_000).time_for(Bytes(10_000)).as_secs_f64();
    let streams = Streams::new(1).below("theory");
    let (mut gaps, mut sizes) = (streams.stream("gaps"), streams.stream("sizes"));
    let (mut link, mut waits) = (Link::new(&config, &streams), Waits::default());
    let mut now = Instant::START;
    for _ in 0..PACKETS {
        now += Duration::from_secs_f64(exponential(&mut gaps) * service / load);
        link.handle_packet(now, TestPacket::new(1, size(&mut sizes)), &mut waits);
        while link.poll_delivery().is_some() {}
    }
    waits.sum / waits.count / service
}

fn assert_near(measured: f64, theory: f64, what: &str) {
    assert!((measured / theory - 1.0).abs() < 0.02, "{what}: {measured}, theory {theory}");
}

// Pollaczek and Khinchine: with constant service the mean wait is ρ / (2·(1 − ρ)) service times.
#[test]
fn the_mean_wait_is_that_of_m_d_1() {
    for load in [0.3, 0.5, 0.8] {
        let theory = load / (2.0 * (1.0 - load));
        assert_near(mean_wait(load, |_| 10_000), theory, &format!("M/D/1 at {load}"));
    }
}

// Exponential service: ρ / (1 − ρ).
#[test]
fn the_mean_wait_is_that_of_m_m_1() {
    for load in [0.3, 0.5, 0.8] {
        let size = |stream: &mut units::Stream| (exponential(stream) * 10_000.0).round().max(1.0) as u64;
        assert_near(mean_wait(load, size), load / (1.0 - load), &format!("M/M/1 at {load}"));
    }
}
