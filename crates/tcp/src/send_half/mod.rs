//! The sending half of a connection: its stream, its view of the peer, and the policies that steer it.
//!
//! Everything here is state and the small questions that it answers; what happens on a segment, a timer
//! or a poll stands in `receive.rs`, `expire.rs` and `send.rs`.

pub mod pacing;
mod partial;
pub(crate) mod peer_window;
mod polls;
mod queue;
mod retransmission;
mod tail_loss_probe;
mod undo;
mod user_timeout;

use units::{Bytes, Duration, Instant, Seq};

use crate::Config;
use crate::congestion::{self, CongestionControl, CongestionEvent, CongestionSignal};
use crate::dupthresh::{DupThresh, View};
use crate::recovery::{Recovery, RecoveryState, SendWindow};
use crate::scoreboard::Scoreboard;
use crate::send_buffer::{SendBuffer, Sender};
use crate::send_half::pacing::Pacer;
use crate::send_half::partial::PartialSegments;
use crate::send_half::peer_window::PeerWindow;
use crate::send_half::polls::Polls;
use crate::send_half::queue::SendQueue;
use crate::send_half::retransmission::RetransmissionTimer;
use crate::send_half::tail_loss_probe::TailLossProbe;
use crate::send_half::undo::SpuriousDetection;
use crate::send_half::user_timeout::UserTimeout;

/// The sending half. Names in capitals are those of RFC 9293 §3.3.1.
#[derive(Debug)]
pub(crate) struct Sending {
    /// ISS: our initial sequence number.
    pub iss: Seq,
    /// SND.UNA: the oldest number not acknowledged.
    pub una: Seq,
    /// SND.NXT: the next number to be used for the first time.
    pub nxt: Seq,
    /// SND.WND and its like.
    pub peer_window: PeerWindow,
    /// How far beyond it a faulty sender goes.
    overrun: Bytes,
    /// What we may send at once.
    pub smss: Bytes,
    pub board: Scoreboard,
    pub queue: SendQueue,
    buffer: Box<dyn SendBuffer>,
    /// Its size, kept: it is asked for with each segment.
    buffer_size: Bytes,
    /// The segment size that was announced.
    announced_mss: Bytes,
    pub partial: PartialSegments,
    pub fin: Fin,
    pub fin_acked: bool,
    pub congestion: Box<dyn CongestionControl>,
    pub recovery: Box<dyn Recovery>,
    pub dupthresh: Box<dyn DupThresh>,
    pub spurious: SpuriousDetection,
    pub polls: Polls,
    pub pacer: Pacer,
    pub duplicates: DuplicateAcks,
    /// When a deadline of the recovery algorithm was last met.
    pub deadline_met: Option<Instant>,
    pub rto: RetransmissionTimer,
    /// Whether the recovery's deadlines take the place of the retransmission timer.
    pub has_own_timer: bool,
    /// The slow-start threshold that an earlier connection has left.
    pub inherited_ssthresh: Option<Bytes>,
    pub persist: Persist,
    pub tail_probe: TailLossProbe,
    /// What congestion control wants to hear of, and what it takes over.
    pub congestion_traits: congestion::Traits,
    pub user_timeout: UserTimeout,
    /// The duplicate threshold, where it never changes.
    pub fixed_threshold: Option<u32>,
    pub fast_retransmits: u64,
    pub stream_acked: Bytes,
    /// The user was told that the queue is low.
    pub told_writable: bool,
}

/// Our FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fin {
    /// The user may still write.
    Open,
    /// The user has closed; it follows the data.
    Wanted,
    /// It was sent.
    Sent,
}

/// Probing a closed window (RFC 9293 §3.8.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persist {
    /// The window is open, or there is nothing to send.
    Idle,
    /// The window is closed; so many probes went out. `due` says that the next one may go.
    Probing { probes: u32, due: bool },
}

impl Sending {
    pub(crate) fn new(config: &Config, iss: Seq) -> Self {
        let (congestion, dupthresh) = (config.congestion.build(), config.dupthresh.build());
        let (recovery, buffer) = (config.recovery.build(), config.send_buffer.build());
        let congestion_traits = congestion.traits();
        Self {
            iss,
            una: iss,
            nxt: iss,
            peer_window: PeerWindow::default(),
            overrun: config.plain.overrun,
            smss: config.plain.mss,
            board: Scoreboard::with_delivery_rate(congestion_traits.observes_deliveries),
            queue: SendQueue::default(),
            buffer_size: buffer.size(),
            buffer,
            announced_mss: config.plain.mss,
            partial: PartialSegments::new(config),
            fin: Fin::Open,
            fin_acked: false,
            congestion_traits,
            fixed_threshold: dupthresh.constant(),
            congestion,
            has_own_timer: recovery.traits().replaces_timer,
            recovery,
            dupthresh,
            spurious: SpuriousDetection::new(&config.spurious),
            polls: Polls::new(config.poll.build()),
            pacer: Pacer::new(config.plain.pacing.as_ref(), congestion_traits.paces),
            duplicates: DuplicateAcks::default(),
            deadline_met: None,
            rto: RetransmissionTimer::new(config.rto.build(), iss),
            inherited_ssthresh: None,
            persist: Persist::Idle,
            user_timeout: UserTimeout::default(),
            tail_probe: TailLossProbe::default(),
            fast_retransmits: 0,
            stream_acked: Bytes::ZERO,
            told_writable: false,
        }
    }

    /// Exchanges the recovery, as the peer's options demand.
    pub(crate) fn set_recovery(&mut self, recovery: Box<dyn Recovery>) {
        self.has_own_timer = recovery.traits().replaces_timer;
        self.tail_probe = TailLossProbe::default();
        self.recovery = recovery;
    }

    /// Whether the user has closed the stream.
    pub(crate) fn is_closing(&self) -> bool {
        self.fin != Fin::Open
    }

    /// cwnd with what recovery adds to it or takes off, or the window that it holds instead; at least one
    /// segment.
    pub(crate) fn window(&self) -> Bytes {
        if self.congestion_traits.governs_recovery || self.recovery.is_idle() {
            return self.congestion.cwnd().max(self.smss);
        }
        let SendWindow { cwnd, inflation } = self.recovery.window(self.congestion.cwnd());
        cwnd.saturating_add_signed(inflation).max(self.smss)
    }

    /// The estimate of what is in the network.
    pub(crate) fn pipe(&self) -> Bytes {
        if self.recovery.is_idle() { self.board.pipe() } else { self.recovery.pipe(&self.board) }
    }

    /// The window that is sent by, and the estimate of what is in the network.
    #[inline]
    pub(crate) fn window_and_pipe(&self) -> (Bytes, Bytes) {
        if self.recovery.is_idle() {
            return (self.congestion.cwnd().max(self.smss), self.board.pipe());
        }
        (self.window(), self.pipe())
    }

    /// Whether no loss is being repaired.
    pub(crate) fn is_open(&self) -> bool {
        self.recovery.state() == RecoveryState::Open
    }

    /// Reduces the window for a congestion event, or the one that was `held` instead of it, and adds `plus` to what is
    /// left.
    pub(crate) fn reduce(&mut self, event: CongestionEvent, held: Option<Bytes>, plus: Bytes) {
        let congestion = &mut self.congestion;
        let governs = self.congestion_traits.governs_recovery;
        if let Some(held) = held.filter(|_| !governs) {
            // What congestion control has lowered itself meanwhile (LEDBAT++ in a slowdown) stays low.
            congestion.on_restore(held.min(congestion.cwnd()), congestion.ssthresh());
        }
        let event = &CongestionEvent { cwnd: congestion.cwnd(), ..event };
        match event.signal {
            CongestionSignal::Loss => congestion.on_loss(event),
            CongestionSignal::Timeout { .. } => congestion.on_timeout(event),
            CongestionSignal::EcnEcho | CongestionSignal::CountedMarks => congestion.on_mark(event),
        }
        if !plus.is_zero() && !governs {
            let window = congestion.cwnd() + plus;
            congestion.on_recovery_exit(window);
        }
    }

    /// Goes on from `cwnd` in slow start to where the window is. The threshold has whole segments as ever: else slow
    /// start, which goes by segments, would go past a fraction at each gap that closes.
    pub(crate) fn slow_start_from(&mut self, cwnd: Bytes) {
        let (present, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let back_to = self.smss * present.whole(self.smss);
        self.congestion.on_restore(cwnd.min(present), back_to.max(ssthresh));
    }

    /// Room in the peer's window behind what was sent, with what a faulty sender takes beyond it.
    pub(crate) fn peer_room(&self) -> Bytes {
        let beyond = if self.peer_window.is_closed() { Bytes::ZERO } else { self.overrun };
        (self.peer_window.size() + beyond).saturating_sub(Bytes(u64::from(self.nxt.since(self.una))))
    }

    /// Of what is not sent yet, how much the user could have written into the buffer, in whole segments.
    #[inline]
    pub(crate) fn sendable(&self) -> Bytes {
        let unsent = self.queue.len();
        if self.buffer_size == Bytes::MAX { unsent } else { self.sendable_of(unsent) }
    }

    fn sendable_of(&self, unsent: Bytes) -> Bytes {
        let outstanding = self.board.outstanding();
        let room = self.buffer_size.saturating_sub(outstanding);
        if unsent <= room {
            return unsent;
        }
        // A buffer without room for a segment still sends what it holds.
        let whole = self.smss * room.whole(self.smss);
        if whole.is_zero() && outstanding.is_zero() { room } else { whole }
    }

    /// Whether the send buffer alone holds data back.
    pub(crate) fn buffer_is_full(&self) -> bool {
        !self.queue.is_empty() && self.sendable().is_zero()
    }

    /// Lets the send buffer grow; whether it has.
    pub(crate) fn grow_buffer(&mut self) -> bool {
        let mss = self.announced_mss.max(self.smss);
        let (cwnd, smss, dupthresh) = (self.congestion.cwnd(), self.smss, self.dup_threshold());
        self.buffer.grow(&Sender { cwnd, smss, mss, dupthresh });
        let before = std::mem::replace(&mut self.buffer_size, self.buffer.size());
        self.buffer_size > before
    }

    /// Before the user writes: where less than a segment waits, nothing is to be sent again and the window has room, the
    /// flight was limited by the application (draft-cheng-iccrg-delivery-rate-estimation, `CheckIfApplicationLimited`).
    pub(crate) fn check_application_limited(&mut self) {
        if self.queue.len() < self.smss {
            self.on_application_limited();
        }
    }

    /// The user gives less than the window takes.
    pub(crate) fn on_application_limited(&mut self) {
        if self.congestion_traits.observes_deliveries && self.board.first_lost().is_none() {
            let (pipe, window) = (self.recovery.pipe(&self.board), self.window());
            if let Some(account) = self.board.delivery_rate_mut().filter(|_| pipe < window) {
                account.on_application_limited(pipe);
            }
        }
    }

    /// Whether all that the user wants to send was sent and acknowledged.
    pub(crate) fn has_nothing_left(&self) -> bool {
        self.queue.is_empty() && self.board.is_empty() && self.fin != Fin::Wanted
    }

    /// The number for a segment without data: SND.NXT, unless that lies beyond the peer's window, as after
    /// a probe of it; the peer would answer such a segment instead of reading it, and we that answer.
    pub(crate) fn acceptable_seq(&self) -> Seq {
        self.nxt.min(self.una + u32::try_from(self.peer_window.size().0).expect("a window is below 2^30"))
    }

    /// What is not sent yet. Of a user who keeps a buffer filled and has not closed, no end is in sight.
    pub(crate) fn unsent(&self) -> Bytes {
        let backlog = self.queue.len();
        if backlog >= SOCKET_BUFFER && !self.is_closing() { Bytes::MAX } else { backlog }
    }

    /// When the recovery algorithm wants to act without an ACK. A deadline that was met has moved: one that has not, by
    /// whatever fault, comes again after a clock tick and not at once, so that no endpoint ever stands still in time.
    pub(crate) fn recovery_deadline(&self) -> Option<Instant> {
        let deadline = self.recovery.deadline(&self.board)?;
        Some(self.deadline_met.filter(|met| deadline <= *met).map_or(deadline, |met| met + CLOCK_TICK))
    }

    /// How many duplicate ACKs mean a loss now.
    pub(crate) fn dup_threshold(&self) -> u32 {
        self.fixed_threshold.unwrap_or_else(|| self.dupthresh.segments(&self.view()))
    }

    /// The window as the duplicate threshold sees it.
    pub(crate) fn view(&self) -> View {
        let now = || (self.board.outstanding(), self.unsent());
        let (flight, unsent) = self.duplicates.at_first().unwrap_or_else(now);
        let cwnd = self.recovery.window(self.congestion.cwnd()).cwnd;
        View { flight, cwnd, advertised: self.peer_window.size(), unsent, smss: self.smss }
    }

    /// When a retransmission timer runs out that is started at `start`.
    pub(crate) fn rto_from(&self, start: Instant) -> Instant {
        self.rto.runs_out_at(start)
    }

    /// When the retransmission timer shall run out after an ACK of new data, or `None` with nothing left.
    pub(crate) fn rto_deadline(&self, now: Instant) -> Option<Instant> {
        let timed = self.rto.counts_from_oldest() && self.is_open();
        if timed { self.rto_from_oldest(now) } else { self.board.front().map(|_| self.rto_from(now)) }
    }

    /// When the retransmission timer shall run out, by the rule of the timer and whatever is being repaired.
    pub(crate) fn rto_from_oldest(&self, now: Instant) -> Option<Instant> {
        let oldest = self.board.front()?;
        let from_oldest = self.rto.counts_from_oldest();
        let start = if from_oldest { oldest.last_sent } else { now };
        // A deadline that has passed already runs out at once, but not in the past.
        Some(self.rto_from(start).max(now))
    }
}

/// G of RFC 6298 §2.
const CLOCK_TICK: Duration = Duration::from_millis(1);

/// Duplicate ACKs since SND.UNA last advanced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DuplicateAcks {
    count: u32,
    /// FlightSize and what was not sent yet when the first of them came.
    at_first: (Bytes, Bytes),
}

impl DuplicateAcks {
    /// One more came, with so much in flight and so much not sent yet.
    pub(crate) fn count_one(&mut self, flight: Bytes, unsent: Bytes) {
        if self.count == 0 {
            self.at_first = (flight, unsent);
        }
        self.count += 1;
    }

    /// The row is over; how many there were.
    pub(crate) fn clear(&mut self) -> u32 {
        std::mem::take(&mut self.count)
    }

    /// How many came.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// FlightSize and what was not sent yet when the first of them came.
    pub(crate) fn at_first(&self) -> Option<(Bytes, Bytes)> {
        (self.count > 0).then_some(self.at_first)
    }
}

/// A socket buffer of the usual size. A user who has so much unsent keeps it filled, and sends as fast as it goes.
pub const SOCKET_BUFFER: Bytes = Bytes(1 << 16);
