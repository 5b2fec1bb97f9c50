//! Where the point of observation lies between the two ends of a connection.
//!
//! The time from a segment to its acknowledgment is the round trip between the point and the receiver; the other
//! direction's is that between the point and the sender. Both are known from the handshake (RFC 9293 §3.5). Without it,
//! the time in which new data follow an acknowledgment bounds the round trip to the sender.

use units::Duration;

use super::Confidence;

/// A place on the path of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the sender, or near it.
    Sender,
    /// Between the two.
    Middle,
    /// At the receiver, or near it.
    Receiver,
    /// Nothing shows it.
    Unknown,
}

/// A place, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The place.
    pub place: Place,
    /// Confidence.
    pub confidence: Confidence,
    /// The shortest round trip between the point and the receiver.
    pub to_receiver: Option<Duration>,
    /// That between the point and the sender.
    pub to_sender: Option<Duration>,
}

impl Place {
    /// The name in reports.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Middle => "middle",
            Self::Receiver => "receiver",
            Self::Unknown => "unknown",
        }
    }

    /// The place by the shortest round trips to the receiver and to the sender.
    pub(super) fn by_round_trips(to_receiver: Duration, to_sender: Duration) -> Self {
        let whole = to_receiver + to_sender;
        if whole < SHORTEST_PATH {
            Self::Unknown
        } else if to_sender * NEAR <= whole {
            Self::Sender
        } else if to_receiver * NEAR <= whole {
            Self::Receiver
        } else {
            Self::Middle
        }
    }
}

impl Placed {
    /// The place by the shortest round trips to the receiver and to the sender, or, where the latter is not known, the
    /// sender's shortest `reaction` to an acknowledgment; and whether the `handshake` was seen.
    pub(super) fn between(
        to_receiver: Option<Duration>,
        to_sender: Option<Duration>,
        reaction: Option<Duration>,
        handshake: bool,
    ) -> Self {
        // At the receiver, data that were under way follow an acknowledgment by chance.
        let near_sender = to_sender.or(reaction);
        let place = match (to_receiver, near_sender) {
            (Some(receiver), Some(sender)) => Place::by_round_trips(receiver, sender),
            _ => Place::Unknown,
        };
        let confidence = match place {
            Place::Unknown => Confidence::Unknown,
            Place::Sender | Place::Receiver if handshake && to_sender.is_some() => Confidence::Certain,
            _ => Confidence::Likely,
        };
        Self { place, confidence, to_receiver, to_sender: near_sender }
    }
}

/// The point is near an end if the round trip to it is at most this part of the whole.
const NEAR: u64 = 5;
/// On a shorter path the times of software hide those of the path.
const SHORTEST_PATH: Duration = Duration::from_micros(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn place(to_receiver_us: u64, to_sender_us: u64) -> Place {
        Place::by_round_trips(Duration::from_micros(to_receiver_us), Duration::from_micros(to_sender_us))
    }

    #[test]
    fn the_shorter_round_trip_leads_to_the_nearer_end() {
        assert_eq!(place(80_000, 60), Place::Sender);
        assert_eq!(place(60, 80_000), Place::Receiver);
        assert_eq!(place(40_000, 30_000), Place::Middle);
    }

    #[test]
    fn a_path_inside_one_host_has_no_place() {
        assert_eq!(place(20, 30), Place::Unknown);
    }
}
