//! Profiles for tests: a base and what differs from it.

use std::sync::Arc;

use serde_json::{Map, Value};
use tcp::{Config, ConfigError};

/// The configuration of a profile.
///
/// # Errors
/// If the profile makes no sense.
pub fn config(profile: &Value) -> Result<Arc<Config>, ConfigError> {
    Config::from_profile(profile).map(Arc::new)
}

/// `base` with every key of `overrides` put over it, table by table. An axis that names another
/// algorithm is replaced whole, as the parameters of one algorithm mean nothing to another.
#[must_use]
pub fn overridden(base: &Value, overrides: &Value) -> Value {
    let (Value::Object(base), Value::Object(overrides)) = (base, overrides) else { return overrides.clone() };
    if overrides.contains_key(ALGORITHM) && base.get(ALGORITHM) != overrides.get(ALGORITHM) {
        return Value::Object(overrides.clone());
    }
    let mut merged: Map<String, Value> = base.clone();
    for (key, value) in overrides {
        let under = merged.get(key).map_or_else(|| value.clone(), |old| overridden(old, value));
        merged.insert(key.clone(), under);
    }
    Value::Object(merged)
}

/// The object in which only the key at the dotted `path` is set.
#[must_use]
pub fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, key| Value::Object(Map::from_iter([(key.to_owned(), inner)])))
}

/// The key that names an axis's algorithm.
const ALGORITHM: &str = "algorithm";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_override_changes_one_key_and_keeps_its_neighbours() {
        let base = json!({ "sack": true, "rto": { "algorithm": "rfc6298", "min": "1 s", "max": "60 s" } });
        let merged = overridden(&base, &nested("rto.min", json!("200 ms")));
        assert_eq!(
            merged,
            json!({ "sack": true, "rto": { "algorithm": "rfc6298", "min": "200 ms", "max": "60 s" } })
        );
    }

    #[test]
    fn another_algorithm_does_not_inherit_parameters() {
        let base = json!({ "ack": { "algorithm": "delayed", "quick": "2 segments" } });
        let merged = overridden(&base, &json!({ "ack": { "algorithm": "every-segment" } }));
        assert_eq!(merged, json!({ "ack": { "algorithm": "every-segment" } }));
    }
}
