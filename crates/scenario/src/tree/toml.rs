//! TOML text to a tree, with the line of every key.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Number, Value};
use toml_edit::{Document, Item, TableLike};

use super::{KeyPath, Origin, Tree};
use crate::error::{InputError, Place};

pub(super) fn parse(file: &Path, text: &str) -> Result<Tree, InputError> {
    let lines = Lines::of(text);
    let file: Arc<Path> = Arc::from(file);
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map(|span| lines.number(span.start));
        let place = Place::File { file: Arc::clone(&file), line };
        let (message, help) = ("this is not TOML: ".to_owned() + error.message(), "see https://toml.io");
        InputError { place: Some(place), key: String::new(), message, help: help.to_owned() }
    })?;
    let mut reader = Reader { file, lines, origins: BTreeMap::new() };
    reader.note(&KeyPath::root(), None);
    let value = reader.table(document.as_table(), &KeyPath::root())?;
    Ok(Tree { value, origins: reader.origins })
}

/// One value as it stands behind `path=` on the command line: TOML, or else a plain text.
pub(crate) fn parse_value(text: &str) -> Value {
    let plain = || Value::String(text.to_owned());
    let Ok(document) = Document::parse(format!("value = {text}")) else { return plain() };
    if document.as_table().len() > 1 {
        return plain();
    }
    let lines = Lines::of(text);
    let mut reader = Reader { file: Arc::from(Path::new("")), lines, origins: BTreeMap::new() };
    match document.as_table().get("value") {
        Some(item) => reader.item(item, &KeyPath::root()).unwrap_or_else(|_| plain()),
        None => plain(),
    }
}

struct Reader {
    file: Arc<Path>,
    lines: Lines,
    origins: BTreeMap<KeyPath, Origin>,
}

impl Reader {
    fn note(&mut self, path: &KeyPath, span: Option<Range<usize>>) {
        let line = span.map(|span| self.lines.number(span.start));
        if line.is_some() || path.0.is_empty() {
            let place = Place::File { file: Arc::clone(&self.file), line };
            self.origins.insert(path.clone(), Origin { place, key: path.clone() });
        }
    }

    fn table(&mut self, table: &dyn TableLike, path: &KeyPath) -> Result<Value, InputError> {
        let mut keys = Map::new();
        for (name, item) in table.iter() {
            let at = path.below(name);
            let span = table.get_key_value(name).and_then(|(key, _)| key.span()).or_else(|| item.span());
            self.note(&at, span);
            keys.insert(name.to_owned(), self.item(item, &at)?);
        }
        Ok(Value::Object(keys))
    }

    fn item(&mut self, item: &Item, path: &KeyPath) -> Result<Value, InputError> {
        match item {
            Item::None => Ok(Value::Null),
            Item::Value(value) => self.value(value, path),
            Item::Table(table) => self.table(table, path),
            Item::ArrayOfTables(tables) => {
                self.list(tables.iter().map(|t| (t.span(), t)), path, |me, t, at| me.table(t, at))
            }
        }
    }

    fn value(&mut self, value: &toml_edit::Value, path: &KeyPath) -> Result<Value, InputError> {
        use toml_edit::Value as Toml;
        Ok(match value {
            Toml::String(text) => Value::String(text.value().clone()),
            Toml::Integer(number) => Value::Number((*number.value()).into()),
            Toml::Float(number) => self.float(*number.value(), path)?,
            Toml::Boolean(truth) => Value::Bool(*truth.value()),
            Toml::Datetime(_) => return Err(self.refuse(path, "a date stands here", "no key takes a date")),
            Toml::Array(items) => {
                self.list(items.iter().map(|v| (v.span(), v)), path, |me, v, at| me.value(v, at))?
            }
            Toml::InlineTable(table) => self.table(table, path)?,
        })
    }

    fn list<T>(
        &mut self,
        items: impl Iterator<Item = (Option<Range<usize>>, T)>,
        path: &KeyPath,
        read: impl Fn(&mut Self, T, &KeyPath) -> Result<Value, InputError>,
    ) -> Result<Value, InputError> {
        let mut values = Vec::new();
        for (i, (span, item)) in items.enumerate() {
            let at = path.below(i);
            self.note(&at, span);
            values.push(read(self, item, &at)?);
        }
        Ok(Value::Array(values))
    }

    fn float(&self, number: f64, path: &KeyPath) -> Result<Value, InputError> {
        let finite = || self.refuse(path, format!("{number} is not a finite number"), "write a finite one");
        Number::from_f64(number).map(Value::Number).ok_or_else(finite)
    }

    fn refuse(&self, path: &KeyPath, message: impl Into<String>, help: &str) -> InputError {
        let place = self.origins.get(path).map(|origin| origin.place.clone());
        InputError { place, key: path.to_string(), message: message.into(), help: help.to_owned() }
    }
}

/// Where each line of a text begins.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(i, _)| i + 1);
        Self(std::iter::once(0).chain(breaks).collect())
    }

    /// The line that holds the byte at `offset`, counted from 1.
    fn number(&self, offset: usize) -> usize {
        self.0.partition_point(|begin| *begin <= offset)
    }
}
