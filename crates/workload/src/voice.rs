//! A codec as the E-model of ITU-T G.107 sees it.

use units::Duration;

/// What the quality of a call depends on besides the loss of its frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voice {
    /// Time from the speaker's mouth to the listener's ear: the time of a frame, which is complete only at its end, and
    /// the delay budget, at which the receiver plays it.
    pub mouth_to_ear: Duration,
    /// Equipment impairment factor of the codec, without loss (Ie).
    pub impairment: f64,
    /// Packet-loss robustness factor of the codec, in percent (Bpl).
    pub robustness: f64,
}
