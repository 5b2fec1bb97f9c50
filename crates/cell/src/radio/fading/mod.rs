//! Multipath fading of one user: taps that fade by themselves, as Jakes' model has it.
//!
//! Each tap is a sum of sinusoids of random phases and angles of arrival (Zheng and Xiao 2003, "Simulation models with
//! correct statistical properties for Rayleigh fading channels", equations 6a to 6c): its amplitude is Rayleigh
//! distributed and its autocorrelation is J₀(2π f_d τ), f_d the Doppler frequency. A rake receiver adds up the power of all
//! taps, so the gain of the channel is Σ p_k |h_k|², 1 in the mean.
//!
//! A channel at walking speed hardly changes within a TTI. The sinusoids are evaluated at knots, 32 for each period of the
//! Doppler frequency, and a cubic through four of them (Catmull and Rom 1974) gives the gain between.

use std::f64::consts::{PI, TAU};

use units::{Instant, Stream};

use crate::decibel::ratio;
use crate::random::angle;

/// A channel's power-delay profile: relative powers of the taps in decibels. The delays only decide which taps a rake
/// receiver can tell apart; all of a profile's are taken to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    powers: &'static [i8],
}

/// Typical Urban of six taps (3GPP TS 45.005 annex C.3.3: −3, 0, −2, −6, −8, −10 dB at 0 to 5 µs).
pub const TYPICAL_URBAN: Profile = Profile { powers: &[-3, 0, -2, -6, -8, -10] };

/// A single Rayleigh tap: a flat channel.
pub const FLAT: Profile = Profile { powers: &[0] };

/// The fading of one user.
#[derive(Clone, Debug)]
pub struct Fading {
    taps: Taps,
    /// Nanoseconds between two knots; 0 for a user who does not move at all.
    spacing: u64,
    /// The knot at or before the last instant that was asked for.
    knot: u64,
    /// Gains at the knots before, at, and the two behind it.
    gains: [f64; 4],
}

impl Fading {
    /// The fading of a channel of `profile` at a Doppler frequency of `doppler` hertz.
    #[must_use]
    pub fn new(profile: Profile, doppler: f64, stream: &mut Stream) -> Self {
        let spacing = if doppler > 0.0 { (1e9 / (doppler * KNOTS_PER_PERIOD)) as u64 } else { 0 };
        let mut fading = Self { taps: Taps::new(profile, stream), spacing, knot: 0, gains: [0.0; 4] };
        fading.restart(0);
        fading
    }

    /// The gain of the channel at `now`, as a ratio to its mean. Time never runs back.
    #[inline]
    pub fn gain(&mut self, now: Instant) -> f64 {
        if self.spacing == 0 {
            return self.gains[1];
        }
        let (knot, offset) = (now.as_nanos() / self.spacing, now.as_nanos() % self.spacing);
        self.move_to(knot);
        catmull_rom(self.gains, offset as f64 / self.spacing as f64).max(0.0)
    }

    fn move_to(&mut self, knot: u64) {
        if knot - self.knot > 4 {
            return self.restart(knot);
        }
        while self.knot < knot {
            self.knot += 1;
            self.gains.rotate_left(1);
            self.gains[3] = self.taps.gain(self.knot + 3);
        }
    }

    fn restart(&mut self, knot: u64) {
        self.knot = knot;
        // Positions of the taps are counted from the knot before the start.
        self.gains = [0, 1, 2, 3].map(|place| self.taps.gain(knot + place));
    }
}

/// The sinusoids of all taps: wave `w` of tap `t` at place `t · WAVES + w`, in-phase and quadrature apart.
#[derive(Clone, Debug)]
struct Taps {
    /// Relative power of each tap, over the number of waves.
    powers: Vec<f64>,
    in_phase: Waves,
    quadrature: Waves,
}

/// Phasors that turn by a fixed angle from one position to the next.
#[derive(Clone, Debug)]
struct Waves {
    /// Phase at position 0 and turn, in radians.
    angles: Vec<(f64, f64)>,
    /// cos and sin of the turn.
    turns: Vec<[f64; 2]>,
    /// cos and sin of the phase at `position`.
    phasors: Vec<[f64; 2]>,
    position: u64,
}

impl Taps {
    fn new(profile: Profile, stream: &mut Stream) -> Self {
        let powers: Vec<f64> = profile.powers.iter().map(|power| ratio(f64::from(*power))).collect();
        let total: f64 = powers.iter().sum();
        let (mut in_phase, mut quadrature) = (Vec::new(), Vec::new());
        for _ in &powers {
            let theta = angle(stream) - PI;
            for n in 1..=WAVES {
                // Zheng and Xiao 2003, equation 6: waves arrive at α_n = (2πn − π + θ) / 4N.
                let arrival = (TAU * n as f64 - PI + theta) / (4 * WAVES) as f64;
                in_phase.push((angle(stream), TAU / KNOTS_PER_PERIOD * libm::cos(arrival)));
                quadrature.push((angle(stream), TAU / KNOTS_PER_PERIOD * libm::sin(arrival)));
            }
        }
        Self {
            powers: powers.iter().map(|power| power / total / WAVES as f64).collect(),
            in_phase: Waves::new(in_phase),
            quadrature: Waves::new(quadrature),
        }
    }

    fn gain(&mut self, position: u64) -> f64 {
        self.in_phase.move_to(position);
        self.quadrature.move_to(position);
        let tap = |(tap, power): (usize, &f64)| {
            let (in_phase, quadrature) = (self.in_phase.sum(tap), self.quadrature.sum(tap));
            power * (in_phase * in_phase + quadrature * quadrature)
        };
        self.powers.iter().enumerate().map(tap).sum()
    }
}

impl Waves {
    fn new(angles: Vec<(f64, f64)>) -> Self {
        let phasor = |angle: f64| [libm::cos(angle), libm::sin(angle)];
        let turns = angles.iter().map(|(_, turn)| phasor(*turn)).collect();
        let phasors = angles.iter().map(|(phase, _)| phasor(*phase)).collect();
        Self { angles, turns, phasors, position: 0 }
    }

    /// Phasors are set anew at every [`ANCHOR_SPACING`]th position and turned from there on, so that what they are at a position does
    /// not depend on which others were looked at.
    fn move_to(&mut self, position: u64) {
        let anchor = position - position % ANCHOR_SPACING;
        if self.position < anchor || self.position > position {
            let phase = |(phase, turn): &(f64, f64)| phase + turn * anchor as f64;
            let angles = self.angles.iter().map(phase);
            self.phasors = angles.map(|angle| [libm::cos(angle), libm::sin(angle)]).collect();
            self.position = anchor;
        }
        while self.position < position {
            for ([cos, sin], [turn_cos, turn_sin]) in self.phasors.iter_mut().zip(&self.turns) {
                (*cos, *sin) = (*cos * turn_cos - *sin * turn_sin, *sin * turn_cos + *cos * turn_sin);
            }
            self.position += 1;
        }
    }

    fn sum(&self, tap: usize) -> f64 {
        self.phasors[tap * WAVES..][..WAVES].iter().map(|[cos, _]| cos).sum()
    }
}

/// Cubic through `knots[1]` and `knots[2]` at `part` of the way, with slopes by their neighbours.
#[inline]
fn catmull_rom(knots: [f64; 4], part: f64) -> f64 {
    let [before, from, to, after] = knots;
    let slope = (to - before) / 2.0;
    let end_slope = (after - from) / 2.0;
    let rise = to - from;
    let cubic = slope + end_slope - 2.0 * rise;
    from + part * (slope + part * ((3.0 * rise - 2.0 * slope - end_slope) + part * cubic))
}

/// The Doppler frequency in hertz at `speed` metres per second and `carrier` hertz.
#[must_use]
pub fn doppler_frequency(speed: f64, carrier: f64) -> f64 {
    /// Metres per second, exact (SI).
    const SPEED_OF_LIGHT: f64 = 299_792_458.0;
    speed * carrier / SPEED_OF_LIGHT
}

/// Sinusoids of each quadrature. Zheng and Xiao 2003 find the statistics close to the theory from 8 on; with 16 the
/// autocorrelation of the power is within 0.02 of it.
const WAVES: usize = 16;

/// So many turns lose less than 10⁻¹³ by rounding.
const ANCHOR_SPACING: u64 = 64;

/// The gain is a sum of products of sinusoids of at most f_d, so it has no component above 2 f_d: 16 knots for each of its
/// periods leave an error of the cubic below a thousandth.
const KNOTS_PER_PERIOD: f64 = 32.0;

#[cfg(test)]
mod tests;
