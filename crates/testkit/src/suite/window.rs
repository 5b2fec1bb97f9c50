//! Every advertised-window policy.

use registry::Algorithm;
use tcp::window::{ENTRIES, Held, Window};
use units::Bytes;

use super::{Case, CheckResult, build, each, ensure};

pub(super) fn cases() -> Vec<Case> {
    each(
        "window",
        ENTRIES,
        &[
            ("an_empty_buffer_offers_the_most", empty_is_most),
            ("more_held_never_means_more_room", more_held_less_room),
        ],
    )
}

fn empty_is_most(entry: &'static Algorithm<dyn Window>) -> CheckResult {
    let mut window = build(entry);
    let room = window.room(&Held::default());
    // A window that follows what arrives begins lower.
    let most = room == window.greatest() || (window.traits().observes_data && room <= window.greatest());
    ensure(most, || format!("{room} of {}", window.greatest()))?;
    // RFC 7323 §2.3: no shift can say more.
    ensure(room.0 < 1 << 30, || format!("{room} is more than can be said"))
}

fn more_held_less_room(entry: &'static Algorithm<dyn Window>) -> CheckResult {
    let mut window = build(entry);
    let step = window.greatest().0 / 50;
    let mut before = [Bytes::MAX; 101];
    for unread in 0..=100_u64 {
        let mut left = Bytes::MAX;
        for (out_of_order, above) in (0..=100_u64).zip(&mut before) {
            let (unread, out_of_order) = (Bytes(unread * step), Bytes(out_of_order * step));
            let held = Held { unread, out_of_order, memory: unread + out_of_order, ..Held::default() };
            let room = window.room(&held);
            ensure(room <= left && room <= *above, || format!("{held:?}: {room}"))?;
            (left, *above) = (room, room);
        }
    }
    Ok(())
}
