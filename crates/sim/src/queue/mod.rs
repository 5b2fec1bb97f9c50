//! The event queue: when each component is to be woken, and which one is next.
//!
//! One entry per component, in a knock-out tournament: of the two in each game, the one with the earlier wake-up goes on
//! to the next. A changed wake-up replays the games of that component from its first on, and stops as soon as the outcome
//! of a game stays the same, so the cost is a handful of comparisons that grows with the logarithm of the number of
//! components. An indexed heap does the same work but must look up a component's place; here each has a fixed one. See
//! Knuth, TAOCP vol. 3, §5.4.1 (trees of winners).

#[cfg(test)]
mod tests;

use units::Instant;

/// When each component is to be woken.
///
/// The order is by time, and at one time the order in which the wake-ups were armed.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// The winner of the final.
    first: Entry,
    /// Both sides of each game, side by side in memory. The final is game 1; the winner of game `i` goes on to game
    /// `i / 2`, on side `i % 2`. A component enters as if it had won the game `leaves + component`.
    games: Vec<[Entry; 2]>,
    components: usize,
    armed: u64,
}

/// A component and its wake-up.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    component: u32,
}

/// Time in the upper half, the counter in the lower: one number, so that a comparison takes no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    const IDLE: Self = Self(u128::MAX);

    const fn new(at: Instant, order: u64) -> Self {
        Self((at.as_nanos() as u128) << 64 | order as u128)
    }

    #[inline(always)]
    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

impl EventQueue {
    /// A queue for components `0..components`, without any wake-up.
    #[must_use]
    pub fn new(components: usize) -> Self {
        let leaves = components.next_power_of_two().max(2);
        let entries: Vec<Entry> = (0..leaves).map(Entry::idle).collect();
        Self { first: entries[0], games: tournament(&entries), components, armed: 0 }
    }

    /// One more component, behind the last, without a wake-up.
    pub fn add(&mut self) -> usize {
        let component = self.components;
        self.components += 1;
        if component == self.leaves() {
            self.grow();
        }
        component
    }

    /// Doubles the leaves and plays every game anew.
    fn grow(&mut self) {
        let leaves = self.leaves();
        let present = self.games[leaves / 2..].iter().flatten().copied();
        let entries: Vec<Entry> = present.chain((leaves..2 * leaves).map(Entry::idle)).collect();
        self.games = tournament(&entries);
    }

    #[inline(always)]
    const fn leaves(&self) -> usize {
        self.games.len()
    }

    /// When `component` is to be woken.
    #[inline(always)]
    #[must_use]
    pub fn wake_up(&self, component: usize) -> Instant {
        let place = self.leaves() + component;
        self.games[place / 2][place % 2].key.at()
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
        let key = self.key(at);
        self.replay(Entry { key, component: component as u32 });
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
        self.first.key.at()
    }

    /// The component that is woken next. Meaningless if there is no wake-up.
    #[inline(always)]
    #[must_use]
    pub const fn next_component(&self) -> usize {
        self.first.component as usize
    }

    /// The next wake-up and its component.
    #[must_use]
    pub fn next(&self) -> Option<(Instant, usize)> {
        (self.next_time() != Instant::NEVER).then(|| (self.next_time(), self.next_component()))
    }

    #[inline]
    fn key(&mut self, at: Instant) -> Key {
        if at == Instant::NEVER {
            return Key::IDLE;
        }
        self.armed += 1;
        Key::new(at, self.armed)
    }

    /// Plays the games of a component whose wake-up has changed, against the winner on the other side of each.
    #[inline]
    fn replay(&mut self, changed: Entry) {
        let mut winner = changed;
        let mut place = self.leaves() + changed.component as usize;
        while place > 1 {
            let [game, side] = [place / 2, place % 2];
            let sides = &mut self.games[game];
            // The winner is another component, which has won this far before: nothing changes further up.
            if winner.component != changed.component && sides[side].component == winner.component {
                return;
            }
            sides[side] = winner;
            winner = winner.against(sides[1 - side]);
            place = game;
        }
        self.first = winner;
    }
}

impl Entry {
    const fn idle(component: usize) -> Self {
        Self { key: Key::IDLE, component: component as u32 }
    }

    /// The one of the two that is woken first. Keys of components with a wake-up differ, by their counters.
    #[inline(always)]
    fn against(self, rival: Self) -> Self {
        if rival.key < self.key { rival } else { self }
    }
}

/// All games between these, whose number is a power of two.
fn tournament(entries: &[Entry]) -> Vec<[Entry; 2]> {
    let mut games = vec![[Entry::idle(0); 2]; entries.len()];
    for (place, entry) in (entries.len()..).zip(entries) {
        games[place / 2][place % 2] = *entry;
    }
    for place in (2..entries.len()).rev() {
        let [left, right] = games[place];
        games[place / 2][place % 2] = left.against(right);
    }
    games
}
