//! Bulk: as fast as the connection takes it, so many bytes or until a time; then the sender closes.

use link::registry::Entry;
use units::Instant;

use super::program::{News, Order, Orders, Program, Side, Transfer};
use crate::spec::Amount;

/// The list's line.
pub const ENTRY: Entry = Entry {
    id: "bulk",
    summary: "one connection, as fast as it goes: `bytes` in all, or whatever goes until `until`",
    example: "bytes = \"1 MB\"",
    source: "RFC 863 (discard) is its other end",
};

/// One bulk transfer.
#[derive(Debug)]
pub(crate) struct Bulk {
    amount: Amount,
    stage: Stage,
    start: Instant,
    orders: Orders,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Sending { until: Instant },
    Closing,
    Over,
}

const LINE: u32 = 0;

impl Bulk {
    pub(crate) fn new(amount: Amount, start: Instant) -> Self {
        Self { amount, stage: Stage::Before, start, orders: Orders::default() }
    }

    fn open(&mut self, now: Instant) {
        self.orders.give(Order::Open { line: LINE, by: Side::From });
        match self.amount {
            Amount::Bytes(bytes) => {
                self.orders.give(Order::Write { line: LINE, side: Side::From, bytes });
                self.orders.give(Order::Expect { line: LINE, side: Side::To, position: bytes.0 });
                self.close();
            }
            Amount::Until(time) => {
                self.orders.give(Order::Pour { line: LINE });
                self.stage = Stage::Sending { until: (Instant::START + time).max(now) };
            }
        }
    }

    fn close(&mut self) {
        self.orders.give(Order::Close { line: LINE, side: Side::From });
        self.stage = Stage::Closing;
    }
}

impl Program for Bulk {
    fn poll_timeout(&self) -> Instant {
        match self.stage {
            Stage::Before => self.start,
            Stage::Sending { until } => until,
            Stage::Closing | Stage::Over => Instant::NEVER,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self.stage {
            Stage::Before => self.open(now),
            Stage::Sending { .. } => self.close(),
            Stage::Closing | Stage::Over => {}
        }
    }

    fn handle_news(&mut self, now: Instant, _: u32, news: News) {
        match (news, self.amount) {
            (News::Read { .. }, Amount::Bytes(bytes)) => {
                self.orders.give(Order::Report(Transfer { start: self.start, end: now, bytes }));
            }
            (News::Read { .. }, Amount::Until(_)) => {}
            (News::Over, _) => self.stage = Stage::Over,
            (News::Lost, _) => {}
        }
    }

    fn poll_order(&mut self) -> Option<Order> {
        self.orders.poll()
    }

    fn is_done(&self) -> bool {
        self.stage == Stage::Over
    }
}
