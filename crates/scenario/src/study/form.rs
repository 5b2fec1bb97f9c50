//! Forms: the texts of a variable's values, and the settings made from what their placeholders hold.

use std::collections::BTreeMap;

use serde_json::Value;

/// The values of a form's placeholders in a text; none if the text does not match.
pub(super) fn matched(form: &str, text: &str) -> Option<BTreeMap<String, String>> {
    let mut held = BTreeMap::new();
    matches(form, text, &mut held).then_some(held)
}

/// Placeholders take letters, digits, `.`, `-` and `_`, as few as the rest of the form allows, at least one.
fn matches(form: &str, text: &str, held: &mut BTreeMap<String, String>) -> bool {
    let Some((literal, name, rest)) = split(form) else { return form == text };
    let Some(text) = text.strip_prefix(literal) else { return false };
    let within = |c: char| c.is_alphanumeric() || ".-_".contains(c);
    let ends = text.char_indices().take_while(|(_, c)| within(*c)).map(|(at, c)| at + c.len_utf8());
    for end in ends {
        if matches(rest, &text[end..], held) {
            held.insert(name.to_owned(), text[..end].to_owned());
            return true;
        }
    }
    false
}

/// A template with its placeholders filled in. A text that is one placeholder becomes a number if it can.
pub(super) fn filled(template: &Value, held: &BTreeMap<String, String>) -> Result<Value, String> {
    Ok(match template {
        Value::String(text) => filled_text(text, held)?,
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| filled(item, held)).collect::<Result<_, _>>()?)
        }
        Value::Object(keys) => {
            let keys = keys.iter().map(|(key, value)| Ok((key.clone(), filled(value, held)?)));
            Value::Object(keys.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

fn filled_text(text: &str, held: &BTreeMap<String, String>) -> Result<Value, String> {
    if let Some(("", name, "")) = split(text) {
        let content = held.get(name).ok_or_else(|| name.to_owned())?;
        return Ok(number(content).unwrap_or_else(|| Value::String(content.clone())));
    }
    let (mut rest, mut whole) = (text, String::new());
    while let Some((literal, name, after)) = split(rest) {
        whole += literal;
        whole += held.get(name).ok_or_else(|| name.to_owned())?;
        rest = after;
    }
    Ok(Value::String(whole + rest))
}

fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from))
}

/// The text before the first placeholder, its name, and the text after it.
fn split(form: &str) -> Option<(&str, &str, &str)> {
    let (literal, rest) = form.split_once('{')?;
    let (name, rest) = rest.split_once('}')?;
    Some((literal, name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_form_takes_apart_what_it_describes() {
        let held = matched("{a}+{b}@{s}s", "30+50@1.5s").expect("matches");
        assert_eq!(
            held,
            BTreeMap::from(
                [("a", "30"), ("b", "50"), ("s", "1.5")].map(|(k, v)| (k.to_owned(), v.to_owned()))
            )
        );
        assert_eq!(matched("{n}@{s}s", "30+50@10s"), None);
        assert!(matched("none", "none").is_some() && matched("none", "nonesuch").is_none());
    }

    #[test]
    fn a_lone_placeholder_becomes_a_number() {
        let held = matched("{n}@{s}s", "12@6s").expect("matches");
        let template = json!([{ "packet": "{n}", "delay": "{s} s" }]);
        assert_eq!(filled(&template, &held), Ok(json!([{ "packet": 12, "delay": "6 s" }])));
    }

    #[test]
    fn an_unknown_placeholder_is_reported() {
        assert_eq!(filled(&json!("{x} s"), &BTreeMap::new()), Err("x".to_owned()));
    }
}
