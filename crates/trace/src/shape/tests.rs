use units::{Duration, Instant};

use super::rounds::Round;
use super::{Rounds, WindowShape};

const SEGMENT: u32 = 1000;

/// Round trips of 100 ms with these windows in segments; 0 stands for a round trip of repair.
fn shape(windows: impl IntoIterator<Item = f64>) -> WindowShape {
    let rounds = windows.into_iter().zip(1..).map(|(window, number)| Round {
        at: Instant::START + Duration::from_millis(100 * number),
        flight: window * f64::from(SEGMENT),
        time: Duration::from_millis(100),
        repairing: window == 0.0,
        limited: false,
    });
    Rounds::with(rounds.collect(), SEGMENT).shape().expect("enough round trips")
}

/// A sawtooth from 20 segments to 40, along `course`, which leads from 0 to 1.
fn sawtooth(course: fn(f64) -> f64) -> WindowShape {
    let climb = (0..=20).map(move |step| 20.0 + 20.0 * course(f64::from(step) / 20.0));
    shape(std::iter::repeat_n(climb.chain([0.0]), 4).flatten())
}

#[test]
fn a_line_between_halvings_is_additive_increase() {
    let growth = sawtooth(|part| part).growth.expect("three reductions");
    assert!((growth.decrease - 21.0 / 40.0).abs() < 0.01, "{growth:?}");
    assert!((growth.segments_per_round - 1.0).abs() < 0.01, "{growth:?}");
    assert!(
        growth.reached.iter().zip([0.25, 0.5, 0.75]).all(|(is, line)| (is - line).abs() < 0.06),
        "{growth:?}"
    );
}

#[test]
fn a_plateau_before_the_loss_lies_above_the_line() {
    let cubic = sawtooth(|part| 1.0 - (1.0 - part) * (1.0 - part) * (1.0 - part)).growth.expect("reductions");
    assert!(cubic.reached[0] > 0.4 && cubic.reached[1] > 0.8, "{cubic:?}");
}

#[test]
fn the_cycle_of_eight_gains_is_seen_and_a_line_has_none() {
    let gains = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let cycle = shape((0..80).map(|round| 40.0 * gains[round % 8]));
    assert!(cycle.steady.cycle > 0.7 && cycle.growth.is_none(), "{cycle:?}");
    assert!(shape((0..80).map(|round| 40.0 + f64::from(round))).steady.cycle.abs() < 0.1);
}

#[test]
fn a_constant_window_is_flat() {
    let constant = shape([30.0; 60]).steady;
    assert_eq!((constant.variation, constant.flat, constant.dips), (0.0, 1.0, 0.0));
}

#[test]
fn a_short_course_has_no_shape() {
    assert_eq!(Rounds::default().shape(), None);
}
