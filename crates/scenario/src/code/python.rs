//! Classes of Python.

use serde_json::{Value, json};

use super::consent;
use crate::error::InputError;
use crate::library::Search;
use crate::tree::{KeyPath, Tree, read_text};

/// Reads the class of one host or flow.
pub(super) fn read(tree: &mut Tree, at: &KeyPath, search: &Search) -> Result<(), InputError> {
    let Some(written) = tree.get(at) else { return Ok(()) };
    let parameters = written.get("parameters").cloned().unwrap_or_else(|| json!({}));
    let class = written.as_str().or_else(|| written.get("class")?.as_str()).unwrap_or_default().to_owned();
    let place = if written.is_string() { at.clone() } else { at.below("class") };
    let file = class.rsplit_once(':').filter(|(file, name)| !file.is_empty() && !name.is_empty());
    let Some((file, _)) = file else {
        let message = format!("\"{class}\" names no class of a file");
        return Err(tree.error(&place, message, "write { python = \"mine.py:Mine\" }"));
    };
    consent(tree, &place, file, search)?;
    if written.get("code").is_some() {
        let message = "the text of a program is read from its file";
        return Err(tree.error(&at.below("code"), message, "leave out code"));
    }
    let code = read_text(&tree.folder(&place).join(file))
        .map_err(|error| tree.error(&place, format!("{file}: {}", error.message), error.help))?;
    let origin = tree.origin(&place);
    let program: Value = json!({ "class": class, "code": code, "parameters": parameters });
    tree.put(at, program, origin);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{InputError, Resolved, Search};

    const FILE: &str = r#"
stop = "1 s"
flows = [{ name = "download", from = "server", to = "phone", bytes = "1 MB" }]
[hosts]
server = { profile = "cubic", tcp.congestion = { python = "mine.py:Mine" } }
phone = { profile = "cubic" }
[[links]]
name = "lasthop"
between = ["server", "phone"]
down = { rate = "1 Mbit/s" }
up = { rate = "1 Mbit/s" }
"#;

    fn library() -> Search {
        Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")])
    }

    fn read(code: &str, search: &Search) -> Result<Resolved, InputError> {
        let folder = std::env::temp_dir().join(format!("lasthop-code-{}-{}", std::process::id(), code.len()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("mine.py"), code).unwrap();
        crate::parse(FILE, folder.join("scenario.toml"), &[] as &[&str], None, search)
    }

    #[test]
    fn the_text_of_a_program_is_part_of_the_scenario_and_its_hash() {
        let search = library().allowing_code();
        let (one, other) = (read("class Mine: a = 1\n", &search), read("class Mine: bc = 2\n", &search));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(one.hosts[0].tcp["congestion"]["python"]["code"], "class Mine: a = 1\n");
        assert_ne!(one.hash(), other.hash());
    }

    #[test]
    fn a_file_that_brings_a_program_needs_consent() {
        let error = read("class Mine: pass\n", &library()).unwrap_err();
        assert_eq!(error.line(), Some(5), "{error}");
        assert!(error.to_string().contains("--allow-code"), "{error}");
    }

    #[test]
    fn a_program_named_in_an_override_is_the_users_own() {
        let folder = std::env::temp_dir().join(format!("lasthop-code-own-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("own.py");
        std::fs::write(&file, "class Own: pass\n").unwrap();
        let text = FILE.replace(", tcp.congestion = { python = \"mine.py:Mine\" }", "");
        let set = format!("hosts.server.tcp.congestion={{ python = \"{}:Own\" }}", file.display());
        let resolved = crate::parse(&text, "scenario.toml", &[set], None, &library()).unwrap();
        assert_eq!(resolved.hosts[0].tcp["congestion"]["python"]["code"], "class Own: pass\n");
    }

    #[test]
    fn a_text_beside_the_file_is_refused() {
        let text = FILE.replace("\"mine.py:Mine\" }", "{ class = \"mine.py:Mine\", code = \"\" } }");
        let error =
            crate::parse(&text, "s.toml", &[] as &[&str], None, &library().allowing_code()).unwrap_err();
        assert!(error.to_string().contains("leave out code"), "{error}");
    }

    #[test]
    fn a_profile_with_a_program_is_refused_where_none_is_executed() {
        let file = std::env::temp_dir().join(format!("lasthop-code-{}.toml", std::process::id()));
        for congestion in ["{ python = \"mine.py:Mine\" }", "\"python\""] {
            let text = format!("summary = \"\"\nsources = []\ncongestion = {congestion}\n");
            std::fs::write(&file, text).unwrap();
            let error = crate::profile(&file, &library()).unwrap_err();
            assert_eq!(error.line(), Some(3), "{error}");
            assert!(error.to_string().contains("lasthop run only"), "{error}");
        }
    }

    #[test]
    fn what_names_no_class_is_refused_with_its_line() {
        let text = FILE.replace("mine.py:Mine", "mine.py");
        let error =
            crate::parse(&text, "s.toml", &[] as &[&str], None, &library().allowing_code()).unwrap_err();
        assert!(error.to_string().starts_with("s.toml:5: "), "{error}");
        assert!(error.message.contains("names no class"), "{error}");
    }
}
