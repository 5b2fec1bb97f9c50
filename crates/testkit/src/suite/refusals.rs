//! Every key of every algorithm, with an invalid value.

use registry::Entry;
use serde_json::{Map, Value, json};
use tcp::{Axis, Config, ConfigError};

use super::transfer::beside_its_receiver;
use super::{Case, CheckResult, ensure};

/// A case for each algorithm of each axis, as the schema lists them with their keys.
pub(super) fn cases() -> Vec<Case> {
    let schema = Value::from(tcp::profile_schema());
    tcp::axes().iter().flat_map(|axis| of_axis(axis, &schema)).collect()
}

fn of_axis(axis: &Axis, schema: &Value) -> Vec<Case> {
    let definition = |id: &str| &schema["$defs"][format!("{}.{id}", axis.name)];
    let case = |algorithm: &Entry| {
        let (id, keys) = (algorithm.id, definition(algorithm.id)["properties"].clone());
        // Keys of a program's own are known once it is loaded.
        let takes_any = definition(id)["anyOf"][1]["additionalProperties"].is_object();
        let axis = axis.name;
        let name = format!("{axis}/{id}/every_refusal_says_what_is_wrong_and_what_would_be_right");
        Case { name, run: Box::new(move || refusals_help(axis, id, &keys, takes_any)) }
    };
    axis.entries.iter().map(case).collect()
}

/// The error quotes the value; the remedy does more than point to the schema.
fn refusals_help(axis: &str, id: &str, keys: &Value, takes_any: bool) -> CheckResult {
    let keys = keys.as_object().into_iter().flat_map(Map::keys);
    for (key, value) in keys.flat_map(|key| odd_values().map(move |odd| (key, odd))) {
        let profile = beside_its_receiver(json!({ axis: { id: { key: value } }, "timestamps": true }));
        let Err(refusal) = Config::from_profile(&profile) else { continue };
        ensure(helps(&refusal) && shows(&refusal.message, &value), || format!("{key} = {value}: {refusal}"))?;
    }
    if takes_any {
        return Ok(());
    }
    let refused = Config::from_profile(&json!({ axis: { id: { "no_such_key": 1 } } }));
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
