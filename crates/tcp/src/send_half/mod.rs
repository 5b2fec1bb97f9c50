//! The sending half of a connection: its stream, its view of the peer, and the algorithms that control it.
//!
//! This file has the state and the small questions that it answers. `departure.rs` decides which segment leaves next,
//! `acked.rs` and `judge.rs` process an ACK, `timeout.rs` expired timers, `start.rs` the handshake, and `recording.rs`
//! keeps records. Every other file is a small state machine of its own, which knows nothing of the half that owns it.

mod acked;
mod acknowledgment;
mod departure;
mod duplicate_acks;
mod judge;
mod mtu_probe;
pub mod mtu_search;
pub mod offload;
pub mod pacing;
mod partial;
mod peer_window;
mod persist;
mod polls;
mod queue;
mod recording;
mod retransmission;
mod start;
mod stream;
mod tail_loss_probe;
mod threshold;
mod timeout;
mod undo;

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Bytes, Duration, Instant, Seq};
use wire::Payload;

pub(crate) use acknowledgment::Acknowledgment;
pub(crate) use departure::{Allowed, Departure};
pub use stream::SOCKET_BUFFER;
pub(crate) use timeout::TimeoutOutcome;

use crate::congestion::{self, CongestionControl, CongestionEvent, CongestionSignal};
use crate::dupthresh::View;
use crate::record::Variables;
use crate::recovery::{Recovery, RecoveryState, SendWindow};
use crate::rto::Estimate;
use crate::scoreboard::Scoreboard;
use crate::timers::{Timer, Timers};
use crate::{Config, Record};
use duplicate_acks::DuplicateAcks;
use mtu_search::MtuSearch;
use offload::Bursts;
use pacing::Pacer;
use peer_window::PeerWindow;
use persist::{Persist, UserTimeout};
use polls::Polls;
use retransmission::RetransmissionTimer;
use stream::SendStream;
use tail_loss_probe::TailLossProbe;
use threshold::Threshold;
use undo::SpuriousDetection;

/// The sending half. Names in capitals are those of RFC 9293 §3.3.1.
#[derive(Debug)]
pub(crate) struct SendHalf {
    config: Arc<Config>,
    /// ISS: our initial sequence number.
    iss: Seq,
    /// SND.UNA: the oldest number not acknowledged.
    una: Seq,
    /// SND.NXT: the next number to be used for the first time.
    nxt: Seq,
    /// SND.WND and its like.
    peer_window: PeerWindow,
    /// Data that a faulty sender sends beyond it.
    overrun: Bytes,
    /// SMSS: the largest payload of a segment.
    smss: Bytes,
    /// The search for the largest segment that the path carries.
    mtu: MtuSearch,
    board: Scoreboard,
    stream: SendStream,
    congestion: Box<dyn CongestionControl>,
    /// The events that congestion control observes, and the tasks that it takes over.
    congestion_traits: congestion::Traits,
    recovery: Box<dyn Recovery>,
    /// Whether the deadlines of the recovery replace the retransmission timer.
    has_own_timer: bool,
    /// Time at which a deadline of the recovery was last met.
    deadline_met: Option<Instant>,
    threshold: Threshold,
    duplicates: DuplicateAcks,
    spurious: SpuriousDetection,
    polls: Polls,
    pacer: Pacer,
    bursts: Bursts,
    rto: RetransmissionTimer,
    tail_probe: TailLossProbe,
    persist: Persist,
    user_timeout: UserTimeout,
    /// The end of the last spurious timeout whose reaction was undone.
    busy_until: Instant,
    /// The slow-start threshold of an earlier connection.
    inherited_ssthresh: Option<Bytes>,
    /// Whether both SYNs are acknowledged.
    synchronised: bool,
    /// End of the last segment of new data that was small.
    small_end: Seq,
    /// Ends of records, which no segment crosses (`MSG_EOR`).
    records_end: VecDeque<Seq>,
    /// Retransmissions of a SYN before an open fails.
    syn_retries: u32,
    fast_retransmits: u64,
    records: Option<Vec<Record>>,
    variables: Variables,
}

impl SendHalf {
    pub(crate) fn new(config: &Arc<Config>, iss: Seq) -> Self {
        let (congestion, recovery) = (config.congestion.build(), config.recovery.build());
        let congestion_traits = congestion.traits();
        let plain = &config.plain;
        Self {
            config: Arc::clone(config),
            iss,
            una: iss,
            nxt: iss,
            peer_window: PeerWindow::default(),
            overrun: plain.overrun,
            smss: plain.mss,
            mtu: MtuSearch::new(plain.mtu_probing),
            board: Scoreboard::with_delivery_rate(congestion_traits.observes_deliveries),
            stream: SendStream::new(config.send_buffer.build(), plain.mss, plain.nagle),
            congestion_traits,
            congestion,
            has_own_timer: recovery.traits().replaces_timer,
            recovery,
            deadline_met: None,
            threshold: Threshold::new(config.dupthresh.build()),
            duplicates: DuplicateAcks::default(),
            spurious: SpuriousDetection::new(&config.spurious),
            polls: Polls::new(config.poll.build()),
            pacer: Pacer::new(plain.pacing.as_ref(), congestion_traits.paces),
            bursts: Bursts::new(plain.segmentation_offload),
            rto: RetransmissionTimer::new(config.rto.build(), iss),
            tail_probe: TailLossProbe::default(),
            persist: Persist::default(),
            user_timeout: UserTimeout::default(),
            busy_until: Instant::START,
            inherited_ssthresh: None,
            synchronised: false,
            small_end: iss,
            records_end: VecDeque::new(),
            syn_retries: plain.syn_retries,
            fast_retransmits: 0,
            records: None,
            variables: Variables::default(),
        }
    }

    /// Appends data to the stream, unless the user has closed it.
    pub(crate) fn write(&mut self, payload: Payload) {
        if self.stream.is_closing() {
            return;
        }
        // Where less than a segment waits, the flight was limited by the application
        // (draft-cheng-iccrg-delivery-rate-estimation, `CheckIfApplicationLimited`).
        if self.stream.unsent() < self.smss {
            self.on_application_limited();
        }
        self.stream.write(payload);
    }

    /// The user will write more soon (`MSG_MORE`): the data written so far are not pushed.
    pub(crate) const fn expect_more(&mut self) {
        self.stream.partial().set_push(false);
    }

    /// The data written so far end a record: later data begin a segment of their own.
    pub(crate) fn end_record(&mut self) {
        let una = self.una;
        self.records_end.retain(|end| end.after(una));
        self.records_end.push_back(self.nxt + self.stream.unsent().0 as u32);
    }

    /// Sets the number of retransmissions of a SYN before an open fails.
    pub(crate) const fn set_syn_retries(&mut self, retries: u32) {
        self.syn_retries = retries;
    }

    /// Turns the Nagle algorithm on or off.
    pub(crate) const fn set_nagle(&mut self, on: bool) {
        self.stream.partial().set_nagle(on);
    }

    /// Turns corking on or off.
    pub(crate) const fn set_corked(&mut self, on: bool) {
        self.stream.partial().set_corked(on);
    }

    /// Ends the stream: the FIN follows the data.
    pub(crate) fn close(&mut self) {
        self.stream.close();
    }

    /// Size of the send buffer.
    pub(crate) const fn send_buffer(&self) -> Bytes {
        self.stream.buffer_size()
    }

    /// Whether the user has closed the stream.
    pub(crate) fn is_closing(&self) -> bool {
        self.stream.is_closing()
    }

    /// Our FIN is acknowledged.
    pub(crate) const fn on_fin_acked(&mut self) {
        self.stream.on_fin_acked();
    }

    /// Whether our FIN was sent and acknowledged.
    pub(crate) const fn fin_is_acked(&self) -> bool {
        self.stream.fin_is_acked()
    }

    /// ISS.
    pub(crate) const fn iss(&self) -> Seq {
        self.iss
    }

    /// SND.UNA.
    #[inline]
    pub(crate) const fn una(&self) -> Seq {
        self.una
    }

    /// SND.NXT.
    #[inline]
    pub(crate) const fn nxt(&self) -> Seq {
        self.nxt
    }

    /// SND.WND.
    pub(crate) const fn peer_window(&self) -> Bytes {
        self.peer_window.size()
    }

    /// The largest window that the peer has offered.
    pub(crate) const fn greatest_peer_window(&self) -> Bytes {
        self.peer_window.greatest()
    }

    /// The segments outstanding.
    pub(crate) const fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// SMSS.
    pub(crate) const fn smss(&self) -> Bytes {
        self.smss
    }

    /// Data written and not sent yet.
    pub(crate) const fn unsent(&self) -> Bytes {
        self.stream.unsent()
    }

    /// Data acknowledged.
    pub(crate) const fn acked(&self) -> Bytes {
        self.stream.acked()
    }

    /// Number of times that duplicate or selective ACKs have started a recovery.
    pub(crate) const fn fast_retransmits(&self) -> u64 {
        self.fast_retransmits
    }

    /// The retransmission timer.
    pub(crate) const fn rto(&self) -> &RetransmissionTimer {
        &self.rto
    }

    /// Number of probes of a closed window that have no answer.
    pub(crate) fn probes(&self) -> u32 {
        self.persist.probes()
    }

    /// The slow-start threshold.
    pub(crate) fn ssthresh(&self) -> Bytes {
        self.congestion.ssthresh()
    }

    /// The phase of the reaction to losses.
    pub(crate) fn recovery_state(&self) -> RecoveryState {
        self.recovery.state()
    }

    /// Whether duplicate or selective ACKs have reported a gap that is not closed.
    pub(crate) const fn has_gap(&self) -> bool {
        !self.board.sacked().is_zero() || self.duplicates.count() > 0
    }

    /// Whether all that the user wants to send was sent and acknowledged.
    #[inline]
    pub(crate) fn has_nothing_left(&self) -> bool {
        self.board.is_empty() && !self.stream.has_more()
    }

    /// The limiting window: cwnd with the changes of recovery, or the window that recovery holds instead; at least one
    /// segment.
    pub(crate) fn window(&self) -> Bytes {
        if self.congestion_traits.governs_recovery || self.recovery.is_idle() {
            return self.congestion.cwnd().max(self.smss);
        }
        let SendWindow { cwnd, inflation } = self.recovery.window(self.congestion.cwnd());
        cwnd.saturating_add_signed(inflation).max(self.smss)
    }

    /// The estimate of the data in the network.
    fn pipe(&self) -> Bytes {
        if self.recovery.is_idle() { self.board.pipe() } else { self.recovery.pipe(&self.board) }
    }

    /// The limiting window and the estimate of the data in the network.
    #[inline]
    fn window_and_pipe(&self) -> (Bytes, Bytes) {
        if self.recovery.is_idle() {
            return (self.congestion.cwnd().max(self.smss), self.board.pipe());
        }
        (self.window(), self.pipe())
    }

    /// Whether no loss is being repaired.
    fn is_open(&self) -> bool {
        self.recovery.state() == RecoveryState::Open
    }

    /// Room in the peer's window beyond the data sent, with the excess of a faulty sender.
    fn peer_room(&self) -> Bytes {
        let beyond = if self.peer_window.is_closed() { Bytes::ZERO } else { self.overrun };
        (self.peer_window.size() + beyond).saturating_sub(Bytes(u64::from(self.nxt.since(self.una))))
    }

    /// The sequence number of a segment without data: SND.NXT, unless that lies beyond the peer's window, as after a
    /// probe of it. The peer would answer such a segment instead of reading it, and we would answer that.
    pub(crate) fn acceptable_seq(&self) -> Seq {
        self.nxt.min(self.una + u32::try_from(self.peer_window.size().0).expect("a window is below 2^30"))
    }

    /// The user gives less than the window takes.
    fn on_application_limited(&mut self) {
        if self.congestion_traits.observes_deliveries && self.board.first_lost().is_none() {
            let (pipe, window) = (self.recovery.pipe(&self.board), self.window());
            if let Some(account) = self.board.delivery_rate_mut().filter(|_| pipe < window) {
                account.on_application_limited(pipe);
            }
        }
    }

    /// Number of duplicate ACKs that mean a loss now.
    pub(crate) fn dup_threshold(&self) -> u32 {
        self.threshold.constant().unwrap_or_else(|| self.threshold.segments(&self.view()))
    }

    /// The window as the duplicate threshold sees it.
    fn view(&self) -> View {
        let now = || (self.board.outstanding(), self.stream.backlog());
        let (flight, unsent) = self.duplicates.at_first().unwrap_or_else(now);
        let cwnd = self.recovery.window(self.congestion.cwnd()).cwnd;
        let (srtt, rto) = (self.rto.srtt(), self.rto.length());
        View { flight, cwnd, advertised: self.peer_window.size(), unsent, smss: self.smss, srtt, rto }
    }

    /// Reduces the window for a congestion event, or the `held` one instead of it, and adds `plus` to the result.
    fn reduce(&mut self, event: CongestionEvent, held: Option<Bytes>, plus: Bytes) {
        let congestion = &mut self.congestion;
        let governs = self.congestion_traits.governs_recovery;
        if let Some(held) = held.filter(|_| !governs) {
            // A window that congestion control itself has lowered meanwhile (LEDBAT++ in a slowdown) stays low.
            congestion.on_restore(held.min(congestion.cwnd()), congestion.ssthresh());
        }
        // Rate-based pacing may have more in flight than the window: half of that would be no reduction.
        let flight =
            if self.pacer.is_rate_based() { event.flight.min(congestion.cwnd()) } else { event.flight };
        let event = &CongestionEvent { cwnd: congestion.cwnd(), flight, ..event };
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

    /// Continues from `cwnd` in slow start up to the present window. The threshold has whole segments as usual: else
    /// slow start, which grows by segments, would pass a fraction at each gap that closes.
    fn slow_start_from(&mut self, cwnd: Bytes) {
        let (present, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let back_to = self.smss * present.whole(self.smss);
        self.congestion.on_restore(cwnd.min(present), back_to.max(ssthresh));
    }

    /// Time at which a retransmission timer expires that is started at `start`.
    #[inline]
    fn rto_from(&self, start: Instant) -> Instant {
        self.rto.runs_out_at(start)
    }

    /// Time at which the retransmission timer expires after an ACK of new data; `None` with nothing outstanding.
    fn rto_deadline(&self, now: Instant) -> Option<Instant> {
        let timed = self.rto.counts_from_oldest() && self.is_open();
        if timed { self.rto_from_oldest(now) } else { self.board.front().map(|_| self.rto_from(now)) }
    }

    /// Time at which the retransmission timer expires by its own rule, whether or not a loss is being repaired.
    fn rto_from_oldest(&self, now: Instant) -> Option<Instant> {
        let oldest = self.board.front()?;
        let start = if self.rto.counts_from_oldest() { oldest.last_sent } else { now };
        // A deadline that has passed already expires at once, but not in the past.
        Some(self.rto_from(start).max(now))
    }

    /// RFC 6298 §5.2 and §5.3. With nothing outstanding there is no `deadline`, and the timer stops.
    fn start_retransmission_timer(&mut self, deadline: Option<Instant>, timers: &mut Timers) {
        match deadline {
            None => timers.clear(Timer::Retransmission),
            Some(deadline) if self.persist.is_idle() => self.set_retransmission_timer(deadline, timers),
            Some(_) => {}
        }
    }

    /// Sets the retransmission timer, unless the recovery has timers of its own.
    fn set_retransmission_timer(&mut self, at: Instant, timers: &mut Timers) {
        if !self.has_own_timer {
            self.tail_probe.disarm();
            timers.set(Timer::Retransmission, at);
        }
    }

    /// The sender's phase, as tables name it.
    pub(crate) fn phase(&self) -> &'static str {
        match self.recovery.state() {
            RecoveryState::FastRecovery { .. } => "fast_recovery",
            RecoveryState::AfterTimeout { .. } => "after_timeout",
            RecoveryState::Open if self.congestion.in_slow_start() => "slow_start",
            RecoveryState::Open => "congestion_avoidance",
        }
    }

    /// The round-trip estimate, once there is a sample.
    pub(crate) const fn estimate(&self) -> Option<Estimate> {
        self.rto.estimate()
    }

    /// The smoothed round-trip time, once there is a sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.rto.srtt()
    }
}
