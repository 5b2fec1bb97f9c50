//! JSON as text: a value stands on one line where that has room for it.

use serde_json::Value;

/// Columns of a line.
const WIDTH: usize = 120;

/// The value as text, with a newline at the end.
pub(crate) fn json_text(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0, 0);
    text.push('\n');
    text
}

/// Writes a value at `depth`, on a line that has `used` columns next to it.
fn write(text: &mut String, value: &Value, depth: usize, used: usize) {
    let line = value.to_string();
    if used + line.chars().count() <= WIDTH {
        text.push_str(&line);
        return;
    }
    match value {
        Value::Object(keys) => {
            let keys = keys.iter().map(|(key, value)| (format!("{}: ", Value::from(key.as_str())), value));
            write_items(text, ['{', '}'], keys, depth);
        }
        Value::Array(items) => {
            write_items(text, ['[', ']'], items.iter().map(|item| (String::new(), item)), depth);
        }
        _ => text.push_str(&line),
    }
}

/// Writes each item, after its key, on lines of its own.
fn write_items<'a>(
    text: &mut String,
    [opening, closing]: [char; 2],
    items: impl ExactSizeIterator<Item = (String, &'a Value)>,
    depth: usize,
) {
    let (indent, last) = (depth + 1, items.len());
    text.push(opening);
    for (number, (key, value)) in items.enumerate() {
        text.push('\n');
        text.push_str(&" ".repeat(indent));
        text.push_str(&key);
        write(text, value, indent, indent + key.chars().count() + 1);
        if number + 1 < last {
            text.push(',');
        }
    }
    text.push('\n');
    text.push_str(&" ".repeat(depth));
    text.push(closing);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_stands_on_one_line_and_all_else_on_a_line_for_each_item() {
        let long = "x".repeat(110);
        let value = json!({ "a": [1, 2], "b": { "c": long, "d": ["e"] } });
        let lines = [
            "{",
            " \"a\": [1,2],",
            " \"b\": {",
            &format!("  \"c\": \"{long}\","),
            "  \"d\": [\"e\"]",
            " }",
            "}",
            "",
        ];
        assert_eq!(json_text(&value), lines.join("\n"));
        assert_eq!(json_text(&json!({ "b": { "c": "x" } })), "{\"b\":{\"c\":\"x\"}}\n");
    }
}
