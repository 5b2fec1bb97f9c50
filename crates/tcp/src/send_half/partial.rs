//! Partial segments: whether data that do not fill a segment go out at once or wait for more (RFC 9293 §3.7.4), and
//! whether they carry PSH.

use units::Seq;
use wire::Payload;

use crate::Config;
use crate::endpoint::Endpoint;
use crate::send_half::Fin;

/// What a connection does with the last, partial segment of what it has to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartialSegments {
    /// It waits while something is unacknowledged (Nagle).
    nagle: bool,
    /// It waits until it is full, or as long as the persist timer takes (`TCP_CORK` of Linux).
    corked: bool,
    /// The last write is to be pushed: the user has not said that more follows.
    pub pushes: bool,
}

impl PartialSegments {
    pub(crate) const fn new(config: &Config) -> Self {
        Self { nagle: config.plain.nagle, corked: false, pushes: true }
    }
}

impl Endpoint {
    /// Sets whether partial segments wait while something is unacknowledged, whatever the profile says; `TCP_NODELAY`
    /// turns it off.
    pub const fn set_nagle(&mut self, on: bool) {
        self.sending.partial.nagle = on;
    }

    /// Sets whether partial segments wait for more data; `TCP_CORK`.
    pub const fn set_corked(&mut self, on: bool) {
        self.sending.partial.corked = on;
    }

    /// Adds to the stream as [`Endpoint::write`] does, of a user who says that more follows (`MSG_MORE`): the segment
    /// that ends with these data carries no PSH.
    pub fn write_more(&mut self, payload: Payload) {
        self.write(payload);
        self.sending.partial.pushes = false;
    }

    /// Whether a retransmission of data up to `end` carries PSH.
    pub(crate) fn pushes_again(&self, end: Seq) -> bool {
        let sending = &self.sending;
        let last = end == sending.nxt && sending.queue.is_empty();
        self.config.plain.pushes_retransmissions || (last && sending.partial.pushes)
    }

    /// Whether a partial segment that the peer's window has room for waits. The last one before the FIN does not.
    pub(crate) fn partial_segment_waits(&self) -> bool {
        let partial = self.sending.partial;
        let last_of_all = self.sending.fin == Fin::Wanted;
        let unacknowledged = !self.sending.board.outstanding().is_zero();
        !last_of_all && (partial.corked || (partial.nagle && unacknowledged))
    }
}
