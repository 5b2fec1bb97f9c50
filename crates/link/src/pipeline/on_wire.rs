//! The form of a packet on the wire: its headers compressed, its octets stuffed.
//!
//! The compressor takes a packet as it leaves the input queue, as SLIP and PPP drivers do: a packet that the queue
//! drops has not touched its state. Its size changes there; the queue counts whole headers. The decompressor takes it
//! as it leaves the receive buffer, in the order in which packets leave.

use units::{Bytes, Duration, Instant, PacketId, Streams};

use super::Pipeline;
use crate::compression::{CompressedPacket, HeaderCompression, HeaderKind};
use crate::config::Config;
use crate::counters::WireCounters;
use crate::event::{ErrorCause, Event, Observer};
use crate::packet::Packet;
use crate::store::Handle;
use crate::stuffing::Stuffer;

/// What happens to packets between the queue and the wire, and after it.
#[derive(Debug)]
pub(super) struct WireStage {
    compression: Option<HeaderCompression>,
    stuffer: Option<Stuffer>,
    framing: Bytes,
    /// The packets that have left the queue, by their handles.
    inside: Vec<Option<Inside>>,
}

#[derive(Clone, Debug)]
struct Inside {
    packet: CompressedPacket,
    is_damaged: bool,
}

impl WireStage {
    /// The stage, if the configuration has anything of it.
    pub(super) fn new(config: &Config, streams: &Streams) -> Option<Box<Self>> {
        if config.compression.is_none() && config.stuffing.is_none() {
            return None;
        }
        let back = config.propagation.mean().map_or(Duration::ZERO, |mean| Duration::from_nanos(mean as u64));
        let compression = config.compression.as_ref();
        Some(Box::new(Self {
            compression: compression.map(|config| HeaderCompression::new(config, back)),
            stuffer: config.stuffing.map(|config| Stuffer::new(config, streams)),
            framing: config.framing,
            inside: Vec::new(),
        }))
    }

    /// The size on the wire of a packet that leaves the queue, framing included.
    fn encode(
        &mut self,
        now: Instant,
        handle: Handle,
        packet: &impl Packet,
        counters: &mut WireCounters,
    ) -> (Bytes, HeaderKind) {
        let compressed = match &mut self.compression {
            Some(compression) => compression.compress(now, packet),
            None => CompressedPacket::plain(packet),
        };
        let kind = compressed.encoded.kind;
        let size = compressed.size(packet.size());
        let payload = size.0.saturating_sub(u64::from(compressed.encoded.length));
        let identity = (packet.id(), packet.flow_key());
        let escaped =
            self.stuffer.as_ref().map_or(0, |stuffer| stuffer.escaped(&compressed, identity, payload));
        let size = size + self.framing + Bytes(escaped);
        if self.compression.is_some() {
            counters.count(kind);
        }
        counters.escaped += escaped;
        counters.bytes += size;
        counters.headers += Bytes(u64::from(compressed.encoded.length));
        if self.inside.len() <= handle.index() {
            self.inside.resize(handle.index() + 1, None);
        }
        self.inside[handle.index()] = Some(Inside { packet: compressed, is_damaged: false });
        (size, kind)
    }

    /// Restores the headers of a packet that leaves the link; the packet since which that fails, if it does.
    fn decode(&mut self, now: Instant, handle: Handle) -> Result<(), PacketId> {
        let (Some(inside), Some(compression)) = (self.inside[handle.index()].take(), &mut self.compression)
        else {
            return Ok(());
        };
        if inside.is_damaged {
            compression.on_lost(&inside.packet, true);
            return Ok(());
        }
        compression.decompress(now, &inside.packet)
    }
}

impl<P: Packet> Pipeline<P> {
    /// The size of a packet that leaves the queue with `size`, framing included, from here on.
    #[inline(always)]
    pub(super) fn wire_size(
        &mut self,
        now: Instant,
        handle: Handle,
        size: Bytes,
        observer: &mut impl Observer<P>,
    ) -> Bytes {
        if self.on_wire.is_none() { size } else { self.encode(now, handle, size, observer) }
    }

    #[inline(never)]
    fn encode(
        &mut self,
        now: Instant,
        handle: Handle,
        size: Bytes,
        observer: &mut impl Observer<P>,
    ) -> Bytes {
        let (Some(stage), Some(packet)) = (&mut self.on_wire, self.store.packet(handle)) else { return size };
        let (size, kind) = stage.encode(now, handle, packet, &mut self.counters.wire);
        observer.on_event(now, packet, Event::Encoded { bytes: size, headers: kind });
        self.store.state_mut(handle).size = size;
        size
    }

    /// Whether the headers of a packet that leaves the link are restored; if not, it is discarded.
    #[inline(never)]
    pub(super) fn decode(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) -> bool {
        let Some(stage) = &mut self.on_wire else { return true };
        let restored = stage.decode(now, handle);
        let feedback = stage.compression.as_ref().map_or(Bytes::ZERO, HeaderCompression::feedback);
        self.counters.wire.feedback = feedback;
        let Err(since) = restored else { return true };
        self.counters.wire.decompressor_drops += 1;
        self.counters.error_drops += 1;
        let event = Event::ErrorDropped { cause: ErrorCause::Decompressor { since } };
        self.report(now, handle, event, observer);
        self.discard(now, handle, observer);
        false
    }

    /// A packet was lost on the wire; whether its frame arrived, damaged.
    pub(super) fn on_lost_on_wire(&mut self, handle: Handle, cause: ErrorCause) {
        let Some(stage) = &mut self.on_wire else { return };
        let (Some(inside), Some(compression)) =
            (stage.inside.get_mut(handle.index()).and_then(Option::take), &mut stage.compression)
        else {
            return;
        };
        // A check sequence finds an error of the line; of a packet that never was sent, or that is late, nothing comes.
        let noticed = matches!(cause, ErrorCause::Random | ErrorCause::Scripted);
        compression.on_lost(&inside.packet, noticed);
    }

    /// A packet was damaged on the wire: its frame fails the check, and its headers are not read.
    pub(super) fn on_damaged_on_wire(&mut self, handle: Handle) {
        let inside = self.on_wire.as_mut().and_then(|stage| stage.inside.get_mut(handle.index())?.as_mut());
        inside.into_iter().for_each(|inside| inside.is_damaged = true);
    }

    /// A copy of a packet was made on the wire: the decompressor meets its headers twice.
    pub(super) fn on_copied_on_wire(&mut self, handle: Handle, copy: Handle) {
        let Some(stage) = &mut self.on_wire else { return };
        let inside = stage.inside.get(handle.index()).cloned().flatten();
        if stage.inside.len() <= copy.index() {
            stage.inside.resize(copy.index() + 1, None);
        }
        stage.inside[copy.index()] = inside;
    }
}
