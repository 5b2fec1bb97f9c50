//! The program's side of an end: what it has written and read, and of what it is to be notified.

use tcp::Endpoint;
use units::Bytes;
use wire::Payload;

/// State of the program at one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    is_connected: bool,
    /// Whether the program has closed it.
    is_closing: bool,
    /// Bytes that TCP was given, and bytes that it is yet to be given.
    written: u64,
    unwritten: u64,
    /// Bytes that the program has read, and the position of which it wants to be notified.
    read: u64,
    notify_at: u64,
}

impl Socket {
    pub(super) const NEW: Self = Self {
        is_connected: false,
        is_closing: false,
        written: 0,
        unwritten: 0,
        read: 0,
        notify_at: u64::MAX,
    };

    /// The program writes more bytes.
    pub(super) fn write(&mut self, endpoint: &mut Endpoint, bytes: Bytes) {
        self.unwritten = self.unwritten.saturating_add(bytes.0);
        self.write_next(endpoint);
    }

    /// Whether TCP is yet to be given some of what was written.
    #[inline]
    pub(super) const fn has_unwritten(&self) -> bool {
        self.unwritten > 0
    }

    /// Gives TCP more of what was written.
    pub(super) fn continue_writing(&mut self, endpoint: &mut Endpoint) {
        self.write_next(endpoint);
        self.close_if_done(endpoint);
    }

    /// The program closes the end. In SYN-SENT, a close would abort the connection (RFC 9293 §3.10.4), so it takes
    /// effect after the handshake.
    pub(super) fn close(&mut self, endpoint: &mut Endpoint) {
        self.is_closing = true;
        self.close_if_done(endpoint);
    }

    /// The handshake is done.
    pub(super) fn on_connected(&mut self, endpoint: &mut Endpoint) {
        self.is_connected = true;
        self.close_if_done(endpoint);
    }

    /// The program is to be notified when it has read up to `position`; whether it has already.
    pub(super) const fn notify_at(&mut self, position: u64) -> bool {
        self.notify_at = position;
        self.read >= position
    }

    /// Position up to which the program has read, for a notification; there is no other until it asks again.
    pub(super) const fn take_notification(&mut self) -> u64 {
        self.notify_at = u64::MAX;
        self.read
    }

    /// The program has read `payload`: whether it is to be notified, or the position of the first byte that differs
    /// from what was sent.
    #[inline]
    pub(super) fn on_read(&mut self, payload: &Payload) -> Result<bool, u64> {
        let position = self.read;
        self.read += u64::from(payload.len());
        let notify = self.read >= self.notify_at;
        match payload {
            Payload::Pattern { offset, .. } if *offset == position => Ok(notify),
            Payload::Pattern { .. } => Err(position),
            Payload::Data(data) => (position..)
                .zip(data)
                .find(|(place, byte)| Payload::pattern_byte(*place) != **byte)
                .map_or(Ok(notify), |(place, _)| Err(place)),
        }
    }

    /// Bytes that the program has read.
    pub(super) const fn received(&self) -> u64 {
        self.read
    }

    /// Gives TCP the next piece of what is to be written, if it has less than a piece.
    fn write_next(&mut self, endpoint: &mut Endpoint) {
        if self.unwritten > 0 && endpoint.unsent().0 < LONGEST_WRITE {
            let len = self.unwritten.min(LONGEST_WRITE) as u32;
            endpoint.write(Payload::Pattern { offset: self.written, len });
            self.written += u64::from(len);
            self.unwritten -= u64::from(len);
        }
    }

    fn close_if_done(&self, endpoint: &mut Endpoint) {
        if self.is_connected && self.is_closing && self.unwritten == 0 {
            endpoint.close();
        }
    }
}

/// The longest write, and how much may be unsent before the next one: no window is larger (RFC 7323 §2.3), so that
/// TCP always has data to fill it.
const LONGEST_WRITE: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use units::Seq;

    use super::*;

    fn data(from: u64, len: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        Payload::Pattern { offset: from, len }.write_to(&mut bytes);
        bytes
    }

    #[test]
    fn the_pattern_in_order_is_what_was_sent_by_name_or_byte_for_byte() {
        let mut socket = Socket::NEW;
        assert_eq!(socket.on_read(&Payload::Pattern { offset: 0, len: 100 }), Ok(false));
        assert_eq!(socket.on_read(&Payload::Data(data(100, 50).into())), Ok(false));
        assert_eq!(socket.on_read(&Payload::Pattern { offset: 150, len: 10 }), Ok(false));
        assert_eq!(socket.received(), 160);
    }

    #[test]
    fn a_misplaced_repeated_or_changed_byte_is_found_where_it_is() {
        let mut skipped = Socket::NEW;
        assert_eq!(skipped.on_read(&Payload::Pattern { offset: 10, len: 100 }), Err(0));
        let mut repeated = Socket::NEW;
        assert_eq!(repeated.on_read(&Payload::Pattern { offset: 0, len: 100 }), Ok(false));
        assert_eq!(repeated.on_read(&Payload::Pattern { offset: 0, len: 100 }), Err(100));
        let mut changed = data(0, 100);
        changed[42] ^= 1;
        assert_eq!({ Socket::NEW }.on_read(&Payload::Data(changed.into())), Err(42));
    }

    #[test]
    fn a_bulk_of_any_length_is_given_in_pieces_and_closed_after_the_last() {
        let ports = tcp::Ports { local: 1, remote: 2 };
        let config = tcp::Config::from_profile(&serde_json::json!({})).expect("a profile");
        let mut endpoint = Endpoint::connect(&config.into(), ports, Seq(1));
        let mut socket = Socket::NEW;
        socket.write(&mut endpoint, Bytes(u64::MAX));
        socket.close(&mut endpoint);
        socket.continue_writing(&mut endpoint);
        assert_eq!(endpoint.unsent(), Bytes(LONGEST_WRITE));
        assert_eq!(socket.unwritten, u64::MAX - LONGEST_WRITE);
        socket.on_connected(&mut endpoint);
        endpoint.write(Payload::Pattern { offset: LONGEST_WRITE, len: 1 });
        assert_eq!(endpoint.unsent(), Bytes(LONGEST_WRITE + 1), "it is not closed");
    }

    #[test]
    fn the_program_is_notified_of_the_position_it_asked_for_and_of_nothing_else() {
        let mut socket = Socket::NEW;
        assert!(!socket.notify_at(150));
        assert_eq!(socket.on_read(&Payload::Pattern { offset: 0, len: 100 }), Ok(false));
        assert_eq!(socket.on_read(&Payload::Pattern { offset: 100, len: 100 }), Ok(true));
        assert_eq!(socket.take_notification(), 200);
        assert_eq!(socket.on_read(&Payload::Pattern { offset: 200, len: 100 }), Ok(false));
        assert!(socket.notify_at(250), "that has been read already");
    }
}
