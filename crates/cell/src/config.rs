//! The configuration of a cell plan: layout, radio, link adaptation, retransmissions, scheduler.
//!
//! Defaults are those of the document that describes the model (Landström 2008, chapter 7); where it leaves a constant
//! open, the default cites another source.

use link::ConfigError;
use link::compression::Compression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::{PacketsOrBytes, Probability};
use units::{Duration, Rate};

use crate::adaptation::{BlockErrors, CATEGORY_6_SIZES, CATEGORY_10, FixedErrors, Formats};
use crate::check::{at_least, refuse};
use crate::decibel::ratio;
use crate::mobility::{MobilityConfig, Motion};
use crate::quantity::{Decibels, Degrees, Hertz, Metres, Speed, Watts};
use crate::radio::antenna::Antenna;
use crate::radio::fading::{FLAT, Profile, TYPICAL_URBAN};
use crate::radio::path_loss::PathLoss;
use crate::radio::shadowing::Shadowing;
use crate::radio::{Budget, thermal_noise};
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

/// Powers, losses, fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RadioConfig {
    /// Carrier frequency. Not given in the document; 2 GHz (3GPP TR 25.942 §4.1.1.2).
    pub carrier: Hertz,
    /// Bandwidth over which noise is received: the chip rate, 3.84 MHz (3GPP TS 25.201).
    pub bandwidth: Hertz,
    /// Total power of a sector. Not given in the document; 43 dBm (3GPP TR 25.942 table 5.1).
    pub power: Watts,
    /// Share of the power for pilots and other channels, always sent. Not given in the document; 0.3, as 3GPP TR 25.848
    /// annex A leaves 70 % to the shared channel.
    pub overhead: Probability,
    /// Gain of a sector's antenna, less cable loss. Not given in the document; 14 dBi (3GPP TR 25.896 annex A.3).
    pub antenna_gain: Decibels,
    /// Angle between the directions of half power. Not given in the document; 70° (3GPP TR 25.896 annex A.3).
    pub beamwidth: Degrees,
    /// Front-to-back ratio of the antenna. Not given in the document; 20 dB (3GPP TR 25.896 annex A.3).
    pub front_to_back: Decibels,
    /// Path loss at 1 km. Not given in the document; 128.1 dB (3GPP TR 25.942 §4.1.1.2, antenna 15 m above roofs).
    pub path_loss_at_1_km: Decibels,
    /// Path loss exponent. 3.5 in Landström 2008 §7.5.1.
    pub path_loss_exponent: f64,
    /// Minimum coupling loss between antennas. Not given in the document; 70 dB (3GPP TR 25.942 §4.1.1.2).
    pub minimum_coupling_loss: Decibels,
    /// Standard deviation of the shadowing. 8.9 dB in Landström 2008 §7.5.1.
    pub shadowing: Decibels,
    /// Correlation of the shadowing between sites. Not given in the document; 0.5 (3GPP TR 25.942 §4.1.1.3).
    pub shadowing_correlation: Probability,
    /// The multipath profile. Typical Urban in Landström 2008 §7.5.1.
    pub multipath: Multipath,
    /// Speed of the users: for their fading, and with `mobility` for their motion. 3 km/h in Landström 2008 §7.5.1.
    pub speed: Speed,
    /// Share of the own sector's power that interferes after multipath. Not given in the document; 0.4 (3GPP TR 25.942
    /// §5.1.4: an orthogonality factor of 0.4 in macro cells).
    pub non_orthogonality: Probability,
    /// Noise figure of a receiver. Not given in the document; 9 dB (3GPP TR 25.942 table 5.1).
    pub noise_figure: Decibels,
    /// Sector that serves a user. Not given in the document; the strongest, as in a network.
    #[serde(skip_serializing_if = "Serving::is_default")]
    pub serving: Serving,
}

/// Sector that serves a user, unless handovers decide it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// The one with the strongest signal, shadowing counted.
    #[default]
    Strongest,
    /// The sector in whose area it is: that of the nearest site whose antenna points closest to it.
    Nearest,
}

impl Serving {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Multipath profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Multipath {
    /// Six taps (3GPP TS 45.005 annex C.3.3).
    TypicalUrban,
    /// One Rayleigh tap.
    Flat,
}

/// Transport blocks and their errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptationConfig {
    /// The table of block sizes.
    pub blocks: Blocks,
    /// Codes of spreading factor 16 that a sector has for the channel, 15 of 16 (3GPP TS 25.308 §5.1); with blocks of
    /// LTE, its resource blocks, 50 in 10 MHz (3GPP TS 36.101 table 5.6-1).
    pub codes: u32,
    /// Model of block errors.
    pub errors: Errors,
    /// Time for which a user is not served after an error. 12 ms in Landström 2008 §7.1.
    pub error_pause: Duration,
    /// Age of the reported quality on use, a whole number of TTIs. 0 in the document, whose estimation is perfect.
    pub report_delay: Duration,
    /// Whether the receiver adds up the signal of all attempts (chase combining). With errors by the curve only.
    pub chase_combining: bool,
}

/// Tables of block sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Blocks {
    /// 22 sizes up to 7168 bits (3GPP TS 25.214 table 7A).
    Category6,
    /// 30 sizes up to 25,558 bits (3GPP TS 25.214 table 7D).
    Category10,
    /// The first 23 sizes of table 7D, up to 9719 bits: Landström 2008 §7.5.1 has 23 sizes and does not say which.
    Landstrom,
    /// The 15 indicators of LTE (3GPP TS 36.213 table 7.2.3-1), over any number of the channel's resource blocks.
    /// Spreading and codes are none.
    Lte,
    /// Sizes of one's own.
    #[serde(untagged)]
    Custom(Vec<CustomBlock>),
}

/// One size of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomBlock {
    /// Bits of the block.
    pub bits: u32,
    /// Codes that it occupies.
    pub codes: u32,
    /// Least signal-to-interference ratio after despreading.
    pub needs: Decibels,
}

/// Model of block errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BlockErrors")]
pub enum Errors {
    /// By quality (Brouwer et al. 2004).
    Curve,
    /// With fixed probabilities. 0.2 and 0.5 in Landström 2008 §7.5.1.
    #[serde(untagged)]
    Fixed {
        /// Probability where the quality suffices for the smallest block.
        usual: Probability,
        /// Below that.
        below_smallest: Probability,
    },
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

impl Default for RadioConfig {
    fn default() -> Self {
        let share = |share| Probability::new(share).unwrap_or(Probability::ZERO);
        Self {
            carrier: Hertz(2e9),
            bandwidth: Hertz(3.84e6),
            power: Watts(20.0),
            overhead: share(0.3),
            antenna_gain: Decibels(14.0),
            beamwidth: Degrees(70.0),
            front_to_back: Decibels(20.0),
            path_loss_at_1_km: Decibels(128.1),
            path_loss_exponent: 3.5,
            minimum_coupling_loss: Decibels(70.0),
            shadowing: Decibels(8.9),
            shadowing_correlation: share(0.5),
            multipath: Multipath::TypicalUrban,
            speed: Speed(3.0 / 3.6),
            non_orthogonality: share(0.4),
            noise_figure: Decibels(9.0),
            serving: Serving::Strongest,
        }
    }
}

impl Default for AdaptationConfig {
    fn default() -> Self {
        let share = |share| Probability::new(share).unwrap_or(Probability::ZERO);
        Self {
            blocks: Blocks::Landstrom,
            codes: 15,
            errors: Errors::Fixed { usual: share(0.2), below_smallest: share(0.5) },
            error_pause: Duration::from_millis(12),
            report_delay: Duration::ZERO,
            chase_combining: false,
        }
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

impl RadioConfig {
    fn check(&self) -> Result<(), ConfigError> {
        at_least("carrier", self.carrier.0, 1e6, "Hz")?;
        at_least("bandwidth", self.bandwidth.0, 1e3, "Hz")?;
        at_least("power", self.power.0, 1e-6, "W")?;
        at_least("beamwidth", self.beamwidth.0, 1.0, "deg")?;
        at_least("front_to_back", self.front_to_back.0, 0.0, "dB")?;
        at_least("path_loss_exponent", self.path_loss_exponent, 0.1, "")?;
        at_least("shadowing", self.shadowing.0, 0.0, "dB")?;
        at_least("speed", self.speed.0, 0.0, "m/s")?;
        if self.overhead == Probability::ONE {
            return refuse(
                "overhead",
                "all power is overhead, none is left for data",
                "write a number below 1",
            );
        }
        Ok(())
    }

    pub(crate) fn antenna(&self) -> Antenna {
        Antenna {
            peak: self.antenna_gain.0,
            beamwidth: self.beamwidth.0.to_radians(),
            front_to_back: self.front_to_back.0,
        }
    }

    pub(crate) const fn path_loss(&self) -> PathLoss {
        PathLoss {
            at_1_km: self.path_loss_at_1_km.0,
            exponent: self.path_loss_exponent,
            minimum_coupling: self.minimum_coupling_loss.0,
        }
    }

    pub(crate) const fn shadowing(&self) -> Shadowing {
        Shadowing { deviation: self.shadowing.0, correlation: self.shadowing_correlation.get() }
    }

    pub(crate) const fn profile(&self) -> Profile {
        match self.multipath {
            Multipath::TypicalUrban => TYPICAL_URBAN,
            Multipath::Flat => FLAT,
        }
    }

    pub(crate) fn budget(&self, blocks: &Blocks) -> Budget {
        Budget {
            total: self.power.0,
            overhead: self.power.0 * self.overhead.get(),
            non_orthogonality: self.non_orthogonality.get(),
            spreading: if *blocks == Blocks::Lte { 1.0 } else { SPREADING_FACTOR },
            noise: thermal_noise(self.bandwidth.0, self.noise_figure.0),
        }
    }
}

impl AdaptationConfig {
    fn check(&self) -> Result<(), ConfigError> {
        if let Blocks::Custom(blocks) = &self.blocks {
            check_blocks(blocks, self.codes).map_err(|error| error.below("blocks"))?;
        }
        if self.codes == 0 {
            return refuse("codes", "without codes nothing is sent", "write a number from 1 to 15");
        }
        if self.blocks == Blocks::Lte && self.errors == Errors::Curve {
            let message = "the curve is HSDPA's, whose codes spread the signal";
            return refuse("errors", message, "write errors = { usual = 0.1, below_smallest = 0.5 }");
        }
        if self.chase_combining && self.errors != Errors::Curve {
            let message = "fixed errors do not hear a stronger signal";
            return refuse("chase_combining", message, "write errors = \"curve\" with it, or leave it out");
        }
        Ok(())
    }

    /// The transport formats.
    #[must_use]
    pub fn formats(&self) -> Formats {
        match &self.blocks {
            Blocks::Category6 => Formats::of(CATEGORY_10, CATEGORY_6_SIZES),
            Blocks::Category10 => Formats::of(CATEGORY_10, CATEGORY_10.len()),
            Blocks::Landstrom => Formats::of(CATEGORY_10, LANDSTROM_SIZES),
            Blocks::Lte => Formats::lte(self.codes),
            Blocks::Custom(blocks) => {
                let format = |block: &CustomBlock| crate::adaptation::Format {
                    bits: block.bits,
                    codes: block.codes,
                    needs: ratio(block.needs.0),
                };
                Formats::custom(blocks.iter().map(format).collect())
            }
        }
    }

    pub(crate) const fn block_errors(&self) -> BlockErrors {
        match self.errors {
            Errors::Curve => BlockErrors::Curve,
            Errors::Fixed { usual, below_smallest } => {
                BlockErrors::Fixed(FixedErrors { usual: usual.get(), below_smallest: below_smallest.get() })
            }
        }
    }
}

fn check_blocks(blocks: &[CustomBlock], codes: u32) -> Result<(), ConfigError> {
    if blocks.is_empty() {
        return refuse(
            "",
            "a list without a block carries nothing",
            "write one block or more, by growing size",
        );
    }
    for (place, block) in blocks.iter().enumerate() {
        let key = format!("[{place}]");
        if block.bits == 0 || block.codes == 0 || block.codes > codes {
            let message = format!("{} bits in {} codes cannot be sent", block.bits, block.codes);
            return refuse(&key, &message, &format!("write 1 bit or more in 1 to {codes} codes"));
        }
        if let Some(smaller) = place.checked_sub(1).map(|before| blocks[before])
            && (smaller.bits >= block.bits || smaller.needs >= block.needs)
        {
            let message = "the block is not larger, or needs no more signal, than the one before it";
            return refuse(&key, message, "write blocks by growing bits and growing needs");
        }
    }
    Ok(())
}

/// Spreading factor of the codes of HS-PDSCH (3GPP TS 25.211 §5.3.3.13).
const SPREADING_FACTOR: f64 = 16.0;

/// Block sizes in Landström 2008 §7.5.1.
const LANDSTROM_SIZES: usize = 23;

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
