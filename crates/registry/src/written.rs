//! A choice as written in a file: a name, or a table whose only key is the name.

use serde_json::{Map, Value};

use crate::{Entry, inline_toml};

/// A choice that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Key below the choice that is wrong; empty for the choice itself.
    pub key: String,
    /// The error.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// Splits what a file has for the key `key` into an entry and its parameters. The key is for messages; it may be
/// empty.
///
/// # Errors
/// Neither a name nor a table of one key, and names that are not in the list. A choice in the form of earlier versions,
/// `{ algorithm = "cubic", beta = 0.5 }`, is answered with the line that takes its place.
pub fn choose<M>(
    key: &str,
    noun: &str,
    entries: &'static [Entry<M>],
    value: Value,
) -> Result<(&'static Entry<M>, Value), Mistake> {
    let ids: Vec<&'static str> = entries.iter().map(|entry| entry.id).collect();
    let (name, parameters, below) = match value {
        Value::String(name) => (name, Value::Object(Map::new()), String::new()),
        Value::Object(table) if table.contains_key(OLD_KEY) => return Err(old(key, table)),
        Value::Object(table) => {
            let (name, parameters) = only_key(key, noun, &ids, table)?;
            (name.clone(), parameters, name)
        }
        other => {
            let message = format!("{} is no choice of a {noun}", inline_toml(&other));
            return Err(Mistake { key: String::new(), message, help: one_of(&ids) });
        }
    };
    let known = entries.iter().find(|entry| entry.id == name);
    known
        .map(|entry| (entry, parameters))
        .ok_or_else(|| Mistake { key: below, ..unlisted(noun, &ids, &name) })
}

/// The name that a choice of a file has; none where the value is neither a name nor a table of one key.
#[must_use]
pub fn name_of(choice: &Value) -> Option<&str> {
    match choice {
        Value::String(name) => Some(name),
        Value::Object(table) if table.len() == 1 => table.keys().next().map(String::as_str),
        _ => None,
    }
}

/// The parameters that a choice of a file states; none where it is a name alone.
#[must_use]
pub fn parameters_of(choice: &Value) -> Option<&Map<String, Value>> {
    choice.as_object().filter(|table| table.len() == 1)?.values().next()?.as_object()
}

/// The parameters of a choice of a file, to be changed. A name alone becomes a table.
pub fn parameters_of_mut(choice: &mut Value) -> Option<&mut Map<String, Value>> {
    if let Value::String(name) = choice {
        *choice = Value::Object(Map::from_iter([(std::mem::take(name), Value::Object(Map::new()))]));
    }
    choice.as_object_mut().filter(|table| table.len() == 1)?.values_mut().next()?.as_object_mut()
}

fn only_key(
    key: &str,
    noun: &str,
    ids: &[&'static str],
    table: Map<String, Value>,
) -> Result<(String, Value), Mistake> {
    if let (1, Some((name, parameters))) = (table.len(), table.iter().next()) {
        return Ok((name.clone(), parameters.clone()));
    }
    let wrong = |message: String, help: String| Mistake { key: String::new(), message, help };
    let (names, others): (Vec<_>, Vec<_>) = table.iter().partition(|(name, _)| ids.contains(&name.as_str()));
    match (&names[..], &others[..]) {
        ([], []) => Err(wrong(format!("the {noun} has no name"), one_of(ids))),
        ([], _) => Err(unlisted(noun, ids, others[0].0)),
        ([(name, parameters)], _) => {
            let right = moved(name, parameters, &others);
            Err(wrong(
                format!("\"{}\" stands next to \"{name}\", whose parameter it is", others[0].0),
                format!("write {}", line(key, &right)),
            ))
        }
        ([(one, _), (other, _), ..], _) => Err(wrong(
            format!("\"{one}\" and \"{other}\" are two, where one {noun} stands"),
            "write one of them".to_owned(),
        )),
    }
}

/// The choice of `name` with its own parameters and the parameters next to it.
fn moved(name: &str, parameters: &Value, beside: &[(&String, &Value)]) -> Value {
    let mut all = parameters.as_object().cloned().unwrap_or_default();
    all.extend(beside.iter().map(|(key, value)| ((*key).clone(), (*value).clone())));
    Value::Object(Map::from_iter([(name.to_owned(), Value::Object(all))]))
}

fn unlisted(noun: &str, ids: &[&str], name: &str) -> Mistake {
    let message = format!("there is no {noun} \"{name}\"");
    Mistake { key: name.to_owned(), message, help: one_of(ids) }
}

fn one_of(ids: &[&str]) -> String {
    format!("one of {}", ids.join(", "))
}

/// A choice in the form that earlier versions had.
fn old(key: &str, table: Map<String, Value>) -> Mistake {
    let right = renewed(Value::Object(table));
    Mistake {
        key: OLD_KEY.to_owned(),
        message: "a choice is written as its name, or as a table of one key, its name".to_owned(),
        help: format!("write {}", line(key, &right)),
    }
}

/// A value with each choice of the earlier form, at any depth, in today's.
#[must_use]
pub fn renewed(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(renewed).collect(),
        Value::Object(table) => {
            let (mut named, others): (Map<_, _>, Map<_, _>) =
                table.into_iter().partition(|(key, value)| key == OLD_KEY && value.is_string());
            let parameters: Map<String, Value> =
                others.into_iter().map(|(key, value)| (key, renewed(value))).collect();
            match named.remove(OLD_KEY) {
                Some(Value::String(name)) if parameters.is_empty() => Value::String(name),
                Some(Value::String(name)) => {
                    Value::Object(Map::from_iter([(name, Value::Object(parameters))]))
                }
                _ => Value::Object(parameters),
            }
        }
        other => other,
    }
}

/// A whole line, ready to paste; the value alone where the key is not known.
fn line(key: &str, value: &Value) -> String {
    let value = inline_toml(value);
    if key.is_empty() { value } else { format!("{key} = {value}") }
}

/// The key that named the choice in files of earlier versions.
pub const OLD_KEY: &str = "algorithm";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ENTRIES: &[Entry] =
        &[Entry::new("reno", "", ""), Entry::new("cubic", "", ""), Entry::new("byte-counting", "", "")];

    fn chosen(value: Value) -> Result<(&'static str, Value), String> {
        let chosen = choose("congestion", "congestion control", ENTRIES, value);
        chosen
            .map(|(entry, parameters)| (entry.id, parameters))
            .map_err(|mistake| format!("{}: {}; {}", mistake.key, mistake.message, mistake.help))
    }

    #[test]
    fn a_choice_is_its_name_or_a_table_of_one_key() {
        assert_eq!(chosen(json!("cubic")), Ok(("cubic", json!({}))));
        assert_eq!(chosen(json!({ "cubic": { "beta": 0.5 } })), Ok(("cubic", json!({ "beta": 0.5 }))));
    }

    #[test]
    fn a_choice_reports_its_name_and_its_parameters() {
        let mut choice = json!("cubic");
        assert_eq!((name_of(&choice), parameters_of(&choice)), (Some("cubic"), None));
        parameters_of_mut(&mut choice).unwrap().insert("beta".to_owned(), json!(0.5));
        assert_eq!(choice, json!({ "cubic": { "beta": 0.5 } }));
        assert_eq!(name_of(&choice), Some("cubic"));
        assert_eq!(parameters_of(&choice).unwrap()["beta"], 0.5);
        assert_eq!(name_of(&json!({ "cubic": {}, "reno": {} })), None);
    }

    #[test]
    fn the_form_of_earlier_versions_is_answered_with_the_new_line() {
        let over = json!({ "algorithm": "reno", "validate": true });
        let said =
            chosen(json!({ "algorithm": "byte-counting", "limit": "2 segments", "over": over })).unwrap_err();
        assert!(
            said.starts_with("algorithm: a choice is written as its name, or as a table of one key"),
            "{said}"
        );
        let line = r#"write congestion = { byte-counting = { limit = "2 segments", over = { reno = { validate = true } } } }"#;
        assert!(said.ends_with(line), "{said}");
        let said = chosen(json!({ "algorithm": "cubic" })).unwrap_err();
        assert!(said.ends_with("write congestion = \"cubic\""), "{said}");
    }

    #[test]
    fn a_parameter_beside_its_name_is_shown_where_it_belongs() {
        let said = chosen(json!({ "cubic": { "c": 0.4 }, "beta": 0.5 })).unwrap_err();
        assert_eq!(
            said,
            ": \"beta\" stands next to \"cubic\", whose parameter it is; write congestion = { cubic = { beta = 0.5, c = 0.4 } }"
        );
    }

    #[test]
    fn names_that_are_not_there_get_the_list_and_two_are_refused() {
        let unlisted = "cubik: there is no congestion control \"cubik\"; one of reno, cubic, byte-counting";
        assert_eq!(chosen(json!("cubik")).unwrap_err(), unlisted.replacen("cubik", "", 1));
        assert_eq!(chosen(json!({ "cubik": {} })).unwrap_err(), unlisted);
        assert!(
            chosen(json!({ "a": 1, "b": 2 })).unwrap_err().starts_with("a: there is no congestion control")
        );
        assert!(chosen(json!({})).unwrap_err().contains("has no name"));
        assert!(chosen(json!(5)).unwrap_err().contains("5 is no choice of a congestion control"));
        let two = chosen(json!({ "cubic": {}, "reno": {} })).unwrap_err();
        assert!(two.contains("\"cubic\" and \"reno\" are two, where one congestion control stands"), "{two}");
    }
}
