//! Combination of the detectors in Linux (`tcp_try_undo_recovery`, `tcp_try_undo_partial`, `tcp_try_undo_loss`,
//! `tcp_try_undo_dsack`): a loss signal was false if the ACK of the gap echoes a clock from before the first
//! retransmission (Eifel), if every retransmission is reported as arrived twice (D-SACK), or, after a timeout, if
//! originals are acknowledged that were not sent again (F-RTO, RFC 5682 §3). Both windows are then as they were.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Seq, SeqRange};

use super::{Judgement, Response, SendLimit, Signal, SignalKind, Spurious};
use crate::recovery::AckEvent;
use crate::scoreboard::Scoreboard;
use crate::timestamp::Timestamp;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether F-RTO judges timeouts (`tcp_frto`).
    pub f_rto: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { f_rto: true }
    }
}

#[derive(Debug)]
struct Linux {
    parameters: Parameters,
    /// The signal that may be undone (`undo_marker`).
    signal: Option<Judged>,
    probing: Probing,
}

/// A signal, and what was done since.
#[derive(Clone, Debug)]
struct Judged {
    kind: SignalKind,
    /// SND.UNA at the signal.
    marker: Seq,
    /// End of what was outstanding then (`high_seq`).
    high: Seq,
    /// Whether all of that is acknowledged: then only D-SACKs may yet show something.
    repaired: bool,
    /// Retransmissions that are not reported as needless (`undo_retrans`); `None` before the first.
    genuine: Option<u32>,
    /// Time at which the first segment was sent again (`retrans_stamp`).
    resent_at: Option<Instant>,
    /// Retransmissions that may still be in the network.
    resent: Vec<SeqRange>,
}

/// F-RTO after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probing {
    Off,
    /// The first ACK that advances is awaited.
    FirstAck,
    /// New data leave instead of old ones, `new` segments so far, and the next ACK decides.
    SecondAck {
        new: u32,
    },
}

/// RFC 5682 §3 step 2 b: new segments that go out on the first ACK.
const PROBES: u32 = 2;

impl Judged {
    fn new(signal: &Signal) -> Self {
        Self {
            kind: signal.kind,
            marker: signal.outstanding.start,
            high: signal.outstanding.end,
            repaired: false,
            genuine: None,
            resent_at: None,
            resent: Vec::new(),
        }
    }

    /// `tcp_check_dsack`.
    fn count_report(&mut self, ack: &AckEvent) {
        let Some(twice) = ack.dsack.filter(|twice| twice.end.after(self.marker)) else { return };
        let segments = Bytes(u64::from(twice.len())).0.div_ceil(ack.smss.0.max(1));
        let reported = u32::try_from(segments).unwrap_or(u32::MAX);
        self.genuine = self.genuine.map(|genuine| genuine.saturating_sub(reported));
    }

    /// Whether every retransmission was needless.
    fn all_needless(&self) -> bool {
        self.genuine == Some(0)
    }

    /// `tcp_packet_delayed`: what the ACK answers was sent before the first retransmission.
    fn was_delayed(&self, ack: &AckEvent) -> bool {
        let first = self.resent_at.map(Timestamp::at);
        ack.echo.zip(first).is_some_and(|(echo, first)| echo.is_older_than(first))
    }

    /// Whether a retransmission is neither acknowledged nor SACKed.
    fn has_copies_out(&mut self, ack: &AckEvent, board: &Scoreboard) -> bool {
        self.resent.retain(|range| {
            let sent = board.get(board.index_of(range.start));
            range.end.after(ack.number) && sent.is_some_and(|sent| !sent.sacked)
        });
        !self.resent.is_empty()
    }

    /// Result of an ACK, except for F-RTO.
    fn judge(&mut self, ack: &AckEvent, board: &Scoreboard) -> bool {
        self.count_report(ack);
        let over = ack.number.at_or_after(self.high);
        if self.repaired || !ack.advances {
            return self.all_needless();
        }
        self.repaired = over;
        let partial = self.kind == SignalKind::FastRetransmit && !over;
        let delayed = self.was_delayed(ack) && !(partial && self.has_copies_out(ack, board));
        self.all_needless() || delayed
    }
}

impl Linux {
    /// F-RTO's part of `tcp_process_loss`.
    fn probe(&mut self, ack: &AckEvent, board: &Scoreboard) -> bool {
        let Some(signal) = self.signal.as_mut().filter(|_| self.probing != Probing::Off) else {
            return false;
        };
        let delivered = board.delivered();
        // Without SACK, what is acknowledged with a retransmission may have arrived before the loss
        // (`tcp_clean_rtx_queue`).
        let certain = ack.sack || delivered.again.is_none();
        let lowest = delivered.lowest_once.filter(|_| certain);
        if lowest.is_some_and(|original| original.end.at_or_before(signal.high)) {
            return true;
        }
        let sacks = !ack.newly_sacked.is_zero() || ack.duplicate;
        match self.probing {
            Probing::FirstAck if ack.advances && !signal.repaired => {
                signal.high = ack.nxt;
                self.probing = Probing::SecondAck { new: 0 };
            }
            Probing::SecondAck { .. } if sacks || ack.advances => self.probing = Probing::Off,
            _ => {}
        }
        false
    }

    fn undo(&mut self) -> Judgement {
        self.signal = None;
        self.probing = Probing::Off;
        Judgement::Spurious
    }
}

impl Spurious for Linux {
    fn on_signal(&mut self, signal: &Signal) {
        let unfinished = self.signal.as_ref().filter(|last| signal.outstanding.start.before(last.high));
        let in_recovery = unfinished.is_some_and(|last| last.kind == SignalKind::FastRetransmit);
        let timeout = signal.kind == SignalKind::Timeout;
        // `tcp_enter_loss`: a timeout in fast recovery continues the repair that this has begun, and is not probed.
        self.probing =
            if timeout && self.parameters.f_rto && !in_recovery { Probing::FirstAck } else { Probing::Off };
        match &mut self.signal {
            Some(last) if timeout && (in_recovery || signal.again) => {
                (last.kind, last.high) = (SignalKind::Timeout, signal.outstanding.end);
            }
            last => *last = Some(Judged::new(signal)),
        }
    }

    fn on_retransmitted(&mut self, now: Instant, range: SeqRange) {
        if let Some(signal) = self.signal.as_mut().filter(|signal| !signal.repaired) {
            signal.genuine = Some(signal.genuine.unwrap_or(0) + 1);
            signal.resent_at.get_or_insert(now);
            signal.resent.push(range);
        }
    }

    fn on_new(&mut self, _len: Bytes) {
        if let Probing::SecondAck { new } = &mut self.probing {
            *new += 1;
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, board: &Scoreboard) -> Judgement {
        let Some(signal) = &mut self.signal else { return Judgement::Undecided };
        if signal.judge(ack, board) || self.probe(ack, board) {
            return self.undo();
        }
        if self.signal.as_ref().is_some_and(|signal| signal.repaired) {
            self.probing = Probing::Off;
        }
        Judgement::Undecided
    }

    fn observes_advances(&self) -> bool {
        self.signal.as_ref().is_some_and(|signal| !signal.repaired)
    }

    fn explains_duplicate(&self, ack: &AckEvent) -> bool {
        ack.dsack.is_some() && ack.newly_sacked.is_zero()
    }

    fn send_limit(&self) -> SendLimit {
        match self.probing {
            Probing::SecondAck { new } if new < PROBES => SendLimit::NewData,
            Probing::SecondAck { .. } => SendLimit::Nothing,
            Probing::Off | Probing::FirstAck => SendLimit::None,
        }
    }

    fn on_no_new_data(&mut self) {
        // One new segment will do; with none the conventional recovery continues.
        match &mut self.probing {
            Probing::SecondAck { new: 0 } => self.probing = Probing::Off,
            Probing::SecondAck { new } => *new = PROBES,
            Probing::Off | Probing::FirstAck => {}
        }
    }

    fn response(&self) -> Response {
        Response::Undo
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Spurious> = Algorithm::of(
    "linux",
    "echoed clocks, D-SACKs and F-RTO together, and both windows restored",
    "Linux net/ipv4/tcp_input.c (tcp_try_undo_*, tcp_process_loss); RFC 5682, RFC 3522, RFC 3708",
    &Build(|parameters: &Parameters| {
        Box::new(Linux { parameters: parameters.clone(), signal: None, probing: Probing::Off })
    }),
);
