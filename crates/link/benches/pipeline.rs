//! How many packets one direction of a link passes in a second of one core: `cargo bench -p lasthop-link`.
//! With names of links as arguments, only those are run, each once: for a profiler that counts instructions.
//!
//! The driver does what a world does with a link and nothing else: it hands packets over at their time, wakes the link
//! on request, and takes delivered packets. Each figure is the best of several runs, in processor time, so that other
//! load disturbs it little.

extern crate lasthop_link as link;

use link::{Config, Link, Packet};
use serde_json::{Value, json};
use units::{Bytes, Duration, Instant, PacketId, Streams};

const PACKETS: u64 = 1_000_000;
const RUNS: usize = 7;

/// About as large as a packet of a simulated host.
#[derive(Clone, Debug)]
struct TestPacket {
    id: u64,
    size: u64,
    _contents: [u64; 6],
}

impl Packet for TestPacket {
    fn id(&self) -> PacketId {
        PacketId(self.id)
    }

    fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    fn corrupt(&mut self) {}
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!("{:<28} {:>14} {:>9} {:>10} {:>9}", "link", "packets/cpu s", "ns each", "wake-ups", "dropped");
    for (name, table) in cases() {
        let config: Config = serde_json::from_value(table).expect("a readable configuration");
        config.validate().expect("a valid configuration");
        if wanted.is_empty() {
            report(name, &config, RUNS);
        } else if wanted.iter().any(|wanted| wanted == name) {
            report(name, &config, 1);
        }
    }
}

/// Name and configuration. Packets of 1500 bytes come a tenth faster than 100 Mbit/s, so that the
/// queue is at its limit nearly always.
fn cases() -> Vec<(&'static str, Value)> {
    let plain = json!({ "rate": "100 Mbit/s", "propagation": "25 ms", "queue": { "limit": "500 packets" } });
    let with = |more: Value| {
        let mut table = plain.clone();
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        table
    };
    let red = json!({ "red": { "min": "50 packets", "max": "400 packets", "weight": 0.002, "max_probability": 0.1 } });
    vec![
        ("plain", plain.clone()),
        ("no rate", json!({ "propagation": "25 ms" })),
        ("red", with(json!({ "queue": { "limit": "500 packets", "discipline": red } }))),
        ("codel", with(json!({ "queue": { "limit": "500 packets", "discipline": "codel" } }))),
        ("fq-codel", with(json!({ "queue": { "limit": "500 packets", "discipline": "fq-codel" } }))),
        ("long queue", with(json!({ "propagation": "1 s", "queue": { "limit": "80000 packets" } }))),
        (
            "errors per bit",
            with(json!({ "errors": { "per": "bit", "probability": 1e-6, "effect": "drop" } })),
        ),
        (
            "seawind",
            with(json!({
                "framing": "7 bytes",
                "send_buffer": { "limit": "1 MB", "held_until": "delivery" },
                "receive_buffer": { "limit": "1 MB" },
                "errors": { "probability": 0.0001, "effect": "delay", "delay": "10 ms" },
            })),
        ),
        (
            "jitter, out of order",
            with(json!({
                "propagation": { "normal": { "mean": "25 ms", "deviation": "5 ms" } },
                "receive_buffer": { "order": "out-of-order" },
            })),
        ),
    ]
}

fn report(name: &str, config: &Config, runs: usize) {
    let mut best = f64::INFINITY;
    let mut passed = Passed::default();
    for _ in 0..runs {
        let (seconds, this) = timed(config);
        best = best.min(seconds);
        passed = this;
    }
    let per_packet = 1e9 * best / PACKETS as f64;
    let wake_ups = passed.wake_ups as f64 / PACKETS as f64;
    let dropped = passed.dropped as f64 / PACKETS as f64;
    println!(
        "{name:<28} {:>14.0} {per_packet:>9.1} {wake_ups:>10.2} {:>8.1}%",
        PACKETS as f64 / best,
        100.0 * dropped
    );
}

fn timed(config: &Config) -> (f64, Passed) {
    let clock = Clock::start();
    let passed = pass(config);
    (clock.elapsed(), passed)
}

/// The processor time of this thread on Linux, otherwise wall-clock time.
struct Clock {
    wall: std::time::Instant,
    processor: Option<u64>,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a bench measures the time that the machine takes")]
    fn start() -> Self {
        Self { wall: std::time::Instant::now(), processor: processor_nanos() }
    }

    /// Seconds.
    fn elapsed(&self) -> f64 {
        match (self.processor, processor_nanos()) {
            (Some(start), Some(end)) => (end - start) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Nanoseconds that this thread has run: the first number of its schedstat (proc(5)).
fn processor_nanos() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

#[derive(Default)]
struct Passed {
    wake_ups: u64,
    dropped: u64,
}

fn pass(config: &Config) -> Passed {
    let mut link = Link::new(config, &Streams::new(1));
    let (mut now, mut wake_ups) = (Instant::START, 0);
    let gap = Duration::from_nanos(109_091);
    for id in 0..PACKETS {
        wake_ups += run_until(&mut link, now);
        link.handle_packet(now, TestPacket { id, size: 1500, _contents: [id; 6] }, &mut ());
        drain(&mut link);
        now += gap;
    }
    wake_ups += run_until(&mut link, Instant::from_nanos(u64::MAX - 1));
    assert_eq!(link.packets_inside(), 0);
    Passed { wake_ups, dropped: link.counters().drops() }
}

fn run_until(link: &mut Link<TestPacket>, limit: Instant) -> u64 {
    let mut wake_ups = 0;
    while let Some(due) = link.poll_timeout().filter(|due| *due <= limit) {
        link.handle_timeout(due, &mut ());
        drain(link);
        wake_ups += 1;
    }
    wake_ups
}

fn drain(link: &mut Link<TestPacket>) {
    while let Some(packet) = link.poll_delivery() {
        std::hint::black_box(&packet);
    }
}
