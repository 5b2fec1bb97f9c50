//! The two ends of a split connection at a proxy, and the bytes between them.
//!
//! The end at [`Side::To`] stands for the flow's `to` before its `from`, and the end at [`Side::From`] for its `from`
//! before its `to`. Order of calls: [`Relay::handle_segment`] and [`Relay::handle_timeout`], after either
//! [`Relay::poll_transmit`] at both sides until `None`, and [`Relay::take_notes`].

use std::sync::Arc;

use tcp::{Config, Endpoint, Event, Kind, Ports};
use units::{Bytes, Instant, PerSide, Seq, Side};
use wire::{Flags, Segment};

use crate::agent::What;

/// A split connection at a proxy.
#[derive(Debug)]
pub struct Relay {
    /// The TCPs of the ends, and their first sequence numbers.
    configs: PerSide<Arc<Config>>,
    initial: PerSide<Seq>,
    recording: bool,
    buffer: Bytes,
    ends: PerSide<Option<Box<Endpoint>>>,
    /// The stream that the host of a side sends.
    streams: PerSide<Stream>,
    connected: PerSide<bool>,
    over: PerSide<bool>,
    notes: Vec<(Side, What, Bytes)>,
}

/// One direction of bytes through the proxy.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Bytes read from the connection on which they come, and written to the other.
    relayed: Bytes,
    /// Whether its end has come, and whether it was passed on.
    has_ended: bool,
    is_closed: bool,
    /// Whether the last attempt to read met a full buffer.
    is_full: bool,
    most_ahead: Bytes,
    most_buffered: Bytes,
}

impl Relay {
    /// A relay that waits for the first SYN. `configs` are the TCPs of its ends.
    #[must_use]
    pub fn new(configs: PerSide<Arc<Config>>, initial: PerSide<Seq>, buffer: Bytes, recording: bool) -> Self {
        Self {
            configs,
            initial,
            recording,
            buffer,
            ends: PerSide::default(),
            streams: PerSide::default(),
            connected: PerSide::default(),
            over: PerSide::default(),
            notes: Vec::new(),
        }
    }

    /// A segment for the host of `side` has come to the proxy, whose end stands for it.
    pub fn handle_segment(&mut self, now: Instant, side: Side, segment: &Segment) {
        if self.ends[side].is_none() {
            if !segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::ACK) {
                return;
            }
            self.open(side, segment);
        }
        if let Some(end) = &mut self.ends[side] {
            end.handle_segment(now, segment);
        }
        self.settle();
    }

    /// Time at which [`Relay::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Instant {
        let due = self.ends.iter().flatten().filter_map(|end| end.poll_timeout());
        due.min().unwrap_or(Instant::NEVER)
    }

    /// A timer of an end has expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        for end in self.ends.iter_mut().flatten() {
            if end.poll_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
            }
        }
        self.settle();
    }

    /// The next segment of the end at `side`, for the host at the other side.
    pub fn poll_transmit(&mut self, now: Instant, side: Side, out: &mut Segment) -> Option<Kind> {
        self.ends[side].as_mut()?.poll_transmit_into(now, out)
    }

    /// The end at `side`, once there was a SYN.
    #[must_use]
    pub fn end(&self, side: Side) -> Option<&Endpoint> {
        self.ends[side].as_deref()
    }

    /// The end at `side`, for the records of its decisions.
    pub fn end_mut(&mut self, side: Side) -> Option<&mut Endpoint> {
        self.ends[side].as_deref_mut()
    }

    /// What has happened since the last call: the side whose stream it is about, and the bytes that are in the proxy.
    pub fn take_notes(&mut self) -> Vec<(Side, What, Bytes)> {
        std::mem::take(&mut self.notes)
    }

    /// Bytes that the host of `side` knows as delivered and that the other host has not acknowledged.
    #[must_use]
    pub fn ahead(&self, side: Side) -> Bytes {
        let [near, far] = [self.end(side.other()), self.end(side)];
        let received = near.map_or(Bytes::ZERO, Endpoint::received);
        received.saturating_sub(far.map_or(Bytes::ZERO, Endpoint::acked))
    }

    /// The most of [`Relay::ahead`] so far.
    #[must_use]
    pub fn most_ahead(&self, side: Side) -> Bytes {
        self.streams[side].most_ahead
    }

    /// The most bytes of the host of `side` that were read here and not acknowledged.
    #[must_use]
    pub fn most_buffered(&self, side: Side) -> Bytes {
        self.streams[side].most_buffered
    }

    /// Bytes of the host of `side` that were relayed.
    #[must_use]
    pub fn relayed(&self, side: Side) -> Bytes {
        self.streams[side].relayed
    }

    /// The first SYN: one end listens to it, the other connects onwards with the ports of the SYN.
    fn open(&mut self, side: Side, syn: &Segment) {
        let onwards = Ports { local: syn.source_port, remote: syn.destination_port };
        let opener = side.other();
        let listening = Endpoint::listen(&self.configs[side], syn.destination_port, self.initial[side]);
        let connecting = Endpoint::connect(&self.configs[opener], onwards, self.initial[opener]);
        self.ends[side] = Some(Box::new(listening));
        self.ends[opener] = Some(Box::new(connecting));
        let recording = self.recording;
        self.ends.iter_mut().flatten().for_each(|end| end.set_recording(recording));
    }

    /// Carries bytes, ends and resets from either end to the other.
    fn settle(&mut self) {
        for side in Side::BOTH {
            self.relay(side);
        }
        for side in Side::BOTH {
            while let Some(event) = self.ends[side].as_mut().and_then(|end| end.poll_event()) {
                self.on_event(side, event);
            }
        }
        for side in Side::BOTH {
            self.close_if_relayed(side);
            self.streams[side].most_ahead = self.streams[side].most_ahead.max(self.ahead(side));
        }
    }

    /// Bytes of the host of `side`.
    fn relay(&mut self, side: Side) {
        let [from, to] = self.ends.each_mut().into_array();
        let (near, far) = match side {
            Side::From => (to, from),
            Side::To => (from, to),
        };
        let (Some(near), Some(far)) = (near, far) else { return };
        let stream = &mut self.streams[side];
        let mut moved = Bytes::ZERO;
        loop {
            let buffered = stream.relayed.saturating_sub(far.acked());
            stream.most_buffered = stream.most_buffered.max(buffered);
            if buffered >= self.buffer {
                if !std::mem::replace(&mut stream.is_full, true) {
                    self.notes.push((side, What::Full, buffered));
                }
                break;
            }
            let Some(payload) = near.read() else {
                stream.is_full = false;
                break;
            };
            let len = Bytes(payload.len().into());
            (stream.relayed, moved) = (stream.relayed.saturating_add(len), moved.saturating_add(len));
            far.write(payload);
        }
        if !moved.is_zero() {
            self.notes.push((side, What::Relayed, stream.relayed.saturating_sub(far.acked())));
        }
    }

    fn on_event(&mut self, side: Side, event: Event) {
        match event {
            Event::Connected => self.connected[side] = true,
            // The end at a side hears of the stream of the host at the other.
            Event::PeerClosed => self.streams[side.other()].has_ended = true,
            Event::Closed => self.over[side] = true,
            Event::Reset(_) => self.on_reset(side),
            _ => {}
        }
    }

    /// A connection is gone: the other is reset at once, and what the proxy still had for it is lost.
    fn on_reset(&mut self, side: Side) {
        if std::mem::replace(&mut self.over[side], true) {
            return;
        }
        let other = side.other();
        if let Some(end) = self.ends[other].as_mut().filter(|_| !self.over[other]) {
            self.over[other] = true;
            end.abort();
            let lost = self.ahead(side.other()).saturating_add(self.ahead(side));
            self.notes.push((side, What::Reset, lost));
        }
    }

    /// The end of the stream of the host of `side` follows its last byte.
    fn close_if_relayed(&mut self, side: Side) {
        let stream = &mut self.streams[side];
        let Some(far) = self.ends[side].as_mut() else { return };
        if stream.has_ended && !stream.is_full && !stream.is_closed && self.connected[side] {
            stream.is_closed = true;
            far.close();
            self.notes.push((side, What::Ended, stream.relayed.saturating_sub(far.acked())));
        }
    }
}

#[cfg(test)]
mod tests;
