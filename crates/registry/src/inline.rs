//! A value as one line of TOML, for messages that show what to write.

use serde_json::{Map, Value};

/// A value as it stands after `=` in a line of TOML.
#[must_use]
pub fn inline_toml(value: &Value) -> String {
    match value {
        Value::Object(keys) if keys.is_empty() => "{}".to_owned(),
        Value::Object(keys) => format!("{{ {} }}", pairs(keys)),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline_toml).collect::<Vec<_>>().join(", "))
        }
        // JSON's escapes are TOML's.
        other => other.to_string(),
    }
}

fn pairs(keys: &Map<String, Value>) -> String {
    let pair = |(key, value): (&String, &Value)| format!("{} = {}", inline_key(key), inline_toml(value));
    keys.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// A key, in quotes where TOML asks for them.
fn inline_key(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_bare { key.to_owned() } else { Value::from(key).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_lists_and_texts_are_written_in_one_line() {
        let value = json!({ "ledbat++": { "target": "60 ms", "gains": [1, 0.5], "on": true, "none": {} } });
        let line = r#"{ "ledbat++" = { gains = [1, 0.5], none = {}, on = true, target = "60 ms" } }"#;
        assert_eq!(inline_toml(&value), line);
    }
}
