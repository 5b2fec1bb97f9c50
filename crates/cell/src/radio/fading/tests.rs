use units::{Duration, Streams};

use super::*;

const DOPPLER: f64 = 5.56;

fn flat_channels(count: usize) -> Vec<Fading> {
    let mut stream = Streams::new(11).stream("fading");
    (0..count).map(|_| Fading::new(FLAT, DOPPLER, &mut stream)).collect()
}

fn at(seconds: f64) -> Instant {
    Instant::START + Duration::from_secs_f64(seconds)
}

#[test]
fn a_flat_channel_has_an_exponential_power_within_the_99_percent_interval() {
    const CHANNELS: usize = 20_000;
    let mut channels = flat_channels(CHANNELS);
    let gains: Vec<f64> = channels.iter_mut().map(|channel| channel.gain(at(0.7))).collect();
    // P(gain > x) = exp(−x). With eight waves the far tail is slightly too small, beyond the levels tested here.
    for level in [0.1_f64, 0.5, 1.0, 2.0] {
        let expected = (-level).exp();
        let above = gains.iter().filter(|gain| **gain > level).count() as f64 / CHANNELS as f64;
        let error = 2.576 * (expected * (1.0 - expected) / CHANNELS as f64).sqrt();
        // The sum of eight waves is not quite normal: of the order of 1/(4 N) of the density.
        assert!((above - expected).abs() < error + 0.01, "{level}: {above} for {expected}");
    }
}

#[test]
fn the_mean_gain_of_a_profile_is_one() {
    let mut stream = Streams::new(4).stream("fading");
    let mut sum = 0.0;
    for _ in 0..4_000 {
        sum += Fading::new(TYPICAL_URBAN, DOPPLER, &mut stream).gain(at(0.3));
    }
    // Variance of the sum of taps: Σ p² ≈ 0.26 of the mean's square.
    assert!((sum / 4_000.0 - 1.0).abs() < 2.576 * (0.27_f64 / 4_000.0).sqrt(), "{}", sum / 4_000.0);
}

/// For a Rayleigh channel the correlation of the power is that of the amplitude squared: J₀²(2π f_d τ).
#[test]
fn the_autocorrelation_of_the_power_is_jakes() {
    const CHANNELS: usize = 20_000;
    for lag in [0.01, 0.02, 0.04, 0.0688, 0.1] {
        let mut channels = flat_channels(CHANNELS);
        let (mut products, mut squares) = (0.0, 0.0);
        for channel in &mut channels {
            let now = channel.gain(at(1.0)) - 1.0;
            let later = channel.gain(at(1.0 + lag)) - 1.0;
            products += now * later;
            squares += now * now;
        }
        let j0 = libm::j0(std::f64::consts::TAU * DOPPLER * lag);
        let correlation = products / squares;
        assert!((correlation - j0 * j0).abs() < 0.03, "{lag}: {correlation} for {}", j0 * j0);
    }
}

/// Rice: the amplitude crosses the level ρ (relative to the root mean square) upwards √(2π) f_d ρ exp(−ρ²) times a
/// second.
#[test]
fn levels_are_crossed_as_often_as_rice_says() {
    const CHANNELS: usize = 200;
    const SECONDS: f64 = 20.0;
    for level in [0.3_f64, 0.7, 1.0] {
        let mut crossings = 0_u32;
        for mut channel in flat_channels(CHANNELS) {
            let mut below = true;
            for step in 0..(SECONDS * 500.0) as u32 {
                let above = channel.gain(at(f64::from(step) / 500.0)).sqrt() > level;
                crossings += u32::from(above && below && step > 0);
                below = !above;
            }
        }
        let rate = f64::from(crossings) / (CHANNELS as f64 * SECONDS);
        let theory = (2.0 * std::f64::consts::PI).sqrt() * DOPPLER * level * (-level * level).exp();
        assert!((rate / theory - 1.0).abs() < 0.05, "{level}: {rate} for {theory}");
    }
}

/// The gain at any position, by the cosines themselves.
fn exact(taps: &Taps, position: f64) -> f64 {
    let sum = |first: usize| -> f64 {
        taps.angles[first..][..WAVES].iter().map(|(phase, turn)| (phase + turn * position).cos()).sum()
    };
    let tap = |tap: usize| sum(2 * WAVES * tap).powi(2) + sum(2 * WAVES * tap + WAVES).powi(2);
    taps.powers.iter().enumerate().map(|(place, power)| power * tap(place)).sum()
}

#[test]
fn between_knots_the_cubic_is_close_to_the_sinusoids() {
    let mut stream = Streams::new(8).stream("fading");
    let mut fading = Fading::new(TYPICAL_URBAN, DOPPLER, &mut stream);
    for step in 0..2_000 {
        let now = at(f64::from(step) * 0.002);
        let exact = exact(&fading.taps, now.as_nanos() as f64 / fading.spacing as f64 + 1.0);
        let interpolated = fading.gain(now);
        assert!((interpolated - exact).abs() < 0.004, "at {now}: {interpolated} for {exact}");
    }
}

#[test]
fn who_looks_seldom_sees_the_same_channel() {
    let channel = || Fading::new(TYPICAL_URBAN, DOPPLER, &mut Streams::new(9).stream("fading"));
    let (mut often, mut seldom) = (channel(), channel());
    (0..500).for_each(|step| {
        often.gain(at(f64::from(step) * 0.002));
    });
    assert_eq!(often.gain(at(1.0)), seldom.gain(at(1.0)));
}

#[test]
fn without_motion_nothing_changes() {
    let mut still = Fading::new(FLAT, 0.0, &mut Streams::new(2).stream("fading"));
    assert_eq!(still.gain(at(0.0)), still.gain(at(100.0)));
}

#[test]
fn three_kilometres_an_hour_at_two_gigahertz_are_five_and_a_half_hertz() {
    assert!((doppler_frequency(3.0 / 3.6, 2.0e9) - 5.56).abs() < 0.01);
}
