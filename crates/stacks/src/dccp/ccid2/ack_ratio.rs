//! The Ack Ratio (RFC 4341 §6.1.2): fewer acknowledgments where acknowledgments are lost.

use std::collections::VecDeque;

use super::super::seqno::Seqno;

/// The ratio, and what its adaptation needs.
#[derive(Debug)]
pub(super) struct AckRatio {
    ratio: u16,
    is_fixed: bool,
    newest: Option<Seqno>,
    /// The peer's packets that have not arrived, each with the number of later ones that have.
    missing: VecDeque<(Seqno, u32)>,
    /// Whether an acknowledgment was lost in the present window of data.
    has_lost: bool,
    /// Windows in a row without such a loss.
    clean_windows: u64,
}

impl AckRatio {
    /// The ratio that a user gave, or an adaptive one.
    pub(super) fn new(fixed: Option<u16>) -> Self {
        Self {
            ratio: fixed.unwrap_or(INITIAL),
            is_fixed: fixed.is_some(),
            newest: None,
            missing: VecDeque::new(),
            has_lost: false,
            clean_windows: 0,
        }
    }

    pub(super) const fn get(&self) -> u16 {
        self.ratio
    }

    /// A packet of the peer's arrived. One is lost when three later ones have arrived, as data are.
    pub(super) fn on_packet(&mut self, seq: Seqno) {
        let Some(newest) = self.newest.filter(|_| !self.is_fixed) else {
            self.newest = Some(seq);
            return;
        };
        if !seq.is_after(newest) {
            self.missing.retain(|(missing, _)| *missing != seq);
            return;
        }
        let gap = (seq.since(newest) as u64 - 1).min(MOST_MISSING);
        self.missing.extend((1..=gap).map(|place| (newest.plus(place), 0)));
        self.newest = Some(seq);
        self.missing.iter_mut().for_each(|(_, later)| *later += 1);
        while self.missing.front().is_some_and(|(_, later)| *later >= NUMDUPACK) {
            self.missing.pop_front();
            self.has_lost = true;
        }
    }

    /// A window of `cwnd` data packets has been acknowledged.
    pub(super) fn on_window(&mut self, cwnd: u64) {
        if self.is_fixed {
            return;
        }
        let ratio = u64::from(self.ratio);
        if std::mem::take(&mut self.has_lost) {
            self.clean_windows = 0;
            self.ratio = self.ratio.saturating_mul(2);
        } else {
            self.clean_windows += 1;
            // After cwnd/(R² − R) windows without a loss; for R = 1 there is nothing to lower.
            if ratio > 1 && self.clean_windows * (ratio * ratio - ratio) >= cwnd {
                self.clean_windows = 0;
                self.ratio -= 1;
            }
        }
        self.fit(cwnd);
    }

    /// At most half of the window, rounded up, and two at least for a window of four packets or more.
    pub(super) fn fit(&mut self, cwnd: u64) {
        if !self.is_fixed {
            let least = if cwnd >= 4 { 2 } else { 1 };
            let most = u16::try_from(cwnd.div_ceil(2)).unwrap_or(u16::MAX).max(least);
            self.ratio = self.ratio.clamp(least, most);
        }
    }
}

/// RFC 4340 §11.3.
const INITIAL: u16 = 2;
/// RFC 4341 §5.
const NUMDUPACK: u32 = 3;
/// A longer gap is no loss of acknowledgments but a Sync of another time.
const MOST_MISSING: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn with_losses(ratio: &mut AckRatio, from: u64, lost: &[u64]) {
        (from..from + 20).filter(|seq| !lost.contains(seq)).for_each(|seq| ratio.on_packet(Seqno::new(seq)));
    }

    #[test]
    fn a_lost_acknowledgment_doubles_the_ratio_and_windows_without_one_lower_it() {
        let mut ratio = AckRatio::new(None);
        with_losses(&mut ratio, 0, &[7]);
        ratio.on_window(40);
        assert_eq!(ratio.get(), 4);
        with_losses(&mut ratio, 20, &[]);
        // 40/(16 − 4) = 3.3 windows.
        for (window, expected) in [(1, 4), (2, 4), (3, 4), (4, 3)] {
            ratio.on_window(40);
            assert_eq!(ratio.get(), expected, "{window}");
        }
    }

    #[test]
    fn two_acknowledgments_a_window_are_left() {
        let mut ratio = AckRatio::new(None);
        for round in 0..9 {
            with_losses(&mut ratio, round * 20, &[round * 20 + 3]);
            ratio.on_window(9);
        }
        assert_eq!(ratio.get(), 5);
        ratio.fit(3);
        assert_eq!(ratio.get(), 2);
        ratio.fit(1);
        assert_eq!(ratio.get(), 1);
    }

    #[test]
    fn a_given_ratio_stays_and_a_late_acknowledgment_is_not_lost() {
        let mut fixed = AckRatio::new(Some(7));
        with_losses(&mut fixed, 0, &[3]);
        fixed.on_window(4);
        assert_eq!(fixed.get(), 7);
        let mut late = AckRatio::new(None);
        for seq in [1, 2, 4, 5, 3, 6, 7] {
            late.on_packet(Seqno::new(seq));
        }
        late.on_window(40);
        assert_eq!(late.get(), 2);
    }
}
