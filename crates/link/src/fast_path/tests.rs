//! The fast path against the pipeline, which is the specification: equal at every call.

use proptest::prelude::*;
use serde_json::{Value, json};
use units::{Bytes, Duration, Instant, PacketId, Streams};

use super::FastPath;
use crate::config::Config;
use crate::event::{Event, Observer};
use crate::packet::Packet;
use crate::pipeline::Pipeline;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TestPacket {
    id: u64,
    size: u64,
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

#[derive(Debug, Default, PartialEq)]
struct EventLog(Vec<(Instant, TestPacket, Event)>);

impl Observer<TestPacket> for EventLog {
    fn on_event(&mut self, now: Instant, packet: &TestPacket, event: Event) {
        self.0.push((now, *packet, event));
    }
}

/// A step of a driver.
#[derive(Clone, Debug)]
enum Step {
    /// After a while, in which every wake-up is kept, a packet arrives.
    Send { gap: u64, size: u64 },
    /// The link is called after a while though it did not ask for it; wake-ups before are kept, or missed.
    Call { gap: u64, keeps_wake_ups: bool },
    /// Waiting packets are taken out after a time.
    Take { gap: u64 },
}

/// Both links, which are called alike and must answer alike.
struct Pair {
    fast: FastPath<TestPacket>,
    staged: Pipeline<TestPacket>,
    fast_log: EventLog,
    staged_log: EventLog,
    now: Instant,
}

impl Pair {
    fn new(config: &Config) -> Self {
        config.validate().expect("a valid configuration");
        let streams = Streams::new(1);
        Self {
            fast: FastPath::of(config, &streams).expect("a plain link"),
            staged: Pipeline::new(config, &streams),
            fast_log: EventLog::default(),
            staged_log: EventLog::default(),
            now: Instant::START,
        }
    }

    fn send(&mut self, packet: TestPacket) {
        self.fast.handle_packet(self.now, packet, &mut self.fast_log);
        self.staged.handle_packet(self.now, packet, &mut self.staged_log);
        self.compare();
    }

    fn wake(&mut self, at: Instant) {
        self.now = at;
        self.fast.handle_timeout(at, &mut self.fast_log);
        self.staged.handle_timeout(at, &mut self.staged_log);
        self.compare();
    }

    fn take_waiting(&mut self) {
        let fast = self.fast.take_waiting(self.now, &mut self.fast_log);
        assert_eq!(fast, self.staged.take_waiting(self.now, &mut self.staged_log));
        assert_eq!(self.fast.queue_len(), (0, Bytes::ZERO));
        self.compare();
    }

    fn run_until(&mut self, limit: Instant) {
        loop {
            let due = self.fast.next_wake_up();
            if due > limit || due == Instant::NEVER {
                break;
            }
            self.wake(due);
        }
    }

    fn compare(&mut self) {
        assert_eq!(self.fast_log, self.staged_log);
        assert_eq!(self.fast.packets_inside(), self.staged.packets_inside());
        let delivered = |link: &mut dyn FnMut() -> Option<TestPacket>| std::iter::from_fn(link).collect();
        let fast: Vec<TestPacket> = delivered(&mut || self.fast.poll_delivery());
        let staged: Vec<TestPacket> = delivered(&mut || self.staged.poll_delivery());
        assert_eq!(fast, staged);
        assert_eq!(self.fast.next_wake_up(), self.staged.next_wake_up());
        assert_eq!(self.fast.can_accept(), self.staged.can_accept());
        assert_eq!(self.fast.stopped(), self.staged.stopped());
        assert_eq!(self.fast.counters(), self.staged.counters());
        assert_eq!(self.fast.queue_len(), self.staged.queue_len());
        assert_eq!(self.fast.packets_inside(), self.staged.packets_inside());
    }
}

/// Times are multiples of 100 µs and sizes of 100 bytes, which take 100 µs at 8 Mbit/s, so that many events coincide.
fn any_step() -> impl Strategy<Value = Step> {
    let gap = || prop_oneof![Just(0), (0_u64..20).prop_map(|gap| gap * 100_000), 0_u64..3_000_000];
    let size = prop_oneof![(1_u64..15).prop_map(|size| size * 100), 1_u64..1_500];
    prop_oneof![
        4 => (gap(), size).prop_map(|(gap, size)| Step::Send { gap, size }),
        1 => (gap(), any::<bool>()).prop_map(|(gap, keeps_wake_ups)| Step::Call { gap, keeps_wake_ups }),
        1 => gap().prop_map(|gap| Step::Take { gap }),
    ]
}

fn any_queue() -> impl Strategy<Value = Value> {
    let limit = prop_oneof![
        Just(json!({ "discipline": "infinite" })),
        Just(json!({})),
        (1_u64..12).prop_map(|limit| json!({ "limit": format!("{limit} packets") })),
        (100_u64..5_000).prop_map(|limit| json!({ "limit": format!("{limit} bytes") })),
        (1_u64..12, 100_u64..5_000).prop_map(|(packets, bytes)| {
            json!({ "limit": format!("{packets} packets"), "limit_bytes": format!("{bytes} bytes") })
        }),
    ];
    (limit, 0_usize..3, any::<bool>()).prop_map(|(mut queue, overflow, counts_transmission)| {
        if queue.get("limit").is_some() {
            queue["overflow"] = json!(["drop", "stop", "flow-control"][overflow]);
            queue["counts_transmission"] = json!(counts_transmission);
        }
        queue
    })
}

fn any_plain_link() -> impl Strategy<Value = Config> {
    let rates =
        prop_oneof![Just(None), Just(Some("8 Mbit/s")), Just(Some("9600 bit/s")), Just(Some("3 Gbit/s"))];
    let propagations = prop_oneof![Just("0 s"), Just("100 us"), Just("2 ms"), Just("7 ms"), Just("300 ms")];
    let order = prop_oneof![Just("in-order"), Just("in-order-per-flow"), Just("out-of-order")];
    (rates, propagations, any_queue(), 0_u64..3, proptest::option::of(order)).prop_map(
        |(rate, propagation, queue, framing, order)| {
            let mut table = json!({ "propagation": propagation, "queue": queue, "framing": format!("{} bytes", 50 * framing) });
            if let Some(rate) = rate {
                table["rate"] = json!(rate);
            }
            if let Some(order) = order {
                table["receive_buffer"] = json!({ "order": order });
            }
            serde_json::from_value(table).expect("a readable configuration")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_fast_path_is_equal_to_the_pipeline_at_every_call(
        config in any_plain_link(),
        steps in proptest::collection::vec(any_step(), 1..120),
    ) {
        let mut pair = Pair::new(&config);
        for (number, step) in steps.into_iter().enumerate() {
            let takes = matches!(step, Step::Take { .. });
            let (gap, size, keeps_wake_ups) = match step {
                Step::Take { gap } => (gap, None, true),
                Step::Send { gap, size } => (gap, Some(size), true),
                Step::Call { gap, keeps_wake_ups } => (gap, None, keeps_wake_ups),
            };
            let next = pair.now + Duration::from_nanos(gap);
            if keeps_wake_ups {
                pair.run_until(next);
            }
            pair.now = next;
            match size {
                None if takes => pair.take_waiting(),
                Some(size) => pair.send(TestPacket { id: number as u64, size }),
                None => pair.wake(next),
            }
        }
        pair.run_until(Instant::from_nanos(u64::MAX - 1));
        prop_assert_eq!(pair.fast.packets_inside(), 0);
    }
}

fn takes_fast_path(table: Value) -> bool {
    let config: Config = serde_json::from_value(table).expect("a readable configuration");
    FastPath::<TestPacket>::of(&config, &Streams::new(1)).is_some()
}

#[test]
fn only_a_link_with_nothing_else_configured_takes_the_fast_path() {
    assert!(takes_fast_path(json!({})));
    assert!(takes_fast_path(
        json!({ "rate": "1 Mbit/s", "propagation": "1 ms", "queue": { "limit": "9 packets" } })
    ));
    for more in [
        json!({ "propagation": { "uniform": ["1 ms", "2 ms"] } }),
        json!({ "queue": { "discipline": "front-drop" } }),
        json!({ "queue": { "discipline": "codel" } }),
        json!({ "queue": { "discipline": "fq-codel" } }),
        json!({ "send_buffer": { "limit": "3 kB" } }),
        json!({ "receive_buffer": { "limit": "3 kB" } }),
        json!({ "dropper": { "probability": 0.1 } }),
        json!({ "errors": { "probability": 0.1, "effect": "drop" } }),
        json!({ "events": [{ "packet": 5, "effect": "drop" }] }),
        json!({ "lifetime": "1 s" }),
        json!({ "resets": { "interval": "1 s" } }),
        json!({ "rate": "1 Mbit/s", "available_rate": "1 Mbit/s" }),
    ] {
        assert!(!takes_fast_path(more.clone()), "{more}");
    }
}

#[test]
fn a_packet_in_a_long_queue_takes_no_more_memory_than_itself_its_size_and_two_times() {
    assert!(std::mem::size_of::<super::Inside<Box<TestPacket>>>() <= 32);
}
