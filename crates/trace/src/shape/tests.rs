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

#[test]
fn reductions_without_a_loss_are_falls_with_their_depth() {
    let grows_and_falls = (0..80_i32).map(|round| f64::from(40 + round % 8));
    let steps = shape(grows_and_falls).steps;
    assert!((steps.falls - 1.0 / 8.0).abs() < 0.02, "{steps:?}");
    assert!((steps.fall_depth - 7.0 / 47.0).abs() < 1e-6, "{steps:?}");
    assert_eq!(steps.deep_falls, steps.falls);
}

#[test]
fn halvings_after_losses_are_no_falls() {
    let steps = sawtooth(|part| part).steps;
    assert_eq!((steps.falls, steps.deep_falls), (0.0, 0.0));
    assert_eq!(steps.usual_at_short_delay, Some(1.0));
}

#[test]
fn growth_that_slows_with_the_delay_differs_between_its_halves() {
    // As Illinois: two segments in a round trip of 100 ms, and half a segment in one of 150 ms.
    let rounds = (0..80_u32).scan(20.0, |window, number| {
        let is_long = number % 20 >= 10;
        *window += if is_long { 0.5 } else { 2.0 };
        Some(Round {
            at: Instant::START + Duration::from_millis(100 * u64::from(number + 1)),
            flight: *window * f64::from(SEGMENT),
            time: Duration::from_millis(if is_long { 150 } else { 100 }),
            repairing: false,
            limited: false,
        })
    });
    let steps = Rounds::with(rounds.collect(), SEGMENT).shape().expect("enough round trips").steps;
    assert_eq!((steps.usual_at_short_delay, steps.usual_at_long_delay), (Some(2.0), Some(0.5)));
    let always_alike = shape((0..80_i32).map(|round| f64::from(20 + round))).steps;
    assert_eq!(always_alike.usual_at_long_delay, None);
}

#[test]
fn the_decrease_depends_on_the_delay_before_it() {
    // As Veno: a fifth less after a loss without a queue, half of the window after one with a queue.
    let mut rounds = Vec::new();
    for (epoch, number) in (0..6_u64).flat_map(|epoch| (0..11).map(move |number| (epoch, number))) {
        let (is_full, was_full) = (epoch % 2 == 0, epoch % 2 == 1);
        let begin = if was_full { 20.0 } else { 32.0 };
        rounds.push(Round {
            at: Instant::START + Duration::from_millis(100 * (11 * epoch + number + 1)),
            flight: (begin + (40.0 - begin) * number.saturating_sub(1) as f64 / 8.0).min(40.0)
                * f64::from(SEGMENT),
            time: Duration::from_millis(if is_full { 200 } else { 100 }),
            repairing: number == 10,
            limited: false,
        });
    }
    let growth =
        Rounds::with(rounds, SEGMENT).shape().expect("enough round trips").growth.expect("reductions");
    assert_eq!(growth.decrease_quartiles, [0.5, 0.8]);
    assert!((growth.decrease_by_delay - (0.5 - 0.8)).abs() < 1e-9, "{growth:?}");
}
