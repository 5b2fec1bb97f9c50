//! A ratio on its way to the receiver.

use units::Seq;

use super::Outgoing;

/// The ratio that the receiver is to apply, and whether it knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requested {
    ratio: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The receiver has acknowledged it.
    Known,
    /// The next segment requests it.
    Due,
    /// The segment that ends here has requested it.
    Sent(Seq),
}

impl Requested {
    /// A ratio that the receiver applies without a request.
    pub(super) const fn known(ratio: u8) -> Self {
        Self { ratio, state: State::Known }
    }

    pub(super) const fn ratio(self) -> u8 {
        self.ratio
    }

    /// Whether the receiver is known to apply it.
    pub(super) fn is_known(self) -> bool {
        self.state == State::Known
    }

    /// The next segment requests another ratio.
    pub(super) fn set(&mut self, ratio: u8) {
        if ratio != self.ratio {
            *self = Self { ratio, state: State::Due };
        }
    }

    /// The ratio that a segment requests, which goes out now. A retransmission repeats a request that is not known to
    /// have arrived.
    pub(super) fn request(&mut self, outgoing: &Outgoing) -> Option<u8> {
        match self.state {
            State::Due => self.state = State::Sent(outgoing.end),
            State::Sent(_) if outgoing.again => {}
            State::Known | State::Sent(_) => return None,
        }
        Some(self.ratio)
    }

    /// Data up to `number` are acknowledged.
    pub(super) fn on_ack(&mut self, number: Seq) {
        if matches!(self.state, State::Sent(end) if number.at_or_after(end)) {
            self.state = State::Known;
        }
    }
}
