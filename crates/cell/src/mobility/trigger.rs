//! The trigger of a handover, and its target sector.

use units::Instant;

use super::MobilityConfig;
use crate::decibel::decibels;
use crate::identity::SectorId;
use crate::users::strongest;

/// A user's measurements of the sectors: averages, and the sector that has been better than its own, with the time
/// since when.
#[derive(Debug)]
pub(crate) struct Trigger {
    /// Averages in decibels, one for each sector.
    averages: Vec<f64>,
    better: Option<(SectorId, Instant)>,
}

impl Trigger {
    /// With the measurements at the start: mean gains as ratios.
    pub(crate) fn new(gains: &[f64]) -> Self {
        Self { averages: gains.iter().map(|gain| decibels(*gain)).collect(), better: None }
    }

    /// Takes new measurements, and returns the target if they cause a handover. Every sector sends its pilot with the
    /// same power, so that gains represent signals.
    pub(crate) fn measure(
        &mut self,
        now: Instant,
        gains: &[f64],
        own: SectorId,
        config: &MobilityConfig,
    ) -> Option<SectorId> {
        let weight = libm::exp2(-f64::from(config.filter) / 4.0);
        for (average, gain) in self.averages.iter_mut().zip(gains) {
            *average += weight * (decibels(*gain) - *average);
        }
        let best = strongest(&self.averages);
        let margin = self.averages[best.index()] - self.averages[own.index()];
        if best == own || margin <= config.hysteresis.0 {
            self.better = None;
            return None;
        }
        let since = match self.better {
            Some((sector, since)) if sector == best => since,
            _ => now,
        };
        let triggered = now - since >= config.time_to_trigger;
        self.better = (!triggered).then_some((best, since));
        triggered.then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decibel::ratio;
    use units::Duration;

    fn config(filter: u32) -> MobilityConfig {
        MobilityConfig { filter, time_to_trigger: Duration::from_millis(400), ..MobilityConfig::default() }
    }

    /// Measures every 200 ms sectors at these levels in decibels; number of the measurement that hands over, and to
    /// which.
    fn handed_over(filter: u32, levels: &[[f64; 3]]) -> Option<(usize, u32)> {
        let gains = |levels: &[f64; 3]| levels.map(ratio);
        let mut trigger = Trigger::new(&gains(&levels[0]));
        levels.iter().enumerate().find_map(|(number, levels)| {
            let now = Instant::START + Duration::from_millis(200) * number as u64;
            let sector = trigger.measure(now, &gains(levels), SectorId(0), &config(filter));
            sector.map(|sector| (number, sector.0))
        })
    }

    #[test]
    fn who_is_stronger_by_the_hysteresis_for_the_time_to_trigger_takes_over() {
        let (near, edge, far) = ([-80.0, -90.0, -99.0], [-80.0, -77.0, -99.0], [-80.0, -76.9, -99.0]);
        assert_eq!(handed_over(0, &[near, edge, edge, edge, edge]), None, "3 dB are not more than 3 dB");
        assert_eq!(handed_over(0, &[near, far, far, far]), Some((3, 1)), "400 ms after the first of them");
        assert_eq!(handed_over(0, &[near, far, far, near, far, far]), None, "it must last");
        let third = [-80.0, -76.9, -76.0];
        assert_eq!(handed_over(0, &[near, far, far, third, third, third]), Some((5, 2)), "each counts alone");
    }

    #[test]
    fn averages_lag_behind_by_the_filter() {
        // With k = 4 each measurement counts by a half: of a step of 8 dB 4, 6 and 7 dB are seen.
        let (before, after) = ([-80.0, -80.0, -99.0], [-80.0, -72.0, -99.0]);
        assert_eq!(handed_over(4, &[before, after, after, after]), Some((3, 1)));
        // With k = 8 by a quarter: 2, 3.5, 4.6, 5.5.
        assert_eq!(handed_over(8, &[before, after, after, after]), None);
        assert_eq!(handed_over(8, &[before, after, after, after, after]), Some((4, 1)));
    }
}
