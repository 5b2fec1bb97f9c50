//! Configuration of connections: a profile, read and checked once and shared by all its connections.

use registry::{Choice, Entry};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use units::text::{REMEDY, Segments, SegmentsOrBytes};
use units::{Bytes, Duration};

use crate::ack::AckPolicy;
use crate::congestion::CongestionControl;
use crate::dupthresh::DupThresh;
use crate::ecn::EcnSetting;
use crate::fast_open::FastOpenSetting;
use crate::interdependence::Interdependence;
use crate::options::OptionLayout;
use crate::poll::Poll;
use crate::recovery::Recovery;
use crate::rto::Rto;
use crate::send_buffer::SendBuffer;
use crate::send_half::offload::SegmentationOffload;
use crate::send_half::pacing::Pacing;
use crate::spurious::{Needs, Spurious};
use crate::window::{Over, Window};

/// Makes [`Config`] and all that goes over every axis out of one list of them.
macro_rules! axes {
    ($($(#[$doc:meta])* $axis:ident: dyn $policy:ident = $default:literal, $summary:literal;)+) => {
        /// A resolved profile.
        #[derive(Clone, Debug)]
        pub struct Config {
            /// The keys that belong to no axis.
            pub plain: Plain,
            $($(#[$doc])* pub $axis: Choice<dyn $policy>,)+
            /// The most that the window policy ever offers.
            pub greatest_window: Bytes,
        }

        impl Config {
            /// Reads every key, each for itself.
            fn read(mut keys: Map<String, Value>) -> Result<Self, ConfigError> {
                $(let $axis = choose::<dyn $policy>($default, &mut keys)?;)+
                let mut config = Self { plain: read_plain(keys)?, $($axis,)+ greatest_window: Bytes::ZERO };
                config.greatest_window = config.window.build().greatest();
                Ok(config)
            }
        }

        /// Every axis with its algorithms.
        #[must_use]
        pub fn axes() -> Vec<Axis> {
            vec![$(Axis::of::<dyn $policy>($summary)),+]
        }

        /// The schema of each axis, by its key in a profile.
        fn axis_schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
            vec![$((stringify!($axis), axis_schema::<dyn $policy>($default, generator))),+]
        }
    };
}

/// One axis as lists and forms show it.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Key in a profile.
    pub name: &'static str,
    /// Decision that the axis makes.
    pub summary: &'static str,
    /// Its algorithms.
    pub entries: Vec<Entry>,
}

impl Axis {
    fn of<T: registry::Axis + ?Sized>(summary: &'static str) -> Self {
        Self { name: T::KEY, summary, entries: T::algorithms().iter().map(Entry::info).collect() }
    }
}

axes! {
    /// Growth and reduction of the window.
    congestion: dyn CongestionControl = "reno", "how cwnd and ssthresh grow and shrink";
    /// Loss recovery.
    recovery: dyn Recovery = "sack-6675", "what counts as lost, what is sent again and when";
    /// The duplicate threshold.
    dupthresh: dyn DupThresh = "fixed", "how many duplicate ACKs mean a loss";
    /// Detection of false loss signals.
    spurious: dyn Spurious = "none", "whether a loss signal was false, and what is undone";
    /// The retransmission timer.
    rto: dyn Rto = "rfc6298", "the retransmission timer";
    /// Policy of acknowledgments.
    ack: dyn AckPolicy = "delayed", "when the receiver acknowledges";
    /// Segments that ask for an acknowledgment.
    poll: dyn Poll = "none", "which segments ask for an acknowledgment";
    /// The window to advertise.
    window: dyn Window = "fixed", "what window the receiver advertises";
    /// Limit of the data that are written and not acknowledged.
    send_buffer: dyn SendBuffer = "unlimited", "how much may be written and not acknowledged";
}

/// The keys of a profile that belong to no axis.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Plain {
    /// The largest segment that this end sends and announces, without headers and options. 1460 bytes:
    /// Ethernet's 1500 less 40 (RFC 9293 §3.7.1). A path with a smaller MTU lowers it.
    pub mss: Bytes,
    /// The first congestion window: segments, bytes, or "rfc2414" or "rfc3390", min(4·MSS, max(2·MSS, 4380
    /// bytes)). 10 segments (RFC 6928).
    pub initial_window: InitialWindow,
    /// The first slow-start threshold, at least two segments, as one that a route or an earlier connection has left;
    /// absent: as high as can be (RFC 5681 §3.1). A value from `interdependence` takes precedence.
    pub initial_ssthresh: Option<SegmentsOrBytes>,
    /// State that a connection takes over from earlier connections to the same host (RFC 2140, RFC 9040); absent:
    /// nothing.
    pub interdependence: Option<Interdependence>,
    /// Bytes that are sent beyond the window that the peer offers: 0. An error that Gurtov 2001 observed in Windows NT.
    pub overrun: Bytes,
    /// The order and the padding of the options on a SYN, in which hosts differ: "linux", "freebsd", "windows" or
    /// "darwin".
    pub option_layout: OptionLayout,
    /// Role of the end in TCP Fast Open (RFC 7413): `false`; "client", which asks for a cookie and in later
    /// connections sends data with its SYN; "server", which gives cookies and answers such data before the handshake is
    /// done; `true`, both.
    pub fast_open: FastOpenSetting,
    /// Whether to offer window scaling (RFC 7323 §2).
    pub window_scale: bool,
    /// Whether to offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Whether segments without the timestamps that were agreed on are dropped (RFC 7323 §3.2); Linux takes them in.
    pub timestamps_required: bool,
    /// Whether a reset that ends a connection of ours carries the clock, as RFC 7323 §3.2 recommends.
    pub timestamps_on_reset: bool,
    /// Method of measuring round trips where timestamps are agreed.
    pub round_trip: RoundTrip,
    /// Whether, with timestamps, segments from the past are dropped (PAWS, RFC 7323 §5). So are then late originals
    /// that lie beyond a hole which a retransmission has just filled; ns-2 and others of its time took them in.
    pub paws: bool,
    /// Whether to offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Whether to report segments that arrived twice, where SACK is agreed (RFC 2883).
    pub dsack: bool,
    /// Explicit congestion notification to offer, with which queues on the path may mark instead of drop. `false`;
    /// `true` (RFC 3168); "accurate" (RFC 9768), which falls back on that with a peer that knows no other; "dctcp" (RFC
    /// 8257).
    pub ecn: EcnSetting,
    /// Whether data go out as ECT(1), which asks queues for the service of L4S (RFC 9331 §4.1), once Accurate ECN is
    /// agreed. Only for a scalable congestion control.
    pub l4s: bool,
    /// Whether segments leave evenly instead of in bursts, and how fast: windows per round trip (1 spreads a window
    /// over just one smoothed round trip), or a table of ratios for slow start and congestion avoidance, `{}` for those
    /// of Linux. Absent: no pacing, unless the congestion control sets a rate.
    pub pacing: Option<Pacing>,
    /// Bursts in which new data leave, from a host whose network card cuts them into segments; `{}` for those of Linux.
    /// Absent: a segment leaves as soon as the windows permit it.
    pub segmentation_offload: Option<SegmentationOffload>,
    /// Whether small segments wait while something is unacknowledged (Nagle; RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Whether by this rule a small segment waits only while another small segment is unacknowledged (Minshall's
    /// variation, `tcp_minshall_check` of Linux).
    pub minshall: bool,
    /// Whether every retransmission of data carries PSH. If not, only that of the last data does, as Linux repeats the
    /// flags of the first transmission.
    pub pushes_retransmissions: bool,
    /// Whether a silent connection is probed; off as RFC 9293 §3.8.4 demands.
    pub keep_alive: bool,
    /// Silence before the first keep-alive probe. RFC 9293 §3.8.4: at least 2 h.
    pub keep_alive_idle: Duration,
    /// Time between keep-alive probes; 75 s as in BSD.
    pub keep_alive_interval: Duration,
    /// Keep-alive probes without an answer before the connection is given up; 9 as in Linux.
    pub keep_alive_probes: u32,
    /// Retransmissions of a SYN before an open fails; 6 as in Linux (RFC 9293 §3.8.3: at least 3 min).
    pub syn_retries: u32,
    /// Retransmissions of other segments before the connection is given up; 15 as in Linux
    /// (R2 of RFC 9293 §3.8.3: at least 100 s).
    pub retries: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice as long. RFC 9293 §3.4.2: 2 min; 30 s as in BSD and Linux.
    pub msl: Duration,
}

/// Method of measuring round trips where timestamps are agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundTrip {
    /// By the clock that the ACK echoes, in its ticks of 1 ms (RFC 7323 §4.1).
    #[default]
    ByEcho,
    /// By the time at which the oldest of the acknowledged segments was sent, and by the echo only where one of them
    /// was sent again (Linux `tcp_ack_update_rtt`).
    ByOldest,
}

/// The first congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum InitialWindow {
    /// By the formula of an RFC.
    Formula(Formula),
    /// A number of full-sized segments, or of bytes.
    Size(SegmentsOrBytes),
}

/// RFCs whose first window depends on the segment size; both have the same formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Formula {
    /// RFC 2414 equation 1.
    Rfc2414,
    /// RFC 3390 equation 1.
    Rfc3390,
}

impl<'de> Deserialize<'de> for InitialWindow {
    /// Written by hand, as the error of an untagged enum does not say what is wrong with the size.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match Formula::deserialize(&value) {
            Ok(formula) => Ok(Self::Formula(formula)),
            Err(_) => SegmentsOrBytes::deserialize(value).map(Self::Size).map_err(D::Error::custom),
        }
    }
}

impl InitialWindow {
    /// The window, where one segment is `smss` long.
    #[must_use]
    pub fn bytes(self, smss: Bytes) -> Bytes {
        match self {
            Self::Size(size) => size.bytes(smss),
            Self::Formula(_) => (smss * 4).min((smss * 2).max(Bytes(4380))),
        }
    }
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            mss: Bytes(1460),
            initial_window: InitialWindow::Size(SegmentsOrBytes::Segments(Segments(10))),
            initial_ssthresh: None,
            interdependence: None,
            overrun: Bytes::ZERO,
            option_layout: OptionLayout::Linux,
            fast_open: FastOpenSetting::Off,
            window_scale: true,
            timestamps: false,
            timestamps_required: true,
            timestamps_on_reset: false,
            round_trip: RoundTrip::ByEcho,
            paws: true,
            sack: true,
            dsack: true,
            ecn: EcnSetting::Off,
            l4s: false,
            pacing: None,
            segmentation_offload: None,
            nagle: true,
            minshall: false,
            pushes_retransmissions: true,
            keep_alive: false,
            keep_alive_idle: Duration::from_secs(7200),
            keep_alive_interval: Duration::from_secs(75),
            keep_alive_probes: 9,
            syn_retries: 6,
            retries: 15,
            msl: Duration::from_secs(30),
        }
    }
}

/// A profile that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}{REMEDY}{help}")]
pub struct ConfigError {
    /// Dotted key inside the profile.
    pub path: String,
    /// The error.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl Config {
    /// Reads a profile: an object with the keys of [`Plain`] and a choice for each axis, the name of an algorithm or a
    /// table whose only key is the name.
    ///
    /// # Errors
    /// Unknown keys and algorithms, values without or with the wrong unit, combinations that make no sense.
    pub fn from_profile(profile: &Value) -> Result<Self, ConfigError> {
        let keys = profile.as_object().cloned().ok_or_else(|| {
            error("", "a profile is a table".to_owned(), "write keys like sack = true".to_owned())
        })?;
        let config = Self::read(keys)?;
        config.check()?;
        Ok(config)
    }

    /// With which other connections of the host this one shares its advertised window, if with any.
    #[must_use]
    pub fn window_sharing(&self) -> Option<Over> {
        self.window.build().traits().sharing
    }

    /// Whether this end polls, or answers polls.
    pub(crate) fn understands_polls(&self) -> bool {
        self.poll.build().is_on() || self.ack.build().traits().answers_polls
    }

    /// Lowers the segment size to what a path carries.
    pub fn limit_mss(&mut self, mss: Bytes) {
        self.plain.mss = self.plain.mss.min(mss);
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Plain { mss, sack, initial_window, .. } = &self.plain;
        if mss.is_zero() || mss.0 > u64::from(u16::MAX) {
            return Err(error("mss", format!("{mss} cannot be announced"), "1 to 65535 bytes".to_owned()));
        }
        if initial_window.bytes(*mss) < *mss {
            return Err(error(
                "initial_window",
                format!("a first window of {} is smaller than one segment", initial_window.bytes(*mss)),
                "at least \"1 segment\"".to_owned(),
            ));
        }
        let initial_ssthresh = self.plain.initial_ssthresh.map(|threshold| threshold.bytes(*mss));
        if let Some(threshold) = initial_ssthresh.filter(|threshold| *threshold < *mss * 2) {
            return Err(error(
                "initial_ssthresh",
                format!("a first slow-start threshold of {threshold} is below two segments"),
                "at least \"2 segments\" (RFC 5681 equation 4)".to_owned(),
            ));
        }
        if self.window.build().greatest().is_zero() {
            let message = "a window of 0 takes nothing in, and its peer would probe it for ever";
            return Err(error("window", message.to_owned(), "a size of 1 byte or more".to_owned()));
        }
        self.check_keep_alive()?;
        self.check_evidence()?;
        self.check_recovery()?;
        self.check_pacing()?;
        self.check_offload()?;
        self.check_l4s()?;
        if self.recovery.build().traits().needs_sack && !sack {
            return Err(error(
                "recovery",
                format!("{} works on selective acknowledgments, and sack = false", self.recovery.id()),
                "sack = true, or an algorithm without SACK like \"new-reno\"".to_owned(),
            ));
        }
        Ok(())
    }
}

impl Config {
    /// Probes without time between them give a connection up at once.
    fn check_keep_alive(&self) -> Result<(), ConfigError> {
        let Plain { keep_alive, keep_alive_idle, keep_alive_interval, .. } = self.plain;
        let times = [("keep_alive_idle", keep_alive_idle), ("keep_alive_interval", keep_alive_interval)];
        match times.into_iter().find(|(_, time)| keep_alive && time.is_zero()) {
            Some((key, _)) => Err(error(
                key,
                format!("{key} is 0 s, and probes would have no time between them"),
                "a time like \"75 s\"".to_owned(),
            )),
            None => Ok(()),
        }
    }

    /// RFC 9331 §4.2: L4S needs feedback finer than one echo a round trip.
    fn check_l4s(&self) -> Result<(), ConfigError> {
        if self.plain.l4s && self.plain.ecn != EcnSetting::Accurate {
            let message = "L4S needs accurate feedback (RFC 9331 §4.2)".to_owned();
            return Err(error("l4s", message, "ecn = \"accurate\"".to_owned()));
        }
        Ok(())
    }

    fn check_pacing(&self) -> Result<(), ConfigError> {
        let ratios = self.plain.pacing.iter().flat_map(|pacing| pacing.ratios());
        match ratios.into_iter().find(|ratio| !(0.1..=100.0).contains(ratio)) {
            Some(ratio) => Err(error(
                "pacing",
                format!("{ratio} windows per round trip"),
                "from 0.1 to 100; 1 spreads a window over one round trip".to_owned(),
            )),
            None => Ok(()),
        }
    }

    fn check_offload(&self) -> Result<(), ConfigError> {
        match self.plain.segmentation_offload.and_then(|offload| offload.key_of_zero()) {
            Some(key) => {
                let help =
                    "write a whole number from 1 on; without the table nothing is offloaded".to_owned();
                Err(error(&format!("segmentation_offload.{key}"), "0 is none at all".to_owned(), help))
            }
            None => Ok(()),
        }
    }

    /// A detector without its evidence would wait indefinitely.
    fn check_evidence(&self) -> Result<(), ConfigError> {
        let Plain { timestamps, sack, .. } = self.plain;
        let (missing, help) = match self.spurious.build().needs() {
            Needs::Timestamps if !timestamps => ("timestamps, and timestamps = false", "timestamps = true"),
            Needs::Dsack if !sack => ("D-SACK, and sack = false", "sack = true"),
            _ => return Ok(()),
        };
        let message = format!("{} judges by {missing}", self.spurious.id());
        Err(error("spurious", message, format!("{help}, or spurious = \"none\"")))
    }

    /// A recovery that judges loss signals itself needs its evidence, and no detector beside it.
    fn check_recovery(&self) -> Result<(), ConfigError> {
        let (recovery, id) = (self.recovery.build().traits(), self.recovery.id());
        if recovery.needs_timestamps && !self.plain.timestamps {
            return Err(error(
                "recovery",
                format!("{id} judges by timestamps, and timestamps = false"),
                "timestamps = true, or an algorithm without them like \"sack-6675\"".to_owned(),
            ));
        }
        if recovery.judges_signals && self.spurious.id() != "none" {
            return Err(error(
                "spurious",
                format!("{id} judges its loss signals itself, and has none for {}", self.spurious.id()),
                "spurious = \"none\"".to_owned(),
            ));
        }
        Ok(())
    }
}

/// The JSON schema of a profile.
#[must_use]
pub fn profile_schema() -> Schema {
    let mut generator = SchemaGenerator::default();
    let mut schema = profile_keys(&mut generator);
    schema.insert("$defs".to_owned(), Value::Object(generator.take_definitions(true)));
    schema
}

/// The schema of a profile whose definitions are `generator`'s.
#[must_use]
pub fn profile_keys(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Plain::json_schema(generator);
    let axes = axis_schemas(generator);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(axes.into_iter().map(|(name, axis)| (name.to_owned(), axis.into())));
    }
    schema
}

/// One axis: a choice of its algorithms, and the algorithm that means no choice.
fn axis_schema<T: registry::Axis + ?Sized>(default: &'static str, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<Choice<T>>();
    schema.insert("default".to_owned(), default.into());
    schema
}

/// Takes the axis out of the profile and reads it.
fn choose<T: registry::Axis + ?Sized>(
    default: &'static str,
    keys: &mut Map<String, Value>,
) -> Result<Choice<T>, ConfigError> {
    let written = keys.remove(T::KEY).unwrap_or_else(|| default.into());
    let (entry, parameters) = registry::choose(T::KEY, T::NOUN, T::algorithms(), written)
        .map_err(|mistake| error(&below(T::KEY, &mistake.key), mistake.message, mistake.help))?;
    read(&below(T::KEY, entry.id), parameters, |value| entry.choice(value))
}

fn read_plain(keys: Map<String, Value>) -> Result<Plain, ConfigError> {
    read("", Value::Object(keys), serde_json::from_value)
}

/// Reads an object; on an error finds the key that is to blame by reading each alone.
fn read<T>(
    axis: &str,
    value: Value,
    reader: impl Fn(Value) -> Result<T, serde_json::Error>,
) -> Result<T, ConfigError> {
    let keys = value.as_object().cloned().unwrap_or_default();
    reader(value).map_err(|failure| {
        let alone = |(key, value): (&String, &Value)| {
            let mut one = Map::new();
            one.insert(key.clone(), value.clone());
            reader(Value::Object(one)).err().map(|failure| (key.clone(), failure))
        };
        let (key, failure) = keys.iter().find_map(alone).unwrap_or((String::new(), failure));
        let path = below(axis, &key);
        let text = failure.to_string();
        let (message, help) = text.split_once(REMEDY).unwrap_or((&text, "see the profile's schema"));
        error(&path, message.to_owned(), help.to_owned())
    })
}

/// The path of a key below another, where either may be empty.
fn below(path: &str, key: &str) -> String {
    [path, key].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
}

fn error(path: &str, message: String, help: String) -> ConfigError {
    ConfigError { path: path.to_owned(), message, help }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(profile: &Value) -> String {
        Config::from_profile(profile).expect_err("it should be refused").to_string()
    }

    #[test]
    fn an_empty_profile_is_a_current_standard_tcp() {
        let config = Config::from_profile(&json!({})).unwrap();
        assert_eq!(
            (config.recovery.id(), config.congestion.id(), config.rto.id()),
            ("sack-6675", "reno", "rfc6298")
        );
    }

    #[test]
    fn lengths_that_no_timer_can_have_are_refused_for_every_timer() {
        for entry in crate::rto::ENTRIES {
            let swapped = json!({ "rto": { entry.id: { "min": "2 s", "max": "1 s" } } });
            let text = refusal(&swapped);
            assert!(text.starts_with(&format!("rto.{}: min is 2 s, above max, 1 s", entry.id)), "{text}");
            let text = refusal(&json!({ "rto": { entry.id: { "initial": "0 s" } } }));
            assert!(text.starts_with(&format!("rto.{}.initial: initial is 0 s", entry.id)), "{text}");
        }
    }

    #[test]
    fn a_window_that_would_be_probed_for_ever_is_refused() {
        for window in [json!({ "fixed": { "size": "0 bytes" } }), json!({ "linux": { "buffer": "0 bytes" } })]
        {
            let text = refusal(&json!({ "window": window }));
            assert!(text.starts_with("window") && text.contains("probe it for ever"), "{text}");
        }
    }

    #[test]
    fn a_wrong_value_names_its_key_and_what_would_be_right() {
        let text = refusal(&json!({ "rto": { "rfc6298": { "min": 200 } } }));
        assert!(text.starts_with("rto.rfc6298.min: ") && text.contains("unit"), "{text}");
        let text = refusal(&json!({ "mss": "0 bytes" }));
        assert!(text.starts_with("mss: "), "{text}");
    }

    #[test]
    fn a_burst_of_no_segments_is_refused() {
        for key in ["least_segments", "window_parts"] {
            let text = refusal(&json!({ "segmentation_offload": { key: 0 } }));
            assert!(text.starts_with(&format!("segmentation_offload.{key}: 0 is none")), "{text}");
        }
    }

    #[test]
    fn an_unknown_algorithm_gets_the_list() {
        let text = refusal(&json!({ "recovery": "sackk" }));
        assert!(
            text.contains("\"sackk\"") && text.contains("sack-6675, ") | text.contains("new-reno"),
            "{text}"
        );
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(refusal(&json!({ "slack": true })).starts_with("slack: unknown field"));
        assert!(
            refusal(&json!({ "ack": { "delayed": { "qick": "2 segments" } } }))
                .starts_with("ack.delayed.qick: unknown field")
        );
    }

    #[test]
    fn a_detector_without_its_evidence_makes_no_sense() {
        let text = refusal(&json!({ "spurious": "eifel" }));
        assert!(text.starts_with("spurious: ") && text.contains("timestamps = true"), "{text}");
        assert!(Config::from_profile(&json!({ "timestamps": true, "spurious": "eifel" })).is_ok());
    }

    #[test]
    fn the_first_window_of_rfc_3390_depends_on_the_segment_size() {
        let config = Config::from_profile(&json!({ "initial_window": "rfc3390" })).unwrap();
        let window = |smss| config.plain.initial_window.bytes(Bytes(smss));
        assert_eq!([window(536), window(1460), window(4000)], [Bytes(2144), Bytes(4380), Bytes(8000)]);
        let text = refusal(&json!({ "initial_window": "rfc2581" }));
        assert!(text.starts_with("initial_window: "), "{text}");
    }

    #[test]
    fn a_recovery_that_judges_by_timestamps_needs_them() {
        let text = refusal(&json!({ "recovery": "aix" }));
        assert!(text.starts_with("recovery: ") && text.contains("timestamps = true"), "{text}");
        let aix = json!({ "timestamps": true, "recovery": "aix" });
        assert!(Config::from_profile(&aix).is_ok());
    }

    #[test]
    fn a_recovery_that_judges_takes_no_detector() {
        for recovery in ["aix", "pr"] {
            let text = refusal(&json!({
                "timestamps": true, "recovery": recovery, "spurious": "eifel",
            }));
            assert!(text.starts_with("spurious: ") && text.contains("none"), "{text}");
        }
    }

    #[test]
    fn sack_recovery_without_sack_makes_no_sense() {
        assert!(refusal(&json!({ "sack": false })).starts_with("recovery: "));
        assert!(Config::from_profile(&json!({ "sack": false, "recovery": "reno" })).is_ok());
    }
}
