//! The configuration of a cell plan: layout, radio, link adaptation, retransmissions, scheduler.
//!
//! Defaults are those of the document that describes the model (Landström 2008, chapter 7); where it leaves a constant
//! open, the default cites another source.

use link::ConfigError;
use link::compression::Compression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::PacketsOrBytes;
use units::{Duration, Rate};

use crate::adaptation::AdaptationConfig;
use crate::check::{at_least, refuse};
use crate::mobility::{MobilityConfig, Motion};
use crate::quantity::{Degrees, Metres, Speed};
use crate::radio::RadioConfig;
use crate::scheduler::{SchedulerChoice, Service, max_rate};

/// A plan of cells that share one carrier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "CellPlan")]
pub struct Config {
    /// Positions of the sites.
    pub layout: LayoutConfig,
    /// Powers, losses, fading.
    pub radio: RadioConfig,
    /// Transport blocks and their errors.
    pub adaptation: AdaptationConfig,
    /// Order in which users are served; each sector has a scheduler.
    pub scheduler: SchedulerChoice,
    /// Users that may share a TTI by codes. 4 in Landström 2008 §7.1.
    pub users_per_tti: u32,
    /// Transmission time interval. 2 ms for HSDPA (3GPP TS 25.308 §5.1).
    pub tti: Duration,
    /// Compression of headers, before a packet waits for its user; each user has a compressor. Default: packets are
    /// sent as they come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Motion and handover of users. Default: users do not move, as in Landström 2008 §7.5.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mobility: Option<MobilityConfig>,
}

/// Positions of the sites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LayoutConfig {
    /// Sites of three sectors each: 1, 7 or 19. 7 in Landström 2008 §7.5.1.
    pub sites: u32,
    /// Distance between neighbouring sites. Not given in the document; 1000 m is the value of 3GPP TR 25.942 §5.1.1 for
    /// macro cells.
    pub site_distance: Metres,
}

/// A user of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    /// Delay budget of its packets: older ones are dropped. Without one nothing is dropped for its age.
    #[serde(default)]
    pub budget: Option<Duration>,
    /// The rate that its service needs at least; MRmin and M-LWDF go by it. 13.6 kbit/s for voice and 64 kbit/s for web
    /// in Landström 2008 §7.4.
    pub min_rate: Rate,
    /// Most that waits for it; more is dropped. Without a limit nothing is.
    #[serde(default)]
    pub queue_limit: Option<PacketsOrBytes>,
    /// Its speed, if it differs from `radio.speed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
    /// Direction of motion on straight ways: 0° is east, 90° north. Default: random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<Degrees>,
}

impl UserConfig {
    /// Its service.
    #[must_use]
    pub const fn service(&self) -> Service {
        match self.budget {
            Some(budget) => Service::DelayBound { budget },
            None => Service::Elastic,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            layout: LayoutConfig::default(),
            radio: RadioConfig::default(),
            adaptation: AdaptationConfig::default(),
            scheduler: SchedulerChoice::MaxRate(max_rate::Parameters {}),
            users_per_tti: 4,
            tti: Duration::from_millis(2),
            compression: None,
            mobility: None,
        }
    }
}

impl Default for LayoutConfig {
    fn default() -> Self {
        Self { sites: 7, site_distance: Metres(1_000.0) }
    }
}

impl Config {
    /// Whether the settings make sense.
    ///
    /// # Errors
    /// The first that does not, with its path.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.layout.check().map_err(|error| error.below("layout"))?;
        self.radio.check().map_err(|error| error.below("radio"))?;
        self.adaptation.check().map_err(|error| error.below("adaptation"))?;
        self.scheduler.check().map_err(|error| error.below("scheduler"))?;
        if self.users_per_tti == 0 {
            return refuse("users_per_tti", "no user can be served in a TTI", "write 1 or more");
        }
        if self.tti.is_zero() {
            return refuse("tti", "a TTI must be longer than 0 s", "write one like \"2 ms\"");
        }
        let compression = self.compression.as_ref().map_or(Ok(()), Compression::check);
        compression.map_err(|error| error.below("compression"))?;
        self.mobility.as_ref().map_or(Ok(()), MobilityConfig::check).map_err(|error| error.below("mobility"))
    }

    /// Whether the settings of a user make sense on this channel.
    ///
    /// # Errors
    /// The first that does not, with its path.
    pub fn validate_user(&self, user: &UserConfig) -> Result<(), ConfigError> {
        if user.budget.is_some_and(|budget| budget < self.tti) {
            let message = "the delay budget is shorter than a TTI, so that no packet could keep it";
            return refuse(
                "budget",
                message,
                &format!("write {} or more", units::text::write_duration(self.tti)),
            );
        }
        if let Some(speed) = user.speed {
            at_least("speed", speed.0, 0.0, "m/s")?;
        }
        let straight = self.mobility.as_ref().is_some_and(|mobility| mobility.motion == Motion::Straight);
        if user.heading.is_some() && !straight {
            let message = "users of this channel do not go straight on";
            return refuse(
                "heading",
                message,
                "add mobility = { motion = \"straight\" } to the cell, or leave it out",
            );
        }
        Ok(())
    }
}

impl LayoutConfig {
    fn check(&self) -> Result<(), ConfigError> {
        if self.rings().is_none() {
            return refuse("sites", &format!("{} sites are no whole rings", self.sites), "write 1, 7 or 19");
        }
        at_least("site_distance", self.site_distance.0, 10.0, "m")
    }

    /// Rings of sites around the centre.
    #[must_use]
    pub const fn rings(&self) -> Option<u32> {
        match self.sites {
            1 => Some(0),
            7 => Some(1),
            19 => Some(2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn the_defaults_make_sense_and_are_written_as_they_are_read() {
        let config = Config::default();
        assert_eq!(config.validate(), Ok(()));
        let text = toml::to_string(&config).expect("it can be written");
        assert_eq!(read(&text), config);
        assert_eq!(config.adaptation.formats().all().len(), 23);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_path_and_a_remedy() {
        let refusals = [
            ("layout = { sites = 5 }", "layout.sites: 5 sites are no whole rings; write 1, 7 or 19"),
            ("users_per_tti = 0", "users_per_tti: no user can be served in a TTI; write 1 or more"),
            ("radio = { power = \"0 W\" }", "radio.power: 0 W is too little; write 0.000001 W or more"),
            (
                "adaptation = { chase_combining = true }",
                "adaptation.chase_combining: fixed errors do not hear a stronger signal; write errors = \"curve\" with it, \
                 or leave it out",
            ),
            (
                "adaptation = { blocks = [{ bits = 200, codes = 1, needs = \"-3 dB\" }, { bits = 100, codes = 1, needs = \
                 \"0 dB\" }] }",
                "adaptation.blocks.[1]: the block is not larger, or needs no more signal, than the one before it; write \
                 blocks by growing bits and growing needs",
            ),
        ];
        for (text, expected) in refusals {
            let error = read(text).validate().expect_err(text).to_string();
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_budget_below_a_tti_is_refused() {
        let user = UserConfig {
            budget: Some(Duration::from_millis(1)),
            min_rate: Rate::from_bits_per_sec(13_600),
            queue_limit: None,
            speed: None,
            heading: None,
        };
        let error = Config::default().validate_user(&user).expect_err("1 ms of 2").to_string();
        assert!(error.starts_with("budget: ") && error.ends_with("write 2 ms or more"), "{error}");
    }
}
