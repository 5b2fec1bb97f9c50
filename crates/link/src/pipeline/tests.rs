//! A case that no present discipline produces but the pipeline allows: dropping at the head of the queue.

use units::{Bytes, Instant, PacketId, Rate, Stream, Streams};

use super::Pipeline;
use crate::config::Config;
use crate::event::DropRule;
use crate::packet::Packet;
use crate::queue::{Arrival, Decision, Departure, Policy};

struct TestPacket(u64);

impl Packet for TestPacket {
    fn id(&self) -> PacketId {
        PacketId(self.0)
    }

    fn size(&self) -> Bytes {
        Bytes(100)
    }

    fn corrupt(&mut self) {}
}

/// Drops every second packet as it leaves the queue.
#[derive(Debug, Default)]
struct EverySecond(u64);

impl Policy for EverySecond {
    fn on_arrival(&mut self, _: &Arrival) -> Decision {
        Decision::Pass
    }

    fn on_departure(&mut self, _: &Departure) -> Decision {
        self.0 += 1;
        if self.0.is_multiple_of(2) {
            Decision::Drop(DropRule::named("every_second"))
        } else {
            Decision::Pass
        }
    }
}

#[test]
fn a_packet_dropped_at_the_head_of_the_queue_makes_way_for_the_next() {
    let config = Config { rate: Some(Rate::from_bits_per_sec(8_000)), ..Config::default() };
    let mut link = Pipeline::new(&config, &Streams::new(1));
    link.queue.set_policy(Box::new(EverySecond::default()));
    for id in 1..=6 {
        link.handle_packet(Instant::START, TestPacket(id), &mut ());
    }
    let mut out = Vec::new();
    while link.next_wake_up() < Instant::NEVER {
        let due = link.next_wake_up();
        link.handle_timeout(due, &mut ());
        out.extend(std::iter::from_fn(|| link.poll_delivery()).map(|packet| packet.0));
    }
    assert_eq!(out, [1, 3, 5]);
    assert_eq!((link.counters().queue_drops, link.packets_inside()), (3, 0));
}

#[test]
fn a_link_can_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Pipeline<u8>>();
    is_send::<Stream>();
}
