//! Token bucket: a long-term rate, and bursts at the link's own rate (RFC 2697 has the bucket in its simplest form). A
//! packet leaves when the bucket holds a token for each of its bytes; a packet larger than the bucket leaves when the
//! bucket is full, and the debt is paid before the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::{CapacityParameters, RateSource, TransmissionEnd};
use crate::distribution::Quantity;
use crate::error::ConfigError;
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry =
    Entry::new("token-bucket", "a long-term rate, and bursts at the link's rate", "RFC 2697; tc-tbf(8)")
        .written("{ token-bucket = { rate = \"1 Mbit/s\", burst = \"30 kB\" } }");

/// The rate of tokens, and the size of the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Rate at which tokens arrive, one per byte: the long-term rate.
    pub rate: Rate,
    /// Maximum number of tokens, which is also the number at the start. The link's `rate` is that of the
    /// bursts; without one, they take no time.
    pub burst: Bytes,
}

impl CapacityParameters for Parameters {
    fn check(&self, base: Option<Rate>) -> Result<(), ConfigError> {
        if self.rate == Rate::ZERO {
            return Err(ConfigError::new(
                "rate",
                "no tokens would ever come",
                "write a rate like \"1 Mbit/s\"",
            ));
        }
        if self.burst.is_zero() {
            let message = "a bucket of 0 bytes keeps no tokens";
            return Err(ConfigError::new("burst", message, "write a size like \"30 kB\""));
        }
        if base.is_some_and(|base| base < self.rate) {
            let message = "tokens come faster than the link transmits";
            return Err(ConfigError::new("rate", message, "write no more than the link's rate"));
        }
        Ok(())
    }

    fn source(&self, base: Option<Rate>, _: &Streams) -> Box<dyn RateSource> {
        let full = i128::from(self.burst.0) * BIT_NANOS_PER_BYTE;
        let per_nano = i128::from(self.rate.bits_per_sec());
        Box::new(TokenBucket { per_nano, full, tokens: full, at: Instant::START, peak: base })
    }

    fn nominal(&self, _: Option<Rate>) -> Option<Rate> {
        Some(self.rate)
    }
}

/// Tokens are counted in bits times nanoseconds, so that nothing is rounded; a debt is negative.
#[derive(Debug)]
struct TokenBucket {
    per_nano: i128,
    full: i128,
    tokens: i128,
    /// Time at which the bucket held these tokens.
    at: Instant,
    peak: Option<Rate>,
}

impl TokenBucket {
    fn fill(&mut self, now: Instant) {
        let came = self.per_nano * i128::from((now.saturating_since(self.at)).as_nanos());
        self.tokens = (self.tokens + came).min(self.full);
        self.at = self.at.max(now);
    }
}

impl RateSource for TokenBucket {
    fn transmit(&mut self, now: Instant, size: Bytes) -> TransmissionEnd {
        self.fill(now);
        let cost = i128::from(size.0) * BIT_NANOS_PER_BYTE;
        let missing = cost.min(self.full) - self.tokens;
        if missing > 0 {
            let nanos = (missing + self.per_nano - 1) / self.per_nano;
            return TransmissionEnd::NotBefore(now + Duration::from_nanos(nanos as u64));
        }
        self.tokens -= cost;
        TransmissionEnd::At(now + self.peak.map_or(Duration::ZERO, |peak| peak.time_for(size)))
    }
}

/// A bit takes a nanosecond at a rate of 10⁹ bit/s.
const BIT_NANOS_PER_BYTE: i128 = 8_000_000_000;
