//! A weight for each service, which several rules multiply with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Service, positive};

/// The weights of the services, above 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceWeights {
    /// Weight of users with a delay budget, above 0.
    pub voice: f64,
    /// Weight of all others, above 0.
    pub elastic: f64,
}

impl ServiceWeights {
    /// Whether both are above 0.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        positive("voice", self.voice)?;
        positive("elastic", self.elastic)
    }

    /// The weight of a service.
    #[must_use]
    pub const fn of(&self, service: Service) -> f64 {
        match service {
            Service::DelayBound { .. } => self.voice,
            Service::Elastic => self.elastic,
        }
    }
}
