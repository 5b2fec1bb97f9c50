//! The counts that the board keeps are those of a recount, whatever happens to it.

use proptest::prelude::*;

use super::*;
use crate::Cause;

/// What can happen to a board; numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Step {
    Push { len: u32, fin: bool },
    Retransmit(usize),
    Acknowledge(u32),
    Sack { start: u32, len: u32 },
    MarkLost(usize),
    MarkAllLost,
    ClearLost,
    ForgetSacks,
    BlameFirst,
    ForgetFirstCopy(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..1500u32, prop::bool::weighted(0.05)).prop_map(|(len, fin)| Step::Push { len, fin }),
        2 => any::<usize>().prop_map(Step::Retransmit),
        3 => (0..5000u32).prop_map(Step::Acknowledge),
        4 => (0..20_000u32, 1..4000u32).prop_map(|(start, len)| Step::Sack { start, len }),
        3 => any::<usize>().prop_map(Step::MarkLost),
        1 => Just(Step::MarkAllLost),
        1 => Just(Step::ClearLost),
        1 => Just(Step::ForgetSacks),
        1 => Just(Step::BlameFirst),
        1 => any::<usize>().prop_map(Step::ForgetFirstCopy),
    ]
}

fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

/// A board that starts near the wrap, and the next number to send.
struct Sender {
    board: Scoreboard,
    next: Seq,
    steps: u64,
}

impl Sender {
    const fn new() -> Self {
        Self {
            board: Scoreboard {
                sent: VecDeque::new(),
                outstanding: Bytes::ZERO,
                sacked: Bytes::ZERO,
                lost: Bytes::ZERO,
                twice: Bytes::ZERO,
                lost_segments: 0,
                first_lost: None,
                highest_sacked: None,
            },
            next: Seq(u32::MAX - 5000),
            steps: 0,
        }
    }

    fn una(&self) -> Seq {
        self.board.front().map_or(self.next, |first| first.range.start)
    }

    fn push(&mut self, len: u32, fin: bool) {
        let payload = Payload::Pattern { offset: 0, len };
        let range = SeqRange::new(self.next, len + u32::from(fin));
        self.board.push(range, payload, false, fin, at(self.steps));
        self.next = range.end;
    }

    fn take(&mut self, step: &Step) {
        self.steps += 1;
        let len = self.board.len();
        let outstanding = self.next.since(self.una());
        match *step {
            Step::Push { len, fin } => self.push(len, fin),
            Step::Retransmit(index) if len > 0 => self.board.on_retransmitted(index % len, at(self.steps)),
            Step::MarkLost(index) if len > 0 => self.board.mark_lost(index % len, Cause::Scoreboard),
            Step::Acknowledge(by) => drop(self.board.acknowledge(self.una() + by.min(outstanding))),
            Step::Sack { start, len } => drop(self.board.sack(SeqRange::new(self.una() + start, len))),
            Step::MarkAllLost => self.board.mark_all_lost(),
            Step::ClearLost => self.board.clear_lost(),
            Step::ForgetSacks => self.board.forget_sacks(),
            Step::BlameFirst => self.board.blame_first(Cause::FastRetransmit),
            Step::ForgetFirstCopy(index) if len > 0 => self.board.forget_first_copy(index % len),
            Step::Retransmit(_) | Step::MarkLost(_) | Step::ForgetFirstCopy(_) => {}
        }
    }
}

fn sum(board: &Scoreboard, counts: impl Fn(&Sent) -> bool) -> Bytes {
    board.sent.iter().filter(|sent| counts(sent)).map(Sent::size).sum()
}

fn is_lost(sent: &Sent) -> bool {
    sent.mark != Mark::InFlight
}

fn recount(board: &Scoreboard) {
    assert_eq!(board.outstanding(), sum(board, |_| true), "outstanding");
    assert_eq!(board.sacked(), sum(board, |sent| sent.sacked), "sacked");
    let in_network = sum(board, |sent| !sent.sacked && !is_lost(sent));
    assert_eq!(board.pipe(), in_network + sum(board, |sent| sent.twice), "pipe");
    assert!(!board.sent.iter().any(|sent| sent.twice && (sent.sacked || is_lost(sent))), "no second copy");
    let first_lost = board.sent.iter().position(is_lost);
    assert_eq!(board.first_lost().map(|(index, _)| index), first_lost, "first lost");
    let highest = board.sent.iter().rev().find(|sent| sent.sacked).map(|sent| sent.range.end);
    assert_eq!(board.highest_sacked(), highest, "highest SACKed");
    assert!(!board.sent.iter().any(|sent| sent.sacked && is_lost(sent)), "SACKed and lost");
    let pairs = board.sent.iter().zip(board.sent.iter().skip(1));
    assert!(pairs.into_iter().all(|(one, next)| one.range.end == next.range.start), "a gap");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_counts_equal_a_recount_after_any_steps(steps in prop::collection::vec(step(), 0..120)) {
        let mut sender = Sender::new();
        for step in &steps {
            sender.take(step);
            recount(&sender.board);
        }
    }
}

/// Four segments of 1000 bytes from number 1000, sent at 1, 2, 3 and 4 ns.
fn four() -> Sender {
    let mut sender = Sender::new();
    sender.next = Seq(1000);
    for _ in 0..4 {
        sender.steps += 1;
        sender.push(1000, false);
    }
    sender
}

fn block(start: u32, end: u32) -> SeqRange {
    SeqRange { start: Seq(start), end: Seq(end) }
}

#[test]
fn a_block_sacks_what_lies_wholly_inside_and_once() {
    let mut board = four().board;
    assert_eq!(board.sack(block(2000, 3999)), Bytes(1000));
    assert_eq!(board.sack(block(2000, 4000)), Bytes(1000));
    assert_eq!(board.sack(block(2000, 4000)), Bytes::ZERO);
    assert_eq!((board.pipe(), board.highest_sacked()), (Bytes(2000), Some(Seq(4000))));
}

#[test]
fn what_is_acknowledged_in_part_stays_shortened() {
    let mut board = four().board;
    let acked = board.acknowledge(Seq(2300));
    assert_eq!((acked.bytes, acked.newly), (Bytes(1300), Bytes(1300)));
    let first = board.front().unwrap();
    assert_eq!((first.range, first.payload.len()), (block(2300, 3000), 700));
}

#[test]
fn a_sample_is_of_the_last_segment_and_of_none_that_was_sent_twice() {
    let mut board = four().board;
    assert_eq!(board.clone().acknowledge(Seq(3000)).sample, Some(at(2)));
    board.on_retransmitted(0, at(9));
    assert_eq!(board.acknowledge(Seq(3000)).sample, None);
    assert_eq!(board.acknowledge(Seq(4000)).sample, Some(at(3)));
}

#[test]
fn what_was_sacked_is_not_news_when_it_is_acknowledged() {
    let mut board = four().board;
    board.sack(block(2000, 3000));
    let acked = board.acknowledge(Seq(4000));
    assert_eq!((acked.bytes, acked.newly), (Bytes(3000), Bytes(2000)));
}

#[test]
fn a_lost_fin_without_data_waits_to_be_sent_again() {
    let mut sender = four();
    sender.push(0, true);
    sender.board.mark_all_lost();
    for index in 0..4 {
        assert_eq!(sender.board.first_lost().map(|(first, _)| first), Some(index));
        sender.board.on_retransmitted(index, at(20));
    }
    assert_eq!(sender.board.first_lost(), Some((4, Cause::AfterTimeout)));
}

#[test]
fn a_segment_sent_again_without_being_lost_counts_twice_in_the_pipe() {
    let mut board = four().board;
    board.on_retransmitted(1, at(9));
    assert_eq!(board.pipe(), Bytes(5000));
    board.forget_first_copy(1);
    assert_eq!(board.pipe(), Bytes(4000));
    board.on_retransmitted(2, at(9));
    board.sack(block(3000, 4000));
    assert_eq!(board.pipe(), Bytes(3000));
}

#[test]
fn a_sack_takes_the_mark_of_loss_away() {
    let mut board = four().board;
    board.mark_all_lost();
    board.sack(block(1000, 2000));
    assert_eq!(board.first_lost(), Some((1, Cause::AfterTimeout)));
    assert_eq!(board.pipe(), Bytes::ZERO);
}
