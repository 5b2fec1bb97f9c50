//! Everything that ships can be loaded, and the studies' cases are those of their documents.

use std::path::Path;

use lasthop_scenario::{Kind, Resolved, Search, load, profile};

const NO_OVERRIDES: [&str; 0] = [];

fn search() -> Search {
    Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")])
}

#[test]
fn every_profile_loads() {
    for name in search().names(Kind::Profile) {
        profile(&name, &search()).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_scenario_loads_and_is_its_json() {
    assert!(search().names(Kind::Scenario).contains(&"quickstart".to_owned()));
    for name in search().names(Kind::Scenario) {
        let resolved = load(&name, &NO_OVERRIDES, None, &search()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(resolved.name, name);
        let again = Resolved::from_json(&resolved.json()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.hash(), resolved.hash());
        again.to_spec().unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_preset_makes_a_link() {
    for preset in search().names(Kind::Preset) {
        let set = [format!("links.lasthop.preset={preset}")];
        load("delay-spike", &set, None, &search()).unwrap_or_else(|error| panic!("{error}"));
    }
}
