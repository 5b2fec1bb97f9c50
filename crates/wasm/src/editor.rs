//! A scenario's text, read for the form next to it, and changed key by key. Comments and order stay.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stacks::Run;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use crate::fault::Fault;
use crate::run::resolved;

/// A text as it was read.
#[derive(Debug, Default, Serialize)]
pub struct Checked {
    /// Its values; none if it is no TOML.
    pub values: Option<Value>,
    /// The resolved scenario; none if something is wrong with it.
    pub scenario: Option<Value>,
    /// What is wrong.
    pub error: Option<Fault>,
}

/// Reads and resolves a text.
#[must_use]
pub fn checked(text: &str) -> Checked {
    let values = text.parse::<DocumentMut>().ok().map(|document| of_table(document.as_table()));
    match scenario_of(text) {
        Ok(scenario) => Checked { values, scenario: Some(scenario), error: None },
        Err(error) => Checked { values, scenario: None, error: Some(error) },
    }
}

/// The resolved scenario of a text that runs in virtual time.
fn scenario_of(text: &str) -> Result<Value, Fault> {
    let resolved = resolved(text, &[], None)?;
    Run::new(resolved.to_spec()?, &resolved.stacks()).map_err(|error| Fault::of(&error))?;
    Ok(resolved.to_value())
}

/// One key of a text that is set to a value, or removed if that is null.
#[derive(Debug, Deserialize)]
pub struct Change {
    text: String,
    path: Vec<Step>,
    value: Value,
}

/// One step on the way to a key.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Step {
    /// Into an element of a list.
    Place(usize),
    /// Into a table.
    Key(String),
}

/// A changed text, or why it cannot be changed.
#[derive(Debug, Serialize)]
pub struct Changed {
    text: Option<String>,
    error: Option<Fault>,
}

impl Change {
    /// Makes the change.
    #[must_use]
    pub fn made(&self) -> Changed {
        match self.changed() {
            Ok(text) => Changed { text: Some(text), error: None },
            Err(words) => Changed { text: None, error: Some(self.fault(&words)) },
        }
    }

    fn fault(&self, words: &str) -> Fault {
        let step = |step: &Step| match step {
            Step::Place(place) => place.to_string(),
            Step::Key(key) => key.clone(),
        };
        Fault {
            message: format!("cannot be changed: {words}"),
            help: Some("correct the text first".into()),
            line: None,
            key: Some(self.path.iter().map(step).collect::<Vec<_>>().join(".")),
        }
    }

    fn changed(&self) -> Result<String, String> {
        let mut document = self.text.parse::<DocumentMut>().map_err(|error| error.to_string())?;
        let (last, way) = self.path.split_last().ok_or("no key is named")?;
        let mut container = document.as_item_mut();
        for (depth, step) in way.iter().enumerate() {
            container = entered(container, step, &self.path[depth + 1], depth == 0)?;
        }
        put(container, last, &self.value)?;
        Ok(document.to_string())
    }
}

/// The part of a container at a step; a table that is missing is made.
fn entered<'a>(container: &'a mut Item, step: &Step, next: &Step, top: bool) -> Result<&'a mut Item, String> {
    match step {
        Step::Place(place) => container.get_mut(*place).ok_or_else(|| format!("there is no element {place}")),
        Step::Key(key) => {
            let made = || match next {
                Step::Place(_) => toml_edit::value(Array::new()),
                Step::Key(_) if top => Item::Table(Table::new()),
                Step::Key(_) => toml_edit::value(InlineTable::new()),
            };
            let table = container.as_table_like_mut().ok_or_else(|| format!("{key:?} is in no table"))?;
            Ok(table.entry(key).or_insert_with(made))
        }
    }
}

fn put(container: &mut Item, last: &Step, value: &Value) -> Result<(), String> {
    match last {
        Step::Key(key) => {
            let table = container.as_table_like_mut().ok_or_else(|| format!("{key:?} is in no table"))?;
            if value.is_null() {
                return table.remove(key).map(drop).ok_or_else(|| format!("there is no key {key:?}"));
            }
            let mut new = written(value)?;
            // A comment after the value stays.
            if let (Some(old), Some(new)) = (table.get(key).and_then(Item::as_value), new.as_value_mut()) {
                *new.decor_mut() = old.decor().clone();
            }
            table.insert(key, new);
        }
        Step::Place(place) => put_in_list(container, *place, value)?,
    }
    Ok(())
}

fn put_in_list(container: &mut Item, place: usize, value: &Value) -> Result<(), String> {
    let missing = || format!("there is no element {place}");
    if let Some(tables) = container.as_array_of_tables_mut() {
        if value.is_null() {
            (place < tables.len()).then(|| tables.remove(place)).map(drop).ok_or_else(missing)?;
        } else {
            let table = written(value)?.into_table().map_err(|_| "an element of this list is a table")?;
            if place != tables.len() {
                return Err("an element that is there is changed key by key".into());
            }
            tables.push(table);
        }
        return Ok(());
    }
    let list = container.as_array_mut().ok_or("it is no list")?;
    if value.is_null() {
        (place < list.len()).then(|| list.remove(place)).map(drop).ok_or_else(missing)?;
        return Ok(());
    }
    let new = written(value)?.into_value().map_err(|_| "it is no value")?;
    if place == list.len() {
        list.push(new);
    } else if place < list.len() {
        list.replace(place, new);
    } else {
        return Err(missing());
    }
    Ok(())
}

/// A JSON value as TOML; one of the form {"toml": "…"} is written as it stands.
fn written(value: &Value) -> Result<Item, String> {
    if let Some(toml) = value
        .get("toml")
        .and_then(Value::as_str)
        .filter(|_| value.as_object().is_some_and(|it| it.len() == 1))
    {
        return Ok(toml_edit::value(toml.parse::<toml_edit::Value>().map_err(|error| error.to_string())?));
    }
    Ok(toml_edit::value(in_toml(value)?))
}

fn in_toml(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::Null => return Err("a list or a table of TOML has no null".into()),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(number)) => number.into(),
            (None, None) => return Err(format!("{number} is too large")),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(all) => all.iter().map(in_toml).collect::<Result<Array, _>>()?.into(),
        Value::Object(all) => {
            let entry = |(key, value): (&String, &Value)| Ok::<_, String>((key.clone(), in_toml(value)?));
            all.iter().map(entry).collect::<Result<Vec<_>, _>>()?.into_iter().collect::<InlineTable>().into()
        }
    })
}

fn of_table(table: &dyn toml_edit::TableLike) -> Value {
    table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect()
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table(table)).collect(),
        Item::Value(value) => of_value(value),
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(all) => all.iter().map(of_value).collect(),
        toml_edit::Value::InlineTable(table) => of_table(table),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str =
        "# The head.\nname = \"a\"\n\n[links.last]\nrate = \"2 Mbit/s\" # slow\nlist = [1, 2]\n";

    fn change(path: Value, value: Value) -> Changed {
        let order = json!({"text": TEXT, "path": path, "value": value});
        serde_json::from_value::<Change>(order).unwrap().made()
    }

    #[test]
    fn a_change_keeps_comments_and_order() {
        let text = change(json!(["links", "last", "rate"]), json!("1 Mbit/s")).text.unwrap();
        assert_eq!(text, TEXT.replace("2 Mbit/s", "1 Mbit/s"));
    }

    #[test]
    fn a_key_is_added_and_removed_and_a_list_grows() {
        let added = change(json!(["links", "last", "queue", "limit"]), json!("9 packets")).text.unwrap();
        assert!(added.contains("queue = { limit = \"9 packets\" }"), "{added}");
        assert!(!change(json!(["name"]), Value::Null).text.unwrap().contains("name"));
        assert!(change(json!(["links", "last", "list", 2]), json!(3)).text.unwrap().contains("[1, 2, 3]"));
        assert!(
            change(json!(["new"]), json!({"toml": "{ kind = 1 }"}))
                .text
                .unwrap()
                .contains("new = { kind = 1 }")
        );
    }

    #[test]
    fn a_change_that_is_none_has_its_key() {
        let error = change(json!(["links", "last", "absent"]), Value::Null).error.unwrap();
        assert_eq!(error.key.as_deref(), Some("links.last.absent"));
        assert!(error.message.contains("there is no key"), "{}", error.message);
    }

    #[test]
    fn a_wrong_text_has_its_values_and_its_line() {
        let text = include_str!("../../../scenarios/quickstart.toml");
        let good = checked(text);
        assert_eq!(good.error, None);
        assert_eq!(good.scenario.unwrap()["name"], "quickstart");
        let wrong = checked(&text.replace("sack-6675", "sack-6676"));
        assert_eq!(wrong.error.unwrap().line, Some(6));
        assert_eq!(wrong.values.unwrap()["name"], "quickstart");
        assert!(checked("name = ").values.is_none());
    }
}
