//! Messages of the network on segments that this end has sent (RFC 792, RFC 4443).

use std::sync::Arc;

use units::{Bytes, Seq};

use super::{CloseReason, Endpoint};
use crate::state::State;

impl Endpoint {
    /// Handles the report that the peer cannot be reached, which quotes a segment that begins at `quoted`. It ends a
    /// connection whose handshake is not done; later it is a hint (RFC 5461 §4), to which a recovery may react. A
    /// report on numbers that are not outstanding may be a forgery, and is ignored (RFC 5927 §4).
    pub fn handle_unreachable(&mut self, quoted: Seq) {
        if !self.is_outstanding(quoted) {
            return;
        }
        match self.state {
            State::SynSent => self.give_up(CloseReason::Unreachable),
            State::SynReceived if self.can_listen_again() && !self.fast_open.is_accepted() => {
                self.listen_again();
            }
            State::SynReceived => self.give_up(CloseReason::Unreachable),
            _ => self.send.on_unreachable(),
        }
    }

    /// Handles the report that a link of the path carries no longer segments than `mss`, which quotes a segment that
    /// begins at `quoted` (RFC 1191 §6.4). Before the handshake is done, segments become shorter, and a SYN with data
    /// leaves again without them (Linux `tcp_simple_retransmit`); returns false after it, where nothing changes.
    pub fn handle_too_big(&mut self, mss: Bytes, quoted: Seq) -> bool {
        if self.state != State::SynSent {
            return false;
        }
        if self.is_outstanding(quoted) && mss < self.config.plain.mss {
            Arc::make_mut(&mut self.config).plain.mss = mss;
            if self.fast_open.has_sent_data() {
                self.fast_open.on_syn_timeout();
                self.send.give_up_syn();
            }
        }
        true
    }

    fn is_outstanding(&self, number: Seq) -> bool {
        number.at_or_after(self.send.una()) && !number.after(self.send.nxt())
    }
}
