//! Every kind, and the two that thin and pace ACKs.

use units::{Duration, Instant, Seq, SeqRange};
use wire::{Flags, Segment};

use super::*;
use crate::agent::{Action, Heading, Output, Passing, Ticket, Verdict};

fn read(text: &str) -> Proxy {
    serde_json::from_str(text).expect("a proxy")
}

#[test]
fn every_kind_is_read_from_its_name_and_is_right() {
    for entry in ENTRIES {
        let proxy = read(&format!("\"{}\"", entry.id));
        assert_eq!(proxy.check(), Ok(()), "{}", entry.id);
        assert_eq!(proxy.agent().is_none(), proxy.split().is_some(), "{}", entry.id);
    }
}

#[test]
fn parameters_without_meaning_are_refused_with_their_key() {
    for (text, path) in [
        (r#"{"snoop":{"cache_packets":0}}"#, "snoop.cache_packets"),
        (r#"{"snoop":{"cache_bytes":"0 bytes"}}"#, "snoop.cache_bytes"),
        (r#"{"snoop":{"duplicates":0}}"#, "snoop.duplicates"),
        (r#"{"split":{"buffer":"0 bytes"}}"#, "split.buffer"),
        (r#"{"ack-filter":{"every":1}}"#, "ack-filter.every"),
        (r#"{"ack-pacer":{"limit":0}}"#, "ack-pacer.limit"),
    ] {
        assert_eq!(read(text).check().expect_err(text).path, path);
    }
}

/// An agent with the segments that it is given.
struct Bench {
    agent: Box<dyn Agent>,
    output: Output,
    now: Instant,
}

impl Bench {
    fn new(text: &str) -> Self {
        let agent = read(text).agent().expect("it has one");
        Self { agent, output: Output::new(false), now: Instant::START }
    }

    fn pass(&mut self, segment: &Segment) -> Verdict {
        let passing = Passing { connection: 7, heading: Heading::In, segment };
        self.agent.handle_segment(self.now, passing, &mut self.output)
    }

    fn ack(&mut self, number: u32) -> Verdict {
        self.pass(&Segment { ack: Seq(number), flags: Flags::ACK, ..Segment::default() })
    }

    fn held(&mut self, number: u32) -> Ticket {
        match self.ack(number) {
            Verdict::Hold(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn wait(&mut self, millis: u64) -> Vec<Action> {
        self.now += Duration::from_millis(millis);
        if self.agent.poll_timeout() <= self.now {
            self.agent.handle_timeout(self.now, &mut self.output);
        }
        std::mem::take(&mut self.output.actions)
    }
}

#[test]
fn the_filter_lets_the_latest_of_several_pass() {
    let mut bench = Bench::new(r#"{"ack-filter":{"every":3}}"#);
    assert_eq!(bench.ack(100), Verdict::Forward, "the first of a connection");
    let [first, second] = [200, 300].map(|number| bench.held(number));
    assert_eq!(bench.ack(400), Verdict::Forward);
    assert_eq!(bench.output.actions, [Action::Drop(first), Action::Drop(second)]);
    assert_eq!(bench.agent.counts(), [("acks_thinned", 2), ("acks_passed", 2)]);
}

#[test]
fn the_filter_holds_no_ack_longer_than_its_delay() {
    let mut bench = Bench::new(r#"{"ack-filter":{"delay":"20 ms"}}"#);
    bench.ack(100);
    let first = bench.held(200);
    assert!(bench.wait(19).is_empty());
    let second = bench.held(300);
    assert_eq!(
        bench.wait(1),
        [Action::Drop(first), Action::Release(second)],
        "the time is that of the first"
    );
}

#[test]
fn the_filter_lets_everything_pass_that_says_more_than_a_number_and_nothing_overtakes() {
    let mut bench = Bench::new("\"ack-filter\"");
    bench.ack(100);
    let mut sack = Segment { ack: Seq(300), flags: Flags::ACK, ..Segment::default() };
    sack.options.sack.push(SeqRange::new(Seq(400), 100));
    let fin = Segment { ack: Seq(500), flags: Flags::ACK.with(Flags::FIN), ..Segment::default() };
    let held = bench.held(200);
    assert_eq!(bench.pass(&sack), Verdict::Forward);
    assert_eq!(bench.wait(0), [Action::Release(held)]);
    assert_eq!(bench.ack(300), Verdict::Forward, "a duplicate");
    let held = bench.held(400);
    assert_eq!((bench.pass(&fin), bench.wait(0)), (Verdict::Forward, vec![Action::Release(held)]));
}

#[test]
fn the_pacer_spreads_acks_by_the_bytes_that_they_acknowledge() {
    let mut bench = Bench::new(r#"{"ack-pacer":{"rate":"8 kbit/s"}}"#);
    bench.ack(0);
    assert_eq!(bench.ack(10), Verdict::Forward);
    let [first, second] = [30, 40].map(|number| bench.held(number));
    assert_eq!(bench.wait(10), [Action::Release(first)]);
    assert!(bench.wait(19).is_empty(), "20 bytes take 20 ms");
    assert_eq!(bench.wait(1), [Action::Release(second)]);
    assert_eq!(bench.agent.poll_timeout(), Instant::NEVER);
}

#[test]
fn the_pacer_holds_no_more_than_its_limit() {
    let mut bench = Bench::new(r#"{"ack-pacer":{"rate":"8 kbit/s","limit":1}}"#);
    bench.ack(0);
    bench.ack(10);
    let [first, _] = [20, 30].map(|number| bench.held(number));
    assert_eq!(bench.wait(0), [Action::Release(first)]);
}
