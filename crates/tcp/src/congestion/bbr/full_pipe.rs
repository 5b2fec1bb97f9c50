//! Whether STARTUP has filled the pipe: three rounds without a quarter more bandwidth.

use units::Rate;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    reached: bool,
    /// The largest bandwidth of the rounds that brought a quarter more.
    bandwidth: Rate,
    /// Rounds since then.
    rounds: u32,
}

impl FullPipe {
    pub(super) const fn is_reached(&self) -> bool {
        self.reached
    }

    /// A round has begun in which the application did not limit the sender.
    pub(super) fn on_round(&mut self, bandwidth: Rate) {
        if self.reached {
            return;
        }
        if bandwidth.bits_per_sec() * 4 >= self.bandwidth.bits_per_sec() * 5 {
            (self.bandwidth, self.rounds) = (bandwidth, 0);
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= FULL_PIPE_ROUNDS;
    }

    /// The bandwidth is looked for anew, after a timeout.
    pub(super) fn forget_bandwidth(&mut self) {
        self.bandwidth = Rate::default();
    }

    /// The bandwidth is looked for anew, and the rounds counted from zero: the window was restored.
    pub(super) fn begin_again(&mut self) {
        (self.bandwidth, self.rounds) = (Rate::default(), 0);
    }
}

/// `bbr_full_bw_cnt`.
const FULL_PIPE_ROUNDS: u32 = 3;
