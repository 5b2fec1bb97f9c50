//! The options of the handshake: the options that an end offers, and the options that apply to the connection.

mod layout;

use units::Bytes;
use wire::{AccEcn, AckRate, AckScheme, Flags, Options, Segment, Timestamps};

use crate::Config;
use crate::ecn::{AccEcnOption, EcnFeedback, agreed_feedback};
use crate::timestamp::{OneWayDelay, Timestamp};
pub(crate) use layout::DEFAULT_MSS;
pub use layout::OptionLayout;

/// The options in force on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The largest payload that we send: SMSS, less the room of the options on every segment.
    pub smss: Bytes,
    /// Shift of the windows that the peer sends.
    pub send_shift: u8,
    /// Shift of the windows that we send.
    pub receive_shift: u8,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// Whether ACKs carry SACK blocks.
    pub sack: bool,
    /// Feedback of congestion marks, if queues may mark (RFC 3168 §6.1.1).
    pub ecn: EcnFeedback,
    /// Whether both ends understand polls.
    pub polls: bool,
    /// The scheme by which both ends comply with requests for a rate of ACKs, if there is one.
    pub ack_scheme: Option<AckScheme>,
    /// Whether both ends send dummy segments, and answer them.
    pub dummies: bool,
    /// Whether we send such requests.
    pub requests_acks: bool,
    /// Whether data leave room for the AccECN option.
    pub accecn_room: bool,
}

/// RFC 7323 §2.3: a larger shift is taken for this one.
const GREATEST_SHIFT: u8 = 14;
/// Room of the timestamps option on every segment (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u64 = 12;

impl Agreed {
    /// The options before the handshake.
    pub const NOTHING: Self = Self {
        smss: Bytes(DEFAULT_MSS as u64),
        send_shift: 0,
        receive_shift: 0,
        timestamps: false,
        sack: false,
        ecn: EcnFeedback::Absent,
        polls: false,
        ack_scheme: None,
        dummies: false,
        requests_acks: false,
        accecn_room: false,
    };

    /// The options that hold if we offer those of `config` and the peer has sent `syn`.
    #[must_use]
    pub fn new(config: &Config, syn: &Segment) -> Self {
        let theirs = &syn.options;
        let timestamps = config.plain.timestamps && theirs.timestamps.is_some();
        let mss = Bytes(u64::from(theirs.mss.unwrap_or(DEFAULT_MSS))).min(config.plain.mss);
        let scaled = config.plain.window_scale && theirs.window_scale.is_some();
        let offered = theirs.ack_rate.map(|rate| rate.scheme);
        let ack_scheme = config.ack_scheme().filter(|scheme| offered == Some(*scheme));
        let requests_acks = ack_scheme.is_some() && config.poll.build().scheme().is_some();
        let ecn = agreed_feedback(config.plain.ecn, syn.flags);
        let accecn_room = ecn == EcnFeedback::Accurate
            && config.plain.accecn_option == AccEcnOption::Always
            && theirs.accecn.is_some();
        Self {
            // RFC 6691 §2: the MSS counts no options, the sender makes room for them.
            smss: mss.saturating_sub(options_len(timestamps, requests_acks, accecn_room)).max(Bytes(1)),
            send_shift: if scaled { theirs.window_scale.unwrap_or(0).min(GREATEST_SHIFT) } else { 0 },
            receive_shift: if scaled { shift_for(config.greatest_window) } else { 0 },
            timestamps,
            sack: config.plain.sack && theirs.sack_permitted,
            ecn,
            polls: config.understands_polls() && syn.flags.contains(Flags::POLL),
            ack_scheme,
            dummies: config.knows_dummies() && syn.flags.contains(Flags::DUMMY),
            requests_acks,
            accecn_room,
        }
    }

    /// Data carry the AccECN option from now on.
    pub(crate) fn make_room_for_accecn(&mut self) {
        if !std::mem::replace(&mut self.accecn_room, true) {
            self.smss = self.smss.saturating_sub(Bytes(AccEcn::LARGEST)).max(Bytes(1));
        }
    }

    /// The lesser of the segment sizes that both ends have announced, which counts options.
    pub(crate) fn clamped_mss(&self) -> Bytes {
        self.smss + options_len(self.timestamps, self.requests_acks, self.accecn_room)
    }

    /// The window that `segment` offers; not for a SYN, whose window is never scaled.
    #[inline]
    pub(crate) fn window(&self, segment: &Segment) -> Bytes {
        Bytes(u64::from(segment.window) << self.send_shift)
    }

    /// Our clock as `segment` echoes it, where timestamps are agreed (RFC 7323 §3).
    #[must_use]
    pub(crate) fn echo(&self, segment: &Segment) -> Option<Timestamp> {
        segment.options.timestamps.filter(|_| self.timestamps).map(|theirs| Timestamp(theirs.echo))
    }

    /// The one-way delay that `segment` reports, where timestamps are agreed.
    pub(crate) fn one_way(&self, segment: &Segment) -> Option<OneWayDelay> {
        let theirs = segment.options.timestamps.filter(|_| self.timestamps)?;
        Some(OneWayDelay::between(theirs.echo, theirs.value))
    }
}

/// The options of our SYN, or of our SYN-ACK to a peer that offered `syn`: only those that the peer offered (RFC 7323
/// §2.2).
#[must_use]
pub fn offer(config: &Config, syn: Option<&Options>, timestamps: Timestamps) -> Options {
    let welcome = |theirs: fn(&Options) -> bool| syn.is_none_or(theirs);
    Options {
        mss: config.plain.announces_mss.then(|| u16::try_from(config.plain.mss.0).unwrap_or(u16::MAX)),
        window_scale: (config.plain.window_scale && welcome(|options| options.window_scale.is_some()))
            .then(|| shift_for(config.greatest_window)),
        sack_permitted: config.plain.sack && welcome(|options| options.sack_permitted),
        timestamps: (config.plain.timestamps && welcome(|options| options.timestamps.is_some()))
            .then_some(timestamps),
        ack_rate: config
            .ack_scheme()
            .filter(|_| welcome(|options| options.ack_rate.is_some()))
            .map(|scheme| AckRate { scheme, ratio: None }),
        layout: config.plain.option_layout.into(),
        ..Options::default()
    }
}

/// Room in every segment for the options that data may carry.
fn options_len(timestamps: bool, requests_acks: bool, accecn: bool) -> Bytes {
    let requests = if requests_acks { u64::from(AckRate::PADDED_LEN) } else { 0 };
    let accecn = if accecn { AccEcn::LARGEST } else { 0 };
    Bytes(if timestamps { TIMESTAMPS_LEN } else { 0 } + requests + accecn)
}

/// The least shift with which `window` fits into 16 bits.
fn shift_for(window: Bytes) -> u8 {
    (0..GREATEST_SHIFT).find(|shift| window.0 >> shift <= u64::from(u16::MAX)).unwrap_or(GREATEST_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_is_the_least_that_fits() {
        assert_eq!(shift_for(Bytes(65_535)), 0);
        assert_eq!(shift_for(Bytes(65_536)), 1);
        assert_eq!(shift_for(Bytes(4 << 20)), 7);
        assert_eq!(shift_for(Bytes(1 << 40)), 14);
    }
}
