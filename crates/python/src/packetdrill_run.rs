//! packetdrill scripts.

use std::path::Path;

use ::packetdrill::Definitions;
use ::packetdrill::script::ScriptOption;
use pyo3::prelude::*;
use scenario::{InputError, Place, Search};

use crate::error::Failure;

/// Runs the text of a packetdrill script from the file `source` against the TCP of a profile, and returns the result as
/// JSON. `definitions` are the texts of the names that the script leaves open.
#[pyfunction]
pub(crate) fn packetdrill(
    text: &str,
    source: &str,
    profile: &str,
    library: &str,
    definitions: Definitions,
) -> Result<String, Failure> {
    let profile = scenario::profile(profile, &Search::new([library]))?;
    let source = Path::new(source);
    let wrong = |line: u32, message: String, help: String| InputError {
        place: Some(Place::File { file: source.into(), line: Some(line as usize) }),
        key: String::new(),
        message,
        help,
    };
    let mut script = ::packetdrill::parse(text, &definitions)
        .map_err(|error| wrong(error.line, error.message, String::new()))?;
    if is_for_ipv6(source) {
        script.options.push(ScriptOption { line: 1, name: "ip_version".into(), value: "ipv6".into() });
    }
    let folder = source.parent().unwrap_or(Path::new(""));
    let outcome = ::packetdrill::run(&script, &profile, &|name| read(folder, name))
        .map_err(|refusal| wrong(refusal.line, refusal.what, refusal.remedy))?;
    let failure = outcome.failure.as_ref();
    let timeline = failure.map(|failure| {
        let entry = |entry: &::packetdrill::TimelineEvent| {
            serde_json::json!({ "at_s": entry.at, "line": entry.line, "text": entry.text })
        };
        failure.timeline.iter().map(entry).collect::<Vec<_>>()
    });
    Ok(serde_json::json!({
        "passed": failure.is_none(),
        "line": failure.map(|failure| failure.line),
        "expected": failure.map(|failure| &failure.expected),
        "got": failure.map(|failure| &failure.got),
        "timeline": timeline.unwrap_or_default(),
        "notes": outcome.notes,
    })
    .to_string())
}

/// Whether the name of a script says that it is for IPv6 (`basic-v6.pkt`), as packetdrill's driver reads it.
fn is_for_ipv6(source: &Path) -> bool {
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    name.ends_with("-ipv6") || name.ends_with("-v6")
}

/// The text of a file of commands: at the path in the script, otherwise below one of the parent folders.
fn read(folder: &Path, name: &str) -> Option<String> {
    // The folder of a bare file name is the empty path, which no system call resolves.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = std::path::absolute(folder).ok()?;
    let short = name.trim_start_matches("./").trim_start_matches("../");
    let above = folder.ancestors().map(|above| above.join(short));
    std::iter::once(folder.join(name)).chain(above).find_map(|file| std::fs::read_to_string(file).ok())
}
