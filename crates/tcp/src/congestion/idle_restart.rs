//! Restart after an idle time (RFC 5681 §4.1): a sender that has sent nothing for longer than its
//! retransmission timer begins again with the restart window min(IW, cwnd); the threshold stays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant};

use super::layer::{Over, Rule, layered};
use super::{CongestionControl, SendEvent};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The algorithm below.
    pub(super) over: Over,
}

#[derive(Debug, Default)]
struct IdleRestart {
    initial_window: Bytes,
    last_sent: Option<Instant>,
}

impl Rule for IdleRestart {
    fn start(&mut self, inner: &mut dyn CongestionControl, smss: Bytes, initial_window: Bytes) {
        self.initial_window = initial_window;
        inner.start(smss, initial_window);
    }

    fn observes_sends(&self) -> bool {
        true
    }

    /// The segment that ends the idle time is out already, and is the first of the restart window.
    fn on_sent(&mut self, inner: &mut dyn CongestionControl, sent: &SendEvent) {
        let idle = self.last_sent.is_some_and(|last| sent.idle_since(last) > sent.rto);
        self.last_sent = Some(sent.now);
        if idle && inner.cwnd() > self.initial_window {
            inner.on_restore(self.initial_window, inner.ssthresh());
        }
        inner.on_sent(sent);
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn CongestionControl> = Algorithm::of(
    "idle-restart",
    "after an idle time, at most the initial window; over another algorithm",
    "RFC 5681 §4.1",
    &Build(|parameters: &Parameters| layered(IdleRestart::default(), &parameters.over)),
);

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::Duration;

    use super::super::testing::{SMSS, built, send_event};
    use super::*;

    #[test]
    fn more_than_a_timer_without_sending_leaves_the_first_window_and_the_threshold() {
        let mut restart = built(ENTRY.id, json!({}));
        restart.on_restore(SMSS * 12, SMSS * 10);
        for (millis, left) in [(0, 12), (1000, 12), (2001, 2), (2002, 2)] {
            restart.on_sent(&send_event(Duration::from_millis(millis), SMSS, false));
            assert_eq!((restart.cwnd(), restart.ssthresh()), (SMSS * left, SMSS * 10), "{millis} ms");
        }
    }

    #[test]
    fn a_window_below_the_first_one_does_not_grow_by_it() {
        let mut restart = built(ENTRY.id, json!({}));
        restart.on_restore(SMSS, SMSS * 4);
        restart.on_sent(&send_event(Duration::ZERO, SMSS, false));
        restart.on_sent(&send_event(Duration::from_secs(9), SMSS, false));
        assert_eq!(restart.cwnd(), SMSS);
    }
}
