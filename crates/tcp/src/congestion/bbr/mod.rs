//! BBR, version 1, as in Linux (Cardwell et al. 2016; `tcp_bbr.c`): a model of the path, made of the largest
//! delivery rate and the shortest round trip of late, says how fast to send and how much may be in flight. Losses do
//! not.
//!
//! Sending at more than the bandwidth for a round trip shows whether there is more, sending at less drains the queue
//! that this has made (PROBE_BW); every ten seconds the flight shrinks to four segments so that the round trip shows
//! without a queue (PROBE_RTT). `probe_bw.rs` and `probe_rtt.rs` have these two, `window.rs` the congestion window,
//! `full_pipe.rs` the end of STARTUP; `long_term.rs` recognises a policer, and `aggregation.rs` measures bunches of
//! ACKs.

mod aggregation;
mod full_pipe;
mod long_term;
mod probe_bw;
mod probe_rtt;
mod window;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate};

use aggregation::Aggregation;
use full_pipe::FullPipe;
use long_term::LongTerm;

use super::{
    AckSample, CongestionControl, CongestionEvent, DeliverySample, LossPhase, LostSegment, Pace, PathModel,
    RateSample, SendEvent, Traits, quantum,
};
use crate::windowed_max::WindowedMax;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the defaults are Linux'.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The pacing gain of STARTUP, and the window gain of STARTUP and DRAIN: 2.885, 2/ln 2 (`bbr_high_gain`).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub high_gain: f64,
    /// The window in PROBE_BW, in bandwidth-delay products: 2 (`bbr_cwnd_gain`).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub cwnd_gain: f64,
    /// Lifetime of the shortest round trip: 10 s (`bbr_min_rtt_win_sec`).
    pub min_rtt_window: Duration,
    /// Time for which the flight is four segments in PROBE_RTT: 200 ms (`bbr_probe_rtt_mode_ms`).
    pub probe_rtt: Duration,
    /// Whether to detect a policer (`bbr_lt_bw_sampling`).
    pub policer: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            high_gain: 2.885,
            cwnd_gain: 2.0,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt: Duration::from_millis(200),
            policer: true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    /// A phase of the gain cycle, and when it began.
    ProbeBw {
        phase: usize,
        began: Instant,
    },
    /// Until when the flight stays at its least, once it is, and whether a round trip has passed.
    ProbeRtt {
        until: Option<Instant>,
        round_done: bool,
    },
}

#[derive(Debug)]
struct Bbr {
    parameters: Parameters,
    smss: Bytes,
    initial_window: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Rate,
    mode: Mode,
    max_bw: WindowedMax<Rate>,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    rounds: u64,
    /// All data that were delivered when the present round began.
    round_ends: Bytes,
    round_start: bool,
    full_pipe: FullPipe,
    long_term: LongTerm,
    aggregation: Aggregation,
    /// The window before recovery or PROBE_RTT has cut it.
    prior_cwnd: Bytes,
    prior_phase: LossPhase,
    packet_conservation: bool,
    idle_restart: bool,
    /// Time at which the next segment may leave by the pacing rate.
    next_departure: Instant,
    /// The state of the generator that mixes the phases of flows.
    draw: u64,
}

impl Bbr {
    fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            smss: Bytes::ZERO,
            initial_window: Bytes::ZERO,
            cwnd: Bytes::ZERO,
            ssthresh: Bytes::MAX,
            pacing_rate: Rate::default(),
            mode: Mode::Startup,
            max_bw: WindowedMax::EMPTY,
            min_rtt: None,
            min_rtt_at: Instant::START,
            rounds: 0,
            round_ends: Bytes::ZERO,
            round_start: false,
            full_pipe: FullPipe::default(),
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
            prior_cwnd: Bytes::ZERO,
            prior_phase: LossPhase::Open,
            packet_conservation: false,
            idle_restart: false,
            next_departure: Instant::START,
            draw: 0,
        }
    }

    fn max_bw(&self) -> Rate {
        self.max_bw.get().unwrap_or_default()
    }

    /// The bandwidth of the model: the policer's, where one was found (`bbr_bw`).
    fn bandwidth(&self) -> Rate {
        self.long_term.policed().unwrap_or_else(|| self.max_bw())
    }

    /// The present gains of pacing and of the window (`bbr_update_gains`).
    fn gains(&self) -> (f64, f64) {
        let Parameters { high_gain, cwnd_gain, .. } = self.parameters;
        match self.mode {
            Mode::Startup => (high_gain, high_gain),
            Mode::Drain => (1.0 / high_gain, high_gain),
            Mode::ProbeBw { .. } if self.long_term.policed().is_some() => (1.0, cwnd_gain),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], cwnd_gain),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    /// Data that leave at once (`bbr_tso_segs_goal`).
    fn quantum(&self) -> Bytes {
        let least = if self.pacing_rate < LEAST_OFFLOAD_RATE { 1 } else { 2 };
        let quantum = quantum(self.pacing_rate, self.smss * least);
        self.smss * quantum.whole(self.smss).clamp(least, MOST_OFFLOADED)
    }

    /// A multiple of the bandwidth-delay product, in whole segments (`bbr_bdp`).
    fn bdp(&self, bandwidth: Rate, gain: f64) -> Bytes {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window };
        let bytes = bandwidth.bits_per_sec() as f64 / 8.0 * min_rtt.as_secs_f64() * gain;
        self.smss * (bytes / self.smss.0 as f64).ceil() as u64
    }

    /// Adds what lies in the hosts, and makes the window an even number of segments (`bbr_quantization_budget`).
    fn quantized(&self, window: Bytes) -> Bytes {
        let segments = (window + self.quantum() * 3).whole(self.smss).next_multiple_of(2);
        let probes = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        self.smss * (segments + if probes { 2 } else { 0 })
    }

    /// Target of the data in flight (`bbr_inflight`).
    fn inflight(&self, bandwidth: Rate, gain: f64) -> Bytes {
        self.quantized(self.bdp(bandwidth, gain))
    }

    /// Amount in the network at the time when the next segment may leave (`bbr_packets_in_net_at_edt`).
    fn in_network_at_departure(&self, now: Instant, in_flight: Bytes) -> Bytes {
        let wait = self.next_departure.saturating_since(now).as_secs_f64();
        let delivered = Bytes((self.bandwidth().bits_per_sec() as f64 / 8.0 * wait) as u64);
        let departing = if self.gains().0 > 1.0 { self.quantum() } else { Bytes::ZERO };
        (in_flight + departing).saturating_sub(delivered)
    }

    /// `bbr_update_bw`.
    fn update_bandwidth(&mut self, sample: &DeliverySample) {
        self.round_start = false;
        let Some(rate) = sample.rate else { return };
        let Some(bandwidth) = bandwidth_of(&rate) else { return };
        if rate.prior_delivered >= self.round_ends {
            self.round_ends = sample.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(sample, rate.application_limited, !sample.newly_lost.is_zero());
        if !rate.application_limited || bandwidth >= self.max_bw() {
            self.max_bw.update(BANDWIDTH_ROUNDS, self.rounds, bandwidth);
        }
    }

    fn sample_long_term(&mut self, sample: &DeliverySample, application_limited: bool, lossy: bool) {
        if !self.parameters.policer {
            return;
        }
        let probes = matches!(self.mode, Mode::ProbeBw { .. });
        let event = long_term::Sample {
            now: sample.now,
            delivered: sample.delivered,
            lost: sample.lost,
            application_limited,
            lossy,
            round_start: self.round_start,
            probes,
        };
        if self.long_term.on_sample(&event) {
            self.start_probe_bw(sample.now);
        }
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full_pipe(&mut self, sample: &DeliverySample) {
        let limited = sample.rate.is_some_and(|rate| rate.application_limited);
        if self.round_start && !limited {
            self.full_pipe.on_round(self.max_bw());
        }
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, sample: &DeliverySample) {
        if self.mode == Mode::Startup && self.full_pipe.is_reached() {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(self.max_bw(), 1.0);
        }
        let in_network = self.in_network_at_departure(sample.now, sample.in_flight);
        if self.mode == Mode::Drain && in_network <= self.inflight(self.max_bw(), 1.0) {
            self.start_probe_bw(sample.now);
        }
    }

    /// `bbr_set_pacing_rate`: 1 % below the bandwidth, so that queues shrink.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = scaled(self.bandwidth(), gain * (1.0 - PACING_MARGIN));
        if self.full_pipe.is_reached() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_init_pacing_rate_from_rtt`.
    fn init_pacing_rate(&mut self, rtt: Duration) {
        let bits_per_sec = self.cwnd.0 as f64 * 8.0 / rtt.as_secs_f64().max(1e-6);
        let rate = Rate::from_bits_per_sec(bits_per_sec as u64);
        self.pacing_rate = scaled(rate, self.parameters.high_gain * (1.0 - PACING_MARGIN));
    }
}

impl CongestionControl for Bbr {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        (self.smss, self.initial_window, self.cwnd) = (smss, initial_window, initial_window);
        self.init_pacing_rate(NOMINAL_RTT);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.smss = smss;
    }

    fn seed(&mut self, seed: u64) {
        self.draw = seed;
    }

    /// It does not see to it: a flow that has measured more than its share keeps it while what it sends pushes others
    /// back, and random losses, to which it does not answer, bring no order (Hock et al. 2017, section V-B).
    fn traits(&self) -> Traits {
        Traits {
            unequal_shares: true,
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

    /// `bbr_cwnd_event`, and the pacer's clock.
    fn on_sent(&mut self, sent: &SendEvent) {
        let gap = self.pacing_rate.time_for(sent.len);
        self.next_departure = self.next_departure.max(sent.now) + gap;
        if sent.flight != sent.len || sent.retransmission {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(sent.now);
        match self.mode {
            Mode::ProbeBw { .. } => self.set_pacing_rate(1.0),
            Mode::ProbeRtt { .. } => self.check_probe_rtt_done(sent.now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// The window changes with the ACK that reports the loss: see `recovers_or_restores`.
    fn on_loss(&mut self, _event: &CongestionEvent) {
        self.save_cwnd();
    }

    /// `tcp_enter_loss`, `bbr_set_state`: a timeout ends a round, and the bandwidth is looked for anew.
    fn on_timeout(&mut self, _event: &CongestionEvent) {
        self.save_cwnd();
        self.cwnd = self.smss;
        self.prior_phase = LossPhase::AfterTimeout;
        self.full_pipe.forget_bandwidth();
        self.round_start = true;
    }

    /// It does not answer marks.
    fn on_mark(&mut self, _event: &CongestionEvent) {}

    fn on_recovery_exit(&mut self, _window: Bytes) {}

    /// `bbr_undo_cwnd`.
    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        self.full_pipe.begin_again();
        self.long_term = LongTerm::default();
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.mode == Mode::Startup
    }
}

impl PathModel for Bbr {
    fn on_handshake(&mut self, rtt: Duration) {
        self.min_rtt = Some(rtt);
        self.init_pacing_rate(rtt);
    }

    /// `bbr_main`.
    fn on_delivery(&mut self, sample: &DeliverySample, _lost: &[LostSegment]) {
        if self.min_rtt_at == Instant::START {
            self.min_rtt_at = sample.now;
        }
        self.update_bandwidth(sample);
        if sample.rate.is_some_and(|rate| bandwidth_of(&rate).is_some()) {
            self.aggregation.on_ack(sample, self.bandwidth(), self.cwnd, self.round_start);
        }
        self.update_cycle(sample);
        self.check_full_pipe(sample);
        self.check_drain(sample);
        self.update_min_rtt(sample);
        let (pacing, window) = self.gains();
        self.set_pacing_rate(pacing);
        self.set_cwnd(sample, window);
    }

    fn pace(&self) -> Pace {
        Pace { rate: self.pacing_rate, quantum: self.quantum() }
    }

    fn limits_itself(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    fn state(&self) -> &'static str {
        match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw { .. } => "probe_bw",
            Mode::ProbeRtt { .. } => "probe_rtt",
        }
    }

    fn bandwidth(&self) -> Rate {
        Self::bandwidth(self)
    }
}

/// The rate of a sample that has one.
fn bandwidth_of(rate: &RateSample) -> Option<Rate> {
    Some(Rate::from_bits_per_sec((rate.bytes_per_sec()? * 8.0) as u64))
}

fn scaled(rate: Rate, by: f64) -> Rate {
    Rate::from_bits_per_sec((rate.bits_per_sec() as f64 * by) as u64)
}

/// `bbr_pacing_gain`.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// `bbr_bw_rtts`: the window of the bandwidth filter, in rounds.
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// `bbr_pacing_margin_percent`.
const PACING_MARGIN: f64 = 0.01;
/// `bbr_init_pacing_rate_from_rtt`: before a round trip is known.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// `bbr_min_tso_rate`.
const LEAST_OFFLOAD_RATE: Rate = Rate::from_bits_per_sec(1_200_000);
/// `bbr_tso_segs_goal`.
const MOST_OFFLOADED: u64 = 0x7f;

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { high_gain, cwnd_gain, .. } = *self;
        if !((1.0..=10.0).contains(&high_gain) && (1.0..=10.0).contains(&cwnd_gain)) {
            let wrong = format!("high_gain is {high_gain}, cwnd_gain {cwnd_gain}");
            return Err(refusal(wrong, "from 1 to 10; Linux has 2.885 and 2"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "bbr",
    "BBR version 1: sends by a model of bandwidth and round trip, and ignores losses",
    "Cardwell et al. 2016; Linux tcp_bbr.c",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Bbr::new(parameters.clone()))),
);

#[cfg(test)]
mod tests;
