//! packetdrill scripts.

use std::path::Path;

use pyo3::prelude::*;
use scenario::{InputError, Place, Search};

use crate::error::Failure;

/// Runs the text of a packetdrill script from the file `source` against the TCP of a profile, and returns the result as
/// JSON.
#[pyfunction]
pub(crate) fn packetdrill(text: &str, source: &str, profile: &str, library: &str) -> Result<String, Failure> {
    let profile = scenario::profile(profile, &Search::new([library]))?;
    let wrong = |line: u32, message: String, help: String| InputError {
        place: Some(Place::File { file: Path::new(source).into(), line: Some(line as usize) }),
        key: String::new(),
        message,
        help,
    };
    let script =
        ::packetdrill::parse(text).map_err(|error| wrong(error.line, error.message, String::new()))?;
    let folder = Path::new(source).parent().unwrap_or(Path::new(""));
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

/// The text of a file of commands: at the path in the script, otherwise below one of the parent folders.
fn read(folder: &Path, name: &str) -> Option<String> {
    let folder = std::path::absolute(folder).ok()?;
    let short = name.trim_start_matches("../");
    let above = folder.ancestors().map(|above| above.join(short));
    std::iter::once(folder.join(name)).chain(above).find_map(|file| std::fs::read_to_string(file).ok())
}
