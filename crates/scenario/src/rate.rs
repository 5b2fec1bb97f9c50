//! A link's own rate in place of its preset's.
//!
//! A preset may say a rate, how the available rate varies, and its capacity. Who gives a link a `rate` or a `capacity`
//! means the rate of that link: what the preset says besides would overrule it, without a word.

use crate::tree::{KeyPath, Tree};

/// Takes out what the presets of links say about rates that the links say themselves.
pub(crate) fn settle(tree: &mut Tree) {
    let links = KeyPath::of(["links"]);
    for position in tree.steps_below(&links) {
        for direction in ["down", "up"] {
            settle_direction(tree, &links.below(&position).below(direction));
        }
    }
}

fn settle_direction(tree: &mut Tree, direction: &KeyPath) {
    let given = |key: &str| tree.get(&direction.below(key)).is_some() && !of_a_preset(tree, direction, key);
    if given("available_rate") || !(given("rate") || given("capacity")) {
        return;
    }
    let overruling = ["available_rate", "rate_change_interval", "capacity"];
    let overruling: Vec<&str> =
        overruling.into_iter().filter(|key| of_a_preset(tree, direction, key)).collect();
    for key in overruling {
        tree.remove(&direction.below(key));
    }
}

/// Whether a key of a direction stands in a preset's file, where it has no link's name before it.
fn of_a_preset(tree: &Tree, direction: &KeyPath, key: &str) -> bool {
    let origin = tree.origin(&direction.below(key));
    origin.is_some_and(|origin| ["down", "up"].contains(&origin.key.0[0].as_str()))
}

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
