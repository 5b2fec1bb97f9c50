//! Reads a tree into types, and translates serde's errors.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use units::text::REMEDY;

use super::{KeyPath, Tree};
use crate::error::InputError;
use crate::suggest;

impl Tree {
    /// Reads the whole tree as a `T`.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, InputError> {
        self.read_at(&KeyPath::root())
    }

    /// Reads the value at `at` as a `T`.
    pub(crate) fn read_at<T: DeserializeOwned>(&self, at: &KeyPath) -> Result<T, InputError> {
        let value = self.get(at).unwrap_or(&serde_json::Value::Null);
        serde_path_to_error::deserialize(value).map_err(|error| {
            let path = at.join(&key_path(error.path()));
            self.explain(path, &error.inner().to_string())
        })
    }

    /// Serde's error on the value at `path`, in our words.
    pub(crate) fn explain(&self, path: KeyPath, said: &str) -> InputError {
        if let Some((unknown, choices)) = unlisted(said, "unknown field ") {
            let path = if path.last() == unknown { path } else { path.below(unknown) };
            let message = format!("there is no key \"{unknown}\" here");
            return self.error(&path, message, suggest::among(unknown, &choices, "keys"));
        }
        if let Some((unknown, choices)) = unlisted(said, "unknown variant ") {
            let message = format!("\"{unknown}\" is not a choice here");
            return self.error(&path, message, suggest::among(unknown, &choices, "choices"));
        }
        if let Some(name) = said.strip_prefix("missing field ") {
            let name = name.trim_matches('`');
            let message = format!("the key \"{name}\" is missing");
            return self.error(&path, message, format!("add {name} = …"));
        }
        if said == "invalid IPv4 address syntax" {
            return self.error(&path, "this is no IPv4 address", "write four numbers like \"192.0.2.1\"");
        }
        let (wrong, right) = said
            .split_once(REMEDY)
            .map_or_else(|| expectation(said), |(wrong, right)| (wrong.to_owned(), right.to_owned()));
        self.error(&path, wrong, right)
    }
}

/// Splits "invalid type: integer `5`, expected a string" into the actual and the expected value.
fn expectation(said: &str) -> (String, String) {
    if let Some((count, wanted)) =
        said.strip_prefix("invalid length ").and_then(|length| length.split_once(", expected "))
    {
        let wanted = wanted.strip_prefix("an array of length ");
        return (
            format!("a list of {count} does not belong here"),
            wanted.map_or_else(
                || "write a shorter one".to_owned(),
                |wanted| format!("write a list of {wanted}"),
            ),
        );
    }
    let plain = said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    match plain.and_then(|plain| plain.rsplit_once(", expected ")) {
        Some((found, wanted)) => {
            let wanted = if wanted.starts_with("struct ") || wanted == "a map" { "a table" } else { wanted };
            (format!("{} does not belong here", found.replace('`', "")), format!("write {}", name_of(wanted)))
        }
        None => (said.to_owned(), String::new()),
    }
}

/// serde's words for types, in a user's.
fn name_of(wanted: &str) -> &str {
    match wanted {
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, zero or more",
        "a nonzero u8" | "a nonzero u32" | "a nonzero u64" => "a whole number, 1 or more",
        "i64" => "a whole number",
        "f64" => "a number",
        other => other,
    }
}

/// The unknown word and the known ones of "unknown field `x`, expected one of `a`, `b`".
fn unlisted<'a>(said: &'a str, what: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let mut quoted = said.strip_prefix(what)?.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    Some((unknown, quoted.collect()))
}

fn key_path(path: &Path) -> KeyPath {
    let steps = path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Unknown => None,
    });
    KeyPath(steps.collect())
}
