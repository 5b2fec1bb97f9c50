use std::path::Path;

use serde_json::json;

use super::*;

fn tree(text: &str) -> Tree {
    Tree::parse(Path::new("x.toml"), text).expect("it is TOML")
}

fn line(tree: &Tree, path: &str) -> Option<usize> {
    tree.origin(&KeyPath::parse(path).expect("a path"))?.place.line()
}

#[test]
fn every_key_knows_its_line() {
    let tree = tree("a = 1\n\n[b]\nc = { d = 2,\n  e = [1,\n  2] }\n[[f]]\ng = 3\n[[f]]\nh.i = 4\n");
    let lines =
        ["a", "b", "b.c.d", "b.c.e", "b.c.e.1", "f.0.g", "f.1", "f.1.h.i"].map(|path| line(&tree, path));
    assert_eq!(lines, [1, 3, 4, 5, 6, 8, 9, 10].map(Some));
}

#[test]
fn what_is_not_there_is_placed_at_the_table_around_it() {
    let tree = tree("[b]\nc = 1\n");
    assert_eq!(line(&tree, "b.missing.deep"), Some(1));
    let error = tree.error(&KeyPath::of(["b", "missing"]), "it is wrong", "write it right");
    assert_eq!(error.to_string(), "x.toml:1: b.missing: it is wrong; write it right");
}

#[test]
fn tables_merge_and_so_do_choices_of_the_same_name() {
    let schema = json!({ "properties": {
        "keys": { "properties": { "a": {}, "b": {} } },
        "other": { "$ref": "#/$defs/Choice" },
        "same": { "$ref": "#/$defs/Choice" },
        "alone": { "$ref": "#/$defs/Choice" },
        "maybe": { "anyOf": [{ "$ref": "#/$defs/Keys" }, { "type": "null" }] },
    }, "$defs": {
        "Keys": { "properties": { "a": {} } },
        "Choice": { "anyOf": [
            { "enum": ["x", "y"] },
            { "propertyNames": { "enum": ["x", "y"] }, "properties": {
                "x": { "properties": { "p": {}, "q": {} } },
                "y": { "properties": { "p": {} } },
            } },
        ] },
    } });
    let mut over = tree("keys.a = 1\nother.y.p = 1\nsame.x.p = 1\nalone = \"x\"\nmaybe.a = 1");
    let under = tree(
        "keys = { a = 9, b = 9 }\nother.x.p = 9\nsame.x = { p = 9, q = 9 }\nalone.x.p = 9\nmaybe.b = 9\nmore = 9",
    );
    Merge::by(&schema).lay_under(&mut over, &KeyPath::root(), &under);
    assert_eq!(over.value["keys"], json!({ "a": 1, "b": 9 }));
    assert_eq!(over.value["other"], json!({ "y": { "p": 1 } }));
    assert_eq!(over.value["same"], json!({ "x": { "p": 1, "q": 9 } }));
    assert_eq!(over.value["alone"], json!({ "x": { "p": 9 } }));
    assert_eq!(over.value["maybe"], json!({ "a": 1, "b": 9 }));
    assert_eq!(over.value["more"], json!(9));
}

#[test]
fn a_merged_value_keeps_its_own_file_and_key() {
    let mut over = tree("a = 1");
    let under = Tree::parse(Path::new("under.toml"), "\n\nb = { c = 2 }").expect("it is TOML");
    over.graft(&KeyPath::of(["deep"]), &under);
    let error = over.error(&KeyPath::of(["deep", "b", "c"]), "wrong", "");
    assert_eq!(error.to_string(), "under.toml:3: b.c: wrong");
}

#[test]
fn a_value_on_the_command_line_is_toml_or_a_text() {
    let cases = [
        ("5", json!(5)),
        ("0.5", json!(0.5)),
        ("true", json!(true)),
        ("[1, 2]", json!([1, 2])),
        ("{ a = \"b\" }", json!({ "a": "b" })),
        ("\"1 Mbit/s\"", json!("1 Mbit/s")),
        ("1 Mbit/s", json!("1 Mbit/s")),
        ("sack-6675", json!("sack-6675")),
        ("a\nb = 2", json!("a\nb = 2")),
        ("", json!("")),
    ];
    for (text, value) in cases {
        assert_eq!(parse_value(text), Ok(value), "{text}");
    }
    for broken in ["{ a = 1", "[1, 2", "{ a = 1 }\nb = 2", "[nan]"] {
        assert!(parse_value(broken).is_err(), "{broken} is not a text");
    }
}

#[test]
fn a_number_that_is_not_finite_is_named_as_all_else_is() {
    let text = "[[links]]\ndown = { errors = { probability = nan } }\nname = \"l\"";
    let error = Tree::parse(Path::new("x.toml"), text).expect_err("it is refused").to_string();
    let at = "x.toml:2: links.l.down.errors.probability";
    assert_eq!(error, format!("{at}: NaN is not a finite number; write a finite one"));
}

#[test]
fn a_key_with_dots_stands_in_quotes() {
    let path = KeyPath::parse("live.sysctl.\"net.ipv4.tcp_sack\"").expect("a path");
    assert_eq!(path.0, ["live", "sysctl", "net.ipv4.tcp_sack"]);
    assert_eq!(path.to_string(), "live.sysctl.\"net.ipv4.tcp_sack\"");
    assert_eq!(KeyPath::parse("a..b"), None);
    assert_eq!(KeyPath::parse("a.\"b"), None);
}
