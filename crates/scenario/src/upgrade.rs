//! Files of earlier versions in the form of this one, with their comments: what `lasthop convert` writes.
//!
//! Until November 2026 a choice named its member by a key next to the parameters, `{ algorithm = "cubic", beta = 0.5
//! }`. A member that was left out there, as in `window = { size = "64 kB" }`, depended on the file's other layers and
//! is not guessed: the reader reports it with the names to choose from.

use std::path::Path;

use registry::{OLD_KEY, renewed};
use serde_json::Value;
use toml_edit::{Decor, Document, InlineTable, Item, KeyMut, RawString, Table};

use crate::error::InputError;
use crate::tree::Tree;

/// The text of a file with every choice in the form of this version; none if no choice has an earlier one. Comments,
/// order and blank lines stay.
///
/// # Errors
/// A text that is not TOML, and one with a choice in a place where the conversion would lose a comment or a value.
pub fn upgrade(file: impl AsRef<Path>, text: &str) -> Result<Option<String>, InputError> {
    let file = file.as_ref();
    let before = Tree::parse(file, text)?.value;
    let wanted = renewed(before.clone());
    if wanted == before {
        return Ok(None);
    }
    let converted = converted(text).filter(|new| {
        let after = Tree::parse(file, new).map(|tree| tree.value);
        after.is_ok_and(|after| same(&after, &wanted)) && comments(new) == comments(text)
    });
    let lossy = || {
        let message = "a choice of an earlier version stands where it cannot be converted without loss";
        InputError::of_file(file, message, "convert it by hand: a run of the file shows the line to write")
    };
    converted.map(Some).ok_or_else(lossy)
}

fn converted(text: &str) -> Option<String> {
    let mut document = Document::parse(text).ok()?.into_mut();
    renew_items(document.as_table_mut());
    let new = document.to_string();
    // The parser drops the carriage returns of Windows' line ends.
    Some(if text.contains("\r\n") { new.replace('\n', "\r\n") } else { new })
}

fn renew_items(table: &mut Table) {
    for (mut key, item) in table.iter_mut() {
        match item {
            Item::None => {}
            Item::Value(value) => renew_value(value),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(renew_items),
            Item::Table(below) => {
                renew_items(below);
                if let Some(right) = choice_of_table(&mut key, below) {
                    *item = right;
                }
            }
        }
    }
}

/// The item in place of a table that is a choice of the earlier form: `[rto]` becomes `[rto.linux]`, and
/// `rto.minimum` becomes `rto.linux.minimum`.
fn choice_of_table(key: &mut KeyMut<'_>, table: &mut Table) -> Option<Item> {
    let name = table.get(OLD_KEY)?.as_str()?.to_owned();
    let (old_key, old_value) = table.remove_entry(OLD_KEY)?;
    let before = comment_of(old_key.leaf_decor().prefix());
    let after_value = old_value.as_value().map_or("", |value| comment_of(value.decor().suffix())).to_owned();
    let is_dotted = table.is_dotted();
    if is_dotted && table.is_empty() {
        let prefix = old_key.leaf_decor().prefix().cloned().unwrap_or_default();
        *key.leaf_decor_mut() = Decor::new(prefix, " ");
        let mut value = toml_edit::Value::from(name);
        *value.decor_mut() = Decor::new(" ", spaced(&after_value));
        return Some(Item::Value(value));
    }
    if is_dotted {
        keep_comments_of_line(table, before, &after_value);
    } else {
        keep_comments_of_header(table.decor_mut(), before, &after_value);
    }
    let mut outer = Table::new();
    outer.set_implicit(!is_dotted);
    outer.set_dotted(is_dotted);
    outer.insert(&name, Item::Table(std::mem::take(table)));
    Some(Item::Table(outer))
}

/// Moves the comments of the line `algorithm = "…"` to the header above it.
fn keep_comments_of_header(decor: &mut Decor, before: &str, after_value: &str) {
    let has_one = !comment_of(decor.suffix()).is_empty();
    let (own_line, at_header) = if has_one { (after_value, "") } else { ("", after_value) };
    let above: String =
        [before, own_line].iter().filter(|text| !text.is_empty()).map(|text| line(text)).collect();
    if !above.is_empty() {
        let prefix = decor.prefix().and_then(RawString::as_str).unwrap_or_default().to_owned();
        decor.set_prefix(prefix + &above);
    }
    if !at_header.is_empty() {
        decor.set_suffix(spaced(at_header));
    }
}

/// Moves the comments of a line `rto.algorithm = "…"` to the first line of the same table.
fn keep_comments_of_line(table: &mut Table, before: &str, after_value: &str) {
    let above: String =
        [before, after_value].iter().filter(|text| !text.is_empty()).map(|text| line(text)).collect();
    if let Some((mut key, _)) = table.iter_mut().next().filter(|_| !above.is_empty()) {
        let decor = key.leaf_decor_mut();
        let prefix = decor.prefix().and_then(RawString::as_str).unwrap_or_default().to_owned();
        decor.set_prefix(above + &prefix);
    }
}

fn renew_value(value: &mut toml_edit::Value) {
    match value {
        toml_edit::Value::Array(items) => items.iter_mut().for_each(renew_value),
        toml_edit::Value::InlineTable(table) => {
            table.iter_mut().for_each(|(_, below)| renew_value(below));
            if let Some(right) = choice_of_inline_table(table) {
                *value = right;
            }
        }
        _ => {}
    }
}

/// The value in place of an inline table that is a choice of the earlier form.
fn choice_of_inline_table(table: &mut InlineTable) -> Option<toml_edit::Value> {
    let name = table.get(OLD_KEY)?.as_str()?.to_owned();
    let decor = table.decor().clone();
    table.remove(OLD_KEY);
    let mut right = if table.is_empty() {
        toml_edit::Value::from(name)
    } else {
        let mut parameters = std::mem::take(table);
        if !parameters.to_string().contains('\n') {
            parameters.fmt();
        }
        parameters.decor_mut().clear();
        let mut outer = InlineTable::new();
        outer.set_dotted(parameters.is_dotted());
        outer.insert(name, toml_edit::Value::InlineTable(parameters));
        toml_edit::Value::InlineTable(outer)
    };
    *right.decor_mut() = decor;
    Some(right)
}

/// The comment of what stands before or after a value; empty without one.
fn comment_of(around: Option<&RawString>) -> &str {
    around.and_then(RawString::as_str).map_or("", str::trim)
}

/// A comment after a value or a header.
fn spaced(comment: &str) -> String {
    if comment.is_empty() { String::new() } else { format!("  {comment}") }
}

fn line(comment: &str) -> String {
    format!("{comment}\n")
}

/// Whether two values mean the same: a name alone is a choice without parameters.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(table), Value::String(name)) | (Value::String(name), Value::Object(table)) => {
            let only = table.iter().next().filter(|_| table.len() == 1);
            only.is_some_and(|(key, value)| {
                key == name && value.as_object().is_some_and(serde_json::Map::is_empty)
            })
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|there| same(value, there)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        _ => one == other,
    }
}

/// The comments of a text, sorted.
fn comments(text: &str) -> Vec<&str> {
    let mut found: Vec<_> =
        text.lines().filter_map(|line| Some(line[comment_start(line)?..].trim_end())).collect();
    found.sort_unstable();
    found
}

/// The place of the first `#` of a line that is in no text.
fn comment_start(line: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (place, character) in line.char_indices() {
        match (quote, character) {
            (None, '#') => return Some(place),
            (None, '"' | '\'') => quote = Some(character),
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(begun), end) if begun == end && !escaped => quote = None,
            _ => {}
        }
        escaped = false;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded(text: &str) -> String {
        upgrade("mine.toml", text).unwrap().expect("the text has a choice of the earlier form")
    }

    #[test]
    fn a_table_gets_its_name_in_the_header_and_keeps_its_comments() {
        let old = "\
# the file
[congestion]
algorithm = \"window-usage\"          # tcp_is_cwnd_limited
minimum = 2                         # segments
[congestion.over]
algorithm = \"cubic\"
beta = 0.5

# the timer
[rto] # of Linux
# with its defaults
algorithm = \"linux\"                 # tcp_rtt_estimator
";
        let new = "\
# the file
[congestion.window-usage]  # tcp_is_cwnd_limited
minimum = 2                         # segments
[congestion.window-usage.over.cubic]
beta = 0.5

# the timer
# with its defaults
# tcp_rtt_estimator
[rto.linux] # of Linux
";
        assert_eq!(upgraded(old), new);
    }

    #[test]
    fn an_inline_table_becomes_its_name_or_a_table_of_one_key() {
        let old = "mobile = { profile = \"aix\", tcp = { ack = { algorithm = \"every-segment\" }, \
                   spurious = { algorithm = \"eifel\", response = \"eifel\" } } } # of 2000\n";
        let new = "mobile = { profile = \"aix\", tcp = { ack = \"every-segment\", \
                   spurious = { eifel = { response = \"eifel\" } } } } # of 2000\n";
        assert_eq!(upgraded(old), new);
        assert_eq!(
            upgraded("x = { beta = 0.5, algorithm = \"cubic\" }\n"),
            "x = { cubic = { beta = 0.5 } }\n"
        );
        assert_eq!(upgraded("x = [{ algorithm = \"a\" }, { b = 1 }]\n"), "x = [\"a\", { b = 1 }]\n");
    }

    #[test]
    fn dotted_keys_get_the_name_between_their_steps() {
        let old = "# which\nrecovery.algorithm = \"rr\" # right edge\nrto.algorithm = \"linux\"\nrto.minimum = \"1 s\"\n";
        let new = "# which\nrecovery = \"rr\"  # right edge\nrto.linux.minimum = \"1 s\"\n";
        assert_eq!(upgraded(old), new);
    }

    #[test]
    fn a_file_of_today_is_left_alone() {
        let text =
            "[congestion.cubic]\nbeta = 0.5\n[hosts.algorithm]\nprofile = \"reno\" # algorithm = \"x\"\n";
        assert_eq!(upgrade("mine.toml", text), Ok(None));
    }

    #[test]
    fn line_ends_and_strings_with_a_hash_stay() {
        let old = "name = \"a # b\" # c\r\nrecovery = { algorithm = \"rr\" }\r\n";
        assert_eq!(upgraded(old), "name = \"a # b\" # c\r\nrecovery = \"rr\"\r\n");
    }

    #[test]
    fn what_would_lose_a_comment_or_a_value_is_refused_and_so_is_what_is_no_toml() {
        let lossy = "ack = {\n  # why\n  algorithm = \"linux\"\n}\n";
        let said = upgrade("mine.toml", lossy).unwrap_err().to_string();
        assert!(said.starts_with("mine.toml: a choice of an earlier version stands where"), "{said}");
        let list = "[[ack]]\nalgorithm = \"linux\"\ntimeout = 1\n";
        assert!(upgrade("mine.toml", list).is_err());
        assert!(upgrade("mine.toml", "= 1").unwrap_err().to_string().contains("this is not TOML"));
    }
}
