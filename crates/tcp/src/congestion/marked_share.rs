//! The moving average of the share of marked bytes, DCTCP's alpha (RFC 8257 §3.3), by which DCTCP and Prague reduce
//! their windows.

use units::{Bytes, Seq};

use super::AckSample;

/// alpha, and what was acknowledged since it was last updated.
#[derive(Clone, Debug)]
pub(super) struct MarkedShare {
    alpha: f64,
    gain: f64,
    acked: Bytes,
    marked: Bytes,
    /// SND.NXT when the present window began: `DCTCP.WindowEnd`.
    window_end: Option<Seq>,
}

impl MarkedShare {
    pub const fn new(alpha: f64, gain: f64) -> Self {
        Self { alpha, gain, acked: Bytes::ZERO, marked: Bytes::ZERO, window_end: None }
    }

    /// Counts an ACK; whether it is the first beyond the present window of data, after which another one begins.
    pub fn ends_window(&mut self, ack: &AckSample) -> bool {
        self.acked += ack.acked;
        self.marked += ack.marked;
        if self.window_end.is_some_and(|end| !ack.number.after(end)) {
            return false;
        }
        self.window_end.replace(ack.nxt).is_some()
    }

    /// alpha = (1 − g)·alpha + g·M, where M is the share of marked bytes since the last update.
    pub fn update(&mut self) {
        if !self.acked.is_zero() {
            let share = (self.marked.0 as f64 / self.acked.0 as f64).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
        }
        (self.acked, self.marked) = (Bytes::ZERO, Bytes::ZERO);
    }

    /// The part of the window that is left by a reduction: 1 − alpha/2.
    pub fn kept(&self) -> f64 {
        1.0 - self.alpha / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack_sample};
    use super::*;

    fn window(share: &mut MarkedShare, number: u32, marked: u64) -> bool {
        let (number, nxt) = (Seq(number), Seq(number + 10_000));
        share.ends_window(&AckSample {
            number,
            nxt,
            marked: SMSS * marked,
            ..ack_sample(SMSS * 10, SMSS * 10)
        })
    }

    // RFC 8257 §3.3 with g = 1/16: after n windows with the share M, alpha = M + (alpha0 − M)·(15/16)^n.
    #[test]
    fn alpha_approaches_the_share_of_marked_bytes_by_a_sixteenth_a_window() {
        let mut share = MarkedShare::new(1.0, 1.0 / 16.0);
        let mut windows = 0;
        for step in 0..40 {
            if window(&mut share, 1 + step * 5_001, 3) {
                share.update();
                windows += 1;
            }
        }
        assert_eq!(windows, 19, "a window ends with the first ACK beyond what was sent as it began");
        let expected = 0.3 + 0.7 * (15.0_f64 / 16.0).powi(windows);
        assert!((share.alpha - expected).abs() < 1e-12, "{} for {expected}", share.alpha);
    }

    #[test]
    fn what_is_left_is_half_where_all_is_marked_and_nearly_all_where_little_is() {
        assert!((MarkedShare::new(1.0, 0.1).kept() - 0.5).abs() < 1e-12);
        assert!((MarkedShare::new(0.02, 0.1).kept() - 0.99).abs() < 1e-12);
    }
}
