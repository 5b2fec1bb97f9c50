//! A link with a driver that keeps to the order of calls, and an observer that writes all down.

use link::{Config, Ecn, Event, Link, Observer, Packet};
use units::{Bytes, Duration, Instant, PacketId, Streams};

/// A packet with nothing in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) id: u64,
    pub(crate) size: u64,
    pub(crate) damaged: bool,
    pub(crate) ecn: Ecn,
    /// Flow, source and destination in one.
    pub(crate) who: u64,
    pub(crate) class: u8,
    pub(crate) is_ack: bool,
    /// The bytes of its headers.
    pub(crate) headers: Vec<u8>,
}

impl TestPacket {
    pub(crate) const fn new(id: u64, size: u64) -> Self {
        Self {
            id,
            size,
            damaged: false,
            ecn: Ecn::NotCapable,
            who: 0,
            class: 0,
            is_ack: false,
            headers: Vec::new(),
        }
    }
}

impl Packet for TestPacket {
    fn id(&self) -> PacketId {
        PacketId(self.id)
    }

    fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    fn corrupt(&mut self) {
        self.damaged = true;
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        assert!(self.ecn.is_capable(), "only what is capable is marked");
        self.ecn = Ecn::CongestionExperienced;
    }

    fn flow_key(&self) -> u64 {
        self.who
    }

    fn source(&self) -> u64 {
        self.who
    }

    fn destination(&self) -> u64 {
        self.who
    }

    fn class(&self) -> u8 {
        self.class
    }

    fn is_ack(&self) -> bool {
        self.is_ack
    }

    fn headers(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.headers);
    }

    fn duplicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Records every event with its time and packet.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct EventLog(pub(crate) Vec<(Instant, u64, Event)>);

impl Observer<TestPacket> for EventLog {
    fn on_event(&mut self, now: Instant, packet: &TestPacket, event: Event) {
        self.0.push((now, packet.id, event));
    }
}

/// A link under a driver that calls it exactly when it asks.
pub(crate) struct Driver {
    pub(crate) link: Link<TestPacket>,
    pub(crate) journal: EventLog,
    /// Delivered packets with their times.
    pub(crate) out: Vec<(Instant, TestPacket)>,
    pub(crate) wake_ups: u64,
    next_id: u64,
}

impl Driver {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        config.validate().expect("a valid configuration");
        let link = Link::new(config, &Streams::new(seed).below("link.lasthop.down"));
        Self { link, journal: EventLog::default(), out: Vec::new(), wake_ups: 0, next_id: 1 }
    }

    /// A packet of `size` bytes comes at `now`, after all that was due before it.
    pub(crate) fn send(&mut self, now: Instant, size: u64) -> u64 {
        self.hand(now, TestPacket::new(0, size))
    }

    /// This packet comes at `now`; it gets the next number.
    pub(crate) fn hand(&mut self, now: Instant, parcel: TestPacket) -> u64 {
        self.run_until(now);
        let id = self.next_id;
        self.next_id += 1;
        self.link.handle_packet(now, TestPacket { id, ..parcel }, &mut self.journal);
        self.drain(now);
        id
    }

    pub(crate) fn send_many(&mut self, now: Instant, size: u64, count: u64) {
        for _ in 0..count {
            self.send(now, size);
        }
    }

    pub(crate) fn run_until(&mut self, limit: Instant) {
        while let Some(due) = self.link.poll_timeout().filter(|due| *due <= limit) {
            self.wake_ups += 1;
            self.link.handle_timeout(due, &mut self.journal);
            self.drain(due);
        }
    }

    pub(crate) fn run(&mut self) {
        self.run_until(Instant::from_nanos(u64::MAX - 1));
    }

    fn drain(&mut self, now: Instant) {
        while let Some(packet) = self.link.poll_delivery() {
            self.out.push((now, packet));
        }
    }

    /// Numbers and times of delivered packets.
    pub(crate) fn deliveries(&self) -> Vec<(u64, Instant)> {
        self.out.iter().map(|(at, packet)| (packet.id, *at)).collect()
    }

    pub(crate) fn delivered_at(&self, id: u64) -> Option<Instant> {
        self.out.iter().find(|(_, packet)| packet.id == id).map(|(at, _)| *at)
    }

    /// The numbers of the packets that an event of this name happened to.
    pub(crate) fn who(&self, event: &str) -> Vec<u64> {
        self.journal.0.iter().filter(|entry| entry.2.id() == event).map(|entry| entry.1).collect()
    }
}

/// A configuration as in a file, in JSON.
pub(crate) fn config(json: serde_json::Value) -> Config {
    serde_json::from_value(json).expect("a readable configuration")
}

pub(crate) fn ms(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

pub(crate) fn us(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}
