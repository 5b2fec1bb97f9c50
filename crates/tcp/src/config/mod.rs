//! Configuration of connections: a profile, read and checked once and shared by all its connections.

mod checks;
mod plain;

use registry::{Choice, Entry};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};
use units::Bytes;
use units::text::REMEDY;

use crate::ack::AckPolicy;
use crate::congestion::CongestionControl;
use crate::dupthresh::DupThresh;
use crate::poll::Poll;
use crate::recovery::Recovery;
use crate::rto::Rto;
use crate::send_buffer::SendBuffer;
use crate::spurious::Spurious;
use crate::window::{Over, Window};

pub use plain::{InitialWindow, Plain, RoundTrip};

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

    /// Whether this end sends dummy segments, and answers those of a peer.
    pub(crate) fn knows_dummies(&self) -> bool {
        self.congestion.build().traits().sends_dummies
    }

    /// The scheme of requests for a rate of ACKs that this end complies with.
    pub(crate) fn ack_scheme(&self) -> Option<wire::AckScheme> {
        self.ack.build().traits().complies
    }

    /// Lowers the segment size to what a path carries.
    pub fn limit_mss(&mut self, mss: Bytes) {
        self.plain.mss = self.plain.mss.min(mss);
    }

    /// Lowers the advertised window to a buffer of this size, if it could be larger.
    ///
    /// # Panics
    /// If the buffer is empty.
    pub fn limit_window(&mut self, buffer: Bytes) {
        assert!(!buffer.is_zero(), "a window of 0 takes nothing in");
        if self.greatest_window > buffer {
            let fixed = serde_json::json!({ "fixed": { "size": buffer } });
            self.window = serde_json::from_value(fixed).expect("a fixed window has a size");
            self.greatest_window = buffer;
        }
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
