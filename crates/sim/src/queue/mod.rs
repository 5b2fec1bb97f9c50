//! The event queue: when each component is to be woken, and which one is next.
//!
//! One entry per component, in a knock-out tournament: of the two in each game, the component with the earlier wake-up
//! enters the next. A changed wake-up replays the games of that component from its first on, and stops as soon as the
//! outcome of a game stays the same, so the cost is a handful of comparisons that grows with the logarithm of the
//! number of components. An indexed heap does the same work but must look up a component's place; here each has a fixed
//! one. See Knuth, TAOCP vol. 3, §5.4.1 (trees of winners).

#[cfg(test)]
mod tests;

use units::Instant;

/// Time at which each component is to be woken.
///
/// The order is by time, and at one time the order in which the wake-ups were armed.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// The winner of the final.
    first: Entry,
    /// The two sides of each game, side by side in memory: those of game `i` at places `2 * i` and `2 * i + 1`. The
    /// final is game 1; the winner of game `i` enters place `i`. A component enters at place `leaves + component`.
    places: Vec<Entry>,
    components: usize,
    armed: u64,
}

/// A component and its wake-up, as one number, so that a comparison takes no branch: the time in the upper half, the
/// counter of wake-ups below it, the component in the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    /// No wake-up.
    const IDLE: Self = Self(u128::MAX);

    #[inline(always)]
    const fn new(at: Instant, order: u64, component: usize) -> Self {
        Self((at.as_nanos() as u128) << 64 | (order << COMPONENT_BITS) as u128 | component as u128)
    }

    #[inline(always)]
    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    #[inline(always)]
    const fn component(self) -> usize {
        self.0 as usize & (MOST_COMPONENTS - 1)
    }
}

/// Sixteen million components leave the counter 40 bits. After 10¹² wake-ups, or a day of computing, it begins anew,
/// and the order of wake-ups at one time is then another, though the same in every run.
const COMPONENT_BITS: u32 = 24;
const MOST_COMPONENTS: usize = 1 << COMPONENT_BITS;

impl EventQueue {
    /// A queue for components `0..components`, without any wake-up.
    #[must_use]
    pub fn new(components: usize) -> Self {
        assert!(components <= MOST_COMPONENTS, "{components} components are more than the queue can number");
        let leaves = components.next_power_of_two().max(2);
        Self { first: Entry::IDLE, places: vec![Entry::IDLE; 2 * leaves], components, armed: 0 }
    }

    /// Adds a component after the last, without a wake-up.
    pub fn add(&mut self) -> usize {
        let component = self.components;
        assert!(component < MOST_COMPONENTS, "the queue can number no more components");
        self.components += 1;
        if component == self.leaves() {
            self.grow();
        }
        component
    }

    /// Doubles the leaves and plays every game anew.
    fn grow(&mut self) {
        let leaves = self.leaves();
        let present = self.places[leaves..].iter().copied();
        let entries: Vec<Entry> = present.chain(std::iter::repeat_n(Entry::IDLE, leaves)).collect();
        self.places = tournament(&entries);
    }

    #[inline(always)]
    const fn leaves(&self) -> usize {
        self.places.len() / 2
    }

    /// Time at which `component` is to be woken.
    #[inline(always)]
    #[must_use]
    pub fn wake_up(&self, component: usize) -> Instant {
        self.places[self.leaves() + component].at()
    }

    /// Wakes `component` at `at`, in place of any wake-up set before; [`Instant::NEVER`] for none.
    /// The same time as before keeps its place among equals.
    #[inline(always)]
    pub fn set(&mut self, component: usize, at: Instant) {
        if self.wake_up(component) != at {
            self.move_to(component, at);
        }
    }

    #[inline(never)]
    fn move_to(&mut self, component: usize, at: Instant) {
        let entry = self.entry(component, at);
        self.replay(component, entry);
    }

    /// Wakes `component` at `at` at the latest: an earlier wake-up stands.
    #[inline(always)]
    pub fn set_at_latest(&mut self, component: usize, at: Instant) {
        if at < self.wake_up(component) {
            self.move_to(component, at);
        }
    }

    /// The time of the next wake-up, or never.
    #[inline(always)]
    #[must_use]
    pub const fn next_time(&self) -> Instant {
        self.first.at()
    }

    /// The component that is woken next. Meaningless if there is no wake-up.
    #[inline(always)]
    #[must_use]
    pub const fn next_component(&self) -> usize {
        self.first.component()
    }

    /// The next wake-up and its component.
    #[must_use]
    pub fn next(&self) -> Option<(Instant, usize)> {
        (self.next_time() != Instant::NEVER).then(|| (self.next_time(), self.next_component()))
    }

    #[inline(always)]
    fn entry(&mut self, component: usize, at: Instant) -> Entry {
        if at == Instant::NEVER {
            return Entry::IDLE;
        }
        self.armed += 1;
        Entry::new(at, self.armed, component)
    }

    /// Plays the games of a component whose wake-up has changed, against the winner on the other side of each.
    #[inline(always)]
    fn replay(&mut self, component: usize, changed: Entry) {
        let mut winner = changed;
        let mut place = self.leaves() + component;
        while place > 1 {
            if self.places[place] == winner {
                // As it was before: nothing changes further up.
                return;
            }
            self.places[place] = winner;
            winner = winner.min(self.places[place ^ 1]);
            place /= 2;
        }
        self.first = winner;
    }
}

/// All games between these, whose number is a power of two.
fn tournament(entries: &[Entry]) -> Vec<Entry> {
    let mut places = vec![Entry::IDLE; entries.len()];
    places.extend(entries);
    for game in (2..entries.len()).rev() {
        places[game] = places[2 * game].min(places[2 * game + 1]);
    }
    places
}
