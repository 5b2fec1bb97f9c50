//! Fetching ahead: where many packets are under way, those that leave a link next, and the ends that they are for, have
//! long been displaced from the processor's cache. The link knows which packets these are, so their memory is asked for
//! while earlier ones are being handled. Nothing else depends on it.

use std::ptr;

use crate::engine::Engine;
use crate::ids::DirectionId;
use crate::packet::PacketBox;

impl<R> Engine<R> {
    /// Fetches packets that leave a link soon, then the connections, and last the endpoints that they are for: each step
    /// reads what the one before has fetched.
    #[inline(always)]
    pub(crate) fn fetch_ahead(&self, direction: DirectionId) {
        if self.links[direction].link.packets_inside() > CACHED_PACKETS {
            self.fetch(direction);
        }
    }

    #[inline(never)]
    fn fetch(&self, direction: DirectionId) {
        let upcoming = |places| self.links[direction].link.upcoming(places);
        if let Some(PacketBox(packet)) = upcoming(STEP * 3) {
            prefetch(&**packet);
        }
        if self.connections.len() < CACHED_CONNECTIONS {
            return;
        }
        let end_of = |PacketBox(packet): &PacketBox| packet.destination;
        if let Some(end) = upcoming(STEP * 2).map(end_of)
            && let Some(connection) = self.connections.get(end.connection())
        {
            prefetch(connection);
        }
        if let Some(end) = upcoming(STEP).map(end_of)
            && let Some(connection) = self.connections.get(end.connection())
            && let Some(endpoint) = &connection.ends[end.side()].endpoint
        {
            prefetch(&**endpoint);
        }
    }
}

/// Asks the processor to fetch the memory of a value, which is going to be looked at.
#[inline(always)]
fn prefetch<T>(value: &T) {
    for line in (0..size_of::<T>()).step_by(CACHE_LINE) {
        prefetch_line(ptr::from_ref(value).cast::<u8>().wrapping_add(line));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch changes nothing that a program can see, and of no address does it fail.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const u8) {}

/// So many packets have room in a cache of the second level.
const CACHED_PACKETS: usize = 2_000;

/// So many connections have room there.
const CACHED_CONNECTIONS: usize = 100;

/// Packets between two steps: the handling of so many takes longer than memory does to answer.
const STEP: usize = 2;

const CACHE_LINE: usize = 64;
