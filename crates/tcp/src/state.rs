//! The states of a connection and every legal change between them (RFC 9293 §3.3.2, figure 5).
//!
//! All transitions live in this one table, and this file knows nothing else: not segments, not timers.

use State::{
    CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, Listen, SynReceived, SynSent,
    TimeWait,
};

/// The states of RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// Our SYN is out.
    SynSent,
    /// Both SYNs are out, ours is not acknowledged.
    SynReceived,
    /// Data may flow both ways.
    Established,
    /// We have closed, our FIN is not acknowledged.
    FinWait1,
    /// We have closed and the peer knows; it may still send.
    FinWait2,
    /// The peer has closed; we may still send.
    CloseWait,
    /// Both have closed at once; our FIN is not acknowledged.
    Closing,
    /// Both have closed, the peer first; our FIN is not acknowledged.
    LastAck,
    /// Both have closed; old segments die out.
    TimeWait,
}

/// Event that can change a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The user opens actively: our SYN goes out.
    ActiveOpen,
    /// The user opens passively.
    PassiveOpen,
    /// A SYN without an acknowledgment of ours arrived.
    SynArrived,
    /// A SYN that acknowledges ours arrived.
    SynAckArrived,
    /// Our SYN is acknowledged.
    SynAcked,
    /// Our FIN goes out.
    FinSent,
    /// Our FIN is acknowledged.
    FinAcked,
    /// The peer's FIN arrived, and everything before it.
    FinArrived,
    /// A reset came before a passive open was done.
    OpenRefused,
    /// Twice the maximum segment lifetime has passed.
    LifetimePassed,
    /// A reset, from either side, or the end of patience.
    Reset,
}

impl State {
    /// The state that follows, or `None` where the change is not legal here.
    #[must_use]
    pub const fn after(self, change: Change) -> Option<Self> {
        use Change as C;
        Some(match (self, change) {
            (Closed, C::ActiveOpen) => SynSent,
            (Closed, C::PassiveOpen) => Listen,
            (Listen, C::SynArrived) => SynReceived,
            (Listen, C::ActiveOpen) => SynSent,
            // Simultaneous open (RFC 9293 §3.5, figure 7).
            (SynSent, C::SynArrived) => SynReceived,
            (SynSent, C::SynAckArrived) => Established,
            (SynReceived, C::SynAcked) => Established,
            // Passive opens only (RFC 9293 §3.10.7.4, second).
            (SynReceived, C::OpenRefused) => Listen,
            (SynReceived | Established, C::FinSent) => FinWait1,
            (SynReceived | Established, C::FinArrived) => CloseWait,
            (FinWait1, C::FinAcked) => FinWait2,
            (FinWait1, C::FinArrived) => Closing,
            (FinWait2, C::FinArrived) => TimeWait,
            (CloseWait, C::FinSent) => LastAck,
            (Closing, C::FinAcked) => TimeWait,
            (LastAck, C::FinAcked) => Closed,
            (TimeWait, C::LifetimePassed) => Closed,
            (_, C::Reset) => Closed,
            _ => return None,
        })
    }

    /// Whether both SYNs are acknowledged, or this end acts as if they were (RFC 9293 §3.10.7.4).
    #[must_use]
    pub const fn is_synchronised(self) -> bool {
        !matches!(self, Closed | Listen | SynSent | SynReceived)
    }

    /// Whether data that arrives is still wanted.
    #[must_use]
    pub const fn accepts_data(self) -> bool {
        matches!(self, Established | FinWait1 | FinWait2)
    }

    /// Whether this end may still send data it has.
    #[must_use]
    pub const fn sends_data(self) -> bool {
        matches!(self, Established | CloseWait | FinWait1 | Closing | LastAck)
    }

    /// The name in tables and messages, as RFC 9293 writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Closed => "CLOSED",
            Listen => "LISTEN",
            SynSent => "SYN-SENT",
            SynReceived => "SYN-RECEIVED",
            Established => "ESTABLISHED",
            FinWait1 => "FIN-WAIT-1",
            FinWait2 => "FIN-WAIT-2",
            CloseWait => "CLOSE-WAIT",
            Closing => "CLOSING",
            LastAck => "LAST-ACK",
            TimeWait => "TIME-WAIT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 11] = [
        Closed,
        Listen,
        SynSent,
        SynReceived,
        Established,
        FinWait1,
        FinWait2,
        CloseWait,
        Closing,
        LastAck,
        TimeWait,
    ];

    const CHANGES: [Change; 11] = [
        Change::ActiveOpen,
        Change::PassiveOpen,
        Change::SynArrived,
        Change::SynAckArrived,
        Change::SynAcked,
        Change::FinSent,
        Change::FinAcked,
        Change::FinArrived,
        Change::OpenRefused,
        Change::LifetimePassed,
        Change::Reset,
    ];

    #[test]
    fn a_reset_closes_from_everywhere() {
        assert!(STATES.iter().all(|state| state.after(Change::Reset) == Some(Closed)));
    }

    #[test]
    fn every_state_can_be_reached_and_left() {
        let reached = |to: State| {
            STATES
                .iter()
                .any(|from| CHANGES.iter().any(|change| *from != to && from.after(*change) == Some(to)))
        };
        assert!(STATES.iter().all(|state| reached(*state)));
    }

    #[test]
    fn both_orders_of_closing_end_in_time_wait_for_the_first_to_close() {
        let walk = |changes: &[Change]| {
            changes.iter().try_fold(Established, |state, change| state.after(*change)).map(State::name)
        };
        use Change::{FinAcked, FinArrived, FinSent};
        assert_eq!(walk(&[FinSent, FinAcked, FinArrived]), Some("TIME-WAIT"));
        assert_eq!(walk(&[FinSent, FinArrived, FinAcked]), Some("TIME-WAIT"));
        assert_eq!(walk(&[FinArrived, FinSent, FinAcked]), Some("CLOSED"));
        assert_eq!(walk(&[FinAcked]), None);
    }
}
