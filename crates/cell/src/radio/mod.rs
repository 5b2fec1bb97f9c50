//! The radio: from a place to the signal quality of each TTI.
//!
//! The mean gain between a user and a sector is antenna × path loss × shadowing and is constant while the user does not
//! move ([`Gains`]); the signal of the serving sector fades with the multipath on top of it ([`fading::Fading`]).
//! Interference comes from all other sectors, by the power that each sends at present, and from the user's own sector,
//! as multipath reduces the codes' orthogonality ([`Budget`]).

pub mod antenna;
mod config;
pub mod fading;
pub mod path_loss;
pub mod shadowing;

pub use config::{Multipath, RadioConfig, Serving};

use crate::decibel::ratio;
use crate::identity::{SectorId, UserId};

/// Mean gains, as ratios of powers, between every user and every sector.
#[derive(Clone, Debug)]
pub struct Gains {
    sectors: usize,
    gains: Vec<f64>,
}

impl Gains {
    /// Gains of no user yet, to `sectors` sectors.
    #[must_use]
    pub const fn new(sectors: usize) -> Self {
        Self { sectors, gains: Vec::new() }
    }

    /// Adds the next user, with its gain to each sector.
    ///
    /// # Panics
    /// If there is not one gain for each sector.
    pub fn push(&mut self, to_sectors: &[f64]) {
        assert_eq!(to_sectors.len(), self.sectors, "a gain to each sector");
        self.gains.extend_from_slice(to_sectors);
    }

    /// Sets the gains of a user that has moved.
    pub(crate) fn set(&mut self, user: UserId, to_sectors: &[f64]) {
        self.gains[user.index() * self.sectors..][..self.sectors].copy_from_slice(to_sectors);
    }

    /// The gains of one user to all sectors.
    #[must_use]
    pub fn of(&self, user: UserId) -> &[f64] {
        &self.gains[user.index() * self.sectors..][..self.sectors]
    }
}

/// The constants of the link budget. Powers in watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Power that a sector can send in all.
    pub total: f64,
    /// Power of pilots and other channels, which a sector always sends.
    pub overhead: f64,
    /// Share of the own sector's power that interferes: 0 for orthogonal codes, 1 for none.
    pub non_orthogonality: f64,
    /// Spreading factor of the shared channel: its processing gain.
    pub spreading: f64,
    /// Thermal noise at the receiver.
    pub noise: f64,
}

impl Budget {
    /// Power that a sector has for the shared channel.
    #[must_use]
    pub fn shared(&self) -> f64 {
        self.total - self.overhead
    }

    /// The ratio of signal to interference and noise of a user after despreading, if its sector gives it all the power
    /// of the shared channel. `sent` is the power that each sector sends; the user's own sector counts with its full
    /// power.
    #[must_use]
    pub fn quality(&self, gains: &[f64], own: SectorId, fading: f64, sent: &[f64]) -> f64 {
        let heard: f64 = gains.iter().zip(sent).map(|(gain, power)| gain * power).sum();
        let others = heard - gains[own.index()] * sent[own.index()];
        let signal = gains[own.index()] * fading;
        let own_interference = self.non_orthogonality * signal * self.total;
        self.spreading * self.shared() * signal / (own_interference + others.max(0.0) + self.noise)
    }
}

/// Thermal noise in watts over `bandwidth` hertz, with a receiver's noise figure in decibels: −174 dBm/Hz at 290 K.
#[must_use]
pub fn thermal_noise(bandwidth: f64, noise_figure: f64) -> f64 {
    const DENSITY_DBM_PER_HZ: f64 = -174.0;
    ratio(DENSITY_DBM_PER_HZ + noise_figure) / 1_000.0 * bandwidth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decibel::decibels;

    const BUDGET: Budget =
        Budget { total: 20.0, overhead: 6.0, non_orthogonality: 0.4, spreading: 16.0, noise: 1e-13 };

    #[test]
    fn alone_and_near_the_quality_is_bounded_by_the_own_sector() {
        let quality = BUDGET.quality(&[1.0], SectorId(0), 1.0, &[20.0]);
        assert!((quality - 16.0 * 14.0 / (0.4 * 20.0)).abs() < 1e-6);
    }

    #[test]
    fn interference_goes_by_what_the_others_send_now() {
        let orthogonal = Budget { non_orthogonality: 0.0, noise: 0.0, ..BUDGET };
        let loaded = orthogonal.quality(&[1e-9, 1e-10], SectorId(0), 1.0, &[20.0, 20.0]);
        let idle = orthogonal.quality(&[1e-9, 1e-10], SectorId(0), 1.0, &[20.0, 5.0]);
        assert!((idle / loaded - 4.0).abs() < 1e-9);
        assert!((loaded - 16.0 * 14.0 * 10.0 / 20.0).abs() < 1e-6);
    }

    #[test]
    fn noise_of_a_wcdma_carrier_is_minus_99_dbm() {
        // 3GPP TR 25.942 table 5.1: −99 dBm for user equipment with a noise figure of 9 dB.
        let dbm = decibels(thermal_noise(3.84e6, 9.0) * 1_000.0);
        assert!((dbm + 99.0).abs() < 0.3, "{dbm}");
    }
}
