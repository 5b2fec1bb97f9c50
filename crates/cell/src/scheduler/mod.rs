//! Schedulers: in what order the users of a sector are served in a TTI.
//!
//! A scheduler ranks the users that have data and may be sent to. The first in rank gets the power and codes of its
//! highest rate, the next what is left, and so on. A new scheduler is a file with `ENTRY`, `Parameters` and its
//! formula, and a line in the list below.
//!
//! Read `max_rate.rs` first, then `proportional_fair.rs`.

use std::cmp::Ordering;
use std::fmt::Debug;

use link::ConfigError;
use registry::registry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use crate::identity::UserId;

mod weights;

pub use weights::ServiceWeights;

registry! {
    /// In what order users are served. Written as its name, or a table of one key, its name.
    SchedulerChoice in "scheduler", a "scheduler" of dyn SchedulerParameters:
    RoundRobin = round_robin,
    MaxRate = max_rate,
    ProportionalFair = proportional_fair,
    MrMin = mr_min,
    MrDelay = mr_delay,
    MLwdfDelay = m_lwdf_delay,
    MLwdfRate = m_lwdf_rate,
    HoseinVoip = hosein_voip,
    SpectralWaiting = spectral_waiting,
    ExpPf = exp_pf,
    EarliestDeadline = earliest_deadline,
    Barriers = barriers,
    WeightedPf = weighted_pf,
    PriorityDelayPf = priority_delay_pf,
    CandidateSet = candidate_set,
}

impl SchedulerChoice {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this scheduler.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.parameters().check().map_err(|error| error.below(self.id()))
    }

    /// The scheduler of one sector.
    #[must_use]
    pub fn scheduler(&self) -> Box<dyn Scheduler> {
        self.parameters().scheduler()
    }
}

/// The parameters of one scheduler.
pub trait SchedulerParameters {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// The scheduler with these parameters; they have passed [`SchedulerParameters::check`].
    fn scheduler(&self) -> Box<dyn Scheduler>;
}

/// Ranks the users of one sector in each TTI.
pub trait Scheduler: Debug + Send {
    /// Writes the rank of each candidate, in their order, to `ranks`, which is empty.
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>);
}

/// The service that a user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Packets that are of no use after the delay budget: voice.
    DelayBound {
        /// The budget.
        budget: Duration,
    },
    /// Transfers that take what they get: web, files.
    Elastic,
}

impl Service {
    /// The service without its numbers.
    #[must_use]
    pub const fn kind(self) -> ServiceKind {
        match self {
            Self::DelayBound { .. } => ServiceKind::Voice,
            Self::Elastic => ServiceKind::Elastic,
        }
    }
}

/// The services as files name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceKind {
    /// Users with a delay budget.
    Voice,
    /// All others.
    Elastic,
}

/// A user with data, to which the sector may send now. Rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The user.
    pub user: UserId,
    /// Its service.
    pub service: Service,
    /// r: what the radio carries to it in this TTI, or what it has queued, if that is less.
    pub rate: f64,
    /// Rate that the radio alone allows.
    pub radio_rate: f64,
    /// μ: the average rate that it has had.
    pub mean_rate: f64,
    /// The minimum rate that its service is to have.
    pub min_rate: f64,
    /// Age of its oldest packet.
    pub delay: Duration,
    /// Age of the oldest token of a bucket that is filled at the minimum rate and emptied by what the user is sent.
    pub token_delay: Duration,
    /// Time since it was last served.
    pub unserved: Duration,
    /// Number of its packets in the queue.
    pub packets: u32,
    /// Whether a block of it is to be sent again.
    pub repeats: bool,
}

impl Candidate {
    /// Rest of its delay budget; unlimited without a budget.
    #[must_use]
    pub const fn slack(&self) -> Duration {
        match self.service {
            Service::DelayBound { budget } => budget.saturating_sub(self.delay),
            Service::Elastic => Duration::MAX,
        }
    }

    /// r / μ, where a user that has had nothing yet counts as one with [`LEAST_MEAN_RATE`].
    #[must_use]
    pub fn relative_rate(&self) -> f64 {
        self.rate / self.mean_rate.max(LEAST_MEAN_RATE)
    }
}

/// A user's place in the order: a strict class first, then a value within the class; the greatest is served first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// Users of a higher class go before all of a lower one.
    pub class: u8,
    /// The scheduler's formula.
    pub value: f64,
}

impl Rank {
    /// The rank of a user that is not to be served in this TTI, even if there is no other.
    pub const UNSERVED: Self = Self { class: 0, value: f64::NEG_INFINITY };

    /// A rank in the only class there is.
    #[must_use]
    pub const fn by(value: f64) -> Self {
        Self { class: 0, value }
    }

    /// The order of service: `Greater` is served first.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        self.class.cmp(&other.class).then(self.value.total_cmp(&other.value))
    }
}

/// Below any rate that a user has had once it was served: with it r / μ stays finite, and among users that have had
/// nothing it goes by r.
const LEAST_MEAN_RATE: f64 = 1.0;

/// At its delay budget a barrier would be infinite: a microsecond is far below a TTI.
const LEAST_SLACK: Duration = Duration::from_micros(1);

/// A scheduler whose rank of a user depends on that user alone.
fn each(candidates: &[Candidate], ranks: &mut Vec<Rank>, rank: impl FnMut(&Candidate) -> Rank) {
    ranks.extend(candidates.iter().map(rank));
}

/// A parameter that must be above zero.
fn positive(key: &str, value: f64) -> Result<(), ConfigError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{value} is not above 0"), "write a number above 0"))
}

#[cfg(test)]
mod tests;
