//! An odd segment is an outcome, never a failure: endpoints in every state meet thousands of segments that no
//! sound peer sends, alongside calls of their user and timers that run out, and neither panic nor contradict
//! themselves. Debug builds check arithmetic and every change of state on the way.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use rand::{Rng, RngExt};
use serde_json::json;
use tcp::{Config, Endpoint, Ports, State};
use testkit::profile::config;
use units::{Duration, Instant, Seq, SeqRange, Streams};
use wire::{Flags, Options, Payload, Segment, Timestamps};

const OUR_ISS: Seq = Seq(u32::MAX - 2_000);
const PEER_ISS: Seq = Seq(u32::MAX - 900);
const PORTS: Ports = Ports { local: 80, remote: 4000 };

struct Chaos<R> {
    draw: R,
    endpoint: Endpoint,
    now: Instant,
    /// The peer's knowledge: the highest numbers seen so far.
    our_next: Seq,
    peer_next: Seq,
    written: u64,
    read: u64,
}

impl<R: Rng> Chaos<R> {
    /// A number at or near a significant one.
    fn near(&mut self, seq: Seq) -> Seq {
        match self.draw.random_range(0..10) {
            0..=5 => seq,
            6 => seq + self.draw.random_range(0..3),
            7 => seq - self.draw.random_range(0..3_000),
            8 => seq + self.draw.random_range(0..70_000),
            _ => Seq(self.draw.random()),
        }
    }

    fn flags(&mut self) -> Flags {
        match self.draw.random_range(0..24) {
            0..=15 => Flags::ACK,
            16 => Flags::ACK.with(Flags::FIN),
            17 => Flags::SYN,
            18 => Flags::SYN.with(Flags::ACK),
            19 if self.draw.random_range(0..4) == 0 => Flags::RST,
            20 => Flags::FIN.with(Flags::SYN).with(Flags::ACK).with(Flags::URG),
            21 => Flags::empty(),
            _ => Flags::ACK.with(Flags::PSH),
        }
    }

    fn options(&mut self) -> Options {
        let mut options = Options::default();
        if self.draw.random() {
            let (value, echo) = (self.draw.random_range(0..5_000), self.draw.random());
            options.timestamps = Some(Timestamps { value, echo });
        }
        if self.draw.random_range(0..4) == 0 {
            options.mss = Some(self.draw.random());
            options.window_scale = Some(self.draw.random());
            options.sack_permitted = true;
        }
        for _ in 0..self.draw.random_range(0..5) {
            let start = self.near(self.our_next - 3_000);
            let end = self.near(start + 1_000);
            options.sack.push(SeqRange { start, end });
        }
        options
    }

    fn segment(&mut self) -> Segment {
        let len = if self.draw.random() { 0 } else { self.draw.random_range(0..3_000) };
        let seq = self.near(self.peer_next);
        let ack_of = if self.draw.random() { self.our_next } else { self.our_next - 1_000 };
        Segment {
            source_port: PORTS.remote,
            destination_port: PORTS.local,
            seq,
            ack: self.near(ack_of),
            flags: self.flags(),
            window: if self.draw.random_range(0..5) == 0 { 0 } else { self.draw.random() },
            options: self.options(),
            ecn: wire::Ecn::NotCapable,
            payload: payload(seq, len),
        }
    }

    fn step(&mut self) {
        match self.draw.random_range(0..20) {
            0..=11 => {
                let mut segment = self.segment();
                if matches!(self.endpoint.state(), State::Listen | State::SynSent) {
                    // One stream for all: whichever SYN is taken, it has this number.
                    segment.seq = PEER_ISS;
                }
                self.endpoint.handle_segment(self.now, &segment);
            }
            12..=14 => self.pass_time(),
            15 | 16 => {
                let len = self.draw.random_range(1..5_000);
                self.endpoint.write(Payload::Pattern { offset: self.written, len });
                self.written += u64::from(len);
            }
            17 => while self.endpoint.read().is_some_and(|payload| self.check(&payload)) {},
            18 if self.draw.random_range(0..8) == 0 => self.endpoint.close(),
            19 if self.draw.random_range(0..60) == 0 => self.endpoint.abort(),
            _ => {}
        }
        self.observe();
    }

    /// The data read are the stream in order, whatever arrived in between.
    fn check(&mut self, payload: &Payload) -> bool {
        let mut bytes = vec![];
        payload.write_to(&mut bytes);
        for byte in bytes {
            assert_eq!(byte, Payload::pattern_byte(self.read), "byte {} of the stream", self.read);
            self.read += 1;
        }
        true
    }

    fn pass_time(&mut self) {
        let wait = Duration::from_millis(self.draw.random_range(0..3_000));
        let end = self.now + wait;
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.endpoint.handle_timeout(self.now);
            self.observe();
        }
        self.now = end;
    }

    /// Takes out all that the endpoint wants to send and say; it must come to an end.
    fn observe(&mut self) {
        let mut sent = 0;
        while let Some(transmit) = self.endpoint.poll_transmit(self.now) {
            let segment = transmit.segment;
            if segment.flags.contains(Flags::ACK) && self.peer_next.before(segment.ack) {
                self.peer_next = segment.ack;
            }
            if !segment.flags.contains(Flags::RST) {
                self.our_next = self.our_next.max(segment.seq_range().end);
            }
            sent += 1;
            assert!(sent < 10_000, "it never stops sending");
        }
        while self.endpoint.poll_event().is_some() {}
        let smss = self.endpoint.agreed().smss;
        assert!(self.endpoint.cwnd() >= smss || self.endpoint.state() == State::Closed);
        assert!(self.endpoint.acked().0 <= self.written, "more is acknowledged than was written");
    }
}

/// The bytes of the peer's stream that belong at `seq`; those from before its beginning are any.
fn payload(seq: Seq, len: u32) -> Payload {
    let offset = i64::from(seq.since(PEER_ISS + 1).cast_signed());
    match u64::try_from(offset) {
        Ok(offset) => Payload::Pattern { offset, len },
        Err(_) => {
            let bytes =
                (offset..offset + i64::from(len)).map(|place| Payload::pattern_byte(place.cast_unsigned()));
            Payload::Data(bytes.collect::<Vec<u8>>().into())
        }
    }
}

fn profiles() -> Vec<Arc<Config>> {
    let recoveries = ["timeout-only", "tahoe", "reno", "new-reno", "sack-6675"];
    let of = |(index, id): (usize, &str)| {
        config(&json!({
            "recovery": { id: { "after_timeout": (["go-back-n", "linux", "hold"][index % 3]) } },
            "timestamps": index % 2 == 0,
            "keep_alive": true, "keep_alive_idle": "20 s",
            "window": { "fixed": { "size": "6000 bytes" } }, "mss": "1000 bytes", "msl": "2 s",
        }))
        .unwrap()
    };
    recoveries.into_iter().cycle().take(15).enumerate().map(of).collect()
}

fn run(seed: u64, config: &Arc<Config>) {
    let endpoint = if seed.is_multiple_of(2) {
        Endpoint::connect(config, PORTS, OUR_ISS)
    } else {
        Endpoint::listen(config, PORTS.local, OUR_ISS)
    };
    let draw = Streams::new(seed).stream("chaos");
    let (our_next, peer_next) = (OUR_ISS, PEER_ISS);
    let now = Instant::START;
    let mut chaos = Chaos { draw, endpoint, now, our_next, peer_next, written: 0, read: 0 };
    chaos.observe();
    // Most connections get to be one before the chaos begins.
    if !seed.is_multiple_of(5) {
        shake_hands(&mut chaos);
    }
    for _ in 0..300 {
        chaos.step();
    }
}

fn shake_hands<R: Rng>(chaos: &mut Chaos<R>) {
    let options = Options {
        mss: Some(1000),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Options::default()
    };
    let syn = Segment {
        source_port: PORTS.remote,
        destination_port: PORTS.local,
        seq: PEER_ISS,
        ack: OUR_ISS + 1,
        flags: if chaos.endpoint.state() == State::Listen { Flags::SYN } else { Flags::SYN.with(Flags::ACK) },
        window: 5_000,
        options,
        ecn: wire::Ecn::NotCapable,
        payload: Payload::EMPTY,
    };
    chaos.endpoint.handle_segment(chaos.now, &syn);
    chaos.observe();
    let options = Options { timestamps: options.timestamps, ..Options::default() };
    let third = Segment { seq: PEER_ISS + 1, flags: Flags::ACK, options, ..syn };
    chaos.endpoint.handle_segment(chaos.now, &third);
    chaos.observe();
}

#[test]
fn endpoints_outlive_whatever_comes() {
    let profiles = profiles();
    for seed in 0..6_000 {
        let config = &profiles[seed as usize % profiles.len()];
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(seed, config)));
        assert!(outcome.is_ok(), "seed {seed}, {}", config.recovery.id());
    }
}
