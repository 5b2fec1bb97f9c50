//! Writes the JSON schemas to `docs/schema/`: `cargo run -p lasthop-scenario --example write_schemas`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    std::fs::create_dir_all(&folder)?;
    for kind in lasthop_scenario::KINDS {
        let text = lasthop_scenario::schema_text(kind).unwrap_or_default();
        std::fs::write(folder.join(format!("{kind}.json")), text)?;
    }
    Ok(())
}
