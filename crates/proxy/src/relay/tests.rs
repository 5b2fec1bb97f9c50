//! A relay between two hosts, over paths that take no time.

use units::Duration;
use wire::Payload;

use super::*;

const WINDOW: u64 = 30_000;

struct Bench {
    hosts: PerSide<Endpoint>,
    relay: Relay,
    now: Instant,
    /// Whether segments get through between the relay and `to`.
    reaches_to: bool,
}

impl Bench {
    fn new(buffer: u64) -> Self {
        let config = Config::from_profile(&serde_json::json!({})).expect("a profile");
        let mut limited = config.clone();
        limited.limit_window(Bytes(WINDOW));
        let (config, limited) = (Arc::new(config), Arc::new(limited));
        let configs = PerSide::new(Arc::clone(&limited), limited);
        let ports = Ports { local: 1000, remote: 80 };
        let hosts =
            PerSide::new(Endpoint::connect(&config, ports, Seq(1)), Endpoint::listen(&config, 80, Seq(2)));
        let relay = Relay::new(configs, PerSide::new(Seq(3), Seq(4)), Bytes(buffer), false);
        Self { hosts, relay, now: Instant::START, reaches_to: true }
    }

    /// Passes segments on until all are silent.
    fn run(&mut self) {
        self.now += Duration::from_millis(1);
        let mut segment = Segment::default();
        loop {
            let mut moved = false;
            for side in Side::BOTH {
                while self.hosts[side].poll_transmit_into(self.now, &mut segment).is_some() {
                    moved = true;
                    if side == Side::From || self.reaches_to {
                        self.relay.handle_segment(self.now, side.other(), &segment);
                    }
                }
                while self.relay.poll_transmit(self.now, side, &mut segment).is_some() {
                    moved = true;
                    if side == Side::To || self.reaches_to {
                        self.hosts[side.other()].handle_segment(self.now, &segment);
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn write(&mut self, len: u32) {
        self.hosts[Side::From].write(Payload::Pattern { offset: 0, len });
        self.run();
    }

    fn events(&mut self, side: Side) -> Vec<Event> {
        std::iter::from_fn(|| self.hosts[side].poll_event()).collect()
    }
}

#[test]
fn bytes_and_the_end_of_the_stream_go_through_in_order() {
    let mut bench = Bench::new(64_000);
    bench.write(5000);
    bench.hosts[Side::From].close();
    bench.run();
    let mut received = 0;
    while let Some(payload) = bench.hosts[Side::To].read() {
        assert!(matches!(payload, Payload::Pattern { offset, .. } if offset == received));
        received += u64::from(payload.len());
    }
    assert_eq!(received, 5000);
    assert!(bench.events(Side::To).contains(&Event::PeerClosed));
    bench.hosts[Side::To].close();
    bench.run();
    assert!(bench.hosts[Side::From].fin_acked());
    assert!(bench.events(Side::From).contains(&Event::PeerClosed));
    let notes = bench.relay.take_notes();
    let ended = notes.iter().filter(|(_, what, _)| *what == What::Ended);
    assert_eq!(ended.map(|(side, ..)| *side).collect::<Vec<_>>(), Side::BOTH);
}

#[test]
fn a_full_buffer_closes_the_window_of_the_sender() {
    let mut bench = Bench::new(8_000);
    bench.run();
    bench.reaches_to = false;
    bench.write(1_000_000);
    let taken = bench.hosts[Side::From].acked().0;
    assert!((8_000..=8_000 + WINDOW + 2_000).contains(&taken), "{taken}");
    assert_eq!(bench.relay.ahead(Side::From).0, taken, "the sender believes that all of it is delivered");
    assert!(bench.relay.most_buffered(Side::From) < Bytes(8_000 + 1_461));
    assert!(bench.relay.take_notes().iter().any(|(_, what, _)| *what == What::Full));
}

#[test]
fn a_reset_of_one_connection_resets_the_other() {
    let mut bench = Bench::new(64_000);
    bench.write(2000);
    bench.hosts[Side::To].abort();
    bench.run();
    assert!(bench.events(Side::From).iter().any(|event| matches!(event, Event::Reset(_))));
    assert!(bench.relay.take_notes().iter().any(|(_, what, _)| *what == What::Reset));
}

#[test]
fn a_host_that_refuses_the_second_connection_resets_the_first() {
    let mut bench = Bench::new(64_000);
    bench.hosts[Side::To].close();
    bench.run();
    assert!(bench.events(Side::From).iter().any(|event| matches!(event, Event::Reset(_))));
}
