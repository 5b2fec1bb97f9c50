//! In the steady state a packet costs no allocation. Alone in its binary, as it replaces
//! the allocator.

extern crate lasthop_link as link;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use link::{Config, Link, Packet};
use units::{Bytes, Duration, Instant, PacketId, Streams};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; the count changes nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct TestPacket(u64);

impl Packet for TestPacket {
    fn id(&self) -> PacketId {
        PacketId(self.0)
    }

    fn size(&self) -> Bytes {
        Bytes(300)
    }

    fn corrupt(&mut self) {}
}

/// Hands over `count` packets, faster than the link is.
fn pass(link: &mut Link<TestPacket>, now: &mut Instant, count: u64) {
    for id in 0..count {
        while let Some(due) = link.poll_timeout().filter(|due| due <= now) {
            link.handle_timeout(due, &mut ());
            while link.poll_delivery().is_some() {}
        }
        link.handle_packet(*now, TestPacket(id), &mut ());
        while link.poll_delivery().is_some() {}
        *now += Duration::from_millis(2);
    }
}

#[test]
fn a_packet_costs_no_allocation_once_the_link_has_been_full() {
    let table = serde_json::json!({
        "rate": "1 Mbit/s",
        "propagation": { "uniform": ["10 ms", "100 ms"] },
        "queue": {
            "limit": "20 packets",
            "discipline": { "red": { "min": "2 packets", "max": "15 packets", "weight": 0.1, "max_probability": 0.1 } },
        },
        "send_buffer": { "limit": "3 kB", "held_until": "delivery" },
        "receive_buffer": { "limit": "3 kB", "order": "out-of-order" },
        "errors": { "per": "bit", "probability": 1e-6, "effect": "delay", "delay": { "exponential": { "mean": "50 ms" } } },
        "events": [{ "packet": 50_000, "delay": "1 s" }],
        "dropper": { "probability": 0.01 },
    });
    let config: Config = serde_json::from_value(table).expect("a readable configuration");
    let (mut link, mut now) = (Link::new(&config, &Streams::new(1)), Instant::START);
    pass(&mut link, &mut now, 100_000);
    let before = ALLOCATIONS.get();
    pass(&mut link, &mut now, 100_000);
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(link.counters().packets_out > 10_000, "and it was busy: {:?}", link.counters());
}
