//! A limit on slow start's growth in a round trip: the window becomes at most `most` times what it was when
//! the round trip began. ACKs beyond that open nothing.
//!
//! Cheskis 2006 §3.1.2 saw it with Windows XP SP2 as the server of a client that divides its
//! acknowledgments; see `docs/spec/tcp.md` for what is known of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Serialize};
use units::text::REMEDY;
use units::{Bytes, Seq};

use super::layer::{Over, Rule, layered};
use super::{Congestion, Growth};
use crate::registry::Entry;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many times the window that it began with a round trip may make of it. 3: between 2.75 and 3 were
    /// seen (Cheskis 2006 §3.1.2), and nothing was held back of 3.
    pub most: u32,
    /// The algorithm below.
    pub(super) over: Over,
}

impl Default for Params {
    fn default() -> Self {
        Self { most: 3, over: Over::default() }
    }
}

#[derive(Debug)]
struct GrowthLimit {
    most: u64,
    /// The round trip ends when more than this is acknowledged; there is none before the first ACK.
    end: Option<Seq>,
    limit: Bytes,
}

impl Rule for GrowthLimit {
    fn on_ack(&mut self, inner: &mut dyn Congestion, ack: &Growth) {
        match self.end {
            // The first round trip has no window before it to go by.
            None => self.end = Some(ack.nxt),
            Some(end) if ack.number.after(end) => {
                self.end = Some(ack.nxt);
                self.limit = Bytes(inner.cwnd().0.saturating_mul(self.most));
            }
            Some(_) => {}
        }
        if !inner.in_slow_start() {
            return inner.on_ack(ack);
        }
        let acked = ack.acked.min(self.limit.saturating_sub(inner.cwnd()));
        if !acked.is_zero() {
            inner.on_ack(&Growth { acked, ..*ack });
        }
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Congestion> = Entry {
    id: "growth-limit",
    summary: "a round trip of slow start makes at most three of one; over another algorithm",
    source: "Cheskis 2006 §3.1.2",
    parse: |value| {
        let params: Params = Entry::<dyn Congestion>::read(value)?;
        if params.most < 2 {
            return Err(serde_json::Error::custom(format!(
                "{}{REMEDY}2 at least: slow start doubles",
                params.most
            )));
        }
        let most = u64::from(params.most);
        Ok(Arc::new(move || layered(GrowthLimit { most, end: None, limit: Bytes::MAX }, &params.over)))
    },
    schema: Entry::<dyn Congestion>::describe::<Params>,
};

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::Duration;

    use super::super::trial::{Path, SMSS, built, growth};
    use super::*;

    /// The window after each round trip in which every segment draws so many whole-segment ACKs.
    fn windows(divided: u64) -> Vec<u64> {
        let mut limited =
            built(ENTRY.id, json!({ "over": { "algorithm": "aimd", "slow_start_counts": "acks" } }));
        let mut una = Seq::default();
        let mut windows = vec![];
        for _ in 0..2 {
            let flight = limited.cwnd();
            let mut nxt = una + flight.0 as u32;
            for _ in 0..flight.whole(SMSS) * divided {
                una += (SMSS / divided).0 as u32;
                let cwnd = limited.cwnd();
                limited.on_ack(&Growth { number: una, nxt, ..growth(SMSS / divided, cwnd) });
                nxt = nxt.max(una + limited.cwnd().0 as u32);
            }
            windows.push(limited.cwnd().whole(SMSS));
        }
        windows
    }

    #[test]
    fn after_the_first_round_trip_a_window_trebles_at_most() {
        assert_eq!(windows(1), [4, 8]);
        assert_eq!(windows(2), [6, 18]);
        assert_eq!(windows(4), [10, 30]);
        assert_eq!(windows(5), [12, 36]);
    }

    #[test]
    fn a_limit_below_slow_starts_own_doubling_is_refused() {
        assert!((ENTRY.parse)(json!({ "most": 1 })).is_err());
        assert!((ENTRY.parse)(json!({ "most": 2 })).is_ok());
    }

    #[test]
    fn a_sender_whose_acks_are_not_divided_never_meets_it() {
        let (mut limited, mut reno) = (built(ENTRY.id, json!({})), built("reno", json!({})));
        let (mut one, mut other) = (Path::new(), Path::new());
        for _ in 0..6 {
            one.round(limited.as_mut(), Duration::from_millis(100), Duration::ZERO);
            other.round(reno.as_mut(), Duration::from_millis(100), Duration::ZERO);
            assert_eq!(limited.cwnd(), reno.cwnd());
        }
    }
}
