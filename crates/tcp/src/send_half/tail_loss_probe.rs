//! Tail loss probes (RFC 8985 §7): when the last segments of a flight are lost, no later ones tell of it. After two round
//! trips of silence one segment, new or the last again, draws an ACK that does, long before the retransmission timer.
//!
//! The probe timer takes the place of the retransmission timer while it runs (§7.2), as in Linux.

use units::{Duration, Instant, Seq};

use crate::Cause;
use crate::endpoint::Endpoint;
use crate::recovery::{AckEvent, Next, Room, TailProbes};
use crate::timers::Timer;

/// The probing of the tail; names in brackets are those of RFC 8985 §7.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TailLossProbe {
    /// How to probe; absent where the tail is not probed.
    probes: Option<TailProbes>,
    /// The retransmission timer stands for the probe timer.
    armed: bool,
    /// When the retransmission timer would have run out whose place the probe timer took last.
    expiry: Option<Instant>,
    /// The probe is to go out.
    due: bool,
    /// The probe that is not answered yet.
    outstanding: Option<Probe>,
}

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT when it was sent (`TLP.end_seq`).
    end: Seq,
    /// Whether it repeats the last segment (`TLP.is_retrans`).
    again: bool,
}

/// §7.2: how long a probe waits before the first round trip is measured.
const WITHOUT_SAMPLE: Duration = Duration::from_secs(1);

impl TailLossProbe {
    /// The handshake has settled whether the tail is probed.
    pub(crate) fn settle(&mut self, probes: Option<TailProbes>) {
        *self = Self { probes, ..Self::default() };
    }

    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        self.probes.is_some()
    }

    #[inline]
    pub(crate) const fn is_armed(&self) -> bool {
        self.armed
    }

    #[inline]
    pub(crate) const fn is_due(&self) -> bool {
        self.due
    }

    /// Whether an ACK may be the answer to a probe.
    #[inline]
    pub(crate) const fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// The retransmission timer is set for its own sake.
    #[inline]
    pub(crate) const fn disarm(&mut self) {
        self.armed = false;
    }

    /// A loss is found: there is nothing left to probe for.
    pub(crate) const fn end(&mut self) {
        (self.armed, self.due, self.outstanding) = (false, false, None);
    }
}

/// What an ACK says of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing yet.
    None,
    /// Nothing was lost.
    NothingLost,
    /// The probe has repaired a loss, which is one like any other for congestion control.
    Repaired,
}

impl Probe {
    /// `TLP_process_ack()` of §7.4.2.
    fn answered_by(&self, ack: &AckEvent) -> Answer {
        if ack.number.before(self.end) {
            return Answer::None;
        }
        let twice = ack.dsack.is_some_and(|twice| twice.end == self.end);
        let mere_duplicate = !ack.advances && ack.newly_sacked.is_zero();
        if !self.again || twice {
            Answer::NothingLost
        } else if ack.number.after(self.end) {
            Answer::Repaired
        } else if mere_duplicate {
            Answer::NothingLost
        } else {
            Answer::None
        }
    }
}

impl Endpoint {
    /// An ACK came and recovery has judged it: what it says of a probe, and when the next one is due.
    pub(crate) fn judge_tail_probe(&mut self, ack: &AckEvent) {
        let answer = self.sending.tail_probe.outstanding.map_or(Answer::None, |probe| probe.answered_by(ack));
        if answer != Answer::None {
            self.sending.tail_probe.outstanding = None;
        }
        if !self.sending.is_open() {
            self.sending.tail_probe.end();
        } else if answer == Answer::Repaired {
            self.sending.reduce(ack.congestion_event(ack.flight), None, units::Bytes::ZERO);
        }
        if ack.advances || !ack.newly_sacked.is_zero() {
            let armed = self.sending.tail_probe.armed;
            if !self.schedule_tail_probe(ack.now, ack.advances) && armed {
                // The retransmission timer takes its place again, as it ran.
                self.restore_retransmission_timer(ack.now);
            }
        }
    }

    /// §7.2: sets the probe timer, unless losses are known or told of. `advancing`: the retransmission timer starts over
    /// now. Whether it was set.
    pub(crate) fn schedule_tail_probe(&mut self, now: Instant, advancing: bool) -> bool {
        if !self.state.is_synchronised() {
            // Not before the handshake of a Fast Open is done (Linux `tcp_schedule_loss_probe`).
            return false;
        }
        let sending = &self.sending;
        let TailLossProbe { probes: Some(probes), outstanding: None, .. } = sending.tail_probe else {
            return false;
        };
        let board = &sending.board;
        let Some(oldest) = board.front().filter(|_| sending.is_open() && board.sacked().is_zero()) else {
            return false;
        };
        let alone = board.len() == 1;
        let wait = match sending.rto.srtt() {
            None => WITHOUT_SAMPLE,
            Some(srtt) => srtt * 2 + if alone { probes.max_ack_delay } else { probes.slack },
        };
        let running = if sending.tail_probe.armed {
            sending.tail_probe.expiry
        } else {
            self.timers.at(Timer::Retransmission)
        };
        // A timer that counts from the last ACK runs on (RFC 6298 §5.1).
        let expiry = match running.filter(|_| !advancing && !sending.rto.counts_from_oldest()) {
            Some(expiry) => expiry,
            None => sending.rto_from(if advancing { now } else { oldest.last_sent }),
        };
        let probe_at = now + wait;
        let at = if expiry > now { probe_at.min(expiry) } else { probe_at };
        self.timers.set(Timer::Retransmission, at);
        self.sending.tail_probe.armed = true;
        self.sending.tail_probe.expiry = Some(expiry);
        true
    }

    /// The probe timer ran out (§7.3). One probe at a time; the retransmission timer follows it.
    pub(crate) fn probe_tail(&mut self, now: Instant) {
        let probe = &mut self.sending.tail_probe;
        probe.armed = false;
        if probe.outstanding.is_some() {
            return self.restore_retransmission_timer(now);
        }
        probe.due = true;
        self.set_retransmission_timer(self.sending.rto_from(now));
    }

    fn restore_retransmission_timer(&mut self, now: Instant) {
        let sending = &self.sending;
        let running = sending.tail_probe.expiry.filter(|_| !sending.rto.counts_from_oldest());
        match sending.board.front() {
            Some(oldest) => {
                let expiry = running.unwrap_or_else(|| sending.rto_from(oldest.last_sent));
                self.set_retransmission_timer(expiry.max(now));
            }
            None => self.timers.clear(Timer::Retransmission),
        }
    }

    /// The probe: a new segment where the peer's window has room for it, else the last one again (§7.3).
    pub(crate) fn next_tail_probe(&mut self, room: &Room) -> Next {
        let probe = &mut self.sending.tail_probe;
        probe.due = false;
        let last = self.sending.board.len().checked_sub(1);
        let next = match last {
            _ if room.new.is_some() => Next::New,
            Some(index) => Next::Retransmit { index, cause: Cause::TailLossProbe },
            None => return Next::Nothing,
        };
        let again = next != Next::New;
        let new = room.new.filter(|_| !again).map_or(0, |len| len.0 as u32);
        probe.outstanding = Some(Probe { end: self.sending.nxt + new, again });
        next
    }
}
