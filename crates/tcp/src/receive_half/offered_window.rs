//! The window that a receiver offers: its right edge, and the rules by which the edge moves (RFC 9293 §3.8.6.2.2).

use std::sync::Arc;

use units::{Bytes, Seq};

use crate::window::{Arrived, Held, Membership, PacketBuffer, PacketMemory, Pool, Steps, Traits, Window};

/// The window offered.
#[derive(Debug)]
pub(super) struct OfferedWindow {
    policy: Box<dyn Window>,
    /// Its part in a pool, where other connections use a part of the window.
    membership: Option<Membership>,
    /// The constants of the policy.
    traits: Traits,
    /// The largest window that the policy ever offers.
    greatest: Bytes,
    /// The right edge: RCV.NXT + RCV.WND.
    edge: Seq,
    /// The acknowledgment number with which it was advertised last (`rcv_wup`).
    advertised_with: Seq,
}

impl OfferedWindow {
    pub(super) fn new(policy: Box<dyn Window>, greatest: Bytes) -> Self {
        let traits = policy.traits();
        Self {
            policy,
            membership: traits.sharing.map(|_| Membership::default()),
            traits,
            greatest,
            edge: Seq::default(),
            advertised_with: Seq::default(),
        }
    }

    /// Back to before the handshake, with a fresh policy.
    pub(super) fn restart(self, policy: Box<dyn Window>) -> Self {
        let membership = self.membership;
        Self { membership, ..Self::new(policy, self.greatest) }
    }

    /// Shares the window with the connections of `pool`, where the policy wants that.
    pub(super) fn join(&mut self, pool: &Arc<Pool>) {
        if let Some(membership) = &mut self.membership {
            membership.join(pool);
        }
    }

    /// The peer's stream begins at `next`, with a closed window.
    pub(super) fn start(&mut self, next: Seq) {
        if let Some(membership) = &mut self.membership {
            membership.enter();
        }
        (self.edge, self.advertised_with) = (next, next);
    }

    /// The peer's stream has ended, or the connection has.
    pub(super) fn leave(&mut self) {
        if let Some(membership) = &mut self.membership {
            membership.leave();
        }
    }

    /// The right edge.
    #[inline]
    pub(super) const fn edge(&self) -> Seq {
        self.edge
    }

    /// Moves the right edge to `edge`.
    pub(super) const fn open_to(&mut self, edge: Seq) {
        self.edge = edge;
    }

    /// Whether the policy observes arriving data ([`OfferedWindow::on_data`]).
    #[inline]
    pub(super) const fn observes_data(&self) -> bool {
        self.traits.observes_data
    }

    /// Data have arrived; returns whether more will be offered for them.
    pub(super) fn on_data(&mut self, arrived: &Arrived) -> bool {
        self.policy.on_data(arrived)
    }

    /// The window of a SYN, from an end that announces `mss`.
    pub(super) fn on_syn(&mut self, held: Held, mss: Bytes) -> Bytes {
        if self.membership.is_some() { self.room(held) } else { self.policy.on_syn(mss) }
    }

    /// The memory that packets take, where it counts.
    #[inline]
    pub(super) const fn packets(&self) -> Option<PacketMemory> {
        self.traits.packets
    }

    /// The buffer, where packets take memory in it.
    #[inline]
    pub(super) fn buffer(&self) -> Option<PacketBuffer> {
        self.traits.packets.and_then(|_| self.policy.buffer())
    }

    /// The policy, for its rules about the memory of packets.
    pub(super) fn policy(&mut self) -> &mut dyn Window {
        &mut *self.policy
    }

    /// Room to offer.
    #[inline]
    pub(super) fn room(&mut self, mut held: Held) -> Bytes {
        if let Some(membership) = &mut self.membership {
            held.shared = membership.report(held.unread.0);
        }
        self.policy.room(&held)
    }

    /// The window field, scaled by `shift`, of a segment that acknowledges `ack`, where RCV.NXT is `next` and segments
    /// are up to `segment` long. Moves the right edge.
    pub(super) fn offer(&mut self, next: Seq, ack: Seq, shift: u8, held: Held, segment: Bytes) -> u16 {
        let ahead = if ack.before(next) { next.since(ack) } else { 0 };
        let offered = Bytes(u64::from(if ack.before(self.edge) { self.edge.since(ack) } else { 0 }));
        let advertised = self.advertised();
        self.advertised_with = ack;
        let greatest = self.greatest + Bytes(u64::from(ahead));
        if offered.0 >> shift >= greatest.0 >> shift && !offered.is_zero() && self.membership.is_none() {
            // The window is open as wide as it can be, and the edge stays.
            return u16::try_from(offered.0 >> shift).unwrap_or(u16::MAX);
        }
        let room = self.room(held) + Bytes(u64::from(ahead));
        let window = match self.traits.steps {
            Steps::Worthwhile => self.by_worthwhile_steps(room, offered, segment),
            Steps::Linux => by_steps_of_linux(room, offered, advertised, segment, shift),
        };
        let field = u16::try_from(window.0 >> shift).unwrap_or(u16::MAX);
        let window = Bytes(u64::from(field) << shift);
        if window > offered {
            self.edge = ack + u32::try_from(window.0).expect("a window is below 2^30");
        }
        field
    }

    /// The window as the last ACK has advertised it (`rcv_wnd`).
    pub(super) fn advertised(&self) -> Bytes {
        Bytes(u64::from(self.edge.since(self.advertised_with)))
    }

    /// Whether reading has opened a window that was too small to use, so that the peer may be waiting for an update.
    pub(super) fn is_reopened(&mut self, next: Seq, shift: u8, held: Held, segment: Bytes) -> bool {
        let (offered, step) = (Bytes(u64::from(self.edge.since(next))), self.least_step(segment));
        if self.traits.steps == Steps::Linux {
            let window = by_steps_of_linux(self.room(held), offered, self.advertised(), segment, shift);
            return !window.is_zero() && window >= offered * 2;
        }
        if offered >= step && self.membership.is_none() {
            return false;
        }
        // Connections that share a window learn of each other's reading by this call.
        let room = self.room(held);
        let in_field_units = Bytes(room.0 >> shift << shift);
        offered < step && in_field_units >= offered + step
    }

    /// The edge moves by worthwhile steps only, and never back.
    fn by_worthwhile_steps(&self, room: Bytes, offered: Bytes, segment: Bytes) -> Bytes {
        let grows = room >= offered + self.least_step(segment)
            || (room > offered && offered.is_zero() && room == self.greatest);
        if grows { room } else { offered }
    }

    /// The least step by which the right edge moves: half the buffer or a full segment.
    fn least_step(&self, segment: Bytes) -> Bytes {
        (self.greatest / 2).min(segment.max(Bytes(1)))
    }
}

/// `__tcp_select_window` and `tcp_select_window`: a scaled window is rounded up to what its field can say, another one
/// down to segments, unless the one `advertised` last is within a segment of the room. What is `offered` stays.
fn by_steps_of_linux(room: Bytes, offered: Bytes, advertised: Bytes, segment: Bytes, shift: u8) -> Bytes {
    let unit = 1 << shift;
    let window = if shift > 0 {
        Bytes(room.0.next_multiple_of(unit))
    } else if advertised > room || advertised + segment <= room {
        segment.max(Bytes(1)) * room.whole(segment.max(Bytes(1)))
    } else {
        advertised
    };
    window.max(Bytes(offered.0.next_multiple_of(unit)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SEGMENT: Bytes = Bytes(1000);

    fn window(bytes: u64) -> OfferedWindow {
        let profile = json!({ "window": { "fixed": { "size": format!("{bytes} bytes") } } });
        let config = crate::Config::from_profile(&profile).expect("a profile");
        OfferedWindow::new(config.window.build(), Bytes(bytes))
    }

    fn unread(bytes: u64) -> Held {
        Held { unread: Bytes(bytes), ..Held::default() }
    }

    #[test]
    fn the_edge_moves_by_a_segment_at_least_and_never_back() {
        let mut window = window(10_000);
        assert_eq!(window.offer(Seq(0), Seq(0), 0, unread(0), SEGMENT), 10_000);
        assert_eq!(window.offer(Seq(4000), Seq(4000), 0, unread(4000), SEGMENT), 6000);
        assert_eq!(window.offer(Seq(4000), Seq(4000), 0, unread(3001), SEGMENT), 6000, "a silly step");
        assert_eq!(window.offer(Seq(4000), Seq(4000), 0, unread(3000), SEGMENT), 7000);
        assert_eq!(window.offer(Seq(4000), Seq(4000), 0, unread(9000), SEGMENT), 7000);
    }

    #[test]
    fn a_window_that_was_too_small_is_reopened_by_reading_a_segment() {
        let mut window = window(10_000);
        window.offer(Seq(0), Seq(0), 0, unread(0), SEGMENT);
        assert!(!window.is_reopened(Seq(5000), 0, unread(0), SEGMENT), "half of it was still open");
        assert!(!window.is_reopened(Seq(9500), 0, unread(8600), SEGMENT));
        assert!(window.is_reopened(Seq(9500), 0, unread(8500), SEGMENT));
    }
}
