//! Incidents of a connection, in addition to its retransmissions: SYNs and FINs that were lost, resets, closed windows,
//! idle times, and data that the capture lacks.

use serde::Serialize;
use trace::flow::{Flow, ObservedSegment, SegmentKind, Side};
use units::{Duration, Instant, PacketId};
use wire::{Flags, Segment};

use crate::segment_kind::kind_id;

/// An incident of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Incident {
    /// Its kind: "syn_again", "fin_again", "reset", "closed_window", "idle" or "unseen".
    pub kind: &'static str,
    /// Index in `senders` of the side that sent the packet, offered the window, ended the idle time, or whose data are
    /// not in the capture.
    pub side: usize,
    /// Its begin, in seconds from the first packet of the capture.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// The number of its first frame.
    pub frame: u64,
    /// The kind of the packet in that frame, as in tables: of an idle time, that of the packet which ended it.
    pub segment: &'static str,
    /// Number of packets.
    pub packets: u64,
    /// Bytes that are not in the capture.
    pub bytes: u64,
}

/// The incidents of one connection, in the order of their ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incidents {
    found: Vec<Spell>,
    /// The window that each side keeps closed.
    closed: [Option<Spell>; 2],
    last: Option<Instant>,
    /// Whether nothing was in flight after the last packet.
    was_quiet: bool,
    unseen_bytes: [u64; 2],
    left_out: u64,
}

/// An incident with times as they were captured.
#[derive(Clone, Copy, Debug)]
struct Spell {
    kind: &'static str,
    side: Side,
    from: Instant,
    to: Instant,
    frame: PacketId,
    segment: &'static str,
    packets: u64,
    bytes: u64,
}

impl Incidents {
    /// A packet passed, after which the flow is in this state.
    pub(crate) fn on_packet(
        &mut self,
        at: Instant,
        frame: PacketId,
        flow: &Flow,
        segment: &Segment,
        observed: &ObservedSegment,
    ) {
        let side = observed.sender;
        let segment_kind = kind_id(observed.kind);
        let now =
            |kind| Spell { kind, side, from: at, to: at, frame, segment: segment_kind, packets: 1, bytes: 0 };
        if let Some(last) =
            self.last.filter(|last| self.was_quiet && at.saturating_since(*last) >= LEAST_IDLE)
        {
            self.push(Spell { from: last, ..now(IDLE) });
        }
        if matches!(observed.kind, SegmentKind::Retransmission(_)) {
            let control = [(Flags::SYN, "syn_again"), (Flags::FIN, "fin_again")];
            let kind =
                control.into_iter().find(|(flag, _)| segment.flags.contains(*flag)).map(|(_, kind)| kind);
            kind.into_iter().for_each(|kind| self.continue_with(now(kind)));
        }
        if observed.kind == SegmentKind::Reset {
            self.continue_with(now("reset"));
        } else if !segment.flags.contains(Flags::SYN) {
            self.note_window(now("closed_window"), observed.window.is_zero());
        }
        self.note_unseen(now("unseen"), flow, side.peer());
        self.last = Some(at);
        self.was_quiet = [side, side.peer()].iter().all(|side| flow.half(*side).flight().is_zero());
    }

    /// The incidents in the order of time, and the number of omitted incidents.
    pub(crate) fn report(&self, began: Instant) -> (Vec<Incident>, u64) {
        let open =
            self.closed.iter().flatten().map(|spell| Spell { to: self.last.unwrap_or(spell.to), ..*spell });
        let mut all: Vec<_> = self.found.iter().copied().chain(open).collect();
        all.sort_by_key(|spell| (spell.from, spell.frame));
        (all.iter().map(|spell| spell.report(began)).collect(), self.left_out)
    }

    /// A window opens or stays closed.
    fn note_window(&mut self, now: Spell, is_closed: bool) {
        let closed = &mut self.closed[now.side as usize];
        match (closed.as_mut(), is_closed) {
            (Some(spell), true) => spell.packets += 1,
            (None, true) => *closed = Some(now),
            (Some(spell), false) => {
                let ended = Spell { to: now.from, ..*spell };
                *closed = None;
                self.push(ended);
            }
            (None, false) => {}
        }
    }

    /// An acknowledgment shows data of `owner` that are not in the capture.
    fn note_unseen(&mut self, now: Spell, flow: &Flow, owner: Side) {
        let bytes = flow.half(owner).counters().unseen_bytes;
        let before = std::mem::replace(&mut self.unseen_bytes[owner as usize], bytes);
        if bytes > before {
            self.continue_with(Spell { side: owner, bytes: bytes - before, ..now });
        }
    }

    /// Adds to the last incident, if it is of the same kind and side.
    fn continue_with(&mut self, now: Spell) {
        match self.found.last_mut() {
            Some(last) if last.kind == now.kind && last.side == now.side => {
                last.to = now.to;
                last.packets += 1;
                last.bytes += now.bytes;
            }
            _ => self.push(now),
        }
    }

    fn push(&mut self, spell: Spell) {
        if self.found.len() < MOST {
            self.found.push(spell);
        } else {
            self.left_out += 1;
        }
    }
}

impl Spell {
    fn report(&self, began: Instant) -> Incident {
        let seconds = |at: Instant| at.saturating_since(began).as_secs_f64();
        Incident {
            kind: self.kind,
            side: self.side as usize,
            from_s: seconds(self.from),
            to_s: seconds(self.to),
            frame: self.frame.0,
            segment: self.segment,
            packets: self.packets,
            bytes: self.bytes,
        }
    }
}

const IDLE: &str = "idle";
/// Shorter pauses are the application's or the peer's time to answer.
const LEAST_IDLE: Duration = Duration::from_secs(1);
/// Bounds the memory of a connection.
const MOST: usize = 500;
