//! The second of the two connections into which a proxy splits one.
//!
//! The first is next to the flow's `from` and has the connection's own ledger and name in tables; this one is next to
//! its `to`.

use std::sync::Arc;

use proxy::{Relay, What};
use tcp::{Kind, Transmit};
use trace::ledger::{Ledger, Retransmission};
use units::{Bytes, Instant, PacketId, Seq, SeqRange};

use crate::ids::{ConversationId, PerSide, ProxyId, Side};
use crate::route::NextHop;

/// How a proxy splits the connections of a flow.
#[derive(Clone)]
pub(crate) struct SplitPlan {
    pub(crate) proxy: ProxyId,
    /// The TCPs of the proxy's ends; that at a side stands for the flow's host there.
    pub(crate) tcps: PerSide<Arc<tcp::Config>>,
    pub(crate) buffer: Bytes,
    /// The hop after the proxy on the way from each side to the other.
    pub(crate) onwards: PerSide<NextHop>,
}

/// The state of a split connection beyond what an ordinary one has.
pub(crate) struct Beyond {
    pub(crate) proxy: ProxyId,
    pub(crate) relay: Relay,
    pub(crate) onwards: PerSide<NextHop>,
    /// Its name in tables.
    pub(crate) conversation: ConversationId,
    pub(crate) ledger: Ledger,
    snd_max: Option<Seq>,
    pub(crate) retransmissions: u64,
    /// Time at which the proxy is to wake it.
    pub(crate) armed: Instant,
    pub(crate) resets: u64,
    pub(crate) filled: u64,
}

impl Beyond {
    pub(crate) fn new(
        plan: &SplitPlan,
        initial: PerSide<Seq>,
        conversation: ConversationId,
        recording: bool,
    ) -> Self {
        Self {
            proxy: plan.proxy,
            relay: Relay::new(plan.tcps.clone(), initial, plan.buffer, recording),
            onwards: plan.onwards,
            conversation,
            ledger: Ledger::new(),
            snd_max: None,
            retransmissions: 0,
            armed: Instant::NEVER,
            resets: 0,
            filled: 0,
        }
    }

    /// The proxy has sent a segment to the flow's `to`.
    pub(crate) fn on_sent(&mut self, now: Instant, packet: PacketId, sent: &Transmit) {
        let segment = &sent.segment;
        let before = self.snd_max.unwrap_or(segment.seq);
        let end = segment.seq + segment.seq_len();
        let snd_max = before.max(end);
        self.snd_max = Some(snd_max);
        if let Kind::Retransmission { cause, .. } = sent.kind {
            self.retransmissions += 1;
            let range = SeqRange { start: segment.seq, end: end.min(before) };
            if cause == tcp::Cause::Timeout {
                self.ledger.on_timeout(now, range);
            }
            self.ledger.on_retransmission(Retransmission {
                packet,
                at: now,
                range,
                cause: cause.id(),
                snd_max,
            });
        } else if (before.0 ^ snd_max.0) >> 31 != 0 {
            self.ledger.advance_to(snd_max);
        }
    }

    /// Notes of the relay that are counted.
    pub(crate) const fn count(&mut self, what: What) {
        match what {
            What::Reset => self.resets += 1,
            What::Full => self.filled += 1,
            _ => {}
        }
    }

    /// Totals of the connection, to be added up by name; of those whose name ends in `_max` the greatest is kept.
    pub(crate) fn totals(&self) -> [(&'static str, u64); 9] {
        let relay = &self.relay;
        let both = |value: &dyn Fn(Side) -> u64| Side::BOTH.into_iter().map(value).sum::<u64>();
        let greatest = |value: &dyn Fn(Side) -> u64| Side::BOTH.into_iter().map(value).max().unwrap_or(0);
        [
            ("connections", u64::from(relay.end(Side::From).is_some())),
            ("bytes_relayed", both(&|side| relay.relayed(side).0)),
            ("buffer_max", greatest(&|side| relay.most_buffered(side).0)),
            ("buffer_full", self.filled),
            ("acknowledged_early_max", greatest(&|side| relay.most_ahead(side).0)),
            ("acknowledged_early_at_end", both(&|side| relay.ahead(side).0)),
            ("resets", self.resets),
            ("retransmissions", self.retransmissions),
            ("timeouts", relay.end(Side::From).map_or(0, tcp::Endpoint::timeouts)),
        ]
    }
}
