//! The packets of one sender in one packet number space: what is outstanding, and what was declared lost.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use units::Instant;

use crate::sender::rtt::RoundTrips;

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) frame: u64,
    pub(crate) size: u32,
    pub(crate) ack_eliciting: bool,
    /// Whether it counts as in flight (RFC 9002 §2).
    pub(crate) in_flight: bool,
    /// Data in it: stream, or a number above those of streams for TLS, and bytes.
    pub(crate) data: Vec<(u64, Range<u64>)>,
}

/// The rule by which a packet is lost (RFC 9002 §6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Three packets after it were sent before one that is acknowledged.
    Packets,
    /// A packet after it is acknowledged, and 9/8 of a round trip has passed.
    Time,
}

/// A packet that was declared lost.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    pub(crate) number: u64,
    pub(crate) sent: Sent,
    pub(crate) at: Instant,
    pub(crate) rule: Rule,
}

/// The packets of a space.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpaceHistory {
    outstanding: BTreeMap<u64, Sent>,
    lost: BTreeMap<u64, Lost>,
    pub(crate) largest_acked: Option<u64>,
    eliciting: u64,
}

impl Rule {
    /// Its name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Packets => "packet_threshold",
            Self::Time => "time_threshold",
        }
    }
}

impl SpaceHistory {
    pub(crate) fn on_sent(&mut self, number: u64, sent: Sent) {
        if self.outstanding.len() < MOST {
            self.eliciting += u64::from(sent.ack_eliciting);
            if let Some(before) = self.outstanding.insert(number, sent) {
                self.eliciting -= u64::from(before.ack_eliciting);
            }
        }
    }

    /// Whether anything is outstanding that asks for an acknowledgment.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.eliciting > 0
    }

    /// Takes the packets of these ranges, the smallest number first: those outstanding, and those that had
    /// been declared lost.
    pub(crate) fn acknowledge(&mut self, ranges: &[RangeInclusive<u64>]) -> (Vec<(u64, Sent)>, Vec<Lost>) {
        let largest = *ranges[0].end();
        self.largest_acked = self.largest_acked.max(Some(largest));
        let (mut acked, mut late) = (Vec::new(), Vec::new());
        for range in ranges.iter().rev() {
            for number in numbers_in(&self.outstanding, range) {
                acked.extend(self.take(number).map(|sent| (number, sent)));
            }
            for number in numbers_in(&self.lost, range) {
                late.extend(self.lost.remove(&number));
            }
        }
        (acked, late)
    }

    /// Declares the packets lost that are lost at `now` (RFC 9002 §6.1), with the times at which they became so.
    pub(crate) fn detect(&mut self, now: Instant, trips: &RoundTrips) -> Vec<Lost> {
        let Some(largest) = self.largest_acked else { return Vec::new() };
        let delay = trips.loss_delay();
        let rule = |number: u64, sent: &Sent| {
            let due = sent.at + delay;
            if number + PACKET_THRESHOLD <= largest {
                Some((Rule::Packets, now))
            } else {
                (due <= now).then_some((Rule::Time, due))
            }
        };
        let found: Vec<_> = self
            .outstanding
            .range(..largest)
            .filter_map(|(number, sent)| rule(*number, sent).map(|(rule, at)| (*number, rule, at)))
            .collect();
        let mut lost = Vec::new();
        for (number, rule, at) in found {
            let Some(sent) = self.take(number) else { continue };
            let one = Lost { number, sent, at, rule };
            if self.lost.len() < MOST {
                self.lost.insert(number, one.clone());
            }
            lost.push(one);
        }
        lost
    }

    /// Forgets what is outstanding, because its keys are discarded. Returns its bytes in flight.
    pub(crate) fn discard(&mut self) -> u64 {
        let bytes =
            self.outstanding.values().filter(|sent| sent.in_flight).map(|sent| u64::from(sent.size)).sum();
        self.outstanding.clear();
        self.eliciting = 0;
        bytes
    }

    fn take(&mut self, number: u64) -> Option<Sent> {
        let sent = self.outstanding.remove(&number)?;
        self.eliciting -= u64::from(sent.ack_eliciting);
        Some(sent)
    }
}

fn numbers_in<T>(packets: &BTreeMap<u64, T>, range: &RangeInclusive<u64>) -> Vec<u64> {
    packets.range(range.clone()).map(|(number, _)| *number).collect()
}

/// RFC 9002 §6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// Bounds the memory of a space.
const MOST: usize = 100_000;
