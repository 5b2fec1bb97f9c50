//! Keys of 1-RTT packets, which both ends renew (RFC 9001 §6).

use crate::keys::{HeaderKey, Keys, PacketKey};

/// The keys of one direction.
#[derive(Debug)]
pub(crate) struct OneRttKeys {
    pub(crate) header: HeaderKey,
    generation: u64,
    previous: Option<PacketKey>,
    current: PacketKey,
    next: Option<PacketKey>,
}

impl OneRttKeys {
    pub(crate) fn new(keys: Keys) -> Self {
        let next = keys.packet.next();
        Self { header: keys.header, generation: 0, previous: None, current: keys.packet, next }
    }

    /// Number of renewals so far.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Opens a packet with the keys that its key phase allows. Returns the payload and the generation of the key.
    pub(crate) fn open(&mut self, number: u64, header: &[u8], sealed: &[u8]) -> Option<(Vec<u8>, u64)> {
        let open = |key: &PacketKey| key.open(number, header, &mut sealed.to_vec()).map(<[u8]>::to_vec);
        let phase = u64::from(header[0] & KEY_PHASE != 0);
        if phase == self.generation & 1 {
            return open(&self.current).map(|payload| (payload, self.generation));
        }
        if let Some(payload) = self.next.as_ref().and_then(open) {
            self.renew();
            return Some((payload, self.generation));
        }
        // A packet from before the update that arrives late (RFC 9001 §6.4).
        let payload = self.previous.as_ref().and_then(open)?;
        Some((payload, self.generation - 1))
    }

    fn renew(&mut self) {
        let Some(next) = self.next.take() else { return };
        self.next = next.next();
        self.previous = Some(std::mem::replace(&mut self.current, next));
        self.generation += 1;
    }
}

/// RFC 9000 §17.3.1.
const KEY_PHASE: u8 = 0x04;
