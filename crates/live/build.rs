//! A fingerprint of the sources that the processes of one run must have in common: the messages between them, and the
//! programs of which each has a copy. The version alone does not distinguish two states of a working copy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut hash = OFFSET;
    for name in CRATES {
        for file in sources(&crates.join(name).join("src"))? {
            // Each file separately: a folder would report changed tests too. A new file adds a line to an existing one.
            println!("cargo::rerun-if-changed={}", file.display());
            let place = file.strip_prefix(&crates).unwrap_or(&file).to_string_lossy().into_owned();
            hash = add(add(hash, place.as_bytes()), &fs::read(&file)?);
        }
    }
    println!("cargo::rustc-env=LASTHOP_SOURCES={hash:016x}");
    Ok(())
}

/// All files below a folder in one order, tests apart.
fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.retain(|path| path.file_stem().is_some_and(|name| name != "tests"));
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if entry.is_dir() { found.extend(sources(&entry)?) } else { found.push(entry) }
    }
    Ok(found)
}

/// FNV-1a (draft-eastlake-fnv).
fn add(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

const CRATES: [&str; 9] = ["link", "linux", "live", "scenario", "sim", "stacks", "tcp", "units", "wire"];
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;
