//! A file's values as a tree, each with the place where it was written.
//!
//! All sources of a scenario (its file, profiles, presets, overrides of the command line) are merged as trees before
//! they are read into types, so that a mistake is reported where it was made.

mod key;
mod merge;
mod read;
mod toml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{InputError, Place};
pub(crate) use key::KeyPath;
pub(crate) use merge::Merge;
pub(crate) use toml::parse_value;

/// Values and their places.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) value: Value,
    /// By path in this tree: the place of the value, and its key there.
    origins: BTreeMap<KeyPath, Origin>,
}

/// Position at which a value was written, and its key in that file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) place: Place,
    pub(crate) key: KeyPath,
}

impl Tree {
    /// Parses the text of a TOML file.
    pub(crate) fn parse(file: &Path, text: &str) -> Result<Self, InputError> {
        toml::parse(file, text)
    }

    /// Reads and parses a TOML file.
    pub(crate) fn load(file: &Path) -> Result<Self, InputError> {
        Self::parse(file, &read_text(file)?)
    }

    /// An empty tree for a whole file.
    pub(crate) fn empty(file: &Path) -> Self {
        let place = Place::File { file: Arc::from(file), line: None };
        let origin = Origin { place, key: KeyPath::root() };
        Self { value: Value::Object(Map::new()), origins: BTreeMap::from([(KeyPath::root(), origin)]) }
    }

    pub(crate) fn get(&self, path: &KeyPath) -> Option<&Value> {
        path.0.iter().try_fold(&self.value, |value, step| match value {
            Value::Object(keys) => keys.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    pub(crate) fn text(&self, path: &KeyPath) -> Option<&str> {
        self.get(path)?.as_str()
    }

    /// The names of the tables or the positions of the items below a path.
    pub(crate) fn steps_below(&self, path: &KeyPath) -> Vec<String> {
        match self.get(path) {
            Some(Value::Object(keys)) => keys.keys().cloned().collect(),
            Some(Value::Array(items)) => (0..items.len()).map(|i| i.to_string()).collect(),
            _ => Vec::new(),
        }
    }

    /// Writes a value and the place it comes from, making the tables on the way.
    /// False if something on the way is neither a table nor a position in a list.
    pub(crate) fn set(&mut self, path: &KeyPath, value: Value, place: &Place) -> bool {
        let Some(slot) = slot(&mut self.value, &path.0) else { return false };
        *slot = value;
        self.origins.retain(|known, _| !known.starts_with(path));
        self.origins.insert(path.clone(), Origin { place: place.clone(), key: path.clone() });
        true
    }

    /// Writes a value where none was, in a place that another value has.
    pub(crate) fn put(&mut self, path: &KeyPath, value: Value, origin: Option<Origin>) {
        if let Some(slot) = slot(&mut self.value, &path.0) {
            *slot = value;
            self.origins.extend(origin.map(|origin| (path.clone(), origin)));
        }
    }

    /// The value at a path as a separate tree, with its places; empty if there is none.
    pub(crate) fn part(&self, at: &KeyPath) -> Self {
        let value = self.get(at).cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let inside = self.origins.range(at.clone()..).take_while(|(path, _)| path.starts_with(at));
        let origins = inside.map(|(path, origin)| (KeyPath(path.0[at.0.len()..].to_vec()), origin.clone()));
        let mut part = Self { value, origins: origins.collect() };
        part.origins.extend(self.origin(at).map(|origin| (KeyPath::root(), origin)));
        part
    }

    /// Leaves out all keys but these.
    pub(crate) fn keep(&mut self, keys: &[&str]) {
        if let Value::Object(all) = &mut self.value {
            all.retain(|key, _| keys.contains(&key.as_str()));
        }
    }

    /// Puts a whole tree, with its places, under a path.
    pub(crate) fn graft(&mut self, at: &KeyPath, tree: &Self) {
        merge::copy(self, at, tree, &KeyPath::root(), tree.value.clone());
    }

    /// Takes a value out.
    pub(crate) fn remove(&mut self, path: &KeyPath) -> Option<Value> {
        let parent = path.parent()?;
        let Value::Object(keys) = slot(&mut self.value, &parent.0)? else { return None };
        keys.remove(path.last())
    }

    /// Position at which the value at `path` was written, or the nearest table around it.
    pub(crate) fn origin(&self, path: &KeyPath) -> Option<Origin> {
        let mut above = Some(path.clone());
        while let Some(at) = above {
            if let Some(origin) = self.origins.get(&at) {
                let rest = KeyPath(path.0[at.0.len()..].to_vec());
                return Some(Origin { place: origin.place.clone(), key: origin.key.join(&rest) });
            }
            above = at.parent();
        }
        None
    }

    /// The first value at `path` or below it that was written there, and not in a file that was grafted in.
    pub(crate) fn written_here(&self, path: &KeyPath) -> Option<KeyPath> {
        let below = self.origins.range(path.clone()..).take_while(|(at, _)| at.starts_with(path));
        below.into_iter().find(|(at, origin)| origin.key == **at).map(|(at, _)| at.clone())
    }

    /// The places of the value at `path` and of all values below it.
    pub(crate) fn origins_below(&self, path: &KeyPath) -> impl Iterator<Item = Origin> {
        let below = self.origins.range(path.clone()..).take_while(|(at, _)| at.starts_with(path));
        self.origin(path).into_iter().chain(below.map(|(_, origin)| origin.clone()).collect::<Vec<_>>())
    }

    /// The folder to which paths in the value at `path` are relative: that of the file where it was written, or the
    /// caller's for an override.
    pub(crate) fn folder(&self, path: &KeyPath) -> PathBuf {
        match self.origin(path).map(|origin| origin.place) {
            Some(Place::File { file, .. }) => file.parent().map(Path::to_path_buf).unwrap_or_default(),
            _ => PathBuf::new(),
        }
    }

    /// The folder of the first text `text` below `path`.
    pub(crate) fn folder_of_text(&self, path: &KeyPath, text: &str) -> PathBuf {
        let is_it = |at: &&KeyPath| at.starts_with(path) && self.text(at) == Some(text);
        let at = self.origins.keys().find(is_it).unwrap_or(path);
        self.folder(at)
    }

    /// The path as users write it: `links.lasthop` for `links.0`. An item without a plain name, or with that of
    /// another, keeps its position.
    pub(crate) fn named(&self, path: &KeyPath) -> KeyPath {
        let step = |i: usize| {
            let above = KeyPath(path.0[..i].to_vec());
            let Some(Value::Array(items)) = self.get(&above) else { return None };
            let name_of = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
            let name = name_of(items.get(path.0[i].parse::<usize>().ok()?)?).filter(|name| is_plain(name))?;
            let alone = items.iter().filter(|item| name_of(item).as_ref() == Some(&name)).count() == 1;
            alone.then_some(name)
        };
        KeyPath((0..path.0.len()).map(|i| step(i).unwrap_or_else(|| path.0[i].clone())).collect())
    }

    /// An error about the value at `path`.
    pub(crate) fn error(
        &self,
        path: &KeyPath,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> InputError {
        let origin = self.origin(path);
        // In another file, such as a profile, the value has another key than in this tree.
        let elsewhere = origin.as_ref().map(|origin| &origin.key).filter(|key| *key != path);
        let key = elsewhere.map_or_else(|| self.named(path).to_string(), KeyPath::to_string);
        InputError { place: origin.map(|o| o.place), key, message: message.into(), help: help.into() }
    }
}

/// Whether a text can name a host, a router, a link or a flow.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
}

/// The text of a file. A device or a pipe is refused before it is opened: it may never end, or never begin.
pub(crate) fn read_text(file: &Path) -> Result<String, InputError> {
    let found = std::fs::metadata(file).map_err(|error| unreadable(file, &error))?;
    if !found.is_file() {
        let what = if found.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(InputError::of_file(file, format!("this is {what}, not a file"), "name a file of text"));
    }
    if found.len() > LONGEST_FILE {
        let message = format!("the file has {} bytes, and {LONGEST_FILE} are the most", found.len());
        return Err(InputError::of_file(file, message, "check that it is the file you mean"));
    }
    std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &std::io::Error) -> InputError {
    let (message, help) = match error.kind() {
        std::io::ErrorKind::NotFound => ("there is no such file".to_owned(), "check the path"),
        std::io::ErrorKind::InvalidData => ("the file is not UTF-8 text".to_owned(), "save it as UTF-8"),
        _ => (format!("the file cannot be read ({error})"), "check that it is a file you may read"),
    };
    InputError::of_file(file, message, help)
}

/// Larger than any file of ours: a trace of a day at 10 Mbit/s, in Mahimahi's format.
const LONGEST_FILE: u64 = 1 << 29;

/// The place for a value, where tables on the way are made and a list may grow by one.
fn slot<'a>(value: &'a mut Value, steps: &[String]) -> Option<&'a mut Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let next = match value {
        Value::Object(keys) => keys.entry(step.clone()).or_insert(Value::Null),
        Value::Array(items) => {
            let position: usize = step.parse().ok()?;
            if position == items.len() {
                items.push(Value::Null);
            }
            items.get_mut(position)?
        }
        _ => return None,
    };
    slot(next, rest)
}

#[cfg(test)]
mod tests;
