//! Keys of a file or an override that no part of the run would read.

use super::Check;
use crate::error::{InputError, Place};
use crate::file::Stack;
use crate::tree::{KeyPath, Origin};

impl Check<'_> {
    /// Every host and router is an end of a link.
    pub(super) fn nodes_have_links(&self) -> Result<(), InputError> {
        let hosts = self.file.hosts.keys().map(|name| (KeyPath::of(["hosts", name]), name, "host"));
        let routers = (0..).zip(&self.file.routers);
        let routers = routers.map(|(i, name)| (KeyPath::of(["routers"]).below(i), name, "router"));
        let has_link = |name: &String| self.file.links.iter().any(|link| link.between.contains(name));
        match hosts.chain(routers).find(|(_, name, _)| !has_link(name)) {
            None => Ok(()),
            Some((path, name, what)) => {
                let message = format!("no link leads to the {what} \"{name}\"");
                let help = "name it in `between` of a link, or take it out";
                Err(self.tree.error(&path, message, help))
            }
        }
    }

    /// No override and no study sets keys of a TCP that the host's stack does not have. A file may have a profile
    /// alongside such a stack: it is that of the host when an override gives it another stack.
    pub(super) fn profiles_are_read(&self) -> Result<(), InputError> {
        let stacks = self.file.hosts.iter().filter_map(|(name, host)| Some((name, host.stack?)));
        for (name, stack) in stacks.filter(|(_, stack)| !stack.follows_a_profile()) {
            let host = KeyPath::of(["hosts", name]);
            let unread = self.file.hosts[name].tcp.keys().filter(|key| !reads(stack, key));
            let unread = unread.map(|key| host.below("tcp").below(key)).chain([host.below("profile")]);
            if let Some(key) = unread.into_iter().find(|key| self.is_set(key)) {
                let named = stack.id().entry().id;
                let message =
                    format!("host \"{name}\" has the stack \"{named}\", which does not read this key");
                let help = format!("leave it out, or set hosts.{name}.stack=lasthop as well");
                return Err(self.tree.error(&key, message, help));
            }
        }
        Ok(())
    }

    /// Whether the value at `path`, or one below it, comes from an override or a study, not from the scenario's file
    /// and what it names.
    fn is_set(&self, path: &KeyPath) -> bool {
        let root = self.tree.origin(&KeyPath::root()).map(|origin| origin.place);
        let of_scenario = |place: &Place| match (place, &root) {
            (Place::File { file, .. }, Some(Place::File { file: scenario, .. })) => file == scenario,
            _ => false,
        };
        let is_set = |origin: Origin| {
            let is_of_hosts = origin.key.0.first().is_some_and(|key| key == "hosts");
            (is_of_hosts || matches!(origin.place, Place::Override(_))) && !of_scenario(&origin.place)
        };
        self.tree.get(path).is_some() && self.tree.origins_below(path).any(is_set)
    }
}

/// Whether a stack of others reads this key of a profile: how its receiver misbehaves.
fn reads(stack: Stack, key: &str) -> bool {
    stack == Stack::Quinn && key == "ack"
}

#[cfg(test)]
mod tests {
    use crate::tests::{GOOD, read};

    fn said(text: &str, overrides: &[&str]) -> String {
        read(text, overrides).map(|_| ()).expect_err("it is without effect").to_string()
    }

    #[test]
    fn an_override_makes_no_host() {
        let said = said(GOOD, &["hosts.serve.profile=plain"]);
        assert!(
            said.starts_with("--set hosts.serve.profile=plain: hosts.serve.profile: there is no host"),
            "{said}"
        );
        assert!(said.contains("did you mean \"server\"?"), "{said}");
    }

    #[test]
    fn a_node_that_no_link_touches_is_refused_where_it_stands() {
        let host = said(&format!("{GOOD}[hosts.alone]\nprofile = \"plain\"\n"), &[]);
        assert!(host.contains("hosts.alone: no link leads to the host \"alone\""), "{host}");
        let router = said(&format!("routers = [\"edge\"]\n{GOOD}"), &[]);
        assert!(router.contains("good.toml:1: routers.0: no link leads to the router \"edge\""), "{router}");
    }

    #[test]
    fn keys_of_a_tcp_that_a_stack_does_not_have_are_refused() {
        let text = GOOD.replacen("profile = \"plain\"", "profile = \"plain\"\nstack = \"smoltcp\"", 1);
        assert!(read(&text, &[]).is_ok(), "the profile is for another stack");
        for key in [
            "hosts.server.profile=plain",
            "hosts.server.tcp.congestion=reno",
            "hosts.server.tcp={ mss = \"500 bytes\" }",
        ] {
            let said = said(&text, &[key]);
            assert!(said.contains("has the stack \"smoltcp\", which does not read this key"), "{said}");
            assert!(read(&text, &[key, "hosts.server.stack=lasthop"]).is_ok(), "{key}");
        }
    }

    #[test]
    fn a_router_that_is_missing_is_offered() {
        let said = said(
            &GOOD.replace("between = [\"server\", \"mobile\"]", "between = [\"server\", \"edge\"]"),
            &[],
        );
        assert!(said.contains("for a router add routers = [\"edge\"]"), "{said}");
    }
}
