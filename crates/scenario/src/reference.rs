//! The reference pages of the files, out of their schemas: every key with its values and its meaning.
//!
//! Committed under `docs/reference/`, checked for drift like the schemas.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::schema::{plain, schema};

/// The page of a kind of file, as Markdown; none if there is no such kind.
#[must_use]
pub fn reference_text(kind: &str) -> Option<String> {
    let schema = schema(kind)?;
    let mut page = Page { root: &schema, rows: Vec::new(), choices: BTreeMap::new() };
    page.table("", &schema);
    Some(page.text(title(kind)))
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
    rows: Vec<String>,
    /// Choices by name: what each is written as, and what it means.
    choices: BTreeMap<String, Vec<(String, String)>>,
}

impl<'a> Page<'a> {
    fn text(&self, title: &str) -> String {
        let mut text = format!(
            "<!-- Made from the types by `cargo run -p lasthop-scenario --example write_schemas`. -->\n\n# {title}\n\n"
        );
        let _ = writeln!(text, "{}\n", meaning(self.root, self.root));
        text += "| key | value | meaning |\n|---|---|---|\n";
        text += &self.rows.concat();
        for (name, choices) in &self.choices {
            let _ = write!(text, "\n## {name}\n\n| written | meaning |\n|---|---|\n");
            for (written, meaning) in choices {
                let _ = writeln!(text, "| {written} | {meaning} |");
            }
        }
        text
    }

    /// A row for each key of a table, and for those of the tables in it.
    fn table(&mut self, path: &str, table: &'a Value) {
        let required: Vec<&str> =
            table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, property) in table["properties"].as_object().into_iter().flatten() {
            let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let value = self.value(&at, property);
            let need = if required.contains(&key.as_str()) { " (required)" } else { "" };
            let meaning = meaning(property, plain(self.root, property));
            self.rows.push(format!("| `{at}`{need} | {value}{} | {meaning} |\n", default(property)));
            self.below(&at, property);
        }
    }

    /// The rows of the table, the list of tables or the named tables that stand under a key; but `up` has the keys
    /// of `down`, and `tcp` those of a profile.
    fn below(&mut self, at: &str, property: &'a Value) {
        if ["tcp", "up"].iter().any(|key| at.ends_with(&format!(".{key}")) || at == *key) {
            return;
        }
        let schema = plain(self.root, property);
        if schema.get("properties").is_some() {
            self.table(at, schema);
        }
        if let Some(items) = schema.get("items") {
            self.below(&format!("{at}[]"), items);
        }
        if let Some(named) = schema.get("additionalProperties").filter(|named| named.is_object()) {
            self.below(&format!("{at}.<name>"), named);
        }
    }

    /// What is written as the value of a key.
    fn value(&mut self, at: &str, property: &'a Value) -> String {
        let schema = plain(self.root, property);
        let options = ["oneOf", "anyOf"].iter().find_map(|word| schema.get(word)?.as_array());
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
            Some("array") => match schema.get("items") {
                Some(items) if plain(self.root, items).get("properties").is_none() => {
                    format!("list: {}", self.value(at, items))
                }
                _ => "list of tables".to_owned(),
            },
            Some("object") if at.ends_with(".tcp") => "table with the keys of a profile".to_owned(),
            Some("object") if at == "up" || at.ends_with(".up") => "table with the keys of `down`".to_owned(),
            Some("object") => "table".to_owned(),
            _ => "any value".to_owned(),
        }
    }

    /// A choice gets a section of its own, named after its type or, for a TCP's axes, its key.
    fn choice(&mut self, at: &str, property: &'a Value, options: &'a [Value]) -> String {
        let reference = |schema: &Value| Some(schema.get("$ref")?.as_str()?.rsplit('/').next()?.to_owned());
        let nullable =
            property.get("anyOf").and_then(Value::as_array).into_iter().flatten().find_map(reference);
        let name = reference(property).or(nullable).unwrap_or_else(|| format!("`{at}`"));
        // A choice may hold another of its kind, as a rule lies over an algorithm: it has one section.
        if !self.choices.contains_key(&name) {
            self.choices.insert(name.clone(), Vec::new());
            let entries = options.iter().flat_map(|option| self.option(option)).collect();
            self.choices.insert(name.clone(), entries);
        }
        format!("see {name}")
    }

    /// What one option is written as, with the parameters of an algorithm below it.
    fn option(&mut self, option: &'a Value) -> Vec<(String, String)> {
        let schema = plain(self.root, option);
        let keys = schema["properties"].as_object();
        let told = meaning(option, schema);
        let Some(keys) = keys else { return vec![(self.value("", option), told)] };
        let Some(algorithm) = keys.get("algorithm") else {
            let key = keys.keys().next().map_or("", String::as_str);
            return vec![(format!("`{{ {key} = … }}`"), told)];
        };
        let mut entries = vec![(format!("`algorithm = {}`", algorithm["const"]), told)];
        for (key, property) in keys.iter().filter(|(key, _)| *key != "algorithm") {
            let value = self.value(key, property);
            entries
                .push((format!("… `{key}`: {value}{}", default(property)), meaning(property, &Value::Null)));
        }
        entries
    }
}

/// The words that there are to choose from, if the schema is a list of words.
fn words(schema: &Value, options: Option<&Vec<Value>>) -> Option<String> {
    let listed = schema.get("enum").and_then(Value::as_array).map(|words| words.iter().collect::<Vec<_>>());
    let each =
        options.map(|options| options.iter().map(|option| option.get("const")).collect::<Option<Vec<_>>>());
    let words = listed.or(each.flatten())?;
    Some(words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
}

fn default(property: &Value) -> String {
    match property.get("default") {
        None | Some(Value::Null | Value::Object(_) | Value::Array(_)) => String::new(),
        Some(default) => format!("; default `{default}`"),
    }
}

/// The description of a key, or else of its type, in one line.
fn meaning(property: &Value, schema: &Value) -> String {
    let text = property["description"].as_str().or(schema["description"].as_str()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
