//! Writes the profiles and presets of the library into the program.

use std::path::Path;
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let mut texts = String::from("[\n");
    for kind in ["presets", "profiles"] {
        let folder = Path::new(&root).join(kind).canonicalize().expect("the library is in the package");
        println!("cargo::rerun-if-changed={}", folder.display());
        let entries = fs::read_dir(&folder).expect("the library is readable");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("the library is readable").path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "toml")) {
            let name = file.file_name().expect("it is a file").to_string_lossy();
            texts += &format!("    ({:?}, include_str!({file:?})),\n", format!("{kind}/{name}"));
        }
    }
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("library.rs");
    fs::write(out, texts + "]\n").expect("the folder for what is built is writable");
}
