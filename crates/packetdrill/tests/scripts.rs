//! Every script under `scripts/packetdrill` as a separate test: its folder gives the expected end, its first line the
//! message.

use std::fs;
use std::path::{Path, PathBuf};

use lasthop_packetdrill::{Definitions, Refusal, parse, run};
use libtest_mimic::{Arguments, Failed, Trial};
use testkit::profile::named;

fn main() {
    let mut trials = Vec::new();
    for (folder, check) in [
        ("passes", passes as fn(&Path) -> Result<(), Failed>),
        ("fails", |file| says(file, &failure(file)?)),
        ("refused", |file| says(file, &refusal(file)?)),
    ] {
        let files = scripts(folder);
        assert!(!files.is_empty(), "no scripts in {folder}");
        trials.extend(files.into_iter().map(|file| {
            let name = format!("{folder}/{}", file.file_stem().unwrap_or_default().to_string_lossy());
            Trial::test(name, move || check(&file))
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn scripts(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/packetdrill").join(folder);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The failure of a script, if any.
fn outcome(file: &Path) -> Result<Result<Option<String>, Refusal>, Failed> {
    let text = fs::read_to_string(file)?;
    let script = parse(&text, &Definitions::new())?;
    let name = text.lines().find_map(|line| line.strip_prefix("// profile: ")).unwrap_or("sack-6675");
    let profile = named(name)?;
    Ok(run(&script, &profile, &|_| None).map(|outcome| {
        let failure = outcome.failure?;
        assert!(!failure.timeline.is_empty(), "a failure shows what happened before it");
        Some(format!("line {}: expected {}, got {}", failure.line, failure.expected, failure.got))
    }))
}

fn passes(file: &Path) -> Result<(), Failed> {
    outcome(file)??.map_or(Ok(()), |failure| Err(failure.into()))
}

fn failure(file: &Path) -> Result<String, Failed> {
    outcome(file)??.ok_or_else(|| "it passes".into())
}

fn refusal(file: &Path) -> Result<String, Failed> {
    match outcome(file)? {
        Err(refusal) => Ok(format!("line {}: {}", refusal.line, refusal.what)),
        Ok(_) => Err("it is not refused".into()),
    }
}

/// The first line of a script has the message.
fn says(file: &Path, got: &str) -> Result<(), Failed> {
    let text = fs::read_to_string(file)?;
    let expected = text.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap_or_default();
    if expected == got { Ok(()) } else { Err(format!("expected {expected}\n     got {got}").into()) }
}
