//! The JSON schemas of the files, out of their types. Committed under `docs/schema/`, checked for drift.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::LazyLock;

use registry::{name_of, parameters_of_mut};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use units::text;

use crate::file::{Host, Link, Preset, Profile, Scenario, Study};
use crate::json_text::json_text;

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
    schema(kind).map(|schema| json_text(&schema))
}

/// The keys of a scenario.
pub(crate) fn scenario() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(of::<Scenario>);
    &SCHEMA
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

/// A profile's keys with the defaults of omitted keys and with canonical quantities, so that a resolved scenario says
/// all, and equal ones are equal texts.
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
        if let (None, Some(default)) = (keys.get(name), schema.get("default")) {
            keys.insert(name.clone(), default.clone());
        }
        if let Some(Value::String(text)) = keys.get_mut(name) {
            *text = canonical(text, schema).unwrap_or_else(|| text.clone());
        }
        if let Some(value) = keys.get_mut(name) {
            fill_choice(value, plain(root, schema), root);
        }
    }
}

/// A choice with the defaults of its parameters; its name alone if it has none.
fn fill_choice(value: &mut Value, schema: &Value, root: &Value) {
    let Some(parameters) = name_of(value).and_then(|name| property(root, schema, name)) else { return };
    if parameters.get("properties").is_some()
        && let Some(keys) = parameters_of_mut(value)
    {
        fill_defaults(keys, parameters, root);
    }
}

/// A host's `tcp` table: any keys of the endpoint's configuration.
pub(crate) fn tcp_keys(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<TcpKeys>()
}

/// The keys of the endpoint's configuration, as one definition to which every table of them refers.
struct TcpKeys;

impl JsonSchema for TcpKeys {
    fn schema_name() -> Cow<'static, str> {
        "TcpKeys".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        tcp::profile_keys(generator)
    }
}

/// A profile: summary, sources, what it extends, and the endpoint's keys, which a base may fill.
fn profile() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let keys = tcp::profile_keys(&mut generator).to_value();
    let mut schema = generator.into_root_schema_for::<Profile>().to_value();
    if let (Some(all), Some(Value::Object(more))) =
        (schema["properties"].as_object_mut(), keys.get("properties"))
    {
        all.extend(more.clone());
    }
    schema["additionalProperties"] = json!(false);
    share_equal_definitions(&mut schema);
    schema
}

/// Makes each definition that equals an earlier one a reference to that.
fn share_equal_definitions(schema: &mut Value) {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let definitions = schema["$defs"].as_object_mut();
    for (name, definition) in definitions.into_iter().flatten() {
        match known.entry(definition.to_string()) {
            Entry::Occupied(first) => *definition = json!({ "$ref": format!("#/$defs/{}", first.get()) }),
            Entry::Vacant(new) => drop(new.insert(name.clone())),
        }
    }
}

/// The schema at `path` in a value that `root` describes.
pub(crate) fn at<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |schema, step| property(root, schema, step))
}

/// The schema of the key `step` of a table, of an item of a list or of the parameters of a choice, references
/// and "or nothing" resolved.
pub(crate) fn property<'a>(root: &'a Value, table: &'a Value, step: &str) -> Option<&'a Value> {
    let table = plain(root, table);
    let inner = table.get("properties").and_then(|keys| keys.get(step));
    let inner = inner.or_else(|| chosen(root, table, step));
    let inner = inner.or_else(|| table.get("additionalProperties").filter(|schema| schema.is_object()));
    let inner = inner.or_else(|| table.get("items").filter(|_| step.parse::<usize>().is_ok()))?;
    Some(plain(root, inner))
}

/// The parameters of the member `name` of a choice.
fn chosen<'a>(root: &'a Value, choice: &'a Value, name: &str) -> Option<&'a Value> {
    let mut options = choice.get("anyOf")?.as_array()?.iter().map(|option| plain(root, option));
    options.find_map(|option| members(option)?.find(|(member, _)| *member == name)).map(|(_, schema)| schema)
}

/// The members of a choice's table of one key, in the order of their list, each with the schema of its parameters.
pub(crate) fn members(table: &Value) -> Option<impl Iterator<Item = (&str, &Value)>> {
    let names = table["propertyNames"]["enum"].as_array()?;
    Some(names.iter().filter_map(Value::as_str).map(|name| (name, &table["properties"][name])))
}

/// The names of a choice's members; none where `choice` is no choice from a list.
pub(crate) fn member_names<'a>(root: &'a Value, choice: &'a Value) -> Option<Vec<&'a str>> {
    let mut options = choice.get("anyOf")?.as_array()?.iter().map(|option| plain(root, option));
    options.find_map(|option| Some(members(option)?.map(|(name, _)| name).collect()))
}

/// Whether `schema` is a choice that has the member `name`.
pub(crate) fn chooses(schema: &Value, name: &str) -> bool {
    chosen(scenario(), schema, name).is_some()
}

/// The schema with references and "or nothing" resolved.
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
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    share_equal_definitions(&mut schema);
    schema
}
