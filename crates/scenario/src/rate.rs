//! A link's own rate in place of its preset's.
//!
//! A preset may say a rate, how the available rate varies, and its capacity. Who gives a link a `rate` or a `capacity`
//! means the rate of that link: what the preset says besides would overrule it, without a word.

use std::collections::BTreeMap;

use crate::tree::{KeyPath, Origin, Tree};

/// The keys about rates that links have from their presets, with the places of what is in them.
#[derive(Default)]
pub(crate) struct PresetRates(BTreeMap<KeyPath, Vec<Origin>>);

impl PresetRates {
    /// Lays a preset under the link at `link` by `lay_under`, and notes which keys about rates came from it.
    pub(crate) fn observe(&mut self, tree: &mut Tree, link: &KeyPath, lay_under: impl FnOnce(&mut Tree)) {
        let absent: Vec<KeyPath> = keys_of(link).filter(|key| tree.get(key).is_none()).collect();
        lay_under(tree);
        let laid = absent.into_iter().filter(|key| tree.get(key).is_some());
        self.0.extend(laid.map(|key| (key.clone(), tree.origins_below(&key).collect())));
    }

    /// Takes out what the presets say about rates that the links, or overrides, say themselves.
    pub(crate) fn settle(&self, tree: &mut Tree) {
        let links = KeyPath::of(["links"]);
        for position in tree.steps_below(&links) {
            for direction in DIRECTIONS {
                self.settle_direction(tree, &links.below(&position).below(direction));
            }
        }
    }

    fn settle_direction(&self, tree: &mut Tree, direction: &KeyPath) {
        let given = |key: &str| {
            let key = direction.below(key);
            tree.get(&key).is_some() && !self.is_of_preset(tree, &key)
        };
        if given("available_rate") || !(given("rate") || given("capacity")) {
            return;
        }
        let overruling =
            ["available_rate", "rate_change_interval", "capacity"].map(|key| direction.below(key));
        let overruling: Vec<_> = overruling.into_iter().filter(|key| self.is_of_preset(tree, key)).collect();
        for key in overruling {
            tree.remove(&key);
        }
    }

    /// Whether a key, and all in it, is as the preset says.
    fn is_of_preset(&self, tree: &Tree, key: &KeyPath) -> bool {
        self.0.get(key).is_some_and(|origins| tree.origins_below(key).eq(origins.iter().cloned()))
    }
}

/// The keys about rates of both directions of a link.
fn keys_of(link: &KeyPath) -> impl Iterator<Item = KeyPath> {
    let keys = ["rate", "available_rate", "rate_change_interval", "capacity"];
    DIRECTIONS.into_iter().flat_map(move |direction| keys.map(|key| link.below(direction).below(key)))
}

const DIRECTIONS: [&str; 2] = ["down", "up"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Search;
    use crate::tests::GOOD;

    /// The direction down of the good scenario over the preset `lte`, with these keys and overrides.
    fn down(keys: &str, overrides: &[&str]) -> serde_json::Value {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let search = Search::new([root.join("fixtures"), root.join("../..")]);
        let text = GOOD
            .replace("preset = \"slow\"", "preset = \"lte\"")
            .replace("[links.down]\n", &format!("[links.down]\n{keys}\n"));
        let read = crate::parse(&text, "good.toml", overrides, None, &search).expect("it is right");
        serde_json::to_value(&read.links[0].down).expect("a link is JSON")
    }

    #[test]
    fn a_links_own_rate_replaces_the_varying_rate_of_its_preset() {
        for found in [down("rate = \"35 Mbit/s\"", &[]), down("", &["links.lasthop.down.rate=35 Mbit/s"])] {
            assert_eq!(found["rate"], "35 Mbit/s");
            assert!(found.get("available_rate").is_none() && found.get("rate_change_interval").is_none());
            assert!(found.get("arq").is_some(), "the rest of the preset stays");
        }
    }

    #[test]
    fn a_preset_that_is_a_scenario_with_one_link_gives_way_as_well() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rates");
        std::fs::create_dir_all(&folder).expect("a folder");
        let link = "preset = \"lte\"\ndown = { available_rate = { lognormal = { median = \"9 Mbit/s\", sigma = 0.2 } } }";
        let scenario = GOOD.replace("preset = \"slow\"\n[links.down]\n", &format!("{link}\nup = {{}}\n"));
        let scenario = scenario.replace("queue = { limit = \"3 packets\" }\n", "");
        std::fs::write(folder.join("fitted.toml"), scenario).expect("a file");
        let preset = format!("links.lasthop.preset={}", folder.join("fitted.toml").display());
        let preset = preset.as_str();
        assert_eq!(down("", &[preset])["available_rate"]["lognormal"]["median"], "9 Mbit/s");
        for found in [
            down("rate = \"35 Mbit/s\"", &[preset]),
            down("", &[preset, "links.lasthop.down.rate=35 Mbit/s"]),
        ] {
            assert_eq!(
                (&found["rate"], found.get("available_rate")),
                (&serde_json::json!("35 Mbit/s"), None)
            );
        }
    }

    #[test]
    fn an_override_below_a_presets_key_is_the_links_own() {
        let overrides = ["links.lasthop.down.available_rate.lognormal.median=30 Mbit/s"];
        let found = down("rate = \"35 Mbit/s\"", &overrides);
        assert_eq!(found["available_rate"]["lognormal"]["median"], "30 Mbit/s");
    }

    #[test]
    fn without_a_rate_of_its_own_a_link_varies_as_its_preset_says() {
        assert!(down("", &[]).get("available_rate").is_some());
        let own = down(
            "rate = \"35 Mbit/s\"\navailable_rate = { lognormal = { median = \"30 Mbit/s\", sigma = 0.1 } }",
            &[],
        );
        assert_eq!(own["available_rate"]["lognormal"]["median"], "30 Mbit/s");
        assert_eq!(own["rate_change_interval"], "200 ms");
    }
}
