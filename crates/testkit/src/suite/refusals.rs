//! Every key of every algorithm, with an invalid value.

use serde_json::{Map, Value, json};
use tcp::{Config, ConfigError};

use super::{Case, CheckResult, ensure};

/// A case for each algorithm of each axis, as the schema lists them with their keys.
pub(super) fn cases() -> Vec<Case> {
    let schema = Value::from(tcp::profile_schema());
    let axes = schema["properties"].as_object().expect("a profile is a table").clone();
    axes.into_iter().flat_map(|(axis, described)| of_axis(&axis, &described)).collect()
}

fn of_axis(axis: &str, described: &Value) -> Vec<Case> {
    let algorithms = described["oneOf"].as_array().cloned().unwrap_or_default();
    let case = |algorithm: Value| {
        let id = algorithm["properties"]["algorithm"]["const"].as_str()?.to_owned();
        let name = format!("{axis}/{id}/every_refusal_says_what_is_wrong_and_what_would_be_right");
        let axis = axis.to_owned();
        Some(Case { name, run: Box::new(move || refusals_help(&axis, &id, &algorithm["properties"])) })
    };
    algorithms.into_iter().filter_map(case).collect()
}

/// The error quotes the value; the remedy does more than point to the schema.
fn refusals_help(axis: &str, id: &str, keys: &Value) -> CheckResult {
    let keys = keys.as_object().into_iter().flat_map(Map::keys).filter(|key| *key != "algorithm");
    for (key, value) in keys.flat_map(|key| odd_values().map(move |odd| (key, odd))) {
        let profile = json!({ axis: { "algorithm": id, key: value }, "timestamps": true });
        let Err(refusal) = Config::from_profile(&profile) else { continue };
        ensure(helps(&refusal) && shows(&refusal.message, &value), || format!("{key} = {value}: {refusal}"))?;
    }
    let refused = Config::from_profile(&json!({ axis: { "algorithm": id, "no_such_key": 1 } }));
    let refusal = refused.err().ok_or("a key that there is not was taken")?;
    ensure(helps(&refusal), || refusal.to_string())
}

/// Values that most keys must refuse.
fn odd_values() -> impl Iterator<Item = Value> {
    let numbers = [0, -1, 101, 1000].into_iter().map(Value::from);
    let texts = ["0 s", "0 bytes", "0 segments", "nonsense"].into_iter().map(Value::from);
    numbers.chain(texts).chain([json!([])])
}

/// Our own messages end in a remedy. Serde's name what they expected, which the reader of files puts in words.
fn helps(refusal: &ConfigError) -> bool {
    let serdes = [", expected ", ", there are no "].iter().any(|words| refusal.message.contains(words));
    serdes || !(refusal.help.is_empty() || refusal.help.contains("schema"))
}

/// The number or, where the unit is wrong, that; of a list it is enough to call it one.
fn shows(message: &str, value: &Value) -> bool {
    let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    value.is_array() || written.split(' ').any(|part| message.contains(part))
}
