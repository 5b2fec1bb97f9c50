//! Proxies: their links, their TCPs, and whether a connection runs through them that they can read.

use serde_json::{Map, Value};
use units::LinkId;
use workload::Transport;

use super::{Check, place_of, tcp_error};
use crate::error::InputError;
use crate::file::{ProxyTcp, Stack};
use crate::resolved::{Flow, Link, Proxy, Resolved};
use crate::schema;
use crate::tree::{KeyPath, Tree};

/// Refuses proxies in a run in real time, whose segments are those of kernels.
pub(crate) fn refuse_proxies(tree: &Tree) -> Result<(), InputError> {
    let proxies = KeyPath::of(["proxies"]);
    if tree.steps_below(&proxies).is_empty() {
        return Ok(());
    }
    let message = "a proxy reads segments of our own TCP, and a run in real time carries those of kernels";
    Err(tree.error(&proxies, message, "use lasthop run, or add --set 'proxies=[]'"))
}

impl Check<'_> {
    pub(super) fn proxies(&self, links: &[Link]) -> Result<Vec<Proxy>, InputError> {
        let proxies = &self.file.proxies;
        self.distinct((0..).zip(proxies).map(|(i, proxy)| (place_of("proxies", i, "name"), &proxy.name)))?;
        (0..proxies.len()).map(|i| self.proxy(i, links)).collect()
    }

    fn proxy(&self, i: usize, links: &[Link]) -> Result<Proxy, InputError> {
        let file = &self.file.proxies[i];
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        self.known(&place_of("proxies", i, "link"), &file.link, &names, "link", "links")?;
        let link = links.iter().find(|link| link.name == file.link);
        let ends: Vec<&str> = link.into_iter().flat_map(|link| &link.between).map(String::as_str).collect();
        let node = file.node.clone().unwrap_or_else(|| ends[0].to_owned());
        if !ends.contains(&node.as_str()) {
            let message = format!("\"{node}\" is no end of the link \"{}\"", file.link);
            let help = format!("write \"{}\" or \"{}\"", ends[0], ends[1]);
            return Err(self.tree.error(&place_of("proxies", i, "node"), message, help));
        }
        file.kind.check().map_err(|error| {
            let at = place_of("proxies", i, "kind").join(&KeyPath::of_config(&error.path));
            self.tree.error(&at, error.message, error.help)
        })?;
        let tcp = |key, tcp: &Option<ProxyTcp>| self.proxy_tcp(i, key, tcp.as_ref());
        let (wireless, wired) = (tcp("wireless", &file.wireless)?, tcp("wired", &file.wired)?);
        let (name, link, kind) = (file.name.clone(), file.link.clone(), file.kind.clone());
        Ok(Proxy { name, link, node, kind, wireless, wired })
    }

    /// The keys of a TCP of a split.
    fn proxy_tcp(&self, i: usize, key: &str, tcp: Option<&ProxyTcp>) -> Result<Option<Value>, InputError> {
        let Some(tcp) = tcp else { return Ok(None) };
        let at = place_of("proxies", i, key);
        let kind = &self.file.proxies[i].kind;
        if kind.split().is_none() {
            let message = format!("a proxy of the kind \"{}\" ends no connection, and has no TCP", kind.id());
            return Err(self.tree.error(&at, message, "leave it out, or write kind = \"split\""));
        }
        let (at, keys): (_, Map<_, _>) = (at.below("tcp"), tcp.tcp.clone());
        if let Some(language) = keys.get("congestion").and_then(program) {
            let message = format!("a proxy's congestion control is a program ({language})");
            let help = "name a congestion control of lasthop list congestion";
            return Err(self.tree.error(&at.below("congestion"), message, help));
        }
        let keys = Value::Object(keys);
        tcp::Config::from_profile(&keys).map_err(|error| tcp_error(self.tree, &at, &error))?;
        Ok(Some(schema::with_defaults(keys)))
    }

    /// A connection of our own TCP runs through every proxy, both ways.
    pub(super) fn proxies_are_crossed(&self, resolved: &Resolved) -> Result<(), InputError> {
        if resolved.proxies.is_empty() {
            return Ok(());
        }
        let is_foreign = |stack: Option<Stack>| stack.is_some_and(|stack| stack != Stack::Lasthop);
        if let Some(host) = resolved.hosts.iter().find(|host| is_foreign(host.stack)) {
            let stack = host.stack.map_or("", |stack| stack.id().entry().id);
            let message = format!(
                "host \"{}\" has the stack \"{stack}\", and a proxy reads segments of our own TCP alone",
                host.name
            );
            let at = KeyPath::of(["hosts", &host.name, "stack"]);
            return Err(self.tree.error(&at, message, "leave out the stack, or the proxies"));
        }
        let spec = resolved.to_spec()?;
        for (i, proxy) in resolved.proxies.iter().enumerate() {
            let link = resolved.links.iter().position(|link| link.name == proxy.link).map(LinkId::new);
            let crosses = |flow: &Flow| {
                let place = resolved.flows.iter().position(|one| one.name == flow.name).unwrap_or(0);
                let [from, to] = spec.flows[place].nodes().into_array();
                let service = spec.flows[place].workload.service();
                let route = spec.route(from, to).unwrap_or_default();
                service.transport == Transport::Tcp && link.is_some_and(|link| route.contains(&link))
            };
            if !resolved.flows.iter().any(crosses) {
                let message = format!("no connection of TCP runs over the link \"{}\"", proxy.link);
                let help = "name a link that a flow with TCP crosses, or leave the proxy out";
                return Err(self.tree.error(&place_of("proxies", i, "link"), message, help));
            }
        }
        // The rest is what a World refuses: ways that differ, and two splits on one.
        Ok(())
    }
}

/// The language of a congestion control that is a program.
fn program(congestion: &Value) -> Option<&'static str> {
    let name = registry::name_of(congestion)?;
    ["python", "linux"].into_iter().find(|language| *language == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{GOOD, read};

    fn with(proxy: &str) -> String {
        format!("{GOOD}[[proxies]]\nname = \"agent\"\nlink = \"lasthop\"\n{proxy}\n")
    }

    fn refusal(text: &str, overrides: &[&str]) -> InputError {
        read(text, overrides).map(|_| ()).expect_err("it is refused")
    }

    #[test]
    fn a_proxy_stands_at_the_first_node_of_its_link_unless_the_file_says_otherwise() {
        let first = read(&with("kind = \"snoop\""), &[]).expect("it is right");
        assert_eq!(first.proxies[0].node, "server");
        let second = read(&with("kind = \"snoop\"\nnode = \"mobile\""), &[]).expect("it is right");
        let spec = second.to_spec().expect("it is right");
        assert_eq!(spec.node(spec.proxies[0].node).name, "mobile");
    }

    #[test]
    fn a_split_has_a_tcp_of_its_own_at_either_side() {
        let text = with(
            "kind = { split = { buffer = \"10 kB\" } }\nwireless = { profile = \"plain\", tcp = { mss = \"200 bytes\" } }",
        );
        let spec = read(&text, &[]).expect("it is right").to_spec().expect("it is right");
        let wireless = spec.proxies[0].wireless.as_ref().expect("it is given");
        assert_eq!((wireless.plain.mss.0, spec.proxies[0].wired.is_none()), (200, true));
        let text = read(&text, &["proxies.agent.wireless.tcp.congestion=cubic"]).expect("it is right").json();
        assert!(text.contains("cubic"));
    }

    #[test]
    fn proxies_that_make_no_sense_are_refused_where_they_stand() {
        for (proxy, key, message) in [
            ("kind = \"snop\"", "proxies.agent.kind", "\"snop\" is not a proxy"),
            (
                "kind = { snoop = { cache_packets = 0 } }",
                "proxies.agent.kind.snoop.cache_packets",
                "none at all",
            ),
            ("kind = \"snoop\"\nnode = \"phone\"", "proxies.agent.node", "no end of the link"),
            (
                "kind = \"snoop\"\nwired = { profile = \"plain\" }",
                "proxies.agent.wired",
                "ends no connection",
            ),
            (
                "kind = \"split\"\nwired = { profile = \"plain\", tcp = { congestion = \"fast\" } }",
                "proxies.agent.wired.tcp.congestion",
                "\"fast\"",
            ),
            ("kind = \"split\"\nwired = { profile = \"none\" }", "proxies.agent.wired.profile", "no profile"),
        ] {
            let said = refusal(&with(proxy), &[]);
            assert_eq!(said.key, key, "{said}");
            assert!(said.line().is_some() && said.message.contains(message), "{said}");
        }
    }

    #[test]
    fn a_proxy_needs_a_connection_that_it_can_read() {
        let text = with("kind = \"snoop\"");
        let udp = "flows.download.workload={ constant-rate = { rate = \"20 kbit/s\" } }";
        let datagrams = text.replace("bytes = \"100 KiB\"\nmilestones = [\"10 KiB\"]", "until = \"5 s\"");
        let said = refusal(&datagrams, &[udp]);
        assert!(said.key == "proxies.agent.link" && said.message.contains("no connection of TCP"), "{said}");
        let said = refusal(&text, &["hosts.server.stack=smoltcp"]);
        assert!(said.key == "hosts.server.stack" && said.message.contains("our own TCP alone"), "{said}");
        let said = refusal(&text, &["proxies.agent.link=wire"]);
        assert!(said.message.contains("there is no link \"wire\""), "{said}");
    }

    #[test]
    fn a_run_in_real_time_has_no_proxies() {
        let search = crate::tests::search();
        let text = with("kind = \"snoop\"");
        let layers = |overrides: &[&str]| {
            crate::effect::Layers::read("good.toml", Some(&text), overrides, &search)
                .expect("it is read")
                .kernel_keys()
        };
        let said = layers(&[]).map(|_| ()).expect_err("it is refused");
        assert!(said.key == "proxies" && said.help.contains("lasthop run"), "{said}");
        assert!(layers(&["proxies=[]"]).is_ok());
    }
}
