//! The committed schemas are those of the types.

use std::path::Path;

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for kind in lasthop_scenario::KINDS {
        let committed = std::fs::read_to_string(folder.join(format!("{kind}.json"))).unwrap_or_default();
        assert!(
            Some(committed) == lasthop_scenario::schema_text(kind),
            "docs/schema/{kind}.json has drifted: run `cargo run -p lasthop-scenario --example write_schemas`"
        );
    }
}

#[test]
fn every_reference_in_a_schema_leads_somewhere() {
    for kind in lasthop_scenario::KINDS {
        let schema = lasthop_scenario::schema(kind).expect("each kind has a schema");
        let text = schema.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(schema.pointer(reference).is_some(), "{kind}: {reference}");
        }
    }
}
