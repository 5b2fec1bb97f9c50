//! Requests of a recovery to the endpoint: general actions on the window and on the retransmission timer.

use units::Bytes;

use super::AckEvent;
use crate::Decision;
use crate::congestion::CongestionEvent;
use crate::spurious::SignalKind;

/// Consequence of an ACK, a timeout or a deadline for the window and for the retransmission timer.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct Actions {
    /// The action on the window.
    pub window: WindowAction,
    /// The action on the retransmission timer.
    pub timer: TimerAction,
    /// The finding, for records.
    pub finding: Finding,
}

/// The action on the window.
#[derive(Clone, Copy, Debug)]
pub enum WindowAction {
    /// Nothing.
    Hold,
    /// It grows by data that was acknowledged, wherever it lies.
    Grow {
        /// Bytes that count as acknowledged.
        acked: Bytes,
    },
    /// It is reduced for a congestion event.
    Reduce {
        /// The event.
        event: CongestionEvent,
        /// The window that was in use, where it is not that of congestion control: it is what is reduced.
        held: Option<Bytes>,
        /// Amount added to the reduced window.
        plus: Bytes,
    },
    /// Fast recovery is over, and the window becomes this.
    Exit {
        /// The window after it.
        cwnd: Bytes,
    },
    /// Both windows are set.
    Set {
        /// The congestion window.
        cwnd: Bytes,
        /// The slow-start threshold.
        ssthresh: Bytes,
    },
    /// It grows by `acked` bytes, and the sender continues from a smaller window in slow start to where it then is.
    SlowStartFrom {
        /// The window to continue from.
        cwnd: Bytes,
        /// Bytes that count as acknowledged.
        acked: Bytes,
    },
}

/// The action on the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAction {
    /// It runs on.
    Leave,
    /// It starts over, as after an ACK of new data (RFC 6298 §5.3), or stops if nothing is outstanding (§5.2). Where
    /// the timer counts from the oldest segment, it does so while no loss is being repaired.
    Restart,
    /// As [`TimerAction::Restart`], but where the timer counts from the oldest segment it does so in a repair too.
    RestartFromOldest,
    /// It starts over for what is sent again now, in its whole length (RFC 6675 §6 allows that, and most stacks do it).
    StartWhole,
    /// It counts as run out.
    Expire,
}

/// The finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nothing that is recorded.
    Nothing,
    /// A loss, for this reason; its repair begins.
    Loss(&'static str),
    /// A loss, after which the window starts anew from one segment (Tahoe).
    Collapse(&'static str),
    /// A loss is suspected and repaired, and reduces nothing until it is confirmed.
    Suspected(&'static str),
    /// The suspected loss was real.
    Confirmed(SignalKind),
    /// Nothing was lost, whatever signal there was.
    Refuted(Option<SignalKind>),
    /// The repair is complete.
    Recovered,
    /// The algorithm sets the windows itself, for this reason.
    Resized(&'static str),
}

impl Actions {
    /// Everything stays as it is.
    pub const NONE: Self = Self::hold(TimerAction::Leave);

    /// Actions after an ACK that reports no loss: an advancing ACK opens the window and restarts the timer.
    pub const fn ordinary(ack: &AckEvent) -> Self {
        if ack.advances { Self::grow(ack.acked, TimerAction::Restart) } else { Self::NONE }
    }

    /// The window stays.
    pub const fn hold(timer: TimerAction) -> Self {
        Self { window: WindowAction::Hold, timer, finding: Finding::Nothing }
    }

    /// The window grows by `acked` bytes.
    pub const fn grow(acked: Bytes, timer: TimerAction) -> Self {
        Self { window: WindowAction::Grow { acked }, timer, finding: Finding::Nothing }
    }

    /// A loss was found: the window is reduced.
    pub const fn reduce(event: CongestionEvent, finding: Finding) -> Self {
        let window = WindowAction::Reduce { event, held: None, plus: Bytes::ZERO };
        Self { window, timer: TimerAction::StartWhole, finding }
    }

    /// A loss was found: the window of the event, under which the lost segment was sent, is reduced.
    pub const fn reduce_under(event: CongestionEvent, finding: Finding) -> Self {
        let window = WindowAction::Reduce { event, held: Some(event.cwnd), plus: Bytes::ZERO };
        Self { window, timer: TimerAction::StartWhole, finding }
    }

    /// Fast recovery is over.
    pub const fn exit(cwnd: Bytes) -> Self {
        let (window, timer) = (WindowAction::Exit { cwnd }, TimerAction::Restart);
        Self { window, timer, finding: Finding::Recovered }
    }

    /// The timer ran out, and the window is reduced for it; the endpoint sets the timer anew.
    pub const fn timeout(event: CongestionEvent) -> Self {
        Self::timeout_with(event, Bytes::ZERO)
    }

    /// The same, where the window is `plus` larger than congestion control leaves it.
    pub const fn timeout_with(event: CongestionEvent, plus: Bytes) -> Self {
        let window = WindowAction::Reduce { event, held: None, plus };
        Self { window, timer: TimerAction::Leave, finding: Finding::Nothing }
    }
}

impl TimerAction {
    /// Whether the timer starts over.
    pub const fn restart_if(restarts: bool) -> Self {
        if restarts { Self::Restart } else { Self::Leave }
    }
}

impl Finding {
    /// Whether a repair begins that no timeout has begun.
    pub(crate) const fn begins_repair(self) -> bool {
        matches!(self, Self::Loss(_) | Self::Collapse(_) | Self::Suspected(_))
    }

    /// Its name in records, and its reason.
    pub(crate) const fn decision(self) -> Option<(Decision, &'static str)> {
        Some(match self {
            Self::Nothing => return None,
            Self::Loss(reason) | Self::Suspected(reason) => (Decision::FastRetransmit, reason),
            Self::Collapse(reason) => (Decision::Collapse, reason),
            Self::Confirmed(signal) => (Decision::Confirmed, signal.id()),
            Self::Refuted(Some(signal)) => (Decision::Refuted, signal.id()),
            Self::Refuted(None) => (Decision::Refuted, "reordering"),
            Self::Recovered => (Decision::Recovered, ""),
            Self::Resized(reason) => (Decision::Resize, reason),
        })
    }
}

/// The reason of a loss that duplicate or selective ACKs report.
pub(super) const DUPLICATES: Finding = Finding::Loss("duplicate ACKs");
