//! Header prediction changes nothing but the cost: an endpoint with it and an endpoint without it stay equal in every
//! field, whatever comes.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use units::{Seq, SeqRange};
use wire::{Ecn, Flags, Options, Segment, Timestamps};

use super::*;
use crate::Config;

/// What happens to the endpoints.
#[derive(Clone, Debug)]
enum Step {
    /// Data comes: in order, or so far from it.
    Data {
        len: u32,
        shift: i32,
        header: Header,
    },
    /// A segment without data comes.
    Ack(Header),
    /// The program writes, reads.
    Write(u32),
    Read,
    /// Milliseconds pass.
    Wait(u64),
}

/// What is odd about a header; mostly nothing.
#[derive(Clone, Debug)]
struct Header {
    flags: Flags,
    /// How far the acknowledgment and the clock lag.
    ack_lag: u32,
    clock_lag: u32,
    without_clock: bool,
    window: u16,
    marked: bool,
    sack: bool,
}

fn mostly<T: Clone + std::fmt::Debug + 'static>(
    usual: T,
    odd: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![12 => Just(usual), 1 => odd]
}

fn header() -> impl Strategy<Value = Header> {
    let flags = prop::sample::select(vec![
        Flags::PSH,
        Flags::FIN,
        Flags::SYN,
        Flags::RST,
        Flags::ECE,
        Flags::CWR,
        Flags::POLL,
        Flags::URG,
    ]);
    let windows = prop::sample::select(vec![0, 1, 500, 30_000]);
    let lags = (mostly(0, 1..3000u32), mostly(0, 1..50u32), mostly(false, Just(true)));
    let rest = (mostly(50_000, windows), mostly(false, Just(true)), mostly(false, Just(true)));
    (mostly(Flags::empty(), flags), lags, rest).prop_map(|(flags, lags, (window, marked, sack))| Header {
        flags,
        ack_lag: lags.0,
        clock_lag: lags.1,
        without_clock: lags.2,
        window,
        marked,
        sack,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let shift = mostly(0, -4000..4000i32);
    prop_oneof![
        12 => (mostly(1000, 1..3000u32), shift, header())
            .prop_map(|(len, shift, header)| Step::Data { len, shift, header }),
        6 => header().prop_map(Step::Ack),
        4 => (1..5000u32).prop_map(Step::Write),
        4 => Just(Step::Read),
        4 => (0..300u64).prop_map(Step::Wait),
    ]
}

/// Each policy of acknowledging, recovery, congestion control and detector of spurious signals, with and without
/// timestamps, marks, a small window and keep-alive.
fn profiles() -> Vec<Value> {
    let acks = crate::ack::ENTRIES.iter().map(|entry| json!({ "ack": entry.id }));
    let recoveries = crate::recovery::ENTRIES.iter().map(|entry| entry.id);
    let recoveries = recoveries.map(|id| json!({ "recovery": id, "timestamps": true, "sack": true }));
    let congestion = crate::congestion::ENTRIES.iter();
    let congestion = congestion.map(|entry| json!({ "congestion": entry.id }));
    let detectors = crate::spurious::ENTRIES.iter();
    let detectors = detectors.map(|entry| json!({ "spurious": entry.id, "timestamps": true }));
    let policies = acks.chain(recoveries).chain(congestion).chain(detectors);
    let others = [
        json!({ "timestamps": true }),
        json!({ "timestamps": true, "paws": false, "ecn": true }),
        json!({ "timestamps": true, "window_scale": true, "keep_alive": true }),
        json!({ "window": { "fixed": { "size": "4000 bytes" } } }),
        json!({ "sack": false, "recovery": "reno" }),
    ];
    policies.chain(others).filter(|profile| Config::from_profile(profile).is_ok()).collect()
}

/// Two endpoints that receive the same segments, one with header prediction, one without; and their peer.
struct Twins {
    now: Instant,
    predicting: Endpoint,
    plain: Endpoint,
    peer_next: Seq,
    predicted: u32,
    predicted_acks: u32,
}

impl Twins {
    fn connected(profile: &Value) -> Self {
        let config = Arc::new(Config::from_profile(profile).expect("a profile"));
        let listen = || Endpoint::listen(&config, 80, Seq(u32::MAX - 7000));
        let now = Instant::START + Duration::from_secs(1);
        let (predicting, plain) = (listen(), listen());
        let mut twins = Self { now, predicting, plain, peer_next: IRS, predicted: 0, predicted_acks: 0 };
        let mut syn = twins.segment(IRS, 0, &Header::usual());
        syn.flags = Flags::SYN.with(if config.plain.ecn.is_on() {
            Flags::ECE.with(Flags::CWR)
        } else {
            Flags::empty()
        });
        syn.options = crate::options::offer(&config, None, Timestamps { value: 1000, echo: 0 });
        twins.hear(&syn);
        twins.peer_next += 1;
        let third = twins.segment(twins.peer_next, 0, &Header::usual());
        twins.hear(&third);
        assert_eq!(twins.plain.state(), State::Established);
        twins
    }

    fn segment(&self, seq: Seq, len: u32, header: &Header) -> Segment {
        let value = (self.now.as_nanos() / 1_000_000) as u32 - header.clock_lag;
        let timestamps = (self.plain.agreed.timestamps && !header.without_clock)
            .then_some(Timestamps { value, echo: value.saturating_sub(20) });
        let mut options = Options { timestamps, ..Options::default() };
        if header.sack {
            options.sack.push(SeqRange::new(self.plain.send.una(), 500));
        }
        Segment {
            source_port: 5000,
            destination_port: 80,
            seq,
            ack: self.plain.send.nxt() - header.ack_lag,
            flags: Flags::ACK.with(header.flags),
            window: header.window,
            options,
            ecn: if header.marked { Ecn::Experienced } else { Ecn::NotCapable },
            payload: Payload::Pattern { offset: u64::from(seq.since(IRS)), len },
        }
    }

    fn hear(&mut self, segment: &Segment) {
        self.predicted += u32::from(self.predicting.is_predicted(segment));
        self.predicted_acks += u32::from(self.predicting.is_predicted_ack(segment));
        self.predicting.handle_segment(self.now, segment);
        self.plain.handle_any_segment(self.now, segment);
        self.settle();
    }

    fn each(&mut self, act: impl Fn(&mut Endpoint)) {
        act(&mut self.predicting);
        act(&mut self.plain);
        self.settle();
    }

    /// Both are equal before they send anything, and send the same.
    fn settle(&mut self) {
        assert_eq!(format!("{:?}", self.predicting), format!("{:?}", self.plain));
        while let Some(event) = self.plain.poll_event() {
            assert_eq!(self.predicting.poll_event(), Some(event));
        }
        while let Some(sent) = self.plain.poll_transmit(self.now) {
            let twin = self.predicting.poll_transmit(self.now).map(|twin| (twin.segment, twin.kind));
            assert_eq!(twin, Some((sent.segment, sent.kind)));
        }
        assert!(self.predicting.poll_transmit(self.now).is_none());
        assert_eq!(self.predicting.poll_timeout(), self.plain.poll_timeout());
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Data { len, shift, header } => {
                let seq = self.peer_next + shift.cast_unsigned();
                let segment = self.segment(seq, *len, header);
                if *shift == 0 {
                    self.peer_next = segment.seq_range().end;
                }
                self.hear(&segment);
            }
            Step::Ack(header) => {
                let segment = self.segment(self.peer_next, 0, header);
                self.hear(&segment);
            }
            Step::Write(len) => self.each(|end| end.write(Payload::Pattern { offset: 0, len: *len })),
            Step::Read => self.each(|end| while end.read().is_some() {}),
            Step::Wait(millis) => {
                self.now += Duration::from_millis(*millis);
                let now = self.now;
                self.each(|end| end.handle_timeout(now));
            }
        }
    }
}

impl Header {
    const fn usual() -> Self {
        let (flags, window) = (Flags::empty(), 50_000);
        Self { flags, ack_lag: 0, clock_lag: 0, without_clock: false, window, marked: false, sack: false }
    }
}

/// The data of the peer pass the wrap of the sequence numbers.
const IRS: Seq = Seq(u32::MAX - 9000);

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_endpoint_with_header_prediction_is_equal_to_one_without(
        profile in prop::sample::select(profiles()),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut twins = Twins::connected(&profile);
        for step in &steps {
            twins.take(step);
        }
    }
}

#[test]
fn each_segment_of_a_bulk_transfer_is_predicted() {
    for profile in profiles() {
        let mut twins = Twins::connected(&profile);
        for _ in 0..20 {
            twins.take(&Step::Data { len: 1000, shift: 0, header: Header::usual() });
            twins.take(&Step::Read);
        }
        assert_eq!(twins.predicted, 20, "{profile}");
    }
}

#[test]
fn each_ack_of_new_data_is_predicted_while_nothing_is_lost() {
    let mut twins = Twins::connected(&json!({}));
    for _ in 0..20 {
        twins.take(&Step::Write(1000));
        twins.take(&Step::Ack(Header::usual()));
    }
    assert_eq!(twins.predicted_acks, 20);
}

#[test]
fn an_ack_with_something_to_report_is_not_predicted() {
    let mut twins = Twins::connected(&json!({}));
    let acks = [
        Header { flags: Flags::ECE, ..Header::usual() },
        Header { sack: true, ..Header::usual() },
        Header { ack_lag: 1000, ..Header::usual() },
    ];
    for header in acks {
        twins.take(&Step::Write(1000));
        twins.take(&Step::Ack(header));
    }
    assert_eq!(twins.predicted_acks, 0);
}

#[test]
fn what_comes_behind_a_gap_or_fills_it_is_not_predicted() {
    let mut twins = Twins::connected(&json!({}));
    let gap = |shift| Step::Data { len: 1000, shift, header: Header::usual() };
    twins.take(&gap(1000));
    twins.take(&gap(0));
    assert_eq!(twins.predicted, 0);
}
