use units::{Seq, SeqRange};
use wire::Payload;

use super::*;

const LEN: u32 = 1000;

/// An agent between a sender and a link, with what it does to each segment.
struct Bench {
    agent: Box<dyn Agent>,
    output: Output,
    now: Instant,
    start: Seq,
}

impl Bench {
    fn new(parameters: &Parameters) -> Self {
        // The numbers wrap within the first segments.
        Self::starting(parameters, Seq(u32::MAX - 1500))
    }

    fn starting(parameters: &Parameters, start: Seq) -> Self {
        let agent = parameters.agent().expect("it has one");
        let mut bench = Self { agent, output: Output::new(true), now: Instant::START, start };
        let syn_ack = Segment { ack: start, flags: Flags::SYN.with(Flags::ACK), ..Segment::default() };
        assert_eq!(bench.pass(Heading::Out, &syn_ack), Verdict::Forward);
        bench
    }

    fn pass(&mut self, heading: Heading, segment: &Segment) -> Verdict {
        self.agent.handle_segment(self.now, Passing { connection: 0, heading, segment }, &mut self.output)
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        if self.agent.poll_timeout() <= self.now {
            self.agent.handle_timeout(self.now, &mut self.output);
        }
    }

    /// Segment number `n` of the sender's.
    fn data(&self, n: u32) -> Segment {
        let (seq, flags) = (self.start + n * LEN, Flags::ACK);
        Segment { seq, flags, payload: Payload::Pattern { offset: 0, len: LEN }, ..Segment::default() }
    }

    /// An ACK that waits for segment `n`.
    fn ack(&self, n: u32) -> Segment {
        Segment { ack: self.start + n * LEN, flags: Flags::ACK, window: 5000, ..Segment::default() }
    }

    /// The same, with a SACK block of segments `from` up to `to`.
    fn sack(&self, n: u32, from: u32, to: u32) -> Segment {
        let mut ack = self.ack(n);
        ack.options.sack.push(SeqRange { start: self.start + from * LEN, end: self.start + to * LEN });
        ack
    }

    fn send(&mut self, numbers: std::ops::Range<u32>) {
        for n in numbers {
            let data = self.data(n);
            assert_eq!(self.pass(Heading::In, &data), Verdict::Forward);
        }
    }

    fn receive(&mut self, ack: Segment) -> Verdict {
        self.pass(Heading::Out, &ack)
    }

    /// Numbers of the segments that it has sent again since the last call.
    fn resent(&mut self) -> Vec<u32> {
        let number = |action: Action| match action {
            Action::Resend { segment, .. } => segment.seq.since(self.start) / LEN,
            other => panic!("{other:?}"),
        };
        self.output.actions.drain(..).map(number).collect()
    }

    fn count(&self, name: &str) -> u64 {
        self.agent.counts().into_iter().find(|(known, _)| *known == name).expect("it is counted").1
    }
}

#[test]
fn the_first_duplicate_ack_is_repaired_and_all_are_discarded() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..5);
    assert_eq!(bench.receive(bench.ack(1)), Verdict::Forward);
    for _ in 0..3 {
        assert_eq!(bench.receive(bench.ack(1)), Verdict::Discard);
    }
    assert_eq!(bench.resent(), [1]);
    assert_eq!(bench.receive(bench.ack(5)), Verdict::Forward);
    assert_eq!((bench.count("suppressed_acks"), bench.agent.poll_timeout()), (3, Instant::NEVER));
}

#[test]
fn more_duplicates_than_the_segments_ahead_cause_show_that_the_copy_was_lost() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..4);
    bench.receive(bench.ack(0));
    // Segments 1 to 3 are ahead of the copy of 0.
    for _ in 0..3 {
        bench.receive(bench.ack(0));
    }
    assert_eq!(bench.resent(), [0]);
    bench.send(4..6);
    assert_eq!(bench.receive(bench.ack(0)), Verdict::Discard);
    assert_eq!(bench.resent(), [0], "4 has come, which is after the copy");
    bench.receive(bench.ack(0));
    assert!(bench.resent().is_empty(), "5 was ahead of the second copy");
}

#[test]
fn an_ack_that_closes_one_gap_and_shows_the_next_has_it_repaired() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..6);
    bench.receive(bench.ack(1));
    bench.receive(bench.ack(1));
    assert_eq!(bench.resent(), [1]);
    assert_eq!(bench.receive(bench.ack(3)), Verdict::Forward);
    assert_eq!(bench.resent(), [3]);
    bench.send(6..7);
    bench.receive(bench.ack(6));
    assert!(bench.resent().is_empty(), "6 entered the link after the copy, and may be on its way");
}

#[test]
fn an_ack_after_the_timer_shows_no_loss_behind_a_copy_that_was_late() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..6);
    bench.receive(bench.ack(1));
    bench.wait(100);
    assert_eq!(bench.resent(), [1], "the shortest timer");
    bench.receive(bench.ack(3));
    assert!(bench.resent().is_empty(), "the segments are late, and none is lost");
    // A duplicate proves the loss; the timer then sends a second copy, and the first one closes the gap.
    bench.receive(bench.ack(3));
    bench.send(6..8);
    bench.wait(100);
    assert_eq!(bench.resent(), [3, 3]);
    bench.receive(bench.ack(6));
    assert!(bench.resent().is_empty(), "6 entered the link after the first copy");
}

#[test]
fn duplicates_for_what_was_lost_before_the_node_pass() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..1);
    bench.send(2..5);
    bench.receive(bench.ack(1));
    assert_eq!(bench.receive(bench.sack(1, 2, 3)), Verdict::Forward, "with its blocks");
    bench.receive(bench.ack(1));
    assert!(bench.resent().is_empty());
    // The sender's repair is lost on the link: the sender counts the duplicates, the timer is the agent's.
    bench.send(1..2);
    assert_eq!(bench.receive(bench.ack(1)), Verdict::Forward);
    assert!(bench.resent().is_empty());
    bench.wait(1000);
    assert_eq!((bench.resent(), bench.count("duplicates_passed")), (vec![1], 3));
}

#[test]
fn what_the_sender_sends_again_is_left_to_it() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..4);
    bench.receive(bench.ack(1));
    bench.send(1..2);
    assert_eq!(bench.receive(bench.ack(1)), Verdict::Forward);
    assert_eq!((bench.resent(), bench.count("sender_retransmissions")), (vec![], 1));
}

#[test]
fn a_window_update_passes_even_as_a_duplicate_and_repairs_nothing_without_a_gap() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..4);
    bench.receive(bench.ack(1));
    let update = |ack: Segment| Segment { window: 9000, ..ack };
    assert_eq!(bench.receive(update(bench.ack(1))), Verdict::Forward);
    assert!(bench.resent().is_empty());
    let update = |ack: Segment| Segment { window: 9900, ..ack };
    assert_eq!(bench.receive(update(bench.sack(1, 2, 3))), Verdict::ForwardWithoutSack);
    assert_eq!(bench.resent(), [1]);
}

#[test]
fn blocks_that_report_its_own_repairs_are_hidden_from_the_sender() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..6);
    bench.receive(bench.ack(1));
    bench.receive(bench.sack(1, 2, 3));
    assert_eq!(bench.receive(bench.sack(3, 4, 6)), Verdict::ForwardWithoutSack);
    // Both came after all: a D-SACK of segment 1.
    assert_eq!(bench.receive(bench.sack(6, 1, 2)), Verdict::ForwardWithoutSack);
    let pass = Parameters { sack: SackBlocks::Pass, ..Parameters::default() };
    let mut open = Bench::new(&pass);
    open.send(0..6);
    open.receive(open.ack(1));
    open.receive(open.sack(1, 2, 3));
    assert_eq!(open.receive(open.sack(3, 4, 6)), Verdict::Forward);
}

#[test]
fn the_timer_repairs_a_loss_that_no_duplicate_reports_and_backs_off() {
    let mut bench = Bench::new(&Parameters { retries: 2, ..Parameters::default() });
    bench.send(0..1);
    bench.wait(20);
    bench.receive(bench.ack(1));
    bench.send(1..2);
    bench.wait(99);
    assert!(bench.resent().is_empty(), "20 ms and four times 10 ms are under the shortest timer");
    bench.wait(1);
    assert_eq!(bench.resent(), [1]);
    bench.wait(199);
    assert!(bench.resent().is_empty());
    bench.wait(1);
    assert_eq!(bench.resent(), [1]);
    bench.wait(10_000);
    assert_eq!((bench.resent(), bench.agent.poll_timeout()), (vec![], Instant::NEVER));
}

#[test]
fn the_round_trip_is_sampled_from_what_went_through_undisturbed() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..1);
    bench.wait(20);
    bench.receive(bench.ack(1));
    bench.send(1..4);
    bench.receive(bench.ack(1));
    bench.wait(90);
    // 2 and 3 waited for the repair of 1 at the receiver.
    bench.receive(bench.ack(4));
    bench.send(4..6);
    bench.receive(bench.ack(4));
    let event = bench.output.events.last().expect("a suppressed ACK");
    assert_eq!(event.srtt, Some(Duration::from_millis(20)));
}

#[test]
fn what_has_no_room_passes_without_being_kept() {
    let mut bench = Bench::new(&Parameters { cache_packets: 2, ..Parameters::default() });
    bench.send(0..3);
    bench.receive(bench.ack(2));
    assert_eq!(bench.receive(bench.ack(2)), Verdict::Forward);
    assert_eq!((bench.count("not_kept"), bench.count("cache_packets_max")), (1, 2));
    let mut small = Bench::new(&Parameters { cache_bytes: Bytes(1500), ..Parameters::default() });
    small.send(0..2);
    assert_eq!((small.count("not_kept"), small.count("cache_bytes_max")), (1, u64::from(LEN) + 20));
}

#[test]
fn the_connection_longest_idle_makes_room_for_another_and_a_reset_is_the_end_of_one() {
    let mut bench = Bench::new(&Parameters { connections: 1, ..Parameters::default() });
    bench.send(0..2);
    let other = bench.data(0);
    bench.now += Duration::from_millis(1);
    let passing = Passing { connection: 1, heading: Heading::In, segment: &other };
    bench.agent.handle_segment(bench.now, passing, &mut bench.output);
    assert_eq!(bench.count("connections_forgotten"), 1);
    let reset = Segment { flags: Flags::RST, ..other };
    let passing = Passing { connection: 1, heading: Heading::Out, segment: &reset };
    bench.agent.handle_segment(bench.now, passing, &mut bench.output);
    assert_eq!(bench.agent.poll_timeout(), Instant::NEVER, "nothing is kept");
}

#[test]
fn a_fin_is_kept_and_data_on_an_ack_are_never_discarded() {
    let mut bench = Bench::new(&Parameters::default());
    let fin = Segment { flags: Flags::ACK.with(Flags::FIN), ..bench.data(0) };
    bench.pass(Heading::In, &fin);
    bench.receive(bench.ack(0));
    let with_data = Segment { payload: Payload::Pattern { offset: 0, len: 1 }, ..bench.ack(0) };
    assert_eq!(bench.receive(with_data), Verdict::Forward);
    bench.receive(Segment { ack: fin.seq_range().end, ..bench.ack(1) });
    assert_eq!(bench.agent.poll_timeout(), Instant::NEVER);
}

#[test]
fn the_answer_to_a_copy_of_what_the_receiver_has_shows_no_loss() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..6);
    bench.wait(50);
    bench.receive(bench.ack(1));
    bench.wait(1000);
    assert_eq!(bench.resent(), [1], "the timer sends a copy, and the segment was only late");
    bench.send(6..8);
    bench.receive(bench.ack(6));
    assert_eq!(bench.receive(bench.ack(6)), Verdict::Discard);
    assert!(bench.resent().is_empty(), "the duplicate ACK answers the copy");
    bench.receive(bench.ack(6));
    assert_eq!(bench.resent(), [6], "a second one shows a loss");
}

#[test]
fn a_sign_that_was_none_costs_no_more_than_a_window_of_copies() {
    let mut bench = Bench::new(&Parameters::default());
    bench.send(0..8);
    bench.receive(bench.ack(1));
    bench.receive(bench.ack(1));
    assert_eq!(bench.resent(), [1], "the duplicate ACK is of a copy that the network has made");
    for n in [3, 5, 7] {
        bench.send(n + 5..n + 7);
        bench.receive(bench.ack(n));
    }
    assert_eq!(bench.resent(), [3, 5, 7], "what entered the link before the copy");
    // The receiver answers each copy when it arrives, between the segments before and after it.
    for n in [8, 10, 12] {
        bench.receive(bench.ack(n));
        assert_eq!(bench.receive(bench.ack(n)), Verdict::Discard);
        assert!(bench.resent().is_empty(), "no answer to a copy shows a loss");
    }
}
