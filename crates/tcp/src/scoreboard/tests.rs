//! Whatever happens to a board, it answers as the plain one does.

use proptest::prelude::*;
use wire::Payload;

use super::oracle::PlainScoreboard;
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
    Split { index: usize, len: u32 },
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
        1 => (any::<usize>(), 1..700u32).prop_map(|(index, len)| Step::Split { index, len }),
    ]
}

fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

/// A board that starts near the wrap, the same board written plainly, and the next number to send.
struct Sender {
    board: Scoreboard,
    plain: PlainScoreboard,
    next: Seq,
    steps: u64,
}

impl Sender {
    const fn new() -> Self {
        Self { board: Scoreboard::EMPTY, plain: PlainScoreboard { sent: vec![] }, next: ORIGIN, steps: 0 }
    }

    fn una(&self) -> Seq {
        self.board.front().map_or(self.next, |first| first.range.start)
    }

    fn push(&mut self, len: u32, syn: bool, fin: bool) {
        let payload = Payload::Pattern { offset: 0, len };
        let range = SeqRange::new(self.next, len + u32::from(syn) + u32::from(fin));
        let new = New { range, payload, syn, fin };
        self.board.push(new.clone(), at(self.steps), Bytes(self.steps));
        self.plain.push(new, at(self.steps), Bytes(self.steps));
        self.next = range.end;
    }

    /// Takes a step on both boards; what they answer to it must be the same.
    fn take(&mut self, step: &Step) {
        self.steps += 1;
        let (now, cwnd) = (at(self.steps), Bytes(self.steps));
        let len = self.board.len();
        let una = self.una();
        let outstanding = self.next.since(una);
        let Self { board, plain, .. } = self;
        match *step {
            // Nothing follows a FIN.
            Step::Push { .. } if board.back().is_some_and(|last| last.fin) => {}
            Step::Push { len, fin } => self.push(len, false, fin),
            Step::Retransmit(index) if len > 0 => {
                board.on_retransmitted(index % len, now, cwnd);
                plain.on_retransmitted(index % len, now, cwnd);
            }
            Step::MarkLost(index) if len > 0 => {
                board.mark_lost(index % len, Cause::Scoreboard);
                plain.mark_lost(index % len, Cause::Scoreboard);
            }
            Step::Acknowledge(by) => {
                let ack = una + by.min(outstanding);
                assert_eq!(board.acknowledge(ack), plain.acknowledge(ack));
            }
            Step::Sack { start, len } => {
                let block = SeqRange::new(una + start, len);
                assert_eq!(board.sack(block), plain.sack(block));
            }
            Step::MarkAllLost => (board.mark_all_lost(), plain.mark_all_lost()).0,
            Step::ClearLost => (board.clear_lost(), plain.clear_lost()).0,
            Step::ForgetSacks => (board.forget_sacks(), plain.forget_sacks()).0,
            Step::BlameFirst => {
                board.blame_first(Cause::FastRetransmit);
                plain.blame_first(Cause::FastRetransmit);
            }
            Step::ForgetFirstCopy(index) if len > 0 => {
                board.forget_first_copy(index % len);
                plain.forget_first_copy(index % len);
            }
            Step::Split { index, len: most } if len > 0 => {
                board.split(index % len, Bytes(u64::from(most)));
                plain.split(index % len, most);
            }
            Step::Retransmit(_) | Step::MarkLost(_) | Step::ForgetFirstCopy(_) | Step::Split { .. } => {}
        }
    }

    /// Every question is answered alike; `probe` names places on the board.
    fn compare(&self, probe: usize) {
        let Self { board, plain, .. } = self;
        let state =
            |sent: &Sent| (sent.range, sent.payload.len(), sent.mark, sent.sacked, sent.transmissions);
        assert!(board.sent.iter().map(state).eq(plain.sent.iter().map(state)), "the segments");
        assert_eq!(board.outstanding(), plain.sum(|_| true), "outstanding");
        assert_eq!(board.sacked(), plain.sum(|sent| sent.sacked), "sacked");
        assert_eq!(board.pipe(), plain.pipe(), "pipe");
        assert_eq!(board.first_lost(), plain.first_lost(), "first lost");
        assert_eq!(board.highest_sacked(), plain.highest_sacked(), "highest SACKed");
        let len = board.len();
        let (from, to) = (probe % (len + 1), probe / 7 % (len + 2));
        assert_eq!(board.first_hole(from..to.min(len)), plain.first_hole(from..to.min(len)), "first hole");
        let dupthresh = (probe % 9) as u32;
        for enough in [0, 1, 700, 3000, probe as u64 % 20_000].map(Bytes) {
            assert_eq!(board.lost_edge(dupthresh, enough), plain.lost_edge(dupthresh, enough), "lost edge");
        }
        for seq in plain.sent.iter().flat_map(|sent| [sent.range.start, sent.range.start + 1, sent.range.end])
        {
            assert_eq!(board.index_of(seq), plain.index_of(seq), "index of {seq}");
        }
    }
}

const ORIGIN: Seq = Seq(u32::MAX - 5000);

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_board_answers_as_the_plain_one_after_any_steps(
        syn in any::<bool>(),
        steps in prop::collection::vec((step(), any::<usize>()), 0..120),
    ) {
        let mut sender = Sender::new();
        if syn {
            sender.push(0, true, false);
        }
        for (step, probe) in &steps {
            sender.take(step);
            sender.compare(*probe);
        }
    }

    #[test]
    fn so_it_does_where_all_segments_are_of_one_length(
        lost in prop::collection::vec(prop::bool::weighted(0.3), 40),
        steps in prop::collection::vec((0..4usize, 0..40u32, any::<usize>()), 0..60),
    ) {
        let mut sender = Sender::new();
        for _ in &lost {
            sender.push(1000, false, false);
        }
        for (what, place, probe) in steps {
            let index = (place as usize).min(sender.board.len().saturating_sub(1));
            let start = (ORIGIN + place * 1000).since(sender.una());
            let step = match what {
                0 if lost[place as usize] => Step::MarkLost(index),
                0 | 1 => Step::Sack { start, len: 1000 + 1000 * (probe % 5) as u32 },
                2 => Step::Retransmit(sender.board.first_lost().map_or(index, |(first, _)| first)),
                _ => Step::Acknowledge(1000 * (probe % 3) as u32),
            };
            sender.take(&step);
            sender.compare(probe);
        }
    }
}

/// Four segments of 1000 bytes from number 1000, sent at 1, 2, 3 and 4 ns.
fn four() -> Sender {
    let mut sender = Sender::new();
    sender.next = Seq(1000);
    for _ in 0..4 {
        sender.steps += 1;
        sender.push(1000, false, false);
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
    board.on_retransmitted(0, at(9), Bytes::ZERO);
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
    sender.push(0, false, true);
    sender.board.mark_all_lost();
    for index in 0..4 {
        assert_eq!(sender.board.first_lost().map(|(first, _)| first), Some(index));
        sender.board.on_retransmitted(index, at(20), Bytes::ZERO);
    }
    assert_eq!(sender.board.first_lost(), Some((4, Cause::AfterTimeout)));
}

#[test]
fn a_segment_sent_again_without_being_lost_counts_twice_in_the_pipe() {
    let mut board = four().board;
    board.on_retransmitted(1, at(9), Bytes::ZERO);
    assert_eq!(board.pipe(), Bytes(5000));
    board.forget_first_copy(1);
    assert_eq!(board.pipe(), Bytes(4000));
    board.on_retransmitted(2, at(9), Bytes::ZERO);
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
