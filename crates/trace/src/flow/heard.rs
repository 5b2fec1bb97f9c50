//! Acknowledgments that a distant sender had received when it sent a segment.
//!
//! Where the point of observation lies near the receiver, acknowledgments pass it half a round trip before the sender
//! hears them. A segment echoes the timestamp of an acknowledgment that its sender had heard (RFC 7323 §4.3); without
//! timestamps, the sender has heard what passed a round trip before. No sender sends again what it knows to have
//! arrived, so that an acknowledgment of the data that it sends again was lost, or came too late.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::Segment;

/// The latest acknowledgments that passed towards the sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    passed: VecDeque<Passed>,
}

/// An acknowledgment, and the state of its sender's peer once it is heard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) at: Instant,
    pub(super) timestamp: Option<u32>,
    /// Everything before this position is acknowledged.
    pub(super) snd_una: u64,
    /// Duplicate ACKs in a row.
    pub(super) duplicates: u32,
    /// Whether SACK blocks lie above it.
    pub(super) sacked: bool,
    /// Whether it brought a new SACK block.
    pub(super) sack_news: bool,
    /// Whether it acknowledged something new.
    pub(super) advanced: bool,
}

impl Heard {
    /// An acknowledgment passed.
    pub(super) fn push(&mut self, passed: Passed) {
        if self.passed.len() == MOST_PASSED {
            self.passed.pop_front();
        }
        self.passed.push_back(passed);
    }

    /// The latest acknowledgment that the sender had heard when it sent `segment`, whose data begin at `start` and
    /// which passed `at` this time.
    pub(super) fn when_sent(
        &self,
        at: Instant,
        segment: &Segment,
        start: u64,
        round_trip: Duration,
    ) -> Option<Passed> {
        let echo = segment.options.timestamps.map(|stamps| stamps.echo);
        // A receiver's clock may stand still over several acknowledgments: the latest that a round trip allows.
        let in_time = |passed: &&Passed| at.saturating_since(passed.at) >= round_trip * 3 / 4;
        let echoed = |passed: &&Passed| match (passed.timestamp, echo) {
            (Some(value), Some(echo)) => echo.wrapping_sub(value) as i32 >= 0,
            _ => true,
        };
        let unknown = |passed: &&Passed| passed.snd_una <= start;
        self.passed.iter().rev().filter(in_time).filter(unknown).find(echoed).copied()
    }
}

/// Bounds the memory of a connection.
const MOST_PASSED: usize = 256;
