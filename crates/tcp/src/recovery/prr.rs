//! Proportional rate reduction (RFC 9937, RFC 6937): in fast recovery each ACK releases as many data as let the window
//! shrink evenly, from what it was to ssthresh, over one round trip; and where more was lost than the reduction takes
//! off, no more than was delivered, or in slow start back to ssthresh. After a congestion mark it does the same, as
//! Linux does in its state CWR.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::actions::DUPLICATES;
use super::composed::{Detection, Event, Response};
use super::disorder::{Change, Disorder};
use super::{AckEvent, Actions, SendWindow, SentEvent, TimerAction};
use crate::scoreboard::Scoreboard;

/// The window in recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// It shrinks evenly over a round trip (RFC 9937).
    #[default]
    Proportional,
    /// It falls at once, and nothing new goes out until as much is delivered (RFC 6675 §5).
    AtOnce,
}

/// Base of the reduction: the amount in use at the start of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryFrom {
    /// `RecoverFS` of RFC 9937 §6.1: FlightSize without what was SACKed before.
    #[default]
    InFlight,
    /// FlightSize (RFC 6937 §3).
    FlightSize,
    /// The congestion window (Linux, `prior_cwnd`).
    Cwnd,
}

/// The response of PRR; names in brackets are those of RFC 9937 §6.
#[derive(Debug)]
pub(super) struct Prr {
    from: RecoveryFrom,
    /// Whether what goes out is counted in whole segments, rounded up, as in Linux; RFC 9937 counts bytes.
    whole_segments: bool,
    /// Whether duplicate ACKs stand for segments that SACK would report, and an ACK of all data sent before recovery
    /// does not end it yet: only what was sent later separates new duplicates from old
    /// (`tcp_is_non_sack_preventing_reopen`).
    without_sack: bool,
    /// Amount in use before (`RecoverFS`).
    before: Bytes,
    /// Delivered since recovery began (`prr_delivered`).
    delivered: Bytes,
    /// Sent since recovery began (`prr_out`).
    out: Bytes,
    quota: Option<Quota>,
    /// A mark has reduced the window, and this is the end of what was sent before (`high_seq` of Linux).
    marked: Option<Seq>,
}

/// Amount that the last ACK of a recovery releases.
#[derive(Clone, Copy, Debug)]
struct Quota {
    /// The pipe at that ACK, once it was judged.
    pipe: Bytes,
    /// `prr_out` then.
    out: Bytes,
    /// Amount that the ACK delivered (`DeliveredData`).
    delivered: Bytes,
    /// Whether it advances and reports no further loss (`SafeAck`).
    safe: bool,
    smss: Bytes,
}

impl Prr {
    pub(super) const fn new(from: RecoveryFrom, whole_segments: bool) -> Self {
        Self {
            from,
            whole_segments,
            without_sack: false,
            before: Bytes::ZERO,
            delivered: Bytes::ZERO,
            out: Bytes::ZERO,
            quota: None,
            marked: None,
        }
    }

    /// As in Linux where the peer does not permit SACK.
    pub(super) const fn without_sack() -> Self {
        Self { without_sack: true, ..Self::new(RecoveryFrom::Cwnd, true) }
    }

    /// An ACK delivers `delivered` bytes and is entered on the board. It is safe if it advances and reports no further
    /// loss (RFC 9937 §6.2).
    fn on_ack(&mut self, ack: &AckEvent, delivered: Bytes, safe: bool, board: &Scoreboard) {
        self.delivered += delivered;
        self.quota = Some(Quota { pipe: board.pipe(), out: self.out, delivered, safe, smss: ack.smss });
    }

    /// `SndCnt`: how much the last ACK lets out on the way to `ssthresh`.
    fn count(&self, quota: &Quota, ssthresh: Bytes) -> Bytes {
        let count = if quota.pipe > ssthresh {
            // Proportional rate reduction.
            self.share(ssthresh, quota.smss).saturating_sub(quota.out)
        } else {
            // Reduction bound: PRR-CRB, and PRR-SSRB while ACKs are safe.
            let owed = self.delivered.saturating_sub(quota.out).max(quota.delivered);
            let growth = if quota.safe { quota.smss } else { Bytes::ZERO };
            (owed + growth).min(ssthresh - quota.pipe)
        };
        // The fast retransmit goes out in any case.
        if quota.out.is_zero() { count.max(quota.smss) } else { count }
    }

    /// Share of the delivered amount that may be sent, in proportion.
    fn share(&self, ssthresh: Bytes, smss: Bytes) -> Bytes {
        let ssthresh = if self.whole_segments { ssthresh / smss.0 * smss.0 } else { ssthresh };
        let share = u128::from(self.delivered.0) * u128::from(ssthresh.0);
        let share = share.div_ceil(u128::from(self.before.0.max(1))) as u64;
        Bytes(if self.whole_segments { share.next_multiple_of(smss.0) } else { share })
    }
}

impl Response for Prr {
    /// Before any loss as usual; SACKed data do not open the window again when they are acknowledged.
    fn in_order(
        &mut self,
        ack: &AckEvent,
        _found: Detection,
        _disorder: Change,
        board: &Scoreboard,
    ) -> Actions {
        if let Some(high) = self.marked {
            // `tcp_fastretrans_alert`: until something that was sent after the mark is acknowledged.
            if !ack.number.after(high) {
                if !ack.delivered.is_zero() {
                    self.on_ack(ack, ack.delivered, ack.advances, board);
                }
                return Actions::hold(TimerAction::restart_if(ack.advances));
            }
            (self.quota, self.marked) = (None, None);
        }
        if ack.advances { Actions::grow(ack.delivered, TimerAction::Restart) } else { Actions::NONE }
    }

    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, board: &Scoreboard) -> Actions {
        let earlier_sacked = board.sacked().saturating_sub(ack.newly_sacked);
        self.before = match self.from {
            RecoveryFrom::InFlight => ack.flight.saturating_sub(earlier_sacked),
            RecoveryFrom::FlightSize => ack.flight,
            RecoveryFrom::Cwnd => ack.cwnd,
        };
        (self.delivered, self.out, self.marked) = (Bytes::ZERO, Bytes::ZERO, None);
        // A recovery that a timer begins has no ACK; the kernel counts a segment (`tcp_rack_reo_timeout`).
        let delivered = if ack.delivered.is_zero() { ack.smss } else { ack.delivered };
        self.on_ack(ack, delivered, false, board);
        Actions::reduce(ack.congestion_event(ack.flight), DUPLICATES)
    }

    fn in_recovery(&mut self, ack: &AckEvent, found: Detection, board: &Scoreboard) -> Actions {
        let counts = self.without_sack && found == Detection::Duplicate;
        let delivered = if counts { ack.smss } else { ack.delivered };
        // RFC 9937 §6.2: an ACK that delivers nothing lets nothing out.
        if !delivered.is_zero() {
            let safe = ack.advances && found != Detection::Loss;
            self.on_ack(ack, delivered, safe, board);
        }
        Actions::hold(TimerAction::restart_if(ack.advances))
    }

    fn is_over(&self, ack: &AckEvent, recover: Seq) -> bool {
        if self.without_sack { ack.number.after(recover) } else { ack.number.at_or_after(recover) }
    }

    fn exit(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Actions {
        self.quota = None;
        Actions::exit(ack.ssthresh)
    }

    /// After a mark as `tcp_init_cwnd_reduction`.
    fn on_event(&mut self, event: Event) {
        (self.quota, self.marked) = (None, None);
        if let Event::Marked { before, nxt } = event {
            (self.before, self.delivered, self.out) = (before, Bytes::ZERO, Bytes::ZERO);
            self.marked = Some(nxt);
        }
    }

    fn on_sent(&mut self, sent: &SentEvent, _disorder: &Disorder, _board: &Scoreboard) {
        self.out += sent.len;
    }

    /// `cwnd` is ssthresh in fast recovery, for congestion control has reduced it.
    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        let cwnd = self.quota.as_ref().map_or(cwnd, |quota| quota.pipe + self.count(quota, cwnd));
        SendWindow { cwnd, inflation: 0 }
    }
}
