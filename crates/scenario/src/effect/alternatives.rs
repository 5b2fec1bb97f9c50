//! Other valid values of a key, by its schema.
//!
//! A value need not make sense in its scenario: what does not is refused when the scenario is resolved.

use serde_json::{Value, json};
use units::text::parse_duration;

use crate::library::{LibraryKind, Search};
use crate::schema;
use crate::tree::{KeyPath, Tree};

/// Most names of a list that are tried: the entries of a registry differ from each other.
const MOST_NAMES: usize = 4;

/// Other values of the key at `path` of a scenario, of which `present` is the present one.
pub(super) fn of(path: &KeyPath, present: Option<&Value>, search: &Search) -> Vec<Value> {
    let named = match path.last() {
        "profile" => search.names(LibraryKind::Profile),
        "preset" => search.names(LibraryKind::Preset),
        _ => Vec::new(),
    };
    let schema = schema_at(path);
    let from_schema = schema.map(|schema| by_schema(schema, 0)).unwrap_or_default();
    let from_value = present.map(near).unwrap_or_default();
    let named = named.into_iter().map(Value::from).filter(|name| Some(name) != present).take(MOST_NAMES);
    let mut values: Vec<Value> = named.chain(from_value).chain(from_schema).collect();
    values.retain(|value| present.is_none_or(|present| !is_equal(value, present)));
    values.dedup();
    values
}

/// Whether two values are the same, or the same time in other words: "1.5 s" and "1500 ms".
fn is_equal(one: &Value, other: &Value) -> bool {
    let time = |value: &Value| value.as_str().and_then(|text| parse_duration(text).ok());
    one == other || time(one).is_some_and(|one| time(other) == Some(one))
}

/// The paths of all values of a tree that are neither tables nor lists of tables.
pub(super) fn leaves(tree: &Tree) -> Vec<KeyPath> {
    let mut found = Vec::new();
    collect(&tree.value, &KeyPath::root(), &mut found);
    found
}

/// Each leaf of a composed scenario with another value, and each key that its tables could have as well.
pub(super) fn everywhere(tree: &Tree, search: &Search) -> Vec<(KeyPath, Value)> {
    let written = leaves(tree);
    let absent = tables(tree).into_iter().flat_map(|table| missing(tree, &table));
    let paths: Vec<KeyPath> = written.into_iter().chain(absent).collect();
    let changes = |path: KeyPath| {
        let values = of(&path, tree.get(&path), search);
        values.into_iter().map(move |value| (path.clone(), value))
    };
    paths.into_iter().flat_map(changes).collect()
}

fn collect(value: &Value, at: &KeyPath, found: &mut Vec<KeyPath>) {
    match value {
        Value::Object(keys) => keys.iter().for_each(|(key, inner)| collect(inner, &at.below(key), found)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(i, inner)| collect(inner, &at.below(i), found));
        }
        _ => found.push(at.clone()),
    }
}

fn tables(tree: &Tree) -> Vec<KeyPath> {
    let mut found = vec![KeyPath::root()];
    for leaf in leaves(tree) {
        found.extend((1..leaf.0.len()).map(|end| KeyPath(leaf.0[..end].to_vec())));
    }
    found.sort();
    found.dedup();
    found.retain(|path| tree.get(path).is_some_and(Value::is_object));
    found
}

/// The keys of the schema that the table at `path` does not have.
fn missing(tree: &Tree, path: &KeyPath) -> Vec<KeyPath> {
    let keys = schema_at(path).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let keys = keys.into_iter().flat_map(|keys| keys.keys()).map(|key| path.below(key));
    keys.filter(|path| tree.get(path).is_none()).collect()
}

/// The schema of a key; the name of an item of a list is like its position.
fn schema_at(path: &KeyPath) -> Option<&'static Value> {
    let root = schema::scenario();
    path.0.iter().try_fold(root, |table, step| {
        let items = schema::plain(root, table).get("items").map(|items| schema::plain(root, items));
        schema::property(root, table, step).or(items)
    })
}

/// Values that differ a little from this one: a number twice as large, half as large, and larger by a thousandth, which
/// keeps its place between its neighbours in a list, with its unit; the other truth value.
fn near(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => vec![json!(whole * 2 + 1), json!(whole / 2), json!(whole + 1)],
            (None, Some(real)) => vec![json!(real / 2.0), json!(real * 2.0)],
            (None, None) => Vec::new(),
        },
        Value::String(text) => near_quantity(text),
        Value::Array(items) => near_list(items),
        _ => Vec::new(),
    }
}

fn near_quantity(text: &str) -> Vec<Value> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    match number.parse::<f64>() {
        Ok(number) => [2.0, 0.5, 1.001].map(|factor| json!(format!("{}{unit}", number * factor))).to_vec(),
        Err(_) => Vec::new(),
    }
}

/// The list with its last item changed.
fn near_list(items: &[Value]) -> Vec<Value> {
    let Some((last, first)) = items.split_last() else { return Vec::new() };
    let with = |other: Value| Value::Array(first.iter().cloned().chain([other]).collect());
    near(last).into_iter().map(with).collect()
}

/// Values that a schema allows.
fn by_schema(schema: &Value, depth: u8) -> Vec<Value> {
    let root = schema::scenario();
    let schema = schema::plain(root, schema);
    let several = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    if let (Some(options), true) = (several, depth < DEEPEST) {
        return options.iter().flat_map(|option| by_schema(option, depth + 1)).collect();
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return names.clone();
    }
    if let Some(only) = schema.get("const") {
        return vec![only.clone()];
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => vec![json!(true), json!(false)],
        Some("integer") => vec![json!(3), json!(1)],
        Some("number") => vec![json!(0.3), json!(2.5)],
        Some("string") => by_pattern(schema),
        _ => Vec::new(),
    }
}

/// Choices of choices that are looked into.
const DEEPEST: u8 = 3;

/// Quantities of the kinds that the pattern of a schema has the units of.
fn by_pattern(schema: &Value) -> Vec<Value> {
    let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
    let examples = [
        ("bit/s", ["100 kbit/s", "1 Mbit/s"]),
        ("segment", ["3 segments", "8 segments"]),
        ("packet", ["3 packets", "8 packets"]),
        ("KiB", ["900 bytes", "8 kB"]),
        ("ms", ["70 ms", "1500 ms"]),
        ("km/h", ["3 km/h", "50 km/h"]),
    ];
    let of_kind = examples.iter().filter(|(unit, _)| pattern.contains(unit));
    of_kind.flat_map(|(_, texts)| texts).map(|text| json!(text)).collect()
}
