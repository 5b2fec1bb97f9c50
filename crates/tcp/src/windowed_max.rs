//! The largest value of the recent past, in constant space (K. Nichols, "Windowed min/max filter", as in Linux'
//! `lib/win_minmax.c`).
//!
//! Three samples are kept: the best of the window, the best of what came after it, and the best of what came after
//! that. As the first leaves the window the second takes its place. With [`std::cmp::Reverse`] it is a minimum.

/// A running maximum over a window of time, or of whatever its clock counts.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMax<V> {
    best: [Option<Estimate<V>>; 3],
}

#[derive(Clone, Copy, Debug)]
struct Estimate<V> {
    at: u64,
    value: V,
}

impl<V: Copy + Ord> WindowedMax<V> {
    /// Without a sample.
    pub const EMPTY: Self = Self { best: [None; 3] };

    /// The largest value that is known.
    #[must_use]
    pub fn get(&self) -> Option<V> {
        self.best[0].map(|best| best.value)
    }

    /// Forgets everything but this.
    pub fn reset(&mut self, at: u64, value: V) {
        self.best = [Some(Estimate { at, value }); 3];
    }

    /// A sample, `at` a time that never goes back, where samples older than `window` do not count any more.
    pub fn update(&mut self, window: u64, at: u64, value: V) {
        let [Some(first), Some(second), Some(third)] = self.best else { return self.reset(at, value) };
        if value >= first.value || at - third.at > window {
            return self.reset(at, value);
        }
        let new = Estimate { at, value };
        let mut best = [first, second, third];
        if value >= second.value {
            (best[1], best[2]) = (new, new);
        } else if value >= third.value {
            best[2] = new;
        }
        self.best = expire(best, window, new).map(Some);
    }
}

/// Moves up what has come after a best value that has left the window. Where a quarter or a half of the window has gone
/// by without a second or a third best, the newest sample becomes it, so that they never all lie at its far end.
fn expire<V: Copy>(best: [Estimate<V>; 3], window: u64, new: Estimate<V>) -> [Estimate<V>; 3] {
    let [first, second, third] = best;
    let age = new.at - first.at;
    if age > window {
        if new.at - second.at > window { [third, new, new] } else { [second, third, new] }
    } else if second.at == first.at && age > window / 4 {
        [first, new, new]
    } else if third.at == second.at && age > window / 2 {
        [first, second, new]
    } else {
        best
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    #[test]
    fn the_largest_of_ten_rounds_is_found_and_forgotten_in_time() {
        let mut max = WindowedMax::EMPTY;
        assert_eq!(max.get(), None);
        for (round, value) in [(0, 50), (1, 80), (4, 60), (7, 70), (11, 40)] {
            max.update(10, round, value);
            assert!(max.get() >= Some(value));
        }
        assert_eq!(max.get(), Some(80));
        max.update(10, 12, 30);
        assert_eq!(max.get(), Some(70), "the 80 of round 1 is too old, and 70 was the best since");
        max.update(10, 30, 5);
        assert_eq!(max.get(), Some(5), "nothing else is left in the window");
    }

    #[test]
    fn what_falls_steadily_is_followed_a_window_later() {
        let mut max = WindowedMax::EMPTY;
        for round in 0..100_u64 {
            max.update(10, round, 1000 - round);
            let least = 1000 - round;
            let most = 1000 - round.saturating_sub(10);
            assert!(max.get().is_some_and(|best| (least..=most).contains(&best)), "round {round}");
        }
    }

    #[test]
    fn reversed_it_is_a_minimum() {
        let mut min = WindowedMax::EMPTY;
        for (at, value) in [(0, 30), (5, 20), (6, 40)] {
            min.update(100, at, Reverse(value));
        }
        assert_eq!(min.get(), Some(Reverse(20)));
    }
}
