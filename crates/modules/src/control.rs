//! A congestion control that is a module of Linux.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::sync::Arc;

use tcp::congestion::{
    AckSample, CongestionControl, CongestionEvent, DeliverySample, LossPhase, LostSegment, Pace, PathModel,
    SendEvent, Traits,
};
use units::{Bytes, Duration, Rate};

use crate::interface::{Answer, Event, INFINITE_SSTHRESH, Kind, PRIVATE, Phase};
use crate::library::Library;
use crate::mistakes::Mistakes;

/// The module's side of one connection.
#[derive(Debug)]
pub struct ModuleControl {
    library: Arc<Library>,
    mistakes: Arc<Mistakes>,
    traits: Traits,
    connection: Connection,
    answer: Answer,
    smss: Bytes,
    seed: u64,
    /// The last of the segments of new data that were sent since the last event, and are reported with the next.
    sent: Option<SendEvent>,
    /// Set after a mistake: the windows stay as they are until the run ends.
    failed: bool,
}

/// The memory of a `struct lasthop_connection`.
#[derive(Debug)]
struct Connection {
    memory: *mut c_void,
    layout: Layout,
}

// SAFETY: the memory belongs to the connection alone, and calls of a plug-in come one after another.
unsafe impl Send for Connection {}

impl Connection {
    fn new(size: usize) -> Self {
        let layout = Layout::from_size_align(size.max(1), 16).expect("a connection is small");
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Self { memory: memory.cast(), layout }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.cast(), self.layout) };
    }
}

impl ModuleControl {
    /// A congestion control for one connection, whose mistakes go to `mistakes`.
    #[must_use]
    pub fn new(library: &Arc<Library>, mistakes: &Arc<Mistakes>) -> Self {
        let governs = library.has_cong_control();
        let traits = Traits {
            observes_sends: true,
            observes_deliveries: true,
            governs_recovery: governs,
            paces: governs,
            // What a stranger's algorithm does to its neighbours is for the user to judge.
            unequal_shares: true,
            ..Traits::default()
        };
        // SAFETY: it returns a number.
        let connection = Connection::new(unsafe { (library.calls.connection_size)() });
        let answer =
            Answer { cwnd: 1, ssthresh: INFINITE_SSTHRESH, pacing_rate: u64::MAX, ..Answer::default() };
        let (library, mistakes) = (Arc::clone(library), Arc::clone(mistakes));
        let (smss, seed, sent, failed) = (Bytes(1), 0, None, false);
        Self { library, mistakes, traits, connection, answer, smss, seed, sent, failed }
    }

    fn call(&mut self, event: &Event) {
        if let Some(sent) = self.sent.take() {
            let (flight, at, rto) = (sent.flight.0, sent.now.as_nanos(), signed(Some(sent.rto)));
            self.pass(&Event { sent_flight: flight, sent_at: at, rto, ..*event });
        } else {
            self.pass(event);
        }
    }

    fn pass(&mut self, event: &Event) {
        if self.failed {
            return;
        }
        if let Err(mistake) = self.library.call(self.connection.memory, event, &mut self.answer) {
            self.failed = true;
            self.mistakes.add(mistake);
        }
    }

    /// The bytes of the algorithm's own state, `icsk_ca_priv`.
    #[must_use]
    pub fn private(&self) -> [u8; PRIVATE] {
        let mut bytes = [0; PRIVATE];
        // SAFETY: the connection has this number of bytes of the module's own.
        unsafe {
            let begin = (self.library.calls.private)(self.connection.memory);
            std::ptr::copy_nonoverlapping(begin, bytes.as_mut_ptr(), PRIVATE);
        }
        bytes
    }
}

impl Drop for ModuleControl {
    fn drop(&mut self) {
        self.call(&Event { kind: Kind::Release, ..Event::default() });
    }
}

impl CongestionControl for ModuleControl {
    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        let seed = self.seed;
        self.call(&Event { size: smss.0, cwnd: initial_window.0, seed, ..Event::default() });
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh());
        self.smss = smss;
        let size = smss.0;
        self.call(&Event {
            kind: Kind::Restore,
            size,
            cwnd: cwnd.0,
            ssthresh: ssthresh.0,
            ..Event::default()
        });
    }

    fn traits(&self) -> Traits {
        self.traits
    }

    fn observe(&mut self, ack: &AckSample) {
        self.call(&Event { kind: Kind::Observe, ..Event::from(ack) });
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.call(&Event { kind: Kind::Ack, ..Event::from(ack) });
    }

    /// A segment of new data besides others changes what a module sees of the flight, and calls nothing: the next event
    /// reports the last one, as a call costs more than all that it does.
    fn on_sent(&mut self, sent: &SendEvent) {
        if !sent.retransmission && sent.flight != sent.len {
            self.sent = Some(*sent);
            return;
        }
        self.call(&Event {
            kind: Kind::Sent,
            now: sent.now.as_nanos(),
            size: sent.len.0,
            flight: sent.flight.0,
            rto: signed(Some(sent.rto)),
            retransmission: sent.retransmission,
            application_limited: sent.application_limited,
            ..Event::default()
        });
    }

    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.call(&Event { kind: Kind::Loss, now: event.now.as_nanos(), ..Event::default() });
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        let repeated = event.repeats_timeout();
        self.call(&Event { kind: Kind::Timeout, now: event.now.as_nanos(), repeated, ..Event::default() });
    }

    fn on_mark(&mut self, event: &CongestionEvent) {
        self.call(&Event { kind: Kind::Mark, now: event.now.as_nanos(), ..Event::default() });
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        // Recovery names the threshold, and a module may have set none.
        if window != Bytes::MAX {
            self.call(&Event { kind: Kind::Recovered, cwnd: window.0, ..Event::default() });
        }
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.call(&Event { kind: Kind::Restore, cwnd: cwnd.0, ssthresh: ssthresh.0, ..Event::default() });
    }

    fn variables(&self) -> Vec<(Arc<str>, f64)> {
        self.library.state().map(|state| state.read(&self.private())).unwrap_or_default()
    }

    fn cwnd(&self) -> Bytes {
        self.smss * u64::from(self.answer.cwnd.max(1))
    }

    fn ssthresh(&self) -> Bytes {
        match self.answer.ssthresh {
            INFINITE_SSTHRESH.. => Bytes::MAX,
            segments => self.smss * u64::from(segments),
        }
    }
}

impl PathModel for ModuleControl {
    fn on_handshake(&mut self, rtt: Duration) {
        self.call(&Event { kind: Kind::Handshake, rtt: signed(Some(rtt)), ..Event::default() });
    }

    fn on_delivery(&mut self, sample: &DeliverySample, _lost: &[LostSegment]) {
        let rate = sample.rate;
        self.call(&Event {
            kind: Kind::Delivery,
            phase: match sample.phase {
                LossPhase::Open => Phase::Open,
                LossPhase::FastRecovery => Phase::FastRecovery,
                LossPhase::AfterTimeout => Phase::AfterTimeout,
            },
            now: sample.now.as_nanos(),
            size: sample.newly_delivered.0,
            flight: sample.prior_in_flight.0,
            marked: sample.marked.0,
            rtt: signed(sample.rtt),
            newest_rtt: signed(sample.rtt),
            in_flight: sample.in_flight.0,
            prior_in_flight: sample.prior_in_flight.0,
            delivered: sample.delivered.0,
            lost: sample.lost.0,
            newly_lost: sample.newly_lost.0,
            has_rate: rate.is_some(),
            rate_delivered: rate.map_or(0, |rate| rate.delivered.0),
            rate_prior_delivered: rate.map_or(0, |rate| rate.prior_delivered.0),
            rate_interval: signed(rate.and_then(|rate| rate.interval)),
            rate_limited: rate.map_or(sample.application_limited, |rate| rate.application_limited),
            rate_retransmitted: rate.is_some_and(|rate| rate.retransmitted),
            maybe_delayed: sample.maybe_delayed,
            application_limited: sample.application_limited,
            ..Event::default()
        });
    }

    fn pace(&self) -> Pace {
        let rate = match self.answer.pacing_rate {
            u64::MAX => UNPACED,
            bytes => Rate::from_bits_per_sec(bytes.clamp(1, UNPACED.bits_per_sec() / 8) * 8),
        };
        Pace { rate, quantum: self.smss * u64::from(self.answer.quantum.max(1)) }
    }

    fn limits_itself(&self) -> bool {
        false
    }

    /// The name of `enum tcp_ca_state`.
    fn state(&self) -> &'static str {
        ["Open", "Disorder", "CWR", "Recovery", "Loss"]
            .get(self.answer.state as usize)
            .copied()
            .unwrap_or("?")
    }

    fn bandwidth(&self) -> Rate {
        // What a module measures is its own business; where it paces, by what it has measured.
        Some(self.pace().rate).filter(|rate| *rate != UNPACED).unwrap_or_default()
    }
}

impl From<&AckSample> for Event {
    fn from(ack: &AckSample) -> Self {
        Self {
            una: ack.number.0,
            nxt: ack.nxt.0,
            now: ack.now.as_nanos(),
            size: ack.acked.0,
            flight: ack.flight.0,
            marked: ack.marked.0,
            rtt: signed(ack.rtt),
            newest_rtt: signed(ack.newest_rtt),
            segments: ack.segments,
            has_one_way: ack.one_way.is_some(),
            one_way: ack.one_way.map_or(0, |delay| (delay.as_nanos() / NANOS_PER_TICK) as i32),
            ..Self::default()
        }
    }
}

/// A time for C, which is negative where there is none.
fn signed(time: Option<Duration>) -> i64 {
    time.map_or(-1, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

/// The tick of the clock of timestamps.
const NANOS_PER_TICK: i64 = 1_000_000;

/// The rate of a sender that does not pace: no link of ours is as fast.
const UNPACED: Rate = Rate::from_bits_per_sec(1_000_000_000_000);
