//! Nothing that is written is without effect: a key that no part of the run reads is refused where it was written.

use std::collections::BTreeSet;

use super::Check;
use crate::error::{InputError, Place};
use crate::file::Stack;
use crate::suggest;
use crate::tree::{KeyPath, Tree};

/// Takes, out of each direction, the variation of the preset's rate where the scenario writes a rate of its own: that
/// rate would be no more than the one before the first change.
pub(crate) fn replace_rates(tree: &mut Tree) {
    for link in tree.steps_below(&KeyPath::of(["links"])) {
        let link = KeyPath::of(["links", &link]);
        for direction in ["down", "up"] {
            let at = link.below(direction);
            let (rate, drawn) = (tree.origin(&at.below("rate")), tree.origin(&at.below("available_rate")));
            let is_own = |rate: &Place, drawn: &Place| rate.file() != drawn.file();
            let stand = ["rate", "available_rate"].iter().all(|key| tree.get(&at.below(key)).is_some());
            if stand && rate.zip(drawn).is_some_and(|(rate, drawn)| is_own(&rate.place, &drawn.place)) {
                tree.remove(&at.below("available_rate"));
                tree.remove(&at.below("rate_change_interval"));
            }
        }
    }
}

/// How late a layer is laid: the scenario's own file, another file (of a study), the command line.
fn layer(tree: &Tree, place: &Place) -> u8 {
    match place {
        Place::Override(_) => 2,
        Place::File { .. } => {
            let own = tree.origin(&KeyPath::root()).map(|origin| origin.place);
            u8::from(own.as_ref().and_then(Place::file) != place.file())
        }
    }
}

impl Check<'_> {
    /// Every key reaches something that reads it.
    pub(super) fn effects(&self) -> Result<(), InputError> {
        self.hosts_are_linked()?;
        self.file.hosts.iter().try_for_each(|(name, host)| match host.stack {
            Some(stack) if !stack.follows_a_profile() => self.profile_is_read(name, stack),
            _ => Ok(()),
        })
    }

    /// No host stands alone, as the one does whose name an override misspells.
    fn hosts_are_linked(&self) -> Result<(), InputError> {
        let linked: BTreeSet<&str> =
            self.file.links.iter().flat_map(|link| &link.between).map(String::as_str).collect();
        match self.file.hosts.keys().find(|name| !linked.contains(name.as_str())) {
            Some(alone) => {
                let known: Vec<&str> =
                    self.file.hosts.keys().map(String::as_str).filter(|name| linked.contains(name)).collect();
                let message =
                    format!("no link leads to the host \"{alone}\", so that its keys have no effect");
                let help = suggest::among(alone, &known, "hosts with a link");
                Err(self.tree.error(&self.first_key(&KeyPath::of(["hosts", alone])), message, help))
            }
            None => Ok(()),
        }
    }

    /// The place of the first value below `path`: that of the override, if one alone made the table.
    fn first_key(&self, path: &KeyPath) -> KeyPath {
        self.tree.written_here(path).unwrap_or_else(|| path.clone())
    }

    /// A stack that follows no profile is given none, except by a layer that a later one overrides: a study may try
    /// other stacks on the hosts of its scenario.
    fn profile_is_read(&self, name: &str, stack: Stack) -> Result<(), InputError> {
        let host = KeyPath::of(["hosts", name]);
        let layer_of =
            |path: &KeyPath| self.tree.origin(path).map_or(0, |origin| layer(self.tree, &origin.place));
        let chosen = layer_of(&host.below("stack"));
        for path in self.tcp_keys(&host, stack) {
            if layer_of(&path) >= chosen {
                let id = stack.id().entry().id;
                let message = format!("the stack \"{id}\" of host \"{name}\" does not read this key");
                let help = match stack {
                    Stack::Quinn => "leave it out; of `tcp`, quinn reads `ack` (a receiver that misbehaves)",
                    _ => "leave it out, or choose stack = \"lasthop\", which follows profiles",
                };
                return Err(self.tree.error(&path, message, help));
            }
        }
        Ok(())
    }

    /// The keys of a host that only a stack with a profile reads, as far as they are written in the scenario itself.
    fn tcp_keys(&self, host: &KeyPath, stack: Stack) -> Vec<KeyPath> {
        let tcp = host.below("tcp");
        let read = |key: &String| stack == Stack::Quinn && key == "ack";
        let own = self.tree.steps_below(&tcp).into_iter().filter(|key| !read(key));
        let own = own.filter_map(|key| self.tree.written_here(&tcp.below(&key)));
        let profile = host.below("profile");
        self.tree.get(&profile).map(|_| profile).into_iter().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::tests::{GOOD, read};
    use crate::{Search, parse};

    fn refused(text: &str, overrides: &[&str]) -> String {
        read(text, overrides).expect_err("a key without effect").to_string()
    }

    #[test]
    fn a_host_without_a_link_is_refused_where_it_is_written() {
        let said = refused(GOOD, &["hosts.serve.profile=plain"]);
        assert_eq!(
            said,
            "--set hosts.serve.profile=plain: hosts.serve.profile: no link leads to the host \"serve\", so that its keys \
             have no effect; did you mean \"server\"? The hosts with a link are mobile, server"
        );
        let written =
            GOOD.replacen("[hosts.mobile]", "[hosts.other]\nprofile = \"plain\"\n[hosts.mobile]", 1);
        assert!(refused(&written, &[]).contains("no link leads to the host \"other\""));
    }

    #[test]
    fn a_profile_of_a_stack_that_follows_none_is_refused() {
        let smoltcp = GOOD.replacen("profile = \"plain\"", "stack = \"smoltcp\"", 1);
        assert!(read(&smoltcp, &[]).is_ok());
        let said = refused(&smoltcp, &["hosts.server.profile=plain"]);
        assert!(
            said.starts_with("--set hosts.server.profile=plain: hosts.server.profile: the stack"),
            "{said}"
        );
        let said = refused(&smoltcp, &["hosts.server.tcp.initial_window=\"3 segments\""]);
        assert!(said.contains("hosts.server.tcp.initial_window: the stack \"smoltcp\""), "{said}");
        let both = GOOD.replacen("profile = \"plain\"", "profile = \"plain\"\nstack = \"smoltcp\"", 1);
        assert!(refused(&both, &[]).contains("hosts.server.profile: the stack \"smoltcp\""));
    }

    #[test]
    fn a_rate_of_ones_own_takes_the_place_of_the_presets_changing_rate() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let search = Search::new([here.join("fixtures"), here.join("../..")]);
        let text = GOOD.replace("preset = \"slow\"", "preset = \"lte\"");
        let down = |text: &str, overrides: &[&str]| {
            let resolved = parse(text, "good.toml", overrides, None, &search).expect("it is right");
            resolved.links[0].down.clone()
        };
        assert!(down(&text, &[]).available_rate.is_some(), "the preset's");
        for own in [
            down(&text, &["links.lasthop.down.rate=35 Mbit/s"]),
            down(&text.replace("[links.down]", "[links.down]\nrate = \"35 Mbit/s\""), &[]),
        ] {
            assert_eq!(own.available_rate, None);
            assert_eq!(own.rate, Some(units::Rate::from_bits_per_sec(35_000_000)));
        }
        let both = ["links.lasthop.down.rate=35 Mbit/s", "links.lasthop.down.available_rate=\"30 Mbit/s\""];
        assert!(down(&text, &both).available_rate.is_some(), "both are the user's");
    }

    #[test]
    fn a_stack_on_the_command_line_overrides_the_files_profile() {
        assert!(read(GOOD, &["hosts.server.stack=smoltcp"]).is_ok());
    }
}
