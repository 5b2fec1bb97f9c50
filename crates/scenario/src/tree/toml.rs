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
    let mut reader = Reader::new(file, lines);
    reader.note(&KeyPath::root(), None);
    let value = reader.table(document.as_table(), &KeyPath::root());
    let tree = Tree { value, origins: reader.origins };
    reader.wrong.map_or(Ok(()), |wrong| Err(tree.error(&wrong.path, wrong.message, wrong.help)))?;
    Ok(tree)
}

/// One value after `path=` on the command line: TOML, otherwise a plain text.
///
/// # Errors
/// A text that begins like a table or a list and is not one, with the reason.
pub(crate) fn parse_value(text: &str) -> Result<Value, String> {
    toml_value(text).or_else(|error| match text.starts_with(['{', '[']) {
        true => Err(error),
        false => Ok(Value::String(text.to_owned())),
    })
}

fn toml_value(text: &str) -> Result<Value, String> {
    let document = Document::parse(format!("value = {text}")).map_err(|error| error.message().to_owned())?;
    if document.as_table().len() > 1 {
        return Err("more than one value".to_owned());
    }
    let mut reader = Reader::new(Arc::from(Path::new("")), Lines::of(text));
    let value = document.as_table().get("value").map(|item| reader.item(item, &KeyPath::root()));
    match reader.wrong {
        Some(wrong) => Err(wrong.message),
        None => value.ok_or_else(|| "no value".to_owned()),
    }
}

struct Reader {
    file: Arc<Path>,
    lines: Lines,
    origins: BTreeMap<KeyPath, Origin>,
    /// The first invalid value. Its path uses names, which are known when everything is read.
    wrong: Option<Wrong>,
}

struct Wrong {
    path: KeyPath,
    message: String,
    help: &'static str,
}

impl Reader {
    const fn new(file: Arc<Path>, lines: Lines) -> Self {
        Self { file, lines, origins: BTreeMap::new(), wrong: None }
    }

    fn note(&mut self, path: &KeyPath, span: Option<Range<usize>>) {
        let line = span.map(|span| self.lines.number(span.start));
        if line.is_some() || path.0.is_empty() {
            let place = Place::File { file: Arc::clone(&self.file), line };
            self.origins.insert(path.clone(), Origin { place, key: path.clone() });
        }
    }

    fn table(&mut self, table: &dyn TableLike, path: &KeyPath) -> Value {
        let mut keys = Map::new();
        for (name, item) in table.iter() {
            let at = path.below(name);
            let span = table.get_key_value(name).and_then(|(key, _)| key.span()).or_else(|| item.span());
            self.note(&at, span);
            keys.insert(name.to_owned(), self.item(item, &at));
        }
        Value::Object(keys)
    }

    fn item(&mut self, item: &Item, path: &KeyPath) -> Value {
        match item {
            Item::None => Value::Null,
            Item::Value(value) => self.value(value, path),
            Item::Table(table) => self.table(table, path),
            Item::ArrayOfTables(tables) => {
                self.list(tables.iter().map(|t| (t.span(), t)), path, |me, t, at| me.table(t, at))
            }
        }
    }

    fn value(&mut self, value: &toml_edit::Value, path: &KeyPath) -> Value {
        use toml_edit::Value as Toml;
        match value {
            Toml::String(text) => Value::String(text.value().clone()),
            Toml::Integer(number) => Value::Number((*number.value()).into()),
            Toml::Float(number) => self.float(*number.value(), path),
            Toml::Boolean(truth) => Value::Bool(*truth.value()),
            Toml::Datetime(_) => self.refuse(path, "this is a date", "no key takes a date"),
            Toml::Array(items) => {
                self.list(items.iter().map(|v| (v.span(), v)), path, |me, v, at| me.value(v, at))
            }
            Toml::InlineTable(table) => self.table(table, path),
        }
    }

    fn list<T>(
        &mut self,
        items: impl Iterator<Item = (Option<Range<usize>>, T)>,
        path: &KeyPath,
        read: impl Fn(&mut Self, T, &KeyPath) -> Value,
    ) -> Value {
        let mut values = Vec::new();
        for (i, (span, item)) in items.enumerate() {
            let at = path.below(i);
            self.note(&at, span);
            values.push(read(self, item, &at));
        }
        Value::Array(values)
    }

    fn float(&mut self, number: f64, path: &KeyPath) -> Value {
        let finite = Number::from_f64(number).map(Value::Number);
        finite.unwrap_or_else(|| {
            self.refuse(path, format!("{number} is not a finite number"), "write a finite one")
        })
    }

    fn refuse(&mut self, path: &KeyPath, message: impl Into<String>, help: &'static str) -> Value {
        self.wrong.get_or_insert(Wrong { path: path.clone(), message: message.into(), help });
        Value::Null
    }
}

/// Start of each line of a text.
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
