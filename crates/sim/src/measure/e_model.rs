//! The quality of a call by the E-model (ITU-T G.107), from delay and loss. All parameters that a network does not
//! change have the defaults of the recommendation's table 3.

use units::Duration;
use workload::Voice;

/// Signal-to-noise ratio with the default noise: Ro = 15 - 1.5 (SLR + No), with SLR = 8 dB (7-2).
const SIGNAL_TO_NOISE: f64 = 15.0 - 1.5 * (8.0 + NOISE);

/// Sum of the default circuit and room noise, in dBm0p: No (7-3).
const NOISE: f64 = -61.18;

/// Impairments that occur together with the signal: Is of the default loudness, sidetone and quantizing distortion
/// (7-8 to 7-18).
const SIMULTANEOUS: f64 = 1.42;

/// Receive loudness rating, in dB: RLR.
const RECEIVE_LOUDNESS: f64 = 2.0;

/// Talker echo loudness rating, in dB: TELR.
const TALKER_ECHO_LOUDNESS: f64 = 65.0;

/// Weighted echo path loss, in dB: WEPL.
const ECHO_PATH_LOSS: f64 = 110.0;

/// The frames of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frames {
    /// Frames whose fate is known.
    pub(super) known: u64,
    /// Those that were lost or late.
    pub(super) missed: u64,
    /// Runs of consecutive such frames.
    pub(super) bursts: u64,
}

impl Frames {
    /// The share that was lost or late.
    fn loss(self) -> f64 {
        self.missed as f64 / self.known as f64
    }

    /// Burst ratio: the mean length of bursts over that of independent losses with the same share (§7.4.2); at least 1.
    fn burst_ratio(self) -> f64 {
        if self.bursts == 0 {
            return 1.0;
        }
        (self.missed as f64 / self.bursts as f64 * (1.0 - self.loss())).max(1.0)
    }
}

/// The transmission rating factor R of a call, from 0 (worst) to 93.2.
pub(super) fn rating(voice: &Voice, frames: Frames) -> f64 {
    let impairment = delay_impairment(voice.mouth_to_ear) + effective_impairment(voice, frames);
    (SIGNAL_TO_NOISE - SIMULTANEOUS - impairment).max(0.0)
}

/// The mean opinion score that listeners would give, from 1 to 4.5, for a rating (Annex B).
pub(super) fn mean_opinion_score(rating: f64) -> f64 {
    (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).clamp(1.0, 4.5)
}

/// Id: talker echo, listener echo and absolute delay, with the same delay each way (7-19).
fn delay_impairment(one_way: Duration) -> f64 {
    let ms = one_way.as_secs_f64() * 1e3;
    talker_echo(ms) + listener_echo(2.0 * ms) + absolute_delay(ms)
}

/// Idte for a one-way delay in ms (7-20 to 7-24).
fn talker_echo(ms: f64) -> f64 {
    let growth = libm::log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0));
    let loudness = TALKER_ECHO_LOUDNESS - 40.0 * growth + 6.0 * libm::exp(-0.3 * ms * ms);
    let echo = 80.0 + 2.5 * (loudness - 14.0);
    let without_echo = -1.5 * (NOISE - RECEIVE_LOUDNESS);
    let half = (without_echo - echo) / 2.0;
    (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-ms))
}

/// Idle for a round-trip delay in ms (7-25, 7-26).
fn listener_echo(round_trip_ms: f64) -> f64 {
    let echo = 10.5 * (ECHO_PATH_LOSS + 7.0) / libm::pow(round_trip_ms + 1.0, 0.25);
    let half = (SIGNAL_TO_NOISE - echo) / 2.0;
    half + libm::sqrt(half * half + 169.0)
}

/// Idd for a one-way delay in ms (7-27, 7-28).
fn absolute_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(ms / 100.0);
    let sixth_root = |value: f64| libm::pow(1.0 + libm::pow(value, 6.0), 1.0 / 6.0);
    25.0 * (sixth_root(x) - 3.0 * sixth_root(x / 3.0) + 2.0)
}

/// Ie,eff: the codec, and the loss of its frames (7-29).
fn effective_impairment(voice: &Voice, frames: Frames) -> f64 {
    let percent = 100.0 * frames.loss();
    let share = percent / (percent / frames.burst_ratio() + voice.robustness);
    voice.impairment + (95.0 - voice.impairment) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    const G711: Voice = Voice { mouth_to_ear: Duration::ZERO, impairment: 0.0, robustness: 4.3 };

    fn frames(missed: u64, bursts: u64) -> Frames {
        Frames { known: 1000, missed, bursts }
    }

    #[test]
    fn the_default_parameters_give_the_rating_of_the_recommendation() {
        let best = rating(&G711, frames(0, 0));
        assert!((best - 93.2).abs() < 0.05, "{best}");
        assert!((mean_opinion_score(best) - 4.41).abs() < 0.005);
        assert!((mean_opinion_score(50.0) - 2.575).abs() < 1e-9);
    }

    #[test]
    fn delay_and_loss_lower_the_rating_and_bursts_lower_it_more() {
        let delayed = |ms| Voice { mouth_to_ear: Duration::from_millis(ms), ..G711 };
        let by_delay = [0, 100, 150, 250, 400].map(|ms| rating(&delayed(ms), frames(0, 0)));
        assert!(by_delay.is_sorted_by(|sooner, later| sooner > later), "{by_delay:?}");
        // ITU-T G.114: users are very satisfied, which is a rating of 90, up to about 150 ms.
        assert!((88.0..91.0).contains(&by_delay[2]), "{by_delay:?}");
        assert!((absolute_delay(400.0) - 24.07).abs() < 0.01);
        let by_loss = [(0, 0), (10, 10), (30, 30), (30, 6)]
            .map(|(missed, bursts)| rating(&G711, frames(missed, bursts)));
        assert!(by_loss.is_sorted_by(|less, more| less > more), "{by_loss:?}");
    }

    #[test]
    fn one_percent_of_independent_losses_costs_what_the_equation_says() {
        // 95 * 1 / (1 + 4.3)
        let lost = rating(&G711, frames(0, 0)) - rating(&G711, frames(10, 10));
        assert!((lost - 95.0 / 5.3).abs() < 1e-9, "{lost}");
    }

    #[test]
    fn a_call_of_which_nothing_arrives_has_no_quality() {
        let rated = rating(&Voice { impairment: 15.0, ..G711 }, frames(1000, 1));
        assert!(rated < 2.0, "{rated}");
        assert_eq!(mean_opinion_score(rated), 1.0);
    }
}
