//! Profiles for tests: a base profile with overrides.

use std::path::Path;
use std::sync::Arc;

use registry::{Algorithm, name_of, parameters_of};
use serde_json::{Map, Value, json};
use tcp::recovery::Recovery;
use tcp::{Config, ConfigError};

/// Reads the configuration of a profile.
///
/// # Errors
/// If the profile is not valid.
pub fn config(profile: &Value) -> Result<Arc<Config>, ConfigError> {
    Config::from_profile(profile).map(Arc::new)
}

/// Reads the profile `profiles/<name>.toml` and the profiles that it extends, without summaries and sources.
///
/// # Errors
/// If a file cannot be read or is not TOML.
pub fn named(name: &str) -> Result<Value, String> {
    let mut profile = read(&repository().join("profiles").join(format!("{name}.toml")))?;
    let keys = profile.as_object_mut().ok_or_else(|| format!("{name}: a profile is a table"))?;
    keys.remove("summary");
    keys.remove("sources");
    match keys.remove("extends") {
        Some(Value::String(base)) => Ok(overridden(&named(&base)?, &profile)),
        _ => Ok(profile),
    }
}

/// Returns the names of all profiles, sorted.
///
/// # Panics
/// If their folder cannot be read.
#[must_use]
pub fn names() -> Vec<String> {
    let files = std::fs::read_dir(repository().join("profiles")).expect("the repository has profiles");
    let paths = files.map(|file| file.expect("a folder that was opened can be read").path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// Reads a TOML file.
///
/// # Errors
/// Names the file and the error.
pub fn read(file: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|wrong| format!("{}: {wrong}", file.display()))?;
    toml::from_str(&text).map_err(|wrong| format!("{}: {}", file.display(), wrong.message()))
}

/// Returns the root folder of the repository.
///
/// # Panics
/// Never inside the repository.
#[must_use]
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two folders below the repository")
}

/// Returns the profile `base` with every key of `overrides` laid over it. An axis with another algorithm is
/// replaced whole, as the parameters of one algorithm are not those of another.
#[must_use]
pub fn overridden(base: &Value, overrides: &Value) -> Value {
    let (Value::Object(base), Value::Object(overrides)) = (base, overrides) else { return overrides.clone() };
    let mut merged: Map<String, Value> = base.clone();
    for (key, value) in overrides {
        let is_choice = key == "over" || tcp::axes().iter().any(|axis| axis.name == key);
        let laid = match merged.get(key) {
            Some(under) if is_choice => chosen(under, value),
            _ => value.clone(),
        };
        merged.insert(key.clone(), laid);
    }
    Value::Object(merged)
}

/// Returns the choice `over` laid over the choice `under`: over the same algorithm it adds parameters, another it
/// replaces.
fn chosen(under: &Value, over: &Value) -> Value {
    match (parameters_of(under), parameters_of(over)) {
        _ if name_of(under) != name_of(over) => over.clone(),
        (_, None) => under.clone(),
        (None, _) => over.clone(),
        (Some(below), Some(above)) => {
            let all = overridden(&Value::Object(below.clone()), &Value::Object(above.clone()));
            json!({ name_of(over).unwrap_or_default(): all })
        }
    }
}

/// Returns an object that has only the key at the dotted `path`.
#[must_use]
pub fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, key| Value::Object(Map::from_iter([(key.to_owned(), inner)])))
}

/// Returns every recovery with every style after a timeout that it supports, each with a name and the keys that it
/// needs.
#[must_use]
pub fn recoveries() -> Vec<(String, Value)> {
    let combined =
        combinations().into_iter().map(|(name, keys)| (name.to_owned(), json!({ "recovery": keys })));
    tcp::recovery::ENTRIES.iter().flat_map(with_styles).chain(combined).collect()
}

/// Combinations of parts that are no default.
fn combinations() -> [(&'static str, Value); 4] {
    let sack = |from: &str| json!({ "sack-6675": { "reduction": "proportional", "recovery_from": from } });
    [
        ("sack-6675/proportional", sack("in-flight")),
        ("sack-6675/proportional-cwnd", sack("cwnd")),
        ("rack-tlp/at-once", json!({ "rack-tlp": { "reduction": "at-once" } })),
        ("rack-tlp/no-probe", json!({ "rack-tlp": { "tail_loss_probe": false } })),
    ]
}

fn with_styles(entry: &'static Algorithm<dyn Recovery>) -> Vec<(String, Value)> {
    let plain = entry.choice(json!({})).expect("every algorithm has defaults").build();
    let keys =
        |recovery: Value| json!({ "recovery": recovery, "timestamps": plain.traits().needs_timestamps });
    let takes = |style: &&str| entry.choice(json!({ "after_timeout": style })).is_ok();
    let styled = |style: &str| {
        let recovery = json!({ entry.id: { "after_timeout": style } });
        (format!("{}/{style}", entry.id), keys(recovery))
    };
    let styles: Vec<_> = STYLES.iter().filter(|style| takes(style)).map(|style| styled(style)).collect();
    if styles.is_empty() {
        return vec![(entry.id.to_owned(), keys(json!(entry.id)))];
    }
    styles
}

/// The styles after a timeout (`tcp::recovery::Style`).
const STYLES: [&str; 4] = ["go-back-n", "linux", "resend-all", "hold"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_override_changes_one_key_and_keeps_its_neighbours() {
        let base = json!({ "sack": true, "rto": { "rfc6298": { "min": "1 s", "max": "60 s" } } });
        let merged = overridden(&base, &nested("rto.rfc6298.min", json!("200 ms")));
        assert_eq!(merged, json!({ "sack": true, "rto": { "rfc6298": { "min": "200 ms", "max": "60 s" } } }));
    }

    #[test]
    fn another_algorithm_does_not_inherit_parameters() {
        let base = json!({ "ack": { "delayed": { "quick": "2 segments" } } });
        let merged = overridden(&base, &json!({ "ack": "every-segment" }));
        assert_eq!(merged, json!({ "ack": "every-segment" }));
    }
}
