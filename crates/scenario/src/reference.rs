//! The reference pages of the files, out of their schemas: every key with its values and its meaning.
//!
//! Committed under `docs/reference/`, checked for drift like the schemas.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use crate::schema::{members, plain, scenario, schema};

/// The page of a kind of file, as Markdown; none if there is no such kind.
#[must_use]
pub fn reference_text(kind: &str) -> Option<String> {
    let schema = schema(kind)?;
    let mut page = Page { root: &schema, choices: BTreeMap::new() };
    let keys = page.keys("", &schema);
    Some(page.text(title(kind), &keys))
}

/// A key of a registry's member, as `lasthop show` and the reference pages describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Path below the member; empty where the member is written as a single value.
    pub key: String,
    /// Values that it takes, with their unit.
    pub value: String,
    /// Its default; none where a file states it, or where nothing stands for no value.
    pub default: Option<String>,
    /// Whether a file states it.
    pub required: bool,
    /// Its summary, and its source.
    pub meaning: String,
}

/// The parameters of a member of a registry by its name in schemas ("queue.codel"), or none if no scenario has such a
/// member.
#[must_use]
pub fn parameters(definition: &str) -> Option<Vec<Parameter>> {
    let root = scenario();
    let table = plain(root, root["$defs"].get(definition)?);
    let mut page = Page { root, choices: BTreeMap::new() };
    let mut keys = page.below("", table);
    let has_keys = table.get("properties").is_some() || table["type"] == "object";
    if keys.is_empty() && !has_keys {
        keys.push(Key { at: String::new(), required: true, ..page.key("", table) });
    }
    Some(keys.into_iter().map(Parameter::from).collect())
}

impl From<Key> for Parameter {
    fn from(key: Key) -> Self {
        let Key { at, required, value, default, meaning } = key;
        Self { key: at, value, default, required, meaning }
    }
}

fn title(kind: &str) -> &'static str {
    match kind {
        "scenario" => "Scenario files",
        "study" => "Study files",
        "profile" => "Profiles: named TCPs",
        _ => "Presets: named links",
    }
}

struct Page<'a> {
    root: &'a Value,
    /// Choices by name, with their notations and meanings.
    choices: BTreeMap<String, Vec<(String, String)>>,
}

/// A key: its place, its values, and its meaning.
struct Key {
    at: String,
    required: bool,
    value: String,
    default: Option<String>,
    meaning: String,
}

impl Key {
    /// The values, with the default if there is one.
    fn values(&self) -> String {
        match &self.default {
            Some(default) => format!("{}; default `{default}`", self.value),
            None => self.value.clone(),
        }
    }

    fn need(&self) -> &'static str {
        if self.required { " (required)" } else { "" }
    }
}

impl<'a> Page<'a> {
    fn text(&self, title: &str, keys: &[Key]) -> String {
        let mut text = format!("<!-- Made from the types by `make record`. -->\n\n# {title}\n\n");
        let _ = writeln!(text, "{}\n", meaning(self.root, self.root));
        text += "| key | value | meaning |\n|---|---|---|\n";
        for key in keys {
            let _ = writeln!(text, "| `{}`{} | {} | {} |", key.at, key.need(), key.values(), key.meaning);
        }
        for (name, choices) in &self.choices {
            let _ = write!(text, "\n## {name}\n\n| written | meaning |\n|---|---|\n");
            for (written, meaning) in choices {
                let _ = writeln!(text, "| {written} | {meaning} |");
            }
        }
        text
    }

    /// Each key of a table, and those of the tables in it.
    fn keys(&mut self, path: &str, table: &'a Value) -> Vec<Key> {
        let required: Vec<&str> =
            table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut keys = Vec::new();
        for (key, property) in table["properties"].as_object().into_iter().flatten() {
            let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            keys.push(Key { required: required.contains(&key.as_str()), ..self.key(&at, property) });
            keys.extend(self.below(&at, property));
        }
        keys
    }

    /// The key at `at`, which a file may leave out.
    fn key(&mut self, at: &str, property: &'a Value) -> Key {
        Key {
            at: at.to_owned(),
            required: false,
            value: self.value(at, property),
            default: default(property),
            meaning: self.description(property),
        }
    }

    /// The keys of the table, the list of tables or the named tables under a key, unless they are described elsewhere.
    fn below(&mut self, at: &str, property: &'a Value) -> Vec<Key> {
        if self.elsewhere(at).is_some() {
            return Vec::new();
        }
        let schema = plain(self.root, property);
        let mut keys = Vec::new();
        if schema.get("properties").is_some() {
            keys.extend(self.keys(at, schema));
        }
        if let Some(items) = schema.get("items") {
            keys.extend(self.below(&format!("{at}[]"), items));
        }
        if let Some(named) = schema.get("additionalProperties").filter(|named| named.is_object()) {
            keys.extend(self.below(&format!("{at}.<name>"), named));
        }
        keys
    }

    /// Section that describes the keys of a table, if not here.
    fn elsewhere(&self, at: &str) -> Option<&'static str> {
        match at.rsplit('.').next()? {
            "tcp" => Some("a profile"),
            "up" => Some("`down`"),
            "down" if at != "links[].down" && self.root["properties"].get("down").is_none() => {
                Some("`links[].down`")
            }
            _ => None,
        }
    }

    /// The meaning of a key, and of each of its words, if its values are words.
    fn description(&self, property: &Value) -> String {
        let schema = plain(self.root, property);
        let each = options(schema).into_iter().flatten().filter_map(|option| {
            let word = option.get("const")?;
            Some(format!("`{word}`: {}", meaning(option, option).trim_end_matches('.')))
        });
        let words: Vec<String> = each.collect();
        let description = meaning(property, schema);
        if words.is_empty() { description } else { format!("{description} {}.", words.join("; ")) }
    }

    /// The notation of a key's value.
    fn value(&mut self, at: &str, property: &'a Value) -> String {
        let schema = plain(self.root, property);
        let options = options(schema);
        if let Some(words) = words(schema, options) {
            return words;
        }
        if let Some(options) = options {
            return self.choice(at, property, options);
        }
        let kind = &schema["type"];
        let or_nothing = || kind.as_array()?.iter().filter_map(Value::as_str).find(|kind| *kind != "null");
        match kind.as_str().or_else(or_nothing) {
            Some("string") => {
                schema["pattern"].as_str().and(schema["description"].as_str()).unwrap_or("text").to_owned()
            }
            Some("integer") => "whole number".to_owned(),
            Some("number") => "number".to_owned(),
            Some("boolean") => "true or false".to_owned(),
            Some("array") => match (schema.get("prefixItems"), schema.get("items")) {
                (Some(ends), _) => format!("list of two, each {}", self.value(at, &ends[0])),
                (_, Some(items)) if plain(self.root, items).get("properties").is_none() => {
                    format!("list: {}", self.value(at, items))
                }
                _ => "list of tables".to_owned(),
            },
            Some("object") => match self.elsewhere(at) {
                Some(keys) => format!("table with the keys of {keys}"),
                None => "table".to_owned(),
            },
            _ => "any value".to_owned(),
        }
    }

    /// A choice gets its own section, named after its type or, for a TCP's axes, its key.
    fn choice(&mut self, at: &str, property: &'a Value, options: &'a [Value]) -> String {
        let reference = |schema: &Value| Some(schema.get("$ref")?.as_str()?.rsplit('/').next()?.to_owned());
        let nullable =
            property.get("anyOf").and_then(Value::as_array).into_iter().flatten().find_map(reference);
        let mut name = reference(property).or(nullable).unwrap_or_else(|| format!("`{at}`"));
        while let Some(shared) = self.root["$defs"].get(&name).and_then(reference) {
            name = shared;
        }
        // A choice may hold another of its kind, as a rule lies over an algorithm: it has one section.
        if !self.choices.contains_key(&name) {
            self.choices.insert(name.clone(), Vec::new());
            let entries = options.iter().flat_map(|option| self.option(option)).collect();
            self.choices.insert(name.clone(), entries);
        }
        format!("see {name}")
    }

    /// The notation of one option, with its parameters below it; of a table of one key, that of each member.
    fn option(&mut self, option: &'a Value) -> Vec<(String, String)> {
        let schema = plain(self.root, option);
        if let Some(members) = members(schema) {
            return members.flat_map(|(name, parameters)| self.member(name, parameters)).collect();
        }
        let description = meaning(option, schema);
        let keys = schema["properties"].as_object();
        let (written, description, parameters) = match keys.and_then(|keys| keys.iter().next()) {
            Some((name, property)) if keys.is_some_and(|keys| keys.len() == 1) => {
                self.named(name, property, description)
            }
            _ => (self.value("", option), description, self.below("", option)),
        };
        Self::rows(written, description, parameters)
    }

    fn member(&mut self, name: &str, parameters: &'a Value) -> Vec<(String, String)> {
        let description = meaning(parameters, parameters);
        let (written, description, parameters) = self.named(name, parameters, description);
        Self::rows(written, description, parameters)
    }

    /// The notation of an option, and a row for each of its parameters.
    fn rows(written: String, description: String, parameters: Vec<Key>) -> Vec<(String, String)> {
        let rows = parameters
            .into_iter()
            .map(|key| (format!("… `{}`{}: {}", key.at, key.need(), key.values()), key.meaning));
        std::iter::once((written, description)).chain(rows).collect()
    }

    /// An option that is written as a table of one key, its name: its parameters are a table's keys, or another value.
    fn named(&mut self, name: &str, property: &'a Value, description: String) -> (String, String, Vec<Key>) {
        let schema = plain(self.root, property);
        let written = format!("`{{ {name} = … }}`");
        if schema.get("properties").is_some() || schema["type"] == "object" {
            return (written, description, self.below("", property));
        }
        let options = schema.get("anyOf").and_then(Value::as_array);
        let table = options.and_then(|options| {
            let is_table = |option: &&Value| option.get("properties").is_some() && members(option).is_none();
            options.iter().map(|option| plain(self.root, option)).find(is_table)
        });
        let value = match table {
            Some(_) => "text, or a table".to_owned(),
            None => self.value("", property),
        };
        let parameters = self.below("", table.unwrap_or(property));
        let what = if schema.get("pattern").is_some() { String::new() } else { meaning(schema, schema) };
        let description =
            [description.trim_end_matches('.'), &*what].join(". ").trim_end_matches(". ").to_owned();
        (format!("{written}: {value}"), description, parameters)
    }
}

/// The options of a schema.
fn options(schema: &Value) -> Option<&Vec<Value>> {
    ["oneOf", "anyOf"].iter().find_map(|word| schema.get(word)?.as_array())
}

/// The words of a schema, if it is a list of words.
fn words(schema: &Value, options: Option<&Vec<Value>>) -> Option<String> {
    let listed = schema.get("enum").and_then(Value::as_array).map(|words| words.iter().collect::<Vec<_>>());
    let each =
        options.map(|options| options.iter().map(|option| option.get("const")).collect::<Option<Vec<_>>>());
    let words = listed.or(each.flatten())?;
    Some(words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
}

fn default(property: &Value) -> Option<String> {
    match property.get("default") {
        None | Some(Value::Null | Value::Object(_) | Value::Array(_)) => None,
        Some(default) => Some(default.to_string()),
    }
}

/// The description of a key, or else of its type, in one line.
fn meaning(property: &Value, schema: &Value) -> String {
    let text = property["description"].as_str().or(schema["description"].as_str()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
