//! Header compression: both ends of it, in one direction of a link.
//!
//! The compressor works on a packet as it leaves the input queue, the decompressor as it leaves the link. Both have the
//! state that their RFC gives them, and no other: a packet that is lost in between leaves the decompressor without its
//! changes, and the headers that it restores from then on are wrong until a packet repairs its state. The packets with
//! wrong headers are discarded at the end of the link.
//!
//! A new scheme is a file with `ENTRY`, `Parameters` and its [`Codec`], and a line in the list below. `headers.rs`
//! reads the fields of headers.

mod headers;

use std::collections::BTreeMap;
use std::fmt::Debug;

use units::{Bytes, Duration, Instant, PacketId};

use crate::error::ConfigError;
use crate::packet::Packet;
use registry::registry;

registry! {
    /// Compression of packet headers. Written as a table of one key, its name.
    Compression in "compression", a "header compression" of dyn CompressionParameters:
    Vj = vj,
    Rohc = rohc,
}

impl Compression {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this member.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.parameters().check().map_err(|error| error.below(self.id()))
    }
}

/// The parameters of one scheme.
pub trait CompressionParameters {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// A compressor and its decompressor; the parameters have passed [`CompressionParameters::check`]. `back` is the
    /// time that feedback takes from the one to the other, if the parameters do not say it.
    fn codec(&self, back: Duration) -> Box<dyn Codec>;
}

/// A compressor and its decompressor.
pub trait Codec: Debug + Send {
    /// The headers of the next packet, from the first byte of its IP header to the last of its transport header, as the
    /// compressor sends them.
    fn compress(&mut self, now: Instant, headers: &[u8]) -> Encoded;

    /// Restores headers that arrive; whether they are equal to `headers`, which were sent.
    fn decompress(&mut self, now: Instant, encoded: &Encoded, headers: &[u8]) -> bool;

    /// The decompressor learns that a frame arrived damaged, not which.
    fn on_line_error(&mut self) {}

    /// Bytes that the decompressor has sent back to the compressor.
    fn feedback(&self) -> Bytes {
        Bytes::ZERO
    }
}

/// Headers in the form in which the compressor sends them.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// What they are.
    pub kind: HeaderKind,
    /// Their length.
    pub length: u32,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Plain,
    VjFull { slot: u8 },
    VjDelta(Vec<u8>),
    Rohc(Box<rohc::Sent>),
}

/// The form of a packet's headers on a link with compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderKind {
    /// As they came, and unknown to both ends: type IP of RFC 1144, the uncompressed profile of ROHC.
    Plain,
    /// All fields, to set the decompressor's state: UNCOMPRESSED_TCP of RFC 1144, IR of ROHC.
    Full,
    /// All fields that change: IR-DYN of ROHC.
    Dynamic,
    /// Compressed: COMPRESSED_TCP of RFC 1144, any other packet of ROHC.
    Compressed,
}

impl HeaderKind {
    /// Its name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Full => "full",
            Self::Dynamic => "dynamic",
            Self::Compressed => "compressed",
        }
    }
}

impl Encoded {
    fn plain(headers: &[u8]) -> Self {
        Self { kind: HeaderKind::Plain, length: headers.len() as u32, form: Form::Plain }
    }

    /// The bytes of the headers on the wire; none where only their number is known.
    pub(crate) fn bytes<'a>(&'a self, headers: &'a [u8]) -> Option<&'a [u8]> {
        match &self.form {
            Form::Plain | Form::VjFull { .. } => Some(headers),
            Form::VjDelta(bytes) => Some(bytes),
            Form::Rohc(_) => None,
        }
    }
}

/// The two ends of compression in one direction of a link.
#[derive(Debug)]
pub struct HeaderCompression {
    codec: Box<dyn Codec>,
    /// For each flow the first packet that was lost since the decompressor last restored one.
    lost: BTreeMap<u64, PacketId>,
}

/// The compressor's record of a packet between the two ends.
#[derive(Clone, Debug)]
pub struct CompressedPacket {
    /// Its headers on the wire.
    pub encoded: Encoded,
    pub(crate) headers: Vec<u8>,
    id: PacketId,
    flow: u64,
}

impl HeaderCompression {
    /// The ends in their initial states; the configuration has passed its check. `back` is the time from the
    /// decompressor to the compressor.
    #[must_use]
    pub fn new(config: &Compression, back: Duration) -> Self {
        Self { codec: config.parameters().codec(back), lost: BTreeMap::new() }
    }

    /// Compresses the headers of the next packet.
    pub fn compress(&mut self, now: Instant, packet: &impl Packet) -> CompressedPacket {
        let mut headers = Vec::new();
        packet.headers(&mut headers);
        let encoded = self.codec.compress(now, &headers);
        CompressedPacket { encoded, headers, id: packet.id(), flow: packet.flow_key() }
    }

    /// Restores a packet's headers.
    ///
    /// # Errors
    /// The packet that put the decompressor out of step, if the headers are wrong: this one is to be discarded.
    pub fn decompress(&mut self, now: Instant, packet: &CompressedPacket) -> Result<(), PacketId> {
        if self.codec.decompress(now, &packet.encoded, &packet.headers) {
            if packet.encoded.kind != HeaderKind::Plain {
                self.lost.remove(&packet.flow);
            }
            return Ok(());
        }
        // With slots of their own, a connection is out of step by its own losses; by another's only where the number of
        // the slot was lost.
        let latest = self.lost.values().max();
        Err(self.lost.get(&packet.flow).or(latest).copied().unwrap_or(packet.id))
    }

    /// A packet did not get to the decompressor. `noticed` says whether a damaged frame did.
    pub fn on_lost(&mut self, packet: &CompressedPacket, noticed: bool) {
        if noticed {
            self.codec.on_line_error();
        }
        if packet.encoded.kind != HeaderKind::Plain {
            self.lost.entry(packet.flow).or_insert(packet.id);
        }
    }

    /// Bytes that the decompressor has sent back to the compressor.
    #[must_use]
    pub fn feedback(&self) -> Bytes {
        self.codec.feedback()
    }
}

impl CompressedPacket {
    /// A packet on a link without compression.
    pub(crate) fn plain(packet: &impl Packet) -> Self {
        let mut headers = Vec::new();
        packet.headers(&mut headers);
        let encoded = Encoded::plain(&headers);
        Self { encoded, headers, id: packet.id(), flow: packet.flow_key() }
    }

    /// Bytes of a packet of `size` bytes with these headers instead of its own.
    #[must_use]
    pub fn size(&self, size: Bytes) -> Bytes {
        size.saturating_sub(Bytes(self.headers.len() as u64)) + Bytes(u64::from(self.encoded.length))
    }
}

#[cfg(test)]
mod tests;
