//! The TCP of flows that have one of their own.

use serde_json::{Map, Value};

use super::{Check, place_of, tcp_error};
use crate::error::InputError;
use crate::resolved::{Flow, FlowTcp, Host};
use crate::schema;

impl Check<'_> {
    /// The flows with the TCP that their entries in the file give them.
    pub(super) fn own_tcps(&self, flows: Vec<Flow>, hosts: &[Host]) -> Result<Vec<Flow>, InputError> {
        let with_tcp = |flow: Flow| {
            let tcp = self.entry_of(&flow).map_or(Ok(None), |entry| self.own_tcp(entry, &flow, hosts))?;
            Ok(Flow { tcp, ..flow })
        };
        flows.into_iter().map(with_tcp).collect()
    }

    /// The entry that a flow comes from: that of its name, or of the longest name that it continues with a dash.
    fn entry_of(&self, flow: &Flow) -> Option<usize> {
        let is_of = |name: &str| {
            flow.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let entries = self.file.flows.iter().enumerate().filter(|(_, entry)| is_of(&entry.name));
        entries.max_by_key(|(_, entry)| entry.name.len()).map(|(i, _)| i)
    }

    fn own_tcp(&self, i: usize, flow: &Flow, hosts: &[Host]) -> Result<Option<FlowTcp>, InputError> {
        let entry = &self.file.flows[i];
        if entry.profile.is_none() && entry.tcp.is_empty() {
            return Ok(None);
        }
        let key = if entry.profile.is_some() { "profile" } else { "tcp" };
        if let Some(host) = hosts.iter().find(|host| host.stack.is_some() && flow.joins(&host.name)) {
            let message =
                format!("host \"{}\" has a stack of its own, which has one TCP for all flows", host.name);
            let help = "leave the key out, or the stack of this host";
            return Err(self.tree.error(&place_of("flows", i, key), message, help));
        }
        let keys = |name: &String| match &entry.profile {
            Some(_) => self.checked(i, entry.tcp.clone()),
            None => self.checked(i, over(&entry.tcp, hosts.iter().find(|host| host.name == *name))),
        };
        let (sender, receiver) = (keys(&flow.from)?, keys(&flow.to)?);
        Ok(Some(FlowTcp { profile: entry.profile.clone(), sender, receiver }))
    }

    fn checked(&self, i: usize, keys: Map<String, Value>) -> Result<Value, InputError> {
        let keys = Value::Object(keys);
        let at = place_of("flows", i, "tcp");
        tcp::Config::from_profile(&keys).map_err(|error| tcp_error(self.tree, &at, &error))?;
        Ok(schema::with_defaults(keys))
    }
}

impl Flow {
    fn joins(&self, host: &str) -> bool {
        [&self.from, &self.to].into_iter().any(|end| end == host)
    }
}

/// The keys of a host's TCP with those of a flow in their place.
fn over(flow: &Map<String, Value>, host: Option<&Host>) -> Map<String, Value> {
    let mut keys = host.and_then(|host| host.tcp.as_object().cloned()).unwrap_or_default();
    keys.extend(flow.clone());
    keys
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::tests::GOOD;
    use crate::{InputError, Resolved, Search};

    fn load(keys: &str, overrides: &[&str]) -> Result<Resolved, InputError> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let search = Search::new([root.join("fixtures"), root.join("../..")]);
        crate::parse(&format!("{GOOD}{keys}\n"), "good.toml", overrides, None, &search)
    }

    fn congestions(read: &Resolved) -> Vec<String> {
        let tcp = read.flows[0].tcp.as_ref().expect("the flow has a TCP of its own");
        [&tcp.sender, &tcp.receiver].map(|keys| keys["congestion"].to_string()).to_vec()
    }

    #[test]
    fn a_flows_profile_is_its_tcp_at_both_ends() {
        let read = load("profile = \"linux-6-bbr\"", &[]).unwrap();
        assert!(congestions(&read).iter().all(|found| found.contains("bbr")), "{:?}", congestions(&read));
        let spec = read.to_spec().unwrap();
        assert_ne!(spec.flows[0].sender.plain.mss.0, 536, "the profile plain has this");
    }

    #[test]
    fn keys_of_a_flow_replace_those_of_its_hosts_and_leave_the_rest() {
        let read = load("tcp = { congestion = \"cubic\" }", &[]).unwrap();
        assert!(congestions(&read).iter().all(|found| found.contains("cubic")));
        let tcp = read.flows[0].tcp.as_ref().unwrap();
        assert_eq!(tcp.sender["mss"], "536 bytes");
        assert_eq!(tcp.receiver["ack"]["delayed"]["timeout"], "100 ms");
    }

    #[test]
    fn an_override_gives_a_flow_a_tcp() {
        let read =
            load("", &["flows.download.profile=linux-6-bbr", "flows.download.tcp.congestion=cubic"]).unwrap();
        assert!(congestions(&read).iter().all(|found| found.contains("cubic")));
    }

    #[test]
    fn a_flow_without_a_tcp_of_its_own_has_no_such_key() {
        assert!(!load("", &[]).unwrap().json().contains("sender"), "hashes of others stay as they were");
    }

    #[test]
    fn mistakes_in_a_flows_tcp_are_said_where_they_stand() {
        let said = load("tcp = { congestoin = \"bbr\" }", &[]).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("good.toml:19:") && said.contains("congestoin"), "{said}");
        let stack =
            load("profile = \"linux-6-bbr\"", &["hosts.server.stack=smoltcp"]).map(|_| ()).unwrap_err();
        assert!(stack.to_string().contains("has a stack of its own"), "{stack}");
    }
}
