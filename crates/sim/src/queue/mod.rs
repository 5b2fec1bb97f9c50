//! The event queue: when each component wants to be woken, and who is next.
//!
//! One entry per component, in a tournament tree: the leaves are the components, each inner node
//! names the earlier of its two children. Changing a wake-up replays the games from that leaf
//! upwards and stops as soon as a game's outcome stands, so the cost is a handful of comparisons
//! that grows with the logarithm of the number of components. An indexed heap does the same work
//! but moves entries about; here nothing moves, and the commonest change (a component woken and
//! armed anew) needs no search. See Knuth, TAOCP vol. 3, §5.4.1 (trees of winners).

#[cfg(test)]
mod tests;

use units::Instant;

/// When each component wants to be woken.
///
/// Who is next is decided by time, then by the component's priority (the lower first), then by the
/// order in which the wake-ups were armed.
#[derive(Clone, Debug)]
pub struct EventQueue {
    keys: Vec<Key>,
    priorities: Vec<u8>,
    /// `winners[i]` is the component that wins the game at inner node `i`; the leaves follow from
    /// `winners[leaves]`, the root is node 1.
    winners: Vec<u32>,
    armed: u64,
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
        let leaves = priorities.len().next_power_of_two();
        let mut winners: Vec<u32> = (0..2 * leaves).map(|node| (node % leaves) as u32).collect();
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self { keys: vec![Key::IDLE; leaves], priorities, winners, armed: 0 }
    }

    /// One more component, behind the last, which does not want to be woken yet.
    pub fn add(&mut self, priority: u8) -> usize {
        let component = self.priorities.len();
        self.priorities.push(priority);
        if component == self.keys.len() {
            self.grow();
        }
        component
    }

    /// Twice the leaves, and every game played anew.
    fn grow(&mut self) {
        let leaves = 2 * self.keys.len();
        self.keys.resize(leaves, Key::IDLE);
        self.winners = (0..2 * leaves).map(|node| (node % leaves) as u32).collect();
        for node in (1..leaves).rev() {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let right_wins = self.keys[right as usize] < self.keys[left as usize];
            self.winners[node] = if right_wins { right } else { left };
        }
    }

    /// Wakes `component` at `at` and not when it wanted before; [`Instant::NEVER`] lets it sleep.
    /// The same time as before keeps its place among equals.
    #[inline(always)]
    pub fn set(&mut self, component: usize, at: Instant) {
        if self.keys[component].at() != at {
            self.move_to(component, at);
        }
    }

    #[inline(never)]
    fn move_to(&mut self, component: usize, at: Instant) {
        self.keys[component] = self.key(component, at);
        self.replay(component);
    }

    /// Wakes `component` at `at` at the latest: an earlier wake-up stands. For timers that are
    /// pushed ahead again and again and hardly ever run out: the component that is woken early
    /// finds nothing due, and [`EventQueue::set`]s the right time.
    #[inline]
    pub fn set_at_latest(&mut self, component: usize, at: Instant) {
        if at < self.keys[component].at() {
            self.set(component, at);
        }
    }

    /// The next wake-up and whose it is.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<(Instant, usize)> {
        let winner = self.winners[1] as usize;
        let at = self.keys[winner].at();
        (at != Instant::NEVER).then_some((at, winner))
    }

    /// When `component` wants to be woken.
    #[must_use]
    pub fn wake_up(&self, component: usize) -> Instant {
        self.keys[component].at()
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
    fn replay(&mut self, component: usize) {
        let mut node = self.keys.len() + component;
        let (mut winner, mut best) = (component as u32, self.keys[component]);
        while node > 1 {
            let rival = self.winners[node ^ 1];
            let theirs = self.keys[rival as usize];
            if theirs < best {
                (winner, best) = (rival, theirs);
            }
            node /= 2;
            // Another winner than us who stays the winner: nothing changes further up.
            if self.winners[node] == winner && winner as usize != component {
                return;
            }
            self.winners[node] = winner;
        }
    }
}

/// The counter has 56 bits: at ten million wake-ups a second it lasts two centuries.
const PRIORITY_SHIFT: u32 = 56;
