//! The event queue: when each component wants to be woken, and who is next.
//!
//! One entry per component, in a knock-out tournament: each game is played by two, and the one that is
//! woken earlier goes on to the next. Changing a wake-up replays the games of that component from its
//! first on, and stops as soon as a game's outcome stands, so the cost is a handful of comparisons
//! that grows with the logarithm of the number of components. An indexed heap does the same work
//! but must look for a component's place; here it has one for good, and the commonest change (a component
//! woken and armed anew) needs no search. See Knuth, TAOCP vol. 3, §5.4.1 (trees of winners).

#[cfg(test)]
mod tests;

use units::Instant;

/// When each component wants to be woken.
///
/// Who is next is decided by time, then by the component's priority (the lower first), then by the
/// order in which the wake-ups were armed.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Who won them all.
    first: Entry,
    /// Both sides of each game, side by side: to play it is to look at one place. The final is game 1; the
    /// winner of game `i` goes on to game `i / 2`, on side `i % 2`. A component comes in as if it had won the game
    /// `leaves + component`.
    games: Vec<[Entry; 2]>,
    priorities: Vec<u8>,
    armed: u64,
}

/// A component and its wake-up.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    component: u32,
}

/// Time in the upper half; priority in the top byte of the lower, then the counter. One number, so
/// that a comparison takes no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    const IDLE: Self = Self(u128::MAX);

    const fn new(at: Instant, order: u64) -> Self {
        Self((at.as_nanos() as u128) << 64 | order as u128)
    }

    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

impl EventQueue {
    /// A queue for components `0..priorities.len()`, none of which wants to be woken yet.
    #[must_use]
    pub fn new(priorities: Vec<u8>) -> Self {
        let leaves = priorities.len().next_power_of_two().max(2);
        let entries: Vec<Entry> = (0..leaves).map(Entry::idle).collect();
        Self { first: entries[0], games: tournament(&entries), priorities, armed: 0 }
    }

    /// One more component, behind the last, which does not want to be woken yet.
    pub fn add(&mut self, priority: u8) -> usize {
        let component = self.priorities.len();
        self.priorities.push(priority);
        if component == self.leaves() {
            self.grow();
        }
        component
    }

    /// Twice the leaves, and every game played anew.
    fn grow(&mut self) {
        let leaves = self.leaves();
        let present = self.games[leaves / 2..].iter().flatten().copied();
        let entries: Vec<Entry> = present.chain((leaves..2 * leaves).map(Entry::idle)).collect();
        self.games = tournament(&entries);
    }

    const fn leaves(&self) -> usize {
        self.games.len()
    }

    #[inline]
    fn wake_up_of(&self, component: usize) -> Instant {
        let place = self.leaves() + component;
        self.games[place / 2][place % 2].key.at()
    }

    /// Wakes `component` at `at` and not when it wanted before; [`Instant::NEVER`] lets it sleep.
    /// The same time as before keeps its place among equals.
    #[inline(always)]
    pub fn set(&mut self, component: usize, at: Instant) {
        if self.wake_up_of(component) != at {
            self.move_to(component, at);
        }
    }

    #[inline(never)]
    fn move_to(&mut self, component: usize, at: Instant) {
        let key = self.key(component, at);
        self.replay(Entry { key, component: component as u32 });
    }

    /// Wakes `component` at `at` at the latest: an earlier wake-up stands. For timers that are
    /// pushed ahead again and again and hardly ever run out: the component that is woken early
    /// finds nothing due, and [`EventQueue::set`]s the right time.
    #[inline]
    pub fn set_at_latest(&mut self, component: usize, at: Instant) {
        if at < self.wake_up_of(component) {
            self.set(component, at);
        }
    }

    /// The next wake-up and whose it is.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<(Instant, usize)> {
        let Entry { key, component } = self.first;
        (key.at() != Instant::NEVER).then_some((key.at(), component as usize))
    }

    /// When `component` wants to be woken.
    #[must_use]
    pub fn wake_up(&self, component: usize) -> Instant {
        self.wake_up_of(component)
    }

    #[inline]
    fn key(&mut self, component: usize, at: Instant) -> Key {
        if at == Instant::NEVER {
            return Key::IDLE;
        }
        self.armed += 1;
        Key::new(at, u64::from(self.priorities[component]) << PRIORITY_SHIFT | self.armed)
    }

    /// Plays the games of a component whose wake-up has changed, against the winner on the other side of each.
    #[inline]
    fn replay(&mut self, changed: Entry) {
        let mut winner = changed;
        let mut place = self.leaves() + changed.component as usize;
        while place > 1 {
            let [game, side] = [place / 2, place % 2];
            let sides = &mut self.games[game];
            // Another winner than us, who has won this far before: nothing changes further up.
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

    /// Who of the two is woken first. Keys of components that are awake differ, by their counters.
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

/// The counter has 56 bits: at ten million wake-ups a second it lasts two centuries.
const PRIORITY_SHIFT: u32 = 56;
