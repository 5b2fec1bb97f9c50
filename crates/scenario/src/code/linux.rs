//! Modules of Linux, in C.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use tcp::congestion::Module;

use super::{LINUX, consent};
use crate::error::InputError;
use crate::library::Search;
use crate::tree::{KeyPath, Tree, read_text};

/// Reads the module of one host or flow, whose parameters stand in its table or next to it.
pub(super) fn read(tree: &mut Tree, congestion: &KeyPath, search: &Search) -> Result<(), InputError> {
    let at = congestion.below(LINUX);
    let Some(written) = tree.get(&at) else { return Ok(()) };
    let (mut table, place) = match written {
        Value::Object(table) => (table.clone(), at.below("file")),
        other => (Map::from_iter([("file".to_owned(), other.clone())]), at.clone()),
    };
    let beside = tree.steps_below(congestion).into_iter().filter(|key| key != LINUX);
    for key in beside.collect::<Vec<_>>() {
        let value = tree.remove(&congestion.below(&key)).unwrap_or_default();
        table.insert(key, value);
    }
    let file = table.get("file").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !file.ends_with(".c") && !file.ends_with(PLUGIN) {
        let message = format!("\"{file}\" is no file in C and no plug-in");
        return Err(tree.error(&place, message, "write { linux = \"tcp_mine.c\" }"));
    }
    consent(tree, &place, &file, search)?;
    if table.contains_key("sources") {
        return Err(tree.error(
            &at.below("sources"),
            "the text of a module is read from its file",
            "leave it out",
        ));
    }
    let sources = sources(&tree.folder(&place).join(&file))
        .map_err(|error| tree.error(&place, format!("{file}: {}", error.message), error.help))?;
    table.insert("sources".to_owned(), json!(sources));
    let origin = tree.origin(&place);
    tree.put(&at, Value::Object(table), origin);
    Ok(())
}

/// The module in a file, with nothing of its own parameters.
pub(crate) fn module(file: &Path) -> Result<Module, InputError> {
    Ok(Module { file: file.display().to_string(), sources: sources(file)?, ..Module::default() })
}

/// The texts of a file and of those that it includes from its folder; with a header comes the file in C of the same
/// name, as a module comes with those whose functions it calls. Of a plug-in the bytes.
fn sources(file: &Path) -> Result<BTreeMap<String, String>, InputError> {
    let name = name_of(file).unwrap_or_default();
    if name.ends_with(PLUGIN) {
        return Ok(BTreeMap::from([(name, hexadecimal(file)?)]));
    }
    let mut sources = BTreeMap::new();
    let mut wanted = vec![name];
    let is_there = |name: &String| file.with_file_name(name).is_file();
    while let Some(name) = wanted.pop() {
        if sources.contains_key(&name) {
            continue;
        }
        let text = read_text(&file.with_file_name(&name))?;
        for included in text.lines().filter_map(included).filter(&is_there) {
            let twin = included.strip_suffix(".h").map(|stem| format!("{stem}.c")).filter(&is_there);
            wanted.extend(twin);
            wanted.push(included);
        }
        sources.insert(name, text);
    }
    Ok(sources)
}

/// The file that a line includes from the same folder.
fn included(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    let name = rest.trim_start().strip_prefix('"')?.split('"').next()?;
    (!name.contains('/')).then(|| name.to_owned())
}

fn name_of(file: &Path) -> Option<String> {
    Some(file.file_name()?.to_string_lossy().into_owned())
}

fn hexadecimal(file: &Path) -> Result<String, InputError> {
    let bytes = std::fs::read(file).map_err(|error| {
        InputError::of_file(file, format!("the plug-in cannot be read ({error})"), "check the path")
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The ending of a plug-in.
const PLUGIN: &str = ".so";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::Resolved;

    fn library() -> Search {
        Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")])
    }

    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lasthop-linux-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
        folder
    }

    fn quickstart(congestion: &str, folder: &Path, search: &Search) -> Result<Resolved, InputError> {
        let text = format!(
            "stop = \"1 s\"\nflows = [{{ name = \"download\", from = \"server\", to = \"phone\", bytes = \"1 MB\" }}]\n\
             [hosts]\nserver = {{ profile = \"cubic\", tcp.congestion = {congestion} }}\n\
             phone = {{ profile = \"cubic\" }}\n[[links]]\nname = \"lasthop\"\nbetween = [\"server\", \"phone\"]\n\
             down = {{ rate = \"1 Mbit/s\" }}\nup = {{ rate = \"1 Mbit/s\" }}\n"
        );
        crate::parse(&text, folder.join("s.toml"), &[] as &[&str], None, search)
    }

    #[test]
    fn a_module_brings_its_headers_and_the_modules_that_they_belong_to() {
        let folder = folder(
            "twins",
            &[
                (
                    "tcp_mine.c",
                    "#include <linux/mm.h>\n# include \"tcp_other.h\"\n#include \"not_there.h\"\n",
                ),
                ("tcp_other.h", "/* of the other */\n"),
                ("tcp_other.c", "#include \"tcp_other.h\"\n"),
            ],
        );
        let found = sources(&folder.join("tcp_mine.c")).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["tcp_mine.c", "tcp_other.c", "tcp_other.h"]);
    }

    #[test]
    fn the_text_and_the_parameters_are_part_of_the_scenario() {
        let folder = folder("text", &[("tcp_mine.c", "int mine;\n")]);
        let search = library().allowing_code();
        let forms =
            ["{ linux = { file = \"tcp_mine.c\", beta = 5 } }", "{ linux = \"tcp_mine.c\", beta = 5 }"];
        let [table, beside] = forms.map(|form| quickstart(form, &folder, &search).unwrap());
        let read = &table.hosts[0].tcp["congestion"]["linux"];
        assert_eq!((&read["sources"]["tcp_mine.c"], &read["beta"]), (&json!("int mine;\n"), &json!(5)));
        assert_eq!(table.hash(), beside.hash());
    }

    #[test]
    fn a_file_that_brings_a_module_needs_consent() {
        let folder = folder("consent", &[("tcp_mine.c", "int mine;\n")]);
        let error = quickstart("{ linux = \"tcp_mine.c\" }", &folder, &library()).unwrap_err();
        assert_eq!(error.line(), Some(4), "{error}");
        assert!(error.to_string().contains("--allow-code"), "{error}");
    }

    #[test]
    fn what_is_no_file_in_c_is_refused_with_its_line() {
        let folder = folder("other", &[]);
        for file in ["mine.py", "absent.c"] {
            let written = format!("{{ linux = \"{file}\" }}");
            let error = quickstart(&written, &folder, &library().allowing_code()).unwrap_err();
            assert_eq!(error.line(), Some(4), "{error}");
        }
    }
}
