//! Everything that ships can be loaded, and the studies' cases are those of their documents.

use std::collections::BTreeSet;
use std::path::Path;

use lasthop_scenario::{LibraryKind, Resolved, Search, load, profile, study};

const NO_OVERRIDES: [&str; 0] = [];

fn search() -> Search {
    Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")])
}

#[test]
fn every_profile_loads() {
    for name in search().names(LibraryKind::Profile) {
        profile(&name, &search()).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_scenario_loads_and_is_its_json() {
    assert!(search().names(LibraryKind::Scenario).contains(&"quickstart".to_owned()));
    for name in search().names(LibraryKind::Scenario) {
        let resolved = load(&name, &NO_OVERRIDES, None, &search()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(resolved.name, name);
        let again = Resolved::from_json(&resolved.json()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.hash(), resolved.hash());
        again.to_spec().unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_preset_makes_a_link() {
    for preset in search().names(LibraryKind::Preset) {
        let read = lasthop_scenario::preset(&preset, &search()).unwrap_or_else(|error| panic!("{error}"));
        // A shared channel takes the place of the direction down, and the link must not have both.
        let (scenario, link) =
            if read.cell.is_some() { ("hsdpa-cell", "radio") } else { ("delay-spike", "lasthop") };
        let set = [format!("links.{link}.preset={preset}")];
        load(scenario, &set, None, &search()).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_study_loads() {
    for name in search().names(LibraryKind::Study) {
        study::load(&name, &search()).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_parts_of_every_study_have_the_tables_that_it_says() {
    for name in search().names(LibraryKind::Study) {
        let parts = study::parts(&name, &search()).unwrap_or_else(|error| panic!("{error}"));
        for part in &parts[1..] {
            // One table is enough: the scenarios of all others need not be worked out.
            let study = study::load_tables(&part.file, &search(), &part.tables[..1])
                .unwrap_or_else(|error| panic!("{error}"));
            let tables: Vec<&String> = study.tables.iter().map(|table| &table.id).collect();
            assert_eq!(tables, part.tables.iter().collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn every_row_that_sarolahti2000_published_is_measured() {
    let study = study::load("sarolahti2000", &search()).unwrap_or_else(|error| panic!("{error}"));
    let Some(study::Published::File(study::PublishedFile { file, .. })) = &study.published else {
        panic!("it has published values");
    };
    let text = std::fs::read_to_string(file).expect("it is there");
    let key = |line: &str| -> Vec<String> {
        let fields: Vec<&str> = line.split(',').collect();
        [0, 1, 2, 3, 4, 5, 7].map(|i| fields[i].to_owned()).to_vec()
    };
    let measured =
        |row: &study::Row| study.columns.iter().map(|column| row.columns[column].clone()).collect();
    let ours: BTreeSet<Vec<String>> = study.rows.iter().map(measured).collect();
    let missing: Vec<Vec<String>> = text.lines().skip(1).map(key).filter(|row| !ours.contains(row)).collect();
    assert_eq!(missing, Vec::<Vec<String>>::new());
}

#[test]
fn sarolahti2000_is_swept_as_its_document_says() {
    let study = study::load("sarolahti2000", &search()).unwrap_or_else(|error| panic!("{error}"));
    let in_table = |id: &str| study.cases.iter().filter(|case| case.tables.iter().any(|t| t == id)).count();
    assert_eq!(["3", "4", "6", "14", "15", "16", "17", "18"].map(in_table), [4, 4, 18, 25, 14, 14, 9, 9]);
    assert_eq!(["5", "7", "9", "12", "19", "20", "23"].map(in_table), [36, 18, 55, 12, 20, 9, 14]);
    assert_eq!(["24", "28", "33", "38", "39", "43"].map(in_table), [9, 14, 13, 15, 15, 9]);
    let runs = |id: &str| {
        let case = study.case(id).unwrap_or_else(|| panic!("{id}"));
        (case.seeds.len(), case.variants.len())
    };
    assert_eq!(runs("baseline,1,3,none"), (1, 1));
    assert_eq!(runs("baseline,1,3,30+50@10s"), (1, 5));
    assert_eq!(runs("baseline,1,20,rand0.01@6s"), (200, 1));
    assert_eq!(runs("baseline,2,3,none"), (20, 1));
    assert_eq!(runs("baseline,4,20,40@6s"), (20, 5));
    assert_eq!((study.figures.len(), study.claims.len()), (18, 55));
    assert!(study.cases.iter().all(|case| case.seeds[0] == 1), "all cases share their random numbers");
}

#[test]
fn a_span_moves_every_scripted_packet() {
    let study = study::load("sarolahti2000", &search()).unwrap_or_else(|error| panic!("{error}"));
    let case = study.case("baseline,1,3,30+50@10s").expect("it is in Table 14");
    let packets = |variant: &study::Variant| {
        let link = variant.scenario.links.iter().find(|link| link.name == "lasthop").expect("it is there");
        let down = serde_json::to_value(&link.down).expect("a link is JSON");
        [&down["events"][0]["packet"], &down["events"][1]["packet"]]
            .map(|number| number.as_u64().unwrap_or(0))
    };
    let moved: Vec<_> = case.variants.iter().map(packets).collect();
    assert_eq!(moved, [[28, 48], [29, 49], [30, 50], [31, 51], [32, 52]]);
}
