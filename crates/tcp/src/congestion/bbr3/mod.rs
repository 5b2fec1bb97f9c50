//! BBR, version 3 (draft-ietf-ccwg-bbr-06): as BBR, a model of bandwidth and round trip says how fast to send; unlike
//! the first version, losses bound rate and flight.
//!
//! A probe for bandwidth (PROBE_BW's UP) ends when it loses more than 2 %, and what was in flight then is the bound of
//! the long term; other losses lower bounds that last until the next probe. Probes come every two to three seconds, or
//! as often as Reno overflows a queue where that is more often, and PROBE_RTT halves the flight every five seconds.
//!
//! `model.rs` has the rates and the bounds, `startup.rs`, `probe_bw.rs` and `probe_rtt.rs` the states. The draft has
//! no rule for ECN: marks are not answered. Where it leaves a choice, or asks for what an endpoint does not know, see
//! `docs/spec/tcp.md`.

mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
mod state;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate};

use self::model::{Bounds, Model, carried, part, scaled};
use self::state::{Cycle, FullPipe, Phase, RoundTrip, State};
use super::draws::Draws;
use super::{
    AckSample, CongestionControl, CongestionEvent, DeliverySample, LossPhase, LostSegment, Pace, PathModel,
    SendEvent, Traits, is_cwnd_limited,
};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the defaults are the draft's.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The pacing gain of STARTUP: 2.77 (`BBR.StartupPacingGain`).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub startup_gain: f64,
    /// The window in bandwidth-delay products: 2 (`BBR.DefaultCwndGain`).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub cwnd_gain: f64,
    /// Minimum fraction of the window after a round trip with losses: 0.7 (`BBR.Beta`).
    #[schemars(range(min = 0.1, max = 0.99))]
    pub beta: f64,
    /// Lifetime of the shortest round trip: 10 s (`BBR.MinRTTFilterLen`).
    pub min_rtt_window: Duration,
    /// Interval between these measurements: 5 s (`BBR.ProbeRTTInterval`).
    pub probe_rtt_interval: Duration,
    /// Time for which the flight is then half a bandwidth-delay product: 200 ms (`BBR.ProbeRTTDuration`).
    pub probe_rtt: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            startup_gain: 2.77,
            cwnd_gain: 2.0,
            beta: 0.7,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt: Duration::from_millis(200),
        }
    }
}

#[derive(Debug)]
struct Bbr3 {
    parameters: Parameters,
    smss: Bytes,
    initial_window: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Rate,
    state: State,
    model: Model,
    cycle: Cycle,
    full_pipe: FullPipe,
    round_trip: RoundTrip,
    /// All data delivered when the last ACK was judged, and when that was.
    delivered: Bytes,
    now: Instant,
    /// Delivered data up to which the window counts as full.
    cwnd_limited_until: Bytes,
    /// ACKs of this round trip that reported losses.
    loss_events: u32,
    /// Losses were being repaired for the whole of the last loss round.
    recovering_at_round: bool,
    prior_cwnd: Bytes,
    prior_phase: LossPhase,
    undo: Undo,
    idle_restart: bool,
    draws: Draws,
}

/// State to restore after a spurious loss (§5.5.11).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    state: Option<State>,
    bounds: Bounds,
}

impl Bbr3 {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            smss: Bytes::ZERO,
            initial_window: Bytes::ZERO,
            cwnd: Bytes::ZERO,
            ssthresh: Bytes::MAX,
            pacing_rate: Rate::default(),
            state: State::Startup,
            model: Model::new(),
            cycle: Cycle::new(),
            full_pipe: FullPipe::default(),
            round_trip: RoundTrip::new(),
            delivered: Bytes::ZERO,
            now: Instant::START,
            cwnd_limited_until: Bytes::ZERO,
            loss_events: 0,
            recovering_at_round: false,
            prior_cwnd: Bytes::ZERO,
            prior_phase: LossPhase::Open,
            undo: Undo::default(),
            idle_restart: false,
            draws: Draws::of(0),
        }
    }

    /// The gains of pacing and of the window (§5.6.1).
    const fn gains(&self) -> (f64, f64) {
        let Parameters { startup_gain, cwnd_gain, .. } = self.parameters;
        match self.state {
            State::Startup => (startup_gain, cwnd_gain),
            State::Drain { .. } => (DRAIN_GAIN, cwnd_gain),
            State::ProbeBw(Phase::Down) => (DOWN_GAIN, cwnd_gain),
            State::ProbeBw(Phase::Cruise | Phase::Refill) => (1.0, cwnd_gain),
            State::ProbeBw(Phase::Up) => (UP_GAIN, cwnd_gain + UP_CWND_GAIN),
            State::ProbeRtt { .. } => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }

    /// `IsProbingBW`.
    const fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBw(Phase::Refill | Phase::Up))
    }

    /// `C.is_cwnd_limited`: the window was full within the last round trip.
    fn is_cwnd_limited(&self) -> bool {
        self.delivered < self.cwnd_limited_until
    }

    /// `SetSendQuantum`.
    fn quantum(&self) -> Bytes {
        carried(self.pacing_rate, Duration::from_millis(1)).min(LARGEST_QUANTUM).max(self.smss * 2)
    }

    /// `BDPMultiple`.
    fn bdp(&self, bandwidth: Rate, gain: f64) -> Bytes {
        self.round_trip.min.map_or(self.initial_window, |min_rtt| part(carried(bandwidth, min_rtt), gain))
    }

    /// `QuantizationBudget`.
    fn quantized(&self, inflight: Bytes) -> Bytes {
        let least = (self.quantum() * 3).max(self.least_window());
        let probes = self.state == State::ProbeBw(Phase::Up);
        inflight.max(least) + if probes { self.smss * 2 } else { Bytes::ZERO }
    }

    /// `Inflight`.
    fn inflight(&self, bandwidth: Rate, gain: f64) -> Bytes {
        self.quantized(self.bdp(bandwidth, gain))
    }

    /// `BBR.MinPipeCwnd` (§5.6.4.3).
    fn least_window(&self) -> Bytes {
        self.smss * 4
    }

    /// `UpdateCongestionSignals`.
    fn update_congestion_signals(&mut self, sample: &DeliverySample) {
        if self.model.update_max_bw(sample) {
            self.cycle.rounds_since_probe_up += 1;
        }
        if self.model.loss_round_start {
            if self.model.is_loss_in_round && !self.is_probing_bw() {
                self.model.adapt_lower_bounds(self.cwnd, self.parameters.beta);
            }
            self.model.is_loss_in_round = false;
        }
    }

    /// `SetPacingRateWithGain`.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = scaled(self.model.bw, gain * (1.0 - PACING_MARGIN));
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `InitPacingRate`.
    fn init_pacing_rate(&mut self, rtt: Duration) {
        let bits_per_sec = self.initial_window.0 as f64 * 8.0 / rtt.as_secs_f64().max(1e-6);
        let nominal = Rate::from_bits_per_sec(bits_per_sec as u64);
        self.pacing_rate = scaled(nominal, self.parameters.startup_gain);
    }

    /// `SetCwnd`.
    fn set_cwnd(&mut self, sample: &DeliverySample, gain: f64) {
        let acked = sample.newly_delivered;
        let most = self.quantized(self.bdp(self.model.bw, gain) + self.model.extra_acked());
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(most);
        } else if self.cwnd < most || sample.delivered < self.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if matches!(self.state, State::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// `BoundCwndForModel`.
    fn bound_cwnd(&mut self) {
        let longterm = match self.state {
            State::ProbeBw(Phase::Cruise) | State::ProbeRtt { .. } => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.model.bounds.inflight_longterm,
            State::Startup | State::Drain { .. } => None,
        };
        for cap in [longterm, self.model.bounds.inflight_shortterm].into_iter().flatten() {
            self.cwnd = self.cwnd.min(cap.max(self.least_window()));
        }
    }

    /// `SaveStateUponLoss`.
    fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo { state: None, bounds: self.model.bounds };
    }

    /// `SaveCwnd`.
    fn save_cwnd(&mut self) {
        let untouched = self.prior_phase == LossPhase::Open && !matches!(self.state, State::ProbeRtt { .. });
        self.prior_cwnd = if untouched { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// `RestoreCwnd`.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// State of the sender: the reduction for a recovery is undone at its end (§5.6.4.4).
    fn follow_phase(&mut self, phase: LossPhase) {
        if self.prior_phase != LossPhase::Open && phase == LossPhase::Open {
            self.restore_cwnd();
        }
        self.prior_phase = phase;
    }
}

impl Bbr3 {
    /// `HandleLostPacket` (§5.5.10.2).
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        if self.model.note_loss(self.delivered) {
            self.save_state();
        }
        self.on_lost(lost.size, lost.in_flight, lost.lost, lost.application_limited, self.now);
    }
}

impl CongestionControl for Bbr3 {
    /// `OnInit`.
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        (self.smss, self.initial_window, self.cwnd) = (smss, initial_window, initial_window);
        self.init_pacing_rate(NOMINAL_RTT);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.smss = smss;
    }

    fn seed(&mut self, seed: u64) {
        self.draws = Draws::of(seed);
    }

    fn traits(&self) -> Traits {
        Traits {
            observes_sends: true,
            observes_deliveries: true,
            governs_recovery: true,
            paces: true,
            ..Traits::default()
        }
    }

    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    /// `HandleRestartFromIdle` (§5.4.1).
    fn on_sent(&mut self, sent: &SendEvent) {
        if sent.flight != sent.len || sent.retransmission {
            return;
        }
        self.idle_restart = true;
        self.model.restart_extra_acked(sent.now);
        match self.state {
            State::ProbeBw(_) => self.set_pacing_rate(1.0),
            State::ProbeRtt { .. } => self.check_probe_rtt_done(sent.now),
            State::Startup | State::Drain { .. } => {}
        }
    }

    /// `OnEnterFastRecovery`: losses are reported segment by segment.
    fn on_loss(&mut self, _event: &CongestionEvent) {
        self.save_state();
    }

    /// `OnEnterRTO`: nothing counts as in flight then, and a segment may be sent.
    fn on_timeout(&mut self, _event: &CongestionEvent) {
        self.save_state();
        (self.cwnd, self.prior_phase) = (self.smss, LossPhase::AfterTimeout);
    }

    /// The draft has no rule for marks.
    fn on_mark(&mut self, _event: &CongestionEvent) {}

    fn on_recovery_exit(&mut self, _window: Bytes) {}

    /// `HandleSpuriousLossDetection` (§5.5.11.2), and whatever else sets windows.
    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        self.model.is_loss_in_round = false;
        self.full_pipe.reset(Rate::default());
        self.model.bounds = self.model.bounds.or_looser(&self.undo.bounds);
        let probes_rtt = matches!(self.state, State::ProbeRtt { .. });
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                self.state = if probes_rtt { self.state } else { State::Startup };
            }
            Some(before @ State::ProbeBw(Phase::Up)) if self.state != before && !probes_rtt => {
                self.start_refill();
            }
            _ => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.state == State::Startup
    }
}

impl PathModel for Bbr3 {
    fn on_handshake(&mut self, rtt: Duration) {
        self.round_trip.min = Some(rtt);
        self.init_pacing_rate(rtt);
    }

    /// `UpdateOnACK` (§5.2.3).
    fn on_delivery(&mut self, sample: &DeliverySample, lost: &[LostSegment]) {
        lost.iter().for_each(|lost| self.on_segment_lost(lost));
        if self.round_trip.min_at == Instant::START {
            (self.round_trip.min_at, self.round_trip.probe_rtt_min_at) = (sample.now, sample.now);
        }
        (self.delivered, self.now) = (sample.delivered, sample.now);
        if is_cwnd_limited(self.cwnd, sample.prior_in_flight, self.smss) {
            self.cwnd_limited_until = sample.delivered + sample.prior_in_flight;
        }
        self.follow_phase(sample.phase);
        self.model.update_latest(sample);
        self.update_congestion_signals(sample);
        let rounds = if self.full_pipe.reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.model.update_extra_acked(sample, self.cwnd, rounds);
        self.check_full_pipe(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample);
        self.update_cycle(sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample);
        self.model.advance_latest(sample);
        self.model.bound_bw();
        let (pacing, window) = self.gains();
        self.set_pacing_rate(pacing);
        self.set_cwnd(sample, window);
    }

    fn pace(&self) -> Pace {
        Pace { rate: self.pacing_rate, quantum: self.quantum() }
    }

    fn limits_itself(&self) -> bool {
        matches!(self.state, State::ProbeRtt { .. })
    }

    fn state(&self) -> &'static str {
        match self.state {
            State::Startup => "startup",
            State::Drain { .. } => "drain",
            State::ProbeBw(Phase::Down) => "probe_bw_down",
            State::ProbeBw(Phase::Cruise) => "probe_bw_cruise",
            State::ProbeBw(Phase::Refill) => "probe_bw_refill",
            State::ProbeBw(Phase::Up) => "probe_bw_up",
            State::ProbeRtt { .. } => "probe_rtt",
        }
    }

    fn bandwidth(&self) -> Rate {
        self.model.max_bw()
    }
}

/// `BBR.DrainPacingGain` (§5.3.2).
const DRAIN_GAIN: f64 = 0.5;
/// The pacing gains of DOWN and UP (§5.3.3.1, §5.3.3.5).
const DOWN_GAIN: f64 = 0.90;
const UP_GAIN: f64 = 1.25;
/// Increase of the window gain in UP: 2.25 instead of 2 (§5.3.3.5).
const UP_CWND_GAIN: f64 = 0.25;
/// `BBR.ProbeRTTCwndGain` (§5.3.4.1).
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// §5.3.1.2: three rounds that bring less than a quarter more.
const FULL_PIPE_ROUNDS: u32 = 3;
const FULL_PIPE_GROWTH: f64 = 1.25;
/// `BBRStartupFullLossCnt` (§5.3.1.3).
const STARTUP_LOSSES: u32 = 6;
/// §5.3.2: DRAIN lasts at most three round trips.
const LONGEST_DRAIN_ROUNDS: u64 = 3;
/// `BBR.ExtraAckedFilterLen`.
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// `BBR.PacingMarginPercent` (§5.6.2).
const PACING_MARGIN: f64 = 0.01;
/// `InitPacingRate`: before a round trip is known.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// `SetSendQuantum`: 64 KBytes.
const LARGEST_QUANTUM: Bytes = Bytes(65_536);

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { startup_gain, cwnd_gain, beta, .. } = *self;
        if !((1.0..=10.0).contains(&startup_gain) && (1.0..=10.0).contains(&cwnd_gain)) {
            let wrong = format!("startup_gain is {startup_gain}, cwnd_gain {cwnd_gain}");
            return Err(refusal(wrong, "from 1 to 10; the draft has 2.77 and 2"));
        }
        if !(0.1..=0.99).contains(&beta) {
            return Err(refusal(format!("beta is {beta}"), "from 0.1 to 0.99; the draft has 0.7"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "bbr3",
    "BBR version 3: a model of bandwidth and round trip, bounded by losses",
    "draft-ietf-ccwg-bbr-06",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Bbr3::new(parameters.clone()))),
);

#[cfg(test)]
mod tests;
