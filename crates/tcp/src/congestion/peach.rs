//! TCP Peach (Akyildiz, Morabito and Palazzo 2001): probes of the path by dummy segments of low priority, which carry
//! no new data, and which routers drop before all others.
//!
//! **Sudden Start** takes the place of slow start: one segment of data, and a dummy for each other segment of the
//! offered window, spread over a round trip. Each dummy that arrives shows room for a segment, and opens the window by
//! one. **Rapid Recovery** goes with fast recovery: the window is halved, and as many dummies as it had segments
//! follow. The first half of their ACKs are what a congested path would let through anyway, and do not count; each
//! other one opens the window by a segment. A loss by an error of the link, which left the path as empty as before, is
//! made up for within two round trips. In between the window grows by one segment in each round trip.
//!
//! Both ends have to know dummies, which one of the reserved bits of the header marks on segment and ACK; they announce
//! that on their SYNs. Without, this is the standard congestion control. Dummies and their ACKs have the lowest traffic
//! class (0), so that a flow needs a higher one, and the queue priorities, as of `priority`.
//!
//! What the paper leaves open or what is different here: it sends two dummies for each ACK in Rapid Recovery, here they
//! are spread over a round trip like those of Sudden Start; a SYN offers at most 64 KiB, and `segments` sets the number
//! where the path needs more; the repair is that of the profile's recovery. After a timeout Sudden Start begins again.
//! The paper was not available as a text: this follows its two algorithms as later papers quote them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Segments;
use units::{Bytes, Duration, Instant};

use super::window::{Alpha, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, Traits};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of segments of Sudden Start: `rwnd` of the paper. Absent: the window that the peer offers when the
    /// handshake is done.
    pub segments: Option<Segments>,
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        match self.segments {
            Some(Segments(0 | 1)) => {
                Err(refusal("segments leaves none for a dummy", "\"2 segments\" or more"))
            }
            _ => Ok(()),
        }
    }
}

/// Dummies that are still to be sent, evenly.
#[derive(Clone, Copy, Debug)]
struct Dummies {
    left: u64,
    next: Instant,
    gap: Duration,
    /// One leaves now.
    due: bool,
}

impl Dummies {
    const NONE: Self = Self { left: 0, next: Instant::START, gap: Duration::ZERO, due: false };

    /// `count` of them over `time`, the first after one gap.
    fn over(count: u64, time: Duration, now: Instant) -> Self {
        let gap = time / count.max(1);
        Self { left: count, next: now + gap, gap, due: false }
    }
}

#[derive(Debug)]
struct Peach {
    parameters: Parameters,
    window: Window,
    /// Both ends know dummies.
    active: bool,
    srtt: Option<Duration>,
    /// Segments of Sudden Start.
    advertised: u64,
    dummies: Dummies,
    /// ACKs of dummies that do not count: `wdsn` of the paper.
    uncounted: u64,
}

impl Peach {
    const fn new(parameters: Parameters) -> Self {
        let (window, dummies) = (Window::UNSET, Dummies::NONE);
        Self { parameters, window, active: false, srtt: None, advertised: 0, dummies, uncounted: 0 }
    }

    fn sudden_start(&mut self, now: Instant) {
        if let Some(srtt) = self.srtt.filter(|_| self.active) {
            // The segment of data takes the first place.
            let dummies = Dummies::over(self.advertised, srtt, now);
            self.dummies = Dummies { left: self.advertised.saturating_sub(1), ..dummies };
            self.uncounted = 0;
        }
    }

    fn rapid_recovery(&mut self, event: &CongestionEvent) {
        if let Some(srtt) = self.srtt.filter(|_| self.active) {
            let before = event.cwnd.whole(self.window.smss);
            self.dummies = Dummies::over(before, srtt, event.now);
            self.uncounted = before / 2;
        }
    }

    fn reduce_ssthresh(&mut self, event: &CongestionEvent) {
        self.window.reduce_ssthresh(event.in_use() / 2, SsthreshUnit::default());
    }
}

impl CongestionControl for Peach {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn traits(&self) -> Traits {
        // What dummies find depends on when a flow begins.
        Traits { keeps_timer: true, sends_dummies: true, unequal_shares: true, ..Traits::default() }
    }

    fn start_dummies(&mut self, now: Instant, rtt: Option<Duration>, advertised: Bytes) {
        let Some(rtt) = rtt else { return };
        let offered = advertised.whole(self.window.smss);
        (self.active, self.srtt) = (true, Some(rtt));
        self.advertised = self.parameters.segments.map_or(offered, |segments| segments.0);
        self.window.set_cwnd(self.window.smss);
        self.sudden_start(now);
    }

    fn take_dummy(&mut self) -> bool {
        std::mem::take(&mut self.dummies.due)
    }

    fn on_dummy_acked(&mut self) {
        if self.uncounted > 0 {
            self.uncounted -= 1;
        } else {
            self.window.open(self.window.smss);
        }
    }

    fn observe(&mut self, ack: &AckSample) {
        self.srtt = ack.rtt.or(self.srtt);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if self.in_slow_start() {
            self.window.open(ack.acked.min(self.window.smss));
        } else {
            self.window.open_by_part(self.window.smss, Alpha::ONE);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        (self.dummies.left > 0).then_some(self.dummies.next)
    }

    fn on_deadline(&mut self, now: Instant) {
        let dummies = &mut self.dummies;
        if dummies.left > 0 && now >= dummies.next {
            dummies.left -= 1;
            dummies.due = true;
            dummies.next = now + dummies.gap;
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.reduce_ssthresh(event);
        self.window.reduce_to_ssthresh();
        self.rapid_recovery(event);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeats_timeout() {
            self.reduce_ssthresh(event);
        }
        self.window.set_cwnd(self.window.smss);
        self.sudden_start(event.now);
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.window.set_cwnd(window);
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
    }

    /// Sudden Start takes its place.
    fn in_slow_start(&self) -> bool {
        !self.active && self.window.is_below_ssthresh()
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::checked(
    "peach",
    "TCP Peach: dummy segments of low priority probe for room at the start and after a loss",
    "Akyildiz, Morabito and Palazzo 2001",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Peach::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::CongestionSignal;

    const SMSS: Bytes = Bytes(1000);

    fn started(segments: u64) -> Peach {
        let mut peach = Peach::new(Parameters { segments: Some(Segments(segments)) });
        peach.start(SMSS, SMSS * 4);
        peach.start_dummies(Instant::START, Some(Duration::from_millis(100)), Bytes(65_535));
        peach
    }

    /// The milliseconds at which dummies leave.
    fn departures(peach: &mut Peach) -> Vec<u64> {
        std::iter::from_fn(|| {
            let at = peach.deadline()?;
            peach.on_deadline(at);
            assert!(peach.take_dummy() && !peach.take_dummy());
            Some((at - Instant::START).as_nanos() / 1_000_000)
        })
        .collect()
    }

    #[test]
    fn sudden_start_spreads_a_window_over_a_round_trip_and_each_answer_opens_it() {
        let mut peach = started(5);
        assert_eq!(peach.cwnd(), SMSS);
        assert_eq!(departures(&mut peach), [20, 40, 60, 80]);
        peach.on_dummy_acked();
        peach.on_dummy_acked();
        assert_eq!(peach.cwnd(), SMSS * 3);
    }

    #[test]
    fn rapid_recovery_gives_back_what_the_path_has_room_for() {
        let mut peach = started(2);
        departures(&mut peach);
        peach.on_restore(SMSS * 8, Bytes::MAX);
        let (cwnd, flight, pipe) = (SMSS * 8, SMSS * 8, SMSS * 8);
        let signal = CongestionSignal::Loss;
        peach.on_loss(&CongestionEvent { now: Instant::START, signal, cwnd, flight, pipe });
        assert_eq!((peach.cwnd(), departures(&mut peach).len()), (SMSS * 4, 8));
        let windows: Vec<u64> = (0..8)
            .map(|_| {
                peach.on_dummy_acked();
                peach.cwnd().whole(SMSS)
            })
            .collect();
        assert_eq!(windows, [4, 4, 4, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn without_a_peer_that_knows_dummies_it_is_the_standard() {
        let mut peach = Peach::new(Parameters::default());
        peach.start(SMSS, SMSS * 4);
        peach.on_ack(&AckSample { acked: SMSS, flight: SMSS * 4, ..AckSample::default() });
        assert_eq!((peach.cwnd(), peach.deadline()), (SMSS * 5, None));
    }
}
