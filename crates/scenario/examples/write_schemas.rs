//! Writes the JSON schemas to `docs/schema/` and the reference pages to `docs/reference/`:
//! `make record`.

use std::path::Path;

use lasthop_scenario::{KINDS, reference_text, schema_text};

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for kind in KINDS {
        write(&docs.join("schema").join(format!("{kind}.json")), schema_text(kind))?;
        write(&docs.join("reference").join(format!("{kind}.md")), reference_text(kind))?;
    }
    Ok(())
}

fn write(file: &Path, text: Option<String>) -> std::io::Result<()> {
    std::fs::create_dir_all(file.parent().unwrap_or(file))?;
    std::fs::write(file, text.unwrap_or_default())
}
