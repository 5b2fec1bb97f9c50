use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The obvious queue: a sorted map of keys.
#[derive(Default)]
struct Model {
    entries: BTreeMap<(Instant, u64), usize>,
    armed: u64,
}

impl Model {
    fn set(&mut self, component: usize, at: Instant) {
        let old = self.entries.iter().find(|(_, owner)| **owner == component).map(|(key, _)| *key);
        if old.map_or(Instant::NEVER, |key| key.0) == at {
            return;
        }
        if let Some(key) = old {
            self.entries.remove(&key);
        }
        if at != Instant::NEVER {
            self.armed += 1;
            self.entries.insert((at, self.armed), component);
        }
    }

    fn next(&self) -> Option<(Instant, usize)> {
        self.entries.first_key_value().map(|(key, component)| (key.0, *component))
    }
}

fn wake_up() -> impl Strategy<Value = Instant> {
    prop_oneof![1 => Just(Instant::NEVER), 6 => (0_u64..20).prop_map(Instant::from_nanos)]
}

proptest! {
    #[test]
    fn the_next_wake_up_is_the_one_of_a_sorted_map(
        components in 1_usize..70,
        changes in prop::collection::vec((any::<prop::sample::Index>(), wake_up()), 1..300),
    ) {
        let mut queue = EventQueue::new(components);
        let mut model = Model::default();
        prop_assert_eq!(queue.next(), None);
        for (component, at) in changes {
            let component = component.index(components);
            queue.set(component, at);
            model.set(component, at);
            prop_assert_eq!(queue.next(), model.next());
        }
    }

    #[test]
    fn draining_gives_the_order_of_a_sorted_map(
        components in 1_usize..40,
        times in prop::collection::vec(0_u64..10, 40),
    ) {
        let mut queue = EventQueue::new(components);
        let mut model = Model::default();
        for (component, time) in (0..components).zip(times) {
            queue.set(component, Instant::from_nanos(time));
            model.set(component, Instant::from_nanos(time));
        }
        while let Some((at, component)) = queue.next() {
            prop_assert_eq!(model.next(), Some((at, component)));
            queue.set(component, Instant::NEVER);
            model.set(component, Instant::NEVER);
        }
        prop_assert_eq!(model.next(), None);
    }
}

#[test]
fn among_equals_the_earlier_armed_goes_first() {
    let mut queue = EventQueue::new(3);
    let at = Instant::from_nanos(5);
    for component in [0, 2, 1] {
        queue.set(component, at);
    }
    let mut order = Vec::new();
    while let Some((_, component)) = queue.next() {
        order.push(component);
        queue.set(component, Instant::NEVER);
    }
    assert_eq!(order, [0, 2, 1]);
}

#[test]
fn arming_for_the_same_time_keeps_the_place() {
    let mut queue = EventQueue::new(2);
    let at = Instant::from_nanos(5);
    queue.set(0, at);
    queue.set(1, at);
    queue.set(0, at);
    assert_eq!(queue.next(), Some((at, 0)));
}

#[test]
fn at_the_latest_keeps_an_earlier_wake_up() {
    let mut queue = EventQueue::new(1);
    let [early, late] = [3, 9].map(Instant::from_nanos);
    queue.set_at_latest(0, late);
    assert_eq!(queue.wake_up(0), late);
    queue.set_at_latest(0, early);
    assert_eq!(queue.wake_up(0), early);
    queue.set_at_latest(0, late);
    queue.set_at_latest(0, Instant::NEVER);
    assert_eq!(queue.wake_up(0), early);
}

#[test]
fn a_lone_component_needs_no_games() {
    let mut queue = EventQueue::new(1);
    assert_eq!(queue.next(), None);
    queue.set(0, Instant::from_nanos(7));
    assert_eq!(queue.next(), Some((Instant::from_nanos(7), 0)));
    assert_eq!(queue.wake_up(0), Instant::from_nanos(7));
}
