//! Multipath fading of one user: independent taps by Jakes' model.
//!
//! Each tap is a sum of sinusoids of random phases and angles of arrival (Zheng and Xiao 2003, "Simulation models with
//! correct statistical properties for Rayleigh fading channels", equations 6a to 6c): its amplitude is Rayleigh
//! distributed and its autocorrelation is J₀(2π f_d τ), f_d the Doppler frequency. A rake receiver adds up the power of
//! all taps, so the gain of the channel is Σ p_k |h_k|², 1 in the mean.
//!
//! A channel at walking speed hardly changes within a TTI. The sinusoids are evaluated at knots, 32 for each period of
//! the Doppler frequency, and a cubic through four of them (Catmull and Rom 1974) gives the gain between.

use std::f64::consts::{PI, TAU};

use units::{Instant, Stream};

use crate::decibel::ratio;
use crate::random::angle;

/// A channel's power-delay profile: relative powers of the taps in decibels. The delays only decide which taps a rake
/// receiver can resolve; all taps of a profile count as resolved.
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
    /// Nanoseconds between two knots; 0 for a user that does not move.
    spacing: u64,
    /// The knot at or before the last requested instant.
    knot: u64,
    /// Gains at the knot before, at the knot, and at the two after it.
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

/// The sinusoids of all taps. Those of tap `t` begin at place `t · 2 · WAVES`: in-phase ones first, then the
/// quadrature's.
///
/// A sinusoid needs no sine and no phasor from one position to the next: cos(φ + ω) = 2 cos ω · cos φ − cos(φ − ω).
/// Positions are worked out a block at a time: hundreds of users do not fit into a processor's cache, and each sinusoid
/// is fetched once a block.
#[derive(Clone, Debug)]
struct Taps {
    /// Relative power of each tap, over the number of waves.
    powers: Vec<f64>,
    /// Phase at position 0 and turn from one position to the next, in radians.
    angles: Vec<(f64, f64)>,
    waves: Vec<Wave>,
    /// The gains at the positions of the block before `ahead`.
    gains: [f64; BLOCK],
    /// The block that comes next.
    ahead: u64,
}

/// As many sinusoids as a processor works on side by side.
#[derive(Clone, Copy, Debug)]
struct Wave {
    /// 2 cos of the turn.
    coefficient: Lanes,
    /// At the last position of the block before the next, and at the last but one.
    last: Lanes,
    earlier: Lanes,
}

type Lanes = [f64; LANES];

impl Taps {
    fn new(profile: Profile, stream: &mut Stream) -> Self {
        let powers: Vec<f64> = profile.powers.iter().map(|power| ratio(f64::from(*power))).collect();
        let total: f64 = powers.iter().sum();
        let mut angles = Vec::with_capacity(powers.len() * 2 * WAVES);
        for _ in &powers {
            let theta = angle(stream) - PI;
            let (mut in_phase, mut quadrature) = (Vec::new(), Vec::new());
            for n in 1..=WAVES {
                // Zheng and Xiao 2003, equation 6: waves arrive at α_n = (2πn − π + θ) / 4N.
                let arrival = (TAU * n as f64 - PI + theta) / (4 * WAVES) as f64;
                in_phase.push((angle(stream), TAU / KNOTS_PER_PERIOD * libm::cos(arrival)));
                quadrature.push((angle(stream), TAU / KNOTS_PER_PERIOD * libm::sin(arrival)));
            }
            angles.append(&mut in_phase);
            angles.append(&mut quadrature);
        }
        let wave = |turns: &[(f64, f64)]| Wave {
            coefficient: std::array::from_fn(|lane| 2.0 * libm::cos(turns[lane].1)),
            last: [0.0; LANES],
            earlier: [0.0; LANES],
        };
        let mut taps = Self {
            powers: powers.iter().map(|power| power / total / WAVES as f64).collect(),
            waves: angles.chunks_exact(LANES).map(wave).collect(),
            angles,
            gains: [0.0; BLOCK],
            ahead: 0,
        };
        taps.set(0);
        taps
    }

    /// The gain at a position. Positions never run back by more than a block.
    fn gain(&mut self, position: u64) -> f64 {
        let (block, within) = (position / BLOCK as u64, (position % BLOCK as u64) as usize);
        if block + 1 != self.ahead {
            self.move_to(block);
        }
        self.gains[within]
    }

    /// Sinusoids are computed at every [`ANCHOR_SPACING`]th block and rotated from there, so that the value at a
    /// position does not depend on which other positions were requested.
    fn move_to(&mut self, block: u64) {
        let anchor = block - block % ANCHOR_SPACING;
        if self.ahead <= anchor || self.ahead > block {
            self.set(anchor);
        }
        while self.ahead <= block {
            self.advance();
        }
    }

    fn set(&mut self, block: u64) {
        let last = (block * BLOCK as u64) as f64 - 1.0;
        for (wave, angles) in self.waves.iter_mut().zip(self.angles.chunks_exact(LANES)) {
            for (lane, (phase, turn)) in angles.iter().enumerate() {
                let angle = phase + turn * last;
                wave.last[lane] = libm::cos(angle);
                wave.earlier[lane] = libm::cos(angle - turn);
            }
        }
        self.ahead = block;
    }

    fn advance(&mut self) {
        self.gains = [0.0; BLOCK];
        for (waves, power) in self.waves.chunks_exact_mut(2 * WAVES / LANES).zip(&self.powers) {
            let (in_phase, quadrature) = waves.split_at_mut(WAVES / LANES);
            let (in_phase, quadrature) = (turned(in_phase), turned(quadrature));
            for (gain, (i, q)) in self.gains.iter_mut().zip(in_phase.iter().zip(&quadrature)) {
                *gain += power * (i * i + q * q);
            }
        }
        self.ahead += 1;
    }
}

/// Turns sinusoids on by a block, and returns their sum at each of its positions.
#[inline]
fn turned(waves: &mut [Wave]) -> [f64; BLOCK] {
    let mut sums = [[0.0; LANES]; BLOCK];
    // Two at a time: a sum is fetched once for both.
    const { assert!(WAVES.is_multiple_of(2 * LANES)) };
    for pair in waves.chunks_exact_mut(2) {
        let (mut first, mut second) = (pair[0], pair[1]);
        for sum in &mut sums {
            for (lane, sum) in sum.iter_mut().enumerate() {
                *sum = *sum + first.turn(lane) + second.turn(lane);
            }
        }
        (pair[0], pair[1]) = (first, second);
    }
    sums.map(|lanes| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
}

impl Wave {
    /// Advances one lane by one position, and returns its value.
    #[inline(always)]
    fn turn(&mut self, lane: usize) -> f64 {
        let next = self.coefficient[lane] * self.last[lane] - self.earlier[lane];
        (self.earlier[lane], self.last[lane]) = (self.last[lane], next);
        next
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

/// Sinusoids that are turned together. A processor does two or four at once.
const LANES: usize = 4;

/// Positions that are worked out together: 45 ms at walking speed and 2 GHz.
const BLOCK: usize = 8;

/// Blocks between two positions at which sinusoids are computed. The rounding of a slow one's coefficient grows with
/// the square of the turns: after 256 it is below 10⁻¹¹.
const ANCHOR_SPACING: u64 = 32;

/// The gain is a sum of products of sinusoids of at most f_d, so it has no component above 2 f_d: 16 knots for each of
/// its periods leave an error of the cubic below a thousandth.
const KNOTS_PER_PERIOD: f64 = 32.0;

#[cfg(test)]
mod tests;
