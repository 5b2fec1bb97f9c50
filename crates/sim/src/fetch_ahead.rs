//! Fetching ahead. Where many packets are under way, the packets that leave a link next, and their endpoints, have long
//! been displaced from the processor's cache. The link knows which packets these are, so the processor is asked for
//! their memory while earlier packets are handled. No result depends on it.

use std::ptr;

use crate::engine::Engine;
use crate::ids::DirectionId;
use crate::packet::PacketBox;

impl<R> Engine<R> {
    /// Fetches packets that leave a link soon, then their connections, and last their endpoints: each step reads what
    /// the step before has fetched.
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

/// Asks the processor to fetch the memory of a value.
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
    // SAFETY: a prefetch changes nothing that a program can observe, and fails for no address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const u8) {}

/// Number of packets for which a cache of the second level has room.
const CACHED_PACKETS: usize = 2_000;

/// Number of connections for which it has room.
const CACHED_CONNECTIONS: usize = 100;

/// Number of packets between two steps: their handling takes longer than memory takes to answer.
const STEP: usize = 2;

const CACHE_LINE: usize = 64;
