//! Verdicts, and their reasons.

use std::collections::BTreeMap;
use std::fmt;

use units::{Duration, Instant, PacketId, SeqRange};

/// The verdicts on one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// One for each retransmission, in the order of sending.
    pub retransmissions: Vec<Verdict>,
    /// One for each timeout, in order.
    pub timeouts: Vec<TimeoutVerdict>,
}

/// The verdict on one retransmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The packet that carried it.
    pub packet: PacketId,
    /// Time of transmission.
    pub at: Instant,
    /// The numbers that were sent again.
    pub range: SeqRange,
    /// The cause by the sender.
    pub cause: &'static str,
    /// Whether at least one of its bytes had no other surviving copy.
    pub necessary: bool,
    /// The reason.
    pub why: Why,
}

/// The verdict on one timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeoutVerdict {
    /// Time at which the timer expired.
    pub at: Instant,
    /// The segment whose timer expired.
    pub range: SeqRange,
    /// Whether the segment was not lost.
    pub spurious: bool,
    /// The reason.
    pub why: Why,
}

/// The loss of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The packet.
    pub packet: PacketId,
    /// Time at which it was lost.
    pub at: Instant,
    /// The dropping rule.
    pub rule: &'static str,
    /// The packet whose loss is the cause of this one, if another's is.
    pub since: Option<PacketId>,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropCause {
    /// The name of the dropping rule.
    pub rule: &'static str,
    /// The packet whose loss is the cause of this one, if another's is.
    pub since: Option<PacketId>,
}

impl From<&'static str> for DropCause {
    fn from(rule: &'static str) -> Self {
        Self { rule, since: None }
    }
}

/// Why a retransmission or timeout was necessary or not. [`Why::id`] is its name in tables, `Display` gives a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// Necessary: the original was lost.
    OriginalLost(Loss),
    /// Necessary: the original and every retransmission so far were lost.
    EveryCopyLost {
        /// Their number.
        copies: u32,
        /// The latest of them.
        latest: Loss,
    },
    /// Necessary, though no copy was lost: the peer's window was closed, and a probe had to be sent to learn when it
    /// opens (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// Needless: the timer ran out although the segment was only late.
    SpuriousTimeout(Option<HeldUp>),
    /// Needless: the data had arrived, but their acknowledgments were lost.
    AcknowledgmentsLost,
    /// Needless: an earlier retransmission of it was not lost, and would have done.
    CopyUnderway,
    /// Needless: a proxy on the way had sent it again, and that copy was not lost.
    LocalRetransmission,
    /// Needless: resent after a spurious timeout.
    GoBackNAfterSpuriousTimeout,
    /// Needless: resent after a genuine timeout, although this segment had not been lost.
    GoBackNOverArrivedData,
    /// Needless: the duplicate ACKs came of needless retransmissions.
    DuplicateAcksOfNeedless,
    /// Needless: the segment was overtaken or late, not lost.
    OnlyLate,
    /// Needless: the recovery that it belongs to began with a needless fast retransmit.
    NeedlessRecovery,
    /// Needless: a cause that the ledger has no finer name for.
    Other,
}

/// A link that held a packet for an unusual time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldUp {
    /// Since when.
    pub at: Instant,
    /// Length of the delay.
    pub by: Duration,
    /// By what.
    pub cause: &'static str,
}

impl Diagnosis {
    /// Number of unnecessary retransmissions.
    #[must_use]
    pub fn unnecessary_retransmissions(&self) -> u64 {
        self.retransmissions.iter().filter(|verdict| !verdict.necessary).count() as u64
    }

    /// Number of spurious timeouts.
    #[must_use]
    pub fn spurious_timeouts(&self) -> u64 {
        self.timeouts.iter().filter(|verdict| verdict.spurious).count() as u64
    }

    /// Number of unnecessary retransmissions for each reason, by its name.
    #[must_use]
    pub fn causes(&self) -> BTreeMap<&'static str, u64> {
        let mut causes = BTreeMap::new();
        for verdict in self.retransmissions.iter().filter(|verdict| !verdict.necessary) {
            *causes.entry(verdict.why.id()).or_default() += 1;
        }
        causes
    }

    /// The verdict on the retransmission that `packet` carried, if it carried one.
    #[must_use]
    pub fn verdict(&self, packet: PacketId) -> Option<&Verdict> {
        let found = self.retransmissions.binary_search_by_key(&packet, |verdict| verdict.packet);
        found.ok().map(|index| &self.retransmissions[index])
    }
}

impl Why {
    /// Every name that [`Why::id`] can return, and whether it means necessary.
    pub const IDS: [(&'static str, bool); 13] = [
        ("original_lost", true),
        ("every_copy_lost", true),
        ("spurious_timeout", false),
        ("acknowledgments_lost", false),
        ("copy_underway", false),
        ("go_back_n_after_spurious_timeout", false),
        ("go_back_n_over_arrived_data", false),
        ("duplicate_acks_of_needless", false),
        ("only_late", false),
        ("needless_recovery", false),
        ("other", false),
        ("window_probe", true),
        ("local_retransmission", false),
    ];

    /// The name in tables.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        let place = match self {
            Self::OriginalLost(_) => 0,
            Self::EveryCopyLost { .. } => 1,
            Self::SpuriousTimeout(_) => 2,
            Self::AcknowledgmentsLost => 3,
            Self::CopyUnderway => 4,
            Self::GoBackNAfterSpuriousTimeout => 5,
            Self::GoBackNOverArrivedData => 6,
            Self::DuplicateAcksOfNeedless => 7,
            Self::OnlyLate => 8,
            Self::NeedlessRecovery => 9,
            Self::Other => 10,
            Self::WindowProbe => 11,
            Self::LocalRetransmission => 12,
        };
        Self::IDS[place].0
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OriginalLost(loss) => write!(f, "the original was lost ({loss})"),
            Self::EveryCopyLost { copies, latest } => {
                write!(f, "all {copies} earlier copies were lost (the latest: {latest})")
            }
            Self::SpuriousTimeout(None) => f.write_str("the timer ran out, but the segment was only late"),
            Self::SpuriousTimeout(Some(held)) => {
                write!(f, "the timer ran out, but the segment was only late: {held}")
            }
            Self::AcknowledgmentsLost => {
                f.write_str("the data had arrived, but the acknowledgments that said so were lost")
            }
            Self::CopyUnderway => f.write_str("an earlier retransmission of it was not lost"),
            Self::LocalRetransmission => {
                f.write_str("a proxy on the way had sent it again, and that copy was not lost")
            }
            Self::GoBackNAfterSpuriousTimeout => f.write_str("go-back-N after a spurious timeout"),
            Self::GoBackNOverArrivedData => {
                f.write_str("go-back-N over data that had not been lost, after a timeout that was right")
            }
            Self::DuplicateAcksOfNeedless => {
                f.write_str("fast retransmit on duplicate ACKs that needless retransmissions had caused")
            }
            Self::OnlyLate => f.write_str("taken for lost, but it was only late or overtaken"),
            Self::NeedlessRecovery => {
                f.write_str("part of a recovery that had begun with a needless fast retransmit")
            }
            Self::WindowProbe => f.write_str("a probe of a closed window"),
            Self::Other => f.write_str("an earlier copy was not lost"),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packet, at, rule, since } = self;
        match since {
            None => write!(f, "packet {packet}, {rule}, at {at}"),
            Some(since) => {
                write!(f, "packet {packet}, discarded: {rule} out of step since packet {since}, at {at}")
            }
        }
    }
}

impl fmt::Display for HeldUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a link held a packet for {} from {} ({})", self.by, self.at, self.cause)
    }
}
