//! The committed schemas and reference pages are those of the types.

use std::path::Path;

#[test]
fn the_committed_schemas_and_pages_are_those_of_the_types() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for kind in lasthop_scenario::KINDS {
        let schema = (format!("schema/{kind}.json"), lasthop_scenario::schema_text(kind));
        let page = (format!("reference/{kind}.md"), lasthop_scenario::reference_text(kind));
        for (file, made) in [schema, page] {
            let committed = std::fs::read_to_string(docs.join(&file)).unwrap_or_default();
            assert!(Some(committed) == made, "docs/{file} has drifted: run `make record`");
        }
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

#[test]
fn a_page_reports_the_parameters_of_what_is_chosen_by_name() {
    let page = lasthop_scenario::reference_text("scenario").expect("scenarios have a page");
    for row in [
        "| … `share` (required): number |",
        "| … `target`: a duration like \"200 ms\"; default `\"5 ms\"` |",
        "| … `bottleneck` (required): see Links |",
        "| … `steps[].rate` (required): a rate like \"9600 bit/s\" |",
        "| `{ uniform = … }`: list of two, each a duration like \"200 ms\" |",
        "| … `down`: table with the keys of `links[].down` |",
    ] {
        assert!(page.contains(row), "{row}");
    }
}

#[test]
fn no_two_types_share_a_name() {
    for kind in lasthop_scenario::KINDS {
        let schema = lasthop_scenario::schema(kind).expect("each kind has a schema");
        let names = schema["$defs"].as_object().expect("each kind has definitions");
        // A generator numbers types that share a name, and the numbers change with each new type.
        let numbered = |name: &&String| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            stem != name.as_str() && names.contains_key(stem)
        };
        let allowed = ["congestion.bbr3", "queue.dualpi2"];
        let found: Vec<_> =
            names.keys().filter(numbered).filter(|name| !allowed.contains(&name.as_str())).collect();
        assert_eq!(found, Vec::<&String>::new(), "{kind}");
    }
}

#[test]
fn each_member_of_a_registry_is_described_once() {
    let size = |kind| lasthop_scenario::schema_text(kind).map_or(0, |text| text.len());
    let sizes = lasthop_scenario::KINDS.map(size);
    // 586 kB, of which some 200 kB are descriptions; with an axis described at each place that takes it, 1.17 MB.
    assert!(sizes.iter().sum::<usize>() < 595_000, "{sizes:?}");
}
