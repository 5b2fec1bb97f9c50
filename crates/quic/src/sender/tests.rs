use super::*;
use crate::connection::Origin;

const DELAYS: [(u32, u64); 2] = [(3, 25); 2];

/// A connection in which the server sends data over a path with a round trip of 100 ms.
#[derive(Default)]
struct Transfer {
    senders: Senders,
    fates: Vec<(u64, Fate)>,
    frame: u64,
}

impl Transfer {
    fn pass(&mut self, ms: u64, side: usize, number: u64, frames: Vec<Frame<'_>>) -> Passed {
        self.frame += 1;
        let origin = Origin { at: Instant::START + Duration::from_millis(ms), frame: self.frame };
        let contents = Contents { number, generation: 0, frames, unknown_frame: None };
        let packet = Packet { origin, side, kind: Kind::OneRtt, size: 1000, contents: Ok(contents) };
        let fates = &mut self.fates;
        let passed =
            self.senders.handle_packet(&packet, DELAYS, &mut |event| fates.push((event.number, event.fate)));
        passed.expect("it was opened")
    }

    fn data(&mut self, ms: u64, number: u64, offset: u64) -> Passed {
        self.pass(ms, 1, number, vec![Frame::Stream { stream: 3, offset, len: 900, fin: false }])
    }

    fn ack(&mut self, ms: u64, ranges: &[std::ops::RangeInclusive<u64>]) -> Passed {
        self.pass(ms, 0, ms, vec![Frame::Ack(Ack { delay: 0, ranges: ranges.to_vec(), ecn: None })])
    }
}

#[test]
fn three_packets_after_it_declare_a_packet_lost_and_its_bytes_are_sent_again() {
    let mut transfer = Transfer::default();
    for number in 0..5 {
        transfer.data(number, number, 900 * number);
    }
    let ack = transfer.ack(104, &[1..=4]);
    assert_eq!(ack.round_trip, Some(Duration::from_millis(100)));
    assert_eq!(transfer.fates.last(), Some(&(0, Fate::Lost(Rule::Packets))));
    let again = transfer.data(105, 5, 0);
    assert_eq!((again.retransmitted, again.needless, again.probe), (900, 0, false));
    transfer.ack(205, &[1..=5]);
    let report = transfer.senders.report(1);
    assert_eq!(
        (report.lost, report.spurious_losses, report.retransmitted_bytes, report.needless_bytes),
        (1, 0, 900, 0)
    );
    assert_eq!((report.acknowledged, report.stream_bytes, report.largest_flight), (5, 5400, 5000));
}

#[test]
fn a_late_acknowledgment_shows_that_the_loss_was_none() {
    let mut transfer = Transfer::default();
    for number in 0..5 {
        transfer.data(number, number, 900 * number);
    }
    transfer.ack(104, &[1..=4]);
    transfer.data(105, 5, 0);
    transfer.ack(110, &[0..=4]);
    assert_eq!(transfer.fates.last(), Some(&(0, Fate::Spurious)));
    transfer.ack(205, &[0..=5]);
    let report = transfer.senders.report(1);
    assert_eq!((report.spurious_losses, report.needless_bytes), (1, 900));
}

#[test]
fn time_declares_the_last_packet_but_one_lost() {
    let mut transfer = Transfer::default();
    transfer.data(0, 0, 0);
    transfer.data(1, 1, 900);
    transfer.ack(101, &[1..=1]);
    assert_eq!(transfer.senders.report(1).lost, 0);
    transfer.data(120, 2, 1800);
    assert_eq!(transfer.fates.last(), Some(&(0, Fate::Lost(Rule::Time))));
    assert_eq!(transfer.senders.report(1).lost_by_time, 1);
}

#[test]
fn data_that_come_again_after_silence_are_a_probe() {
    let mut transfer = Transfer::default();
    transfer.data(0, 0, 0);
    transfer.ack(100, &[0..=0]);
    transfer.data(200, 1, 900);
    assert!(!transfer.data(300, 2, 1800).probe);
    let probe = transfer.data(700, 3, 1800);
    assert!(probe.probe && probe.retransmitted == 900);
    assert_eq!(transfer.senders.report(1).probes, 1);
}

#[test]
fn an_acknowledgment_of_everything_is_no_endless_work() {
    let mut transfer = Transfer::default();
    transfer.data(0, 7, 0);
    transfer.ack(100, &[0..=(1 << 62) - 1]);
    assert_eq!(transfer.senders.report(1).acknowledged, 1);
}
