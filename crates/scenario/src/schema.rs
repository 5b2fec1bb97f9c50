//! The JSON schemas of the files, out of their types. Committed under `docs/schema/`, checked for drift.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use units::text;

use crate::file::{Host, Link, Preset, Profile, Scenario, Study};

/// The kinds of file that have a schema.
pub const KINDS: [&str; 4] = ["scenario", "study", "profile", "link"];

/// The schema of a kind of file, as JSON; none if there is no such kind.
#[must_use]
pub fn schema(kind: &str) -> Option<Value> {
    match kind {
        "scenario" => Some(of::<Scenario>()),
        "study" => Some(of::<Study>()),
        "profile" => Some(profile()),
        "link" => Some(of::<Preset>()),
        _ => None,
    }
}

/// The schema as the text that is committed.
#[must_use]
pub fn schema_text(kind: &str) -> Option<String> {
    schema(kind).map(|schema| format!("{schema:#}\n"))
}

/// The keys of a scenario's link, which a preset may fill.
pub(crate) fn link() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(of::<Link>);
    &SCHEMA
}

/// The keys of a host, which a profile fills.
pub(crate) fn host() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(of::<Host>);
    &SCHEMA
}

/// The keys of a profile that are the endpoint's.
pub(crate) fn profile_keys() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| tcp::profile_schema().to_value());
    &SCHEMA
}

/// A profile's keys with the defaults of those that it leaves out and with canonical quantities, so that a
/// resolved scenario says all, and equal ones are equal texts.
pub(crate) fn with_defaults(mut profile: Value) -> Value {
    if let Value::Object(keys) = &mut profile {
        fill_defaults(keys, profile_keys(), profile_keys());
    }
    profile
}

/// "0.1 s" as "100 ms", where the schema says that a duration stands here.
fn canonical(text: &str, schema: &Value) -> Option<String> {
    let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
    match name {
        "Duration" => text::parse_duration(text).ok().map(text::write_duration),
        "Bytes" => text::parse_bytes(text).ok().map(text::write_bytes),
        "Rate" => text::parse_rate(text).ok().map(text::write_rate),
        "Segments" => text::parse_segments(text).ok().map(|count| text::Segments(count).to_string()),
        "SegmentsOrBytes" => text::SegmentsOrBytes::parse(text).ok().map(|window| window.to_string()),
        _ => None,
    }
}

fn fill_defaults(keys: &mut Map<String, Value>, schema: &Value, root: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let default = schema.get("default");
        match (keys.get_mut(name), default) {
            (None, Some(default)) => drop(keys.insert(name.clone(), default.clone())),
            (Some(Value::Object(given)), Some(Value::Object(default)))
                if !given.contains_key("algorithm") =>
            {
                given.extend(default.clone());
            }
            _ => {}
        }
        if let Some(Value::String(text)) = keys.get_mut(name) {
            *text = canonical(text, schema).unwrap_or_else(|| text.clone());
        }
        if let Some(Value::Object(chosen)) = keys.get_mut(name) {
            let choices = plain(root, schema).get("oneOf").and_then(Value::as_array);
            let is_chosen =
                |choice: &&Value| choice["properties"]["algorithm"]["const"] == chosen["algorithm"];
            if let Some(choice) = choices.and_then(|choices| choices.iter().find(is_chosen)) {
                fill_defaults(chosen, choice, root);
            }
        }
    }
}

/// A host's `tcp` table: any keys of the endpoint's configuration.
pub(crate) fn tcp_keys(generator: &mut SchemaGenerator) -> Schema {
    let mut keys = partial_profile();
    if let Some(Value::Object(definitions)) = keys.as_object_mut().and_then(|keys| keys.remove("$defs")) {
        generator.definitions_mut().extend(definitions);
    }
    Schema::try_from(keys).unwrap_or_default()
}

/// A profile: summary, sources, what it extends, and the endpoint's keys, which a base may fill.
fn profile() -> Value {
    let (mut schema, mut keys) = (of::<Profile>(), partial_profile());
    if let (Some(all), Some(Value::Object(more))) =
        (schema["properties"].as_object_mut(), keys.get("properties"))
    {
        all.extend(more.clone());
    }
    if let Some(definitions) = keys.as_object_mut().and_then(|keys| keys.remove("$defs")) {
        schema["$defs"] = definitions;
    }
    schema["additionalProperties"] = json!(false);
    schema
}

/// The endpoint's keys where what is left out comes from elsewhere: an axis without its `algorithm` too.
fn partial_profile() -> Value {
    let mut keys = profile_keys().clone();
    let axes = keys["properties"].as_object_mut().into_iter().flatten().map(|(_, axis)| axis);
    for axis in axes.filter_map(Value::as_object_mut) {
        if let Some(Value::Array(mut choices)) = axis.remove("oneOf") {
            for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
                choice.remove("required");
            }
            axis.insert("anyOf".to_owned(), Value::Array(choices));
            axis.remove("default");
        }
    }
    keys
}

/// The schema of the key `step` of a table, behind references and behind "or nothing".
pub(crate) fn property<'a>(root: &'a Value, table: &'a Value, step: &str) -> Option<&'a Value> {
    let table = plain(root, table);
    let inner = table.get("properties").and_then(|keys| keys.get(step));
    let inner = inner.or_else(|| table.get("additionalProperties").filter(|schema| schema.is_object()))?;
    Some(plain(root, inner))
}

pub(crate) fn plain<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let (Some(name), None) = (schema.get("$ref").and_then(Value::as_str), schema.get("properties")) {
        let target = root.pointer(name.trim_start_matches('#'));
        return target.map_or(schema, |target| plain(root, target));
    }
    let is_null = |option: &&Value| option.get("type").is_some_and(|kind| kind == "null");
    match schema.get("anyOf").and_then(Value::as_array) {
        Some(options) if options.len() == 2 && options.iter().any(|option| is_null(&option)) => {
            options.iter().find(|option| !is_null(option)).map_or(schema, |option| plain(root, option))
        }
        _ => schema,
    }
}

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}
