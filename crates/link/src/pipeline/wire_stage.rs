//! The form of a packet on the wire: its headers compressed, its octets stuffed.
//!
//! The compressor takes a packet as it leaves the input queue, as SLIP and PPP drivers do: a packet that the queue
//! drops has not touched its state. Its size changes there; the queue counts whole headers. The decompressor takes it
//! as it leaves the receive buffer, in the order in which packets leave.

use units::{Bytes, Duration, Instant, PacketId, Streams};

use crate::compression::{CompressedPacket, HeaderCompression, HeaderKind};
use crate::config::Config;
use crate::counters::WireCounters;
use crate::event::ErrorCause;
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
    pub(super) fn encode(
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
    pub(super) fn decode(&mut self, now: Instant, handle: Handle) -> Result<(), PacketId> {
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

    /// Bytes that the decompressor has sent back.
    pub(super) fn feedback(&self) -> Bytes {
        self.compression.as_ref().map_or(Bytes::ZERO, HeaderCompression::feedback)
    }

    /// A packet was lost; whether its frame arrived, damaged, follows from the cause.
    pub(super) fn on_lost(&mut self, handle: Handle, cause: ErrorCause) {
        let (Some(inside), Some(compression)) =
            (self.inside.get_mut(handle.index()).and_then(Option::take), &mut self.compression)
        else {
            return;
        };
        // A check sequence finds an error of the line; of a packet that never was sent, or that is late, nothing comes.
        let noticed = matches!(cause, ErrorCause::Random | ErrorCause::Scripted);
        compression.on_lost(&inside.packet, noticed);
    }

    /// A packet was damaged: its frame fails the check, and its headers are not read.
    pub(super) fn on_damaged(&mut self, handle: Handle) {
        let inside = self.inside.get_mut(handle.index()).and_then(Option::as_mut);
        inside.into_iter().for_each(|inside| inside.is_damaged = true);
    }

    /// A copy of a packet was made: the decompressor meets its headers twice.
    pub(super) fn on_copied(&mut self, handle: Handle, copy: Handle) {
        let inside = self.inside.get(handle.index()).cloned().flatten();
        if self.inside.len() <= copy.index() {
            self.inside.resize(copy.index() + 1, None);
        }
        self.inside[copy.index()] = inside;
    }
}
