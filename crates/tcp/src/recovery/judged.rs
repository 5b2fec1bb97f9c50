//! Position up to which the SACKs have judged the outstanding data (`Update()` of RFC 3517 and RFC 6675 §4).

use units::Seq;

use super::AckEvent;
use super::composed::FastRecovery;
use crate::Cause;
use crate::scoreboard::Scoreboard;

/// Position up to which the segments of a recovery were judged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judged {
    /// Everything before this was judged by the SACKs above it.
    to: Option<Seq>,
}

impl Judged {
    /// Nothing was judged.
    pub(super) const NONE: Self = Self { to: None };

    /// `Update()`: marks as lost whatever lies below the edge, is not SACKed and was not judged before. Of what was
    /// sent again already only the first copy is lost.
    pub(super) fn mark_below(
        &mut self,
        edge: Option<Seq>,
        ack: &AckEvent,
        recovery: &FastRecovery,
        board: &mut Scoreboard,
    ) {
        let Some(edge) = edge else { return };
        let judged = self.to.map_or(ack.number, |to| to.max(ack.number));
        let sent_again = board.index_of(recovery.high_rxt);
        for index in board.index_of(judged)..board.index_of(edge) {
            if index < sent_again {
                board.forget_first_copy(index);
            } else {
                board.mark_lost(index, Cause::Scoreboard);
            }
        }
        self.to = Some(judged.max(edge));
    }
}
