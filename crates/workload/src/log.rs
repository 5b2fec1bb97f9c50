//! The log of a program: its transfers, and the datagrams that it sent and received.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Side};

use crate::program::Transfer;

/// The transfers and datagrams of one program, as the process that ran it saw them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLog {
    transfers: Vec<Transfer>,
    /// Time at which each datagram of `from` was sent, and its size; the place is its number.
    sent: Vec<(Instant, Bytes)>,
    /// When each datagram of `from` arrived, its number and its size, without copies.
    arrived: Vec<(Instant, u64, Bytes)>,
    /// Numbers of datagrams of `from` that the host refused to send.
    refused: Vec<u64>,
    /// The number of datagrams of `to`.
    feedback: u64,
    /// The numbers of the datagrams that arrived.
    #[serde(skip)]
    numbers: BTreeSet<u64>,
}

impl ProgramLog {
    /// A transfer has ended.
    pub fn report(&mut self, transfer: Transfer) {
        self.transfers.push(transfer);
    }

    /// A side sends a datagram. Returns its number among the datagrams of that side.
    pub fn send_datagram(&mut self, now: Instant, by: Side, size: Bytes) -> u64 {
        match by {
            Side::From => {
                self.sent.push((now, size));
                self.sent.len() as u64 - 1
            }
            Side::To => {
                self.feedback += 1;
                self.feedback - 1
            }
        }
    }

    /// A datagram of `from` has arrived. Returns whether it is new, and not a copy.
    pub fn receive_datagram(&mut self, now: Instant, number: u64, size: Bytes) -> bool {
        let is_new = self.numbers.insert(number);
        if is_new {
            self.arrived.push((now, number, size));
        }
        is_new
    }

    /// The host refused a datagram of `from`.
    pub fn refuse_datagram(&mut self, number: u64) {
        self.refused.push(number);
    }

    /// Transfers that have ended.
    #[must_use]
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// Time at which each datagram of `from` was sent, and its size; the place is its number.
    #[must_use]
    pub fn sent(&self) -> &[(Instant, Bytes)] {
        &self.sent
    }

    /// When each datagram of `from` arrived, its number and its size, without copies, in the order of arrival.
    #[must_use]
    pub fn arrived(&self) -> &[(Instant, u64, Bytes)] {
        &self.arrived
    }

    /// Numbers of datagrams of `from` that the host refused to send.
    #[must_use]
    pub fn refused(&self) -> &[u64] {
        &self.refused
    }

    /// The number of datagrams of `from` that have neither arrived nor been refused.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        (self.sent.len() as u64).saturating_sub((self.arrived.len() + self.refused.len()) as u64)
    }

    /// Bytes of the datagrams of `from` that have arrived, IP headers included.
    #[must_use]
    pub fn datagram_bytes(&self) -> Bytes {
        Bytes(self.arrived.iter().map(|(.., size)| size.0).sum())
    }

    /// Moves the times of datagrams to another clock.
    pub fn correct(&mut self, correct: impl Fn(Instant) -> Instant) {
        let sent = self.sent.iter_mut().map(|(at, _)| at);
        sent.chain(self.arrived.iter_mut().map(|(at, ..)| at)).for_each(|at| *at = correct(*at));
    }

    /// Joins the logs of the two copies of a program that ran on two machines, each with the host of one side.
    #[must_use]
    pub fn join(from: Self, to: Self) -> Self {
        // Clocks of two machines agree within half a round trip, and nothing arrives before it was sent.
        let not_before_sent = |(arrived, number, size): (Instant, u64, Bytes)| {
            let sent = usize::try_from(number).ok().and_then(|place| from.sent.get(place));
            (sent.map_or(arrived, |(sent, _)| arrived.max(*sent)), number, size)
        };
        let arrived = to.arrived.into_iter().map(not_before_sent).collect();
        // Each copy reports the same transfers; the copy that was behind at the end of the run may lack the last.
        let mut transfers =
            if to.transfers.len() > from.transfers.len() { to.transfers } else { from.transfers };
        transfers.sort_by_key(|transfer| (transfer.end, transfer.start));
        transfers.iter_mut().for_each(|transfer| transfer.end = transfer.end.max(transfer.start));
        Self {
            transfers,
            sent: from.sent,
            arrived,
            refused: from.refused,
            feedback: to.feedback,
            numbers: to.numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    const SIZE: Bytes = Bytes(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    #[test]
    fn a_copy_of_a_datagram_is_not_counted() {
        let mut log = ProgramLog::default();
        let sent: Vec<u64> = (0..3).map(|n| log.send_datagram(at(20 * n), Side::From, SIZE)).collect();
        assert_eq!(sent, [0, 1, 2]);
        assert_eq!(log.send_datagram(at(5), Side::To, SIZE), 0);
        assert!(log.receive_datagram(at(30), 0, SIZE) && !log.receive_datagram(at(31), 0, SIZE));
        log.refuse_datagram(2);
        assert_eq!((log.outstanding(), log.datagram_bytes()), (1, SIZE));
    }

    #[test]
    fn two_logs_are_joined_by_the_numbers_of_their_datagrams() {
        let (mut from, mut to) = (ProgramLog::default(), ProgramLog::default());
        for ms in [10, 20] {
            from.send_datagram(at(ms), Side::From, SIZE);
        }
        to.receive_datagram(at(35), 1, SIZE);
        to.receive_datagram(at(9), 0, SIZE);
        let transfer = |start, end| Transfer { start: at(start), end: at(end), bytes: SIZE };
        from.report(transfer(1, 4));
        [transfer(2, 9), transfer(1, 4)].into_iter().for_each(|one| to.report(one));
        to.correct(|at| at + Duration::from_millis(1));
        let joined = ProgramLog::join(from, to);
        assert_eq!(joined.arrived(), [(at(36), 1, SIZE), (at(10), 0, SIZE)], "not before it was sent");
        assert_eq!(joined.transfers(), [transfer(1, 4), transfer(2, 9)]);
        assert_eq!(joined.outstanding(), 0);
    }
}
